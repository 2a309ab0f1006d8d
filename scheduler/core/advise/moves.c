/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/moves.h"

#include <math.h>

#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/workload/workload.h"

#define HOUR_S 3600.0
/* Slowdowns that differ by less are the same; rounding. */
#define SAME 1e-9

struct moves_job
moves_job_of(const struct work_job *job)
{
	struct moves_job out = {
		.weight = job->weight,
		.is_movable = job->is_movable || !job->hosts,
		.is_waiting = !job->hosts,
		.cost_s = job->has_move_cost ? (double)job->move_cost_ns / 1e9 : NAN,
	};

	if (out.is_waiting)
		out.cost_s = 0;
	if (job->left_ns > 0)
		out.left_s = (double)job->left_ns / 1e9;
	else if (job->ran_ns > 0)
		out.left_s = (double)job->ran_ns / 1e9;
	else if (job->max_iterations > 0)
		out.left_s = (double)job->max_iterations *
			     (double)job->profile.period_us / 1e6;
	else if (job->stop_ns != ENGINE_NEVER)
		out.left_s = (double)(job->stop_ns - job->arrival_ns) / 1e9;
	else
		out.left_s = ADVISE_HORIZON_ITERATIONS *
			     (double)job->profile.period_us / 1e6;
	return out;
}

double
moves_lost_s(const struct moves_job *job, uint32_t n_workers)
{
	if (n_workers == 0 || job->is_waiting)
		return 0;
	return isnan(job->cost_s) ? MOVES_RESTART_S + n_workers * MOVES_WORKER_S
				  : job->cost_s;
}

static bool
is_affected(double before, double after, uint32_t n_workers)
{
	return n_workers > 0 || fabs(before - after) > SAME * before;
}

void
moves_bill(const struct moves_job *jobs, size_t n, const double *slowdown_before,
	   const double *slowdown_after, const uint32_t *n_workers,
	   struct moves_bill *ret_bill)
{
	double longest_s = 0, next_s = 0, goodput = 0;
	struct moves_bill bill = { 0 };
	size_t n_affected = 0;

	for (size_t j = 0; j < n; j++) {
		if (!is_affected(slowdown_before[j], slowdown_after[j], n_workers[j]))
			continue;
		next_s = fmax(next_s, fmin(longest_s, jobs[j].left_s));
		longest_s = fmax(longest_s, jobs[j].left_s);
		n_affected++;
	}
	for (size_t j = 0; j < n; j++) {
		double before = slowdown_before[j] > 0 ? 1 / slowdown_before[j] : 0;
		double after = slowdown_after[j] > 0 ? 1 / slowdown_after[j] : 0;
		double rate = jobs[j].weight * (after - before);

		if (!is_affected(slowdown_before[j], slowdown_after[j], n_workers[j]))
			continue;
		/* Of two jobs, the difference lasts as long as the shorter one. */
		bill.gain += rate * (n_affected > 1 ? fmin(jobs[j].left_s, next_s)
						    : jobs[j].left_s);
		bill.rate += rate;
		bill.cost += jobs[j].weight * moves_lost_s(&jobs[j], n_workers[j]);
		goodput += jobs[j].weight * fmax(before, after);
	}
	bill.payback_s = bill.cost > 0 ? INFINITY : 0;
	if (bill.rate > 0)
		bill.payback_s = bill.cost / bill.rate;
	bill.pays = bill.rate > MOVES_NOISE_FRAC * goodput && bill.gain > 0 &&
		    bill.gain >= MOVES_MARGIN * bill.cost;
	*ret_bill = bill;
}

/* ---- The limit ------------------------------------------------------------------- */

uint32_t
moves_allowed(const struct moves_past *past, size_t n_past, double now_s,
	      uint32_t n_running, double share)
{
	double per_hour = share * n_running, window_s = HOUR_S, n;
	uint32_t n_recent = 0;

	if (!(per_hour > 0))
		return 0;
	if (per_hour < 1) {
		window_s = HOUR_S / per_hour;
		per_hour = 1;
	}
	for (size_t i = 0; i < n_past; i++)
		n_recent += past[i].at_s > now_s - window_s;
	n = fmin(floor(per_hour * (1 + SAME)), UINT32_MAX);
	return n > n_recent ? (uint32_t)n - n_recent : 0;
}

bool
moves_is_resting(const struct moves_past *past, size_t n_past, double now_s,
		 uint32_t job)
{
	for (size_t i = 0; i < n_past; i++)
		if (past[i].job == job && now_s < past[i].at_s + past[i].payback_s)
			return true;
	return false;
}
