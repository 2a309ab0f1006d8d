/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_skew.c - jobs of skewed models close together, others anywhere (Tiresias, NSDI
 * 2019, section 3.3).
 *
 * Where one tensor has most of a model's parameters, its message waits for the
 * network; many small messages fit between those of other jobs.
 */
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
	[LIMIT] = { "skew.min_share",
		    "a job is skewed if its model's largest tensor has more than this "
		    "share of the parameters (Tiresias's PACKLIMIT)",
		    0.5, 0, 1, false },
	[WAITS] = { "skew.wait_consolidated",
		    "1: a skewed job waits until it gets as few nodes as in the empty "
		    "cluster; 0: it takes more",
		    1, 0, 1, true },
	{ 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->limit = values[LIMIT];
	s->close = place_best_fit_new(cluster, values[WAITS] > 0);
}

static void
fini(void *state)
{
	place_best_fit_free(((struct state *)state)->close);
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
		    .text = "jobs of skewed models on as few nodes as possible, "
			    "others as by count",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.place = place,
	.scatters = true,
	.is_bound = is_bound,
};
