/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flow_wire.bpf.h - wire bytes of a large packet, with the headers of all segments. */
#ifndef BPF_FLOW_WIRE_BPF_H
#define BPF_FLOW_WIRE_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/flow_count.bpf.h"
#include "bpf/kernel.h"
#include "bpf/parse.h"

/* How the device, or a stage before it, will segment a packet. */
struct gso {
	__u32 size, segments, type;
};

/*
 * The verifier does not know this memory.  If the kernel has casts, these are plain
 * loads; otherwise a helper copies, which takes 20 ns, also for each packet that the
 * kernel has segmented itself.
 */
static __always_inline bool
read_gso(struct sk_buff *skb, bool has_cast, struct gso *ret_gso)
{
	struct skb_shared_info *info = (void *)(skb->head + skb->end);

	if (has_cast) {
		info = bpf_rdonly_cast(info,
				       bpf_core_type_id_kernel(struct skb_shared_info));
		ret_gso->size = info->gso_size;
		ret_gso->segments = info->gso_segs;
		ret_gso->type = info->gso_type;
	} else {
		ret_gso->size = BPF_CORE_READ(info, gso_size);
		if (!ret_gso->size)
			return false;
		ret_gso->segments = BPF_CORE_READ(info, gso_segs);
		ret_gso->type = BPF_CORE_READ(info, gso_type);
	}
	return ret_gso->size && ret_gso->segments > 1;
}

static __always_inline __u32
read_tcp_header_bytes(void *header, bool has_cast)
{
	struct tcphdr *tcp = header;

	if (!has_cast)
		return BPF_CORE_READ_BITFIELD_PROBED(tcp, doff) * 4;
	tcp = bpf_rdonly_cast(header, bpf_core_type_id_kernel(struct tcphdr));
	return BPF_CORE_READ_BITFIELD(tcp, doff) * 4;
}

/*
 * The packet after segmentation by the device, with headers for each segment.  The
 * queue has computed this length too, but its figure is wrong for a packet that was
 * segmented after the queue, and undefined for one that passed no queue; it is used if
 * plausible.
 */
static __always_inline void
wire_size(struct sk_buff *skb, bool has_cast, __u32 queue_bytes, struct amount *a)
{
	__u32 header_bytes, at;
	struct gso gso;

	if (!read_gso(skb, has_cast, &gso))
		return;
	a->packets = gso.segments;
	if (queue_bytes > a->bytes &&
	    queue_bytes - a->bytes <= gso.segments * PARSE_MAX_HEADERS) {
		a->bytes = queue_bytes;
		return;
	}
	at = skb->encapsulation ? skb->inner_transport_header : skb->transport_header;
	if (gso.type & (FLOW_GSO_TCPV4 | FLOW_GSO_TCPV6))
		header_bytes = read_tcp_header_bytes(skb->head + at, has_cast);
	else if (gso.type & FLOW_GSO_UDP_L4)
		header_bytes = 8;
	else
		return;
	header_bytes += at - skb->mac_header;
	if (header_bytes <= PARSE_MAX_HEADERS)
		a->bytes += (gso.segments - 1) * header_bytes;
}

#endif
