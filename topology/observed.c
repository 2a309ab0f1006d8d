/* SPDX-License-Identifier: Apache-2.0 */
/* observed.c - the reports of nodes, and changes between them. */
#include "topology/observed.h"

#include <errno.h>
#include <string.h>

#include "lib/base/strtab.h"

const char *const observed_state_names[] = { "unknown", "up", "down", NULL };

/* A quarter of the unit's MemoryMax: requests and answers need the rest. */
_Static_assert(OBSERVED_MAX_ITEMS * sizeof(struct observed_neighbour) <= 256 << 20,
	       "the reports of all nodes fit the memory of antiphase-topology");

struct observed {
	struct strtab *names; /* Owned.  Number of a name: index of the node. */
	VEC(struct observed_node) nodes;
	size_t n_items; /* Number of all ports and neighbors. */
	uint64_t generation;
};

/* ---- One report ------------------------------------------------------------------ */

void
observed_copy_name(char to[TOPO_MAX_NAME + 1], const char *from)
{
	size_t n = strnlen(from, TOPO_MAX_NAME);

	for (size_t i = 0; i < n; i++)
		to[i] = from[i] > ' ' && from[i] < 0x7f ? from[i] : '?';
	to[n] = '\0';
}

void
observed_node_init(struct observed_node *node, const char *name)
{
	*node = (struct observed_node){ .heard_us = 0 };
	observed_copy_name(node->name, name);
}

void
observed_node_fini(struct observed_node *node)
{
	for (size_t i = 0; i < node->ports.n; i++)
		vec_free(&node->ports.items[i].neighbours);
	vec_free(&node->ports);
}

/* Index of the first port whose name is not less than 'name'. */
static size_t
port_index(const struct observed_node *node, const char *name)
{
	size_t low = 0, high = node->ports.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(node->ports.items[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct observed_port *
observed_node_port(struct observed_node *node, const char *name)
{
	struct observed_port port = { .state = OBSERVED_STATE_UNKNOWN };
	size_t i;

	observed_copy_name(port.name, name);
	i = port_index(node, port.name);
	if (i < node->ports.n && strcmp(node->ports.items[i].name, port.name) == 0)
		return &node->ports.items[i];
	if (node->ports.n == OBSERVED_MAX_PORTS)
		return NULL;
	vec_push(&node->ports, port);
	memmove(node->ports.items + i + 1, node->ports.items + i,
		(node->ports.n - 1 - i) * sizeof port);
	node->ports.items[i] = port;
	return &node->ports.items[i];
}

const struct observed_port *
observed_node_find_port(const struct observed_node *node, const char *name)
{
	size_t i = port_index(node, name);

	if (i < node->ports.n && strcmp(node->ports.items[i].name, name) == 0)
		return &node->ports.items[i];
	return NULL;
}

static int
compare_neighbours(const struct observed_neighbour *a,
		   const struct observed_neighbour *b)
{
	int order = strcmp(a->node, b->node);

	if (order == 0)
		order = strcmp(a->port, b->port);
	return order ? order : strcmp(a->alias, b->alias);
}

int
observed_port_add(struct observed_port *port, const char *node, const char *peer_port,
		  const char *alias, double bps, enum observed_role role)
{
	struct observed_neighbour new = { .bps = bps, .role = role };
	size_t i = 0;

	observed_copy_name(new.node, node);
	if (peer_port)
		observed_copy_name(new.port, peer_port);
	if (alias)
		observed_copy_name(new.alias, alias);
	for (; i < port->neighbours.n; i++) {
		int order = compare_neighbours(&port->neighbours.items[i], &new);

		if (order == 0)
			return 0;
		if (order > 0)
			break;
	}
	if (port->neighbours.n == OBSERVED_MAX_NEIGHBOURS)
		return -E2BIG;
	if (!port->neighbours.capacity) {
		/* Most ports have one neighbor: reserve no more yet. */
		port->neighbours.items = xcalloc(1, sizeof new);
		port->neighbours.capacity = 1;
	}
	vec_push(&port->neighbours, new);
	memmove(port->neighbours.items + i + 1, port->neighbours.items + i,
		(port->neighbours.n - 1 - i) * sizeof new);
	port->neighbours.items[i] = new;
	return 0;
}

const char *
observed_peer_port(const struct observed_neighbour *peer,
		   const struct observed_node *own)
{
	if (!peer->alias[0])
		return peer->port;
	if (!peer->port[0])
		return peer->alias;
	if (own && observed_node_find_port(own, peer->port))
		return peer->port;
	if (own && observed_node_find_port(own, peer->alias))
		return peer->alias;
	return strchr(peer->port, ':') ? peer->alias : peer->port;
}

/* ----All reports ------------------------------------------------------------------ */

struct observed *
observed_new(void)
{
	struct observed *seen = xcalloc(1, sizeof *seen);

	seen->names = strtab_new();
	return seen;
}

void
observed_free(struct observed *seen)
{
	if (!seen)
		return;
	for (size_t i = 0; i < seen->nodes.n; i++)
		observed_node_fini(&seen->nodes.items[i]);
	vec_free(&seen->nodes);
	strtab_free(seen->names);
	free(seen);
}

struct update {
	const struct observed_node *report;
	void (*changed)(void *ctx, const struct observed_change *change);
	void *ctx;
};

static void
tell(const struct update *u, const struct observed_change *change)
{
	if (u->changed)
		u->changed(u->ctx, change);
}

/* 'before' is NULL for a new port, 'after' for a removed one. */
static void
tell_links(const struct update *u, const struct observed_port *before,
	   const struct observed_port *after)
{
	struct observed_change change = { .node = u->report->name,
					  .port = (after ? after : before)->name };
	bool was_up = before && before->state == OBSERVED_STATE_UP;
	bool was_down = !before || before->state == OBSERVED_STATE_DOWN;

	if (was_up && (!after || after->state == OBSERVED_STATE_DOWN)) {
		change.kind = OBSERVED_LINK_DOWN;
		tell(u, &change);
	} else if (was_down && after && after->state == OBSERVED_STATE_UP) {
		change.kind = OBSERVED_LINK_UP;
		tell(u, &change);
	}
	if (before && after && before->bps > 0 && after->bps > 0 &&
	    (before->bps < after->bps || before->bps > after->bps)) {
		change.kind = OBSERVED_SPEED;
		change.before_bps = before->bps;
		change.after_bps = after->bps;
		tell(u, &change);
	}
}

static void
tell_neighbours(const struct update *u, const struct observed_port *before,
		const struct observed_port *after)
{
	size_t n_before = before ? before->neighbours.n : 0;
	size_t n_after = after ? after->neighbours.n : 0;
	struct observed_change change = {
		.kind = OBSERVED_NEIGHBOUR,
		.node = u->report->name,
		.port = (after ? after : before)->name,
		.before = n_before ? before->neighbours.items : NULL,
		.after = n_after ? after->neighbours.items : NULL,
	};
	bool same = n_before == n_after;

	for (size_t i = 0; same && i < n_before; i++)
		same = compare_neighbours(&before->neighbours.items[i],
					  &after->neighbours.items[i]) == 0;
	if (!same)
		tell(u, &change);
}

/* Reports every change from 'old' to the report, in the order of ports. */
static void
tell_changes(const struct update *u, const struct observed_node *old)
{
	const struct observed_node *new = u->report;
	size_t i = 0, j = 0;

	while (i < old->ports.n || j < new->ports.n) {
		const struct observed_port *before =
			i < old->ports.n ? &old->ports.items[i] : NULL;
		const struct observed_port *after =
			j < new->ports.n ? &new->ports.items[j] : NULL;
		int order = !before  ? 1
			    : !after ? -1
				     : strcmp(before->name, after->name);

		if (order < 0)
			after = NULL;
		if (order > 0)
			before = NULL;
		if (new->has_links && old->has_links)
			tell_links(u, before, after);
		if (new->has_neighbours && old->has_neighbours)
			tell_neighbours(u, before, after);
		i += before != NULL;
		j += after != NULL;
	}
}

/* Adds earlier values that the report lacks. */
static void
keep_the_rest(struct observed_node *report, const struct observed_node *old)
{
	if (report->has_links && report->has_neighbours)
		return;
	for (size_t i = 0; i < old->ports.n; i++) {
		const struct observed_port *from = &old->ports.items[i];
		struct observed_port *to;
		bool has_links = from->state != OBSERVED_STATE_UNKNOWN || from->bps > 0;

		if (report->has_links ? !from->neighbours.n : !has_links)
			continue;
		to = observed_node_port(report, from->name);
		if (!to)
			continue;
		if (!report->has_links) {
			to->state = from->state;
			to->bps = from->bps;
		}
		if (!report->has_neighbours && !to->neighbours.n) {
			to->neighbours.items =
				xmemdup(from->neighbours.items, from->neighbours.n,
					sizeof *from->neighbours.items);
			to->neighbours.n = to->neighbours.capacity = from->neighbours.n;
		}
	}
	report->has_links |= old->has_links;
	report->has_neighbours |= old->has_neighbours;
	if (!report->neighbours_us)
		report->neighbours_us = old->neighbours_us;
}

static bool
is_same_port(const struct observed_port *a, const struct observed_port *b)
{
	if (strcmp(a->name, b->name) != 0 || a->state != b->state || a->bps < b->bps ||
	    a->bps > b->bps || a->neighbours.n != b->neighbours.n)
		return false;
	for (size_t i = 0; i < a->neighbours.n; i++) {
		const struct observed_neighbour *x = &a->neighbours.items[i];
		const struct observed_neighbour *y = &b->neighbours.items[i];

		if (compare_neighbours(x, y) != 0 || x->bps < y->bps || x->bps > y->bps)
			return false;
	}
	return true;
}

/* Compares all but the times of the reports. */
static bool
is_same(const struct observed_node *a, const struct observed_node *b)
{
	if (a->has_links != b->has_links || a->has_neighbours != b->has_neighbours ||
	    a->ports.n != b->ports.n)
		return false;
	for (size_t i = 0; i < a->ports.n; i++) {
		if (!is_same_port(&a->ports.items[i], &b->ports.items[i]))
			return false;
	}
	return true;
}

static size_t
count_items(const struct observed_node *node)
{
	size_t n = node->ports.n;

	for (size_t i = 0; i < node->ports.n; i++)
		n += node->ports.items[i].neighbours.n;
	return n;
}

int
observed_update(struct observed *seen, struct observed_node *report,
		void (*changed)(void *ctx, const struct observed_change *change),
		void *ctx)
{
	struct update u = { .report = report, .changed = changed, .ctx = ctx };
	struct observed_node *old;
	uint32_t id;

	if (!report->name[0])
		return -EINVAL;
	if (report->has_neighbours && !report->neighbours_us)
		report->neighbours_us = report->heard_us;
	if (seen->n_items + count_items(report) > OBSERVED_MAX_ITEMS)
		return -E2BIG;
	id = strtab_find(seen->names, report->name);
	if (id == STRTAB_NONE) {
		if (seen->nodes.n == OBSERVED_MAX_NODES)
			return -E2BIG;
		strtab_intern(seen->names, report->name);
		seen->n_items += count_items(report);
		seen->generation++;
		vec_push(&seen->nodes, *report);
	} else {
		old = &seen->nodes.items[id];
		tell_changes(&u, old);
		keep_the_rest(report, old);
		seen->generation += !is_same(old, report);
		seen->n_items += count_items(report);
		seen->n_items -= count_items(old);
		observed_node_fini(old);
		*old = *report;
	}
	observed_node_init(report, "");
	return 0;
}

uint64_t
observed_generation(const struct observed *seen)
{
	return seen->generation;
}

size_t
observed_n_nodes(const struct observed *seen)
{
	return seen->nodes.n;
}

const struct observed_node *
observed_node(const struct observed *seen, size_t i)
{
	BUG_ON(i >= seen->nodes.n);
	return &seen->nodes.items[i];
}

const struct observed_node *
observed_find(const struct observed *seen, const char *name)
{
	uint32_t id = strtab_find(seen->names, name);

	return id == STRTAB_NONE ? NULL : &seen->nodes.items[id];
}

uint32_t
observed_plan_node(const struct topo *plan, const char *name)
{
	uint32_t node = topo_find_node(plan, name);
	const char *dot = strchr(name, '.');
	char text[TOPO_MAX_NAME + 1];

	if (node != TOPO_NONE || !dot || dot - name > TOPO_MAX_NAME)
		return node;
	memcpy(text, name, (size_t)(dot - name));
	text[dot - name] = '\0';
	return topo_find_node(plan, text);
}
