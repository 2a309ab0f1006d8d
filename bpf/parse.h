/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parse.h - parser of packet headers for the counting programs.
 *
 * Ethernet, up to two VLAN tags, IPv4 with options, IPv6 with extension headers, TCP
 * and UDP.  Plain C that the verifier accepts: every read is checked against the end,
 * every loop has a bound.  Copies only ports and the sequence number.
 *
 * A packet that ends within its headers gives PARSE_SHORT.  In a BPF program this may
 * mean that the rest is in another page and must be pulled in.
 */
#ifndef BPF_PARSE_H
#define BPF_PARSE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define PARSE_MAX_TAGS       2
#define PARSE_MAX_EXTENSIONS 6

/* Limit of the offset at which addresses and ports end. */
#define PARSE_MAX_HEADERS 256

enum parse_result {
	PARSE_OK,    /* All headers up to TCP's, UDP's or an unknown one. */
	PARSE_SHORT, /* The packet ended before that. */
};

enum parse_ip {
	PARSE_NO_IP = 0,
	PARSE_IPV4 = 4,
	PARSE_IPV6 = 6,
};

enum parse_l4 {
	PARSE_OTHER_L4 = 0,
	PARSE_TCP = 6,
	PARSE_UDP = 17,
};

struct parse_packet {
	const __u8 *addresses; /* Source then destination, in the packet. */
	__u32 header_bytes;    /* Up to the end of the last header known. */
	__u32 seq;             /* TCP, in the host's order. */
	__u16 ports[2];        /* Source, destination; in the network's order. */
	__u8 ip;               /* enum parse_ip. */
	__u8 l4;               /* enum parse_l4; of later fragments OTHER. */
	__u8 ecn;              /* The two bits; 3 is "congestion experienced". */
	__u8 tcp_flags;
};

/* The unread bytes are from 'at' to 'end'; the Ethernet header is at 'begin'. */
struct parse_cursor {
	const __u8 *begin, *at, *end;
};

#define PARSE_INLINE static inline __attribute__((always_inline))

PARSE_INLINE __u16
parse_be16(const __u8 *p)
{
	return (__u16)(p[0] << 8 | p[1]);
}

PARSE_INLINE __u32
parse_be32(const __u8 *p)
{
	return (__u32)p[0] << 24 | (__u32)p[1] << 16 | (__u32)p[2] << 8 | p[3];
}

PARSE_INLINE __u16
parse_raw16(const __u8 *p)
{
	return *(const __u16 *)(const void *)p;
}

/* Reads the Ethernet header and its tags; stores the type of the next header. */
PARSE_INLINE enum parse_result
parse_ethernet(struct parse_cursor *c, __u16 *ret_type)
{
	__u16 type;

	if (c->at + 14 > c->end)
		return PARSE_SHORT;
	type = parse_be16(c->at + 12);
	c->at += 14;
#pragma GCC unroll 2
	for (int i = 0; i < PARSE_MAX_TAGS; i++) {
		if (type != 0x8100 && type != 0x88a8)
			break;
		if (c->at + 4 > c->end)
			return PARSE_SHORT;
		type = parse_be16(c->at + 2);
		c->at += 4;
	}
	*ret_type = type;
	return PARSE_OK;
}

PARSE_INLINE enum parse_result
parse_ipv4(struct parse_cursor *c, struct parse_packet *p, __u8 *ret_protocol)
{
	__u32 length;

	if (c->at + 20 > c->end)
		return PARSE_SHORT;
	length = (__u32)(c->at[0] & 15) * 4;
	p->ecn = c->at[1] & 3;
	if (c->at[0] >> 4 != 4 || length < 20) {
		*ret_protocol = 0;
		return PARSE_OK;
	}
	p->ip = PARSE_IPV4;
	p->addresses = c->at + 12;
	/* Only the first fragment has ports. */
	*ret_protocol = parse_be16(c->at + 6) & 0x1fff ? 0 : c->at[9];
	c->at += length;
	return PARSE_OK;
}

PARSE_INLINE enum parse_result
parse_ipv6(struct parse_cursor *c, struct parse_packet *p, __u8 *ret_protocol)
{
	__u8 next;

	if (c->at + 40 > c->end)
		return PARSE_SHORT;
	*ret_protocol = 0;
	if (c->at[0] >> 4 != 6)
		return PARSE_OK;
	p->ip = PARSE_IPV6;
	p->ecn = c->at[1] >> 4 & 3;
	p->addresses = c->at + 8;
	next = c->at[6];
	c->at += 40;
#pragma GCC unroll 6
	for (int i = 0; i < PARSE_MAX_EXTENSIONS; i++) {
		__u32 length;

		/* Hop-by-hop, routing, fragment and destination headers. */
		if (next != 0 && next != 43 && next != 44 && next != 60)
			break;
		if (c->at + 8 > c->end)
			return PARSE_SHORT;
		if (next == 44 && parse_be16(c->at + 2) & 0xfff8)
			return PARSE_OK;
		length = next == 44 ? 8 : ((__u32)c->at[1] + 1) * 8;
		next = c->at[0];
		c->at += length;
	}
	*ret_protocol = next;
	return PARSE_OK;
}

PARSE_INLINE enum parse_result
parse_l4(struct parse_cursor *c, struct parse_packet *p, __u8 protocol)
{
	if (protocol == PARSE_TCP) {
		__u32 length;

		if (c->at + 20 > c->end)
			return PARSE_SHORT;
		length = (__u32)(c->at[12] >> 4) * 4;
		if (length < 20)
			return PARSE_OK;
		p->seq = parse_be32(c->at + 4);
		p->tcp_flags = c->at[13];
		p->l4 = PARSE_TCP;
		p->ports[0] = parse_raw16(c->at);
		p->ports[1] = parse_raw16(c->at + 2);
		p->header_bytes += length;
	} else if (protocol == PARSE_UDP) {
		if (c->at + 8 > c->end)
			return PARSE_SHORT;
		p->l4 = PARSE_UDP;
		p->ports[0] = parse_raw16(c->at);
		p->ports[1] = parse_raw16(c->at + 2);
		p->header_bytes += 8;
	}
	return PARSE_OK;
}

/*
 * Reads only the ECN bits, if IP directly follows Ethernet, as in most packets.
 * Otherwise returns PARSE_SHORT; then call parse_packet().
 */
PARSE_INLINE enum parse_result
parse_ecn(const void *begin, const void *end, __u8 *ret_ecn)
{
	const __u8 *at = begin;

	/* Room for the whole header of either version. */
	if (at + 14 + 40 > (const __u8 *)end)
		return PARSE_SHORT;
	if (at[12] == 0x08 && at[13] == 0x00) {
		*ret_ecn = at[15] & 3;
		return PARSE_OK;
	}
	if (at[12] == 0x86 && at[13] == 0xdd && at[14] >> 4 == 6) {
		*ret_ecn = at[15] >> 4 & 3;
		return PARSE_OK;
	}
	return PARSE_SHORT;
}

/* Reads all headers.  Fills '*p' as far as possible, also for PARSE_SHORT. */
PARSE_INLINE enum parse_result
parse_packet(const void *begin, const void *end, struct parse_packet *p)
{
	struct parse_cursor c = { begin, begin, end };
	enum parse_result result;
	__u8 protocol = 0;
	__u16 type;

	__builtin_memset(p, 0, sizeof *p);
	result = parse_ethernet(&c, &type);
	if (result != PARSE_OK)
		return result;
	if (type == 0x0800)
		result = parse_ipv4(&c, p, &protocol);
	else if (type == 0x86dd)
		result = parse_ipv6(&c, p, &protocol);
	if (result != PARSE_OK)
		return result;
	p->header_bytes = (__u32)(c.at - c.begin);
	return parse_l4(&c, p, protocol);
}

#endif
