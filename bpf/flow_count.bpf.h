/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flow_count.bpf.h - counting of packets in the rings of links and slots (events.h). */
#ifndef BPF_FLOW_COUNT_BPF_H
#define BPF_FLOW_COUNT_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/events.h"
#include "bpf/flow_maps.bpf.h"

/* One packet, or the segments of a large one. */
struct amount {
	__u64 now_ms;
	__u32 bytes;
	__u32 packets;
	__u32 hash; /* The flow's; 0: unknown. */
	__u32 ce;
};

static __always_inline bool
find_link(__u32 ifindex, __u32 *ret_link)
{
	__u32 at = FLOW_LINK_HASH(ifindex);

#pragma unroll
	for (int i = 0; i < FLOW_LINK_PROBES; i++) {
		struct flow_link_cell *cell = &link_cells[(at + i) % FLOW_LINK_CELLS];

		if (cell->ifindex == ifindex) {
			*ret_link = cell->link % FLOW_MAX_LINKS;
			return true;
		}
		if (!cell->ifindex)
			return false;
	}
	return false;
}

/* The slot of a job on a link, or the link's slot for traffic without a job. */
static __always_inline __u32
find_slot(__u32 link, __u32 job)
{
	__u32 slot = slot_of[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS];

	if (slot)
		return slot;
	if (!slot_demand[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS])
		slot_demand[link % FLOW_MAX_LINKS][job % FLOW_MAX_JOBS] = 1;
	return slot_of[link % FLOW_MAX_LINKS][0];
}

/* This CPU's part of a ring. */
static __always_inline __u32
place_of(__u32 ring)
{
	return ring * n_cpus + bpf_get_smp_processor_id();
}

static __always_inline void
count(__u32 ring, const struct amount *a)
{
	__u32 place = place_of(ring);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);
	__u64 word;

	if (!sum)
		return;
	word = sum->current;
	if (FLOW_BUCKET_MS(word) != (__u32)a->now_ms) {
		__u32 at = (place << bucket_shift) +
			   (FLOW_BUCKET_MS(word) & ((1u << bucket_shift) - 1));
		__u64 *bucket = bpf_map_lookup_elem(&buckets, &at);

		if (bucket)
			*(volatile __u64 *)bucket = word;
		word = FLOW_BUCKET(a->now_ms, 0);
	}
	*(volatile __u64 *)&sum->current = word + a->bytes;
	*(volatile __u64 *)&sum->bytes = sum->bytes + a->bytes;
	sum->packets += a->packets;
	if (a->ce)
		sum->ce += a->ce;
	if (a->hash) {
		__u64 window = a->now_ms >> FLOW_SKETCH_SHIFT;

		if (sum->sketch_window != window) {
			sum->sketch_window = window;
			sum->sketch[0] = sum->sketch[1] = 0;
		}
		sum->sketch[a->hash >> 6 & 1] |= 1ull << (a->hash & 63);
	}
}

static __always_inline __u32
slot_ring(__u32 slot, __u32 direction)
{
	return n_links * FLOW_LINK_RINGS + slot * FLOW_SLOT_RINGS + direction;
}

static __always_inline void
count_retransmits(__u32 ring, __u32 n)
{
	__u32 place = place_of(ring);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);

	if (sum)
		sum->retransmits += n;
}

/* Counts only totals: buckets need the clock, which costs more than all the rest. */
static __always_inline void
count_offered(__u32 link, const struct amount *a)
{
	__u32 place = place_of(link * FLOW_LINK_RINGS + FLOW_OFFERED);
	struct flow_totals *sum = bpf_map_lookup_elem(&totals, &place);

	if (!sum)
		return;
	*(volatile __u64 *)&sum->bytes = sum->bytes + a->bytes;
	sum->packets += a->packets;
}

#endif
