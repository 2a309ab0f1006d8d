/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.bpf.c - drops or marks packets and counts them, for bpf_inject.c
 *
 * Affects one of 'one_in' matching packets, at random.  Only data segments are dropped:
 * a lost acknowledgement is replaced by the next one and not retransmitted.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "bpf/parse.h"

const volatile __u32 one_in = 300;

__u64 injected, seen;

static __always_inline int
is_hit(struct __sk_buff *skb, struct parse_packet *p)
{
	if (parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p) !=
		    PARSE_OK ||
	    p->l4 == PARSE_OTHER_L4 || skb->len <= p->header_bytes + 1)
		return 0;
	__sync_fetch_and_add(&seen, 1);
	return bpf_get_prandom_u32() % one_in == 0;
}

SEC("tc")

int
ap_inject_loss(struct __sk_buff *skb)
{
	struct parse_packet p;

	if (!is_hit(skb, &p) || p.l4 != PARSE_TCP)
		return -1;
	__sync_fetch_and_add(&injected, 1);
	return TC_ACT_SHOT;
}

SEC("tc")

int
ap_inject_ce(struct __sk_buff *skb)
{
	struct parse_packet p;

	/* Packets that are marked already or cannot be marked stay unchanged. */
	if (is_hit(skb, &p) && p.ecn != 3 && bpf_skb_ecn_set_ce(skb) == 1)
		__sync_fetch_and_add(&injected, 1);
	return -1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
