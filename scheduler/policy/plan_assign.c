/*
 * plan_assign.c - jobs to GPUs by assignment (AlloX, EuroSys 2020).
 *
 * Free GPUs are machines.  A job that is the k-th from the end on its machine makes k jobs
 * wait or run for its time there: k times that time is its cost, and the assignment of the
 * least cost in all has the least mean completion time, were no other jobs to come.  Only
 * the first job of each machine starts; who runs is not stopped.
 */
#include <math.h>
#include <string.h>

#include "scheduler/policy/math/assign.h"
#include "scheduler/policy/order_list.h"
#include "scheduler/policy/places.h"
#include "scheduler/policy/planners.h"

#define NEVER 1e15 /* Seconds: on GPUs that it cannot have. */

enum {
	MOST_JOBS,
	N_PARAMS,
};

struct state {
	struct order_list list;
	void *place;                 /* State of the placement; owned. */
	VEC(uint32_t) waiting;       /* The oldest of those that wait. */
	VEC(uint32_t) type_of;       /* Of each free GPU: a machine. */
	VEC(double) times_s;         /* [waiting x types] */
	VEC(double) costs;           /* [waiting x (position x machine)] */
	VEC(uint32_t) columns;       /* Of each of 'waiting'. */
	VEC(uint32_t) first, levels; /* By machine: who, and how far from the end. */
	VEC(uint32_t) order, scratch;
	VEC(double) keys;
	VEC(uint32_t) n_free, masked; /* By node. */
	uint32_t most_jobs;
};

static const struct pol_param params[] = {
	[MOST_JOBS] = { "assign.most_jobs",
			"that wait, the oldest, are assigned at once (AlloX's code: all)",
			512, 1, 1e6 },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;
	const double waits = 0;

	s->most_jobs = (uint32_t)values[MOST_JOBS];
	s->place = xcalloc(1, place_best_fit.module.state_size);
	place_best_fit.module.init(s->place, &waits, cluster, rng);
}

static void
fini(void *state)
{
	struct state *s = state;

	place_best_fit.module.fini(s->place);
	free(s->place);
	order_list_fini(&s->list);
	vec_free(&s->waiting);
	vec_free(&s->type_of);
	vec_free(&s->times_s);
	vec_free(&s->costs);
	vec_free(&s->columns);
	vec_free(&s->first);
	vec_free(&s->levels);
	vec_free(&s->order);
	vec_free(&s->scratch);
	vec_free(&s->keys);
	vec_free(&s->n_free);
	vec_free(&s->masked);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	order_list_event(&s->list, event, job->id);
}

/* Who runs goes on; what is left are the machines. */
static void
keep_running(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;

	s->n_free.n = s->waiting.n = s->type_of.n = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&s->n_free, cluster->n_gpus[i]);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];
		uint32_t first = (uint32_t)plan->pieces.n;

		if (!job->n_pieces) {
			if (s->waiting.n < s->most_jobs)
				vec_push(&s->waiting, job->id);
			continue;
		}
		for (uint32_t k = 0; k < job->n_pieces; k++) {
			vec_push(&plan->pieces, job->pieces[k]);
			s->n_free.items[job->pieces[k].node] -= job->pieces[k].n_gpus;
		}
		vec_push(&plan->grants, ((struct pol_grant){ .job = job->id,
							     .n_gpus = job->n_held_gpus,
							     .group = job->id,
							     .first_piece = first,
							     .n_pieces = job->n_pieces,
							     .share = 1 }));
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		for (uint32_t k = 0; k < s->n_free.items[i]; k++)
			vec_push(&s->type_of, cluster->type_of[i]);
}

static uint32_t
n_of_type(const struct pol_cluster *cluster, uint32_t type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (cluster->type_of[i] == type)
			n += cluster->n_gpus[i];
	return n;
}

/*
 * Of each job on each type of GPUs; whoever is larger than all of them is not bound to
 * one.  Returns the most by which types differ for a job.
 */
static double
find_times(struct state *s, const struct pol_view *view)
{
	const struct pol_cluster *cluster = view->cluster;
	double differ = 1;

	s->times_s.n = 0;
	for (size_t i = 0; i < s->waiting.n; i++) {
		const struct pol_job *job = &view->jobs[s->waiting.items[i]];
		double least = INFINITY, most = 0;

		for (uint32_t type = 0; type < cluster->n_types; type++) {
			double speed = view->speed.speed(view->speed.ctx, job,
							 job->n_gpus, 1, type, NULL, 0);
			double time_s = speed > 0 ? job->remaining_s / speed : NEVER;

			if (cluster->n_types > 1 &&
			    n_of_type(cluster, type) < job->n_gpus)
				time_s = NEVER;
			vec_push(&s->times_s, time_s);
			if (time_s < NEVER) {
				least = fmin(least, time_s);
				most = fmax(most, time_s);
			}
		}
		if (least > 0 && most > 0)
			differ = fmax(differ, most / least);
	}
	return differ;
}

/*
 * Nobody is further from the end than there are jobs for, times by how much types differ:
 * elsewhere would be a place that is better for it.
 */
static void
assign(struct state *s, const struct pol_view *view, double differ)
{
	size_t n = s->waiting.n, n_machines = s->type_of.n;
	size_t even = (n + n_machines - 1) / n_machines;
	size_t n_levels = (size_t)fmin((double)n, ceil((double)even * differ));

	s->costs.n = s->columns.n = s->first.n = s->levels.n = 0;
	vec_reserve(&s->costs, n * n_levels * n_machines);
	vec_reserve(&s->columns, n);
	for (size_t i = 0; i < n; i++)
		for (size_t level = 0; level < n_levels; level++)
			for (size_t m = 0; m < n_machines; m++)
				s->costs.items[s->costs.n++] =
					(double)(level + 1) *
					s->times_s.items[i * view->cluster->n_types +
							 s->type_of.items[m]];
	assign_find((uint32_t)n, (uint32_t)(n_levels * n_machines), s->costs.items,
		    s->columns.items);
	for (size_t m = 0; m < n_machines; m++) {
		vec_push(&s->first, POL_NONE);
		vec_push(&s->levels, 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = s->columns.items[i] % (uint32_t)n_machines;
		uint32_t level = s->columns.items[i] / (uint32_t)n_machines + 1;

		if (level <= s->levels.items[m])
			continue;
		s->levels.items[m] = level;
		s->first.items[m] = i;
	}
}

/* Whether there is a type that can have it. */
static bool
is_bound(const struct state *s, uint32_t i, uint32_t n_types)
{
	for (uint32_t type = 0; type < n_types; type++)
		if (s->times_s.items[i * n_types + type] < NEVER)
			return true;
	return false;
}

/* Starts one on GPUs of its machine's type, if there is room by now. */
static void
start(struct state *s, const struct pol_view *view, uint32_t i, uint32_t type,
      struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	const struct pol_job *job = &view->jobs[s->waiting.items[i]];
	const struct pol_want want = { .job = job->id,
				       .n_gpus = job->n_gpus,
				       .type = type,
				       .group = job->id,
				       .share = 1 };
	bool has_type = is_bound(s, i, cluster->n_types);
	struct pol_free free = { 0 };
	uint32_t first = (uint32_t)plan->pieces.n, n;

	if (has_type && s->times_s.items[i * cluster->n_types + type] >= NEVER)
		return;
	s->masked.n = 0;
	for (uint32_t k = 0; k < cluster->n_nodes; k++) {
		bool counts = !has_type || cluster->type_of[k] == type;

		vec_push(&s->masked, counts ? s->n_free.items[k] : 0);
		free.n_all += s->masked.items[k];
	}
	free.n_free = s->masked.items;
	n = place_best_fit.place(s->place, view, &want, &free, plan);
	if (!n)
		return;
	for (uint32_t k = 0; k < n; k++)
		s->n_free.items[plan->pieces.items[first + k].node] -=
			plan->pieces.items[first + k].n_gpus;
	vec_push(&plan->grants, ((struct pol_grant){ .job = job->id,
						     .n_gpus = job->n_gpus,
						     .group = job->id,
						     .first_piece = first,
						     .n_pieces = n,
						     .share = 1 }));
}

/* The first of all machines, the shortest first, as gangs may want several of them. */
static void
start_firsts(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	uint32_t n_types = view->cluster->n_types;

	s->order.n = s->scratch.n = s->keys.n = 0;
	vec_reserve(&s->scratch, s->first.n);
	for (uint32_t m = 0; m < s->first.n; m++) {
		uint32_t i = s->first.items[m];

		vec_push(&s->keys,
			 i == POL_NONE
				 ? INFINITY
				 : s->times_s.items[i * n_types + s->type_of.items[m]]);
		if (i != POL_NONE)
			vec_push(&s->order, m);
	}
	order_sort(s->order.items, (uint32_t)s->order.n, s->keys.items,
		   s->scratch.items);
	for (size_t k = 0; k < s->order.n; k++) {
		uint32_t m = s->order.items[k];

		start(s, view, s->first.items[m], s->type_of.items[m], plan);
	}
}

static uint32_t
plan(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
     struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)ids;
	(void)n;
	(void)n_max;
	keep_running(s, view, &plans[0]);
	if (!s->waiting.n || !s->type_of.n)
		return 1;
	assign(s, view, find_times(s, view));
	start_firsts(s, view, &plans[0]);
	return 1;
}

const struct pol_planner planner_assign = {
	.module = { .name = "assign",
		    .text = "jobs to GPUs by the assignment of the least completion times",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
};
