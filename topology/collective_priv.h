/* SPDX-License-Identifier: Apache-2.0 */
/* collective_priv.h - parts that collective.c and collective_phases.c share */
#ifndef TOPOLOGY_COLLECTIVE_PRIV_H
#define TOPOLOGY_COLLECTIVE_PRIV_H

#include "topology/collective.h"

/* Takes a flow of part 'part' of an operation; all flows of a part start together. */
typedef void (*collective_add_fn)(void *ctx, unsigned part, uint32_t source,
				  uint32_t destination, double bytes);

/* Each host sends 'bytes' to the next one; in a chain, all but the last do. */
void collective_ring(const uint32_t *hosts, size_t n, double bytes, unsigned part,
		     collective_add_fn add, void *ctx);
void collective_chain(const uint32_t *hosts, size_t n, double bytes, unsigned part,
		      collective_add_fn add, void *ctx);

/*
 * The hierarchical all-reduce over ordered hosts: part 0 is the rings in the leaves,
 * part 1 the ring over the leaders, part 2 the chains.
 */
void collective_hierarchical(const struct topo *topo, const uint32_t *hosts, size_t n,
			     double message_bytes, collective_add_fn add, void *ctx,
			     size_t *ret_n_leaves, size_t *ret_largest_leaf);

/* The steps of one of these parts. */
uint32_t collective_hierarchical_steps(size_t n_leaves, size_t largest_leaf,
				       unsigned part);

/* The fewest interfaces of any of the hosts, without scale-up, at least 1. */
uint32_t collective_fewest_interfaces(const struct topo *topo, const uint32_t *hosts,
				      size_t n);

/* The largest sum out of, or into, any one host. */
double collective_largest_sum(const struct topo *topo,
			      const struct collective_flow *flows, size_t n);

#endif
