/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - numbers to bytes and back: little endian of a fixed width, and varints (LEB128:
 * seven bits per byte, the lowest first, the top bit set on all bytes but the last)
 */
#ifndef LIB_WIRE_PACK_H
#define LIB_WIRE_PACK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PACK_MAX_VARINT 10 /* Bytes of the longest. */

static inline void
pack_u32_at(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof value);
}

static inline void
pack_u64_at(uint8_t *bytes, uint64_t value)
{
	value = htole64(value);
	memcpy(bytes, &value, sizeof value);
}

static inline uint32_t
unpack_u32_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return le32toh(value);
}

static inline uint64_t
unpack_u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof value);
	return le64toh(value);
}

/* Writes a varint; returns what is behind it. */
static inline uint8_t *
pack_varint_at(uint8_t *bytes, uint64_t value)
{
	while (value >= 0x80) {
		*bytes++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*bytes++ = (uint8_t)value;
	return bytes;
}

/* The bytes left to read.  At the first fault 'at' moves to 'end' and stays there. */
struct unpack {
	const uint8_t *at, *end;
	bool is_bad;
};

static inline void
unpack_fail(struct unpack *in)
{
	in->at = in->end;
	in->is_bad = true;
}

static inline size_t
unpack_left(const struct unpack *in)
{
	return (size_t)(in->end - in->at);
}

/* 'n' bytes, or NULL if fewer are left. */
static inline const uint8_t *
unpack_bytes(struct unpack *in, size_t n)
{
	const uint8_t *bytes = in->at;

	if (unpack_left(in) < n) {
		unpack_fail(in);
		return NULL;
	}
	in->at += n;
	return bytes;
}

static inline uint8_t
unpack_u8(struct unpack *in)
{
	const uint8_t *byte = unpack_bytes(in, 1);

	return byte ? *byte : 0;
}

static inline uint32_t
unpack_u32(struct unpack *in)
{
	const uint8_t *bytes = unpack_bytes(in, 4);

	return bytes ? unpack_u32_at(bytes) : 0;
}

static inline uint64_t
unpack_u64(struct unpack *in)
{
	const uint8_t *bytes = unpack_bytes(in, 8);

	return bytes ? unpack_u64_at(bytes) : 0;
}

/* 0 and a fault for what is cut off or does not fit 64 bits. */
static inline uint64_t
unpack_varint(struct unpack *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0; in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	unpack_fail(in);
	return 0;
}

/* A varint of at most 'max'; 0 and a fault for more. */
static inline uint64_t
unpack_varint_max(struct unpack *in, uint64_t max)
{
	uint64_t value = unpack_varint(in);

	if (value > max) {
		unpack_fail(in);
		return 0;
	}
	return value;
}

#endif
