/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/ring.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/wire/tele.h"

#define NO_CHUNK INT64_MIN

/* A chunk with all bins unknown; its contents are never read. */
static uint32_t all_gap[1];

/* The number of the chunk with bin 'ms', rounded down also if negative. */
static int64_t
chunk_number(int64_t ms)
{
	return ms >> 8;
}

_Static_assert(RING_CHUNK_BINS == 1 << 8, "chunk_number() shifts by this");

void
ring_pool_init(struct ring_pool *pool, size_t max_chunks)
{
	*pool = (struct ring_pool){ .max_chunks = max_chunks };
}

/* The first bytes of a free chunk link to the next one. */
static uint32_t *
next_free(const uint32_t *chunk)
{
	uint32_t *next;

	memcpy(&next, chunk, sizeof next);
	return next;
}

void
ring_pool_fini(struct ring_pool *pool)
{
	while (pool->free) {
		uint32_t *next = next_free(pool->free);

		free(pool->free);
		pool->free = next;
	}
	*pool = (struct ring_pool){ 0 };
}

/* Returns a chunk of zeros, or the unknown one if the pool is exhausted. */
static uint32_t *
pool_take(struct ring_pool *pool)
{
	uint32_t *chunk = pool->free;

	if (chunk) {
		pool->free = next_free(chunk);
		memset(chunk, 0, RING_CHUNK_BINS * sizeof *chunk);
		return chunk;
	}
	if (pool->n_chunks >= pool->max_chunks) {
		pool->n_starved += RING_CHUNK_BINS;
		return all_gap;
	}
	pool->n_chunks++;
	return xcalloc(RING_CHUNK_BINS, sizeof *chunk);
}

static void
pool_give(struct ring_pool *pool, uint32_t *chunk)
{
	if (!chunk || chunk == all_gap)
		return;
	memcpy(chunk, &pool->free, sizeof pool->free);
	pool->free = chunk;
}

void
ring_init(struct ring *ring)
{
	ring->oldest = NO_CHUNK;
	for (size_t i = 0; i < RING_CHUNKS; i++) {
		ring->slots[i].number = NO_CHUNK;
		ring->slots[i].chunk = NULL;
	}
}

void
ring_fini(struct ring *ring, struct ring_pool *pool)
{
	for (size_t i = 0; i < RING_CHUNKS; i++)
		pool_give(pool, ring->slots[i].chunk);
	ring_init(ring);
}

static size_t
slot_of(int64_t number)
{
	int64_t slot = number % RING_CHUNKS;

	return (size_t)(slot < 0 ? slot + RING_CHUNKS : slot);
}

static bool
is_too_old(const struct ring *ring, int64_t number)
{
	return number < ring->oldest;
}

/* Makes 'number' the chunk of its slot; 'chunk' NULL: a new one, of zeros. */
static uint32_t *
settle(struct ring *ring, struct ring_pool *pool, int64_t number, uint32_t *chunk)
{
	size_t slot = slot_of(number);

	if (ring->slots[slot].number != number) {
		pool_give(pool, ring->slots[slot].chunk);
		ring->slots[slot].number = number;
		ring->slots[slot].chunk = chunk ? chunk : pool_take(pool);
	} else if (chunk) {
		pool_give(pool, ring->slots[slot].chunk);
		ring->slots[slot].chunk = chunk;
	}
	if (number > ring->oldest + (RING_CHUNKS - 1))
		ring->oldest = number - (RING_CHUNKS - 1);
	return ring->slots[slot].chunk;
}

/* Number of bins with traffic. */
static size_t
n_filled(const uint32_t *bytes, size_t n)
{
	size_t filled = 0;

	for (size_t i = 0; i < n; i++)
		filled += bytes[i] != 0;
	return filled;
}

static void
add_to_chunk(uint32_t *chunk, const uint32_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t sum = (uint64_t)chunk[i] + bytes[i];

		if (chunk[i] == TELE_GAP || bytes[i] == TELE_GAP)
			chunk[i] = TELE_GAP;
		else
			chunk[i] = sum < TELE_GAP ? (uint32_t)sum : TELE_GAP - 1;
	}
}

size_t
ring_add(struct ring *ring, struct ring_pool *pool, int64_t first_ms,
	 const uint32_t *bytes, size_t n)
{
	size_t n_late = 0;

	for (size_t i = 0; i < n;) {
		int64_t number = chunk_number(first_ms + (int64_t)i);
		size_t at = (size_t)(first_ms + (int64_t)i - number * RING_CHUNK_BINS);
		size_t part =
			RING_CHUNK_BINS - at < n - i ? RING_CHUNK_BINS - at : n - i;
		size_t filled = n_filled(bytes + i, part);

		if (filled && is_too_old(ring, number)) {
			n_late += filled;
		} else if (filled) {
			uint32_t *chunk = settle(ring, pool, number, NULL);

			if (chunk != all_gap)
				add_to_chunk(chunk + at, bytes + i, part);
		}
		i += part;
	}
	return n_late;
}

void
ring_gap(struct ring *ring, struct ring_pool *pool, int64_t from_ms, int64_t to_ms)
{
	if (from_ms < to_ms - RING_BINS)
		from_ms = to_ms - RING_BINS;
	while (from_ms < to_ms) {
		int64_t number = chunk_number(from_ms);
		int64_t end_ms = (number + 1) * RING_CHUNK_BINS;
		int64_t until_ms = end_ms < to_ms ? end_ms : to_ms;
		uint32_t *chunk;

		if (!is_too_old(ring, number)) {
			bool whole = until_ms - from_ms == RING_CHUNK_BINS;

			chunk = settle(ring, pool, number, whole ? all_gap : NULL);
			for (int64_t ms = from_ms; chunk != all_gap && ms < until_ms;
			     ms++)
				chunk[ms - number * RING_CHUNK_BINS] = TELE_GAP;
		}
		from_ms = until_ms;
	}
}

void
ring_read(const struct ring *ring, int64_t first_ms, uint32_t *ret_bytes, size_t n)
{
	for (size_t i = 0; i < n;) {
		int64_t number = chunk_number(first_ms + (int64_t)i);
		size_t at = (size_t)(first_ms + (int64_t)i - number * RING_CHUNK_BINS);
		size_t part =
			RING_CHUNK_BINS - at < n - i ? RING_CHUNK_BINS - at : n - i;
		size_t slot = slot_of(number);
		const uint32_t *chunk = ring->slots[slot].chunk;

		if (is_too_old(ring, number) ||
		    (ring->slots[slot].number == number && chunk == all_gap))
			memset(ret_bytes + i, 0xff, part * sizeof *ret_bytes);
		else if (ring->slots[slot].number == number)
			memcpy(ret_bytes + i, chunk + at, part * sizeof *ret_bytes);
		else
			memset(ret_bytes + i, 0, part * sizeof *ret_bytes);
		i += part;
	}
}

_Static_assert(TELE_GAP == 0xffffffffu, "ring_read() fills with bytes 0xff");

void
ring_expire(struct ring *ring, struct ring_pool *pool, int64_t before_ms)
{
	int64_t first = chunk_number(before_ms);

	if (first <= ring->oldest)
		return;
	ring->oldest = first;
	for (size_t i = 0; i < RING_CHUNKS; i++) {
		if (ring->slots[i].number == NO_CHUNK || ring->slots[i].number >= first)
			continue;
		pool_give(pool, ring->slots[i].chunk);
		ring->slots[i].number = NO_CHUNK;
		ring->slots[i].chunk = NULL;
	}
}
