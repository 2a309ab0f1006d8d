/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_archive.c - bytes as an archive, of which a member is read forward */
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/instream.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define MAX_BYTES 1000000

static void
read_all(const char *path)
{
	struct instream *stream;
	struct err err = { 0 };
	static uint8_t bytes[4096];
	ssize_t n = 1;

	if (instream_open_member(path, &stream, &err) < 0) {
		BUG_ON(!err.text[0]);
		return;
	}
	for (size_t sum = 0; sum < MAX_BYTES && n > 0; sum += (size_t)n) {
		n = instream_read(stream, bytes, sizeof bytes, &err);
		BUG_ON(n > (ssize_t)sizeof bytes || (n < 0 && !err.text[0]));
		if (n < 0)
			break;
	}
	instream_close(stream);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file memory;
	char member[64];

	snprintf(member, sizeof member, "%s:a", memory_file_set(&memory, data, size));
	read_all(member);
	read_all(memory.path);
	return 0;
}
