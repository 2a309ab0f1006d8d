/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_queues.c - discretized least attained service (Tiresias, NSDI 2019, section
 * 3.2).
 *
 * Three queues: a job starts in the first, and moves to the tail of the next when its
 * attained service reaches the limit of its queue.  Within a queue, running jobs keep
 * their place before waiting ones; or jobs are sorted by Gittins index, the likeliest
 * to end soon first.
 *
 * Starving jobs may be promoted: a job of a later queue that has waited 'promote'
 * times as long as it ran goes to the tail of the first queue, and both times restart
 * from 0.
 */
#include <math.h>
#include <string.h>

#include "policies/gittins.h"
#include "policies/order_list.h"
#include "policies/orders.h"

#define N_QUEUES 3
/* Service this close to its limit counts as attained: the difference is rounding. */
#define NEAR (1 - 1e-9)

enum {
	LIMIT_0,
	LIMIT_1,
	WAKE,
	FRONT,
	PROMOTE,
	DELTA,
	N_PARAMS,
};

/* How the time of the next demotion is rounded, as in published simulators. */
enum wake {
	WAKE_EXACT,
	WAKE_FLOOR, /* Tiresias: remaining wall time over GPUs, rounded down. */
	WAKE_CEIL,  /* Muri: the limit over GPUs, rounded up, less wall time. */
};

/* A job since its arrival or its last promotion. */
struct life {
	uint8_t queue;
	double ran_before_s; /* The part of executed_s that no longer counts. */
	double waited_s;     /* After it first ran, until it last began to run. */
	double waits_from_s; /* INFINITY: it runs, or has not run. */
};

struct state {
	struct order_list queues[N_QUEUES];
	VEC(struct life) lives; /* By id. */
	VEC(uint32_t) scratch;  /* For served(). */
	double limits[N_QUEUES - 1];
	enum wake wake;
	bool runs_first; /* Within a queue. */
	double promote;  /* Waiting time over running time; 0: no promotion. */
	bool by_gpu_time;
	/* By Gittins index in each queue: */
	bool by_rank;
	double delta;
	struct gittins gittins;
};

static void
init_time(void *state, const double *params, const struct pol_cluster *cluster,
	  struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->limits[0] = params[LIMIT_0];
	s->limits[1] = params[LIMIT_1];
	s->wake = (enum wake)params[WAKE];
	s->runs_first = params[FRONT] > 0;
	s->promote = params[PROMOTE];
}

static void
init_gpu_time(void *state, const double *params, const struct pol_cluster *cluster,
	      struct rng *rng)
{
	struct state *s = state;

	init_time(state, params, cluster, rng);
	s->by_gpu_time = true;
}

static void
init_rank(void *state, const double *params, const struct pol_cluster *cluster,
	  struct rng *rng)
{
	struct state *s = state;

	init_gpu_time(state, params, cluster, rng);
	s->by_rank = true;
	s->delta = params[DELTA];
}

static void
take_samples(void *state, const double *sorted, size_t n)
{
	gittins_give(&((struct state *)state)->gittins, sorted, n);
}

static void
fini(void *state)
{
	struct state *s = state;

	for (int q = 0; q < N_QUEUES; q++)
		order_list_fini(&s->queues[q]);
	vec_free(&s->lives);
	vec_free(&s->scratch);
	gittins_fini(&s->gittins);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;
	struct life *life;

	while (s->lives.n < view->n_ids)
		vec_push(&s->lives, ((struct life){ .waits_from_s = INFINITY }));
	life = &s->lives.items[job->id];
	if (event == POL_ARRIVED)
		*life = (struct life){ .waits_from_s = INFINITY };
	order_list_event(&s->queues[life->queue], event, job->id);
	if (event == POL_STOPPED && job->executed_s > life->ran_before_s)
		life->waits_from_s = view->now_s;
	if (event == POL_STARTED && life->waits_from_s < INFINITY) {
		life->waited_s += view->now_s - life->waits_from_s;
		life->waits_from_s = INFINITY;
	}
	/* The size of an ended job is known. */
	if (s->by_rank && event == POL_DONE)
		gittins_learn(&s->gittins, job->duration_s * job->n_gpus);
}

/* Running time since the job's arrival or last promotion. */
static double
ran_s(const struct state *s, const struct pol_job *job)
{
	return job->executed_s - s->lives.items[job->id].ran_before_s;
}

static double
attained(const struct state *s, const struct pol_job *job)
{
	return s->by_gpu_time ? ran_s(s, job) * job->n_gpus : ran_s(s, job);
}

/* The remaining time as rounded by simulators in whole seconds; may be 0. */
static double
rounded_left_s(const struct state *s, const struct pol_job *job, double limit, double n)
{
	switch (s->wake) {
	case WAKE_FLOOR:
		return s->by_gpu_time ? floor((limit - ran_s(s, job)) / n)
				      : limit - ran_s(s, job);
	case WAKE_CEIL:
		return ceil(limit / n) - ran_s(s, job);
	case WAKE_EXACT:
		break;
	}
	return 0;
}

/* Time until the job attains its limit. */
static double
left_s(const struct state *s, const struct pol_job *job, double limit)
{
	double n = s->by_gpu_time ? job->n_gpus : 1;
	double rounded_s = rounded_left_s(s, job, limit, n);

	return rounded_s > 0 ? rounded_s : limit / n - ran_s(s, job);
}

/*
 * Muri's simulator compares without a tolerance: a job that lacks a rounding error is
 * due at an event of its own.  Unless the clock cannot show the rest.
 */
static bool
has_attained(const struct state *s, const struct pol_view *view,
	     const struct pol_job *job, double limit)
{
	if (s->wake != WAKE_CEIL || attained(s, job) < NEAR * limit)
		return attained(s, job) >= NEAR * limit;
	return attained(s, job) >= limit ||
	       !(view->now_s + left_s(s, job, limit) > view->now_s);
}

/*
 * When a waiting job is promoted; INFINITY: never.  The same number for as long as it
 * waits, so that the wakeup is exact.
 */
static double
starves_s(const struct state *s, const struct pol_job *job)
{
	const struct life *life = &s->lives.items[job->id];
	double most_s = s->promote * ran_s(s, job);

	if (!(s->promote > 0) || !life->queue || !(life->waits_from_s < INFINITY))
		return INFINITY;
	return life->waits_from_s +
	       ((s->wake == WAKE_FLOOR ? floor(most_s) : most_s) - life->waited_s);
}

/* Moves a job to the tail of another queue. */
static void
move(struct state *s, uint32_t id, uint8_t queue)
{
	struct life *life = &s->lives.items[id];

	order_list_event(&s->queues[life->queue], POL_DONE, id);
	order_list_event(&s->queues[queue], POL_ARRIVED, id);
	life->queue = queue;
}

/* Moves jobs by arrival: to the next queue, or back to the first. */
static void
move_all(struct state *s, const struct pol_view *view)
{
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct life *life = &s->lives.items[job->id];

		if (job->n_pieces && life->queue < N_QUEUES - 1 &&
		    has_attained(s, view, job, s->limits[life->queue])) {
			move(s, job->id, life->queue + 1);
		} else if (!job->n_pieces && starves_s(s, job) <= view->now_s) {
			move(s, job->id, 0);
			*life = (struct life){ .ran_before_s = job->executed_s,
					       .waits_from_s = INFINITY };
		}
	}
}

/* Sorts by index, highest first; ties by arrival. */
static void
sort_by_rank(struct state *s, const struct pol_view *view, struct order_list *list)
{
	double *keys = order_list_keys(list, view);

	for (size_t i = 0; i < list->ids.n; i++)
		keys[list->ids.items[i]] = view->jobs[list->ids.items[i]].submit_s;
	order_list_sort(list);
	for (size_t i = 0; i < list->ids.n; i++) {
		const struct pol_job *job = &view->jobs[list->ids.items[i]];

		keys[job->id] = -gittins_rank(&s->gittins, attained(s, job), s->delta,
					      s->wake == WAKE_FLOOR);
	}
	order_list_sort(list);
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = 0;

	move_all(s, view);
	for (int q = 0; q < N_QUEUES; q++) {
		struct order_list *list = &s->queues[q];

		if (s->by_rank)
			sort_by_rank(s, view, list);
		n += order_list_copy(list, ret_ids + n);
	}
	return n;
}

/* Moves running jobs before waiting ones; stable. */
static void
served(void *state, const struct pol_view *view, const struct pol_plan *plan)
{
	struct state *s = state;

	(void)plan;
	if (!s->runs_first)
		return;
	for (int q = 0; q < N_QUEUES; q++) {
		struct order_list *list = &s->queues[q];
		size_t n_run = 0;

		s->scratch.n = 0;
		for (size_t i = 0; i < list->ids.n; i++) {
			uint32_t id = list->ids.items[i];

			if (view->jobs[id].n_pieces)
				list->ids.items[n_run++] = id;
			else
				vec_push(&s->scratch, id);
		}
		if (s->scratch.n)
			memcpy(list->ids.items + n_run, s->scratch.items,
			       s->scratch.n * sizeof *s->scratch.items);
	}
}

static double
wakeup_s(void *state, const struct pol_view *view)
{
	struct state *s = state;
	double next_s = INFINITY;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint8_t q;
		double due_s;

		if (!job->n_pieces && !(s->promote > 0))
			continue;
		/* Submitted before the first decision that admits a job. */
		if (job->id >= s->lives.n)
			continue;
		/* A job that is already due is moved at the next decision. */
		due_s = starves_s(s, job);
		if (due_s > view->now_s)
			next_s = fmin(next_s, due_s);
		q = s->lives.items[job->id].queue;
		if (job->n_pieces && q < N_QUEUES - 1 &&
		    !has_attained(s, view, job, s->limits[q]))
			next_s = fmin(next_s, fmax(view->now_s, job->works_s) +
						      left_s(s, job, s->limits[q]));
	}
	return next_s;
}

/* clang-format off */
#define QUEUE_PARAMS(prefix, unit)                                                      \
	[LIMIT_0] = { prefix ".limit0",                                                 \
		      "limit of the first queue, " unit " (Tiresias's code)",           \
		      3250, 0, 1e12, false },                                           \
	[LIMIT_1] = { prefix ".limit1", "limit of the second queue, " unit,             \
		      7200, 0, 1e12, false },                                           \
	[WAKE] = POL_WHOLE(prefix ".quantum_rounding",                                  \
			   "time of the next demotion: 0: exact; 1, 2: rounded as in "  \
			   "Tiresias's, in Muri's simulator", 0, 0, 2),                 \
	[FRONT] = POL_SWITCH(prefix ".prefer_running",                                  \
			     "1: in a queue, running jobs go before waiting ones; 0: "  \
			     "by arrival", 1),                                          \
	[PROMOTE] = { prefix ".promote",                                                \
		      "waiting time over running time at which a job returns to the "   \
		      "first queue; 0: never", 0, 0, 1e9, false }

/* clang-format on */

/* Checks the parameters common to all orders, which come first. */
static const char *
why_not(const double *params)
{
	if (params[PROMOTE] > 0 && params[PROMOTE] * params[LIMIT_0] < 1)
		return "promotion (.promote) times the limit of the first queue "
		       "(.limit0) is below 1 s: jobs would be preempted without end; "
		       "raise one of them";
	if (params[LIMIT_1] < params[LIMIT_0])
		return "the limit of the second queue (.limit1) is below that of the "
		       "first "
		       "(.limit0); set both";
	return NULL;
}

static const struct pol_param params_time[] = { QUEUE_PARAMS("las", "s"), { 0 } };
static const struct pol_param params_gpu_time[] = { QUEUE_PARAMS("2d-las", "GPU s"),
						    { 0 } };
static const struct pol_param params_rank[] = {
	QUEUE_PARAMS("2d-gittins", "GPU s"),
	[DELTA] = { "2d-gittins.delta",
		    "service quantum of the index, GPU s (Tiresias's code)", 3250, 1,
		    1e12, false },
	{ 0 },
};

#define QUEUE_ORDER(order_, name_, text_, params_, init_, samples_) \
	const struct pol_order order_ = {                           \
		.module = { .name = name_,                          \
			    .text = text_,                          \
			    .params = params_,                      \
			    .state_size = sizeof(struct state),     \
			    .init = init_,                          \
			    .fini = fini,                           \
			    .on_event = on_event,                   \
			    .wakeup_s = wakeup_s,                   \
			    .why_not = why_not,                     \
			    .samples = samples_ },                  \
		.fit = POL_SKIP,                                    \
		.order = order,                                     \
		.served = served,                                   \
	}

QUEUE_ORDER(order_las, "las", "least attained time first, in three queues", params_time,
	    init_time, NULL);
QUEUE_ORDER(order_las_2d, "2d-las", "least attained GPU time first, in three queues",
	    params_gpu_time, init_gpu_time, NULL);
QUEUE_ORDER(order_gittins_2d, "2d-gittins",
	    "in three queues by GPU time, highest Gittins index first", params_rank,
	    init_rank, take_samples);
