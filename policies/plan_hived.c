/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_hived.c - virtual clusters that own cells, and opportunistic jobs on what these
 * leave (HiveD, OSDI 2020).
 *
 * hived/cells.h finds the GPUs. A job is a gang of pods: one if it fits on a node, else
 * whole nodes and a rest.  Guaranteed jobs are tried first, by priority and then in the
 * inner order; a job that does not fit is skipped.  A job that is stopped waits again.
 */
#include "policies/hived/divide.h"
#include "policies/order_list.h"
#include "policies/planners.h"

#define N_SHARES 16 /* Virtual clusters with a parameter; the others' shares are 1. */

enum {
	VCS,
	ORDER,
	LAZY,
	SHARE0,
	N_PARAMS = SHARE0 + N_SHARES,
};

enum order {
	BY_SUBMISSION,
	BY_REMAINING,
	BY_ATTAINED,
};

enum kind {
	GUARANTEED,
	OPPORTUNISTIC, /* By priority, or it is too large for its VC. */
	SCATTERED,     /* Opportunistic, and too large for every chain. */
};

struct run {
	enum kind kind;
	VEC(struct pol_piece) pieces; /* None: it waits. */
};

/* A request that failed; an equal one of no higher priority fails, too. */
struct failure {
	uint32_t vc, n_gpus;
	int32_t priority;
};

struct state {
	struct order_list list;
	uint32_t n_vcs, n_chains;
	enum order order;
	bool is_lazy;
	struct cells *cells, *empty; /* 'empty' has no gangs: what can ever fit. */
	struct cell_division division;
	struct cells_answer answer;
	VEC(struct run) runs;         /* By id. */
	VEC(uint32_t) n_used;         /* By node. */
	VEC(bool) is_away;            /* By node. */
	VEC(uint32_t) parts;          /* By node: itself. */
	VEC(uint32_t) ids;            /* In the order of service. */
	VEC(struct failure) failures; /* Since GPUs became free. */
};

#define SHARE(vc)                                                     \
	[SHARE0 + (vc)] = { "hived.share" #vc,                        \
			    "relative share of virtual cluster " #vc, \
			    1,                                        \
			    1e-6,                                     \
			    1e6,                                      \
			    false }

static const struct pol_param params[] = {
	[VCS] = { "hived.vcs",
		  "virtual clusters; VC number k of the trace is k modulo this", 1, 1,
		  1000, true },
	[ORDER] = { "hived.order",
		    "0: by arrival; 1: least remaining time first; 2: least attained "
		    "GPU time first",
		    0, 0, 2, true },
	[LAZY] = POL_SWITCH("hived.lazy_preemption",
			    "1: a job that loses its cells to a higher priority of its "
			    "VC runs on, opportunistically",
			    1),
	SHARE(0),
	SHARE(1),
	SHARE(2),
	SHARE(3),
	SHARE(4),
	SHARE(5),
	SHARE(6),
	SHARE(7),
	SHARE(8),
	SHARE(9),
	SHARE(10),
	SHARE(11),
	SHARE(12),
	SHARE(13),
	SHARE(14),
	SHARE(15),
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;
	struct cell_division same;
	VEC(double) shares = VEC_EMPTY;

	(void)rng;
	s->n_vcs = (uint32_t)values[VCS];
	s->order = (enum order)values[ORDER];
	s->is_lazy = values[LAZY] != 0;
	for (uint32_t vc = 0; vc < s->n_vcs; vc++)
		vec_push(&shares, vc < N_SHARES ? values[SHARE0 + vc] : 1);
	s->cells = cells_divide(cluster, shares.items, s->n_vcs, &s->division);
	s->empty = cells_divide(cluster, shares.items, s->n_vcs, &same);
	cell_division_fini(&same);
	vec_free(&shares);
	s->n_chains = (uint32_t)s->division.chains.n;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		vec_push(&s->n_used, 0);
		vec_push(&s->is_away, false);
		vec_push(&s->parts, i);
	}
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	cells_free(s->cells);
	cells_free(s->empty);
	cell_division_fini(&s->division);
	cells_answer_fini(&s->answer);
	for (size_t i = 0; i < s->runs.n; i++)
		vec_free(&s->runs.items[i].pieces);
	vec_free(&s->runs);
	vec_free(&s->n_used);
	vec_free(&s->is_away);
	vec_free(&s->parts);
	vec_free(&s->ids);
	vec_free(&s->failures);
}

static uint32_t
vc_of(const struct state *s, const struct pol_job *job)
{
	return job->vc == POL_NONE ? 0 : job->vc % s->n_vcs;
}

static int32_t
priority_of(const struct state *s, const struct pol_job *job)
{
	if (s->runs.items[job->id].kind != GUARANTEED)
		return CELLS_OPPORTUNISTIC;
	return job->priority < CELLS_MAX_PRIORITY ? job->priority : CELLS_MAX_PRIORITY;
}

/* ---- Gangs ----------------------------------------------------------------------- */

/* Requests 'n_gpus' in a chain.  A job has a gang in a chain at most. */
static struct cells_request
request_in(const struct state *s, const struct pol_job *job, uint32_t chain,
	   struct cells_member *members)
{
	uint32_t node = s->division.chains.items[chain].node_gpus;
	struct cells_request request = { .gang = job->id * s->n_chains + chain,
					 .vc = vc_of(s, job),
					 .pinned = CELLS_NONE,
					 .leaf_type = chain,
					 .priority = priority_of(s, job),
					 .is_lazy = s->is_lazy,
					 .members = members };

	if (job->n_gpus >= node)
		members[request.n_members++] =
			(struct cells_member){ job->n_gpus / node, node };
	if (job->n_gpus % node)
		members[request.n_members++] =
			(struct cells_member){ 1, job->n_gpus % node };
	return request;
}

/* Whether it fits into some chain that nothing else uses. */
static bool
can_fit(struct state *s, const struct pol_job *job)
{
	for (uint32_t c = 0; c < s->n_chains; c++) {
		struct cells_member members[2];
		struct cells_request request = request_in(s, job, c, members);

		if (cells_find(s->empty, &request, &s->answer) == CELLS_FITS)
			return true;
	}
	return false;
}

static void
classify(struct state *s, const struct pol_job *job)
{
	enum kind *kind = &s->runs.items[job->id].kind;

	*kind = job->priority < 0 ? OPPORTUNISTIC : GUARANTEED;
	while (*kind < SCATTERED && !can_fit(s, job))
		(*kind)++;
}

static void
stop(struct state *s, uint32_t id)
{
	struct run *run = &s->runs.items[id];

	for (uint32_t c = 0; c < s->n_chains; c++)
		cells_end(s->cells, id * s->n_chains + c);
	for (size_t i = 0; i < run->pieces.n; i++)
		s->n_used.items[run->pieces.items[i].node] -=
			run->pieces.items[i].n_gpus;
	vec_free(&run->pieces);
	s->failures.n = 0;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	while (s->runs.n <= job->id)
		vec_push(&s->runs, ((struct run){ 0 }));
	if (event == POL_ARRIVED)
		classify(s, job);
	else if (event == POL_DONE)
		stop(s, job->id);
	order_list_event(&s->list, event, job->id);
}

/* Adds a GPU to the pieces, which ascend by node. */
static void
add_gpu(struct run *run, const struct pol_cluster *cluster, struct cells_leaf leaf)
{
	uint64_t bit = cluster->n_gpus[leaf.node] <= 64 ? UINT64_C(1) << leaf.index : 0;
	size_t i = run->pieces.n;

	for (size_t k = 0; k < run->pieces.n; k++) {
		if (run->pieces.items[k].node != leaf.node)
			continue;
		run->pieces.items[k].n_gpus++;
		run->pieces.items[k].gpus |= bit;
		return;
	}
	vec_push(&run->pieces, ((struct pol_piece){ leaf.node, 1, bit }));
	for (; i && run->pieces.items[i - 1].node > leaf.node; i--) {
		struct pol_piece swap = run->pieces.items[i];

		run->pieces.items[i] = run->pieces.items[i - 1];
		run->pieces.items[i - 1] = swap;
	}
}

/* Begins a gang if there is room; stops the jobs that have to make room. */
static bool
begin(struct state *s, const struct pol_view *view, const struct pol_job *job,
      const struct cells_request *request)
{
	struct run *run = &s->runs.items[job->id];
	int r = cells_claim(s->cells, request, &s->answer);

	if (r != CELLS_FITS && r != CELLS_PREEMPTS)
		return false;
	for (size_t i = 0; i < s->answer.victims.n; i++)
		stop(s, s->answer.victims.items[i] / s->n_chains);
	cells_begin(s->cells, request, &s->answer.placement);
	for (size_t i = 0; i < s->answer.placement.leaves.n; i++) {
		struct cells_leaf leaf = s->answer.placement.leaves.items[i];

		s->n_used.items[leaf.node]++;
		add_gpu(run, view->cluster, leaf);
	}
	return true;
}

/* Free GPUs of a chain. */
static uint32_t
n_free(const struct state *s, const struct pol_cluster *cluster, uint32_t chain)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (s->division.chain_of.items[i] == chain)
			n += pol_node_gpus(cluster, i) - s->n_used.items[i];
	return n;
}

/* Takes free GPUs of one chain after another. */
static bool
scatter(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	uint32_t n_lacked = job->n_gpus, n_all = 0;

	for (uint32_t c = 0; c < s->n_chains; c++)
		n_all += n_free(s, view->cluster, c);
	for (uint32_t c = 0; n_all >= job->n_gpus && n_lacked && c < s->n_chains; c++) {
		struct cells_member members[2];
		struct cells_request request = request_in(s, job, c, members);
		uint32_t n = n_free(s, view->cluster, c);

		members[0] = (struct cells_member){ n < n_lacked ? n : n_lacked, 1 };
		request.n_members = 1;
		if (!n)
			continue;
		if (!begin(s, view, job, &request))
			break;
		n_lacked -= members[0].n_pods;
	}
	if (n_lacked && n_lacked < job->n_gpus)
		stop(s, job->id);
	return !n_lacked;
}

static bool
serve(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	if (s->runs.items[job->id].kind == SCATTERED)
		return scatter(s, view, job);
	for (uint32_t c = 0; c < s->n_chains; c++) {
		struct cells_member members[2];
		struct cells_request request = request_in(s, job, c, members);

		if (begin(s, view, job, &request))
			return true;
	}
	return false;
}

/* ---- The plan -------------------------------------------------------------------- */

static double
key_of(const struct state *s, const struct pol_job *job)
{
	switch (s->order) {
	case BY_REMAINING:
		return job->remaining_s;
	case BY_ATTAINED:
		return job->attained_s;
	default:
		return 0;
	}
}

/* Lists all jobs: by priority, opportunistic ones last; then in the inner order. */
static void
sort(struct state *s, const struct pol_view *view)
{
	double *keys = order_list_keys(&s->list, view);

	s->ids.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		vec_push(&s->ids, id);
		keys[id] = key_of(s, &view->jobs[id]);
	}
	order_list_sort_ids(&s->list, s->ids.items, (uint32_t)s->ids.n);
	for (size_t i = 0; i < s->ids.n; i++)
		keys[s->ids.items[i]] = -priority_of(s, &view->jobs[s->ids.items[i]]);
	order_list_sort_ids(&s->list, s->ids.items, (uint32_t)s->ids.n);
}

static bool
has_failed(const struct state *s, const struct failure *failure)
{
	for (size_t i = 0; i < s->failures.n; i++)
		if (s->failures.items[i].vc == failure->vc &&
		    s->failures.items[i].n_gpus == failure->n_gpus &&
		    s->failures.items[i].priority >= failure->priority)
			return true;
	return false;
}

static void
serve_waiting(struct state *s, const struct pol_view *view)
{
	s->failures.n = 0;
	for (size_t i = 0; i < s->ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->ids.items[i]];
		int32_t priority = priority_of(s, job);
		struct failure failure = { priority < 0 ? POL_NONE : vc_of(s, job),
					   job->n_gpus, priority };

		if (s->runs.items[job->id].pieces.n || has_failed(s, &failure))
			continue;
		if (!serve(s, view, job))
			vec_push(&s->failures, failure);
	}
}

/* Stops the jobs of nodes that went away; cells of other nodes replace theirs. */
static void
update_nodes(struct state *s, const struct pol_cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		bool is_away = cluster->is_away && cluster->is_away[i];

		if (is_away != s->is_away.items[i])
			cells_set_node(s->cells, i, !is_away);
		s->is_away.items[i] = is_away;
	}
	for (size_t i = 0; cluster->is_away && i < s->list.ids.n; i++) {
		const struct run *run = &s->runs.items[s->list.ids.items[i]];
		bool is_hit = false;

		for (size_t k = 0; k < run->pieces.n; k++)
			is_hit |= s->is_away.items[run->pieces.items[k].node];
		if (is_hit)
			stop(s, s->list.ids.items[i]);
	}
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	update_nodes(s, view->cluster);
	sort(s, view);
	serve_waiting(s, view);
	for (size_t i = 0; i < s->ids.n; i++) {
		const struct run *run = &s->runs.items[s->ids.items[i]];
		size_t first = plans[0].pieces.n;

		for (size_t k = 0; k < run->pieces.n; k++)
			vec_push(&plans[0].pieces, run->pieces.items[k]);
		if (run->pieces.n)
			pol_plan_grant(&plans[0], s->ids.items[i],
				       view->jobs[s->ids.items[i]].n_gpus,
				       s->ids.items[i], first);
	}
	return 1;
}

/* No node stands for another: cells are bound to theirs. */
static const uint32_t *
parts(const void *state)
{
	return ((const struct state *)state)->parts.items;
}

const struct pol_planner planner_hived = {
	.module = { .name = "hived",
		    .text = "jobs in cells of their virtual clusters, which get "
			    "physical cells by buddy allocation; opportunistic jobs "
			    "on any other GPUs",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
	.parts = parts,
};
