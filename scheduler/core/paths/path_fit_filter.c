/* SPDX-License-Identifier: Apache-2.0 */
/* path_fit_filter.c - what counters report of the traffic of flows */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/paths/path_fit_internal.h"

#define N_MIXES 4

/* Links of a clock that its filter is estimated from. */
#define LINKS_OF_CLOCK 8

/* ---- Series ----------------------------------------------------------------------- */

void
path_fit_center(const struct path_fit_link *link, size_t n_bins, float *series)
{
	for (size_t from = 0; from < n_bins; from += PATH_FIT_BLOCK) {
		size_t end = from + PATH_FIT_BLOCK, n = 0;
		size_t to = end < n_bins ? end : n_bins;
		double sum = 0;

		for (size_t t = from; t < to; t++) {
			sum += link->valid[t] ? series[t] : 0;
			n += link->valid[t];
		}
		for (size_t t = from; t < to; t++)
			series[t] = link->valid[t]
					    ? series[t] - (float)(sum / (double)n)
					    : 0;
	}
}

/* The filtered series, where the link is valid, from windows of one bin. */
static void
filter_series(const struct path_fit *fit, const struct path_fit_link *link,
	      struct path_fit_filter filter, const float *windows, float *ret_series)
{
	const size_t n = fit->problem->n_bins, n_parts = fit->problem->n_parts;
	const float mix = (float)filter.mix / N_MIXES;

	for (size_t t = 0; t < n; t++) {
		const float *at = windows + t * n_parts;

		ret_series[t] =
			link->valid[t]
				? (1 - mix) * at[filter.shift] +
					  mix * at[filter.shift - (ptrdiff_t)n_parts]
				: 0;
	}
}

void
path_fit_series(const struct path_fit *fit, uint32_t l, uint32_t flow,
		float *ret_series)
{
	const struct path_inference_problem *problem = fit->problem;

	filter_series(fit, &fit->links[l], fit->filters[problem->links[l].clock],
		      fit->windows[flow], ret_series);
	path_fit_center(&fit->links[l], problem->n_bins, ret_series);
}

double
path_fit_product(const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t t = 0; t < n; t++)
		sum += (double)a[t] * b[t];
	return sum;
}

/* ---- Filters ---------------------------------------------------------------------- */

/* Squares of the pool that 'windows', filtered and scaled, explain; 0 to 1. */
static double
explains(const struct path_fit *fit, const struct path_fit_link *link,
	 struct path_fit_filter filter, const float *windows, float *scratch)
{
	size_t n = fit->problem->n_bins;
	double xx, xy;

	filter_series(fit, link, filter, windows, scratch);
	path_fit_center(link, n, scratch);
	xx = path_fit_product(scratch, scratch, n);
	xy = path_fit_product(scratch, link->y, n);
	return xx > 0 && link->yy > 0 && xy > 0 ? xy * xy / xx / link->yy : 0;
}

/* The part of 'flow' that a link carries if all its paths are used equally. */
static double
share_of(const struct path_fit *fit, uint32_t flow, uint32_t l)
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];
	uint32_t n = 0;

	if (fit->path[flow] != PATH_FIT_NONE)
		return path_fit_has_link(f, fit->path[flow], l);
	for (uint32_t p = 0; p < f->n_paths; p++)
		n += path_fit_has_link(f, p, l);
	return (double)n / f->n_paths;
}

/* Adds what the link should carry, and whether it is valid, to a pool of links. */
static void
pool_link(const struct path_fit *fit, uint32_t l, struct path_fit_link *pool,
	  float *windows)
{
	const struct path_inference_problem *problem = fit->problem;
	const struct path_fit_link *link = &fit->links[l];

	for (size_t t = 0; t < problem->n_bins; t++) {
		pool->valid[t] &= link->valid[t];
		pool->y[t] += problem->links[l].bytes[t];
	}
	for (uint32_t i = 0; i < link->n_flows; i++) {
		const float *more = fit->windows[link->flows[i]];
		float share = (float)share_of(fit, link->flows[i], l);

		for (size_t at = 0; at < fit->n_windows; at++)
			windows[at] += share * more[at];
	}
}

/*
 * From the sum over the clock's links, which is nearly the same whatever paths flows take, and just the same for a leaf's uplinks.
 */
void
path_fit_guess_filter(struct path_fit *fit, uint32_t clock)
{
	const struct path_inference_problem *problem = fit->problem;
	size_t n = problem->n_bins;
	const int32_t n_parts = (int32_t)problem->n_parts;
	struct path_fit_link pool = { .valid = xcalloc(n, 1),
				      .y = xcalloc(n, sizeof *pool.y) };
	float *windows = xcalloc(fit->n_windows, sizeof *windows);
	float *scratch = xcalloc(n, sizeof *scratch);

	memset(pool.valid, 1, n);
	for (uint32_t l = 0; l < problem->n_links; l++)
		if (fit->links[l].is_counted && problem->links[l].clock == clock)
			pool_link(fit, l, &pool, windows);
	path_fit_center(&pool, n, pool.y);
	pool.yy = path_fit_product(pool.y, pool.y, n);
	fit->trust[clock] = 0;
	for (int32_t shift = -n_parts; shift < 2 * n_parts && pool.yy > 0; shift++) {
		for (uint8_t mix = 0; mix < N_MIXES; mix++) {
			struct path_fit_filter filter = { shift, mix };
			double part = explains(fit, &pool, filter, windows, scratch);

			if (!(part > fit->trust[clock]))
				continue;
			fit->trust[clock] = part;
			fit->filters[clock] = filter;
		}
	}
	free(pool.valid);
	free(pool.y);
	free(windows);
	free(scratch);
}

/* The weighted squares that remain on a link with 'windows' on it. */
static double
squares(const struct path_fit *fit, const struct path_fit_link *link,
	struct path_fit_filter filter, const float *windows, float *scratch)
{
	size_t n = fit->problem->n_bins;
	double rest = 0;

	filter_series(fit, link, filter, windows, scratch);
	path_fit_center(link, n, scratch);
	for (size_t t = 0; t < n; t++)
		rest += ((double)link->y[t] - scratch[t]) *
			((double)link->y[t] - scratch[t]);
	return link->weight * rest;
}

/* Adds the squares of a link with each filter, given the present paths. */
static void
try_filters(const struct path_fit *fit, uint32_t l, double *total)
{
	const struct path_fit_link *link = &fit->links[l];
	const int32_t n_parts = (int32_t)fit->problem->n_parts;
	float *windows = xcalloc(fit->n_windows, sizeof *windows);
	float *scratch = xcalloc(fit->problem->n_bins, sizeof *scratch);

	for (uint32_t i = 0; i < link->n_flows; i++) {
		uint32_t flow = link->flows[i];

		if (!path_fit_has_link(&fit->problem->flows[flow], fit->path[flow], l))
			continue;
		for (size_t at = 0; at < fit->n_windows; at++)
			windows[at] += fit->windows[flow][at];
	}
	for (int32_t shift = -n_parts; shift < 2 * n_parts; shift++)
		for (uint8_t mix = 0; mix < N_MIXES; mix++)
			*total++ += squares(fit, link,
					    (struct path_fit_filter){ shift, mix },
					    windows, scratch);
	free(windows);
	free(scratch);
}

/* From its links with most traffic on them. */
bool
path_fit_estimate_filter(struct path_fit *fit, uint32_t clock)
{
	const struct path_inference_problem *problem = fit->problem;
	const int32_t n_parts = (int32_t)problem->n_parts;
	size_t n_filters = 3 * problem->n_parts * N_MIXES, best = 0;
	double *total = xcalloc(n_filters, sizeof *total);
	struct path_fit_filter filter, old = fit->filters[clock];
	uint32_t links[LINKS_OF_CLOCK];
	size_t n = 0;

	for (uint32_t l = 0; l < problem->n_links; l++) {
		size_t at;

		if (!fit->links[l].is_counted || problem->links[l].clock != clock)
			continue;
		for (at = n; at > 0 && fit->links[links[at - 1]].yy < fit->links[l].yy;
		     at--)
			if (at < LINKS_OF_CLOCK)
				links[at] = links[at - 1];
		if (at < LINKS_OF_CLOCK)
			links[at] = l;
		n += n < LINKS_OF_CLOCK;
	}
	for (size_t i = 0; i < n; i++)
		try_filters(fit, links[i], total);
	for (size_t i = 1; i < n_filters; i++)
		if (total[i] < total[best])
			best = i;
	free(total);
	if (n == 0)
		return false;
	filter = (struct path_fit_filter){ (int32_t)(best / N_MIXES) - n_parts,
					   (uint8_t)(best % N_MIXES) };
	fit->filters[clock] = filter;
	return filter.shift != old.shift || filter.mix != old.mix;
}
