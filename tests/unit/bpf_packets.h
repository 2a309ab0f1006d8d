/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_packets.h - packets built byte by byte, for the tests of the BPF programs */
#ifndef TESTS_UNIT_BPF_PACKETS_H
#define TESTS_UNIT_BPF_PACKETS_H

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#define PACKET_SEQ   0x89abcdefu
#define PACKET_SPORT 40001
#define PACKET_DPORT 5201

struct packet {
	uint8_t bytes[2048];
	size_t n;
};

static inline void
packet_put16(struct packet *packet, size_t at, unsigned value)
{
	packet->bytes[at] = (uint8_t)(value >> 8);
	packet->bytes[at + 1] = (uint8_t)value;
}

/* Ethernet, IPv4 with 'options' bytes of options, TCP with 12, and a payload. */
static inline struct packet
packet_tcp4(unsigned options, size_t payload)
{
	struct packet packet = { .n = 14 + 20 + options + 32 + payload };
	uint8_t *ip = packet.bytes + 14, *tcp = ip + 20 + options;
	uint32_t seq = htonl(PACKET_SEQ);

	packet_put16(&packet, 12, 0x0800);
	ip[0] = (uint8_t)(0x45 + options / 4);
	packet_put16(&packet, 16, (unsigned)(packet.n - 14));
	ip[8] = 64;
	ip[9] = 6;
	memcpy(ip + 12, "\x0a\x4e\x00\x0a\x0a\x4e\x00\x0b", 8);
	memset(ip + 20, 1, options);
	packet_put16(&packet, (size_t)(tcp - packet.bytes), PACKET_SPORT);
	packet_put16(&packet, (size_t)(tcp - packet.bytes) + 2, PACKET_DPORT);
	memcpy(tcp + 4, &seq, sizeof seq);
	tcp[12] = 0x80;
	tcp[13] = 0x10;
	memset(tcp + 20, 1, 12);
	return packet;
}

/* Ethernet, IPv6 with 'extensions' headers of 8 bytes each, UDP, and a payload. */
static inline struct packet
packet_udp6(int extensions, size_t payload)
{
	static const uint8_t kinds[] = { 0, 43, 60, 60, 43, 60 };
	struct packet packet = { .n = 14 + 40 + 8 * (size_t)extensions + 8 + payload };
	uint8_t *ip = packet.bytes + 14;
	size_t udp = packet.n - payload - 8;

	packet_put16(&packet, 12, 0x86dd);
	ip[0] = 0x60;
	packet_put16(&packet, 18, (unsigned)(packet.n - 54));
	ip[6] = extensions ? kinds[0] : 17;
	ip[7] = 64;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = 2;
	for (int i = 0; i < extensions; i++)
		ip[40 + 8 * i] = i + 1 < extensions ? kinds[i + 1] : 17;
	packet_put16(&packet, udp, PACKET_SPORT);
	packet_put16(&packet, udp + 2, PACKET_DPORT);
	packet_put16(&packet, udp + 4, (unsigned)(8 + payload));
	return packet;
}

/* Adds a VLAN tag outside the existing ones. */
static inline void
packet_tag(struct packet *packet, unsigned type)
{
	memmove(packet->bytes + 16, packet->bytes + 12, packet->n - 12);
	packet_put16(packet, 12, type);
	packet_put16(packet, 14, 7);
	packet->n += 4;
}

#endif
