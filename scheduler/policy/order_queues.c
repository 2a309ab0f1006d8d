/*
 * order_queues.c - discretised least attained service (Tiresias, NSDI 2019, 3.2): three
 * queues; a job starts in the first and is moved to the tail of the next when what it has
 * attained reaches the limit of its queue.  In a queue, those that run keep their place
 * before those that do not.
 */
#include <math.h>
#include <string.h>

#include "scheduler/policy/order_list.h"
#include "scheduler/policy/orders.h"

#define N_QUEUES 3
/* What is so near its limit has attained it: the time until then is lost in rounding. */
#define NEAR (1 - 1e-9)

enum {
	LIMIT_0,
	LIMIT_1,
	WAKE,
	N_PARAMS,
};

/* How the time of the next demotion is rounded: as published simulators do. */
enum wake {
	WAKE_EXACT,
	WAKE_FLOOR, /* Tiresias: what is left of wall time, by GPUs, rounded down. */
	WAKE_CEIL,  /* Muri: the limit by GPUs, rounded up, less wall time. */
};

struct state {
	struct order_list queues[N_QUEUES];
	VEC(uint8_t) queue_of; /* By id. */
	VEC(uint32_t) scratch;
	double limits[N_QUEUES - 1];
	enum wake wake;
	bool by_gpu_time;
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
fini(void *state)
{
	struct state *s = state;

	for (int q = 0; q < N_QUEUES; q++)
		order_list_fini(&s->queues[q]);
	vec_free(&s->queue_of);
	vec_free(&s->scratch);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	if (s->queue_of.n < view->n_ids) {
		vec_reserve(&s->queue_of, view->n_ids - s->queue_of.n);
		s->queue_of.n = view->n_ids;
	}
	if (event == POL_ARRIVED)
		s->queue_of.items[job->id] = 0;
	order_list_event(&s->queues[s->queue_of.items[job->id]], event, job->id);
}

static double
attained(const struct state *s, const struct pol_job *job)
{
	return s->by_gpu_time ? job->executed_s * job->n_gpus : job->executed_s;
}

/* Those that run, in the order in which they came; one queue at a time. */
static void
demote(struct state *s, const struct pol_view *view)
{
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint8_t *q = &s->queue_of.items[job->id];

		if (!job->n_pieces || *q == N_QUEUES - 1 ||
		    attained(s, job) < NEAR * s->limits[*q])
			continue;
		order_list_event(&s->queues[*q], POL_DONE, job->id);
		order_list_event(&s->queues[++*q], POL_ARRIVED, job->id);
	}
}

static uint32_t
order(void *state, const struct pol_view *view, uint32_t *ret_ids)
{
	struct state *s = state;
	uint32_t n = 0;

	demote(s, view);
	for (int q = 0; q < N_QUEUES; q++) {
		const struct order_list *list = &s->queues[q];

		if (list->ids.n)
			memcpy(ret_ids + n, list->ids.items,
			       list->ids.n * sizeof *ret_ids);
		n += (uint32_t)list->ids.n;
	}
	return n;
}

/* Those that run go before those that do not, and are otherwise as they were. */
static void
served(void *state, const struct pol_view *view, const struct pol_plan *plan)
{
	struct state *s = state;

	(void)plan;
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

/* In how long the job has attained its limit, as it is now. */
static double
left_s(const struct state *s, const struct pol_job *job, double limit)
{
	double n = s->by_gpu_time ? job->n_gpus : 1;

	switch (s->wake) {
	case WAKE_FLOOR:
		return s->by_gpu_time ? floor((limit - job->executed_s) / n)
				      : limit - job->executed_s;
	case WAKE_CEIL:
		return ceil(limit / n) - job->executed_s;
	case WAKE_EXACT:
		break;
	}
	return limit / n - job->executed_s;
}

static double
wakeup_s(void *state, const struct pol_view *view)
{
	struct state *s = state;
	double next_s = INFINITY;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint8_t q;

		if (!job->n_pieces)
			continue;
		q = s->queue_of.items[job->id];
		if (q < N_QUEUES - 1)
			next_s = fmin(next_s,
				      view->now_s + left_s(s, job, s->limits[q]));
	}
	return next_s;
}

#define PARAMS(prefix, unit)                                                          \
	{                                                                             \
		[LIMIT_0] = { prefix ".limit0",                                       \
			      "of the first queue, " unit " (Tiresias's code)", 3250, \
			      0, 1e12 },                                              \
		[LIMIT_1] = { prefix ".limit1", "of the second, " unit, 7200, 0,      \
			      1e12 },                                                 \
		[WAKE] = { prefix ".wake",                                            \
			   "next demotion: 0 exact, 1 as Tiresias's simulator "       \
			   "rounds it, 2 as Muri's",                                  \
			   0, 0, 2 },                                                 \
		{ 0 },                                                                \
	}

static const struct pol_param params_time[] = PARAMS("las", "s");
static const struct pol_param params_gpu_time[] = PARAMS("las2d", "GPU s");

const struct pol_order order_las = {
	.module = { .name = "las",
		    .text = "least attained time first, in three queues",
		    .params = params_time,
		    .state_size = sizeof(struct state),
		    .init = init_time,
		    .fini = fini,
		    .on_event = on_event,
		    .wakeup_s = wakeup_s },
	.fit = POL_SKIP,
	.order = order,
	.served = served,
};
const struct pol_order order_las_2d = {
	.module = { .name = "2d-las",
		    .text = "least attained GPU time first, in three queues",
		    .params = params_gpu_time,
		    .state_size = sizeof(struct state),
		    .init = init_gpu_time,
		    .fini = fini,
		    .on_event = on_event,
		    .wakeup_s = wakeup_s },
	.fit = POL_SKIP,
	.order = order,
	.served = served,
};
