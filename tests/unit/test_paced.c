/* What a job is like alone, from what its pacer tells while others are in its way. */
#include "scheduler/core/profile/profile.h"
#include "scheduler/daemon/paced.h"
#include "tests/unit/test.h"

#define MS   1000000
#define LINE 3e8

/* 'n' iterations of so much computing; every third sends undisturbed, in 80 ms. */
static void
run(struct paced *paced, uint64_t from, uint64_t n, int64_t compute_ms)
{
	static int64_t now_ms = 1000;
	int64_t comm_ms = 0;

	for (uint64_t i = from; i < from + n; i++) {
		paced_add(paced, i, now_ms * MS, (now_ms + 5) * MS, comm_ms * MS);
		comm_ms = i % 3 == 0 ? 80 : 160;
		now_ms += 5 + comm_ms + compute_ms;
	}
}

static void
contention_and_our_own_delays_are_left_out(void **state)
{
	struct profile profile = { .period_us = 420000, .bytes_per_iteration = 3e6 };
	struct paced paced = { .n = 0 };

	(void)state;
	run(&paced, 0, 11, 270);
	assert_false(paced_profile(&paced, LINE, &profile));
	assert_int_equal(profile.period_us, 420000);
	run(&paced, 11, 20, 270);
	assert_true(paced_profile(&paced, LINE, &profile));
	assert_int_equal(profile.period_us, 350000);
	assert_int_equal(profile.jitter_us, 0);
	assert_int_equal(profile.n_phases, 1);
	assert_int_equal(profile.phases[0].start_us, 0);
	assert_int_equal(profile.phases[0].duration_us, 80000);
	assert_near(profile.phases[0].rate_bps, LINE, 1);
	profile_fini(&profile);
}

static void
another_compute_time_is_seen_when_most_have_it(void **state)
{
	struct profile profile = { .bytes_per_iteration = 3e6 };
	struct paced paced = { .n = 0 };

	(void)state;
	run(&paced, 0, 40, 270);
	run(&paced, 40, 16, 351);
	assert_true(paced_profile(&paced, LINE, &profile));
	assert_int_equal(profile.period_us, 431000);
	profile_fini(&profile);
}

static void
what_cannot_be_is_left_out(void **state)
{
	struct paced paced = { .n = 0 };

	(void)state;
	run(&paced, 0, 5, 270);
	assert_int_equal(paced.n, 4);
	/* A hole, time that goes back, more in collectives than there was time. */
	paced_add(&paced, 9, INT64_C(90000) * MS, INT64_C(90000) * MS, 80 * MS);
	paced_add(&paced, 10, INT64_C(80000) * MS, INT64_C(80000) * MS, 80 * MS);
	paced_add(&paced, 11, INT64_C(80300) * MS, INT64_C(80300) * MS, 900 * MS);
	paced_add(&paced, 12, INT64_C(80600) * MS, INT64_C(80600) * MS, 0);
	assert_int_equal(paced.n, 4);
}

static void
collectives_that_are_mostly_waiting_say_nothing(void **state)
{
	struct profile profile = { .period_us = 7, .bytes_per_iteration = 1e6 };
	struct paced paced = { .n = 0 };

	(void)state;
	run(&paced, 0, 40, 270);
	/* 1 MB takes a third of the 80 ms. */
	assert_false(paced_profile(&paced, LINE, &profile));
	assert_false(paced_profile(&paced, 0, &profile));
	assert_int_equal(profile.period_us, 7);
	assert_null(profile.phases);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contention_and_our_own_delays_are_left_out),
		cmocka_unit_test(another_compute_time_is_seen_when_most_have_it),
		cmocka_unit_test(what_cannot_be_is_left_out),
		cmocka_unit_test(collectives_that_are_mostly_waiting_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
