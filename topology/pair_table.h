/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_table.h - numbers for distinct pairs (source, destination), in the order in
 * which they were added
 */
#ifndef TOPOLOGY_PAIR_TABLE_H
#define TOPOLOGY_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct pair_table {
	uint64_t *pairs; /* Owned.  By number: source << 32 | destination. */
	size_t n;
	uint32_t *places; /* Owned.  By hash: number plus 1; 0: free. */
	size_t n_places;  /* A power of two, or 0. */
};

#define PAIR_TABLE_EMPTY                                             \
	{                                                            \
		.pairs = NULL, .n = 0, .places = NULL, .n_places = 0 \
	}

/* The number of the pair, which is added if it is new.  Amortized O(1). */
uint32_t pair_table_add(struct pair_table *table, uint32_t source,
			uint32_t destination);
void pair_table_free(struct pair_table *table);

#endif
