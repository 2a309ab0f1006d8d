/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what libFuzzer calls, and replay.c: returns 0, or ends the process.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a terminated text; 'data' may be NULL if it is empty.  Free with free(). */
static inline char *
fuzz_text(const uint8_t *data, size_t size)
{
	return xstrndup(size ? (const char *)data : "", size);
}

#endif
