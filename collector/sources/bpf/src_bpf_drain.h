/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_drain.h - reading the rings that BPF programs write, each byte once
 *
 * Works on the two mapped arrays of bpf/events.h; pure.  For each CPU of a ring it
 * keeps what was taken from the last DRAIN_SEEN_MS buckets, because a CPU that is
 * halted between reading the clock and storing writes late; what such a CPU adds is
 * taken separately.
 *
 * A CPU writes its bucket before its total.  If the sum of everything taken is less
 * than the total one drain ago, buckets were overwritten before they were read: the
 * difference is spread over the missed milliseconds, which are counted as lost.  Totals
 * are therefore always exact.
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_DRAIN_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_DRAIN_H

#include <stdint.h>

#include "bpf/events.h"
#include "collector/sources/source.h"

struct drain;

#define DRAIN_SEEN_MS  32
#define DRAIN_MAX_CPUS 65536

/* New data of one ring since the last drain. */
struct drain_out {
	int64_t first_ms;      /* Of bytes[0]. */
	uint32_t n;            /* 0: nothing new. */
	const uint32_t *bytes; /* Borrowed until the next call. */
	struct source_extra extra;
	uint64_t lost_ms; /* Buckets that were overwritten; a sum over CPUs. */
};

/*
 * Borrows both arrays: 'n_rings' rings of 'n_cpus' times 2^'bucket_shift' buckets, and
 * as many totals.  Counting begins at the present totals.
 */
struct drain *drain_new(const __u64 *buckets, const struct flow_totals *totals,
			uint32_t n_rings, uint32_t n_cpus, unsigned bucket_shift);
void drain_free(struct drain *drain); /* Accepts NULL. */

/*
 * One more than the largest CPU number in a list such as "0-3,8-11", here 12; the list
 * may have holes, and a CPU writes at the place of its number.  0 for an invalid list.
 */
uint32_t drain_cpu_numbers(const char *possible);

/* Discards what the ring had until now. */
void drain_skip(struct drain *drain, uint32_t ring, int64_t now_ms);

/* New data of the ring; 'now_ms' never decreases.  O(CPUs with new data x ms). */
void drain_ring(struct drain *drain, uint32_t ring, int64_t now_ms,
		struct drain_out *ret_out);

/* Sum over all CPUs since the ring was made. */
void drain_totals(const struct drain *drain, uint32_t ring,
		  struct flow_totals *ret_totals);

#endif
