/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_lucid.c - profiling on nodes set apart, then least predicted GPU time first, in
 * pairs with little interference (Lucid, ASPLOS 2023).
 *
 * A job is stopped only once, when its profiling ends.
 */
#include <math.h>
#include <string.h>

#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/predicted.h"
#include "policies/stages.h"

#define HOUR_S    3600.0
#define WINDOW_S  600.0
#define MAX_SCORE 2 /* Sum of a pair's scores. */

enum {
	BY,
	NODES,
	TIME,
	LIMIT,
	SHARED,
	TINY,
	JUMBO,
	RATE,
	N_PARAMS,
};

enum phase {
	NEW,      /* Waits to be profiled. */
	PROFILED, /* Is being profiled. */
	KNOWN,    /* Waits for the main part. */
	RUNNING
};

enum score {
	SCORE_TINY,
	SCORE_MEDIUM,
	SCORE_JUMBO,
	SCORE_UNKNOWN, /* Never shares. */
};

struct it {
	enum phase phase;
	enum score score;
	double size; /* GPU seconds, as predicted. */
	uint32_t mate;
	bool has_joined; /* Its mate was running before. */
};

/* A set of nodes, and a placement on it. */
struct part {
	struct pol_cluster cluster; /* Other nodes have no GPUs. */
	uint32_t *n_gpus;           /* Owned. */
	void *place;                /* State of the placement; owned. */
};

struct state {
	struct order_list list;
	VEC(uint32_t) running; /* Jobs in the main part, by start. */
	VEC(struct it) its;    /* By id. */
	VEC(double) came_s;    /* Arrivals of the last hour, from first_came on. */
	size_t first_came;
	struct predicted predicted;
	struct part apart, main, all;
	VEC(uint32_t) parts; /* By node; 1: set apart for profiling. */
	uint32_t limit_gpus, shared_gpus;
	double time_s, tiny, jumbo, rate;
	VEC(uint32_t) waiting, n_free, room;
};

static const struct pol_param params[] = {
	[BY] = PREDICTED_PARAM,
	[NODES] = { "lucid.profiling_nodes",
		    "nodes set apart for profiling, at most half of all (Lucid's code)",
		    2, 0, 65536, true },
	[TIME] = { "lucid.profiling_s",
		   "profiling time of a job, s (Lucid's code: 200 or 80)", 200, 0, 1e9,
		   false },
	[LIMIT] = { "lucid.max_profiled_gpus",
		    "jobs with more GPUs are not profiled (Lucid's code)", 8, 0, 1e6,
		    true },
	[SHARED] = { "lucid.max_shared_gpus",
		     "jobs with more GPUs never share (Lucid's code)", 8, 0, 1e6,
		     true },
	[TINY] = { "lucid.tiny_share",
		   "GPU share of an iteration up to which a job is tiny", 0.3, 0, 1,
		   false },
	[JUMBO] = { "lucid.jumbo_share",
		    "GPU share of an iteration above which a job is jumbo", 0.7, 0, 1,
		    false },
	[RATE] = { "lucid.sharing_rate",
		   "arrivals in 10 minutes up to which no jobs share (Lucid's code)", 2,
		   0, 1e9, false },
	[N_PARAMS] = { 0 },
};

static const char *
why_not(const double *values)
{
	return values[JUMBO] < values[TINY]
		       ? "lucid.jumbo_share is below lucid.tiny_share; set both"
		       : NULL;
}

static void
part_init(struct part *part, const struct pol_cluster *cluster, uint32_t from,
	  uint32_t to)
{
	part->cluster = *cluster;
	part->n_gpus = xcalloc(cluster->n_nodes, sizeof *part->n_gpus);
	part->cluster.n_gpus = part->n_gpus;
	part->cluster.n_all_gpus = 0;
	for (uint32_t i = from; i < to; i++) {
		part->n_gpus[i] = cluster->n_gpus[i];
		part->cluster.n_all_gpus += cluster->n_gpus[i];
	}
	part->place = place_best_fit_new(&part->cluster, true);
}

static void
part_fini(struct part *part)
{
	place_best_fit_free(part->place);
	free(part->n_gpus);
}

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;
	uint32_t n = cluster->n_nodes, n_apart = (uint32_t)fmin(values[NODES], n / 2);

	(void)rng;
	s->predicted.by_oracle = values[BY] != 0;
	s->time_s = values[TIME];
	s->limit_gpus = (uint32_t)values[LIMIT];
	s->shared_gpus = (uint32_t)values[SHARED];
	s->tiny = values[TINY];
	s->jumbo = values[JUMBO];
	s->rate = values[RATE];
	part_init(&s->apart, cluster, n - n_apart, n);
	part_init(&s->main, cluster, 0, n - n_apart);
	part_init(&s->all, cluster, 0, n);
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->parts, i >= n - n_apart);
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	vec_free(&s->running);
	vec_free(&s->its);
	vec_free(&s->came_s);
	predicted_fini(&s->predicted);
	part_fini(&s->apart);
	part_fini(&s->main);
	part_fini(&s->all);
	vec_free(&s->parts);
	vec_free(&s->waiting);
	vec_free(&s->n_free);
	vec_free(&s->room);
}

/* ---- What is known of a job ------------------------------------------------------ */

static enum score
score_of(const struct state *s, const struct pol_job *job)
{
	double share;

	if (!stages_are_known(job))
		return SCORE_UNKNOWN;
	share = job->stage_s[1] / (job->stage_s[0] + job->stage_s[1] + job->stage_s[2]);
	return share <= s->tiny    ? SCORE_TINY
	       : share <= s->jumbo ? SCORE_MEDIUM
				   : SCORE_JUMBO;
}

static void
arrive(struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	bool is_small = job->n_gpus <= s->limit_gpus &&
			job->n_gpus <= s->apart.cluster.n_all_gpus;

	while (s->its.n < view->n_ids)
		vec_push(&s->its, ((struct it){ .mate = POL_NONE }));
	s->its.items[job->id] = (struct it){
		.phase = is_small ? NEW : KNOWN,
		.score = score_of(s, job),
		.size = predicted_duration_s(&s->predicted, job) * job->n_gpus,
		.mate = POL_NONE,
	};
	vec_push(&s->came_s, view->now_s);
}

static void
leave(struct state *s, uint32_t id)
{
	uint32_t mate = s->its.items[id].mate;
	size_t n = 0;

	if (mate != POL_NONE) {
		s->its.items[mate].mate = POL_NONE;
		s->its.items[mate].has_joined = false;
	}
	for (size_t i = 0; i < s->running.n; i++)
		if (s->running.items[i] != id)
			s->running.items[n++] = s->running.items[i];
	s->running.n = n;
}

/* Not by a plan, which has set the phase: a node of the job went away. */
static void
be_stopped(struct state *s, uint32_t id)
{
	struct it *it = &s->its.items[id];

	if (it->phase == RUNNING) {
		leave(s, id);
		it->mate = POL_NONE;
		it->has_joined = false;
		it->phase = KNOWN;
	} else if (it->phase == PROFILED) {
		it->phase = NEW;
	}
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	if (event == POL_ARRIVED) {
		arrive(s, view, job);
	} else if (event == POL_DONE) {
		predicted_learn(&s->predicted, job);
		leave(s, job->id);
	} else if (event == POL_STOPPED) {
		be_stopped(s, job->id);
	}
	order_list_event(&s->list, event, job->id);
}

/* When the next profiling ends. */
static double
wakeup_s(void *state, const struct pol_view *view)
{
	const struct state *s = state;
	double next_s = INFINITY;

	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		if (s->its.items[job->id].phase == PROFILED && job->n_pieces)
			next_s = fmin(next_s, job->since_s + s->time_s);
	}
	return next_s;
}

/* Whether jobs arrive often: the last hour's arrivals stand for a forecast. */
static bool
is_busy(struct state *s, const struct pol_view *view)
{
	while (s->first_came < s->came_s.n &&
	       s->came_s.items[s->first_came] <= view->now_s - HOUR_S)
		s->first_came++;
	return (double)(s->came_s.n - s->first_came) * WINDOW_S / HOUR_S > s->rate;
}

/* ---- Placing --------------------------------------------------------------------- */

/* Keeps running jobs; jobs whose profiling ended wait again. */
static void
keep(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	place_empty(view->cluster, s->n_free.items);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];
		struct it *it = &s->its.items[job->id];
		uint32_t first = (uint32_t)plan->pieces.n;

		if (it->phase == PROFILED && view->now_s >= job->since_s + s->time_s)
			it->phase = KNOWN;
		if (it->phase != PROFILED && it->phase != RUNNING)
			continue;
		for (uint32_t k = 0; k < job->n_pieces; k++) {
			vec_push(&plan->pieces, job->pieces[k]);
			if (!it->has_joined)
				s->n_free.items[job->pieces[k].node] -=
					job->pieces[k].n_gpus;
		}
		pol_plan_grant(plan, job->id, job->n_gpus,
			       it->has_joined ? it->mate : job->id, first);
	}
}

static bool
place(struct state *s, const struct pol_view *view, const struct part *part,
      const struct pol_job *job, struct pol_plan *plan)
{
	const struct pol_want want = place_want(job);
	struct pol_view seen = *view;
	struct pol_free free = { 0 };
	uint32_t first = (uint32_t)plan->pieces.n, n;

	s->room.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++) {
		vec_push(&s->room, part->n_gpus[i] ? s->n_free.items[i] : 0);
		free.n_all += s->room.items[i];
	}
	free.n_free = s->room.items;
	seen.cluster = &part->cluster;
	n = place_best_fit.place(part->place, &seen, &want, &free, plan);
	for (uint32_t i = 0; i < n; i++)
		s->n_free.items[plan->pieces.items[first + i].node] -=
			plan->pieces.items[first + i].n_gpus;
	if (n)
		pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
	return n > 0;
}

/* ---- Order of service ------------------------------------------------------------ */

static void
list_waiting(struct state *s, const struct pol_view *view, enum phase phase)
{
	double *keys = order_list_keys(&s->list, view);

	s->waiting.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		if (s->its.items[id].phase != phase)
			continue;
		keys[id] = phase == NEW ? view->jobs[id].n_gpus : s->its.items[id].size;
		vec_push(&s->waiting, id);
	}
	order_list_sort_ids(&s->list, s->waiting.items, (uint32_t)s->waiting.n);
}

/* Fewest GPUs first; a job that does not fit blocks those behind it. */
static void
serve_new(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	list_waiting(s, view, NEW);
	for (size_t i = 0; i < s->waiting.n; i++) {
		uint32_t id = s->waiting.items[i];

		if (!place(s, view, &s->apart, &view->jobs[id], plan))
			return;
		s->its.items[id].phase = PROFILED;
	}
}

/* The first job without a mate that the job may join. */
static uint32_t
find_mate(const struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	const struct it *it = &s->its.items[job->id];

	if (job->n_gpus > s->shared_gpus)
		return POL_NONE;
	for (size_t i = 0; i < s->running.n; i++) {
		uint32_t id = s->running.items[i];
		const struct it *other = &s->its.items[id];

		if (other->mate == POL_NONE && view->jobs[id].n_gpus == job->n_gpus &&
		    it->score + other->score <= MAX_SCORE &&
		    it->size <= 2 * other->size &&
		    place_may_share(view->cluster, job, &view->jobs[id]))
			return id;
	}
	return POL_NONE;
}

static void
join(struct state *s, const struct pol_job *job, uint32_t mate, struct pol_plan *plan)
{
	struct pol_grant grant = *pol_plan_find(plan, mate);

	s->its.items[mate].mate = job->id;
	s->its.items[job->id].mate = mate;
	s->its.items[job->id].has_joined = true;
	grant.job = job->id;
	vec_push(&plan->grants, grant);
}

/* While jobs do not share, one that does not fit blocks those behind it. */
static void
serve_known(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	bool is_sharing = is_busy(s, view);

	list_waiting(s, view, KNOWN);
	for (size_t i = 0; i < s->waiting.n; i++) {
		const struct pol_job *job = &view->jobs[s->waiting.items[i]];
		bool is_huge = job->n_gpus > s->main.cluster.n_all_gpus;
		uint32_t mate = is_sharing ? find_mate(s, view, job) : POL_NONE;

		if (mate != POL_NONE)
			join(s, job, mate, plan);
		else if (!place(s, view, is_huge ? &s->all : &s->main, job, plan)) {
			if (!is_sharing)
				return;
			continue;
		}
		s->its.items[job->id].phase = RUNNING;
		vec_push(&s->running, job->id);
	}
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	keep(s, view, &plans[0]);
	serve_new(s, view, &plans[0]);
	serve_known(s, view, &plans[0]);
	return 1;
}

/* Keeps profiling nodes apart: a job that moved there would block profiling. */
static const uint32_t *
parts(const void *state)
{
	const struct state *s = state;

	return s->parts.items;
}

const struct pol_planner planner_lucid = {
	.module = { .name = "lucid",
		    .text = "profiling on nodes set apart; then least predicted GPU "
			    "time first, in pairs with little interference",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event,
		    .wakeup_s = wakeup_s,
		    .why_not = why_not },
	.plan = plan,
	.parts = parts,
};
