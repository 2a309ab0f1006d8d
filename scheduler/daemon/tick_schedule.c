#include "scheduler/daemon/tick_schedule.h"

bool
tick_schedule_next(struct tick_schedule *turns, int64_t now_ns, size_t *ret_part)
{
	if (now_ns < turns->begin_ns + (int64_t)turns->next * turns->step_ns)
		return false;
	*ret_part = turns->next++;
	if (turns->next == turns->n) {
		turns->next = 0;
		turns->begin_ns += turns->period_ns;
		if (now_ns >= turns->begin_ns + turns->period_ns)
			turns->begin_ns += (now_ns - turns->begin_ns) /
					   turns->period_ns * turns->period_ns;
	}
	return true;
}
