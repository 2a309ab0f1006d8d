/*
 * replay.c - a fuzz target without the fuzzer: feeds it each file given, so that
 * seeds and kept crashers are tested wherever the tests are built.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

#define MAX_INPUT_BYTES (16u << 20)

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "rb");
		uint8_t *data = malloc(MAX_INPUT_BYTES);
		size_t size;

		if (!in || !data) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, MAX_INPUT_BYTES, in);
		fclose(in);
		/* To its size, so that the sanitizer sees a read beyond the end. */
		data = realloc(data, size ? size : 1);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	printf("%d inputs replayed\n", argc - 1);
	return 0;
}
