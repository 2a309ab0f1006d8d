/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - profiles: checks, sums, copies */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

/* A profile of 100 ms with the given phases, on the heap. */
static struct profile
profile_of(const struct profile_phase *phases, size_t n)
{
	return (struct profile){ .job = xstrdup("a"),
				 .period_us = 100000,
				 .n_phases = n,
				 .phases = xmemdup(phases, n, sizeof *phases) };
}

static void
check_fault(const struct profile_phase *phases, size_t n, const char *fault)
{
	struct profile p = profile_of(phases, n);
	const char *why = "nothing";

	assert_int_equal(profile_normalize(&p, &why), -EINVAL);
	if (!strstr(why, fault))
		fail_msg("'%s' does not say '%s'", why, fault);
	assert_int_equal(profile_normalize(&p, NULL), -EINVAL);
	profile_fini(&p);
}

static void
one_burst_is_what_somebody_declares(void **state)
{
	struct profile p;

	(void)state;
	profile_of_burst(250000, 100000, 4e9, &p);
	assert_int_equal(p.period_us, 250000);
	assert_int_equal(p.n_phases, 1);
	assert_int_equal(p.phases[0].start_us, 0);
	assert_int_equal(p.phases[0].duration_us, 100000);
	assert_near(p.bytes_per_iteration, 50e6, 1);
	assert_int_equal(p.n_iterations, 0);
	assert_int_equal(profile_normalize(&p, NULL), 0);
	profile_fini(&p);
	/* The rate is unknown. */
	profile_of_burst(PROFILE_MAX_PERIOD_US, PROFILE_MAX_PERIOD_US, 0, &p);
	assert_near(p.phases[0].rate_bps, 1e9, 0);
	assert_int_equal(profile_normalize(&p, NULL), 0);
	profile_fini(&p);
}

static void
normalizing_sorts_phases_and_counts_bytes(void **state)
{
	const struct profile_phase phases[] = { { 60000, 40000, 1e9 },
						{ 0, 10000, 2e9 } };
	struct profile p = profile_of(phases, 2);

	(void)state;
	assert_int_equal(profile_normalize(&p, NULL), 0);
	assert_int_equal(p.phases[0].start_us, 0);
	assert_int_equal(p.phases[1].start_us, 60000);
	assert_near(p.bytes_per_iteration, (40e6 + 20e6) / 8, 1e-3);
	assert_near(profile_mean_bps(&p), 0.6e9, 1);
	assert_near(profile_peak_bps(&p), 2e9, 0);
	profile_fini(&p);
	profile_fini(&p);
}

static void
phases_that_touch_are_not_an_overlap(void **state)
{
	const struct profile_phase phases[] = { { 50000, 50000, 1e9 },
						{ 0, 50000, 1e9 } };
	struct profile p = profile_of(phases, 2);

	(void)state;
	assert_int_equal(profile_normalize(&p, NULL), 0);
	profile_fini(&p);
}

static void
faulty_phases_are_named(void **state)
{
	(void)state;
	check_fault(&(struct profile_phase){ 100000, 1, 1 }, 1, "outside the period");
	check_fault(&(struct profile_phase){ -1, 1, 1 }, 1, "outside the period");
	check_fault(&(struct profile_phase){ 0, 0, 1 }, 1, "less than 1 us");
	check_fault(&(struct profile_phase){ 1, 100000, 1 }, 1,
		    "ends after the period");
	check_fault(&(struct profile_phase){ 1, INT64_MAX, 1 }, 1,
		    "ends after the period");
	check_fault(&(struct profile_phase){ 0, 1, 0 }, 1, "no rate");
	check_fault(&(struct profile_phase){ 0, 1, NAN }, 1, "no rate");
	check_fault(&(struct profile_phase){ 0, 1, INFINITY }, 1, "above");
	check_fault((struct profile_phase[]){ { 0, 10, 1 }, { 9, 10, 1 } }, 2,
		    "overlap");
}

static void
faulty_figures_are_named(void **state)
{
	const struct {
		struct profile profile;
		const char *fault;
	} cases[] = {
		{ { .period_us = 0 }, "period" },
		{ { .period_us = PROFILE_MAX_PERIOD_US + 1 }, "period" },
		{ { .period_us = 1, .period_error_us = -1 }, "error" },
		{ { .period_us = 1, .period_error_us = INT64_MAX }, "error" },
		{ { .period_us = 1, .jitter_us = -1 }, "jitter" },
		{ { .period_us = 1, .n_iterations = -1 }, "iterations" },
		{ { .period_us = 1, .confidence = 1.5 }, "confidence" },
		{ { .period_us = 1, .confidence = NAN }, "confidence" },
		{ { .period_us = 1, .bytes_per_iteration = -1 }, "bytes" },
		{ { .period_us = 1, .bytes_per_iteration = INFINITY }, "bytes" },
		{ { .period_us = 1, .n_phases = PROFILE_MAX_PHASES + 1 }, "64 phases" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct profile p = cases[i].profile;
		const char *why = "nothing";

		assert_int_equal(profile_normalize(&p, &why), -EINVAL);
		assert_non_null(strstr(why, cases[i].fault));
	}
}

static void
a_silent_job_has_no_rate_and_no_bytes(void **state)
{
	struct profile p = profile_of(NULL, 0);

	(void)state;
	assert_int_equal(profile_normalize(&p, NULL), 0);
	assert_near(profile_mean_bps(&p), 0, 0);
	assert_near(profile_peak_bps(&p), 0, 0);
	assert_near(p.bytes_per_iteration, 0, 0);
	profile_fini(&p);
}

static void
a_copy_shares_nothing_with_its_source(void **state)
{
	struct profile p = profile_of(&(struct profile_phase){ 0, 5, 7 }, 1), copy;

	(void)state;
	profile_copy(&p, &copy);
	profile_fini(&p);
	assert_string_equal(copy.job, "a");
	assert_int_equal(copy.phases[0].duration_us, 5);
	profile_fini(&copy);
	profile_copy(&p, &copy);
	assert_null(copy.job);
	assert_null(copy.phases);
}

static void
variation_counts_every_edge_of_the_circle_once(void **state)
{
	struct profile_phase phases[] = { { 0, 200, 4 },
					  { 200, 100, 10 },
					  { 700, 300, 4 } };
	struct profile p = { .period_us = 1000, .n_phases = 3, .phases = phases };

	(void)state;
	/* 4 > 10 > 0 > 4, and across the end 4 > 4. */
	assert_near(profile_variation_bps(&p), 6 + 10 + 4, 0);
	p.n_phases = 2;
	assert_near(profile_variation_bps(&p), 4 + 6 + 10, 0);
	p.n_phases = 0;
	assert_near(profile_variation_bps(&p), 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_burst_is_what_somebody_declares),
		cmocka_unit_test(normalizing_sorts_phases_and_counts_bytes),
		cmocka_unit_test(phases_that_touch_are_not_an_overlap),
		cmocka_unit_test(faulty_phases_are_named),
		cmocka_unit_test(faulty_figures_are_named),
		cmocka_unit_test(a_silent_job_has_no_rate_and_no_bytes),
		cmocka_unit_test(a_copy_shares_nothing_with_its_source),
		cmocka_unit_test(variation_counts_every_edge_of_the_circle_once),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
