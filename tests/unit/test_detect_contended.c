/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detect_contended.c - iterations whose time varies much, but whose bytes do not
 *
 * Two equal jobs share a link, as two TCP flows do: with unequal rates that change from
 * one iteration to the next, and with stalls.  Their iterations vary by a sixth, which
 * leaves hardly an autocorrelation.
 */
#include <math.h>

#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/detect.h"
#include "tests/unit/test.h"

#define N_BUCKETS      10000
#define MAX_ITERATIONS 400

/* In milliseconds and bytes a millisecond. */
struct contended {
	double compute_ms, jitter_ms; /* The jitter is exponential. */
	double bytes, link;
	double stall_frac; /* Chance of a stall of 5 to 40 ms in each millisecond. */
};

struct flow {
	double left_ms, left_bytes, weight;
	uint64_t stall_ms;
	size_t n;
	double starts[MAX_ITERATIONS];
};

static void
compute(const struct contended *c, struct rng *rng, struct flow *flow)
{
	double late = -log(1 - rng_uniform(rng)) - 1;

	flow->left_ms = fmax(c->compute_ms + c->jitter_ms * late, 5);
}

/* True if the flow sends in this millisecond. */
static bool
sends(const struct contended *c, struct rng *rng, struct flow *flow, size_t t)
{
	if (!(flow->left_bytes > 0) && --flow->left_ms <= 0) {
		flow->left_bytes = c->bytes;
		flow->weight = exp(0.8 * rng_normal(rng));
		if (flow->n < MAX_ITERATIONS)
			flow->starts[flow->n++] = (double)t;
	}
	if (!(flow->left_bytes > 0))
		return false;
	if (flow->stall_ms) {
		flow->stall_ms--;
		return true;
	}
	if (rng_uniform(rng) < c->stall_frac)
		flow->stall_ms = 5 + rng_below(rng, 36);
	return true;
}

/* Fills the traffic of the first of two jobs; returns its median iteration time, ms. */
static double
fill(const struct contended *c, uint64_t seed, float *x)
{
	struct flow flows[2] = { 0 };
	double times[MAX_ITERATIONS];
	struct rng rng;

	rng_init(&rng, seed);
	for (int j = 0; j < 2; j++)
		flows[j].left_ms = rng_uniform(&rng) * c->compute_ms;
	for (size_t t = 0; t < N_BUCKETS; t++) {
		double weights = 0;
		bool is_on[2];

		for (int j = 0; j < 2; j++) {
			is_on[j] = sends(c, &rng, &flows[j], t) && !flows[j].stall_ms;
			weights += is_on[j] ? flows[j].weight : 0;
		}
		for (int j = 0; j < 2; j++) {
			double bytes = c->link * flows[j].weight / weights;

			if (!is_on[j])
				continue;
			bytes = fmin(bytes, flows[j].left_bytes);
			flows[j].left_bytes -= bytes;
			if (j == 0)
				x[t] = (float)bytes;
			if (!(flows[j].left_bytes > 0))
				compute(c, &rng, &flows[j]);
		}
	}
	for (size_t k = 0; k + 1 < flows[0].n; k++)
		times[k] = flows[0].starts[k + 1] - flows[0].starts[k];
	return stats_median(times, flows[0].n - 1);
}

/* The number of 'n' windows of 10 s that have a period; fails for a wrong one. */
static size_t
count_found(const struct contended *c, uint64_t first_seed, size_t n)
{
	size_t n_found = 0;

	for (uint64_t seed = first_seed; seed < first_seed + n; seed++) {
		struct detection found;
		struct series_set set;
		double median_ms, ratio;

		series_init(&set, 1, N_BUCKETS);
		median_ms = fill(c, seed, series_row(&set, 0));
		if (detect_profile(&set, "x.csv", "a", &found, NULL) == 0) {
			ratio = (double)found.profile.period_us / 1e3 / median_ms;
			if (fabs(ratio - 1) > 0.1)
				fail_msg("seed %llu: %.3f of the iteration time",
					 (unsigned long long)seed, ratio);
			n_found++;
			detection_fini(&found);
		}
		series_fini(&set);
	}
	return n_found;
}

static const struct contended some_stalls = { 200, 20, 2e6, 25e3, 0.05 };
static const struct contended many_stalls = { 170, 30, 2.5e6, 25e3, 0.03 };
static const struct contended no_stalls = { 170, 30, 2.5e6, 25e3, 0 };
static const struct contended hardly_pauses = { 80, 30, 4e6, 25e3, 0 };

static void
iterations_of_equal_bytes_are_found_though_their_time_varies(void **state)
{
	(void)state;
	assert_true(count_found(&some_stalls, 1, 30) >= 20);
	assert_true(count_found(&no_stalls, 1, 30) >= 27);
	/* Where bursts run into each other it refuses most, and guesses none. */
	count_found(&hardly_pauses, 1, 20);
	count_found(&many_stalls, 1, 20);
}

/* Seeds where only the halves of what was found tell that it is two iterations. */
static void
two_iterations_are_not_taken_for_one(void **state)
{
	static const struct contended *const all[] = { &some_stalls, &many_stalls,
						       &no_stalls, &hardly_pauses };

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		count_found(all[i], 107, 1);
		count_found(all[i], 182, 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			iterations_of_equal_bytes_are_found_though_their_time_varies),
		cmocka_unit_test(two_iterations_are_not_taken_for_one),
	};

	return cmocka_run_group_tests_name("detect_contended", tests, NULL, NULL);
}
