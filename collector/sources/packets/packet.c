/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ETHERNET_BYTES 14
#define TYPE_IPV4      0x0800
#define TYPE_IPV6      0x86dd
#define TYPE_VLAN      0x8100
#define TYPE_QINQ      0x88a8
#define TYPE_QINQ_OLD  0x9100
#define GRE_ERSPAN_2   0x88be /* Types I and II. */
#define GRE_ERSPAN_3   0x22eb
#define PROTO_TCP      6
#define PROTO_UDP      17
#define PROTO_GRE      47
#define PORT_ROCE      4791
#define PORT_VXLAN     4789
#define MAX_TAGS       4
#define MAX_EXTENSIONS 8

/* The unread bytes; 'length' of them were on the wire. */
struct rest {
	const uint8_t *at;
	size_t n;
	uint32_t length;
};

static uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* Skips 'n' bytes; false if there are fewer. */
static bool
skip(struct rest *rest, size_t n)
{
	if (rest->n < n)
		return false;
	rest->at += n;
	rest->n -= n;
	rest->length = rest->length > n ? rest->length - (uint32_t)n : 0;
	return true;
}

static void parse_frame(struct rest rest, bool is_outer, struct packet *ret);

/* ---- What is carried by IP ------------------------------------------------------- */

static void
parse_tcp(const struct rest *rest, struct packet *ret)
{
	size_t header;

	if (rest->n < 13)
		return;
	header = (size_t)(rest->at[12] >> 4) * 4;
	ret->is_tcp = header >= 20;
	ret->sequence = get32(rest->at + 4);
	ret->payload_bytes =
		rest->length > header ? rest->length - (uint32_t)header : 0;
}

static void
parse_udp(struct rest rest, bool is_outer, struct packet *ret)
{
	if (!skip(&rest, 8))
		return;
	ret->udp = rest.at;
	ret->udp_n = rest.n < rest.length ? rest.n : rest.length;
	if (ret->destination_port == PORT_ROCE) {
		/* Base transport header: opcode, flags, key, then 24 bits. */
		ret->is_roce = true;
		if (rest.n >= 8)
			ret->queue_pair = get32(rest.at + 4) & 0xffffff;
	} else if (ret->destination_port == PORT_VXLAN && is_outer && rest.n >= 8 &&
		   (rest.at[0] & 0x08)) {
		uint32_t wire_bytes = ret->wire_bytes;

		skip(&rest, 8);
		parse_frame(rest, false, ret);
		ret->wire_bytes = wire_bytes;
	}
}

/* GRE: only ERSPAN, a switch's mirror, is parsed. */
static void
parse_gre(struct rest rest, struct packet *ret)
{
	uint16_t flags, type;

	if (rest.n < 4)
		return;
	flags = get16(rest.at);
	type = get16(rest.at + 2);
	if (!skip(&rest, 4u + (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) +
				 (flags & 0x1000 ? 4 : 0)))
		return;
	if (type == GRE_ERSPAN_3) {
		bool has_more = rest.n >= 12 && (rest.at[11] & 1);

		if (!skip(&rest, has_more ? 20 : 12))
			return;
	} else if (type != GRE_ERSPAN_2 || ((flags & 0x1000) && !skip(&rest, 8))) {
		return; /* Type I has neither a sequence nor a header. */
	}
	ret->wire_bytes = rest.length;
	parse_frame(rest, false, ret);
}

static void
parse_transport(struct rest rest, bool is_outer, struct packet *ret)
{
	if (ret->protocol == PROTO_GRE && is_outer) {
		parse_gre(rest, ret);
		return;
	}
	if ((ret->protocol != PROTO_TCP && ret->protocol != PROTO_UDP) || rest.n < 4)
		return;
	ret->has_ports = true;
	ret->source_port = get16(rest.at);
	ret->destination_port = get16(rest.at + 2);
	if (ret->protocol == PROTO_TCP)
		parse_tcp(&rest, ret);
	else
		parse_udp(rest, is_outer, ret);
}

/* ---- IP -------------------------------------------------------------------------- */

static void
map_ipv4(const uint8_t *from, struct packet_address *ret)
{
	memset(ret->bytes, 0, 10);
	memset(ret->bytes + 10, 0xff, 2);
	memcpy(ret->bytes + 12, from, 4);
}

static void
parse_ipv4(struct rest rest, bool is_outer, struct packet *ret)
{
	size_t header;
	uint16_t total;
	bool is_later;

	if (rest.n < 20)
		return;
	header = (size_t)(rest.at[0] & 15) * 4;
	total = get16(rest.at + 2);
	is_later = get16(rest.at + 6) & 0x1fff; /* A fragment after the first. */
	ret->is_ip = header >= 20;
	ret->is_ce = (rest.at[1] & 3) == 3;
	ret->protocol = rest.at[9];
	map_ipv4(rest.at + 12, &ret->source);
	map_ipv4(rest.at + 16, &ret->destination);
	/* 0: a large segment before it was cut.  If less than the bytes: padding. */
	if (total >= header && total < rest.length)
		rest.length = total;
	if (ret->is_ip && !is_later && skip(&rest, header))
		parse_transport(rest, is_outer, ret);
}

/* Skips extension headers; false if the rest cannot be parsed. */
static bool
skip_extensions(struct rest *rest, uint8_t *protocol)
{
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		uint8_t next;

		switch (*protocol) {
		case 0:  /* Hop by hop. */
		case 43: /* Routing. */
		case 60: /* Destination. */
			if (rest->n < 2)
				return false;
			next = rest->at[0];
			if (!skip(rest, ((size_t)rest->at[1] + 1) * 8))
				return false;
			break;
		case 44: /* Fragment. */
			if (rest->n < 8 || get16(rest->at + 2) & 0xfff8)
				return false;
			next = rest->at[0];
			skip(rest, 8);
			break;
		default:
			return true;
		}
		*protocol = next;
	}
	return false;
}

static void
parse_ipv6(struct rest rest, bool is_outer, struct packet *ret)
{
	uint16_t payload;

	if (rest.n < 40)
		return;
	payload = get16(rest.at + 4);
	ret->is_ip = true;
	ret->is_ce = (get16(rest.at) >> 4 & 3) == 3;
	ret->protocol = rest.at[6];
	memcpy(ret->source.bytes, rest.at + 8, 16);
	memcpy(ret->destination.bytes, rest.at + 24, 16);
	if (payload && payload + 40u < rest.length)
		rest.length = payload + 40u;
	skip(&rest, 40);
	if (skip_extensions(&rest, &ret->protocol))
		parse_transport(rest, is_outer, ret);
}

/* ---- Links ----------------------------------------------------------------------- */

static void
parse_network(struct rest rest, uint16_t type, bool is_outer, struct packet *ret)
{
	for (int tag = 0; tag < MAX_TAGS; tag++) {
		if (type != TYPE_VLAN && type != TYPE_QINQ && type != TYPE_QINQ_OLD)
			break;
		if (rest.n < 4)
			return;
		type = get16(rest.at + 2);
		skip(&rest, 4);
	}
	if (type == TYPE_IPV4)
		parse_ipv4(rest, is_outer, ret);
	else if (type == TYPE_IPV6)
		parse_ipv6(rest, is_outer, ret);
}

static void
parse_frame(struct rest rest, bool is_outer, struct packet *ret)
{
	struct packet inner = { .wire_bytes = ret->wire_bytes, .way = ret->way };
	uint16_t type;

	*ret = inner;
	if (rest.n < ETHERNET_BYTES)
		return;
	type = get16(rest.at + 12);
	skip(&rest, ETHERNET_BYTES);
	parse_network(rest, type, is_outer, ret);
}

/* A cooked capture: offsets of packet type and protocol. */
static bool
parse_cooked(struct rest rest, size_t header, size_t type_at, size_t protocol_at,
	     bool is_type_wide, struct packet *ret)
{
	unsigned type;
	uint16_t protocol;

	if (rest.n < header)
		return false;
	type = is_type_wide ? get16(rest.at + type_at) : rest.at[type_at];
	protocol = get16(rest.at + protocol_at);
	ret->way = type == 4 ? PACKET_WAY_OUT : PACKET_WAY_IN; /* PACKET_OUTGOING. */
	skip(&rest, header);
	ret->wire_bytes = rest.length + ETHERNET_BYTES;
	parse_network(rest, protocol, true, ret);
	return true;
}

static bool
parse_bare(struct rest rest, struct packet *ret)
{
	if (rest.n < 1)
		return false;
	ret->wire_bytes += ETHERNET_BYTES;
	if (rest.at[0] >> 4 == 4)
		parse_ipv4(rest, true, ret);
	else if (rest.at[0] >> 4 == 6)
		parse_ipv6(rest, true, ret);
	return true;
}

bool
packet_parse(enum packet_link link, const uint8_t *bytes, size_t n, uint32_t length,
	     struct packet *ret)
{
	struct rest rest = { bytes, n, length > n ? length : (uint32_t)n };

	*ret = (struct packet){ .wire_bytes = rest.length };
	switch (link) {
	case PACKET_ETHERNET:
		parse_frame(rest, true, ret);
		return n >= ETHERNET_BYTES;
	case PACKET_SLL:
		return parse_cooked(rest, 16, 0, 14, true, ret);
	case PACKET_SLL2:
		return parse_cooked(rest, 20, 10, 0, false, ret);
	case PACKET_IP:
		return parse_bare(rest, ret);
	}
	return false;
}

/* ---- Addresses ------------------------------------------------------------------- */

int
packet_parse_address(const char *text, struct packet_address *ret_address,
		     unsigned *ret_bits)
{
	const char *slash = ret_bits ? strchr(text, '/') : NULL;
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	struct packet_address address;
	char name[PACKET_ADDRESS_TEXT];
	unsigned most = 128;
	uint8_t v4[4];

	if (length >= sizeof name)
		return -EINVAL;
	memcpy(name, text, length);
	name[length] = '\0';
	if (inet_pton(AF_INET, name, v4) == 1) {
		map_ipv4(v4, &address);
		most = 32;
	} else if (inet_pton(AF_INET6, name, address.bytes) != 1) {
		return -EINVAL;
	}
	if (ret_bits)
		*ret_bits = 128;
	if (slash) {
		char *end;
		unsigned long bits = strtoul(slash + 1, &end, 10);

		if (slash[1] < '0' || slash[1] > '9' || *end || bits > most)
			return -EINVAL;
		*ret_bits = 128 - most + (unsigned)bits;
	}
	*ret_address = address;
	return 0;
}

void
packet_address_text(const struct packet_address *address, char *ret, size_t size)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(address->bytes, mapped, sizeof mapped))
		inet_ntop(AF_INET, address->bytes + 12, ret, (socklen_t)size);
	else
		inet_ntop(AF_INET6, address->bytes, ret, (socklen_t)size);
}

bool
packet_address_in(const struct packet_address *address,
		  const struct packet_address *network, unsigned bits)
{
	unsigned whole = bits / 8, left = bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> left);

	return !memcmp(address->bytes, network->bytes, whole) &&
	       (!left || !((address->bytes[whole] ^ network->bytes[whole]) & mask));
}
