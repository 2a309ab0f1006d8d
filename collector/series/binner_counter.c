/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binner_counter.c - bins from cumulative counters: detects wraps and resets, and
 * spreads the difference of two readings evenly.
 */
#include <errno.h>

#include "collector/series/binner_priv.h"

static int64_t
floor_ms(int64_t ns)
{
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

static int64_t
ceil_ms(int64_t ns)
{
	return floor_ms(ns + NS_PER_MS - 1);
}

/*
 * Spreads 'bytes' evenly over [from_ns, to_ns), at most BINNER_MAX_SPREAD_NS long.
 * Bin k gets floor(k's share + what the bins before left over), as Bresenham's
 * line does; the last gets the rest.
 */
static void
spread(struct binner *binner, struct series *s, int64_t from_ns, int64_t to_ns,
       uint64_t bytes)
{
	int64_t first_ms = floor_ms(from_ns);
	size_t n = (size_t)(ceil_ms(to_ns) - first_ms);
	uint64_t length_ns = (uint64_t)(to_ns - from_ns);
	uint64_t head_ns = (uint64_t)((first_ms + 1) * NS_PER_MS - from_ns);
	unsigned __int128 head = (unsigned __int128)bytes * head_ns;
	unsigned __int128 whole = (unsigned __int128)bytes * NS_PER_MS;
	uint64_t each = (uint64_t)(whole / length_ns);
	uint64_t each_rest = (uint64_t)(whole % length_ns);
	uint64_t rest = (uint64_t)(head % length_ns), left = bytes;
	uint32_t *bins = binner->scratch;

	for (size_t i = 0; i < n; i++) {
		uint64_t share = i == 0 ? (uint64_t)(head / length_ns) : each;

		if (i > 0)
			rest += each_rest;
		if (rest >= length_ns) {
			rest -= length_ns;
			share++;
		}
		if (i + 1 == n)
			share = left;
		left -= share;
		bins[i] = share < TELE_GAP ? (uint32_t)share : TELE_GAP - 1;
	}
	ring_add(binner_ring(s), &binner->pool, first_ms, bins, n);
}

_Static_assert(BINNER_MAX_SPREAD_NS / NS_PER_MS + 2 <= BINNER_BINS,
	       "an interval that is spread fits in 'scratch'");

/* Whether a counter of 'bits' that moved by 'step' modulo 2^bits has wrapped. */
static bool
is_wrap(uint64_t step, unsigned bits, int64_t interval_ns, double capacity_bps)
{
	uint64_t quarter = bits == 32 ? UINT64_C(1) << 30 : UINT64_C(1) << 62;

	if (capacity_bps > 0)
		return (double)step * 8e9 <= 2 * capacity_bps * (double)interval_ns;
	return step < quarter;
}

/* Whether it can have wrapped a second time within the interval. */
static bool
is_ambiguous(unsigned bits, int64_t interval_ns, double capacity_bps)
{
	return bits == 32 && capacity_bps * (double)interval_ns / 8e9 >= 4294967296.0;
}

/* The difference of two of the other counts, which have no width of their own. */
static uint64_t
extra_step(uint64_t last, uint64_t now, bool is_reset, unsigned bits)
{
	if (is_reset)
		return now;
	if (now >= last)
		return now - last;
	return bits == 32 && last <= UINT32_MAX ? (now - last) & UINT32_MAX : now;
}

static void
take_extra(struct series *s, const struct source_extra *extra, bool is_reset,
	   unsigned bits)
{
	struct source_extra *last = &s->last_extra;

	s->total.packets += extra_step(last->packets, extra->packets, is_reset, bits);
	s->total.ce += extra_step(last->ce, extra->ce, is_reset, bits);
	s->total.retransmits +=
		extra_step(last->retransmits, extra->retransmits, is_reset, bits);
}

/* The first reading of a series, or the first after the interface was gone. */
static void
begin_counter(struct binner *binner, struct series *s, int64_t time_ns)
{
	if (s->is_counter)
		ring_gap(binner_ring(s), &binner->pool, s->known_until_ms,
			 ceil_ms(time_ns));
	else
		s->known_from_ms = ceil_ms(time_ns);
	s->is_counter = s->has_reading = true;
}

/* Takes a reading that is newer than the last one. */
static void
step_counter(struct binner *binner, struct series *s, int64_t time_ns, uint64_t bytes,
	     unsigned bits, const struct source_extra *extra)
{
	double capacity_bps = binner->interfaces.items[s->key.interface].capacity_bps;
	int64_t interval_ns = time_ns - s->last_ns;
	uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
	uint64_t step = (bytes - s->last_bytes) & mask;
	bool is_reset = false;

	if (bytes < s->last_bytes) {
		is_reset = !is_wrap(step, bits, interval_ns, capacity_bps);
		if (is_reset)
			step = bytes;
		binner->counts.wraps += !is_reset;
		binner->counts.resets += is_reset;
	}
	s->total_bytes += step;
	if (extra)
		take_extra(s, extra, is_reset, bits);
	if (is_reset || interval_ns > BINNER_MAX_SPREAD_NS ||
	    is_ambiguous(bits, interval_ns, capacity_bps))
		ring_gap(binner_ring(s), &binner->pool, floor_ms(s->last_ns),
			 ceil_ms(time_ns));
	else if (step > 0)
		spread(binner, s, s->last_ns, time_ns, step);
}

int
binner_counter(struct binner *binner, const struct source_key *key, int64_t time_ns,
	       uint64_t bytes, unsigned bits, const struct source_extra *extra)
{
	struct interface *interface = binner_interface(binner, key->interface);
	struct series *s = interface ? binner_series(binner, key) : NULL;

	if (!s)
		return interface ? -E2BIG : -EINVAL;
	interface->is_gone = false;
	if (s->has_reading && time_ns <= s->last_ns) {
		binner->counts.backward++;
		return 0;
	}
	if (bits != 32 || bytes > UINT32_MAX)
		bits = 64;
	if (s->has_reading)
		step_counter(binner, s, time_ns, bytes, bits, extra);
	else
		begin_counter(binner, s, time_ns);
	s->last_ns = time_ns;
	s->last_bytes = bytes;
	s->known_until_ms = floor_ms(time_ns);
	if (extra) {
		s->last_extra = *extra;
		binner_take_levels(s, extra);
	}
	return 0;
}
