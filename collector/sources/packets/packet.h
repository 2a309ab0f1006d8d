/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - a parser of packet headers: end points, ECN marks, sequence numbers
 *
 * Ethernet with VLAN tags (802.1Q, QinQ), Linux cooked captures (SLL, SLL2) and bare
 * IP; IPv4, and IPv6 with its extension headers; TCP, UDP and RoCEv2.  Looks through
 * one level of ERSPAN (a switch's remote mirror) or VXLAN.  Truncated packets are
 * enough if they have the headers.  Pure.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_PACKET_H
#define COLLECTOR_SOURCES_PACKETS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packet_link {
	PACKET_ETHERNET,
	PACKET_SLL,
	PACKET_SLL2,
	PACKET_IP,
};

/* IPv4 addresses are mapped into IPv6: ::ffff:a.b.c.d. */
struct packet_address {
	uint8_t bytes[16];
};

enum packet_way {
	PACKET_WAY_UNKNOWN,
	PACKET_WAY_IN, /* Cooked captures only. */
	PACKET_WAY_OUT,
};

struct packet {
	/*
	 * On the wire from the Ethernet header on: without an ERSPAN wrapping, but with
	 * a VXLAN one, which is part of the link's load; the header of a cooked capture
	 * counts as Ethernet's 14.
	 */
	uint32_t wire_bytes;
	uint8_t way; /* enum packet_way. */
	bool is_ip, is_tcp, has_ports, is_roce, is_ce;
	uint8_t protocol; /* Of IP. */
	struct packet_address source, destination;
	uint16_t source_port, destination_port;
	uint32_t sequence, payload_bytes; /* TCP: of its data. */
	uint32_t queue_pair;              /* RoCE: of the destination. */
	const uint8_t *udp;               /* UDP: its captured data; borrowed. */
	size_t udp_n;
};

/*
 * Fills '*ret' from the 'n' captured bytes of a packet of 'length' bytes.  False if it
 * is cut before its type is known.
 */
bool packet_parse(enum packet_link link, const uint8_t *bytes, size_t n,
		  uint32_t length, struct packet *ret);

/* "10.0.0.1", "fd00::1", with "/24" if 'ret_bits' is not NULL.  0 or -EINVAL. */
int packet_parse_address(const char *text, struct packet_address *ret_address,
			 unsigned *ret_bits);
/* Writes it as text; 'size' of at least PACKET_ADDRESS_TEXT. */
void packet_address_text(const struct packet_address *address, char *ret, size_t size);
#define PACKET_ADDRESS_TEXT 46

/* Whether the first 'bits' of 128 agree. */
bool packet_address_in(const struct packet_address *address,
		       const struct packet_address *network, unsigned bits);

#endif
