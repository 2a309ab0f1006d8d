/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_synergy.c - as many CPUs as jobs can use, as long as no GPU idles for lack of
 * CPUs (Synergy, OSDI 2022).
 *
 * In each round jobs are placed in order, into the empty cluster.  A job whose CPUs
 * are not available where its GPUs are gives up those beyond an even share; if that is
 * not enough, other jobs on that node do.
 */
#include <math.h>

#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/stages.h"

enum {
	ORDER,
	EVEN,
	MOST,
	N_PARAMS,
};

enum order {
	BY_SUBMISSION,
	BY_REMAINING,
	BY_ATTAINED,
};

struct state {
	struct order_list list;
	enum order order;
	uint32_t even, most;  /* CPUs for a GPU. */
	VEC(uint32_t) cpus;   /* By id: CPUs of each of its GPUs; 0: it does not run. */
	VEC(uint32_t) n_free; /* By node. */
	VEC(uint32_t) n_cpus; /* By node: free CPUs. */
	VEC(uint32_t) ids;    /* In the order of service. */
	struct pol_free free;
};

static const struct pol_param params[] = {
	[ORDER] = { "synergy.order",
		    "0: by arrival; 1: least remaining time first; 2: least attained "
		    "GPU time first",
		    0, 0, 2, true },
	[EVEN] = { "synergy.cpus_per_gpu",
		   "CPUs of a node for each of its GPUs (Synergy's code)", 3, 1, 1024,
		   true },
	[MOST] = { "synergy.max_cpus_per_gpu",
		   "most CPUs per GPU that a job may get (Synergy's profiles)", 12, 1,
		   1024, true },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->order = (enum order)values[ORDER];
	s->even = (uint32_t)values[EVEN];
	s->most = (uint32_t)values[MOST];
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->cpus);
	vec_free(&s->n_free);
	vec_free(&s->n_cpus);
	vec_free(&s->ids);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	while (s->cpus.n < view->n_ids)
		vec_push(&s->cpus, 0);
	order_list_event(&s->list, event, job->id);
}

static void
sort_list(struct state *s, const struct pol_view *view)
{
	double *keys = order_list_keys(&s->list, view);

	s->ids.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		vec_push(&s->ids, job->id);
		s->cpus.items[job->id] = 0;
		keys[job->id] = s->order == BY_REMAINING  ? job->remaining_s
				: s->order == BY_ATTAINED ? job->attained_s
							  : 0;
	}
	order_list_sort_ids(&s->list, s->ids.items, (uint32_t)s->ids.n);
}

/* ---- CPUs ------------------------------------------------------------------------ */

/* CPUs per GPU that make loading no longer than the rest of an iteration. */
static uint32_t
wanted(const struct state *s, const struct pol_job *job)
{
	double cpus = ceil(s->even * stages_loading(job) - 1e-9);

	return (uint32_t)fmin(fmax(cpus, 1), s->most);
}

/* The node that is left with the fewest GPUs, of those with n_cpus CPUs. */
static uint32_t
find_node(const struct state *s, const struct pol_cluster *cluster, uint32_t n_gpus,
	  uint32_t n_cpus)
{
	uint32_t best = POL_NONE;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (s->n_free.items[i] >= n_gpus && s->n_cpus.items[i] >= n_cpus &&
		    (best == POL_NONE || s->n_free.items[i] < s->n_free.items[best]))
			best = i;
	return best;
}

/* Cuts another job to an even share of CPUs, on all its nodes. */
static void
cut(struct state *s, const struct pol_plan *plan, const struct pol_grant *grant)
{
	uint32_t n = s->cpus.items[grant->job] - s->even;

	for (uint32_t i = 0; i < grant->n_pieces; i++) {
		const struct pol_piece *piece =
			&plan->pieces.items[grant->first_piece + i];

		s->n_cpus.items[piece->node] += n * piece->n_gpus;
	}
	s->cpus.items[grant->job] = s->even;
}

/* Cuts the jobs of a node, last one first, until n_cpus CPUs are free. */
static void
make_room(struct state *s, const struct pol_plan *plan, uint32_t node, uint32_t n_cpus)
{
	for (size_t i = plan->grants.n; i && s->n_cpus.items[node] < n_cpus; i--) {
		const struct pol_grant *grant = &plan->grants.items[i - 1];

		for (uint32_t k = 0; k < grant->n_pieces; k++) {
			if (plan->pieces.items[grant->first_piece + k].node == node &&
			    s->cpus.items[grant->job] > s->even) {
				cut(s, plan, grant);
				break;
			}
		}
	}
}

/* ---- Placing --------------------------------------------------------------------- */

static void
take(struct state *s, struct pol_plan *plan, const struct pol_job *job, uint32_t node,
     uint32_t n_gpus)
{
	uint32_t n_cpus = n_gpus * s->cpus.items[job->id];

	make_room(s, plan, node, n_cpus);
	s->n_cpus.items[node] -= n_cpus;
	place_take(&s->free, plan, node, n_gpus);
}

/* Places on one node, with as many CPUs as possible; false if no node has the GPUs. */
static bool
place_on_node(struct state *s, const struct pol_view *view, const struct pol_job *job,
	      struct pol_plan *plan)
{
	uint32_t *cpus = &s->cpus.items[job->id];
	uint32_t node = find_node(s, view->cluster, job->n_gpus, job->n_gpus * *cpus);

	if (node == POL_NONE && *cpus > s->even) {
		*cpus = s->even;
		node = find_node(s, view->cluster, job->n_gpus, job->n_gpus * *cpus);
	}
	if (node == POL_NONE)
		node = find_node(s, view->cluster, job->n_gpus, 0);
	if (node == POL_NONE)
		return false;
	take(s, plan, job, node, job->n_gpus);
	return true;
}

static uint32_t
find_roomiest(const struct state *s, const struct pol_cluster *cluster)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < cluster->n_nodes; i++)
		if (s->n_free.items[i] > s->n_free.items[best])
			best = i;
	return best;
}

/* Places on the nodes with most GPUs, with at most an even share of their CPUs. */
static void
place_on_nodes(struct state *s, const struct pol_view *view, const struct pol_job *job,
	       struct pol_plan *plan)
{
	uint32_t left = job->n_gpus;
	size_t first = plan->pieces.n;

	if (s->cpus.items[job->id] > s->even)
		s->cpus.items[job->id] = s->even;
	while (left) {
		uint32_t node = find_roomiest(s, view->cluster);
		uint32_t n = s->n_free.items[node];

		n = n < left ? n : left;
		take(s, plan, job, node, n);
		left -= n;
	}
	place_sort(plan->pieces.items + first, (uint32_t)(plan->pieces.n - first));
}

static void
serve(struct state *s, const struct pol_view *view, const struct pol_job *job,
      struct pol_plan *plan)
{
	uint32_t first = (uint32_t)plan->pieces.n;

	if (job->n_gpus > s->free.n_all)
		return;
	s->cpus.items[job->id] = wanted(s, job);
	if (!place_on_node(s, view, job, plan))
		place_on_nodes(s, view, job, plan);
	pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	struct pol_plan *plan = &plans[0];

	(void)n_max;
	sort_list(s, view);
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	s->free = place_empty(view->cluster, s->n_free.items);
	s->n_cpus.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		vec_push(&s->n_cpus, pol_node_gpus(view->cluster, i) * s->even);
	for (size_t i = 0; i < s->list.ids.n && s->free.n_all; i++)
		serve(s, view, &view->jobs[s->ids.items[i]], plan);
	for (size_t i = 0; i < plan->grants.n; i++)
		plan->grants.items[i].given.of[NEED_CPUS] =
			(double)s->cpus.items[plan->grants.items[i].job] / s->even;
	return 1;
}

const struct pol_planner planner_synergy = {
	.module = { .name = "synergy",
		    .text = "as many CPUs as a job can use, as long as no GPU idles "
			    "for lack of CPUs",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
};
