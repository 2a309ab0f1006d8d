/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.h - pseudorandom numbers, the same on every machine for a seed.
 *
 * xoshiro256** by Blackman and Vigna (public domain algorithm), seeded through
 * splitmix64. Not for secrets.
 */
#ifndef LIB_BASE_RNG_H
#define LIB_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state[4];
};

/* One step of splitmix64: a good 64-bit mixer, also used as a hash. */
uint64_t rng_mix(uint64_t x);

void rng_init(struct rng *rng, uint64_t seed);

/*
 * Seeds an independent stream number 'stream' of 'seed', so that the numbers of one job
 * do not depend on other jobs.
 */
void rng_init_stream(struct rng *ret_child, uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);

/* Uniform in [0, n), without bias; n at least 1. */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Shuffles uniformly (Fisher and Yates) with n - 1 draws. */
void rng_shuffle(struct rng *rng, uint32_t *items, size_t n);

/* Uniform in [0, 1), 53 bits. */
double rng_uniform(struct rng *rng);

/* Normal with mean 0 and standard deviation 1 (Box-Muller, one per call). */
double rng_normal(struct rng *rng);

#endif
