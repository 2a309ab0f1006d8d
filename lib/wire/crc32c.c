/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/crc32c.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Remainders of all 4-bit values, for the reflected polynomial. */
static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t
crc32c_portable(uint32_t crc, const uint8_t *bytes, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ nibbles[crc & 15];
		crc = crc >> 4 ^ nibbles[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t n)
{
	uint64_t wide = ~crc;

	for (; n >= 8; bytes += 8, n -= 8) {
		uint64_t word;

		memcpy(&word, bytes, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	for (; n; bytes++, n--)
		crc = _mm_crc32_u8(crc, *bytes);
	return ~crc;
}
#endif

uint32_t
crc32c(uint32_t crc, const uint8_t *bytes, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, bytes, n);
#endif
	return crc32c_portable(crc, bytes, n);
}
