/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_table.h - the IP addresses of nodes
 *
 * A switch has an address on each of its interfaces; which of them it answers with
 * depends on the way to the asker.  So a node has any number of addresses, and an
 * address has one node.  Numbers of addresses are dense from 0 in the order in which
 * they were added.  O(1) on average.
 */
#ifndef TOPOLOGY_ADDRESS_TABLE_H
#define TOPOLOGY_ADDRESS_TABLE_H

#include <stdint.h>

#define ADDRESS_TABLE_NONE UINT32_MAX
#define ADDRESS_TABLE_MAX  8000000 /* As links. */

struct address_table;

struct address_table *address_table_new(void);
void address_table_free(struct address_table *table); /* Accepts NULL. */

/* Returns 0, -EEXIST if the address is there, also of the same node, or -E2BIG. */
int address_table_add(struct address_table *table, uint32_t node,
		      const uint8_t address[16]);

/* The node of an address, or ADDRESS_TABLE_NONE. */
uint32_t address_table_node(const struct address_table *table,
			    const uint8_t address[16]);

/* The first address of a node, and the one after 'id'; ADDRESS_TABLE_NONE: no more. */
uint32_t address_table_first(const struct address_table *table, uint32_t node);
uint32_t address_table_next(const struct address_table *table, uint32_t id);
/* Its text; borrowed. */
const char *address_table_text(const struct address_table *table, uint32_t id);

#endif
