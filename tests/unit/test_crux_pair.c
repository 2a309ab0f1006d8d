/* SPDX-License-Identifier: Apache-2.0 */
/* test_crux_pair.c - Crux's published example, and pairs against a simulation in steps */
#include <stdbool.h>

#include "lib/base/rng.h"
#include "sim/baselines/crux_pair.h"
#include "tests/unit/test.h"

/* The example of the paper, section 4.2. */
static const struct crux_pattern first = { 2, 2, 2 }, second = { 1, 1, 1 };

/* The share of an iteration in which a job computes, by the share in which it sends. */
static double
utilization(const struct crux_pattern *job, double sends)
{
	return sends / job->network_s * job->compute_s;
}

static void
the_published_example_is_exact(void **state)
{
	(void)state;
	/* Intensities are 10 / 2 and 5 / 1: equal. */
	assert_near(crux_pair_factor(&first, &second), 1.5, 0);
	assert_near(crux_pair_factor(&first, &first), 1, 0);
	assert_near((utilization(&first, crux_pair_alone(&first)) +
		     utilization(&second, crux_pair_behind(&second, &first))) /
			    2,
		    0.375, 0);
	assert_near((utilization(&first, crux_pair_behind(&first, &second)) +
		     utilization(&second, crux_pair_alone(&second))) /
			    2,
		    5.0 / 12, 1e-15);
}

/*
 * The same from first principles: time in whole ticks, one tick of the link for the job
 * with priority if it wants it.  'begin' is when the other job starts.
 */
static double
behind_in_ticks(const uint32_t *low, const uint32_t *high, uint32_t begin)
{
	const uint32_t period =
		high[0] > high[1] + high[2] ? high[0] : high[1] + high[2];
	uint64_t used = 0, total = 600000, since = begin;
	uint32_t sent = 0;

	for (uint64_t now = begin; now < total; now++) {
		uint64_t phase = now % period;
		bool taken = phase >= high[1] && phase < high[1] + high[2];

		if (now - since >= low[1] && sent < low[2] && !taken) {
			sent++;
			used++;
		}
		if (sent == low[2] && now + 1 - since >= low[0]) {
			since = now + 1;
			sent = 0;
		}
	}
	return (double)used / (double)(total - begin);
}

static void
pairs_are_as_simulated_in_ticks_from_any_phase(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 14);
	for (int i = 0; i < 150; i++) {
		uint32_t ticks[2][3];
		struct crux_pattern jobs[2];

		for (int k = 0; k < 2; k++) {
			ticks[k][0] = 1 + (uint32_t)rng_below(&rng, 40);
			ticks[k][1] = (uint32_t)rng_below(&rng, ticks[k][0] + 1);
			ticks[k][2] = 1 + (uint32_t)rng_below(&rng, 30);
			jobs[k] = (struct crux_pattern){ ticks[k][0] * 0.1,
							 ticks[k][1] * 0.1,
							 ticks[k][2] * 0.1 };
		}
		assert_near(crux_pair_behind(&jobs[0], &jobs[1]),
			    behind_in_ticks(ticks[0], ticks[1],
					    (uint32_t)rng_below(&rng, 70)),
			    5e-4);
	}
}

static void
a_job_that_leaves_nothing_gets_the_largest_factor(void **state)
{
	const struct crux_pattern full = { 1, 0, 2 }, silent = { 1, 1, 0 };

	(void)state;
	assert_near(crux_pair_behind(&first, &full), 0, 0);
	assert_near(crux_pair_factor(&first, &full), CRUX_PAIR_MAX_FACTOR, 0);
	assert_near(crux_pair_factor(&first, &silent), 1, 0);
	assert_near(crux_pair_factor(&silent, &first), 1, 0);
	assert_near(crux_pair_behind(&first, &silent), 0.5, 0);
	assert_near(crux_pair_alone(&silent), 0, 0);
}

static void
periods_without_a_common_multiple_end(void **state)
{
	const struct crux_pattern low = { sqrt(2), sqrt(2) / 2, 0.3 },
				  high = { 1, 0.6, 0.4 };
	double share = crux_pair_behind(&low, &high);

	(void)state;
	/* Between alone, and what the other leaves. */
	assert_true(share > 0.1 && share <= crux_pair_alone(&low) + 1e-12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_example_is_exact),
		cmocka_unit_test(pairs_are_as_simulated_in_ticks_from_any_phase),
		cmocka_unit_test(a_job_that_leaves_nothing_gets_the_largest_factor),
		cmocka_unit_test(periods_without_a_common_multiple_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
