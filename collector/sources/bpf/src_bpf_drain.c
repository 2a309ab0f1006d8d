/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/src_bpf_drain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

/*
 * Buckets are read ahead of the caller's time, since time may have gone on since.  What
 * was seen covers these and those at the beginning of the next drain.
 */
#define LATE_MS 8
#define BACK_MS (DRAIN_SEEN_MS - LATE_MS)

/* State of one CPU of one ring. */
struct cpu_state {
	__u64 seen[DRAIN_SEEN_MS]; /* Buckets as last read. */
	struct flow_totals last;   /* As read at the last drain. */
	uint64_t drained_bytes;    /* Taken from buckets, or spread for them. */
};

struct drain {
	const __u64 *buckets;
	const struct flow_totals *totals;
	uint32_t n_rings, n_cpus;
	unsigned bucket_shift;
	struct cpu_state *cpus; /* Owned.  n_rings x n_cpus. */
	int64_t *last_ms;       /* Owned.  Time of the last drain, by ring. */
	uint32_t *bytes;        /* Owned.  One turn of the ring, and some. */
};

/* The other CPU may write: a single load that is not reordered before earlier ones. */
static uint64_t
load(const volatile __u64 *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static uint32_t
ring_ms(const struct drain *drain)
{
	return UINT32_C(1) << drain->bucket_shift;
}

uint32_t
drain_cpu_numbers(const char *possible)
{
	unsigned long most = 0;

	do {
		char *end;

		if (*possible < '0' || *possible > '9')
			return 0;
		most = strtoul(possible, &end, 10);
		if (most >= DRAIN_MAX_CPUS)
			return 0;
		possible = end;
	} while (*possible == '-' || *possible == ',' ? *possible++ : 0);
	return (uint32_t)most + 1;
}

struct drain *
drain_new(const __u64 *buckets, const struct flow_totals *totals, uint32_t n_rings,
	  uint32_t n_cpus, unsigned bucket_shift)
{
	struct drain *drain = xcalloc(1, sizeof *drain);

	drain->buckets = buckets;
	drain->totals = totals;
	drain->n_rings = n_rings;
	drain->n_cpus = n_cpus;
	drain->bucket_shift = bucket_shift;
	drain->cpus = xcalloc((size_t)n_rings * n_cpus, sizeof *drain->cpus);
	drain->last_ms = xcalloc(n_rings, sizeof *drain->last_ms);
	drain->bytes = xcalloc(ring_ms(drain), sizeof *drain->bytes);
	return drain;
}

void
drain_free(struct drain *drain)
{
	if (!drain)
		return;
	free(drain->cpus);
	free(drain->last_ms);
	free(drain->bytes);
	free(drain);
}

static void
read_totals(const struct flow_totals *from, struct flow_totals *to)
{
	to->bytes = load(&from->bytes);
	to->packets = load(&from->packets);
	to->ce = load(&from->ce);
	to->retransmits = load(&from->retransmits);
	to->sketch[0] = load(&from->sketch[0]);
	to->sketch[1] = load(&from->sketch[1]);
	to->sketch_window = load(&from->sketch_window);
	to->current = load(&from->current);
}

/* Reads a bucket, even if it is not in the ring yet. */
static __u64
read_bucket(const struct drain *drain, size_t at, const struct flow_totals *totals,
	    int64_t ms)
{
	if (FLOW_BUCKET_MS(totals->current) == (uint32_t)ms)
		return totals->current;
	return load(&drain->buckets[(at << drain->bucket_shift) +
				    (size_t)(ms & (ring_ms(drain) - 1))]);
}

void
drain_skip(struct drain *drain, uint32_t ring, int64_t now_ms)
{
	for (uint32_t cpu = 0; cpu < drain->n_cpus; cpu++) {
		size_t at = (size_t)ring * drain->n_cpus + cpu;
		struct cpu_state *state = &drain->cpus[at];

		read_totals(&drain->totals[at], &state->last);
		for (int64_t ms = now_ms - BACK_MS + 1; ms <= now_ms + LATE_MS; ms++)
			state->seen[ms & (DRAIN_SEEN_MS - 1)] =
				read_bucket(drain, at, &state->last, ms);
		state->drained_bytes = state->last.bytes;
	}
	drain->last_ms[ring] = now_ms;
}

/* Takes new bytes of the buckets [first, last] of one CPU; returns the sum. */
static uint64_t
take_buckets(struct drain *drain, size_t at, const struct flow_totals *totals,
	     int64_t first, int64_t last)
{
	struct cpu_state *state = &drain->cpus[at];
	uint64_t sum = 0;

	for (int64_t ms = first; ms <= last; ms++) {
		__u64 now = read_bucket(drain, at, totals, ms);
		__u64 *seen = &state->seen[ms & (DRAIN_SEEN_MS - 1)];
		uint32_t added;

		if (FLOW_BUCKET_MS(now) != (uint32_t)ms)
			continue;
		added = FLOW_BUCKET_BYTES(now);
		if (FLOW_BUCKET_MS(*seen) == (uint32_t)ms)
			added -= FLOW_BUCKET_BYTES(*seen);
		*seen = now;
		drain->bytes[ms - first] += added;
		sum += added;
	}
	return sum;
}

/* Spreads overwritten bytes over the first 'n' bins, in whole bytes. */
static void
spread(uint32_t *bytes, uint32_t n, uint64_t missing)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t part = missing / (n - i);

		if (part > UINT32_MAX - 1 - bytes[i])
			part = UINT32_MAX - 1 - bytes[i];
		bytes[i] += (uint32_t)part;
		missing -= part;
	}
}

/*
 * Adds new bytes of one CPU to the 'n' bins of drain->bytes, which begin at 'first'.
 * 'missed_ms' buckets before that were overwritten, as far as they had bytes.
 */
static void
drain_cpu(struct drain *drain, size_t at, int64_t first, uint32_t n, int64_t missed_ms,
	  struct drain_out *out)
{
	struct cpu_state *state = &drain->cpus[at];
	struct flow_totals totals;
	int64_t missing;

	read_totals(&drain->totals[at], &totals);
	if (totals.bytes == state->last.bytes &&
	    totals.retransmits == state->last.retransmits &&
	    totals.bytes == state->drained_bytes)
		return;
	state->drained_bytes += take_buckets(drain, at, &totals, first, first + n - 1);
	missing = (int64_t)((missed_ms > 0 ? totals.bytes : state->last.bytes) -
			    state->drained_bytes);
	if (missing > 0) {
		spread(drain->bytes, missed_ms > 0 ? n : 1, (uint64_t)missing);
		state->drained_bytes += (uint64_t)missing;
		out->lost_ms += missed_ms > 0 ? (uint64_t)missed_ms : 1;
	}
	out->extra.packets += totals.packets - state->last.packets;
	out->extra.ce += totals.ce - state->last.ce;
	out->extra.retransmits += totals.retransmits - state->last.retransmits;
	state->last = totals;
	out->n = 1;
}

/* Linear counting: of m bits z are still clear, n = -m ln(z / m). */
static uint32_t
estimate_flows(const uint64_t sketch[2])
{
	int clear = FLOW_SKETCH_BITS - __builtin_popcountll(sketch[0]) -
		    __builtin_popcountll(sketch[1]);

	if (clear < 1)
		clear = 1;
	return (uint32_t)lrint(-FLOW_SKETCH_BITS *
			       log((double)clear / FLOW_SKETCH_BITS));
}

static uint32_t
flows_of(const struct drain *drain, uint32_t ring, int64_t now_ms)
{
	uint64_t window = (uint64_t)now_ms >> FLOW_SKETCH_SHIFT;
	uint64_t now[2] = { 0 }, before[2] = { 0 };

	for (uint32_t cpu = 0; cpu < drain->n_cpus; cpu++) {
		const struct flow_totals *last =
			&drain->cpus[(size_t)ring * drain->n_cpus + cpu].last;
		uint64_t *into = last->sketch_window == window       ? now
				 : last->sketch_window + 1 == window ? before
								     : NULL;

		if (!into)
			continue;
		into[0] |= last->sketch[0];
		into[1] |= last->sketch[1];
	}
	return now[0] | now[1] ? estimate_flows(now) : estimate_flows(before);
}

void
drain_ring(struct drain *drain, uint32_t ring, int64_t now_ms,
	   struct drain_out *ret_out)
{
	int64_t size = ring_ms(drain);
	int64_t first = drain->last_ms[ring] - BACK_MS + 1;
	int64_t oldest = now_ms + LATE_MS + 1 - size;
	int64_t missed_ms = oldest - drain->last_ms[ring] - 1;
	uint32_t n;

	memset(ret_out, 0, sizeof *ret_out);
	if (first < oldest)
		first = oldest;
	n = (uint32_t)(now_ms + LATE_MS + 1 - first);
	memset(drain->bytes, 0, n * sizeof *drain->bytes);
	for (uint32_t cpu = 0; cpu < drain->n_cpus; cpu++)
		drain_cpu(drain, (size_t)ring * drain->n_cpus + cpu, first, n,
			  missed_ms, ret_out);
	drain->last_ms[ring] = now_ms;
	if (!ret_out->n)
		return;
	ret_out->extra.flows = flows_of(drain, ring, now_ms);

	/* Trims empty bins at both ends. */
	ret_out->bytes = drain->bytes;
	ret_out->first_ms = first;
	while (n > 1 && !drain->bytes[n - 1])
		n--;
	while (n > 1 && !*ret_out->bytes) {
		ret_out->bytes++;
		ret_out->first_ms++;
		n--;
	}
	ret_out->n = n;
}

void
drain_totals(const struct drain *drain, uint32_t ring, struct flow_totals *ret_totals)
{
	memset(ret_totals, 0, sizeof *ret_totals);
	for (uint32_t cpu = 0; cpu < drain->n_cpus; cpu++) {
		struct flow_totals one;

		read_totals(&drain->totals[(size_t)ring * drain->n_cpus + cpu], &one);
		ret_totals->bytes += one.bytes;
		ret_totals->packets += one.packets;
		ret_totals->ce += one.ce;
		ret_totals->retransmits += one.retransmits;
	}
}
