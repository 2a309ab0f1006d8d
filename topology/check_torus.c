/* SPDX-License-Identifier: Apache-2.0 */
/* check_torus.c - the cables between neighbors in a torus. */
#include <stdlib.h>

#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "topology/check_priv.h"
#include "topology/faults.h"
#include "topology/routing.h"
#include "topology/topo.h"

/* A switch, and its neighbor upward in one dimension. */
struct neighbors {
	uint32_t a, b; /* Nodes. */
	uint32_t n_cables;
};

static uint32_t
count_cables(const struct topo *topo, uint32_t a, uint32_t b)
{
	size_t n_out;
	const uint32_t *out = topo_links_out(topo, a, &n_out);
	uint32_t n = 0;

	for (size_t i = 0; i < n_out; i++)
		n += topo_link(topo, out[i])->to == b;
	return n;
}

/* The most frequent number of cables; the largest if several. */
static uint32_t
usual_number(const struct neighbors *pairs, size_t n)
{
	uint32_t *counts = xcalloc(n + 1, sizeof *counts), usual = 0;
	size_t n_same = 0, n_usual = 0;

	for (size_t i = 0; i < n; i++)
		counts[i] = pairs[i].n_cables;
	sort_items(counts, n, sort_by_u32);
	for (size_t i = 0; i < n; i++) {
		n_same = i > 0 && counts[i] == counts[i - 1] ? n_same + 1 : 1;
		if (n_same >= n_usual) {
			n_usual = n_same;
			usual = counts[i];
		}
	}
	free(counts);
	return usual;
}

void
topo_check_torus(const struct topo *topo, struct topo_faults *faults)
{
	const struct topo_routing *routing = topo_routing(topo);
	VEC(uint32_t) switches = VEC_EMPTY;
	VEC(struct neighbors) pairs = VEC_EMPTY;
	uint32_t stride = 1, usual;

	for (uint32_t i = 0; routing->method == TOPO_TORUS && i < topo_n_nodes(topo);
	     i++)
		if (topo_node(topo, i)->kind == TOPO_SWITCH)
			vec_push(&switches, i);
	for (uint32_t dim = 0; dim < routing->n_dims; dim++) {
		uint32_t size = routing->dims[dim];

		for (uint32_t v = 0; v < switches.n; v++) {
			uint32_t at[TOPO_MAX_DIMS], next;
			struct neighbors pair = { .a = switches.items[v] };

			topo_torus_place(routing, v, at);
			if (size == 1 || (size == 2 && at[dim] == 1))
				continue;
			next = at[dim] + 1 < size ? v + stride
						  : v - (size - 1) * stride;
			pair.b = switches.items[next];
			pair.n_cables = count_cables(topo, pair.a, pair.b);
			vec_push(&pairs, pair);
		}
		stride *= size;
	}
	usual = usual_number(pairs.items, pairs.n);
	for (size_t i = 0; i < pairs.n; i++) {
		const struct neighbors *p = &pairs.items[i];

		if (p->n_cables != usual)
			topo_faults_add(faults, TOPO_FAULT_PARALLEL,
					"%s has %u cable%s to its neighbor %s, but "
					"most neighbors have %u",
					topo_node(topo, p->a)->name, p->n_cables,
					p->n_cables == 1 ? "" : "s",
					topo_node(topo, p->b)->name, usual);
	}
	vec_free(&pairs);
	vec_free(&switches);
}
