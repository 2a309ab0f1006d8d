/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_memo.c - rates remembered by the set of active flows.
 *
 * Live links split the flows into parts that never influence each other.  In a
 * part the allocation is a function of the set of its active flows alone, and
 * the same few sets come again and again as its jobs go round.  So for parts of
 * few flows a table holds the rates of each set, filled as sets come up, and an
 * event costs a look-up instead of a solve.  A new set is solved as any other:
 * its flows are listed on their links for the time of one solve.
 *
 * Measured on 128 hosts, tables for more than about 8 flows cost more than
 * they save: too many sets come up too rarely.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/fluid.h"
#include "lib/base/alloc.h"
#include "lib/base/unionfind.h"

/* Limit of all tables together. */
#define MAX_TABLE_BYTES ((size_t)4 << 20)

/* ------ Finding the parts ------ */

/* Joins the flows that share a live link. */
static void
join_flows(const struct fluid *fl, uint32_t *parents)
{
	uint32_t *firsts = xcalloc(fl->n_links + 1, sizeof *firsts);

	memset(firsts, 0xff, (fl->n_links + 1) * sizeof *firsts);
	for (uint32_t f = 0; f < fl->n_flows; f++) {
		const struct fluid_flow *flow = &fl->flows[f];

		parents[f] = f;
		for (uint32_t h = 0; h < flow->n_hops; h++) {
			uint32_t *first =
				&firsts[fl->hops.items[flow->first_hop + h].link];

			if (*first == FLUID_NONE)
				*first = f;
			else
				unionfind_join(parents, f, *first);
		}
	}
	free(firsts);
}

/* Makes parts within the budget; flows beyond it belong to no part. */
static void
give_tables(struct fluid *fl)
{
	size_t left_bytes = MAX_TABLE_BYTES;

	for (uint32_t p = 0; p < fl->parts.n; p++) {
		struct fluid_part *part = &fl->parts.items[p];
		size_t n = (size_t)part->n_flows << part->n_flows;

		if (n * sizeof(double) > left_bytes) {
			fluid_dissolve_part(fl, p);
			continue;
		}
		left_bytes -= n * sizeof(double);
		part->rates_bps = xcalloc(n, sizeof(double));
	}
}

void
fluid_find_parts(struct fluid *fl)
{
	uint32_t *parents, *sizes, *parts;

	fluid_free_parts(fl);
	for (uint32_t f = 0; f < fl->n_flows; f++)
		fl->specs[f].part = FLUID_NONE;
	/* Measurement needs every flow on its links; tables have no rate 0. */
	if (fl->keeps_all || fl->has_new_weights || fl->has_classes || !fl->n_flows)
		return;
	parents = xcalloc(fl->n_flows, sizeof *parents);
	sizes = xcalloc(fl->n_flows, sizeof *sizes);
	parts = xcalloc(fl->n_flows, sizeof *parts); /* By root; 0: none yet. */
	join_flows(fl, parents);
	for (uint32_t f = 0; f < fl->n_flows; f++)
		sizes[unionfind_root(parents, f)] += fl->flows[f].n_hops > 0;
	for (uint32_t f = 0; f < fl->n_flows; f++) {
		uint32_t root = unionfind_root(parents, f);
		struct fluid_part *part;

		if (!fl->flows[f].n_hops || sizes[root] > FLUID_PART_MAX)
			continue;
		if (!parts[root]) {
			vec_push(&fl->parts, ((struct fluid_part){ 0 }));
			parts[root] = (uint32_t)fl->parts.n;
		}
		part = &fl->parts.items[parts[root] - 1];
		fl->specs[f].part = parts[root] - 1;
		fl->specs[f].bit = (uint8_t)part->n_flows;
		part->flows[part->n_flows++] = f;
	}
	vec_reserve(&fl->touched_parts, fl->parts.n);
	give_tables(fl);
	free(parents);
	free(sizes);
	free(parts);
}

void
fluid_free_parts(struct fluid *fl)
{
	for (size_t p = 0; p < fl->parts.n; p++)
		free(fl->parts.items[p].rates_bps);
	fl->parts.n = 0;
	fl->touched_parts.n = 0;
}

void
fluid_dissolve_part(struct fluid *fl, uint32_t p)
{
	struct fluid_part *part = &fl->parts.items[p];

	for (uint32_t i = 0; i < part->n_flows; i++) {
		uint32_t f = part->flows[i];

		fl->specs[f].part = FLUID_NONE;
		if (!(part->active >> i & 1))
			continue;
		fl->flows[f].bottleneck = FLUID_NONE;
		fluid_enter_links(fl, f);
		vec_push(&fl->started, f);
	}
	part->active = 0;
}

void
fluid_dissolve_parts(struct fluid *fl)
{
	for (uint32_t p = 0; p < fl->parts.n; p++)
		fluid_dissolve_part(fl, p);
	fluid_free_parts(fl);
}

/* ------ Remembering ------ */

/* Solves for the part's active set, and remembers the rates. */
static void
solve_part(struct fluid *fl, struct fluid_part *part, double *rates_bps, double now_ns)
{
	for (uint32_t left = part->active; left; left &= left - 1) {
		uint32_t f = part->flows[__builtin_ctz(left)];

		fl->flows[f].bottleneck = FLUID_NONE;
		fluid_enter_links(fl, f);
		vec_push(&fl->started, f);
	}
	fluid_solve_touched(fl, now_ns);
	for (uint32_t left = part->active; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct fluid_flow *flow = &fl->flows[part->flows[i]];

		rates_bps[i] = flow->level * flow->weight;
		fluid_clear_links(fl, part->flows[i]);
	}
}

void
fluid_solve_parts(struct fluid *fl, double now_ns)
{
	for (size_t p = 0; p < fl->touched_parts.n; p++) {
		struct fluid_part *part = &fl->parts.items[fl->touched_parts.items[p]];
		uint32_t left = part->active;
		double *rates_bps = &part->rates_bps[(size_t)left * part->n_flows];

		part->is_touched = false;
		if (left && rates_bps[__builtin_ctz(left)] == 0) {
			solve_part(fl, part, rates_bps, now_ns);
			continue;
		}
		for (; left; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctz(left), f = part->flows[i];
			struct fluid_flow *flow = &fl->flows[f];

			if (fabs(rates_bps[i] - flow->rate_bps) >
			    FLUID_REL_TOL / 10 * rates_bps[i])
				fluid_set_rate(fl, f, flow, rates_bps[i], now_ns);
		}
	}
	fl->touched_parts.n = 0;
}
