/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_twin.h - a naive twin of topology/route.h, and random fabrics for it
 */
#ifndef TESTS_UNIT_ROUTE_TWIN_H
#define TESTS_UNIT_ROUTE_TWIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

/*
 * The naive twin: a breadth-first search from one source over states (node, whether the
 * path has turned down), which counts shortest paths.
 */
struct twin {
	size_t *hops; /* SIZE_MAX: not reached.  State is 2 * node + turned. */
	double *paths;
};

static inline bool
twin_step_is_allowed(const struct topo *topo, const struct topo_link *link,
		     bool *turned, uint32_t source)
{
	const struct topo_node *from = topo_node(topo, link->from);
	const struct topo_node *to = topo_node(topo, link->to);

	if (from->kind == TOPO_HOST && link->from != source)
		return false;
	if (to->tier > from->tier)
		return !*turned;
	if (to->tier == from->tier && *turned)
		return false;
	*turned = true;
	return true;
}

static inline struct twin
twin_search(const struct topo *topo, uint32_t source)
{
	size_t n_states = 2 * (size_t)topo_n_nodes(topo), head = 0, tail = 0;
	struct twin x = { xcalloc(n_states, sizeof(size_t)),
			  xcalloc(n_states, sizeof(double)) };
	uint32_t *queue = xcalloc(n_states, sizeof *queue);

	for (size_t i = 0; i < n_states; i++)
		x.hops[i] = SIZE_MAX;
	x.hops[2 * source] = 0;
	x.paths[2 * source] = 1;
	queue[tail++] = 2 * source;
	while (head < tail) {
		uint32_t state = queue[head++];
		size_t n;
		const uint32_t *out = topo_links_out(topo, state / 2, &n);

		for (size_t i = 0; i < n; i++) {
			const struct topo_link *link = topo_link(topo, out[i]);
			bool turned = state % 2;
			uint32_t next;

			if (!twin_step_is_allowed(topo, link, &turned, source))
				continue;
			next = 2 * link->to + turned;
			if (x.hops[next] == SIZE_MAX) {
				x.hops[next] = x.hops[state] + 1;
				queue[tail++] = next;
			}
			if (x.hops[next] == x.hops[state] + 1)
				x.paths[next] += x.paths[state];
		}
	}
	free(queue);
	return x;
}

struct twin_path {
	uint32_t links[ROUTE_MAX_HOPS];
	/* By hop: whether the path only goes down from that link on. */
	bool turned[ROUTE_MAX_HOPS + 1];
};

/* All paths of 'n_hops' links that begin with 'out' and end with 'in'. */
struct twin_paths {
	const struct topo *topo;
	uint32_t source, in;
	size_t n_hops;
	struct twin_path now; /* That is being tried. */
	VEC(struct twin_path) paths;
};

static inline void
twin_extend(struct twin_paths *p, size_t n)
{
	uint32_t last = p->now.links[n - 1], at = topo_link(p->topo, last)->to;
	const uint32_t *out;
	size_t n_out;

	if (n == p->n_hops) {
		if (last == p->in)
			vec_push(&p->paths, p->now);
		return;
	}
	out = topo_links_out(p->topo, at, &n_out);
	for (size_t i = 0; i < n_out; i++) {
		bool turned = p->now.turned[n];

		if (!twin_step_is_allowed(p->topo, topo_link(p->topo, out[i]), &turned,
					  p->source))
			continue;
		p->now.links[n] = out[i];
		p->now.turned[n + 1] = turned;
		twin_extend(p, n + 1);
	}
}

/*
 * The paths of as many hops as 'like', between the same interfaces; release with
 * vec_free(&paths).
 */
static inline struct twin_paths
twin_enumerate(const struct topo *topo, const uint32_t *like, size_t n)
{
	struct twin_paths p = { .topo = topo,
				.source = topo_link(topo, like[0])->from,
				.in = like[n - 1],
				.n_hops = n,
				.now = { .links = { like[0] } } };

	/* A link between two hosts turns at once; others go up. */
	p.now.turned[1] = n == 1;
	twin_extend(&p, 1);
	return p;
}

/* Whether paths 'a' and 'b' are in the same state before link 'hop'. */
static inline bool
twin_same_state(const struct topo *topo, const struct twin_path *a,
		const struct twin_path *b, size_t hop)
{
	return topo_link(topo, a->links[hop])->from ==
		       topo_link(topo, b->links[hop])->from &&
	       a->turned[hop] == b->turned[hop];
}

/* Keeps the paths that remain when every hashing switch takes its one link. */
static inline void
twin_hash(struct twin_paths *p, uint64_t seed, uint16_t port)
{
	uint32_t source = topo_host_number(p->topo, p->source);
	uint32_t destination = topo_host_number(p->topo, topo_link(p->topo, p->in)->to);
	uint64_t flow = rng_mix(seed ^ ((uint64_t)source << 32 | destination));
	bool *is_kept = xcalloc(p->paths.n + 1, sizeof *is_kept);
	size_t n_kept = 0;

	for (size_t i = 0; i < p->paths.n; i++) {
		const struct twin_path *path = &p->paths.items[i];

		is_kept[i] = true;
		for (size_t hop = 1; hop + 1 < p->n_hops; hop++) {
			uint32_t node = topo_link(p->topo, path->links[hop])->from;
			uint32_t seen[1024];
			size_t n_links = 0, place = 0;

			if (topo_balance(p->topo, topo_node(p->topo, node)->tier) !=
			    TOPO_BALANCE_HASH)
				continue;
			/* The different links that paths take from this state. */
			for (size_t j = 0; j < p->paths.n; j++) {
				uint32_t link = p->paths.items[j].links[hop];
				size_t k = 0;

				if (!twin_same_state(p->topo, path, &p->paths.items[j],
						     hop))
					continue;
				while (k < n_links && seen[k] != link)
					k++;
				if (k < n_links)
					continue;
				assert_true(n_links < 1024);
				seen[n_links++] = link;
				place += link < path->links[hop];
			}
			is_kept[i] &= rng_mix(flow + ((uint64_t)port << 32) + node) %
					      n_links ==
				      place;
		}
	}
	for (size_t i = 0; i < p->paths.n; i++)
		if (is_kept[i])
			p->paths.items[n_kept++] = p->paths.items[i];
	p->paths.n = n_kept;
	free(is_kept);
}

/*
 * Nodes of random kinds and tiers with random cables; each tier hashes, sprays or
 * routes adaptively if 'balances'.
 */
static inline struct topo *
twin_random_fabric(uint64_t seed, bool balances)
{
	struct topo_builder *b = topo_builder_new("random");
	struct rng rng;
	uint32_t n_nodes, n_cables, id;
	char name[16], port[2][16];

	rng_init(&rng, seed);
	n_nodes = 4 + (uint32_t)rng_below(&rng, 24);
	n_cables = n_nodes + (uint32_t)rng_below(&rng, 2 * n_nodes);
	for (uint32_t i = 0; i < n_nodes; i++) {
		snprintf(name, sizeof name, "n%u", i);
		if (rng_below(&rng, 5) < 2)
			topo_builder_host(b, name, 1, &id);
		else
			topo_builder_switch(b, name, 1 + (uint32_t)rng_below(&rng, 5),
					    &id);
	}
	for (uint32_t i = 0; i < n_cables; i++) {
		double back_bps = rng_below(&rng, 6) ? 1e9 : 0;

		snprintf(port[0], sizeof port[0], "a%u", i);
		snprintf(port[1], sizeof port[1], "b%u", i);
		/* The builder refuses a cable from a node to itself. */
		(void)topo_builder_cable(b, (uint32_t)rng_below(&rng, n_nodes), port[0],
					 (uint32_t)rng_below(&rng, n_nodes), port[1],
					 1e9, back_bps);
	}
	for (uint32_t tier = 1; balances && tier <= 5; tier++)
		topo_builder_balance(
			b, tier, (enum topo_balance)rng_below(&rng, TOPO_N_BALANCES));
	return topo_builder_finish(b);
}

#endif
