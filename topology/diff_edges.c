/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_edges.c - reports of many nodes become cables between two ends each.
 *
 * Both nodes of a cable may report it, under different names: the neighbor's port is
 * known by its id and by its description.  If reports contradict each other, those of
 * both ends win, then those first in order.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/strtab.h"
#include "topology/diff.h"
#include "topology/diff_priv.h"

/* "NODE PORT": no name has a blank. */
static void
name_end(const char *node, const char *port, char ret_name[2 * TOPO_MAX_NAME + 2])
{
	size_t node_length = strnlen(node, TOPO_MAX_NAME);
	size_t port_length = strnlen(port, TOPO_MAX_NAME);

	memcpy(ret_name, node, node_length);
	ret_name[node_length] = ' ';
	memcpy(ret_name + node_length + 1, port, port_length);
	ret_name[node_length + 1 + port_length] = '\0';
}

/* Number of the end; adds a new one. */
static uint32_t
end_of(struct differ *d, const char *node, uint32_t plan_node, const char *port)
{
	struct end end = { .plan_node = plan_node,
			   .cable = TOPO_NONE,
			   .edge = TOPO_NONE,
			   .state = OBSERVED_STATE_UNKNOWN };
	char name[2 * TOPO_MAX_NAME + 2];
	uint32_t id;

	if (plan_node != TOPO_NONE)
		node = topo_node(d->plan, plan_node)->name;
	memcpy(end.node, node, strnlen(node, TOPO_MAX_NAME));
	memcpy(end.port, port, strnlen(port, TOPO_MAX_NAME));
	name_end(node, port, name);
	id = strtab_intern(d->end_names, name);
	if (id == d->ends.n)
		vec_push(&d->ends, end);
	return id;
}

static void
add_plan(struct differ *d)
{
	for (uint32_t i = 0; i < topo_n_links(d->plan); i++) {
		const struct topo_link *link = topo_link(d->plan, i);
		struct cable c = { .bps = link->capacity_bps, .edge = TOPO_NONE };

		if (link->reverse != TOPO_NONE && link->reverse < i)
			continue;
		c.a = end_of(d, "", link->from, link->from_port);
		c.b = end_of(d, "", link->to, link->to_port);
		d->ends.items[c.a].cable = d->ends.items[c.b].cable =
			(uint32_t)d->cables.n;
		vec_push(&d->cables, c);
	}
}

static bool
is_planned_port(const struct differ *d, uint32_t node, const char *port)
{
	char name[2 * TOPO_MAX_NAME + 2];
	uint32_t id;

	name_end(topo_node(d->plan, node)->name, port, name);
	id = strtab_find(d->end_names, name);
	return id != STRTAB_NONE && d->ends.items[id].cable != TOPO_NONE;
}

/*
 * The neighbor's most likely name of the port: one of the plan, one that it reported
 * itself, or the description if the id is an address.
 */
static const char *
peer_port_name(const struct differ *d, const struct observed *seen, uint32_t plan_node,
	       const struct observed_neighbour *peer)
{
	const struct observed_node *own = observed_find(seen, peer->node);

	if (!peer->alias[0])
		return peer->port;
	if (!peer->port[0])
		return peer->alias;
	if (plan_node != TOPO_NONE) {
		if (is_planned_port(d, plan_node, peer->port))
			return peer->port;
		if (is_planned_port(d, plan_node, peer->alias))
			return peer->alias;
		if (!own)
			own = observed_find(seen, topo_node(d->plan, plan_node)->name);
	}
	return observed_peer_port(peer, own);
}

static void
add_edge(struct differ *d, uint32_t a, uint32_t b, double bps)
{
	struct edge e = { .a = a < b ? a : b,
			  .b = a < b ? b : a,
			  .bps = bps,
			  .n_said = 1,
			  .cable = TOPO_NONE };

	if (a != b)
		vec_push(&d->edges, e);
}

/*
 * The neighbor of a port.  A port with several is at a hub, or at a switch that
 * forwards LLDP: the planned neighbor counts, else the first one in the plan.
 */
static void
add_port(struct differ *d, const struct observed *seen, uint32_t end,
	 const struct observed_port *port)
{
	uint32_t first = TOPO_NONE, known = TOPO_NONE, planned = TOPO_NONE, to;
	double bps[3] = { 0 };

	for (size_t i = 0; i < port->neighbours.n; i++) {
		const struct observed_neighbour *peer = &port->neighbours.items[i];
		uint32_t node = observed_plan_node(d->plan, peer->node);
		uint32_t there = end_of(d, peer->node, node,
					peer_port_name(d, seen, node, peer));
		uint32_t cable = d->ends.items[end].cable;

		if (first == TOPO_NONE) {
			first = there;
			bps[0] = peer->bps;
		}
		if (known == TOPO_NONE && node != TOPO_NONE) {
			known = there;
			bps[1] = peer->bps;
		}
		if (cable != TOPO_NONE && cable == d->ends.items[there].cable) {
			planned = there;
			bps[2] = peer->bps;
		}
	}
	to = planned != TOPO_NONE ? planned : known != TOPO_NONE ? known : first;
	if (to != TOPO_NONE)
		add_edge(d, end, to, bps[to == planned ? 2 : to == known ? 1 : 0]);
}

static void
add_node(struct differ *d, const struct observed *seen,
	 const struct observed_node *node, bool use_neighbours)
{
	uint32_t plan_node = observed_plan_node(d->plan, node->name);

	if (plan_node == TOPO_NONE)
		d->diff->n_strange++;
	if (use_neighbours) {
		d->diff->n_heard++;
		if (plan_node != TOPO_NONE)
			d->is_heard[plan_node] = true;
	}
	for (size_t i = 0; i < node->ports.n; i++) {
		const struct observed_port *port = &node->ports.items[i];
		uint32_t end = end_of(d, node->name, plan_node, port->name);

		d->ends.items[end].state = port->state;
		d->ends.items[end].bps = port->bps;
		if (use_neighbours)
			add_port(d, seen, end, port);
	}
}

static int
compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

/* Accepts an edge, unless one of its ends has an edge already. */
static void
keep_edge(struct differ *d, uint32_t *ret_n, const struct edge *edge)
{
	struct end *a = &d->ends.items[edge->a], *b = &d->ends.items[edge->b];

	if (a->edge != TOPO_NONE || b->edge != TOPO_NONE)
		return;
	a->edge = b->edge = *ret_n;
	d->edges.items[(*ret_n)++] = *edge;
}

/* Merges the reports of both ends, and leaves one edge per end. */
static void
join_edges(struct differ *d)
{
	struct edge *all;
	size_t n = 0;
	uint32_t n_kept = 0;

	if (!d->edges.n)
		return;
	qsort(d->edges.items, d->edges.n, sizeof *d->edges.items, compare_edges);
	for (size_t i = 0; i < d->edges.n; i++) {
		struct edge *last = n ? &d->edges.items[n - 1] : NULL;
		const struct edge *e = &d->edges.items[i];

		if (last && last->a == e->a && last->b == e->b) {
			last->n_said++;
			if (!(last->bps > 0) || (e->bps > 0 && e->bps < last->bps))
				last->bps = e->bps;
		} else {
			d->edges.items[n++] = *e;
		}
	}
	all = xmemdup(d->edges.items, n, sizeof *all);
	for (int both = 1; both >= 0; both--) {
		for (size_t i = 0; i < n; i++) {
			if ((all[i].n_said > 1) == both)
				keep_edge(d, &n_kept, &all[i]);
		}
	}
	free(all);
	d->edges.n = n_kept;
}

static bool
is_old(const struct diff_opts *opts, int64_t at_us)
{
	return opts->max_age_us && opts->now_us - at_us > opts->max_age_us;
}

void
differ_init(struct differ *d, const struct topo *plan, const struct observed *seen,
	    const struct diff_opts *opts, struct diff *diff)
{
	*d = (struct differ){ .plan = plan, .diff = diff };
	d->end_names = strtab_new();
	d->is_heard = xcalloc((size_t)topo_n_nodes(plan) + 1, sizeof *d->is_heard);
	d->is_named = xcalloc((size_t)topo_n_nodes(plan) + 1, sizeof *d->is_named);
	add_plan(d);
	for (size_t i = 0; i < observed_n_nodes(seen); i++) {
		const struct observed_node *node = observed_node(seen, i);

		if (is_old(opts, node->heard_us))
			diff->n_old++;
		else
			add_node(d, seen, node,
				 node->has_neighbours &&
					 !is_old(opts, node->neighbours_us));
	}
	join_edges(d);
}

void
differ_fini(struct differ *d)
{
	strtab_free(d->end_names);
	vec_free(&d->ends);
	vec_free(&d->cables);
	vec_free(&d->edges);
	free(d->is_heard);
	free(d->is_named);
}
