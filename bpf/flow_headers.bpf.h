/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flow_headers.bpf.h - detection of TCP retransmits at tc */
#ifndef BPF_FLOW_HEADERS_BPF_H
#define BPF_FLOW_HEADERS_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/parse.h"
#include "bpf/tc_parse.bpf.h"

/*
 * True if the packet is surely a new TCP segment: reads the sequence number where most
 * packets have it.  If false, retransmits_of() decides.  (The connection's own count of
 * retransmits is rarely used, so it would cost a cache miss.)
 */
static __always_inline bool
is_surely_new(struct __sk_buff *skb, __u32 snd_nxt)
{
	const __u8 *at = (void *)(long)skb->data;
	__u32 seq;

	if (at + 14 + 40 + 8 > (const __u8 *)(long)skb->data_end)
		return false;
	if (parse_be16(at + 12) == 0x0800 && at[14] == 0x45 && at[14 + 9] == PARSE_TCP)
		seq = parse_be32(at + 14 + 20 + 4);
	else if (parse_be16(at + 12) == 0x86dd && at[14 + 6] == PARSE_TCP)
		seq = parse_be32(at + 14 + 40 + 4);
	else
		return false;
	/* snd_nxt advances after the segment was passed on. */
	return (__s32)(seq - snd_nxt) >= 0;
}

/*
 * The number of segments of this packet that were sent before.  Not inline, to keep
 * this rarely used code apart from the code for all packets.
 */
static __noinline __u32
retransmits_of(struct __sk_buff *skb, __u32 snd_nxt)
{
	struct parse_packet p;

	if (parse(skb, &p) != PARSE_OK || p.l4 != PARSE_TCP ||
	    skb->len <= p.header_bytes)
		return 0;
	if ((__s32)(p.seq - snd_nxt) >= 0)
		return 0;
	return skb->gso_segs > 1 ? skb->gso_segs : 1;
}

#endif
