/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rec.c - bytes as recordings, plain or packed: reading ends, and each byte
 * belongs to a frame or a first line, or was skipped
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/rec.h"
#include "lib/wire/tele.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct tele_frame frame = { 0 };
	struct rec_reader *reader;
	const struct rec_counts *counts;
	struct err err = { 0 };
	char path[32];
	int result;

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (rec_reader_open(path, &reader, &err) == 0) {
		do {
			result = rec_read(reader, &frame, NULL, NULL, &err);
		} while (result > 0);
		BUG_ON(result < 0 && !err.text[0]);
		counts = rec_reader_counts(reader);
		/* Unpacked, it may be larger than the input. */
		if (size < 6 || memcmp(data,
				       "\xfd"
				       "7zXZ",
				       6) != 0)
			BUG_ON(counts->bytes + counts->skipped_bytes > size);
		BUG_ON(counts->damaged > counts->skipped_bytes);
		rec_reader_close(reader);
	}
	close(fd);
	tele_fini(&frame);
	return 0;
}
