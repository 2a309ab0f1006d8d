/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_fit.c - with R_f the filtered and centered series of flow f on a link, and S the
 * flows there, the residual is e = y - sum over S of R_f. Kept are |e|^2, the products
 * u_f = R_f e of all flows that may come, and G_fg = R_f R_g:
 *
 *	f leaves:  |e|^2 += G_ff + 2 u_f,  u_g += G_fg
 *	f comes:   |e|^2 += G_ff - 2 u_f,  u_g -= G_fg
 */
#include "scheduler/core/paths/path_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/path_inference.h"

/* Bins of a block, within which series are centered. */
#define BLOCK 16

/* Counters are taken to be no better than this share of the link's traffic. */
#define FLOOR_FRAC 0.01

/* Of a flow's square sum: less than this share is rounding of constant traffic. */
#define LEAST_VARIANCE 1e-4

/*
 * A filter of a clock: what counters report of bin t is
 *
 *	(1 - mix) x(t + shift) + mix x(t + shift - 1 bin)
 *
 * with x the traffic of one bin from that time on. Readings at other times than bins
 * end are spread evenly over the bins between them, which gives the mix.
 */
struct filter {
	int32_t shift; /* In parts of a bin: from -1 bin to below 2. */
	uint8_t mix;   /* In quarters. */
};

#define N_MIXES 4

/* Bins before and after a bin that filters look at. */
#define BINS_BEFORE 2
#define BINS_AFTER  2

/* Links of a clock that its filter is estimated from. */
#define LINKS_OF_CLOCK 8

struct link {
	bool is_counted;
	uint32_t n_flows, n_valid;
	uint32_t *flows; /* Owned. Flows that may cross it. */
	uint8_t *valid;  /* Owned. [n_bins]. */
	float *y;        /* Owned. [n_bins], centered; 0 where not valid. */
	float *e;        /* Owned. Residual of the remembered paths, or NULL. */
	float *gram;     /* Owned. [n_flows][n_flows]. */
	double *u;       /* Owned. [n_flows]. */
	double yy, rss, floor, weight;
};

struct path_fit {
	const struct path_inference_problem *problem; /* Borrowed. */
	struct link *links;                           /* Owned. */
	uint32_t **places;     /* Owned. By flow: place in each of its path_links. */
	uint32_t *path;        /* Owned. By flow. */
	uint32_t *remembered;  /* Owned. By flow. */
	bool *varies, *crowds; /* Owned. By flow. */
	uint32_t n_clocks;
	struct filter *filters; /* Owned. By clock. */
	double *trust;          /* Owned. By clock, 0 to 1. */
	float **windows; /* Owned. By flow: bytes of one bin from each part on. */
	uint8_t **known; /* Owned. By flow: [n_bins]. */
	size_t n_windows;
	float *series; /* Owned. [PATH_INFERENCE_MAX_FLOWS][n_bins]. */
};

#define NO_PLACE UINT32_MAX

/* ---- Paths ------------------------------------------------------------------------ */

static uint32_t
first_of(const struct path_inference_flow *flow, uint32_t path)
{
	return path ? flow->path_ends[path - 1] : 0;
}

static bool
has_link(const struct path_inference_flow *flow, uint32_t path, uint32_t link)
{
	if (path == PATH_FIT_NONE)
		return false;
	for (uint32_t i = first_of(flow, path); i < flow->path_ends[path]; i++)
		if (flow->path_links[i] == link)
			return true;
	return false;
}

/* ---- Series ----------------------------------------------------------------------- */

/* Subtracts from each block its mean over valid bins; others become 0. */
static void
center(const struct link *link, size_t n_bins, float *series)
{
	for (size_t from = 0; from < n_bins; from += BLOCK) {
		size_t to = from + BLOCK < n_bins ? from + BLOCK : n_bins, n = 0;
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
filter_series(const struct path_fit *fit, const struct link *link, struct filter filter,
	      const float *windows, float *ret_series)
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

static void
make_series(const struct path_fit *fit, uint32_t l, uint32_t flow, float *ret_series)
{
	const struct path_inference_problem *problem = fit->problem;

	filter_series(fit, &fit->links[l], fit->filters[problem->links[l].clock],
		      fit->windows[flow], ret_series);
	center(&fit->links[l], problem->n_bins, ret_series);
}

static double
product(const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t t = 0; t < n; t++)
		sum += (double)a[t] * b[t];
	return sum;
}

/* ---- Filters ---------------------------------------------------------------------- */

/* Squares of the pool that 'windows', filtered and scaled, explain; 0 to 1. */
static double
explains(const struct path_fit *fit, const struct link *link, struct filter filter,
	 const float *windows, float *scratch)
{
	size_t n = fit->problem->n_bins;
	double xx, xy;

	filter_series(fit, link, filter, windows, scratch);
	center(link, n, scratch);
	xx = product(scratch, scratch, n);
	xy = product(scratch, link->y, n);
	return xx > 0 && link->yy > 0 && xy > 0 ? xy * xy / xx / link->yy : 0;
}

/* The part of 'flow' that a link carries if all its paths are used equally. */
static double
share_of(const struct path_fit *fit, uint32_t flow, uint32_t l)
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];
	uint32_t n = 0;

	if (fit->path[flow] != PATH_FIT_NONE)
		return has_link(f, fit->path[flow], l);
	for (uint32_t p = 0; p < f->n_paths; p++)
		n += has_link(f, p, l);
	return (double)n / f->n_paths;
}

/* Adds what the link should carry, and whether it is valid, to a pool of links. */
static void
pool_link(const struct path_fit *fit, uint32_t l, struct link *pool, float *windows)
{
	const struct path_inference_problem *problem = fit->problem;
	const struct link *link = &fit->links[l];

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
 * The filter of a clock before any path is known: the sum over its links is nearly the
 * same whatever paths flows take, and just the same for a leaf's uplinks.
 */
static void
guess_filter(struct path_fit *fit, uint32_t clock)
{
	const struct path_inference_problem *problem = fit->problem;
	size_t n = problem->n_bins;
	const int32_t n_parts = (int32_t)problem->n_parts;
	struct link pool = { .valid = xcalloc(n, 1), .y = xcalloc(n, sizeof *pool.y) };
	float *windows = xcalloc(fit->n_windows, sizeof *windows);
	float *scratch = xcalloc(n, sizeof *scratch);

	memset(pool.valid, 1, n);
	for (uint32_t l = 0; l < problem->n_links; l++)
		if (fit->links[l].is_counted && problem->links[l].clock == clock)
			pool_link(fit, l, &pool, windows);
	center(&pool, n, pool.y);
	pool.yy = product(pool.y, pool.y, n);
	fit->trust[clock] = 0;
	for (int32_t shift = -n_parts; shift < 2 * n_parts && pool.yy > 0; shift++) {
		for (uint8_t mix = 0; mix < N_MIXES; mix++) {
			struct filter filter = { shift, mix };
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
squares(const struct path_fit *fit, const struct link *link, struct filter filter,
	const float *windows, float *scratch)
{
	size_t n = fit->problem->n_bins;
	double rest = 0;

	filter_series(fit, link, filter, windows, scratch);
	center(link, n, scratch);
	for (size_t t = 0; t < n; t++)
		rest += ((double)link->y[t] - scratch[t]) *
			((double)link->y[t] - scratch[t]);
	return link->weight * rest;
}

/* Adds the squares of a link with each filter, given the present paths. */
static void
try_filters(const struct path_fit *fit, uint32_t l, double *total)
{
	const struct link *link = &fit->links[l];
	const int32_t n_parts = (int32_t)fit->problem->n_parts;
	float *windows = xcalloc(fit->n_windows, sizeof *windows);
	float *scratch = xcalloc(fit->problem->n_bins, sizeof *scratch);

	for (uint32_t i = 0; i < link->n_flows; i++) {
		uint32_t flow = link->flows[i];

		if (!has_link(&fit->problem->flows[flow], fit->path[flow], l))
			continue;
		for (size_t at = 0; at < fit->n_windows; at++)
			windows[at] += fit->windows[flow][at];
	}
	for (int32_t shift = -n_parts; shift < 2 * n_parts; shift++)
		for (uint8_t mix = 0; mix < N_MIXES; mix++)
			*total++ += squares(fit, link, (struct filter){ shift, mix },
					    windows, scratch);
	free(windows);
	free(scratch);
}

/* Estimates a clock's filter from its links with most traffic on them. */
static bool
estimate_filter(struct path_fit *fit, uint32_t clock)
{
	const struct path_inference_problem *problem = fit->problem;
	const int32_t n_parts = (int32_t)problem->n_parts;
	size_t n_filters = 3 * problem->n_parts * N_MIXES, best = 0;
	double *total = xcalloc(n_filters, sizeof *total);
	struct filter filter, old = fit->filters[clock];
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
	filter = (struct filter){ (int32_t)(best / N_MIXES) - n_parts,
				  (uint8_t)(best % N_MIXES) };
	fit->filters[clock] = filter;
	return filter.shift != old.shift || filter.mix != old.mix;
}

/* ---- Links ------------------------------------------------------------------------ */

/* Products of the link's flows with each other and with what is left. */
static void
make_products(struct path_fit *fit, uint32_t l)
{
	struct link *link = &fit->links[l];
	size_t n = fit->problem->n_bins;
	float *e = xmemdup(link->y, n, sizeof *e);

	for (uint32_t i = 0; i < link->n_flows; i++) {
		uint32_t flow = link->flows[i];
		float *series = fit->series + i * n;

		make_series(fit, l, flow, series);
		if (!has_link(&fit->problem->flows[flow], fit->path[flow], l))
			continue;
		for (size_t t = 0; t < n; t++)
			e[t] -= series[t];
	}
	for (uint32_t i = 0; i < link->n_flows; i++) {
		const float *a = fit->series + i * n;

		for (uint32_t k = 0; k <= i; k++) {
			float sum = (float)product(a, fit->series + k * n, n);

			link->gram[i * link->n_flows + k] = sum;
			link->gram[k * link->n_flows + i] = sum;
		}
		link->u[i] = product(a, e, n);
	}
	link->rss = product(e, e, n);
	free(e);
}

static void
weigh(const struct path_fit *fit, uint32_t l, double squares_left, double trust)
{
	struct link *link = &fit->links[l];

	link->weight = trust / (squares_left / link->n_valid + link->floor);
}

/* Marks the bins in which the link and all its flows are known, with their neighbors. */
static void
find_valid(struct path_fit *fit, uint32_t l)
{
	const struct path_inference_problem *problem = fit->problem;
	struct link *link = &fit->links[l];
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
	struct link *link = &fit->links[l];
	size_t n = problem->n_bins;
	double raw = 0;

	find_valid(fit, l);
	link->is_counted = link->n_valid >= PATH_INFERENCE_MIN_BINS;
	if (!link->is_counted)
		return;
	link->y = xmemdup(problem->links[l].bytes, n, sizeof *link->y);
	for (size_t t = 0; t < n; t++)
		raw += link->valid[t] ? (double)link->y[t] * link->y[t] : 0;
	center(link, n, link->y);
	link->yy = product(link->y, link->y, n);
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

	for (size_t from = 0; from < n; from += BLOCK) {
		size_t to = from + BLOCK < n ? from + BLOCK : n, n_here = 0;
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
		struct link *link = &fit->links[it->link];

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
			const struct link *link = &fit->links[flow->path_links[i]];

			fit->places[f][i] = NO_PLACE;
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
		guess_filter(fit, clock);
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
		struct link *link = &fit->links[l];

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
		has_changed |= estimate_filter(fit, clock);
	for (uint32_t l = 0; l < problem->n_links; l++) {
		if (!fit->links[l].is_counted)
			continue;
		make_products(fit, l);
		weigh(fit, l, fit->links[l].rss, 1);
	}
	return has_changed;
}

/* ---- Moves ------------------------------------------------------------------------ */

/* Adds the flow to a link (sign -1) or takes it off (1). */
static void
change(struct link *link, uint32_t place, double sign)
{
	const float *row = link->gram + (size_t)place * link->n_flows;

	link->rss += row[place] + 2 * sign * link->u[place];
	for (uint32_t k = 0; k < link->n_flows; k++)
		link->u[k] += sign * row[k];
}

void
path_fit_move(struct path_fit *fit, uint32_t flow, uint32_t path)
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];
	uint32_t old = fit->path[flow];

	for (int come = 0; come < 2; come++) {
		uint32_t p = come ? path : old, other = come ? old : path;

		for (uint32_t i = p == PATH_FIT_NONE ? 0 : first_of(f, p);
		     p != PATH_FIT_NONE && i < f->path_ends[p]; i++)
			if (fit->places[flow][i] != NO_PLACE &&
			    !has_link(f, other, f->path_links[i]))
				change(&fit->links[f->path_links[i]],
				       fit->places[flow][i], come ? -1 : 1);
	}
	fit->path[flow] = path;
}

uint32_t
path_fit_path(const struct path_fit *fit, uint32_t flow)
{
	return fit->path[flow];
}

typedef void each_link(const struct link *link, uint32_t place, double sums[2]);

/* Calls 'each' for the counted links of 'path' that 'other' does not have. */
static void
for_each(const struct path_fit *fit, uint32_t flow, uint32_t path, uint32_t other,
	 each_link *each, double sums[2])
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];

	if (path == PATH_FIT_NONE)
		return;
	for (uint32_t i = first_of(f, path); i < f->path_ends[path]; i++)
		if (fit->places[flow][i] != NO_PLACE &&
		    !has_link(f, other, f->path_links[i]))
			each(&fit->links[f->path_links[i]], fit->places[flow][i], sums);
}

/* Sums of weighted products: with the residual, and with itself. */
static void
add_products(const struct link *link, uint32_t place, double sums[2])
{
	sums[0] += link->weight * link->u[place];
	sums[1] += link->weight * link->gram[(size_t)place * link->n_flows + place];
}

double
path_fit_gain(const struct path_fit *fit, uint32_t flow, uint32_t path)
{
	uint32_t now = fit->path[flow];
	double leaves[2] = { 0 }, comes[2] = { 0 };

	for_each(fit, flow, now, path, add_products, leaves);
	for_each(fit, flow, path, now, add_products, comes);
	return leaves[1] + 2 * leaves[0] + comes[1] - 2 * comes[0];
}

double
path_fit_power(const struct path_fit *fit, uint32_t flow, uint32_t a, uint32_t b)
{
	double sums[2] = { 0 };

	for_each(fit, flow, a, b, add_products, sums);
	for_each(fit, flow, b, a, add_products, sums);
	return sums[1];
}

bool
path_fit_varies(const struct path_fit *fit, uint32_t flow)
{
	return fit->varies[flow];
}

bool
path_fit_is_crowded(const struct path_fit *fit, uint32_t flow)
{
	return fit->crowds[flow];
}

static void
count(const struct link *link, uint32_t place, double sums[2])
{
	(void)link;
	(void)place;
	sums[0]++;
}

bool
path_fit_tells_apart(const struct path_fit *fit, uint32_t flow, uint32_t a, uint32_t b)
{
	double sums[2] = { 0 };

	for_each(fit, flow, a, b, count, sums);
	for_each(fit, flow, b, a, count, sums);
	return sums[0] > 0;
}

double
path_fit_factor(const struct path_fit *fit, uint32_t flow, uint32_t path,
		uint32_t other)
{
	double sums[2] = { 0 };

	for_each(fit, flow, path, other, add_products, sums);
	return (fit->path[flow] == path) + (sums[1] > 0 ? sums[0] / sums[1] : 0);
}

static void
find_explained(const struct link *link, uint32_t place, double sums[2])
{
	(void)place;
	sums[0] = fmax(sums[0], link->yy > 0 ? link->rss / link->yy : 1);
}

double
path_fit_explained(const struct path_fit *fit, uint32_t flow)
{
	double sums[2] = { 0 };

	for_each(fit, flow, fit->path[flow], PATH_FIT_NONE, find_explained, sums);
	return 1 - sums[0];
}

uint32_t *
path_fit_neighbors(struct path_fit *fit, uint32_t flow, size_t *ret_n)
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];
	VEC(uint32_t) all = VEC_EMPTY;
	size_t n = 0;

	for (uint32_t i = 0; i < f->path_ends[f->n_paths - 1]; i++) {
		const struct link *link = &fit->links[f->path_links[i]];

		for (uint32_t k = 0; k < link->n_flows && link->is_counted; k++)
			if (link->flows[k] != flow)
				vec_push(&all, link->flows[k]);
	}
	sort_items(all.items, all.n, sort_by_u32);
	for (size_t i = 0; i < all.n; i++)
		if (n == 0 || all.items[n - 1] != all.items[i])
			all.items[n++] = all.items[i];
	*ret_n = n;
	return all.items;
}

/* ---- Bin by bin ------------------------------------------------------------------- */

void
path_fit_remember(struct path_fit *fit)
{
	const struct path_inference_problem *problem = fit->problem;
	size_t n = problem->n_bins;

	memcpy(fit->remembered, fit->path, problem->n_flows * sizeof *fit->path);
	for (uint32_t l = 0; l < problem->n_links; l++) {
		struct link *link = &fit->links[l];

		if (!link->is_counted)
			continue;
		free(link->e);
		link->e = xmemdup(link->y, n, sizeof *link->e);
		for (uint32_t i = 0; i < link->n_flows; i++) {
			uint32_t flow = link->flows[i];

			if (!has_link(&problem->flows[flow], fit->path[flow], l))
				continue;
			make_series(fit, l, flow, fit->series);
			for (size_t t = 0; t < n; t++)
				link->e[t] -= fit->series[t];
		}
	}
}

/* Changes the residual of link 'l' by what has moved. */
static bool
move_residual(struct path_fit *fit, uint32_t l, const uint32_t *flows, size_t n_flows,
	      float *e)
{
	size_t n = fit->problem->n_bins;
	bool has_moved = false;

	memcpy(e, fit->links[l].e, n * sizeof *e);
	for (size_t i = 0; i < n_flows; i++) {
		const struct path_inference_flow *f = &fit->problem->flows[flows[i]];
		float sign = (float)has_link(f, fit->remembered[flows[i]], l) -
			     (float)has_link(f, fit->path[flows[i]], l);

		if (sign == 0 || !fit->varies[flows[i]])
			continue;
		has_moved = true;
		make_series(fit, l, flows[i], fit->series);
		for (size_t t = 0; t < n; t++)
			e[t] += sign * fit->series[t];
	}
	return has_moved;
}

void
path_fit_difference(struct path_fit *fit, const uint32_t *flows, size_t n_flows,
		    double *parts, size_t n_parts)
{
	const struct path_inference_problem *problem = fit->problem;
	size_t n = problem->n_bins;
	VEC(uint32_t) links = VEC_EMPTY;
	float *e = xcalloc(n + 1, sizeof *e);

	for (size_t i = 0; i < n_flows; i++) {
		const struct path_inference_flow *f = &problem->flows[flows[i]];

		for (uint32_t k = 0; k < f->path_ends[f->n_paths - 1]; k++)
			if (fit->places[flows[i]][k] != NO_PLACE)
				vec_push(&links, f->path_links[k]);
	}
	sort_items(links.items, links.n, sort_by_u32);
	for (size_t i = 0; i < links.n; i++) {
		uint32_t l = links.items[i];
		const struct link *link = &fit->links[l];

		if ((i && links.items[i - 1] == l) ||
		    !move_residual(fit, l, flows, n_flows, e))
			continue;
		for (size_t t = 0; t < n; t++)
			parts[t * n_parts / n] +=
				link->weight *
				((double)e[t] * e[t] - (double)link->e[t] * link->e[t]);
	}
	vec_free(&links);
	free(e);
}
