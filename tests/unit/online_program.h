/* SPDX-License-Identifier: Apache-2.0 */
/* online_program.h - a program that alternately computes and sends, as bytes per ms */
#ifndef TESTS_UNIT_ONLINE_PROGRAM_H
#define TESTS_UNIT_ONLINE_PROGRAM_H

#include "lib/base/rng.h"
#include "tests/unit/frames.h"

#define T0 INT64_C(60000000)

/* Iterations of period_ms, starting at since_ms. */
struct program {
	int64_t period_ms, busy_ms, since_ms;
	uint32_t bytes;
};

static inline uint32_t
program(const void *ctx, int64_t ms)
{
	const struct program *p = ctx;
	/* Jitter of the start, up to 4 %, determined by the number of the iteration. */
	int64_t k = (ms - p->since_ms) / p->period_ms;
	int64_t late = (int64_t)(rng_mix((uint64_t)k) % 5) * p->period_ms / 125;
	int64_t at = (ms - p->since_ms) - k * p->period_ms - late;

	return at >= 0 && at < p->busy_ms ? p->bytes : 0;
}

#endif
