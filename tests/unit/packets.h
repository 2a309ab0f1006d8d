/* SPDX-License-Identifier: Apache-2.0 */
/* packets.h - packets built layer by layer, from the innermost to the outermost */
#ifndef TESTS_UNIT_PACKETS_H
#define TESTS_UNIT_PACKETS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Each layer is put in front of the existing bytes. */
struct frame {
	uint8_t room[512];
	size_t at; /* Offset of the first byte. */
};

static inline void
frame_begin(struct frame *f, size_t payload)
{
	memset(f, 0, sizeof *f);
	f->at = sizeof f->room - payload;
}

static inline const uint8_t *
frame_bytes(const struct frame *f)
{
	return f->room + f->at;
}

static inline size_t
frame_n(const struct frame *f)
{
	return sizeof f->room - f->at;
}

static inline uint8_t *
frame_front(struct frame *f, size_t n)
{
	f->at -= n;
	return f->room + f->at;
}

static inline void
put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void
put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xffff);
}

static inline void
frame_tcp(struct frame *f, unsigned from, unsigned to, uint32_t sequence)
{
	uint8_t *p = frame_front(f, 20);

	put16(p, from);
	put16(p + 2, to);
	put32(p + 4, sequence);
	p[12] = 5 << 4;
}

static inline void
frame_udp(struct frame *f, unsigned from, unsigned to)
{
	size_t n = frame_n(f);
	uint8_t *p = frame_front(f, 8);

	put16(p, from);
	put16(p + 2, to);
	put16(p + 4, (unsigned)n + 8);
}

static inline void
frame_ipv4(struct frame *f, int protocol, uint32_t from, uint32_t to, int tos)
{
	size_t n = frame_n(f);
	uint8_t *p = frame_front(f, 20);

	p[0] = 0x45;
	p[1] = (uint8_t)tos;
	put16(p + 2, (unsigned)n + 20);
	p[8] = 64;
	p[9] = (uint8_t)protocol;
	put32(p + 12, from);
	put32(p + 16, to);
}

/* IPv6 from fd00::FROM to fd00::TO. */
static inline void
frame_ipv6(struct frame *f, int next, unsigned from, unsigned to)
{
	size_t n = frame_n(f);
	uint8_t *p = frame_front(f, 40);

	p[0] = 0x60;
	put16(p + 4, (unsigned)n);
	p[6] = (uint8_t)next;
	p[8] = p[24] = 0xfd;
	put16(p + 22, from);
	put16(p + 38, to);
}

static inline void
frame_vlan(struct frame *f, unsigned inner_type)
{
	put16(frame_front(f, 4) + 2, inner_type);
}

static inline void
frame_ethernet(struct frame *f, unsigned type)
{
	put16(frame_front(f, 14) + 12, type);
}

/* ---- Capture files, in the byte order of this machine ---------------------------- */

#define FRAMES_MAGIC_NANO 0xa1b23c4du

static inline void
pcap_file_header(FILE *file, uint32_t link)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snaplen, link;
	} header = { FRAMES_MAGIC_NANO, 2, 4, 0, 0, 65535, link };

	fwrite(&header, sizeof header, 1, file);
}

/* Captures 'kept' bytes of the frame, which had 'length' bytes on the wire. */
static inline void
pcap_file_packet(FILE *file, int64_t time_ns, const struct frame *f, uint32_t kept,
		 uint32_t length)
{
	uint32_t header[4] = { (uint32_t)(time_ns / 1000000000),
			       (uint32_t)(time_ns % 1000000000), kept, length };

	fwrite(header, sizeof header, 1, file);
	fwrite(frame_bytes(f), kept, 1, file);
}

#endif
