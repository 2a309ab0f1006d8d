/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - a main() that runs a fuzz target on the given files, so that seeds and
 * kept crashers are tested wherever the tests are built
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT_BYTES (16u << 20)

int
main(int argc, char **argv)
{
	uint8_t *buffer = xcalloc(MAX_INPUT_BYTES, 1);

	for (int i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "rb");
		uint8_t *data;
		size_t size;

		if (!in) {
			perror(argv[i]);
			return 1;
		}
		size = fread(buffer, 1, MAX_INPUT_BYTES, in);
		fclose(in);
		/* Of the exact size, so that the sanitizer sees reads past the end. */
		data = xcalloc(size, 1);
		memcpy(data, buffer, size);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	free(buffer);
	printf("%d inputs replayed\n", argc - 1);
	return 0;
}
