/* SPDX-License-Identifier: Apache-2.0 */
/* pair_table.c - open addressing, at most half full */
#include "topology/pair_table.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

/* The finalizer of splitmix64: neighboring pairs go to unrelated places. */
static uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The place of the pair, or the free one where it belongs. */
static size_t
place_of(const struct pair_table *table, uint64_t pair)
{
	size_t at = mix(pair) & (table->n_places - 1);

	while (table->places[at] && table->pairs[table->places[at] - 1] != pair)
		at = (at + 1) & (table->n_places - 1);
	return at;
}

static void
grow(struct pair_table *table)
{
	free(table->places);
	table->n_places = table->n_places ? 2 * table->n_places : 64;
	table->places = xcalloc(table->n_places, sizeof *table->places);
	table->pairs =
		xreallocarray(table->pairs, table->n_places / 2, sizeof *table->pairs);
	for (size_t i = 0; i < table->n; i++)
		table->places[place_of(table, table->pairs[i])] = (uint32_t)i + 1;
}

uint32_t
pair_table_add(struct pair_table *table, uint32_t source, uint32_t destination)
{
	uint64_t pair = (uint64_t)source << 32 | destination;
	size_t at;

	if (table->n >= table->n_places / 2)
		grow(table);
	at = place_of(table, pair);
	if (!table->places[at]) {
		table->pairs[table->n++] = pair;
		table->places[at] = (uint32_t)table->n;
	}
	return table->places[at] - 1;
}

void
pair_table_free(struct pair_table *table)
{
	free(table->pairs);
	free(table->places);
	*table = (struct pair_table)PAIR_TABLE_EMPTY;
}
