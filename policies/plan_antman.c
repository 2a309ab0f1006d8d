/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_antman.c - guaranteed jobs with GPUs of their own, and opportunistic jobs on
 * the capacity these leave (AntMan, OSDI 2020).
 *
 * A guaranteed job that does not fit yet reserves GPUs as they become free: of one
 * node, or whole nodes if it needs several.  An opportunistic job is admitted on the
 * GPUs with the lowest load that have no other one, on any node.  Running jobs are
 * never stopped or moved.
 */
#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"

/*
 * The load that a job is assumed to put on a GPU. Sums are not rounded: in the
 * published simulator, the order of GPUs of "equal" load, and so its numbers, depend
 * on their last digits.
 */
#define LOAD_GUARANTEED    0.1
#define LOAD_STARTED       0.01 /* Added once the job runs. */
#define LOAD_OPPORTUNISTIC 0.9
#define LOAD_LIMIT         0.8 /* An opportunistic job fits below this. */

struct gpu {
	uint32_t node;
	uint32_t owner, opportunist; /* Jobs, or POL_NONE. */
};

struct state {
	struct order_list list;
	uint32_t opportunistic_priority;
	uint32_t node_gpus, n_nodes; /* GPUs of the largest node. */
	bool is_even;                /* All nodes have as many GPUs. */
	VEC(struct gpu) gpus;        /* Node by node. */
	VEC(double) loads;           /* [gpus] */
	VEC(uint32_t) first_gpu;     /* By node. */
	VEC(uint32_t) n_free;        /* By node: GPUs without an owner. */
	uint32_t n_all_free;
	VEC(bool) is_away;      /* By node, at the last plan. */
	VEC(uint32_t) holder;   /* By node: the job that reserves it, or POL_NONE. */
	VEC(uint32_t) n_lacked; /* By id: GPUs it still waits for; 0: it runs. */
	VEC(uint32_t) node_of;  /* By id: the node it reserves, or POL_NONE. */
	VEC(uint32_t) found, scratch;   /* GPUs, sorted by load. */
	VEC(uint32_t) slots, next_slot; /* GPUs job by job; by id. */
	struct pol_plan tried;
};

static const struct pol_param params[] = {
	{ "antman.opportunistic_priority",
	  "priority of opportunistic jobs (in Muri's traces)", 1, -1e6, 1e6, true },
	{ 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->opportunistic_priority = (uint32_t)(int32_t)values[0];
	s->n_nodes = cluster->n_nodes;
	s->is_even = true;
	s->n_all_free = cluster->n_all_gpus;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		s->is_even &= cluster->n_gpus[i] == cluster->n_gpus[0];
		if (cluster->n_gpus[i] > s->node_gpus)
			s->node_gpus = cluster->n_gpus[i];
		vec_push(&s->first_gpu, (uint32_t)s->gpus.n);
		vec_push(&s->n_free, cluster->n_gpus[i]);
		vec_push(&s->holder, POL_NONE);
		vec_push(&s->is_away, false);
		for (uint32_t k = 0; k < cluster->n_gpus[i]; k++) {
			vec_push(&s->gpus, ((struct gpu){ i, POL_NONE, POL_NONE }));
			vec_push(&s->loads, 0);
		}
	}
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->gpus);
	vec_free(&s->loads);
	vec_free(&s->first_gpu);
	vec_free(&s->n_free);
	vec_free(&s->holder);
	vec_free(&s->is_away);
	vec_free(&s->n_lacked);
	vec_free(&s->node_of);
	vec_free(&s->found);
	vec_free(&s->scratch);
	vec_free(&s->slots);
	vec_free(&s->next_slot);
	pol_plan_fini(&s->tried);
}

static void
leave(struct state *s, uint32_t id)
{
	/* What it has only reserved is loaded less. */
	double load = LOAD_GUARANTEED - (s->n_lacked.items[id] ? LOAD_STARTED : 0);

	for (size_t i = 0; i < s->gpus.n; i++) {
		struct gpu *gpu = &s->gpus.items[i];

		if (gpu->owner == id) {
			gpu->owner = POL_NONE;
			s->loads.items[i] -= load;
			s->n_free.items[gpu->node]++;
			s->n_all_free++;
		} else if (gpu->opportunist == id) {
			gpu->opportunist = POL_NONE;
			s->loads.items[i] -= LOAD_OPPORTUNISTIC;
		}
	}
}

/* Gives up what a job has, or has reserved. */
static void
wait_again(struct state *s, const struct pol_job *job)
{
	uint32_t *node = &s->node_of.items[job->id];

	leave(s, job->id);
	s->n_lacked.items[job->id] = job->n_gpus;
	if (*node != POL_NONE && s->holder.items[*node] == job->id)
		s->holder.items[*node] = POL_NONE;
	*node = POL_NONE;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	while (s->n_lacked.n < view->n_ids) {
		vec_push(&s->n_lacked, 0);
		vec_push(&s->node_of, POL_NONE);
		vec_push(&s->next_slot, 0);
	}
	if (event == POL_ARRIVED)
		s->n_lacked.items[job->id] = job->n_gpus;
	else if (event == POL_DONE)
		leave(s, job->id);
	else if (event == POL_STOPPED)
		wait_again(s, job);
	order_list_event(&s->list, event, job->id);
}

static bool
is_opportunistic(const struct state *s, const struct pol_job *job)
{
	return (uint32_t)job->priority == s->opportunistic_priority;
}

/* ---- Guaranteed jobs ------------------------------------------------------------- */

/* Starts a job that has all its GPUs. */
static void
begin(struct state *s, uint32_t id)
{
	for (size_t i = 0; i < s->gpus.n; i++)
		if (s->gpus.items[i].owner == id)
			s->loads.items[i] += LOAD_STARTED;
	if (s->node_of.items[id] != POL_NONE)
		s->holder.items[s->node_of.items[id]] = POL_NONE;
}

/* Takes the first 'n' GPUs without an owner. */
static void
take(struct state *s, uint32_t id, uint32_t node, uint32_t n)
{
	s->n_free.items[node] -= n;
	s->n_all_free -= n;
	s->n_lacked.items[id] -= n;
	for (uint32_t i = s->first_gpu.items[node]; n; i++) {
		if (s->gpus.items[i].owner != POL_NONE)
			continue;
		s->gpus.items[i].owner = id;
		s->loads.items[i] += LOAD_GUARANTEED - LOAD_STARTED;
		n--;
	}
	if (!s->n_lacked.items[id])
		begin(s, id);
}

/* The first node with room; else the one with most reservable GPUs. */
static uint32_t
find_node(const struct state *s, const struct pol_cluster *cluster, uint32_t n_gpus)
{
	uint32_t best = POL_NONE, n_best = 0;

	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->n_free.items[i] >= n_gpus)
			return i;
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		/* One job per node: two could wait for each other. */
		if (s->holder.items[i] != POL_NONE || cluster->n_gpus[i] < n_gpus ||
		    s->n_free.items[i] <= n_best)
			continue;
		best = i;
		n_best = s->n_free.items[i];
	}
	return best;
}

static void
serve_on_node(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	uint32_t *node = &s->node_of.items[job->id];
	uint32_t n_lacked = s->n_lacked.items[job->id], n;

	if (*node == POL_NONE)
		*node = find_node(s, view->cluster, job->n_gpus);
	if (*node == POL_NONE)
		return;
	n = s->n_free.items[*node];
	if (n < n_lacked)
		s->holder.items[*node] = job->id;
	if (n)
		take(s, job->id, *node, n < n_lacked ? n : n_lacked);
}

/* Reserves whole nodes as they become free. */
static void
serve_on_nodes(struct state *s, const struct pol_job *job)
{
	for (uint32_t i = 0; i < s->n_nodes && s->n_lacked.items[job->id]; i++)
		if (s->n_free.items[i] == s->node_gpus)
			take(s, job->id, i, s->node_gpus);
}

/* Takes all GPUs at once: two jobs with partial reservations could deadlock. */
static void
serve_at_once(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	struct pol_free room = { .n_all = s->n_all_free };
	const struct pol_want want = place_want(job);

	s->scratch.n = 0;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		vec_push(&s->scratch, s->n_free.items[i]);
	room.n_free = s->scratch.items;
	pol_plan_clear(&s->tried);
	place_whole.place(NULL, view, &want, &room, &s->tried);
	for (size_t i = 0; i < s->tried.pieces.n; i++)
		take(s, job->id, s->tried.pieces.items[i].node,
		     s->tried.pieces.items[i].n_gpus);
}

static void
serve(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	if (!s->n_all_free)
		return;
	if (job->n_gpus <= s->node_gpus)
		serve_on_node(s, view, job);
	else if (s->is_even && job->n_gpus % s->node_gpus == 0)
		serve_on_nodes(s, job);
	else
		serve_at_once(s, view, job);
}

/* ---- Opportunistic jobs ---------------------------------------------------------- */

/* GPUs on which an opportunistic job fits. */
static void
find_open(struct state *s)
{
	s->found.n = 0;
	for (uint32_t i = 0; i < s->gpus.n; i++)
		if (s->loads.items[i] < LOAD_LIMIT &&
		    !s->is_away.items[s->gpus.items[i].node])
			vec_push(&s->found, i);
}

static void
let_in(struct state *s, const struct pol_job *job)
{
	s->scratch.n = 0;
	vec_reserve(&s->scratch, s->found.n);
	order_sort(s->found.items, (uint32_t)s->found.n, s->loads.items,
		   s->scratch.items);
	for (uint32_t i = 0; i < job->n_gpus; i++) {
		s->gpus.items[s->found.items[i]].opportunist = job->id;
		s->loads.items[s->found.items[i]] += LOAD_OPPORTUNISTIC;
	}
	s->n_lacked.items[job->id] = 0;
	find_open(s);
}

/* ---- Nodes that are away --------------------------------------------------------- */

/* Jobs that have GPUs of a node, or reserve some, wait again. */
static void
leave_node(struct state *s, const struct pol_view *view, uint32_t node)
{
	for (size_t i = 0; i < s->list.ids.n; i++)
		if (s->node_of.items[s->list.ids.items[i]] == node)
			wait_again(s, &view->jobs[s->list.ids.items[i]]);
	for (uint32_t i = s->first_gpu.items[node];
	     i < s->gpus.n && s->gpus.items[i].node == node; i++)
		if (s->gpus.items[i].owner != POL_NONE)
			wait_again(s, &view->jobs[s->gpus.items[i].owner]);
}

static void
follow_nodes(struct state *s, const struct pol_view *view)
{
	const struct pol_cluster *cluster = view->cluster;

	for (uint32_t i = 0; cluster->is_away && i < s->n_nodes; i++) {
		if (cluster->is_away[i] == s->is_away.items[i])
			continue;
		s->is_away.items[i] = cluster->is_away[i];
		if (cluster->is_away[i])
			leave_node(s, view, i);
		s->n_free.items[i] = pol_node_gpus(cluster, i);
		if (cluster->is_away[i])
			s->n_all_free -= cluster->n_gpus[i];
		else
			s->n_all_free += cluster->n_gpus[i];
	}
}

/* ---- The plan -------------------------------------------------------------------- */

/*
 * Lists the GPUs of running jobs in 'slots', job by job; next_slot is each job's end.
 */
static void
list_gpus(struct state *s, const struct pol_view *view)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		s->next_slot.items[id] = n;
		n += s->n_lacked.items[id] ? 0 : view->jobs[id].n_gpus;
	}
	s->slots.n = 0;
	vec_reserve(&s->slots, n);
	for (uint32_t i = 0; i < s->gpus.n; i++) {
		const struct gpu *gpu = &s->gpus.items[i];

		if (gpu->owner != POL_NONE && !s->n_lacked.items[gpu->owner])
			s->slots.items[s->next_slot.items[gpu->owner]++] = i;
		if (gpu->opportunist != POL_NONE)
			s->slots.items[s->next_slot.items[gpu->opportunist]++] = i;
	}
}

static void
add_owner(struct pol_plan *plan, struct pol_grant *grant, uint32_t job, uint32_t node)
{
	struct pol_owner *owners = plan->owners.items + grant->first_owner;

	for (uint32_t i = 0; i < grant->n_owners; i++) {
		if (owners[i].job == job && owners[i].node == node) {
			owners[i].n_gpus++;
			return;
		}
	}
	vec_push(&plan->owners, ((struct pol_owner){ job, node, 1 }));
	grant->n_owners++;
}

static void
grant(const struct state *s, const struct pol_job *job, struct pol_plan *plan)
{
	const uint32_t *slots =
		s->slots.items + s->next_slot.items[job->id] - job->n_gpus;
	struct pol_grant grant = { .job = job->id,
				   .n_gpus = job->n_gpus,
				   .group = job->id,
				   .first_piece = (uint32_t)plan->pieces.n,
				   .first_owner = (uint32_t)plan->owners.n };

	for (uint32_t i = 0; i < job->n_gpus; i++) {
		const struct gpu *gpu = &s->gpus.items[slots[i]];

		if (i && plan->pieces.items[plan->pieces.n - 1].node == gpu->node)
			plan->pieces.items[plan->pieces.n - 1].n_gpus++;
		else
			vec_push(&plan->pieces,
				 ((struct pol_piece){ gpu->node, 1, 0 }));
		if (gpu->opportunist == job->id && gpu->owner != POL_NONE &&
		    !s->n_lacked.items[gpu->owner])
			add_owner(plan, &grant, gpu->owner, gpu->node);
	}
	grant.n_pieces = (uint32_t)plan->pieces.n - grant.first_piece;
	vec_push(&plan->grants, grant);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	follow_nodes(s, view);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		if (s->n_lacked.items[job->id] && !is_opportunistic(s, job))
			serve(s, view, job);
	}
	find_open(s);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		if (s->n_lacked.items[job->id] && is_opportunistic(s, job) &&
		    job->n_gpus <= s->found.n)
			let_in(s, job);
	}
	list_gpus(s, view);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->list.ids.n; i++) {
			const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

			if (!s->n_lacked.items[job->id] &&
			    is_opportunistic(s, job) == pass)
				grant(s, job, &plans[0]);
		}
	}
	return 1;
}

const struct pol_planner planner_antman = {
	.module = { .name = "antman",
		    .text = "guaranteed jobs by arrival, reserving GPUs as they "
			    "become free; opportunistic jobs on what these leave",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
	.is_fixed = true,
};
