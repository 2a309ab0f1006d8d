/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.h - the links that a flow takes
 *
 * Paths go up and then down the tiers, and are as short as that allows.  At the top
 * they may use at most one link between two switches of the same tier, for leaves that
 * are cabled to each other.  Hosts do not forward.
 *
 * In a ring or torus (struct topo_routing) paths are in dimension order: they correct the
 * first dimension, then the next one, each the shorter way round.  Of two equally short
 * ways, that upward is taken from an even coordinate and that downward from an odd one;
 * where cables of a way are missing, the other one, and if both lack some there is no
 * path.
 *
 * In a dragonfly paths are minimal: within a group as short as possible, and between two
 * groups the shortest with one cable from the one to the other (Kim, Dally, Scott and
 * Abts, ISCA 2008).  With Valiant's routing a flow between groups first goes to a third
 * group, over a cable of its router or of one beside it, and from there on minimally; the
 * group is chosen as a link is, among those with cables on both sides, so each flow has
 * its own for good.  Two groups without a cable from the one to the other have no path,
 * with Valiant's routing either.
 *
 * Two hosts of a scale-up domain (topo_builder_scale_up()) take its switch.  While a link
 * of one of them to it is missing, they are no longer in one domain.
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
 * Switches of a tier that sprays packets or routes adaptively (topo_balance()) do not
 * hash: they use all equally short links at once.  The paths of a flow are then those
 * that remain when every hashing switch takes its one link, and the flow is spread
 * equally over them.  routes_path() still is what one packet might take.
 *
 * Distances are kept per destination leaf and computed on demand:
 * O(switches + links between them) per new leaf.
 */
#ifndef TOPOLOGY_ROUTE_H
#define TOPOLOGY_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topo;
struct routes;

#define ROUTE_MAX_HOPS 128

/* Takes a reference on 'topo'.  Free with routes_free(). */
struct routes *routes_new(struct topo *topo, uint64_t seed);
/*
 * The same with tiers that all spray, whatever the fabric says: perfect balance; in a
 * dragonfly over minimal paths.
 */
struct routes *routes_new_spraying(struct topo *topo, uint64_t seed);
void routes_free(struct routes *routes); /* Accepts NULL. */

/* Number of links of the fabric. */
uint32_t routes_n_links(const struct routes *routes);

/*
 * Writes the path to 'ret_links' (room for ROUTE_MAX_HOPS) and its length to
 * '*ret_n'; 0 links if source and destination are the same host.  Returns 0,
 * -EHOSTUNREACH if there is no path, or -EINVAL if either is no host.
 */
int routes_path(struct routes *routes, uint32_t source, uint32_t destination,
		uint16_t port, uint32_t *ret_links, size_t *ret_n);

/*
 * True if the switches of all tiers hash, so that paths can be chosen by number: not with
 * Valiant's routing, whose paths are of different lengths.
 */
bool routes_all_hash(const struct routes *routes);

/* Paths with a higher number are not told apart. */
#define ROUTE_MAX_PATHS 65536

/*
 * As routes_path(), but takes path 'number' instead of the one that hashing chooses: at
 * each hashing switch with n equally short links, link 'number' mod n of them, and then
 * goes on with the quotient.  '*ret_n_paths' is the product of these n along the path,
 * at most ROUTE_MAX_PATHS; tiers that spray do not count, since a flow cannot choose
 * there.  Where all switches of a tier have the same n, as in leaf-spine fabrics and
 * fat trees, the numbers 0 to '*ret_n_paths' - 1 are all paths between the two
 * interfaces, each once; elsewhere some numbers may name the same path.  'port' only
 * chooses the interfaces.
 */
int routes_numbered_path(struct routes *routes, uint32_t source, uint32_t destination,
			 uint16_t port, uint32_t number, uint32_t *ret_links,
			 size_t *ret_n, uint32_t *ret_n_paths);

/*
 * Finds a source port that hashing sends over path 'number': the first of 'port',
 * 'port' + step, and so on, 'n_ports' of them.  Returns 0; -ENOENT if none does; or as
 * routes_path().  O(paths) ports are tried in the mean.
 */
int routes_port_of_path(struct routes *routes, uint32_t source, uint32_t destination,
			uint16_t port, uint32_t number, uint16_t n_ports, uint16_t step,
			uint16_t *ret_port);

/* Number of links of a shortest path, 0 if there is none; of a minimal one in a dragonfly. */
size_t routes_n_hops(struct routes *routes, uint32_t source, uint32_t destination);

/*
 * Number of equally short paths between two hosts, 0 if none; with Valiant's routing, of
 * paths over third groups.  A double, since it multiplies up with the tiers.
 */
double routes_n_paths(struct routes *routes, uint32_t source, uint32_t destination);

/*
 * Calls 'visit' for each link of the flow's paths with the share of the flow that
 * crosses it, source first.  Without spraying tiers these are the links of
 * routes_path(), each with share 1.  A link that paths cross both while they may go up
 * and while they may not, which takes cables that skip a tier, is visited twice: shares
 * add up.  '*ret_n_paths' (may be NULL) is the number of paths over which the flow is
 * spread.  Returns as routes_path().  O(links of these paths).
 */
int routes_spread(struct routes *routes, uint32_t source, uint32_t destination,
		  uint16_t port, void (*visit)(void *ctx, uint32_t link, double share),
		  void *ctx, double *ret_n_paths);

/*
 * Calls 'visit' for each of these paths; for 'n_max' of them if there are more.  The n
 * paths are numbered by their links' ids, first link first; number i of the 'n_max' is
 * i n / n_max + port mod (n / n_max), so that they use all links of a switch equally
 * often as far as that is possible, and the next port uses others.  '*ret_n' is how
 * many were visited.  Returns as routes_path(), or -EINVAL if 'n_max' is 0. O(links of
 * these paths + n_max * links of switches on them).
 */
int routes_spread_paths(struct routes *routes, uint32_t source, uint32_t destination,
			uint16_t port, size_t n_max,
			void (*visit)(void *ctx, const uint32_t *links, size_t n),
			void *ctx, size_t *ret_n);

/* The first switch of the highest tier on a path; TOPO_NONE: it has no switch. */
uint32_t routes_top_switch(const struct routes *routes, const uint32_t *links,
			   size_t n);

#endif
