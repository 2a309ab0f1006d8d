/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - the entry point of a fuzz target, called by libFuzzer and by replay.c */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a string, to be freed; 'data' may be NULL if 'size' is 0. */
static inline char *
fuzz_text(const uint8_t *data, size_t size)
{
	return xstrndup(size ? (const char *)data : "", size);
}

#endif
