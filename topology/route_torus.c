/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_torus.c - dimension-order routing in a ring or torus.
 *
 * A path corrects the first dimension first, then the second, then the third.  In each
 * it takes the shorter way round the ring; of two equally short ways, that upward from an
 * even coordinate and that downward from an odd one.  If the way lacks a cable it takes
 * the other one, and if that lacks one, too, there is no path.  So a flow passes from
 * switch v to a neighbor that depends on v and the last switch alone, and paths have no
 * loops: after a step, the rule gives the rest of the same way.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "topology/route.h"
#include "topology/route_priv.h"
#include "topology/routing.h"

struct route_torus {
	struct topo_routing routing;
	uint32_t strides[TOPO_MAX_DIMS]; /* In switch numbers, from place to place. */
	/*
	 * Owned.  By switch, dimension, and whether downward: how many steps that way
	 * have cables, at most the size of the dimension.
	 */
	uint32_t *runs;
};

static uint32_t *
run_of(const struct route_torus *torus, uint32_t v, uint32_t dim, bool is_down)
{
	return &torus->runs[((size_t)v * TOPO_MAX_DIMS + dim) * 2 + is_down];
}

/* The neighbor of switch 'v', whose coordinate is 'at'. */
static uint32_t
neighbor(const struct route_torus *torus, uint32_t v, uint32_t dim, uint32_t at,
	 bool is_down)
{
	uint32_t size = torus->routing.dims[dim], stride = torus->strides[dim];

	if (is_down)
		return at ? v - stride : v + (size - 1) * stride;
	return at + 1 < size ? v + stride : v - (size - 1) * stride;
}

static bool
has_hop(const struct routes *r, uint32_t v, uint32_t to)
{
	for (uint32_t i = r->hop_first[v]; i < r->hop_first[v + 1]; i++)
		if (r->hops[i].to == to)
			return true;
	return false;
}

/* Measures the runs in the ring of dimension 'dim' that starts at switch 'first'. */
static void
measure_ring(const struct routes *r, struct route_torus *torus, uint32_t first,
	     uint32_t dim)
{
	uint32_t size = torus->routing.dims[dim], stride = torus->strides[dim];

	for (int is_down = 0; is_down < 2; is_down++) {
		uint32_t run = 0;

		/* Twice round, from the far end of each way. */
		for (uint32_t i = 0; i < 2 * size; i++) {
			uint32_t at = is_down ? i % size : size - 1 - i % size;
			uint32_t v = first + at * stride;

			if (!has_hop(r, v, neighbor(torus, v, dim, at, is_down)))
				run = 0;
			else if (run < size)
				run++;
			*run_of(torus, v, dim, is_down) = run;
		}
	}
}

struct route_torus *
route_torus_new(const struct routes *r)
{
	struct route_torus *torus = xcalloc(1, sizeof *torus);
	uint32_t stride = 1;

	torus->routing = *topo_routing(r->topo);
	torus->runs = xcalloc((size_t)r->n_switches * TOPO_MAX_DIMS * 2 + 1,
			      sizeof *torus->runs);
	for (uint32_t dim = 0; dim < TOPO_MAX_DIMS; dim++) {
		torus->strides[dim] = stride;
		stride *= torus->routing.dims[dim];
	}
	for (uint32_t v = 0; v < r->n_switches; v++) {
		uint32_t at[TOPO_MAX_DIMS];

		topo_torus_place(&torus->routing, v, at);
		for (uint32_t dim = 0; dim < torus->routing.n_dims; dim++)
			if (at[dim] == 0 && torus->routing.dims[dim] > 1)
				measure_ring(r, torus, v, dim);
	}
	return torus;
}

void
route_torus_free(struct route_torus *torus)
{
	if (torus)
		free(torus->runs);
	free(torus);
}

/* The number of steps from 'v' in one dimension, and which way; ROUTE_FAR: no way. */
static uint32_t
steps(const struct route_torus *torus, uint32_t v, uint32_t dim, uint32_t at,
      uint32_t to, bool *ret_is_down)
{
	uint32_t size = torus->routing.dims[dim];
	uint32_t up = (to + size - at) % size, down = (size - up) % size;
	bool is_down = down < up || (down == up && at % 2 == 1);

	if (!up)
		return 0;
	for (int i = 0; i < 2; i++, is_down = !is_down) {
		uint32_t n = is_down ? down : up;

		if (*run_of(torus, v, dim, is_down) < n)
			continue;
		*ret_is_down = is_down;
		return n < ROUTE_FAR ? n : ROUTE_FAR;
	}
	return ROUTE_FAR;
}

unsigned
route_torus_distance(const struct route_torus *torus, uint32_t v, uint32_t last)
{
	uint32_t at[TOPO_MAX_DIMS], to[TOPO_MAX_DIMS], sum = 0;

	topo_torus_place(&torus->routing, v, at);
	topo_torus_place(&torus->routing, last, to);
	for (uint32_t dim = 0; dim < torus->routing.n_dims; dim++) {
		bool is_down;
		uint32_t n = steps(torus, v, dim, at[dim], to[dim], &is_down);

		if (n == ROUTE_FAR)
			return ROUTE_FAR;
		sum += n;
		/* The other dimensions are corrected from there. */
		v += (to[dim] - at[dim]) * torus->strides[dim];
	}
	return sum <= ROUTE_MAX_HOPS - 2 ? sum : ROUTE_FAR;
}

uint32_t
route_torus_next(const struct route_torus *torus, uint32_t v, uint32_t last)
{
	uint32_t at[TOPO_MAX_DIMS], to[TOPO_MAX_DIMS];

	topo_torus_place(&torus->routing, v, at);
	topo_torus_place(&torus->routing, last, to);
	for (uint32_t dim = 0; dim < torus->routing.n_dims; dim++) {
		bool is_down = false;

		if (at[dim] == to[dim])
			continue;
		if (steps(torus, v, dim, at[dim], to[dim], &is_down) == ROUTE_FAR)
			return TOPO_NONE;
		return neighbor(torus, v, dim, at[dim], is_down);
	}
	return TOPO_NONE;
}
