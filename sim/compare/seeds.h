/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.h - lists of numbers on the command line: "1..10", "1,2,5". */
#ifndef SIM_COMPARE_SEEDS_H
#define SIM_COMPARE_SEEDS_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* A vector as of lib/base/vec.h. */
struct seeds {
	uint64_t *items; /* Owned.  In the order of the text. */
	size_t n, capacity;
};

/*
 * Reads at most 'max' numbers, each once: a repeated seed would make intervals too
 * narrow.  'what' names them in messages: "seed". Returns 0, or -EINVAL with 'err'
 * filled; release with vec_free() in either case.
 */
int seeds_read(const char *text, const char *what, size_t max, struct seeds *ret_seeds,
	       struct err *err);

#endif
