/* SPDX-License-Identifier: Apache-2.0 */
/* path_fit_move.c - changes of paths, and what they would gain */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/path_fit_internal.h"

/* ---- Moves ------------------------------------------------------------------------ */

/* Adds the flow to a link (sign -1) or takes it off (1). */
static void
change(struct path_fit_link *link, uint32_t place, double sign)
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

		for (uint32_t i = p == PATH_FIT_NONE ? 0 : path_fit_first(f, p);
		     p != PATH_FIT_NONE && i < f->path_ends[p]; i++)
			if (fit->places[flow][i] != PATH_FIT_NO_PLACE &&
			    !path_fit_has_link(f, other, f->path_links[i]))
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

typedef void each_link(const struct path_fit_link *link, uint32_t place,
		       double sums[2]);

/* Calls 'each' for the counted links of 'path' that 'other' does not have. */
static void
for_each(const struct path_fit *fit, uint32_t flow, uint32_t path, uint32_t other,
	 each_link *each, double sums[2])
{
	const struct path_inference_flow *f = &fit->problem->flows[flow];

	if (path == PATH_FIT_NONE)
		return;
	for (uint32_t i = path_fit_first(f, path); i < f->path_ends[path]; i++)
		if (fit->places[flow][i] != PATH_FIT_NO_PLACE &&
		    !path_fit_has_link(f, other, f->path_links[i]))
			each(&fit->links[f->path_links[i]], fit->places[flow][i], sums);
}

/* Sums of weighted products: with the residual, and with itself. */
static void
add_products(const struct path_fit_link *link, uint32_t place, double sums[2])
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
count(const struct path_fit_link *link, uint32_t place, double sums[2])
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
find_explained(const struct path_fit_link *link, uint32_t place, double sums[2])
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
		const struct path_fit_link *link = &fit->links[f->path_links[i]];

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
		struct path_fit_link *link = &fit->links[l];

		if (!link->is_counted)
			continue;
		free(link->e);
		link->e = xmemdup(link->y, n, sizeof *link->e);
		for (uint32_t i = 0; i < link->n_flows; i++) {
			uint32_t flow = link->flows[i];

			if (!path_fit_has_link(&problem->flows[flow], fit->path[flow],
					       l))
				continue;
			path_fit_series(fit, l, flow, fit->series);
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
		float sign = (float)path_fit_has_link(f, fit->remembered[flows[i]], l) -
			     (float)path_fit_has_link(f, fit->path[flows[i]], l);

		if (sign == 0 || !fit->varies[flows[i]])
			continue;
		has_moved = true;
		path_fit_series(fit, l, flows[i], fit->series);
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
			if (fit->places[flows[i]][k] != PATH_FIT_NO_PLACE)
				vec_push(&links, f->path_links[k]);
	}
	sort_items(links.items, links.n, sort_by_u32);
	for (size_t i = 0; i < links.n; i++) {
		uint32_t l = links.items[i];
		const struct path_fit_link *link = &fit->links[l];

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
