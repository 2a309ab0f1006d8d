/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binner_keys.c - look-up of series by key: a growing table with open addressing, which
 * evicts forgotten jobs at its limit.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/series/binner_priv.h"
#include "lib/base/rng.h"

#define NONE UINT32_MAX

static size_t
hash_slot(const struct binner *binner, const struct source_key *key)
{
	uint64_t hash = rng_mix((uint64_t)key->interface << 32 | key->job);

	return (size_t)(rng_mix(hash ^ (uint64_t)key->direction << 8 ^ key->measure) &
			(binner->n_slots - 1));
}

static bool
same_key(const struct source_key *a, const struct source_key *b)
{
	return a->interface == b->interface && a->job == b->job &&
	       a->direction == b->direction && a->measure == b->measure;
}

/* The place of the key in the table, or the empty place where it belongs. */
static size_t
find_slot(const struct binner *binner, const struct source_key *key)
{
	size_t slot = hash_slot(binner, key);

	while (binner->table[slot] != NONE &&
	       !same_key(&binner->series.items[binner->table[slot]].key, key))
		slot = (slot + 1) & (binner->n_slots - 1);
	return slot;
}

void
binner_rebuild(struct binner *binner, size_t n_slots)
{
	binner->n_slots = n_slots;
	binner->table = xreallocarray(binner->table, n_slots, sizeof *binner->table);
	memset(binner->table, 0xff, n_slots * sizeof *binner->table);
	for (uint32_t i = 0; i < binner->series.n; i++)
		if (binner->series.items[i].is_used)
			binner->table[find_slot(binner, &binner->series.items[i].key)] =
				i;
}

void
binner_drop_ring(struct binner *binner, struct series *s)
{
	if (!s->ring)
		return;
	ring_fini(s->ring, &binner->pool);
	free(s->ring);
	s->ring = NULL;
}

/* Removes a series; the caller must call binner_rebuild(). */
static void
binner_vacate(struct binner *binner, uint32_t index)
{
	struct series *s = &binner->series.items[index];

	binner_drop_ring(binner, s);
	*s = (struct series){ 0 };
	vec_push(&binner->vacant, index);
	binner->n_used--;
}

/* Makes room by evicting jobs that were silent for long. */
static void
evict_forgotten(struct binner *binner)
{
	if (!binner->may_evict)
		return;
	binner->may_evict = false;
	for (uint32_t i = 0; i < binner->series.n; i++) {
		const struct series *s = &binner->series.items[i];

		if (!s->is_used || binner_is_whole(s) || s->silent < BINNER_FORGET)
			continue;
		binner_vacate(binner, i);
		binner->counts.evicted_keys++;
	}
	binner_rebuild(binner, binner->n_slots);
}

struct interface *
binner_interface(struct binner *binner, uint32_t interface)
{
	if (interface >= TELE_MAX_INTERFACES)
		return NULL;
	while (binner->interfaces.n <= interface)
		vec_push(&binner->interfaces, (struct interface){ 0 });
	return &binner->interfaces.items[interface];
}

struct series *
binner_series(struct binner *binner, const struct source_key *key)
{
	size_t slot = find_slot(binner, key);
	struct series fresh = { .key = *key, .is_used = true };
	uint32_t index;

	if (binner->table[slot] != NONE)
		return &binner->series.items[binner->table[slot]];
	if (binner->n_used >= BINNER_MAX_SERIES)
		evict_forgotten(binner);
	if (binner->n_used >= BINNER_MAX_SERIES) {
		binner->counts.refused_keys++;
		return NULL;
	}
	if (binner->vacant.n > 0) {
		index = binner->vacant.items[--binner->vacant.n];
		binner->series.items[index] = fresh;
	} else {
		index = (uint32_t)binner->series.n;
		vec_push(&binner->series, fresh);
	}
	if (++binner->n_used * 2 > binner->n_slots)
		binner_rebuild(binner, binner->n_slots * 2);
	else
		binner->table[find_slot(binner, key)] = index;
	return &binner->series.items[index];
}
