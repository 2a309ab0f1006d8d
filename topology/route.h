/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.h - the links that a flow takes
 *
 * Paths go up and then down the tiers, and are as short as that allows.  At the top
 * they may use at most one link between two switches of the same tier, for leaves that
 * are cabled to each other.  Hosts do not forward.
 *
 * Where several next links are equally short, a switch chooses as ECMP does: entry
 * number
 *
 *	rng_mix(rng_mix(seed ^ (source << 32 | destination)) + port * 2^32 + node) mod n
 *
 * of its n equally short links in ascending order of id, with source and destination as
 * host numbers (position in topo_hosts()), 'port' the flow's source port, and 'node'
 * the id of the switch.  So a flow always takes the same path, and another port or seed
 * is another draw.
 *
 * A flow goes to one interface of its destination host, from one of its source host, as
 * collective libraries bind a channel to an interface.  The first is number 'port' mod
 * n of the n links into the destination that are nearest to the source, the second
 * number 'port' mod n of the n links out of the source that are nearest to that
 * interface.  With rails, consecutive ports therefore use one rail after the other, the
 * same rail at both ends.
 *
 * Distances are kept per destination leaf and computed on demand:
 * O(switches + links between them) per new leaf.
 */
#ifndef TOPOLOGY_ROUTE_H
#define TOPOLOGY_ROUTE_H

#include <stddef.h>
#include <stdint.h>

struct topo;
struct routes;

#define ROUTE_MAX_HOPS 64

/* Takes a reference on 'topo'.  Free with routes_free(). */
struct routes *routes_new(struct topo *topo, uint64_t seed);
void routes_free(struct routes *routes); /* Accepts NULL. */

/* Number of links of the fabric. */
uint32_t routes_n_links(const struct routes *routes);

/*
 * Writes the path to 'ret_links' (room for ROUTE_MAX_HOPS) and its length to
 * '*ret_n'; 0 links if source and destination are the same host.  Returns 0,
 * -EHOSTUNREACH if there is no up-down path, or -EINVAL if either is no host.
 */
int routes_path(struct routes *routes, uint32_t source, uint32_t destination,
		uint16_t port, uint32_t *ret_links, size_t *ret_n);

/* Paths with a higher number are not told apart. */
#define ROUTE_MAX_PATHS 65536

/*
 * As routes_path(), but takes path 'number' instead of the one that hashing chooses: at
 * each switch with n equally short links, link 'number' mod n of them, and then goes on
 * with the quotient.  '*ret_n_paths' is the product of these n along the path, at most
 * ROUTE_MAX_PATHS.  Where all switches of a tier have the same n, as in leaf-spine
 * fabrics and fat trees, the numbers 0 to '*ret_n_paths' - 1 are all paths between the
 * two interfaces, each once.  'port' only chooses the interfaces.
 */
int routes_numbered_path(struct routes *routes, uint32_t source, uint32_t destination,
			 uint16_t port, uint32_t number, uint32_t *ret_links,
			 size_t *ret_n, uint32_t *ret_n_paths);

/*
 * Finds a source port that hashing sends over path 'number': the first of 'port', 'port' +
 * step, and so on, 'n_ports' of them.  Returns 0; -ENOENT if none does; or as
 * routes_path().  O(paths) ports are tried in the mean.
 */
int routes_port_of_path(struct routes *routes, uint32_t source, uint32_t destination,
			uint16_t port, uint32_t number, uint16_t n_ports, uint16_t step,
			uint16_t *ret_port);

/* Number of links of a shortest up-down path, 0 if there is none. */
size_t routes_n_hops(struct routes *routes, uint32_t source, uint32_t destination);

/*
 * Number of equally short up-down paths between two hosts, 0 if none.  A double,
 * since it multiplies up with the tiers.
 */
double routes_n_paths(struct routes *routes, uint32_t source, uint32_t destination);

#endif
