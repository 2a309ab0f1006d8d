/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binner_frame.c - bins into frames: the rows of a summary, the series of a raw frame.
 */
#include <string.h>

#include "collector/series/binner_priv.h"

static int64_t
max_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Copies the bins [from_ms, to_ms) of a series; unknown ones are gaps. */
static void
read_bins(const struct binner *binner, const struct series *s, int64_t from_ms,
	  int64_t to_ms, uint32_t *ret_bytes)
{
	const struct interface *interface = &binner->interfaces.items[s->key.interface];
	int64_t known_from_ms =
		s->is_counter ? s->known_from_ms : interface->known_from_ms;
	int64_t until_ms = s->is_counter ? s->known_until_ms : interface->complete_ms;

	if (s->ring)
		ring_read(s->ring, from_ms, ret_bytes, (size_t)(to_ms - from_ms));
	else
		memset(ret_bytes, 0, (size_t)(to_ms - from_ms) * sizeof *ret_bytes);
	for (int64_t ms = from_ms; ms < to_ms && ms < known_from_ms; ms++)
		ret_bytes[ms - from_ms] = TELE_GAP;
	for (int64_t ms = max_ms(from_ms, until_ms); ms < to_ms; ms++)
		ret_bytes[ms - from_ms] = TELE_GAP;
	if (s->is_counter)
		return;
	for (const struct hole *hole = interface->holes;
	     hole < interface->holes + N_HOLES; hole++)
		for (int64_t ms = max_ms(from_ms, hole->from_ms);
		     ms < to_ms && ms < hole->to_ms; ms++)
			ret_bytes[ms - from_ms] = TELE_GAP;
}

/* Whether the series has ended: its interface disappeared before the window. */
static bool
is_over(const struct binner *binner, const struct series *s, int64_t from_ms)
{
	const struct interface *interface = &binner->interfaces.items[s->key.interface];

	return interface->is_gone &&
	       from_ms >= (s->is_counter ? s->known_until_ms : interface->complete_ms);
}

static void
sum_bins(const uint32_t *bins, size_t n, struct tele_traffic *row)
{
	for (size_t i = 0; i < n; i++) {
		if (bins[i] == TELE_GAP) {
			row->gap_bins++;
			continue;
		}
		row->window_bytes += bins[i];
		row->busy_bins += bins[i] > 0;
		if (bins[i] > row->peak_bytes)
			row->peak_bytes = bins[i];
	}
}

static void
add_row(struct binner *binner, struct series *s, int64_t from_ms, int64_t to_ms,
	struct tele_frame *frame)
{
	struct tele_traffic row = {
		.interface = s->key.interface,
		.job = s->key.job,
		.direction = s->key.direction,
		.measure = s->key.measure,
		.total_bytes = s->total_bytes,
		.total_packets = s->total.packets,
		.total_ce = s->total.ce,
		.total_retransmits = s->total.retransmits,
		.flows = s->total.flows,
		.queue_bytes = s->total.queue_bytes,
	};

	read_bins(binner, s, from_ms, to_ms, binner->scratch);
	sum_bins(binner->scratch, (size_t)(to_ms - from_ms), &row);
	s->silent = row.window_bytes > 0 || s->total_bytes != s->reported_bytes
			    ? 0
			    : s->silent + (s->silent < BINNER_FORGET);
	s->reported_bytes = s->total_bytes;
	s->total.flows = s->total.queue_bytes = 0;
	if (s->ring)
		ring_expire(s->ring, &binner->pool, to_ms - BINNER_BINS);
	if (is_over(binner, s, from_ms) ||
	    (s->silent >= BINNER_FORGET && !binner_is_whole(s))) {
		binner_drop_ring(binner, s);
		return;
	}
	binner->counts.gap_bins += row.gap_bins;
	if (frame->traffic.n >= TELE_MAX_TRAFFIC)
		binner->counts.unsent++;
	else
		vec_push(&frame->traffic, row);
}

/* Calls add(), for the series of whole interfaces first. */
static void
each_series(struct binner *binner, int64_t from_ms, int64_t to_ms,
	    struct tele_frame *frame,
	    void (*add)(struct binner *, struct series *, int64_t, int64_t,
			struct tele_frame *))
{
	if (to_ms <= from_ms)
		return;
	BUG_ON(to_ms - from_ms > BINNER_BINS);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < binner->series.n; i++) {
			struct series *s = &binner->series.items[i];

			if (s->is_used && binner_is_whole(s) == (pass == 0))
				add(binner, s, from_ms, to_ms, frame);
		}
}

void
binner_summary(struct binner *binner, int64_t from_ms, int64_t to_ms,
	       struct tele_frame *frame)
{
	binner->may_evict = true;
	each_series(binner, from_ms, to_ms, frame, add_row);
}

static void
add_raw(struct binner *binner, struct series *s, int64_t from_ms, int64_t to_ms,
	struct tele_frame *frame)
{
	size_t n = (size_t)(to_ms - from_ms);
	struct tele_series series = {
		.interface = s->key.interface,
		.job = s->key.job,
		.direction = s->key.direction,
		.measure = s->key.measure,
		.start_ms = from_ms,
		.n_bins = (uint32_t)n,
		.bins_at = (uint32_t)frame->bins.n,
	};

	if (is_over(binner, s, from_ms) || (!s->ring && !binner_is_whole(s)))
		return;
	if (frame->series.n >= TELE_MAX_SERIES ||
	    frame->bins.n + n > TELE_MAX_FRAME_BINS) {
		binner->counts.unsent++;
		return;
	}
	vec_reserve(&frame->bins, n);
	read_bins(binner, s, from_ms, to_ms, frame->bins.items + frame->bins.n);
	frame->bins.n += n;
	vec_push(&frame->series, series);
}

void
binner_raw(struct binner *binner, int64_t from_ms, int64_t to_ms,
	   struct tele_frame *frame)
{
	each_series(binner, from_ms, to_ms, frame, add_raw);
}
