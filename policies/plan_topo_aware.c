/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_topo_aware.c - each job on the GPUs of largest utility; a job may wait for a
 * better place (topology-aware scheduling of BSC and IBM, SC 2017).
 *
 * The nodes with free GPUs are cut in two halves of about as many, the half with the
 * best place is cut again, and so on; within a node each set of free GPUs is tried.
 * New jobs are served in order of arrival, then postponed ones.
 */
#include <math.h>
#include <string.h>

#include "lib/base/vec.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/topo_utility.h"

enum {
	COMMUNICATION,
	INTERFERENCE,
	FRAGMENTATION,
	POSTPONES,
	LEAST,
	FIRST_NODE,
	N_PARAMS,
};

typedef VEC(uint32_t) id_list;

/* The best GPUs of a node; utility -1: it lacks room. */
struct best {
	double utility;
	uint32_t n_beside; /* Free GPUs on its sockets. */
	struct topo_costs costs;
	uint64_t gpus;
};

struct state {
	struct topo_weights weights;
	bool postpones, first_node;
	double least_utility;
	uint32_t largest; /* Node. */
	double least_distances[INSIDE_MAX_GPUS + 1];
	id_list fresh, postponed; /* Waiting jobs. */
	id_list candidates;
	VEC(uint32_t) n_free;
	VEC(uint64_t) busy;
	VEC(struct best) best; /* By node, for one job. */
	VEC(uint32_t) nodes;   /* With free GPUs. */
	VEC(struct topo_neighbor) neighbors;
	struct pol_free free;
};

static const struct pol_param params[] = {
	[COMMUNICATION] = { "topo-aware.communication",
			    "weight of the distance of GPUs", 1.0 / 3, 0, 1, false },
	[INTERFERENCE] = { "topo-aware.interference",
			   "weight of the slowdown by jobs on the same socket", 1.0 / 3,
			   0, 1, false },
	[FRAGMENTATION] = { "topo-aware.fragmentation", "weight of GPUs that are left",
			    1.0 / 3, 0, 1, false },
	[POSTPONES] = POL_SWITCH("topo-aware.postpone",
				 "1: a job waits while its utility would be less than "
				 "its least",
				 0),
	[LEAST] = { "topo-aware.least_utility",
		    "with postpone, least utility of jobs that state none", 0.3, 0, 1,
		    false },
	[FIRST_NODE] =
		POL_SWITCH("topo-aware.first_node",
			   "1: a new job is considered only while the first node "
			   "has room for it (its simulator)",
			   0),
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->weights = (struct topo_weights){ values[COMMUNICATION], values[INTERFERENCE],
					    values[FRAGMENTATION] };
	s->postpones = values[POSTPONES] != 0;
	s->least_utility = values[LEAST];
	s->first_node = values[FIRST_NODE] != 0;
	topo_least_distances(cluster->inside, s->least_distances);
}

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->fresh);
	vec_free(&s->postponed);
	vec_free(&s->candidates);
	vec_free(&s->n_free);
	vec_free(&s->busy);
	vec_free(&s->best);
	vec_free(&s->nodes);
	vec_free(&s->neighbors);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	if (event == POL_ARRIVED || event == POL_STOPPED)
		vec_push(&s->fresh, job->id);
}

/* ---- The best place of a job ----------------------------------------------------- */

/* The jobs on a node, those that this plan starts included. */
static void
find_neighbors(struct state *s, const struct pol_view *view,
	       const struct pol_plan *plan, uint32_t node)
{
	s->neighbors.n = 0;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		for (uint32_t k = 0; k < grant->n_pieces; k++) {
			const struct pol_piece *piece =
				&plan->pieces.items[grant->first_piece + k];

			if (piece->node == node)
				vec_push(&s->neighbors, ((struct topo_neighbor){
								&view->jobs[grant->job],
								piece->gpus }));
		}
	}
}

/* Free GPUs on the sockets of a set. */
static uint32_t
count_beside(const struct pol_inside *inside, uint64_t free, uint64_t set)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < inside->n_sockets; k++) {
		uint64_t socket = inside_on_socket(inside, k);

		if (set & socket)
			n += (uint32_t)__builtin_popcountll(free & socket);
	}
	return n;
}

static void
consider(const struct state *s, const struct topo_server *server,
	 const struct pol_job *job, uint32_t n_gpus, uint64_t gpus, uint32_t n_beside,
	 struct best *best)
{
	struct topo_costs costs =
		topo_costs_of(server, s->least_distances, job, n_gpus, gpus);
	double utility = topo_system_utility(&s->weights, &costs);

	if (utility > best->utility ||
	    (utility == best->utility && n_beside <= best->n_beside))
		*best = (struct best){ utility, n_beside, costs, gpus };
}

/*
 * The best set of a node's free GPUs; of equals, the one on the fullest sockets, then the
 * last.
 */
static struct best
search_node(struct state *s, const struct pol_view *view, const struct pol_plan *plan,
	    const struct pol_job *job, uint32_t node, uint32_t n_gpus)
{
	struct topo_server server = { .inside = inside_of(view->cluster, node),
				      .n_gpus = view->cluster->n_gpus[node],
				      .n_free = s->n_free.items[node] };
	struct best best = { .utility = -1 };
	uint64_t free;

	if (server.n_free < n_gpus)
		return best;
	find_neighbors(s, view, plan, node);
	server.neighbors = s->neighbors.items;
	server.n_neighbors = s->neighbors.n;
	if (!server.inside) {
		consider(s, &server, job, n_gpus, 0, 0, &best);
		return best;
	}
	free = inside_all(server.inside) & ~s->busy.items[node];
	for (uint64_t set = -free & free; set; set = (set - free) & free)
		if ((uint32_t)__builtin_popcountll(set) == n_gpus)
			consider(s, &server, job, n_gpus, set,
				 count_beside(server.inside, free, set), &best);
	return best;
}

/*
 * Cuts 'n' nodes in two halves, with about as many free GPUs: those of the first half go
 * to the front.  Returns how many these are.
 */
static uint32_t
cut(const struct state *s, uint32_t *nodes, uint32_t n)
{
	uint32_t n_first = 0, free0 = 0, free1 = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = nodes[i], n_free = s->n_free.items[node];

		if (free0 > free1) {
			free1 += n_free;
			continue;
		}
		free0 += n_free;
		memmove(&nodes[n_first + 1], &nodes[n_first],
			(i - n_first) * sizeof *nodes);
		nodes[n_first++] = node;
	}
	return n_first;
}

static double
best_of(const struct state *s, const uint32_t *nodes, uint32_t n)
{
	double best = -1;

	for (uint32_t i = 0; i < n; i++)
		best = fmax(best, s->best.items[nodes[i]].utility);
	return best;
}

/* The node of the best place; the second half is taken unless the first is better. */
static uint32_t
bisect(const struct state *s, uint32_t *nodes, uint32_t n)
{
	while (n > 1) {
		uint32_t n_first = cut(s, nodes, n);

		if (best_of(s, nodes, n_first) >
		    best_of(s, nodes + n_first, n - n_first)) {
			n = n_first;
		} else {
			nodes += n_first;
			n -= n_first;
		}
	}
	return nodes[0];
}

static double
least_utility(const struct state *s, const struct pol_cluster *cluster,
	      const struct pol_job *job)
{
	const struct pol_measured *measured =
		cluster->inside ? cluster->inside->measured : NULL;
	double least = NAN;

	if (measured && measured->least_utility)
		least = measured->least_utility(measured->ctx, job);
	return isnan(least) ? s->least_utility : least;
}

static void
take(struct state *s, struct pol_plan *plan, uint32_t node, uint32_t n_gpus,
     uint64_t gpus)
{
	place_take_named(&s->free, plan, (struct pol_piece){ node, n_gpus, gpus });
	s->busy.items[node] |= gpus;
}

/* The best place on one node; false if there is none, or the job waits for a better. */
static bool
place_in_one(struct state *s, const struct pol_view *view, const struct pol_job *job,
	     struct pol_plan *plan)
{
	const struct best *best;
	uint32_t node;

	s->nodes.n = s->best.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++) {
		vec_push(&s->best, search_node(s, view, plan, job, i, job->n_gpus));
		if (s->n_free.items[i])
			vec_push(&s->nodes, i);
	}
	if (best_of(s, s->nodes.items, (uint32_t)s->nodes.n) < 0)
		return false;
	node = bisect(s, s->nodes.items, (uint32_t)s->nodes.n);
	best = &s->best.items[node];
	/* With no other job there is nothing to wait for. */
	if (s->postpones && plan->grants.n &&
	    topo_job_utility(&s->weights, &best->costs) <
		    least_utility(s, view->cluster, job))
		return false;
	take(s, plan, node, job->n_gpus, best->gpus);
	return true;
}

/* Whole empty nodes, the last one in part, for a job larger than each of them. */
static bool
place_in_many(struct state *s, const struct pol_view *view, const struct pol_job *job,
	      struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	uint32_t left = job->n_gpus, n_empty = 0;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (s->n_free.items[i] == cluster->n_gpus[i])
			n_empty += cluster->n_gpus[i];
	for (uint32_t i = 0; n_empty >= job->n_gpus && left; i++) {
		uint32_t n = cluster->n_gpus[i] < left ? cluster->n_gpus[i] : left;

		if (s->n_free.items[i] != cluster->n_gpus[i])
			continue;
		take(s, plan, i, n, search_node(s, view, plan, job, i, n).gpus);
		left -= n;
	}
	return !left;
}

static bool
place(struct state *s, const struct pol_view *view, const struct pol_job *job,
      struct pol_plan *plan)
{
	size_t first = plan->pieces.n;

	if (job->n_gpus > s->free.n_all ||
	    !(job->n_gpus > s->largest ? place_in_many(s, view, job, plan)
				       : place_in_one(s, view, job, plan)))
		return false;
	pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
	return true;
}

/* ---- Queues ---------------------------------------------------------------------- */

/* Running jobs keep their GPUs. */
static void
keep_running(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	vec_reserve(&s->busy, view->cluster->n_nodes);
	s->free = place_empty(view->cluster, s->n_free.items);
	s->largest = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (view->cluster->n_gpus[i] > s->largest)
			s->largest = view->cluster->n_gpus[i];
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		size_t first = plan->pieces.n;

		if (place_keep(job, &s->free, plan))
			pol_plan_grant(plan, job->id, job->n_held_gpus, job->id, first);
	}
	place_busy(plan, view->cluster->n_nodes, s->busy.items);
}

/* Serves the jobs of a list in its order; those that do not start are postponed. */
static void
serve(struct state *s, const struct pol_view *view, const id_list *jobs,
      struct pol_plan *plan)
{
	for (size_t i = 0; i < jobs->n; i++)
		if (!place(s, view, &view->jobs[jobs->items[i]], plan))
			vec_push(&s->postponed, jobs->items[i]);
}

/* Moves the jobs of 'from' for which 'n_free' GPUs of a node suffice to the candidates. */
static void
pick(struct state *s, const struct pol_view *view, id_list *from, uint32_t n_free)
{
	size_t n = 0;

	for (size_t i = 0; i < from->n; i++) {
		uint32_t id = from->items[i], n_gpus = view->jobs[id].n_gpus;

		if (n_gpus <= n_free || n_gpus > s->largest)
			vec_push(&s->candidates, id);
		else
			from->items[n++] = id;
	}
	from->n = n;
}

/* For each node in turn, those that fit; those that fit none keep their turn. */
static void
pick_postponed(struct state *s, const struct pol_view *view)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (s->n_free.items[i] > most) {
			most = s->n_free.items[i];
			pick(s, view, &s->postponed, most);
		}
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	keep_running(s, view, &plans[0]);
	s->candidates.n = 0;
	pick(s, view, &s->fresh, s->first_node ? s->n_free.items[0] : s->largest);
	pick_postponed(s, view);
	serve(s, view, &s->candidates, &plans[0]);
	return 1;
}

const struct pol_planner planner_topo_aware = {
	.module = { .name = "topo-aware",
		    .text = "each job on the GPUs of largest utility",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
};
