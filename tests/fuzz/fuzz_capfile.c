/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_capfile.c - bytes as a capture file: packets stay within their lengths */
#include <stdlib.h>

#include "collector/sources/packets/capfile.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define MAX_PACKETS 1000

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file memory;
	struct capfile_packet packet;
	struct capfile *file;
	struct err err = { 0 };
	unsigned sum = 0;
	int r = 1;

	log_set_level(LOG_LEVEL_ERR);
	if (capfile_open(memory_file_set(&memory, data, size), &file, &err) < 0) {
		BUG_ON(!err.text[0]);
		return 0;
	}
	for (int i = 0; i < MAX_PACKETS && r == 1; i++) {
		r = capfile_next(file, &packet, &err);
		for (size_t k = 0; r == 1 && k < packet.n; k++)
			sum += packet.bytes[k];
	}
	/* Otherwise the sum would not be computed. */
	BUG_ON(sum == UINT32_MAX);
	capfile_close(file);
	return 0;
}
