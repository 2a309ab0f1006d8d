/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flow_headers.bpf.h - packet headers at tc, and detection of TCP retransmits */
#ifndef BPF_FLOW_HEADERS_BPF_H
#define BPF_FLOW_HEADERS_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/parse.h"

static __always_inline enum parse_result
parse(struct __sk_buff *skb, struct parse_packet *p)
{
	enum parse_result result;

	result = parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
	if (result == PARSE_OK)
		return result;
	/* The headers may exist, but outside of the linear part. */
	if (skb->len <= skb->data_end - skb->data ||
	    bpf_skb_pull_data(skb, skb->len < 128 ? skb->len : 128) < 0)
		return result;
	return parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
}

/*
 * Whether it is a TCP segment that was not sent before, by a look at where most have
 * their sequence number.  If not that is still to be found out.  (That the connection
 * has sent nothing twice is where hardly anything looks, and so not in the cache.)
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
	/* snd_nxt moves after a new segment was handed on. */
	return (__s32)(seq - snd_nxt) >= 0;
}

/*
 * Segments of this packet that were sent before.  By itself, so that what hardly any
 * packet needs does not lie amid what each runs through.
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
