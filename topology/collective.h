/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.h - the flows of a collective operation, and the links they load
 *
 * A job runs on W hosts and all-reduces a message of S bytes per host (traffic between
 * the GPUs of one host does not touch the fabric).  Each kind sends, by the textbook
 * formulas:
 *
 *	ring          W flows, host i to host i+1 mod W, of 2 (W-1)/W S each
 *	              (reduce-scatter, then all-gather: Patarasuk and Yuan 2009)
 *	tree          a balanced binary tree; S up each edge (reduce) and S down
 *	              (broadcast): 2 (W-1) flows of S.  Subtrees are runs of the
 *	              order below, so that few edges leave a rack
 *	all-to-all    W (W-1) flows of S/W, every host to every other
 *	hierarchical  a ring in each leaf (all-reduce), one leader per leaf (its
 *	              first host) in a ring over the leaves, then a broadcast chain
 *	              from the leader in each leaf: m flows of 2 (m-1)/m S within a
 *	              leaf of m hosts, L flows of 2 (L-1)/L S between the L leaders,
 *	              and m-1 flows of S along each chain.  With one leaf: the ring
 *
 * Totals: ring 2 (W-1) S; tree 2 (W-1) S; all-to-all (W-1) S; hierarchical, with L > 1,
 * 3 (W-L) S + 2 (L-1) S.  Flows that follow each other in time, such as reduce and
 * broadcast, are both counted: this is what a host moves in one operation, not a rate.
 *
 * Hosts are ordered by leaf, scale-up domain and id, so that a ring has one flow out of,
 * and one into, each rack and domain.  Where hosts have scale-up domains, "leaf" in the
 * hierarchical one means the domain.
 *
 * A domain with hosts on several leaves, as the GPUs of a server are on rail switches, is
 * at the leaf of its first host.  A ring goes through such domains up and down in turn: of
 * domains with the same rails an even number has flows between them on one rail only.
 *
 * If every host of the job has R > 1 interfaces, not counting those to scale-up switches,
 * each of these flows is split into R equal ones that follow each other in the list: with
 * consecutive source ports, one goes over each rail (see route.h).
 */
#ifndef TOPOLOGY_COLLECTIVE_H
#define TOPOLOGY_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

struct topo;
struct routes;

enum collective {
	COLLECTIVE_RING,
	COLLECTIVE_TREE,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_HIERARCHICAL,
	N_COLLECTIVES,
};

/* "ring", "tree", "all-to-all", "hierarchical"; NULL-terminated. */
extern const char *const collective_names[N_COLLECTIVES + 1];

/* Flows of one operation; more are refused before they are allocated. */
#define COLLECTIVE_MAX_FLOWS 64000000

struct collective_flow {
	uint32_t source, destination; /* Host node ids; never equal. */
	double bytes;
};

struct collective_flows {
	struct collective_flow *flows; /* Owned. */
	size_t n;
	uint32_t n_rails; /* R above; at least 1. */
	/*
	 * The largest sum out of, or into, any one host, divided by n_rails: what
	 * the busiest interface sends or receives.
	 */
	double nic_bytes;
};

/*
 * Orders the 'n' host node ids at 'hosts' by leaf, domain and id, in place; hosts
 * without a leaf come last.
 */
void collective_order(const struct topo *topo, uint32_t *hosts, size_t n);
/* The same for a ring or chain, which goes through domains on rails up and down in turn. */
void collective_ring_order(const struct topo *topo, uint32_t *hosts, size_t n);

/*
 * Makes the flows of one all-reduce of 'message_bytes' over 'hosts' (any
 * order, no host twice).  One host gives no flows.  Release with
 * collective_flows_fini().  Returns 0, -EINVAL for what is no host, a host
 * twice or a message that is not above 0, or -E2BIG.
 */
int collective_make(const struct topo *topo, enum collective kind,
		    const uint32_t *hosts, size_t n_hosts, double message_bytes,
		    struct collective_flows *ret_flows);
void collective_flows_fini(struct collective_flows *flows);

/*
 * Steps of the operation, each of which costs the latency of a message: 2 (W-1) of a
 * ring, twice the depth of a tree, 1 of an all-to-all, and of a hierarchical one those
 * of its largest leaf, its leaders and its chains.  None on one host.
 */
uint32_t collective_n_steps(const struct topo *topo, enum collective kind,
			    const uint32_t *hosts, size_t n_hosts);

/*
 * Splits each flow over 'n_connections' equal ones, as transports with several
 * connections or queue pairs per peer do; the flow ends with the last of them.  They
 * follow each other in the list, so that with consecutive source ports the connections
 * of a pair of hosts use all rails alike.  Returns 0, or with 'flows' unchanged -EINVAL
 * for 0 connections, or -E2BIG.
 */
int collective_flows_split(struct collective_flows *flows, uint32_t n_connections);

/* The load of a job on one link, as a multiple of the rate of its interfaces. */
struct footprint_entry {
	uint32_t link;
	double factor;    /* Sum over its flows here of bytes / nic_bytes. */
	uint32_t n_flows; /* Flows that cross the link. */
};

struct footprint {
	struct footprint_entry *entries; /* Owned.  Ascending by link. */
	size_t n;
};

/*
 * Routes the flows over the fabric.  Flow number i uses source port 'first_port' + i
 * (modulo 65536).  Over tiers that spray or route adaptively a flow loads each of its
 * links with its share (routes_spread()).  Release with footprint_fini().  Returns 0 or
 * -EHOSTUNREACH, then with the pair of hosts in 'ret_unreachable' (may be NULL).
 */
int footprint_make(struct routes *routes, const struct collective_flows *flows,
		   uint16_t first_port, struct footprint *ret_footprint,
		   uint32_t ret_unreachable[2]);
/*
 * The same for flows whose paths are known: that of flow i is path_links[path_first[i]
 * .. path_first[i + 1]).
 */
void footprint_of_paths(uint32_t n_links, const struct collective_flows *flows,
			const uint32_t *path_links, const size_t *path_first,
			struct footprint *ret_footprint);
void footprint_fini(struct footprint *footprint);

/* The entry of a link; NULL: no load.  Borrowed.  O(log n). */
const struct footprint_entry *footprint_find(const struct footprint *footprint,
					     uint32_t link);

#endif
