/* SPDX-License-Identifier: Apache-2.0 */
/* loans.c - a daily curve, and the servers that are lent at a time. */
#include "policies/loans.h"

#include <math.h>

void
loans_init(struct loans *l, const struct pol_cluster *cluster, double share,
	   double peak_hour, double least)
{
	l->n = (uint32_t)(share * cluster->n_nodes);
	l->first = cluster->n_nodes - l->n;
	for (uint32_t i = 0; i < LOANS_N_STEPS; i++) {
		double days = (double)i / LOANS_N_STEPS - peak_hour / 24;
		double load = least + (1 - least) * (1 + cos(2 * M_PI * days)) / 2;

		l->n_wanted[i] = (uint32_t)round(load * l->n);
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&l->is_lent, i < l->first);
}

void
loans_fini(struct loans *l)
{
	vec_free(&l->is_lent);
	reclaim_fini(&l->reclaim);
}

/* Steps count from time 0. */
static uint32_t
wanted_at(const struct loans *l, double step)
{
	double of_day = fmod(step, LOANS_N_STEPS);

	return l->n_wanted[(uint32_t)(of_day < 0 ? of_day + LOANS_N_STEPS : of_day)];
}

void
loans_follow(struct loans *l, const struct pol_view *view)
{
	uint32_t n_wanted = wanted_at(l, floor(view->now_s / LOANS_STEP_S)), n_kept = 0;
	bool *is_lent = l->is_lent.items;

	for (uint32_t i = l->first; i < view->cluster->n_nodes; i++)
		n_kept += !is_lent[i];
	if (n_wanted > n_kept)
		reclaim_servers(&l->reclaim, view, l->first, n_wanted - n_kept,
				is_lent);
	for (uint32_t i = l->first; n_kept > n_wanted; i++) {
		n_kept -= !is_lent[i];
		is_lent[i] = true;
	}
}

/* GPUs that are there when most servers are lent, whichever they are. */
static uint32_t
most_gpus(const struct loans *l, const struct pol_cluster *cluster)
{
	uint32_t n_least = l->n, n_node = 0, n_all = 0;

	for (uint32_t i = 0; i < LOANS_N_STEPS; i++)
		n_least = l->n_wanted[i] < n_least ? l->n_wanted[i] : n_least;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t n = pol_node_gpus(cluster, i);

		n_all += n;
		if (i >= l->first && n > n_node)
			n_node = n;
	}
	return n_all > n_least * n_node ? n_all - n_least * n_node : 0;
}

static bool
may_change(const struct loans *l, const struct pol_view *view)
{
	uint32_t n_most = most_gpus(l, view->cluster);

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];

		if (job->n_pieces || job->n_gpus <= n_most)
			return true;
	}
	return false;
}

double
loans_next_s(const struct loans *l, const struct pol_view *view)
{
	double step = floor(view->now_s / LOANS_STEP_S);

	if (!may_change(l, view))
		return INFINITY;
	for (uint32_t i = 1; i < LOANS_N_STEPS; i++)
		if (wanted_at(l, step + i) != wanted_at(l, step))
			return (step + i) * LOANS_STEP_S;
	return INFINITY;
}
