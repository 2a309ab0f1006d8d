/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port_translate.bpf.c - replaces the source ports of TCP flows on the wire
 *
 *	antiphase_out	tc, egress of the sender: true port to wire port
 *	antiphase_in	tc, ingress of the receiver: wire port to true port
 *
 * port_translate.h explains the scheme and its limits.  A packet without an entry costs
 * one look-up in a hash table.
 */
/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/parse.h"
#include "bpf/port_translate.h"
#include "bpf/tc_parse.bpf.h"

/* TC_ACT_UNSPEC and TCX_NEXT: continue with the hook's other programs. */
#define GO_ON -1

/* Flags and offset of an IPv4 fragment, in the host's order. */
#define IP_DF       0x4000
#define IP_FRAGMENT 0x3fff

/* Offset of the checksum in TCP's header. */
#define TCP_CHECKSUM 16

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PORT_MAX_FLOWS);
	__type(key, struct port_flow);
	__type(value, struct port_entry);
} ports_out SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * PORT_MAX_FLOWS);
	__type(key, struct port_flow);
	__type(value, struct port_entry);
} ports_in SEC(".maps");

static __always_inline void
map_address(__u8 *ret_mapped, const __u8 *address)
{
	__builtin_memset(ret_mapped, 0, 10);
	ret_mapped[10] = ret_mapped[11] = 0xff;
	__builtin_memcpy(ret_mapped + 12, address, 4);
}

/*
 * Reads the flow of a packet that may be translated, and the offset of its TCP header.
 * The addresses follow 12 bytes of an IPv4 header, and 8 of an IPv6 header.
 */
static __always_inline bool
read_flow(struct __sk_buff *skb, bool needs_df, struct port_flow *ret_flow,
	  __u32 *ret_tcp_at)
{
	const __u8 *begin, *ip, *end;
	struct parse_packet p;
	__u16 fragment;

	if (parse(skb, &p) != PARSE_OK || p.l4 != PARSE_TCP)
		return false;
	begin = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (p.ip == PARSE_IPV4) {
		ip = p.addresses - 12;
		if (ip + 20 > end)
			return false;
		fragment = parse_be16(ip + 6);
		if (fragment & IP_FRAGMENT || (needs_df && !(fragment & IP_DF)))
			return false;
		map_address(ret_flow->source, ip + 12);
		map_address(ret_flow->destination, ip + 16);
		*ret_tcp_at = (__u32)(ip - begin) + (__u32)(ip[0] & 15) * 4;
	} else {
		ip = p.addresses - 8;
		if (ip + 40 > end || ip[6] != PARSE_TCP)
			return false;
		__builtin_memcpy(ret_flow->source, ip + 8, 32);
		*ret_tcp_at = (__u32)(ip - begin) + 40;
	}
	ret_flow->source_port = p.ports[0];
	ret_flow->destination_port = p.ports[1];
	return true;
}

/*
 * The checksum comes first: if the header cannot be written, that fails and nothing has
 * changed.
 */
static __always_inline int
translate(struct __sk_buff *skb, void *ports, bool needs_df)
{
	const struct port_entry *entry;
	struct port_flow flow;
	__u32 tcp_at;
	__be16 port;

	if (!read_flow(skb, needs_df, &flow, &tcp_at))
		return GO_ON;
	entry = bpf_map_lookup_elem(ports, &flow);
	if (!entry)
		return GO_ON;
	port = entry->port;
	if (port == flow.source_port)
		return GO_ON;
	if (bpf_l4_csum_replace(skb, tcp_at + TCP_CHECKSUM, flow.source_port, port,
				sizeof port) < 0)
		return GO_ON;
	bpf_skb_store_bytes(skb, tcp_at, &port, sizeof port, 0);
	return GO_ON;
}

SEC("tc")

int
antiphase_out(struct __sk_buff *skb)
{
	return translate(skb, &ports_out, true);
}

SEC("tc")

int
antiphase_in(struct __sk_buff *skb)
{
	return translate(skb, &ports_in, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
