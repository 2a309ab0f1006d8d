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

/* What is remembered of one key. */
struct series {
	struct source_key key;
	bool is_used;
	bool is_counter; /* Known as far as it was read, not as the source says. */
	bool has_reading;
	uint32_t silent; /* Summaries since the last traffic. */
	int64_t last_ns; /* Of the last reading, its value, and what came with it. */
	uint64_t last_bytes;
	struct source_extra last_extra;
	int64_t known_from_ms, known_until_ms; /* Counters only. */
	uint64_t total_bytes;
	struct source_extra total; /* Flows and queue: the largest of the window. */
	uint64_t reported_bytes;   /* total_bytes at the last summary. */
	struct ring *ring;         /* Owned; NULL: nothing in it. */
};

struct interface {
	double capacity_bps;
	bool has_bins; /* It is known from known_from_ms to complete_ms. */
	bool is_gone;
	int64_t known_from_ms, complete_ms;

	/* Unknown all the same: the last times that it was gone, latest first. */
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
	bool may_evict; /* Not again before the next summary. */
	struct binner_counts counts;
	uint32_t scratch[BINNER_BINS];
};

/* The interface's, made if need be; NULL: out of range. */
struct interface *binner_interface(struct binner *binner, uint32_t interface);
/* Returns the series of the key, made if need be, or NULL if there is no room. */
struct series *binner_series(struct binner *binner, const struct source_key *key);
/* Fills a table of 'n_slots' with the series in use. */
void binner_rebuild(struct binner *binner, size_t n_slots);

/* The series' ring, made if need be. */
struct ring *binner_ring(struct series *s);
/* Gives it back, if there is one. */
void binner_drop_ring(struct binner *binner, struct series *s);

/* Keeps the largest of the window of what is a level and not a count. */
void binner_take_levels(struct series *s, const struct source_extra *extra);

/* Whether the key is of a whole interface, and not of one job. */
static inline bool
binner_is_whole(const struct series *s)
{
	return s->key.job == TELE_LINK || s->key.job == TELE_OTHER;
}

#endif
