/* SPDX-License-Identifier: Apache-2.0 */
/* crux.c - Crux's paths and priorities, as published */
#include "sim/baselines/crux.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "sim/baselines/crux_pair.h"

#define BITS 8.0
#define NEAR 1e-12 /* Loads closer than this are equal. */

static bool
is_quantity(double x)
{
	return isfinite(x) && x >= 0;
}

static bool
is_flow(const struct crux_problem *problem, uint32_t f)
{
	const struct crux_flow *flow = &problem->flows[f];

	return flow->job < problem->n_jobs && (!f || flow[-1].job <= flow->job) &&
	       is_quantity(flow->bytes) && flow->n_paths &&
	       flow->first_path < problem->n_paths &&
	       flow->n_paths <= problem->n_paths - flow->first_path;
}

int
crux_check(const struct crux_problem *problem)
{
	for (uint32_t l = 0; l < problem->n_links; l++)
		if (!(problem->capacity_bps[l] > 0) ||
		    !isfinite(problem->capacity_bps[l]))
			return -EINVAL;
	for (uint32_t j = 0; j < problem->n_jobs; j++) {
		const struct crux_job *job = &problem->jobs[j];

		if (!is_quantity(job->compute_flop) || !is_quantity(job->offset_s) ||
		    !is_quantity(job->compute_s) || !(job->compute_s > 0))
			return -EINVAL;
	}
	for (uint32_t f = 0; f < problem->n_flows; f++)
		if (!is_flow(problem, f))
			return -EINVAL;
	for (uint32_t p = 0; p < problem->n_paths; p++) {
		const struct crux_path *path = &problem->paths[p];

		if (path->first_link > problem->n_hops ||
		    path->n_links > problem->n_hops - path->first_link)
			return -EINVAL;
	}
	for (uint32_t h = 0; h < problem->n_hops; h++)
		if (problem->hops[h] >= problem->n_links)
			return -EINVAL;
	return 0;
}

static const struct crux_path *
path_of(const struct crux_problem *problem, uint32_t flow, const uint32_t *choices)
{
	return &problem->paths[problem->flows[flow].first_path + choices[flow]];
}

void
crux_intensities(const struct crux_problem *problem, const uint32_t *choices,
		 double *ret_network_s, double *ret_intensities)
{
	double *used_s = xcalloc(problem->n_links, sizeof *used_s);

	for (uint32_t j = 0, first = 0, end; j < problem->n_jobs; j++, first = end) {
		double network_s = 0;

		for (end = first;
		     end < problem->n_flows && problem->flows[end].job == j; end++) {
			const struct crux_path *path = path_of(problem, end, choices);

			for (uint32_t h = 0; h < path->n_links; h++) {
				uint32_t l = problem->hops[path->first_link + h];

				used_s[l] += BITS * problem->flows[end].bytes /
					     problem->capacity_bps[l];
				network_s = fmax(network_s, used_s[l]);
			}
		}
		for (uint32_t f = first; f < end; f++) {
			const struct crux_path *path = path_of(problem, f, choices);

			for (uint32_t h = 0; h < path->n_links; h++)
				used_s[problem->hops[path->first_link + h]] = 0;
		}
		if (ret_network_s)
			ret_network_s[j] = network_s;
		if (ret_intensities)
			ret_intensities[j] =
				network_s > 0
					? problem->jobs[j].compute_flop / network_s
					: 0;
	}
	free(used_s);
}

/* ------ Paths ------ */

struct ranked {
	double intensity;
	uint32_t job;
};

/* Descending; equal ones by number. */
static int
compare_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->intensity != b->intensity)
		return a->intensity < b->intensity ? 1 : -1;
	return (a->job > b->job) - (a->job < b->job);
}

static int
compare_descending(const void *a, const void *b)
{
	return sort_by_double(b, a);
}

struct chooser {
	const struct crux_problem *problem;
	double *loads; /* By link. */
	VEC(double) best, tried;
};

/* The loads of the path's links with the flow on it, in descending order. */
static void
try_path(struct chooser *c, const struct crux_path *path, double added_bps)
{
	c->tried.n = 0;
	for (uint32_t h = 0; h < path->n_links; h++) {
		uint32_t l = c->problem->hops[path->first_link + h];

		vec_push(&c->tried,
			 c->loads[l] + added_bps / c->problem->capacity_bps[l]);
	}
	sort_items(c->tried.items, c->tried.n, compare_descending);
}

/* Whether the path tried last is less congested than the best one so far. */
static bool
is_better(const struct chooser *c)
{
	for (size_t i = 0; i < c->tried.n && i < c->best.n; i++)
		if (fabs(c->tried.items[i] - c->best.items[i]) > NEAR)
			return c->tried.items[i] < c->best.items[i];
	return c->tried.n < c->best.n;
}

static uint32_t
choose_path(struct chooser *c, const struct crux_flow *flow, double added_bps)
{
	const struct crux_path *paths = c->problem->paths + flow->first_path;
	uint32_t best = 0;

	for (uint32_t p = 0; p < flow->n_paths; p++) {
		try_path(c, &paths[p], added_bps);
		if (p && !is_better(c))
			continue;
		best = p;
		c->best.n = 0;
		for (size_t i = 0; i < c->tried.n; i++)
			vec_push(&c->best, c->tried.items[i]);
	}
	for (uint32_t h = 0; h < paths[best].n_links; h++) {
		uint32_t l = c->problem->hops[paths[best].first_link + h];

		c->loads[l] += added_bps / c->problem->capacity_bps[l];
	}
	return best;
}

static double
iteration_s(const struct crux_job *job, double network_s)
{
	return fmax(job->compute_s, job->offset_s + network_s);
}

void
crux_choose_paths(const struct crux_problem *problem, uint32_t *choices)
{
	struct chooser c = { .problem = problem };
	struct ranked *ranked = xcalloc(problem->n_jobs, sizeof *ranked);
	double *network_s = xcalloc(problem->n_jobs, sizeof *network_s);
	double *intensities = xcalloc(problem->n_jobs, sizeof *intensities);
	uint32_t *first = xcalloc((size_t)problem->n_jobs + 1, sizeof *first);

	c.loads = xcalloc(problem->n_links, sizeof *c.loads);
	crux_intensities(problem, choices, network_s, intensities);
	for (uint32_t f = 0; f < problem->n_flows; f++)
		first[problem->flows[f].job + 1]++;
	for (uint32_t j = 0; j < problem->n_jobs; j++) {
		first[j + 1] += first[j];
		ranked[j] = (struct ranked){ intensities[j], j };
	}
	sort_items(ranked, problem->n_jobs, compare_ranked);
	for (uint32_t i = 0; i < problem->n_jobs; i++) {
		uint32_t j = ranked[i].job;

		for (uint32_t f = first[j]; f < first[j + 1]; f++) {
			const struct crux_flow *flow = &problem->flows[f];

			choices[f] = choose_path(
				&c, flow,
				BITS * flow->bytes /
					iteration_s(&problem->jobs[j], network_s[j]));
		}
	}
	vec_free(&c.best);
	vec_free(&c.tried);
	free(c.loads);
	free(first);
	free(intensities);
	free(network_s);
	free(ranked);
}

/* ------ Priorities ------ */

void
crux_priorities(const struct crux_problem *problem, const uint32_t *choices,
		double *ret_priorities)
{
	double *network_s = xcalloc(problem->n_jobs, sizeof *network_s);
	double *bytes = xcalloc(problem->n_jobs, sizeof *bytes);
	struct crux_pattern reference;
	uint32_t most = 0;

	crux_intensities(problem, choices, network_s, ret_priorities);
	for (uint32_t f = 0; f < problem->n_flows; f++)
		bytes[problem->flows[f].job] += problem->flows[f].bytes;
	for (uint32_t j = 1; j < problem->n_jobs; j++)
		if (bytes[j] > bytes[most])
			most = j;
	for (uint32_t j = 0; j < problem->n_jobs; j++) {
		const struct crux_job *job = &problem->jobs[j];
		struct crux_pattern pattern = { job->compute_s, job->offset_s,
						network_s[j] };

		if (j == most)
			continue;
		reference = (struct crux_pattern){ problem->jobs[most].compute_s,
						   problem->jobs[most].offset_s,
						   network_s[most] };
		ret_priorities[j] *= crux_pair_factor(&reference, &pattern);
	}
	free(bytes);
	free(network_s);
}

/* ------ Contention ------ */

struct on_link {
	uint32_t link, job;
};

static int
compare_on_link(const void *pa, const void *pb)
{
	const struct on_link *a = pa, *b = pb;

	if (a->link != b->link)
		return a->link > b->link ? 1 : -1;
	return (a->job > b->job) - (a->job < b->job);
}

static int
compare_edges(const void *pa, const void *pb)
{
	const struct crux_edge *a = pa, *b = pb;

	if (a->high != b->high)
		return a->high > b->high ? 1 : -1;
	return (a->low > b->low) - (a->low < b->low);
}

static struct crux_edge
edge_of(uint32_t a, uint32_t b, const double *priorities, const double *intensities)
{
	bool first =
		priorities[a] != priorities[b] ? priorities[a] > priorities[b] : a < b;
	uint32_t high = first ? a : b;

	return (struct crux_edge){ high, first ? b : a, intensities[high] };
}

size_t
crux_contention(const struct crux_problem *problem, const uint32_t *choices,
		const double *priorities, const double *intensities,
		struct crux_edge **ret_edges)
{
	VEC(struct on_link) there = VEC_EMPTY;
	VEC(struct crux_edge) edges = VEC_EMPTY;
	size_t n = 0;

	for (uint32_t f = 0; f < problem->n_flows; f++) {
		const struct crux_path *path = path_of(problem, f, choices);

		if (!(problem->flows[f].bytes > 0))
			continue;
		for (uint32_t h = 0; h < path->n_links; h++) {
			struct on_link here = { problem->hops[path->first_link + h],
						problem->flows[f].job };

			vec_push(&there, here);
		}
	}
	sort_items(there.items, there.n, compare_on_link);
	for (size_t i = 0; i < there.n; i++)
		if (!i || compare_on_link(&there.items[i - 1], &there.items[i]))
			there.items[n++] = there.items[i];
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1;
		     k < n && there.items[k].link == there.items[i].link; k++)
			vec_push(&edges, edge_of(there.items[i].job, there.items[k].job,
						 priorities, intensities));
	sort_items(edges.items, edges.n, compare_edges);
	n = 0;
	for (size_t i = 0; i < edges.n; i++)
		if (!i || compare_edges(&edges.items[i - 1], &edges.items[i]))
			edges.items[n++] = edges.items[i];
	vec_free(&there);
	*ret_edges = edges.items;
	return n;
}
