/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/pacer_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/live/iteration_volume.h"
#include "scheduler/live/live_constants.h"

#define MAX_TIME_NS (INT64_MAX / 4)
/* Standard deviation over median absolute deviation, of a normal distribution. */
#define SD_OF_MAD  1.4826
#define LIKE_FRAC  0.1  /* Distance from the median that still counts as alike. */
#define MOST_ALIKE 1.15 /* Longest over shortest time in collectives when isolated. */
#define MIN_MET    0.1  /* A larger share of its time beside others is no chance. */
#define SHORT_FRAC 0.25 /* Quantile of the times in collectives: the short ones. */
#define MIN_WITHIN 0.75 /* Share of the traffic within the time in collectives. */
#define MIN_BUSY   0.5  /* Share of that time in which it sends. */

/* ---- Reports ---------------------------------------------------------------------- */

static bool
is_possible(const struct steer_report *r)
{
	return r->enter_ns >= -MAX_TIME_NS && r->enter_ns <= MAX_TIME_NS &&
	       r->begin_ns >= r->enter_ns && r->begin_ns <= MAX_TIME_NS &&
	       r->comm_ns >= 0 && r->comm_ns <= MAX_TIME_NS;
}

/* The time it computed between two reports; 0: unknown. */
static int64_t
compute_ns(const struct steer_report *a, const struct steer_report *b)
{
	int64_t took_ns = b->enter_ns - a->begin_ns;

	if (b->number != a->number + 1 || b->comm_ns <= 0 || took_ns <= b->comm_ns ||
	    took_ns > ONSET_MAX_GAP_NS)
		return 0;
	return took_ns - b->comm_ns;
}

static double
quantile(double *values, size_t n, double p)
{
	stats_sort(values, n);
	return stats_quantile(values, n, p);
}

/* The median, and the standard deviation of most values about it; sorts them. */
static double
middle(double *values, size_t n, double *ret_sd)
{
	double off[PACER_PROFILE_N_KEPT], median = quantile(values, n, 0.5);

	for (size_t i = 0; i < n; i++)
		off[i] = fabs(values[i] - median);
	*ret_sd = SD_OF_MAD * quantile(off, n, 0.5);
	return median;
}

/* Compute times of whole iterations, nanoseconds, oldest first. */
static size_t
computes(const struct pacer_profile *paced, double ret_ns[PACER_PROFILE_N_KEPT])
{
	size_t n = 0;

	for (size_t i = 1; i < paced->n_reports; i++) {
		int64_t ns = compute_ns(&paced->reports[i - 1], &paced->reports[i]);

		if (ns)
			ret_ns[n++] = (double)ns;
	}
	return n;
}

/*
 * Whether most of the first 'n' are below, or above, the PACER_PROFILE_N_MIN after
 * them.
 */
static bool
are_apart(const double *values, size_t n)
{
	double low = values[n], high = values[n];
	size_t n_below = 0, n_above = 0;

	for (size_t i = n; i < n + PACER_PROFILE_N_MIN; i++) {
		low = fmin(low, values[i]);
		high = fmax(high, values[i]);
	}
	for (size_t i = 0; i < n; i++) {
		n_below += values[i] < low;
		n_above += values[i] > high;
	}
	return 2 * n_below >= n || 2 * n_above >= n;
}

/* Whether the last PACER_PROFILE_N_MIN are all above, or all below, the others. */
static bool
has_changed(const struct pacer_profile *paced)
{
	double ns[PACER_PROFILE_N_KEPT], most_ns, median_ns, sd_ns;
	size_t n = computes(paced, ns), n_up = 0, n_down = 0;

	if (n < 2 * PACER_PROFILE_N_MIN)
		return false;
	n -= PACER_PROFILE_N_MIN;
	/* Tests without sorting first, as each report of each job comes here. */
	if (!are_apart(ns, n))
		return false;
	median_ns = middle(ns, n, &sd_ns);
	most_ns = fmax(ONSET_ODD_SDS * sd_ns, ONSET_ODD_FRAC * median_ns);
	for (size_t i = n; i < n + PACER_PROFILE_N_MIN; i++) {
		n_up += ns[i] - median_ns > most_ns;
		n_down += median_ns - ns[i] > most_ns;
	}
	return n_up == PACER_PROFILE_N_MIN || n_down == PACER_PROFILE_N_MIN;
}

/* Drops all but the last reports, with so many whole iterations. */
static void
forget_but(struct pacer_profile *paced, size_t n_whole)
{
	size_t first = paced->n_reports - 1;

	for (size_t n = 0; first > 0 && n < n_whole; first--)
		n += compute_ns(&paced->reports[first - 1], &paced->reports[first]) > 0;
	paced->n_reports -= first;
	memmove(paced->reports, paced->reports + first,
		paced->n_reports * sizeof *paced->reports);
	paced->n = (uint32_t)n_whole;
}

enum pacer_profile_event
pacer_profile_add(struct pacer_profile *paced, const struct steer_report *report)
{
	const struct steer_report *last =
		paced->n_reports ? &paced->reports[paced->n_reports - 1] : NULL;
	bool is_whole;

	if (!is_possible(report) || (last && report->number == last->number))
		return PACER_PROFILE_NONE;
	if (last &&
	    (report->number < last->number || report->enter_ns < last->begin_ns)) {
		*paced = (struct pacer_profile){ .n = 0 };
		last = NULL;
	}
	is_whole = last && compute_ns(last, report) > 0;
	if (paced->n_reports == PACER_PROFILE_N_KEPT + 1)
		memmove(paced->reports, paced->reports + 1,
			--paced->n_reports * sizeof *paced->reports);
	paced->reports[paced->n_reports++] = *report;
	if (!is_whole)
		return PACER_PROFILE_NONE;
	paced->n++;
	if (!has_changed(paced))
		return PACER_PROFILE_WHOLE;
	forget_but(paced, PACER_PROFILE_N_MIN);
	return PACER_PROFILE_CHANGED;
}

size_t
pacer_profile_iterations(const struct pacer_profile *paced,
			 struct iteration_volume_sample *ret_iterations)
{
	size_t n = 0;

	for (size_t i = 1; i < paced->n_reports; i++) {
		const struct steer_report *a = &paced->reports[i - 1],
					  *b = &paced->reports[i];

		if (compute_ns(a, b))
			ret_iterations[n++] = (struct iteration_volume_sample){
				a->begin_ns, b->begin_ns, b->comm_ns
			};
	}
	return n;
}

/* ---- The profile ------------------------------------------------------------------- */

/* 'comm_us' is sorted. */
static double
burst_us(const struct iteration_volume *sent, const struct pacer_profile_path *path,
	 const double *comm_us, size_t n, bool is_guess)
{
	double median_us = stats_quantile(comm_us, n, 0.5), us = path->isolated_us;

	if (!is_guess)
		us = fmax(us, median_us * (1 - path->held_frac));
	/* A very short one was seen late; many were on another path. */
	us = fmin(us, fmax(comm_us[0], path->isolated_us));
	us = fmin(us, stats_quantile(comm_us, n, SHORT_FRAC));
	return fmax(us, 8e6 * sent->bytes / path->line_bps);
}

/* The share of values near the median. */
static double
alike_frac(const double *values, size_t n, double median)
{
	size_t n_alike = 0;

	for (size_t i = 0; i < n; i++)
		n_alike += fabs(values[i] - median) <= LIKE_FRAC * median;
	return (double)n_alike / (double)n;
}

bool
pacer_profile_make(const struct pacer_profile *paced, size_t n_min,
		   const struct iteration_volume *sent,
		   const struct pacer_profile_path *path, struct profile *ret_profile)
{
	struct iteration_volume_sample iterations[PACER_PROFILE_N_KEPT];
	double compute[PACER_PROFILE_N_KEPT], comm[PACER_PROFILE_N_KEPT], compute_us,
		sd_us, comm_sd_us, send_us;
	size_t n = computes(paced, compute);
	struct profile profile;
	bool is_met, is_guess;

	if (n < n_min || n < 1 || !(path->line_bps > 0) || !(sent->bytes > 0) ||
	    sent->within_frac < MIN_WITHIN || sent->busy_frac < MIN_BUSY)
		return false;
	pacer_profile_iterations(paced, iterations);
	for (size_t i = 0; i < n; i++) {
		compute[i] *= 1e-3;
		comm[i] = 1e-3 * (double)iterations[i].comm_ns;
	}
	compute_us = middle(compute, n, &sd_us);
	middle(comm, n, &comm_sd_us); /* Sorts, too. */
	/*
	 * Others are seen to delay it, or must have: the cost is not well known from a
	 * few iterations, which may all have been contended, and all alike.
	 */
	is_met = path->held_frac > DELAYED_MIN_FRAC ||
		 (path->met_frac > MIN_MET &&
		  stats_quantile(comm, n, 0.5) > MOST_ALIKE * path->isolated_us);
	is_guess = paced->n <= PACER_PROFILE_N_KEPT &&
		   (is_met || comm[n - 1] > MOST_ALIKE * comm[0]);
	send_us = round(burst_us(sent, path, comm, n, is_guess));
	if (compute_us < 1 || send_us < 1 ||
	    compute_us + send_us > (double)PROFILE_MAX_PERIOD_US)
		return false;
	profile_of_burst(llround(compute_us + send_us), (int64_t)send_us,
			 8e6 * sent->bytes / send_us, &profile);
	/* The standard error of a median. */
	if (n >= PACER_PROFILE_N_MIN)
		profile.period_error_us = profile_error_us(sqrt(M_PI_2 / (double)n) *
							   hypot(sd_us, comm_sd_us));
	profile.jitter_us = llround(sd_us);
	profile.n_iterations = paced->n;
	profile.confidence = alike_frac(compute, n, compute_us);
	*ret_profile = profile;
	return true;
}
