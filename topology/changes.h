/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - the differences between two plans, by name */
#ifndef TOPOLOGY_CHANGES_H
#define TOPOLOGY_CHANGES_H

#include <stdint.h>

struct topo;

struct topo_changes {
	uint32_t n_nodes_added, n_nodes_removed;
	uint32_t n_nodes_changed; /* Another kind, tier or number of slots. */
	uint32_t n_links_added, n_links_removed;
	uint32_t n_links_changed; /* Another capacity. */
	uint32_t n_tiers_changed; /* Another way of balancing, or another routing. */
};

/*
 * Counts the differences, and reports each as a line of text ("link a:p0>b:p1 is
 * gone").  O(n).  'tell' may be NULL.
 */
void topo_changes_find(const struct topo *before, const struct topo *after,
		       void (*tell)(void *ctx, const char *text), void *ctx,
		       struct topo_changes *ret_changes);

#endif
