/* SPDX-License-Identifier: Apache-2.0 */
/* interface_links.c - from a node's interface to the links of its cable. */
#include "topology/interface_links.h"

#include <stdbool.h>
#include <string.h>

#include "topology/observed.h"
#include "topology/topo.h"

/* Both directions of a link's cable, from where the link begins. */
static struct topo_interface_links
both_ways(const struct topo *topo, uint32_t link)
{
	return (struct topo_interface_links){ link, topo_link(topo, link)->reverse };
}

/* The link out of 'node' at the port of that name, or TOPO_NONE. */
static uint32_t
find_port(const struct topo *topo, uint32_t node, const char *port, size_t length)
{
	size_t n;
	const uint32_t *links = topo_links_out(topo, node, &n);

	for (size_t i = 0; i < n; i++) {
		const char *have = topo_link(topo, links[i])->from_port;

		if (strncmp(have, port, length) == 0 && !have[length])
			return links[i];
	}
	return TOPO_NONE;
}

/* The only port named after the device, for "mlx5_0/1": see interface_links.h. */
static uint32_t
find_device(const struct topo *topo, uint32_t node, const char *interface)
{
	const char *slash = strrchr(interface, '/');
	size_t n, length;
	const uint32_t *links = topo_links_out(topo, node, &n);

	if (!slash || slash == interface)
		return TOPO_NONE;
	length = (size_t)(slash - interface);
	for (size_t i = 0; i < n; i++) {
		const char *have = topo_link(topo, links[i])->from_port;

		if (strncmp(have, interface, length + 1) == 0)
			return TOPO_NONE;
	}
	return find_port(topo, node, interface, length);
}

/* The link from 'node' to the neighbor's port; else the only link to the neighbor. */
static uint32_t
find_cable(const struct topo *topo, uint32_t node, uint32_t peer, const char *port,
	   const char *alias)
{
	uint32_t only = TOPO_NONE;
	size_t n, n_cables = 0;
	const uint32_t *links = topo_links_out(topo, node, &n);

	for (size_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, links[i]);

		if (link->to != peer)
			continue;
		if (strcmp(link->to_port, port) == 0 ||
		    (alias[0] && strcmp(link->to_port, alias) == 0))
			return links[i];
		n_cables++;
		only = links[i];
	}
	return n_cables == 1 ? only : TOPO_NONE;
}

/* The link of a port, by its reported neighbors. */
static uint32_t
find_by_neighbours(const struct topo *topo, uint32_t node,
		   const struct observed_port *port)
{
	for (size_t i = 0; i < port->neighbours.n; i++) {
		const struct observed_neighbour *peer = &port->neighbours.items[i];
		uint32_t to = observed_plan_node(topo, peer->node), link = TOPO_NONE;

		if (to != TOPO_NONE)
			link = find_cable(topo, node, to, peer->port, peer->alias);
		if (link != TOPO_NONE)
			return link;
	}
	return TOPO_NONE;
}

/* The report of the node, under either of its names; or NULL. */
static const struct observed_node *
find_report(const struct topo *topo, const struct observed *seen, uint32_t node,
	    const char *name)
{
	const struct observed_node *own = seen ? observed_find(seen, name) : NULL;

	return own || !seen ? own : observed_find(seen, topo_node(topo, node)->name);
}

static bool
is_called(const struct observed_neighbour *peer, const char *interface)
{
	return strcmp(peer->port, interface) == 0 ||
	       strcmp(peer->alias, interface) == 0;
}

/* By other nodes' reports: one of their ports has this interface as its neighbor. */
static uint32_t
find_by_others(const struct topo *topo, const struct observed *seen, uint32_t node,
	       const char *interface)
{
	for (size_t i = 0; i < observed_n_nodes(seen); i++) {
		const struct observed_node *other = observed_node(seen, i);
		uint32_t from = observed_plan_node(topo, other->name);

		if (from == TOPO_NONE || from == node)
			continue;
		for (size_t j = 0; j < other->ports.n; j++) {
			const struct observed_port *port = &other->ports.items[j];

			for (size_t k = 0; k < port->neighbours.n; k++) {
				const struct observed_neighbour *peer =
					&port->neighbours.items[k];
				uint32_t link;

				if (!is_called(peer, interface) ||
				    observed_plan_node(topo, peer->node) != node)
					continue;
				link = find_cable(topo, node, from, port->name, "");
				if (link != TOPO_NONE)
					return link;
			}
		}
	}
	return TOPO_NONE;
}

/*
 * The only cable of a host, unless LLDP has the interface elsewhere, or another
 * interface there.
 */
static uint32_t
find_only_cable(const struct topo *topo, const struct observed_node *own, uint32_t node,
		const char *interface)
{
	const struct observed_port *port =
		own ? observed_node_find_port(own, interface) : NULL;
	size_t n;
	const uint32_t *links = topo_links_out(topo, node, &n);

	if (n != 1 || topo_node(topo, node)->kind != TOPO_HOST ||
	    (port && port->neighbours.n))
		return TOPO_NONE;
	for (size_t i = 0; own && i < own->ports.n; i++) {
		if (find_by_neighbours(topo, node, &own->ports.items[i]) != TOPO_NONE)
			return TOPO_NONE;
	}
	return links[0];
}

struct topo_interface_links
topo_interface_links(const struct topo *topo, const struct observed *seen,
		     const char *name, const char *interface)
{
	const struct topo_interface_links none = { TOPO_NONE, TOPO_NONE };
	uint32_t node = observed_plan_node(topo, name), link;
	const struct observed_node *own;
	const struct observed_port *port;

	if (node == TOPO_NONE || !interface[0] || strcmp(interface, "lo") == 0)
		return none;
	own = find_report(topo, seen, node, name);
	port = own ? observed_node_find_port(own, interface) : NULL;
	link = find_port(topo, node, interface, strlen(interface));
	if (link == TOPO_NONE)
		link = find_device(topo, node, interface);
	if (link == TOPO_NONE && port)
		link = find_by_neighbours(topo, node, port);
	if (link == TOPO_NONE && seen)
		link = find_by_others(topo, seen, node, interface);
	if (link == TOPO_NONE)
		link = find_only_cable(topo, own, node, interface);
	return link == TOPO_NONE ? none : both_ways(topo, link);
}
