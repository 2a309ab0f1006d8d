/* SPDX-License-Identifier: Apache-2.0 */
/* path_fit.c - links, and the flows that may cross them */
#include "scheduler/core/paths/path_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/path_fit_internal.h"

/* Counters are taken to be no better than this share of the link's traffic. */
#define FLOOR_FRAC 0.01

/* Of a flow's square sum: less than this share is rounding of constant traffic. */
#define LEAST_VARIANCE 1e-4

/* Bins before and after a bin that filters look at. */
#define BINS_BEFORE 2
#define BINS_AFTER  2

/* ---- Links ------------------------------------------------------------------------ */

/* Products of the link's flows with each other and with what is left. */
static void
make_products(struct path_fit *fit, uint32_t l)
{
	struct path_fit_link *link = &fit->links[l];
	size_t n = fit->problem->n_bins;
	float *e = xmemdup(link->y, n, sizeof *e);

	for (uint32_t i = 0; i < link->n_flows; i++) {
		uint32_t flow = link->flows[i];
		float *series = fit->series + i * n;

		path_fit_series(fit, l, flow, series);
		if (!path_fit_has_link(&fit->problem->flows[flow], fit->path[flow], l))
			continue;
		for (size_t t = 0; t < n; t++)
			e[t] -= series[t];
	}
	for (uint32_t i = 0; i < link->n_flows; i++) {
		const float *a = fit->series + i * n;

		for (uint32_t k = 0; k <= i; k++) {
			float sum = (float)path_fit_product(a, fit->series + k * n, n);

			link->gram[i * link->n_flows + k] = sum;
			link->gram[k * link->n_flows + i] = sum;
		}
		link->u[i] = path_fit_product(a, e, n);
	}
	link->rss = path_fit_product(e, e, n);
	free(e);
}

static void
weigh(const struct path_fit *fit, uint32_t l, double squares_left, double trust)
{
	struct path_fit_link *link = &fit->links[l];

	link->weight = trust / (squares_left / link->n_valid + link->floor);
}

/* Marks the bins in which the link and all its flows are known, with their neighbors. */
static void
find_valid(struct path_fit *fit, uint32_t l)
{
	const struct path_inference_problem *problem = fit->problem;
	struct path_fit_link *link = &fit->links[l];
	size_t n = problem->n_bins;

	link->valid = xcalloc(n, 1);
	for (size_t t = BINS_BEFORE; t + BINS_AFTER + 1 < n; t++)
		link->valid[t] = problem->links[l].bytes[t] >= 0;
	for (uint32_t i = 0; i < link->n_flows; i++) {
		const uint8_t *known = fit->known[link->flows[i]];

		for (size_t t = BINS_BEFORE; t + BINS_AFTER + 1 < n; t++)
			for (size_t k = t - BINS_BEFORE; k <= t + BINS_AFTER; k++)
				link->valid[t] &= known[k];
	}
	for (size_t t = 0; t < n; t++)
		link->n_valid += link->valid[t];
}

static void
link_init(struct path_fit *fit, uint32_t l)
{
	const struct path_inference_problem *problem = fit->problem;
	struct path_fit_link *link = &fit->links[l];
	size_t n = problem->n_bins;
	double raw = 0;

	find_valid(fit, l);
	link->is_counted = link->n_valid >= PATH_INFERENCE_MIN_BINS;
	if (!link->is_counted)
		return;
	link->y = xmemdup(problem->links[l].bytes, n, sizeof *link->y);
	for (size_t t = 0; t < n; t++)
		raw += link->valid[t] ? (double)link->y[t] * link->y[t] : 0;
	path_fit_center(link, n, link->y);
	link->yy = path_fit_product(link->y, link->y, n);
	link->floor = FLOOR_FRAC * FLOOR_FRAC * raw / link->n_valid + 1;
	link->gram =
		xcalloc((size_t)link->n_flows * link->n_flows + 1, sizeof *link->gram);
	link->u = xcalloc(link->n_flows + 1, sizeof *link->u);
}

/* ---- Flows on links --------------------------------------------------------------- */

/* Makes a flow's windows, and the bins of which all parts are known. */
static void
make_windows(struct path_fit *fit, uint32_t flow)
{
	const struct path_inference_problem *problem = fit->problem;
	const float *bytes = problem->flows[flow].bytes;
	size_t n = fit->n_windows;
	double sum = 0;

	fit->windows[flow] = xcalloc(n + 1, sizeof **fit->windows);
	fit->known[flow] = xcalloc(problem->n_bins + 1, 1);
	memset(fit->known[flow], 1, problem->n_bins);
	for (size_t i = 0; i < n; i++)
		fit->known[flow][i / problem->n_parts] &= bytes[i] >= 0;
	for (size_t i = n; i-- > 0;) {
		sum += fmax(bytes[i], 0);
		if (i + problem->n_parts < n)
			sum -= fmax(bytes[i + problem->n_parts], 0);
		fit->windows[flow][i] = (float)sum;
	}
}

/* The variance of a flow within blocks; 0: constant, or most of it is not known. */
static double
variance_of(const struct path_fit *fit, uint32_t flow)
{
	size_t n = fit->problem->n_bins, n_known = 0;
	double all = 0, raw = 0;

	for (size_t from = 0; from < n; from += PATH_FIT_BLOCK) {
		size_t to = from + PATH_FIT_BLOCK < n ? from + PATH_FIT_BLOCK : n,
		       n_here = 0;
		double sum = 0, square = 0;

		for (size_t t = from; t < to; t++) {
			double bytes = fit->windows[flow][t * fit->problem->n_parts];

			if (!fit->known[flow][t])
				continue;
			sum += bytes;
			square += bytes * bytes;
			n_here++;
		}
		if (n_here)
			all += square - sum * sum / (double)n_here;
		raw += square;
		n_known += n_here;
	}
	return 2 * n_known >= n && all > LEAST_VARIANCE * raw ? all : 0;
}

struct candidate {
	uint32_t link, flow;
	double variance;
};

static int
compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	if (x->variance != y->variance)
		return x->variance > y->variance ? -1 : 1;
	return (x->flow > y->flow) - (x->flow < y->flow);
}

/* Lists on each counted link the flows that may cross it. */
static void
list_flows(struct path_fit *fit)
{
	const struct path_inference_problem *problem = fit->problem;
	VEC(struct candidate) all = VEC_EMPTY;

	for (uint32_t f = 0; f < problem->n_flows; f++) {
		const struct path_inference_flow *flow = &problem->flows[f];
		double variance;
		uint32_t n = flow->path_ends[flow->n_paths - 1];

		make_windows(fit, f);
		variance = variance_of(fit, f);
		fit->varies[f] = variance > 0;
		for (uint32_t i = 0; i < n && variance > 0; i++)
			if (problem->links[flow->path_links[i]].bytes)
				vec_push(&all, ((struct candidate){ flow->path_links[i],
								    f, variance }));
	}
	sort_items(all.items, all.n, compare_candidates);
	for (size_t i = 0; i < all.n; i++) {
		const struct candidate *it = &all.items[i];
		struct path_fit_link *link = &fit->links[it->link];

		if (!link->flows)
			link->flows =
				xcalloc(PATH_INFERENCE_MAX_FLOWS, sizeof *link->flows);
		if (link->n_flows && link->flows[link->n_flows - 1] == it->flow)
			continue;
		if (link->n_flows == PATH_INFERENCE_MAX_FLOWS)
			fit->crowds[it->flow] = true;
		else
			link->flows[link->n_flows++] = it->flow;
	}
	vec_free(&all);
}

/* Finds where each flow is in the lists of its links. */
static void
find_places(struct path_fit *fit)
{
	const struct path_inference_problem *problem = fit->problem;

	for (uint32_t f = 0; f < problem->n_flows; f++) {
		const struct path_inference_flow *flow = &problem->flows[f];
		uint32_t n = flow->path_ends[flow->n_paths - 1];

		fit->places[f] = xcalloc((size_t)n + 1, sizeof **fit->places);
		for (uint32_t i = 0; i < n; i++) {
			const struct path_fit_link *link =
				&fit->links[flow->path_links[i]];

			fit->places[f][i] = PATH_FIT_NO_PLACE;
			for (uint32_t k = 0; k < link->n_flows && link->is_counted; k++)
				if (link->flows[k] == f)
					fit->places[f][i] = k;
		}
	}
}

struct path_fit *
path_fit_new(const struct path_inference_problem *problem)
{
	struct path_fit *fit = xcalloc(1, sizeof *fit);
	size_t n_flows = problem->n_flows;

	fit->problem = problem;
	fit->links = xcalloc(problem->n_links + 1, sizeof *fit->links);
	fit->places = xcalloc(n_flows + 1, sizeof *fit->places);
	fit->path = xcalloc(n_flows + 1, sizeof *fit->path);
	fit->remembered = xcalloc(n_flows + 1, sizeof *fit->remembered);
	fit->varies = xcalloc(n_flows + 1, sizeof *fit->varies);
	fit->crowds = xcalloc(n_flows + 1, sizeof *fit->crowds);
	fit->n_windows = problem->n_bins * problem->n_parts;
	fit->windows = xcalloc(n_flows + 1, sizeof *fit->windows);
	fit->known = xcalloc(n_flows + 1, sizeof *fit->known);
	fit->series = xcalloc(problem->n_bins * PATH_INFERENCE_MAX_FLOWS + 1,
			      sizeof *fit->series);
	for (uint32_t f = 0; f < n_flows; f++)
		fit->path[f] = PATH_FIT_NONE;
	list_flows(fit);
	for (uint32_t l = 0; l < problem->n_links; l++) {
		if (problem->links[l].bytes && fit->links[l].n_flows)
			link_init(fit, l);
		if (problem->links[l].clock >= fit->n_clocks)
			fit->n_clocks = problem->links[l].clock + 1;
	}
	find_places(fit);
	fit->filters = xcalloc(fit->n_clocks + 1, sizeof *fit->filters);
	fit->trust = xcalloc(fit->n_clocks + 1, sizeof *fit->trust);
	for (uint32_t clock = 0; clock < fit->n_clocks; clock++)
		path_fit_guess_filter(fit, clock);
	for (uint32_t l = 0; l < problem->n_links; l++) {
		if (!fit->links[l].is_counted)
			continue;
		make_products(fit, l);
		weigh(fit, l, fit->links[l].yy, fit->trust[problem->links[l].clock]);
	}
	return fit;
}

void
path_fit_free(struct path_fit *fit)
{
	if (!fit)
		return;
	for (size_t l = 0; l < fit->problem->n_links; l++) {
		struct path_fit_link *link = &fit->links[l];

		free(link->flows);
		free(link->valid);
		free(link->y);
		free(link->e);
		free(link->gram);
		free(link->u);
	}
	for (size_t f = 0; f < fit->problem->n_flows; f++) {
		free(fit->places[f]);
		free(fit->windows[f]);
		free(fit->known[f]);
	}
	free(fit->windows);
	free(fit->known);
	free(fit->links);
	free(fit->places);
	free(fit->path);
	free(fit->remembered);
	free(fit->varies);
	free(fit->crowds);
	free(fit->filters);
	free(fit->trust);
	free(fit->series);
	free(fit);
}

bool
path_fit_estimate(struct path_fit *fit)
{
	const struct path_inference_problem *problem = fit->problem;
	bool has_changed = false;

	for (uint32_t clock = 0; clock < fit->n_clocks; clock++)
		has_changed |= path_fit_estimate_filter(fit, clock);
	for (uint32_t l = 0; l < problem->n_links; l++) {
		if (!fit->links[l].is_counted)
			continue;
		make_products(fit, l);
		weigh(fit, l, fit->links[l].rss, 1);
	}
	return has_changed;
}
