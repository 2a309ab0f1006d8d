/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/collective.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "topology/collective_priv.h"
#include "topology/route.h"
#include "topology/topo.h"

const char *const collective_names[N_COLLECTIVES + 1] = {
	"ring", "tree", "all-to-all", "hierarchical", NULL,
};

/* The flows so far, before the split into rails. */
struct maker {
	const uint32_t *hosts; /* Ordered. */
	size_t n_hosts;
	VEC(struct collective_flow) flows;
};

/* The scale-up switch of a host, or else its leaf. */
static uint32_t
group_of(const struct topo *topo, uint32_t host)
{
	uint32_t scale_up = topo_scale_up_of(topo, host, host);

	return scale_up != TOPO_NONE ? scale_up : topo_leaf_of(topo, host);
}

static void
reverse(uint32_t *hosts, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t host = hosts[i];

		hosts[i] = hosts[n - 1 - i];
		hosts[n - 1 - i] = host;
	}
}

/*
 * The leaf by which a host is ordered: its own, or that of the first host of its domain,
 * since the hosts of a domain may be on several leaves, such as rail switches.
 */
static uint32_t
order_leaf_of(const struct topo *topo, uint32_t host)
{
	uint32_t scale_up = topo_scale_up_of(topo, host, host);
	const uint32_t *out;
	size_t n = 0;

	if (scale_up != TOPO_NONE)
		out = topo_links_out(topo, scale_up, &n);
	return topo_leaf_of(topo, n > 0 ? topo_link(topo, out[0])->to : host);
}

static int
compare_by_leaf(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t x_leaf = order_leaf_of(ctx, x), y_leaf = order_leaf_of(ctx, y);
	uint32_t x_group = group_of(ctx, x), y_group = group_of(ctx, y);

	if (x_leaf != y_leaf)
		return x_leaf < y_leaf ? -1 : 1;
	if (x_group != y_group)
		return x_group < y_group ? -1 : 1;
	return x < y ? -1 : x > y;
}

void
collective_order(const struct topo *topo, uint32_t *hosts, size_t n)
{
	if (n > 1)
		qsort_r(hosts, n, sizeof *hosts, compare_by_leaf, (void *)topo);
}

void
collective_ring_order(const struct topo *topo, uint32_t *hosts, size_t n)
{
	bool is_back = false;

	collective_order(topo, hosts, n);
	for (size_t first = 0, end; first < n; first = end) {
		uint32_t group = group_of(topo, hosts[first]);
		bool has_rails = false;

		for (end = first; end < n && group_of(topo, hosts[end]) == group; end++)
			has_rails |= topo_leaf_of(topo, hosts[end]) !=
				     topo_leaf_of(topo, hosts[first]);
		if (has_rails && is_back)
			reverse(hosts + first, end - first);
		is_back = has_rails && !is_back;
	}
}

static void
add_flow(struct maker *m, uint32_t source, uint32_t destination, double bytes)
{
	vec_push(&m->flows, ((struct collective_flow){ source, destination, bytes }));
}

static void
add_to_maker(void *ctx, unsigned part, uint32_t source, uint32_t destination,
	     double bytes)
{
	(void)part;
	add_flow(ctx, source, destination, bytes);
}

void
collective_ring(const uint32_t *hosts, size_t n, double bytes, unsigned part,
		collective_add_fn add, void *ctx)
{
	for (size_t i = 0; n > 1 && i < n; i++)
		add(ctx, part, hosts[i], hosts[(i + 1) % n], bytes);
}

void
collective_chain(const uint32_t *hosts, size_t n, double bytes, unsigned part,
		 collective_add_fn add, void *ctx)
{
	for (size_t i = 0; i + 1 < n; i++)
		add(ctx, part, hosts[i], hosts[i + 1], bytes);
}

/* What each host of a ring of 'n' sends in an all-reduce. */
static double
ring_bytes(size_t n, double message_bytes)
{
	return 2 * (double)(n - 1) / (double)n * message_bytes;
}

/*
 * The tree over hosts [first, end): the middle host is the root, and both sides are
 * such trees again.  Depth is log2 of the number of hosts.  Returns the root.
 */
static size_t
make_tree(struct maker *m, size_t first, size_t end, double message_bytes)
{
	size_t middle = first + (end - first) / 2;
	const size_t sides[2][2] = { { first, middle }, { middle + 1, end } };

	for (int i = 0; i < 2; i++) {
		size_t child;

		if (sides[i][0] >= sides[i][1])
			continue;
		child = make_tree(m, sides[i][0], sides[i][1], message_bytes);
		add_flow(m, m->hosts[child], m->hosts[middle], message_bytes);
		add_flow(m, m->hosts[middle], m->hosts[child], message_bytes);
	}
	return middle;
}

static void
make_all_to_all(struct maker *m, double message_bytes)
{
	double bytes = message_bytes / (double)m->n_hosts;

	for (size_t i = 0; i < m->n_hosts; i++) {
		for (size_t j = 0; j < m->n_hosts; j++) {
			if (i != j)
				add_flow(m, m->hosts[i], m->hosts[j], bytes);
		}
	}
}

void
collective_hierarchical(const struct topo *topo, const uint32_t *hosts, size_t n,
			double message_bytes, collective_add_fn add, void *ctx,
			size_t *ret_n_leaves, size_t *ret_largest_leaf)
{
	VEC(uint32_t) leaders = VEC_EMPTY;
	VEC(size_t) firsts = VEC_EMPTY;

	*ret_largest_leaf = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 ||
		    group_of(topo, hosts[i]) != group_of(topo, hosts[i - 1])) {
			vec_push(&leaders, hosts[i]);
			vec_push(&firsts, i);
		}
	}
	vec_push(&firsts, n);
	for (size_t k = 0; k < leaders.n; k++) {
		size_t size = firsts.items[k + 1] - firsts.items[k];

		if (size > *ret_largest_leaf)
			*ret_largest_leaf = size;
		collective_ring(hosts + firsts.items[k], size,
				ring_bytes(size, message_bytes), 0, add, ctx);
	}
	collective_ring(leaders.items, leaders.n, ring_bytes(leaders.n, message_bytes),
			1, add, ctx);
	for (size_t k = 0; leaders.n > 1 && k < leaders.n; k++)
		collective_chain(hosts + firsts.items[k],
				 firsts.items[k + 1] - firsts.items[k], message_bytes,
				 2, add, ctx);
	*ret_n_leaves = leaders.n;
	vec_free(&leaders);
	vec_free(&firsts);
}

uint32_t
collective_hierarchical_steps(size_t n_leaves, size_t largest_leaf, unsigned part)
{
	if (part == 0)
		return 2 * (uint32_t)(largest_leaf - 1);
	if (part == 1)
		return 2 * (uint32_t)(n_leaves - 1);
	return n_leaves > 1 ? (uint32_t)(largest_leaf - 1) : 0;
}

uint32_t
collective_fewest_interfaces(const struct topo *topo, const uint32_t *hosts, size_t n)
{
	size_t fewest = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t n_out, n_scale_up = 0;
		const uint32_t *out = topo_links_out(topo, hosts[i], &n_out);

		for (size_t k = 0; k < n_out; k++)
			n_scale_up += topo_node(topo, topo_link(topo, out[k])->to)
					      ->is_scale_up;
		if (n_out - n_scale_up < fewest)
			fewest = n_out - n_scale_up;
	}
	return fewest < 1 || n == 0 ? 1 : (uint32_t)fewest;
}

double
collective_largest_sum(const struct topo *topo, const struct collective_flow *flows,
		       size_t n)
{
	double *sums = xcalloc((size_t)topo_n_hosts(topo) * 2 + 1, sizeof *sums);
	double largest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t source = topo_host_number(topo, flows[i].source);
		size_t destination = topo_host_number(topo, flows[i].destination);

		sums[2 * source] += flows[i].bytes;
		sums[2 * destination + 1] += flows[i].bytes;
		largest = fmax(largest,
			       fmax(sums[2 * source], sums[2 * destination + 1]));
	}
	free(sums);
	return largest;
}

/* True if there is a host, all are hosts, and none is twice; sorts 'hosts'. */
static bool
hosts_are_valid(const struct topo *topo, const uint32_t *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (topo_host_number(topo, hosts[i]) == TOPO_NONE ||
		    (i > 0 && hosts[i] == hosts[i - 1]))
			return false;
	}
	return n > 0;
}

/* An upper bound of the number of flows before the split into rails. */
static double
bound_of_flows(enum collective kind, size_t n_hosts)
{
	double n = (double)n_hosts;

	return kind == COLLECTIVE_ALL_TO_ALL ? n * n : 3 * n;
}

int
collective_make(const struct topo *topo, enum collective kind, const uint32_t *hosts,
		size_t n_hosts, double message_bytes,
		struct collective_flows *ret_flows)
{
	struct maker m = { .n_hosts = n_hosts };
	struct collective_flow *cut;
	size_t n_leaves, largest_leaf;
	uint32_t *ordered, n_rails;
	int r = -EINVAL;

	if (kind >= N_COLLECTIVES || !(message_bytes > 0) || !isfinite(message_bytes) ||
	    n_hosts > topo_n_hosts(topo))
		return -EINVAL;
	m.hosts = ordered = xmemdup(hosts, n_hosts, sizeof *hosts);
	collective_order(topo, ordered, n_hosts);
	if (!hosts_are_valid(topo, ordered, n_hosts))
		goto out;
	if (kind == COLLECTIVE_RING)
		collective_ring_order(topo, ordered, n_hosts);
	n_rails = collective_fewest_interfaces(topo, ordered, n_hosts);
	r = -E2BIG;
	if (bound_of_flows(kind, n_hosts) * n_rails > COLLECTIVE_MAX_FLOWS)
		goto out;
	if (kind == COLLECTIVE_RING)
		collective_ring(ordered, n_hosts, ring_bytes(n_hosts, message_bytes), 0,
				add_to_maker, &m);
	else if (kind == COLLECTIVE_TREE)
		make_tree(&m, 0, n_hosts, message_bytes);
	else if (kind == COLLECTIVE_ALL_TO_ALL)
		make_all_to_all(&m, message_bytes);
	else
		collective_hierarchical(topo, ordered, n_hosts, message_bytes,
					add_to_maker, &m, &n_leaves, &largest_leaf);
	ret_flows->nic_bytes =
		collective_largest_sum(topo, m.flows.items, m.flows.n) / n_rails;
	cut = xcalloc(m.flows.n * n_rails + 1, sizeof *cut);
	for (size_t i = 0; i < m.flows.n * n_rails; i++) {
		cut[i] = m.flows.items[i / n_rails];
		cut[i].bytes /= n_rails;
	}
	ret_flows->flows = cut;
	ret_flows->n = m.flows.n * n_rails;
	ret_flows->n_rails = n_rails;
	r = 0;
out:
	vec_free(&m.flows);
	free(ordered);
	return r;
}

static void
ignore_flow(void *ctx, unsigned part, uint32_t source, uint32_t destination,
	    double bytes)
{
	(void)ctx;
	(void)part;
	(void)source;
	(void)destination;
	(void)bytes;
}

uint32_t
collective_n_steps(const struct topo *topo, enum collective kind, const uint32_t *hosts,
		   size_t n_hosts)
{
	size_t n_leaves, largest_leaf, depth = 0;
	uint32_t *ordered, n_steps = 0;

	if (n_hosts < 2)
		return 0;
	if (kind == COLLECTIVE_RING)
		return 2 * (uint32_t)(n_hosts - 1);
	if (kind == COLLECTIVE_ALL_TO_ALL)
		return 1;
	if (kind == COLLECTIVE_TREE) {
		while (n_hosts >> (depth + 1))
			depth++;
		return 2 * (uint32_t)depth;
	}
	ordered = xmemdup(hosts, n_hosts, sizeof *hosts);
	collective_order(topo, ordered, n_hosts);
	collective_hierarchical(topo, ordered, n_hosts, 1, ignore_flow, NULL, &n_leaves,
				&largest_leaf);
	free(ordered);
	for (unsigned part = 0; part < 3; part++)
		n_steps += collective_hierarchical_steps(n_leaves, largest_leaf, part);
	return n_steps;
}

int
collective_flows_split(struct collective_flows *flows, uint32_t n_connections)
{
	struct collective_flow *cut;
	size_t n;

	if (!n_connections)
		return -EINVAL;
	if ((double)flows->n * n_connections > COLLECTIVE_MAX_FLOWS)
		return -E2BIG;
	n = flows->n * n_connections;
	cut = xcalloc(n + 1, sizeof *cut);
	for (size_t i = 0; i < n; i++) {
		cut[i] = flows->flows[i / n_connections];
		cut[i].bytes /= n_connections;
	}
	free(flows->flows);
	flows->flows = cut;
	flows->n = n;
	return 0;
}

void
collective_flows_fini(struct collective_flows *flows)
{
	free(flows->flows);
	flows->flows = NULL;
	flows->n = 0;
}

static int
compare_links(const void *a, const void *b)
{
	uint32_t x = ((const struct footprint_entry *)a)->link;
	uint32_t y = ((const struct footprint_entry *)b)->link;

	return x < y ? -1 : x > y;
}

/* A footprint in the making. */
struct loads {
	VEC(struct footprint_entry) entries;
	VEC(size_t) last_flows; /* By entry: the flow that was added last. */
	uint32_t *places; /* Owned.  By link: its index in 'entries' plus one, or 0. */
	size_t flow;      /* The flow that is being added, and its factor. */
	double factor;
};

static void
add_load(void *ctx, uint32_t link, double share)
{
	struct loads *loads = ctx;
	struct footprint_entry *e;
	size_t place;

	if (!loads->places[link]) {
		vec_push(&loads->entries, ((struct footprint_entry){ link, 0, 0 }));
		vec_push(&loads->last_flows, SIZE_MAX);
		loads->places[link] = (uint32_t)loads->entries.n;
	}
	place = loads->places[link] - 1;
	e = &loads->entries.items[place];
	e->factor += share * loads->factor;
	e->n_flows += loads->last_flows.items[place] != loads->flow;
	loads->last_flows.items[place] = loads->flow;
}

static void
loads_init(struct loads *loads, uint32_t n_links)
{
	*loads = (struct loads){ .entries = VEC_EMPTY, .last_flows = VEC_EMPTY };
	loads->places = xcalloc((size_t)n_links + 1, sizeof(uint32_t));
}

static void
next_flow(struct loads *loads, const struct collective_flows *flows, size_t i)
{
	loads->flow = i;
	loads->factor = flows->flows[i].bytes / flows->nic_bytes;
}

/* Frees the loads; their entries become the footprint. */
static void
loads_finish(struct loads *loads, struct footprint *ret_footprint)
{
	sort_items(loads->entries.items, loads->entries.n, compare_links);
	ret_footprint->entries = loads->entries.items;
	ret_footprint->n = loads->entries.n;
	vec_free(&loads->last_flows);
	free(loads->places);
}

int
footprint_make(struct routes *routes, const struct collective_flows *flows,
	       uint16_t first_port, struct footprint *ret_footprint,
	       uint32_t ret_unreachable[2])
{
	struct loads loads;
	int r = 0;

	loads_init(&loads, routes_n_links(routes));
	for (size_t i = 0; i < flows->n && r == 0; i++) {
		const struct collective_flow *flow = &flows->flows[i];

		next_flow(&loads, flows, i);
		r = routes_spread(routes, flow->source, flow->destination,
				  (uint16_t)(first_port + i), add_load, &loads, NULL);
		if (r < 0 && ret_unreachable) {
			ret_unreachable[0] = flow->source;
			ret_unreachable[1] = flow->destination;
		}
	}
	loads_finish(&loads, ret_footprint);
	if (r < 0)
		footprint_fini(ret_footprint);
	return r;
}

void
footprint_of_paths(uint32_t n_links, const struct collective_flows *flows,
		   const uint32_t *path_links, const size_t *path_first,
		   struct footprint *ret_footprint)
{
	struct loads loads;

	loads_init(&loads, n_links);
	for (size_t i = 0; i < flows->n; i++) {
		next_flow(&loads, flows, i);
		for (size_t k = path_first[i]; k < path_first[i + 1]; k++)
			add_load(&loads, path_links[k], 1);
	}
	loads_finish(&loads, ret_footprint);
}

void
footprint_fini(struct footprint *footprint)
{
	free(footprint->entries);
	footprint->entries = NULL;
	footprint->n = 0;
}

const struct footprint_entry *
footprint_find(const struct footprint *footprint, uint32_t link)
{
	size_t low = 0, high = footprint->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (footprint->entries[middle].link < link)
			low = middle + 1;
		else
			high = middle;
	}
	return low < footprint->n && footprint->entries[low].link == link
		       ? &footprint->entries[low]
		       : NULL;
}
