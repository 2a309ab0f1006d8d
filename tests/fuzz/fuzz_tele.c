/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tele.c - bytes as frames, unchanged and with length and checksum corrected,
 * since the checksum would reject nearly all.  An accepted frame is within the limits,
 * and is the same after encoding and decoding.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/crc32c.h"
#include "lib/wire/pack.h"
#include "lib/wire/tele.h"
#include "lib/wire/tele_layout.h"
#include "tests/fuzz/fuzz.h"

static void
seal(uint8_t *bytes, size_t n)
{
	uint32_t crc;

	pack_u32_at(bytes + TELE_AT_MAGIC, TELE_MAGIC);
	bytes[TELE_AT_MAJOR] = TELE_VERSION_MAJOR;
	pack_u32_at(bytes + TELE_AT_LENGTH, (uint32_t)n);
	crc = crc32c(0, bytes, TELE_AT_CRC);
	crc = crc32c(crc, bytes + TELE_HEADER_BYTES, n - TELE_HEADER_BYTES);
	pack_u32_at(bytes + TELE_AT_CRC, crc);
}

/* The encoder aborts on a broken limit or rule. */
static void
check(const uint8_t *bytes, size_t n)
{
	static struct tele_frame frame, back;
	static struct tele_buffer once, twice;
	struct err err = { 0 };

	if (tele_decode(bytes, n, &frame, &err) < 0) {
		BUG_ON(!err.text[0]);
		BUG_ON(frame.host[0] || frame.interfaces.n || frame.bins.n);
		return;
	}
	once.n = twice.n = 0;
	tele_encode(&frame, &once);
	BUG_ON(tele_decode(once.bytes, once.n, &back, NULL) < 0);
	tele_encode(&back, &twice);
	BUG_ON(once.n != twice.n || memcmp(once.bytes, twice.bytes, once.n) != 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = xmemdup(data, size, 1);

	check(bytes, size);
	if (size >= TELE_HEADER_BYTES) {
		seal(bytes, size);
		check(bytes, size);
	}
	free(bytes);
	return 0;
}
