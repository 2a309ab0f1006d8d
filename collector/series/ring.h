/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - the last seconds of a series, in 1 ms bins
 *
 * A ring holds chunks of RING_CHUNK_BINS bins.  A stretch without traffic, or wholly
 * unknown, has no chunk and uses no memory.  The chunks of all rings come from one pool
 * of bounded size; when the pool is exhausted, further bins become unknown (TELE_GAP)
 * and are counted, so that no bin is ever wrong.
 *
 * Values are added to a bin any number of times; an unknown bin stays unknown.  Pure.
 */
#ifndef COLLECTOR_SERIES_RING_H
#define COLLECTOR_SERIES_RING_H

#include <stddef.h>
#include <stdint.h>

#define RING_CHUNK_BINS 256
#define RING_CHUNKS     17
/* Kept for sure: the newest and the oldest chunk may both be in use in part. */
#define RING_BINS (RING_CHUNK_BINS * (RING_CHUNKS - 1))

struct ring_pool {
	uint32_t *free;     /* Owned.  Free chunks; each begins with the next. */
	size_t n_chunks;    /* Allocated so far, at most max_chunks. */
	size_t max_chunks;  /* 1 KB each. */
	uint64_t n_starved; /* Bins unknown for lack of a chunk. */
};

struct ring {
	int64_t oldest; /* Chunks with lower numbers were dropped; INT64_MIN: none. */

	struct {
		int64_t number;  /* Number of the chunk here; INT64_MIN: none. */
		uint32_t *chunk; /* Owned; or RING_ALL_GAP. */
	} slots[RING_CHUNKS];
};

void ring_pool_init(struct ring_pool *pool, size_t max_chunks);
/* Release all rings first. */
void ring_pool_fini(struct ring_pool *pool);

void ring_init(struct ring *ring);
void ring_fini(struct ring *ring, struct ring_pool *pool);

/*
 * Adds 'n' bins from 'first_ms' on; TELE_GAP makes a bin unknown.  Returns the number
 * of nonzero bins that were too old for the ring.  A sum that does not fit stays at
 * TELE_GAP - 1.
 */
size_t ring_add(struct ring *ring, struct ring_pool *pool, int64_t first_ms,
		const uint32_t *bytes, size_t n);

/* Makes the bins [from_ms, to_ms) that are in the ring unknown. */
void ring_gap(struct ring *ring, struct ring_pool *pool, int64_t from_ms,
	      int64_t to_ms);

/* Copies 'n' bins from 'first_ms' on; bins too old are TELE_GAP. */
void ring_read(const struct ring *ring, int64_t first_ms, uint32_t *ret_bytes,
	       size_t n);

/* Releases the chunks that end at or before 'before_ms'. */
void ring_expire(struct ring *ring, struct ring_pool *pool, int64_t before_ms);

#endif
