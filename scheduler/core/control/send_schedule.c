/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/send_schedule.h"

#include <math.h>

/* Relevant begins of job i: that of its present iteration, and its planned one. */
struct slot {
	size_t job;
	double start_ns;
};

static double
earliest_ns(const struct slot *slots, size_t n_slots, const double *hold_ns, size_t n,
	    size_t j, double from_ns)
{
	double start_ns = from_ns;
	bool has_moved = true;

	while (has_moved) {
		has_moved = false;
		for (size_t s = 0; s < n_slots; s++) {
			size_t i = slots[s].job;
			double after_ns = slots[s].start_ns + hold_ns[i * n + j];

			if (i == j || hold_ns[i * n + j] <= 0 || start_ns >= after_ns ||
			    start_ns + hold_ns[j * n + i] <= slots[s].start_ns)
				continue;
			start_ns = after_ns;
			has_moved = true;
		}
	}
	return start_ns;
}

/* The last job to end among those that begin before j and share a link with it. */
static void
find_after(const struct slot *slots, size_t n_slots, const double *hold_ns, size_t n,
	   size_t j, double start_ns, size_t *ret_after, double *ret_clear_ns)
{
	*ret_after = n;
	*ret_clear_ns = -INFINITY;
	for (size_t s = 0; s < n_slots; s++) {
		size_t i = slots[s].job;
		double clear_ns = slots[s].start_ns + hold_ns[i * n + j];

		if (i == j || hold_ns[i * n + j] <= 0 || slots[s].start_ns > start_ns ||
		    clear_ns <= *ret_clear_ns)
			continue;
		*ret_clear_ns = clear_ns;
		*ret_after = i;
	}
}

void
send_schedule_plan(const struct send_schedule_job *jobs, const double *hold_ns,
		   size_t n, double *ret_start_ns, size_t *ret_after,
		   double *ret_clear_ns)
{
	struct slot slots[2 * SEND_SCHEDULE_MAX_JOBS];
	bool is_planned[SEND_SCHEDULE_MAX_JOBS] = { false };
	size_t n_slots = 0;

	for (size_t i = 0; i < n; i++)
		slots[n_slots++] = (struct slot){ i, jobs[i].begin_ns };
	for (size_t done = 0; done < n; done++) {
		size_t j = n;
		double start_ns;

		for (size_t i = 0; i < n; i++)
			if (!is_planned[i] &&
			    (j == n || jobs[i].next_ns < jobs[j].next_ns))
				j = i;
		is_planned[j] = true;
		start_ns = earliest_ns(slots, n_slots, hold_ns, n, j, jobs[j].next_ns);
		if (start_ns - jobs[j].next_ns > jobs[j].limit_ns)
			start_ns = jobs[j].next_ns;
		find_after(slots, n_slots, hold_ns, n, j, start_ns, &ret_after[j],
			   &ret_clear_ns[j]);
		ret_start_ns[j] = start_ns;
		slots[n_slots++] = (struct slot){ j, start_ns };
	}
}
