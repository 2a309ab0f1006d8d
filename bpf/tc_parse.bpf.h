/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tc_parse.bpf.h - headers of a packet at tc */
#ifndef BPF_TC_PARSE_BPF_H
#define BPF_TC_PARSE_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "bpf/parse.h"

static __always_inline enum parse_result
parse(struct __sk_buff *skb, struct parse_packet *p)
{
	enum parse_result result;

	result = parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
	if (result == PARSE_OK)
		return result;
	/* The headers may be outside of the packet's linear part. */
	if (skb->len <= skb->data_end - skb->data ||
	    bpf_skb_pull_data(skb, skb->len < 128 ? skb->len : 128) < 0)
		return result;
	return parse_packet((void *)(long)skb->data, (void *)(long)skb->data_end, p);
}

#endif
