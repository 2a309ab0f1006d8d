/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/rng.h"

#include <math.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

uint64_t
rng_mix(uint64_t x)
{
	x += GOLDEN_GAMMA;
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

void
rng_init(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->state[i] = rng_mix(seed + (uint64_t)i * GOLDEN_GAMMA);
}

void
rng_init_stream(struct rng *ret_child, uint64_t seed, uint64_t stream)
{
	rng_init(ret_child, rng_mix(seed) ^ rng_mix(~stream));
}

static uint64_t
rotate_left(uint64_t x, int n)
{
	return (x << n) | (x >> (64 - n));
}

uint64_t
rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t
rng_below(struct rng *rng, uint64_t n)
{
	/* Values below 2^64 mod n would make the small remainders likelier. */
	uint64_t threshold = -n % n;

	for (;;) {
		uint64_t x = rng_next(rng);

		if (x >= threshold)
			return x % n;
	}
}

void
rng_shuffle(struct rng *rng, uint32_t *items, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = rng_below(rng, i);
		uint32_t item = items[i - 1];

		items[i - 1] = items[k];
		items[k] = item;
	}
}

double
rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double
rng_normal(struct rng *rng)
{
	double u = 1 - rng_uniform(rng); /* In (0, 1]: its logarithm is finite. */
	double v = rng_uniform(rng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}
