/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim.c - lent servers are returned one by one, the cheapest first. */
#include "policies/reclaim.h"

#define EQUAL 1e-9 /* Costs closer than this are equal: rounding. */

void
reclaim_fini(struct reclaim *reclaim)
{
	vec_free(&reclaim->n_left);
	vec_free(&reclaim->costs);
}

static const struct pol_job *
job_at(const struct pol_view *view, uint32_t i)
{
	return &view->jobs[view->ids[i]];
}

/* Whether the job is stopped if it loses the piece. */
static bool
is_stopped(const struct reclaim *r, const struct pol_job *job, uint32_t i,
	   const struct pol_piece *piece)
{
	return r->n_left.items[i] < job->n_gpus + piece->n_gpus;
}

static void
find_costs(struct reclaim *r, const struct pol_view *view)
{
	r->costs.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		vec_push(&r->costs, 0);
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = job_at(view, i);

		for (uint32_t k = 0; r->n_left.items[i] && k < job->n_pieces; k++)
			if (is_stopped(r, job, i, &job->pieces[k]))
				r->costs.items[job->pieces[k].node] +=
					1.0 / job->n_pieces;
	}
}

static uint32_t
find_cheapest(const struct reclaim *r, uint32_t first, const bool *is_lent)
{
	uint32_t best = POL_NONE;

	for (uint32_t i = (uint32_t)r->costs.n; i-- > first;)
		if (is_lent[i] && (best == POL_NONE ||
				   r->costs.items[i] < r->costs.items[best] - EQUAL))
			best = i;
	return best;
}

/* Takes a server from its jobs; returns how many that stops. */
static uint32_t
take(struct reclaim *r, const struct pol_view *view, uint32_t node)
{
	uint32_t n_stopped = 0;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = job_at(view, i);
		uint32_t *n_left = &r->n_left.items[i];

		for (uint32_t k = 0; *n_left && k < job->n_pieces; k++) {
			if (job->pieces[k].node != node)
				continue;
			if (is_stopped(r, job, i, &job->pieces[k])) {
				*n_left = 0;
				n_stopped++;
			} else {
				*n_left -= job->pieces[k].n_gpus;
			}
		}
	}
	return n_stopped;
}

uint32_t
reclaim_servers(struct reclaim *r, const struct pol_view *view, uint32_t first,
		uint32_t n, bool *is_lent)
{
	uint32_t n_stopped = 0;

	r->n_left.n = 0;
	for (uint32_t i = 0; i < view->n_jobs; i++)
		vec_push(&r->n_left, job_at(view, i)->n_held_gpus);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node;

		find_costs(r, view);
		node = find_cheapest(r, first, is_lent);
		if (node == POL_NONE)
			break;
		is_lent[node] = false;
		n_stopped += take(r, view, node);
	}
	return n_stopped;
}
