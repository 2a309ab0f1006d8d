/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/tick_schedule.h"

bool
tick_schedule_next(struct tick_schedule *schedule, int64_t now_ns, size_t *ret_part)
{
	if (now_ns < schedule->begin_ns + (int64_t)schedule->next * schedule->step_ns)
		return false;
	*ret_part = schedule->next++;
	if (schedule->next == schedule->n) {
		schedule->next = 0;
		schedule->begin_ns += schedule->period_ns;
		if (now_ns >= schedule->begin_ns + schedule->period_ns)
			schedule->begin_ns += (now_ns - schedule->begin_ns) /
					      schedule->period_ns * schedule->period_ns;
	}
	return true;
}
