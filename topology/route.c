/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.c - paths; up-down shortest ones, and with route_torus.c and route_dragonfly.c
 * those of a torus and a dragonfly.
 *
 * For every destination leaf t two distances are kept for each switch v, in
 * links to t:
 *
 *	down(v) = 0 if v = t, else min over links v > w down a tier of 1 + down(w)
 *	all(v)  = min(down(v), min over links v > w within a tier of 1 + down(w),
 *	              min over links v > w up a tier of 1 + all(w))
 *
 * down() follows in one pass over the switches by ascending tier, all() in one by
 * descending tier, since each needs only lower, or only higher, tiers.
 */
#include "topology/route.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "topology/route_priv.h"

/* Numbers the switches, and sorts them by tier (counting sort). */
static void
index_switches(struct routes *r)
{
	uint32_t n_nodes = topo_n_nodes(r->topo);
	uint32_t first[TOPO_MAX_TIER + 2] = { 0 };

	r->switches = xcalloc((size_t)n_nodes + 1, sizeof *r->switches);
	r->switch_numbers = xcalloc((size_t)n_nodes + 1, sizeof *r->switch_numbers);
	r->tiers = xcalloc((size_t)n_nodes + 1, sizeof *r->tiers);
	for (uint32_t i = 0; i < n_nodes; i++) {
		const struct topo_node *node = topo_node(r->topo, i);

		r->switch_numbers[i] = TOPO_NONE;
		if (node->kind != TOPO_SWITCH)
			continue;
		r->switch_numbers[i] = r->n_switches;
		r->tiers[r->n_switches] = (uint8_t)node->tier;
		r->switches[r->n_switches++] = i;
		first[node->tier + 1]++;
	}
	for (uint32_t t = 0; t <= TOPO_MAX_TIER; t++)
		first[t + 1] += first[t];
	r->by_tier = xcalloc((size_t)r->n_switches + 1, sizeof *r->by_tier);
	for (uint32_t i = 0; i < r->n_switches; i++)
		r->by_tier[first[r->tiers[i]]++] = i;
}

static int
compare_hops(const void *a, const void *b)
{
	const struct route_hop *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->link > y->link) - (x->link < y->link);
}

static void
index_hops(struct routes *r)
{
	size_t n = 0;

	r->hop_first = xcalloc((size_t)r->n_switches + 1, sizeof *r->hop_first);
	r->hops = xcalloc((size_t)topo_n_links(r->topo) + 1, sizeof *r->hops);
	for (uint32_t i = 0; i < r->n_switches; i++) {
		size_t n_out;
		const uint32_t *out = topo_links_out(r->topo, r->switches[i], &n_out);

		for (size_t j = 0; j < n_out; j++) {
			uint32_t to = r->switch_numbers[topo_link(r->topo, out[j])->to];

			if (to != TOPO_NONE)
				r->hops[n++] = (struct route_hop){ out[j], to };
		}
		r->hop_first[i + 1] = (uint32_t)n;
	}
	r->hops = xreallocarray(r->hops, n + 1, sizeof *r->hops);
	r->hops_by_to = xmemdup(r->hops, n + 1, sizeof *r->hops);
	for (uint32_t i = 0; i < r->n_switches; i++)
		sort_items(r->hops_by_to + r->hop_first[i],
			   r->hop_first[i + 1] - r->hop_first[i], compare_hops);
}

/* The links into each host, ascending. */
static void
index_host_links(struct routes *r)
{
	uint32_t n_hosts = topo_n_hosts(r->topo), n_links = topo_n_links(r->topo);
	uint32_t *next;

	r->in_first = xcalloc((size_t)n_hosts + 1, sizeof *r->in_first);
	for (uint32_t i = 0; i < n_links; i++) {
		uint32_t host = topo_host_number(r->topo, topo_link(r->topo, i)->to);

		if (host != TOPO_NONE)
			r->in_first[host + 1]++;
	}
	for (uint32_t i = 0; i < n_hosts; i++)
		r->in_first[i + 1] += r->in_first[i];
	r->in_links = xcalloc((size_t)r->in_first[n_hosts] + 1, sizeof *r->in_links);
	next = xmemdup(r->in_first, (size_t)n_hosts + 1, sizeof *next);
	for (uint32_t i = 0; i < n_links; i++) {
		uint32_t host = topo_host_number(r->topo, topo_link(r->topo, i)->to);

		if (host != TOPO_NONE)
			r->in_links[next[host]++] = i;
	}
	free(next);
}

struct routes *
routes_new(struct topo *topo, uint64_t seed)
{
	struct routes *r = xcalloc(1, sizeof *r);

	r->topo = topo_ref(topo);
	r->seed = seed;
	index_switches(r);
	index_hops(r);
	index_host_links(r);
	r->tables = xcalloc((size_t)r->n_switches + 1, sizeof *r->tables);
	if (topo_routing(topo)->method == TOPO_DRAGONFLY) {
		r->group_size = r->n_switches / topo_routing(topo)->n_groups;
		r->is_valiant = topo_routing(topo)->is_valiant;
	}
	if (topo_routing(topo)->method == TOPO_TORUS)
		r->torus = route_torus_new(r);
	for (uint32_t i = 0; i < r->n_switches; i++)
		r->has_scale_up |= topo_node(topo, r->switches[i])->is_scale_up;
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		r->spreads |= topo_balance(topo, tier) != TOPO_BALANCE_HASH;
	return r;
}

struct routes *
routes_new_spraying(struct topo *topo, uint64_t seed)
{
	struct routes *r = routes_new(topo, seed);

	r->spreads = r->sprays = true;
	r->is_valiant = false;
	return r;
}

void
routes_free(struct routes *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_switches; i++)
		free(r->tables[i].down);
	free(r->tables);
	route_torus_free(r->torus);
	free(r->spread_places);
	free(r->in_links);
	free(r->in_first);
	free(r->hops_by_to);
	free(r->hops);
	free(r->hop_first);
	free(r->by_tier);
	free(r->switch_numbers);
	free(r->tiers);
	free(r->switches);
	topo_unref(r->topo);
	free(r);
}

bool
routes_all_hash(const struct routes *r)
{
	return !r->spreads && !r->is_valiant;
}

uint32_t
routes_n_links(const struct routes *r)
{
	return topo_n_links(r->topo);
}

static uint8_t
nearer(uint8_t best, uint8_t beyond)
{
	return beyond != ROUTE_FAR && beyond + 1 < best ? (uint8_t)(beyond + 1) : best;
}

const struct route_table *
route_table_to(struct routes *r, uint32_t leaf)
{
	struct route_table *t = &r->tables[leaf];

	if (t->down)
		return t;
	t->leaf = leaf;
	if (r->torus)
		return t;
	t->down = xcalloc(2, r->n_switches);
	t->all = t->down + r->n_switches;
	memset(t->down, ROUTE_FAR, (size_t)2 * r->n_switches);
	if (r->group_size) {
		route_dragonfly_fill(r, t);
		return t;
	}
	t->down[leaf] = 0;
	for (uint32_t i = 0; i < r->n_switches; i++) {
		uint32_t v = r->by_tier[i], tier = r->tiers[v];

		for (uint32_t j = r->hop_first[v]; j < r->hop_first[v + 1]; j++) {
			uint32_t w = r->hops[j].to;

			if (r->tiers[w] < tier)
				t->down[v] = nearer(t->down[v], t->down[w]);
		}
	}
	for (uint32_t i = r->n_switches; i-- > 0;) {
		uint32_t v = r->by_tier[i], tier = r->tiers[v];

		t->all[v] = t->down[v];
		for (uint32_t j = r->hop_first[v]; j < r->hop_first[v + 1]; j++) {
			uint32_t w = r->hops[j].to, w_tier = r->tiers[w];

			if (w_tier == tier)
				t->all[v] = nearer(t->all[v], t->down[w]);
			else if (w_tier > tier)
				t->all[v] = nearer(t->all[v], t->all[w]);
		}
	}
	return t;
}

unsigned
route_hops_over(struct routes *r, uint32_t source, uint32_t in)
{
	uint32_t last = topo_link(r->topo, in)->from;
	const struct route_table *t;
	const uint32_t *out;
	size_t n_out;
	unsigned best = ROUTE_FAR;

	if (last == source)
		return 1;
	if (r->switch_numbers[last] == TOPO_NONE)
		return ROUTE_FAR;
	/* Hosts of a scale-up domain use its switch, and nothing else. */
	if (r->has_scale_up && !topo_node(r->topo, last)->is_scale_up &&
	    topo_scale_up_of(r->topo, source, topo_link(r->topo, in)->to) != TOPO_NONE)
		return ROUTE_FAR;
	t = route_table_to(r, r->switch_numbers[last]);
	out = topo_links_out(r->topo, source, &n_out);
	for (size_t i = 0; i < n_out; i++) {
		uint32_t v = r->switch_numbers[topo_link(r->topo, out[i])->to];

		unsigned n = v == TOPO_NONE ? ROUTE_FAR : route_distance(r, t, v, true);

		if (n != ROUTE_FAR && n + 2 < best)
			best = n + 2;
	}
	return best;
}

unsigned
route_hops_between(struct routes *r, uint32_t source, uint32_t destination,
		   size_t *ret_n)
{
	uint32_t host = topo_host_number(r->topo, destination);
	unsigned best = ROUTE_FAR;

	*ret_n = 0;
	for (uint32_t i = r->in_first[host]; i < r->in_first[host + 1]; i++) {
		unsigned hops = route_hops_over(r, source, r->in_links[i]);

		if (hops < best) {
			best = hops;
			*ret_n = 0;
		}
		*ret_n += hops == best && hops != ROUTE_FAR;
	}
	return best;
}

/* Number 'port' mod n of the links into 'destination' at distance 'hops'. */
static uint32_t
choose_in(struct routes *r, uint32_t source, uint32_t destination, unsigned hops,
	  size_t n, uint16_t port)
{
	uint32_t i = r->in_first[topo_host_number(r->topo, destination)];
	size_t left = port % n;

	for (;; i++) {
		if (route_hops_over(r, source, r->in_links[i]) == hops && left-- == 0)
			return r->in_links[i];
	}
}

/* Number 'port' mod n of the links out of 'source' to switches at distance 'left'. */
static uint32_t
choose_out(const struct routes *r, const struct route_table *t, uint32_t source,
	   unsigned left, uint16_t port)
{
	size_t n_out, n = 0;
	const uint32_t *out = topo_links_out(r->topo, source, &n_out);
	uint32_t v;

	for (size_t i = 0; i < n_out; i++) {
		v = r->switch_numbers[topo_link(r->topo, out[i])->to];
		n += v != TOPO_NONE && route_distance(r, t, v, true) == left;
	}
	BUG_ON(!n);
	n = port % n;
	for (size_t i = 0;; i++) {
		v = r->switch_numbers[topo_link(r->topo, out[i])->to];
		if (v != TOPO_NONE && route_distance(r, t, v, true) == left && n-- == 0)
			return out[i];
	}
}

/* The links from switch 'v' to switch 'to', of which there are '*ret_n'. */
static const struct route_hop *
hops_between(const struct routes *r, uint32_t v, uint32_t to, uint64_t *ret_n)
{
	uint32_t first = r->hop_first[v], end = r->hop_first[v + 1], n = 0;

	for (uint32_t last = end; first < last;) {
		uint32_t middle = first + (last - first) / 2;

		if (r->hops_by_to[middle].to < to)
			first = middle + 1;
		else
			last = middle;
	}
	while (first + n < end && r->hops_by_to[first + n].to == to)
		n++;
	*ret_n = n;
	return &r->hops_by_to[first];
}

const struct route_hop *
route_choose_hop(const struct routes *r, const struct route_table *t, uint32_t v,
		 struct route_choice *choice, bool *is_up)
{
	const struct route_hop *hops = r->hops;
	uint64_t n = 0;

	/* A switch above many leaves has one link, or a few, to the last of them. */
	if (route_distance(r, t, v, *is_up) == 1) {
		hops = hops_between(r, v, t->leaf, &n);
		BUG_ON(!n);
		*is_up = r->tiers[t->leaf] > r->tiers[v];
		return &hops[route_choose(r, v, choice, n)];
	}
	for (uint32_t i = r->hop_first[v]; i < r->hop_first[v + 1]; i++) {
		bool up = *is_up;

		n += route_hop_is_short(r, t, v, &hops[i], &up);
	}
	BUG_ON(!n);
	n = route_choose(r, v, choice, n);
	for (uint32_t i = r->hop_first[v];; i++) {
		bool up = *is_up;

		if (route_hop_is_short(r, t, v, &hops[i], &up) && n-- == 0) {
			*is_up = up;
			return &hops[i];
		}
	}
}

int
route_find_ends(struct routes *r, uint32_t source, uint32_t destination, uint16_t port,
		struct route_ends *ret_ends)
{
	uint32_t from = topo_host_number(r->topo, source);
	uint32_t to = topo_host_number(r->topo, destination);
	struct route_ends ends = { .n_hops = 0 };
	size_t n;

	if (from == TOPO_NONE || to == TOPO_NONE)
		return -EINVAL;
	if (source == destination) {
		*ret_ends = ends;
		return 0;
	}
	ends.hash = rng_mix(r->seed ^ ((uint64_t)from << 32 | to));
	ends.n_hops = route_hops_between(r, source, destination, &n);
	if (ends.n_hops == ROUTE_FAR)
		return -EHOSTUNREACH;
	ends.in = choose_in(r, source, destination, ends.n_hops, n, port);
	if (ends.n_hops > 1) {
		ends.t = route_table_to(
			r, r->switch_numbers[topo_link(r->topo, ends.in)->from]);
		ends.out = choose_out(r, ends.t, source, ends.n_hops - 2, port);
	}
	*ret_ends = ends;
	return 0;
}

static int
find_path(struct routes *r, uint32_t source, uint32_t destination,
	  struct route_choice *choice, uint32_t *ret_links, size_t *ret_n)
{
	struct route_ends ends;
	bool is_up = true;
	size_t n;
	uint32_t v;
	int error = route_find_ends(r, source, destination, choice->port, &ends);

	if (error < 0)
		return error;
	choice->hash = ends.hash;
	*ret_n = ends.n_hops;
	if (ends.n_hops > 0)
		ret_links[ends.n_hops - 1] = ends.in;
	if (ends.n_hops < 2)
		return 0;
	ret_links[0] = ends.out;
	v = r->switch_numbers[topo_link(r->topo, ends.out)->to];
	n = 1;
	if (r->is_valiant)
		n += route_dragonfly_detour(r, ends.t, v, choice, ret_links + 1, &v);
	while (route_distance(r, ends.t, v, is_up)) {
		const struct route_hop *hop =
			route_choose_hop(r, ends.t, v, choice, &is_up);

		ret_links[n++] = hop->link;
		v = hop->to;
	}
	ret_links[n++] = ends.in;
	*ret_n = n;
	return 0;
}

int
routes_path(struct routes *r, uint32_t source, uint32_t destination, uint16_t port,
	    uint32_t *ret_links, size_t *ret_n)
{
	struct route_choice choice = { .port = port };

	return find_path(r, source, destination, &choice, ret_links, ret_n);
}

int
routes_numbered_path(struct routes *r, uint32_t source, uint32_t destination,
		     uint16_t port, uint32_t number, uint32_t *ret_links, size_t *ret_n,
		     uint32_t *ret_n_paths)
{
	struct route_choice choice = {
		.port = port, .is_numbered = true, .number = number, .n_paths = 1
	};
	int error = find_path(r, source, destination, &choice, ret_links, ret_n);

	if (error == 0)
		*ret_n_paths = (uint32_t)choice.n_paths;
	return error;
}

int
routes_port_of_path(struct routes *r, uint32_t source, uint32_t destination,
		    uint16_t port, uint32_t number, uint16_t n_ports, uint16_t step,
		    uint16_t *ret_port)
{
	uint32_t wanted[ROUTE_MAX_HOPS], links[ROUTE_MAX_HOPS], n_paths;
	size_t n_wanted, n;
	int error = routes_numbered_path(r, source, destination, port, number, wanted,
					 &n_wanted, &n_paths);

	for (uint32_t i = 0; error == 0 && i < n_ports; i++) {
		*ret_port = (uint16_t)(port + i * step);
		error = routes_path(r, source, destination, *ret_port, links, &n);
		if (error == 0 && n == n_wanted &&
		    memcmp(links, wanted, n * sizeof *links) == 0)
			return 0;
	}
	return error < 0 ? error : -ENOENT;
}

size_t
routes_n_hops(struct routes *r, uint32_t source, uint32_t destination)
{
	unsigned hops;
	size_t n;

	if (topo_host_number(r->topo, source) == TOPO_NONE ||
	    topo_host_number(r->topo, destination) == TOPO_NONE ||
	    source == destination)
		return 0;
	hops = route_hops_between(r, source, destination, &n);
	return hops == ROUTE_FAR ? 0 : hops;
}
