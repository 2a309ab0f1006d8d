/* SPDX-License-Identifier: Apache-2.0 */
/* crux_levels.c - Crux's compression of priorities to the few levels of a network */
#include "sim/baselines/crux_levels.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"

#define NONE UINT32_MAX

/* The edges by one of their ends: those of job j are edges[first[j]] to first[j + 1]. */
struct by_job {
	uint32_t *first;                /* Owned. */
	const struct crux_edge **edges; /* Owned; borrows the edges. */
};

static struct by_job
list_edges(uint32_t n_jobs, const struct crux_edge *edges, size_t n_edges, bool by_high)
{
	struct by_job by = { xcalloc((size_t)n_jobs + 2, sizeof *by.first),
			     xcalloc(n_edges, sizeof *by.edges) };

	for (size_t e = 0; e < n_edges; e++)
		by.first[(by_high ? edges[e].high : edges[e].low) + 2]++;
	for (uint32_t j = 2; j < n_jobs + 2; j++)
		by.first[j] += by.first[j - 1];
	/* Filling moves the start of job j from first[j + 1] to that of j + 1. */
	for (size_t e = 0; e < n_edges; e++) {
		uint32_t job = by_high ? edges[e].high : edges[e].low;

		by.edges[by.first[job + 1]++] = &edges[e];
	}
	return by;
}

static void
by_job_fini(struct by_job *by)
{
	free(by->first);
	free(by->edges);
}

/* ------ One order ------ */

/*
 * Updates 'cut', by j, to C_ji after the job at position i - 1 has joined: edges into it
 * from positions before j are cut.
 */
static void
join(double *cut, double *added, const struct by_job *in, const uint32_t *position,
     uint32_t job, uint32_t i)
{
	double sum = 0;

	memset(added, 0, (i + 1) * sizeof *added);
	for (uint32_t e = in->first[job]; e < in->first[job + 1]; e++)
		added[position[in->edges[e]->high] + 1] += in->edges[e]->weight;
	for (uint32_t j = 0; j < i; j++) {
		sum += added[j];
		cut[j] += sum;
	}
}

/* Numbers the levels from the last job to the first, then from the highest. */
static void
number_levels(uint32_t n_jobs, uint32_t n_levels, const uint32_t *order,
	      const uint32_t *from, uint32_t *ret_levels)
{
	uint32_t k = n_levels - 1, i = n_jobs, used = 0;

	while (i) {
		uint32_t begin = 0;

		while (k && from[(size_t)k * (n_jobs + 1) + i] == NONE)
			k--;
		if (k)
			begin = from[(size_t)k-- * (n_jobs + 1) + i];
		while (i > begin)
			ret_levels[order[--i]] = used;
		used++;
	}
	for (uint32_t j = 0; j < n_jobs; j++)
		ret_levels[j] = used - 1 - ret_levels[j];
}

double
crux_levels_of_order(uint32_t n_jobs, const struct crux_edge *edges, size_t n_edges,
		     const uint32_t *order, uint32_t n_levels, uint32_t *ret_levels)
{
	const size_t row = (size_t)n_jobs + 1;
	struct by_job in = list_edges(n_jobs, edges, n_edges, false);
	uint32_t *position = xcalloc(row, sizeof *position);
	double *cut = xcalloc(row, sizeof *cut), *added = xcalloc(row, sizeof *added);
	/* best[k * row + i]: f(i, k + 1); from: its j, or NONE if a level less is as good. */
	double *best = xcalloc(row * n_levels, sizeof *best), weight;
	uint32_t *from = xcalloc(row * n_levels, sizeof *from);

	for (uint32_t i = 0; i < n_jobs; i++)
		position[order[i]] = i;
	for (uint32_t i = 1; i <= n_jobs; i++) {
		join(cut, added, &in, position, order[i - 1], i);
		for (uint32_t k = 1; k < n_levels; k++) {
			const double *before = best + (k - 1) * row;
			double most = before[i];
			uint32_t at = NONE;

			for (uint32_t j = 1; j < i; j++)
				if (before[j] + cut[j] > most) {
					most = before[j] + cut[j];
					at = j;
				}
			best[k * row + i] = most;
			from[k * row + i] = at;
		}
	}
	weight = best[(n_levels - 1) * row + n_jobs];
	number_levels(n_jobs, n_levels, order, from, ret_levels);
	free(from);
	free(best);
	free(added);
	free(cut);
	free(position);
	by_job_fini(&in);
	return weight;
}

/* ------ Random orders ------ */

/* A random breadth-first topological order; returns how many jobs it has. */
static uint32_t
draw_order(uint32_t n_jobs, const struct by_job *out, const struct by_job *in,
	   struct rng *rng, uint32_t *left, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t j = 0; j < n_jobs; j++) {
		left[j] = in->first[j + 1] - in->first[j];
		if (!left[j])
			order[n++] = j;
	}
	rng_shuffle(rng, order, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t begin = n, job = order[i];

		for (uint32_t e = out->first[job]; e < out->first[job + 1]; e++)
			if (!--left[out->edges[e]->low])
				order[n++] = out->edges[e]->low;
		rng_shuffle(rng, order + begin, n - begin);
	}
	return n;
}

static bool
is_edge(const struct crux_edge *edge, uint32_t n_jobs)
{
	return edge->high < n_jobs && edge->low < n_jobs && edge->weight >= 0 &&
	       isfinite(edge->weight);
}

int
crux_levels_find(uint32_t n_jobs, const struct crux_edge *edges, size_t n_edges,
		 const struct crux_levels_opts *opts, uint32_t *ret_levels,
		 double *ret_weight)
{
	const uint32_t n_levels = opts->n_levels ? opts->n_levels : CRUX_N_LEVELS;
	const uint32_t n_orders = opts->n_orders ? opts->n_orders : CRUX_N_ORDERS;
	struct by_job out, in;
	uint32_t *order, *left, *levels;
	double most = -1;
	struct rng rng;
	int rc = 0;

	for (size_t e = 0; e < n_edges; e++)
		if (!is_edge(&edges[e], n_jobs))
			return -EINVAL;
	out = list_edges(n_jobs, edges, n_edges, true);
	in = list_edges(n_jobs, edges, n_edges, false);
	order = xcalloc(n_jobs, sizeof *order);
	left = xcalloc(n_jobs, sizeof *left);
	levels = xcalloc(n_jobs, sizeof *levels);
	rng_init(&rng, opts->seed);
	for (uint32_t i = 0; i < n_orders; i++) {
		double weight;

		if (draw_order(n_jobs, &out, &in, &rng, left, order) < n_jobs) {
			rc = -EINVAL;
			break;
		}
		weight = crux_levels_of_order(n_jobs, edges, n_edges, order, n_levels,
					      levels);
		if (weight <= most)
			continue;
		most = weight;
		memcpy(ret_levels, levels, n_jobs * sizeof *levels);
	}
	if (!rc && ret_weight)
		*ret_weight = most;
	free(levels);
	free(left);
	free(order);
	by_job_fini(&in);
	by_job_fini(&out);
	return rc;
}
