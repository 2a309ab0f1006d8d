/* SPDX-License-Identifier: Apache-2.0 */
/* rings.c - the rings of a server. */
#include "policies/rings.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

struct rings {
	uint32_t n_gpus;
	struct ring *of; /* By set. */
	enum inside_link slowest[INSIDE_MAX_GPUS + 1];
};

/*
 * What paths from the first GPU of a set to one of its GPUs, through all of it, can
 * have: bit s of rows[d] for d double and s single NVLinks.
 */
struct reach {
	uint16_t rows[INSIDE_MAX_GPUS];
};

double
rings_predict_gb_s(uint32_t n_double, uint32_t n_single, uint32_t n_pcie)
{
	double x = n_double, y = n_single, z = n_pcie;

	return 16.39670455 * x + 4.536821878 * y + 1.55623404 * z -
	       20.69484581 / (x + 1) - 9.467461958 / (y + 1) + 7.615106783 / (z + 1) -
	       7.973335727 * x * y + 12.73323772 * y * z - 4.195655221 * x * z -
	       8.413419363 / (x * y + 1) + 62.85125807 / (y * z + 1) +
	       27.41832588 / (x * z + 1) - 5.114108079 * x * y * z -
	       46.97390071 / (x * y * z + 1);
}

static void
extend(const struct reach *from, enum inside_link link, struct reach *to)
{
	uint32_t shift = link == INSIDE_NVLINK, up = link == INSIDE_DOUBLE_NVLINK;

	for (uint32_t d = 0; d + up < INSIDE_MAX_GPUS; d++)
		to->rows[d + up] |= (uint16_t)(from->rows[d] << shift);
}

/* Considers a ring with these links for its set. */
static void
note(const struct pol_inside *inside, struct ring *ring, uint32_t n_double,
     uint32_t n_single, uint32_t n_pcie)
{
	enum inside_link slowest = n_pcie     ? INSIDE_PCIE
				   : n_single ? INSIDE_NVLINK
					      : INSIDE_DOUBLE_NVLINK;
	double gb_s = n_double * inside->gb_s[INSIDE_DOUBLE_NVLINK] +
		      n_single * inside->gb_s[INSIDE_NVLINK] +
		      n_pcie * inside->gb_s[INSIDE_PCIE];

	ring->predicted_gb_s = fmax(ring->predicted_gb_s,
				    rings_predict_gb_s(n_double, n_single, n_pcie));
	ring->gb_s = fmax(ring->gb_s, gb_s);
	if (slowest > ring->slowest)
		ring->slowest = slowest;
}

/* Closes the paths to 'last' of a set of n GPUs by a link. */
static void
close_paths(const struct pol_inside *inside, const struct reach *reach,
	    enum inside_link link, uint32_t n, struct ring *ring)
{
	for (uint32_t d = 0; d < n; d++)
		for (uint32_t s = 0; d + s < n; s++)
			if (reach->rows[d] >> s & 1)
				note(inside, ring, d + (link == INSIDE_DOUBLE_NVLINK),
				     s + (link == INSIDE_NVLINK),
				     n - 1 - d - s + (link == INSIDE_PCIE));
}

/* The sets whose first GPU is 'first'; bit i of a set here is GPU first + 1 + i. */
static void
add_sets(struct rings *rings, const struct pol_inside *inside, uint32_t first,
	 struct reach *reach)
{
	uint32_t n = inside->n_gpus - first - 1, at = first + 1;
	const struct reach start = { .rows = { 1 } };

	for (uint32_t i = 0; i < n; i++)
		extend(&start, inside_link(inside, first, at + i),
		       &reach[((size_t)1 << i) * n + i]);
	for (uint32_t set = 1; set < UINT32_C(1) << n; set++) {
		struct ring *ring = &rings->of[(set << at) | (1u << first)];

		*ring = (struct ring){ .predicted_gb_s = -INFINITY };
		for (uint32_t i = 0; i < n; i++) {
			const struct reach *paths = &reach[(size_t)set * n + i];

			if (!(set >> i & 1))
				continue;
			close_paths(inside, paths, inside_link(inside, at + i, first),
				    (uint32_t)__builtin_popcount(set) + 1, ring);
			for (uint32_t k = 0; k < n; k++)
				if (!(set >> k & 1))
					extend(paths,
					       inside_link(inside, at + i, at + k),
					       &reach[(size_t)(set | 1u << k) * n + k]);
		}
	}
}

struct rings *
rings_new(const struct pol_inside *inside)
{
	struct rings *rings = xcalloc(1, sizeof *rings);
	uint32_t n = inside->n_gpus;

	rings->n_gpus = n;
	rings->of = xcalloc((size_t)1 << n, sizeof *rings->of);
	for (uint32_t first = 0; first < n; first++) {
		uint32_t n_others = n - first - 1;
		struct reach *reach =
			xcalloc(((size_t)1 << n_others) * n_others + 1, sizeof *reach);

		note(inside, &rings->of[1u << first], 0, 0, 0);
		rings->of[1u << first].predicted_gb_s = rings_predict_gb_s(0, 0, 0);
		add_sets(rings, inside, first, reach);
		free(reach);
	}
	for (uint32_t set = 1; set < UINT32_C(1) << n; set++) {
		enum inside_link *best = &rings->slowest[__builtin_popcount(set)];

		if (rings->of[set].slowest > *best)
			*best = rings->of[set].slowest;
	}
	return rings;
}

void
rings_free(struct rings *rings)
{
	if (rings)
		free(rings->of);
	free(rings);
}

const struct ring *
rings_of(const struct rings *rings, uint64_t gpus)
{
	return &rings->of[gpus];
}

enum inside_link
rings_best_slowest(const struct rings *rings, uint32_t n_gpus)
{
	return rings->slowest[n_gpus];
}
