/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/address_table.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/address.h"
#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

struct node_address {
	uint32_t node, next; /* 'next': of the same node. */
};

struct node_ends {
	uint32_t first, last; /* Its addresses. */
};

struct address_table {
	struct strtab *texts; /* Owned.  Number of a text is the address's. */
	VEC(struct node_address) addresses;
	VEC(struct node_ends) nodes; /* Up to the last that has an address. */
};

struct address_table *
address_table_new(void)
{
	struct address_table *table = xcalloc(1, sizeof *table);

	table->texts = strtab_new();
	return table;
}

void
address_table_free(struct address_table *table)
{
	if (!table)
		return;
	strtab_free(table->texts);
	vec_free(&table->addresses);
	vec_free(&table->nodes);
	free(table);
}

int
address_table_add(struct address_table *table, uint32_t node, const uint8_t address[16])
{
	char text[ADDRESS_TEXT_BYTES];
	struct node_ends *ends;
	uint32_t id;

	address_write(address, text);
	if (strtab_find(table->texts, text) != STRTAB_NONE)
		return -EEXIST;
	if (table->addresses.n == ADDRESS_TABLE_MAX)
		return -E2BIG;
	while (table->nodes.n <= node)
		vec_push(&table->nodes, ((struct node_ends){ ADDRESS_TABLE_NONE,
							     ADDRESS_TABLE_NONE }));
	id = strtab_intern(table->texts, text);
	vec_push(&table->addresses,
		 ((struct node_address){ node, ADDRESS_TABLE_NONE }));
	ends = &table->nodes.items[node];
	if (ends->first == ADDRESS_TABLE_NONE)
		ends->first = id;
	else
		table->addresses.items[ends->last].next = id;
	ends->last = id;
	return 0;
}

uint32_t
address_table_node(const struct address_table *table, const uint8_t address[16])
{
	char text[ADDRESS_TEXT_BYTES];
	uint32_t id = strtab_find(table->texts, address_write(address, text));

	return id == STRTAB_NONE ? ADDRESS_TABLE_NONE : table->addresses.items[id].node;
}

uint32_t
address_table_first(const struct address_table *table, uint32_t node)
{
	return node < table->nodes.n ? table->nodes.items[node].first
				     : ADDRESS_TABLE_NONE;
}

uint32_t
address_table_next(const struct address_table *table, uint32_t id)
{
	return table->addresses.items[id].next;
}

const char *
address_table_text(const struct address_table *table, uint32_t id)
{
	return strtab_name(table->texts, id);
}
