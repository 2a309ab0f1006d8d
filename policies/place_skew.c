/*
 * place_skew.c - jobs of skewed models are close together, others anywhere (Tiresias, NSDI
 * 2019, 3.3): where one tensor has most of a model's parameters, its message is what waits
 * for the network; many small ones find their way between those of others.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "policies/places.h"

enum {
	LIMIT,
	WAITS,
};

struct state {
	double limit;
	void *close; /* State of the placement of skewed jobs; owned. */
};

static const struct pol_param params[] = {
	[LIMIT] = { "skew.limit",
		    "a job is skewed if the largest tensor of its model has a larger share "
		    "of the parameters (Tiresias's PACKLIMIT)",
		    0.5, 0, 1, false },
	[WAITS] = { "skew.waits",
		    "1: a skewed job waits until it has as few nodes as the empty cluster "
		    "would give it; 0: it takes more",
		    1, 0, 1, true },
	{ 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	s->limit = values[LIMIT];
	s->close = xcalloc(1, place_best_fit.module.state_size);
	place_best_fit.module.init(s->close, &values[WAITS], cluster, rng);
}

static void
fini(void *state)
{
	struct state *s = state;

	if (s->close)
		place_best_fit.module.fini(s->close);
	free(s->close);
}

static bool
is_bound(const void *state, const struct pol_job *job)
{
	return job->skew > ((const struct state *)state)->limit;
}

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	struct state *s = state;

	if (is_bound(s, &view->jobs[want->job]))
		return place_best_fit.place(s->close, view, want, free, plan);
	return place_count.place(NULL, view, want, free, plan);
}

const struct pol_place place_skew = {
	.module = { .name = "skew",
		    .text = "jobs of skewed models on as few nodes as can be, others as by "
			    "count",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.place = place,
	.scatters = true,
	.is_bound = is_bound,
};
