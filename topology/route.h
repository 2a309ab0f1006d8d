/*
 * route.h - which links a flow takes.
 *
 * Paths go up and then down the tiers, and are as short as that allows.  Where
 * several next links are equally short, one is chosen as a switch with ECMP
 * would: at each node, entry number
 *
 *	rng_mix(rng_mix(seed ^ (source << 32 | destination)) + port * 2^32 + node) mod n
 *
 * of its n equally short links in ascending order of id, with source and
 * destination as host numbers (position in topo_hosts()) and 'port' the
 * flow's source port.  So the same flow always takes the same path, and
 * another port or seed another draw.
 *
 * Distances are kept per destination leaf and made on demand:
 * O(nodes + links) per new destination.
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

/*
 * Gives the flow from host 'source' to host 'destination' (node ids) with
 * source port 'port' an explicit path of 'n' links, instead of ECMP.  Returns
 * 0 or -EINVAL if that is no path between them.
 */
int routes_pin(struct routes *routes, uint32_t source, uint32_t destination,
	       uint16_t port, const uint32_t *links, size_t n);

/*
 * Writes the path to 'ret_links' (room for ROUTE_MAX_HOPS) and its length to
 * '*ret_n'; 0 links if source and destination are the same host.  Returns 0,
 * -EHOSTUNREACH if there is no up-down path, or -EINVAL if either is no host.
 */
int routes_path(struct routes *routes, uint32_t source, uint32_t destination,
		uint16_t port, uint32_t *ret_links, size_t *ret_n);

/*
 * Number of equally short up-down paths between two hosts, 0 if none.  A double,
 * since it multiplies up with the tiers.
 */
double routes_n_paths(struct routes *routes, uint32_t source, uint32_t destination);

#endif
