/*
 * collective.h - the flows of a collective operation, and the links they load.
 *
 * A job runs on W hosts and all-reduces a message of S bytes a host (the
 * traffic between the GPUs of one host does not touch the fabric).  What each
 * kind sends, by the textbook formulas:
 *
 *	ring          W flows, host i to host i+1 mod W, of 2 (W-1)/W S each
 *	              (reduce-scatter, then all-gather: Patarasuk and Yuan 2009)
 *	tree          a binary tree; S up each edge (reduce) and S down
 *	              (broadcast): 2 (W-1) flows of S
 *	all-to-all    W (W-1) flows of S/W, every host to every other
 *	hierarchical  a ring in each leaf (all-reduce), one leader a leaf in a
 *	              ring over the leaves, then a broadcast chain in each leaf:
 *	              2 (m-1)/m S within a leaf of m hosts, 2 (L-1)/L S between
 *	              the L leaders, S along each link of the chain
 *
 * Rings are ordered by leaf, so that each rack has one flow out and one in.
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

struct collective_flow {
	uint32_t source, destination; /* Host node ids; never equal. */
	double bytes;
};

struct collective_flows {
	struct collective_flow *flows; /* Owned. */
	size_t n;
	double nic_bytes; /* Largest sum out of, or into, any one host. */
};

/*
 * Orders the 'n' host node ids at 'hosts' by leaf, then id, in place.
 */
void collective_order(const struct topo *topo, uint32_t *hosts, size_t n);

/*
 * Makes the flows of one all-reduce of 'message_bytes' over 'hosts' (any
 * order, no host twice).  One host gives no flows.  Release with
 * collective_flows_fini().  Returns 0 or -EINVAL.
 */
int collective_make(const struct topo *topo, enum collective kind,
		    const uint32_t *hosts, size_t n_hosts, double message_bytes,
		    struct collective_flows *ret_flows);
void collective_flows_fini(struct collective_flows *flows);

/* What a job puts on one link, as a multiple of the rate of its interfaces. */
struct footprint_entry {
	uint32_t link;
	double factor;    /* Sum over its flows here of bytes / nic_bytes. */
	uint32_t n_flows; /* That cross the link. */
};

struct footprint {
	struct footprint_entry *entries; /* Owned.  Ascending by link. */
	size_t n;
};

/*
 * Lays the flows on the fabric.  Flow number i uses source port
 * 'first_port' + i.  Release with footprint_fini().  Returns 0 or
 * -EHOSTUNREACH, then with the pair of hosts in 'ret_unreachable' (may be
 * NULL).
 */
int footprint_make(struct routes *routes, const struct collective_flows *flows,
		   uint16_t first_port, struct footprint *ret_footprint,
		   uint32_t ret_unreachable[2]);
void footprint_fini(struct footprint *footprint);

#endif
