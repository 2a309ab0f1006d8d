/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crux_pair.c - network time of two jobs on one link under strict priority.
 *
 * With P the period of the job with priority and [o, o + t) its window in it, the link
 * is free for F = P - t of each period.  G(x), the free time before x, is piecewise
 * linear, so the end of sending is the least y with G(y) = G(begin) + network time.
 */
#include "sim/baselines/crux_pair.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define NEAR 1e-9 /* Two phases closer than this share of the period are equal. */

/* The windows in which the link is taken. */
struct windows {
	double period_s, begin_s, taken_s;
};

static double
period_of(const struct crux_pattern *job)
{
	return fmax(job->compute_s, job->offset_s + job->network_s);
}

double
crux_pair_alone(const struct crux_pattern *job)
{
	return job->network_s > 0 ? job->network_s / period_of(job) : 0;
}

/* Free time in [0, phase) of a period. */
static double
free_before(const struct windows *w, double phase_s)
{
	if (phase_s <= w->begin_s)
		return phase_s;
	return fmax(w->begin_s, phase_s - w->taken_s);
}

/* When 'need_s' of free time have passed since 'from_s'. */
static double
send_until(const struct windows *w, double from_s, double need_s)
{
	const double free_s = w->period_s - w->taken_s, near_s = NEAR * w->period_s;
	double periods = floor(from_s / w->period_s);
	double goal_s = free_before(w, from_s - periods * w->period_s) + need_s;
	double more = floor((goal_s + near_s) / free_s);
	double rest_s = fmax(goal_s - more * free_s, 0);

	/* The end of a period's free time, which may be before its window. */
	if (rest_s <= near_s) {
		more--;
		rest_s = free_s;
	}
	periods += more;
	if (rest_s > w->begin_s + near_s)
		rest_s += w->taken_s;
	return fmax(periods * w->period_s + rest_s, from_s);
}

double
crux_pair_behind(const struct crux_pattern *low, const struct crux_pattern *high)
{
	const struct windows w = { period_of(high), high->offset_s, high->network_s };
	double phase_s = 0, passed_s = 0, seen_phase_s = 0, seen_s = 0;
	uint32_t seen = 0, again = 1;

	if (!(low->network_s > 0) || !(high->network_s > 0))
		return crux_pair_alone(low);
	if (w.period_s - w.taken_s <= NEAR * w.period_s)
		return 0;
	for (uint32_t i = 1; i <= CRUX_PAIR_ITERATIONS; i++) {
		double end_s = send_until(&w, phase_s + low->offset_s, low->network_s);
		double off_s;

		end_s = fmax(end_s, phase_s + low->compute_s);
		passed_s += end_s - phase_s;
		phase_s = end_s - floor(end_s / w.period_s) * w.period_s;
		off_s = fabs(phase_s - seen_phase_s);
		if (fmin(off_s, w.period_s - off_s) <= NEAR * w.period_s)
			return low->network_s * (i - seen) / (passed_s - seen_s);
		/* Brent: compare with the phase after 1, 2, 4, ... iterations. */
		if (i == again) {
			seen = i;
			seen_s = passed_s;
			seen_phase_s = phase_s;
			again *= 2;
		}
	}
	return low->network_s * CRUX_PAIR_ITERATIONS / passed_s;
}

double
crux_pair_factor(const struct crux_pattern *reference, const struct crux_pattern *other)
{
	double first, second;

	if (!(reference->network_s > 0) || !(other->network_s > 0))
		return 1;
	first = crux_pair_alone(reference);
	second = crux_pair_behind(reference, other);
	if (!(second * CRUX_PAIR_MAX_FACTOR > first))
		return CRUX_PAIR_MAX_FACTOR;
	return first / second;
}
