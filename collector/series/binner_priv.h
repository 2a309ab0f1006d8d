/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binner_priv.h - shared by binner_keys.c (look-up and eviction of series),
 * binner_counter.c (bins from counters), binner_frame.c (bins to frames) and binner.c
 */
#ifndef COLLECTOR_SERIES_BINNER_PRIV_H
#define COLLECTOR_SERIES_BINNER_PRIV_H

#include "collector/series/binner.h"
#include "lib/base/alloc.h"
#include "lib/base/vec.h"

#define NS_PER_MS INT64_C(1000000)
#define N_HOLES   4

/* The state of one key. */
struct series {
	struct source_key key;
	bool is_used;
	bool is_counter; /* Known up to its last reading, not as the source reports. */
	bool has_reading;
	uint32_t silent; /* Summaries since the last traffic. */
	int64_t last_ns; /* The last reading: its time, value and other counts. */
	uint64_t last_bytes;
	struct source_extra last_extra;
	int64_t known_from_ms, known_until_ms; /* Counters only. */
	uint64_t total_bytes;
	struct source_extra total; /* Flows and queue: the largest in the window. */
	uint64_t reported_bytes;   /* total_bytes at the last summary. */
	struct ring *ring;         /* Owned; NULL: nothing in it. */
};

struct interface {
	double capacity_bps;
	bool has_bins; /* Known from known_from_ms to complete_ms. */
	bool is_gone;
	int64_t known_from_ms, complete_ms;

	/* The last times in which the interface was gone, latest first. */
	struct hole {
		int64_t from_ms, to_ms;
	} holes[N_HOLES];
};

struct binner {
	VEC(struct series) series;
	uint32_t
		*table; /* Owned.  Open addressing: indexes of series, or UINT32_MAX. */
	size_t n_slots; /* A power of two. */
	size_t n_used;
	VEC(uint32_t) vacant; /* Indexes of series not in use. */
	VEC(struct interface) interfaces;
	struct ring_pool pool;
	bool may_evict; /* Cleared until the next summary. */
	struct binner_counts counts;
	uint32_t scratch[BINNER_BINS];
};

/* The state of an interface, created if new; NULL: out of range. */
struct interface *binner_interface(struct binner *binner, uint32_t interface);
/* The series of the key, created if new, or NULL if there is no room. */
struct series *binner_series(struct binner *binner, const struct source_key *key);
/* Fills a table of 'n_slots' with the series in use. */
void binner_rebuild(struct binner *binner, size_t n_slots);

/* The series' ring, created if it has none. */
struct ring *binner_ring(struct series *s);
/* Releases the ring, if there is one. */
void binner_drop_ring(struct binner *binner, struct series *s);

/* Keeps the largest value in the window of levels, which are no counts. */
void binner_take_levels(struct series *s, const struct source_extra *extra);

/* Whether the key is of a whole interface, and not of one job. */
static inline bool
binner_is_whole(const struct series *s)
{
	return s->key.job == TELE_LINK || s->key.job == TELE_OTHER;
}

#endif
