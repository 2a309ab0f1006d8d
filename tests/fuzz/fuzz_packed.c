/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packed.c - bytes as packed files: output is terminated and within the limit */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define MAX_BYTES 100000

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	struct err err = { 0 };
	size_t length = 0;
	char *text = NULL;

	if (file_read(memory_file_set(&file, data, size), MAX_BYTES, &text, &length,
		      &err) == 0) {
		BUG_ON(!text || length > MAX_BYTES || text[length]);
		free(text);
	} else {
		BUG_ON(text || !err.text[0]);
	}
	return 0;
}
