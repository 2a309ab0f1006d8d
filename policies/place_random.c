/* SPDX-License-Identifier: Apache-2.0 */
/* place_random.c - GPUs of random nodes, one node after another. */
#include "lib/base/rng.h"
#include "policies/places.h"

struct state {
	struct rng *rng;
	VEC(uint32_t) nodes; /* With free GPUs. */
	VEC(uint32_t) takes; /* By node. */
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)params;
	s->rng = rng;
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&s->takes, 0);
}

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->nodes);
	vec_free(&s->takes);
}

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	struct state *s = state;
	uint32_t left = want->n_gpus, n = 0;

	if (free->n_all < left)
		return 0;
	s->nodes.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (free->n_free[i])
			vec_push(&s->nodes, i);
	while (left) {
		size_t at = (size_t)rng_below(s->rng, s->nodes.n);
		uint32_t node = s->nodes.items[at];
		uint32_t takes = free->n_free[node] < left ? free->n_free[node] : left;

		s->takes.items[node] = takes;
		left -= takes;
		s->nodes.items[at] = s->nodes.items[--s->nodes.n];
	}
	/* Pieces are sorted by node. */
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++) {
		if (!s->takes.items[i])
			continue;
		place_take(free, plan, i, s->takes.items[i]);
		s->takes.items[i] = 0;
		n++;
	}
	return n;
}

const struct pol_place place_random = {
	.module = { .name = "random",
		    .text = "random nodes",
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.place = place,
	.scatters = true,
};
