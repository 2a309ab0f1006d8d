/* SPDX-License-Identifier: Apache-2.0 */
/* test_regimes.c - predictions of jobs whose batch size changes, by hand */
#include "policies/regimes.h"
#include "tests/unit/test.h"

static void
one_regime_lasts_as_long_as_it_says(void **state)
{
	struct regimes r = regimes_static(1000, 400);

	(void)state;
	assert_near(regimes_done(&r), 0.6, 1e-12);
	assert_near(regimes_done_s(&r), 600, 1e-9);
	assert_near(regimes_left_s(&r), 400, 1e-9);
	assert_near(regimes_epoch_s(&r), 1000, 1e-9);
	r = regimes_static(1000, 0);
	assert_near(regimes_left_s(&r), 0, 0);
}

/*
 * Ten epochs; three are over, the fourth is on, all with the small batch.  The prior has
 * five for each batch size, so the posterior parts are (5 + 4) / 14 and 5 / 14: of the
 * seven that remain, 90 / 14 - 3 with the small batch and 50 / 14 with the large one.
 */
static void
parts_follow_what_was_seen(void **state)
{
	const struct regimes r = { .n = 2,
				   .now = 0,
				   .n_epochs = 10,
				   .epoch_s = { 10, 5 },
				   .n_done = { 3, 0 } };

	(void)state;
	assert_near(regimes_done(&r), 0.3, 1e-12);
	assert_near(regimes_done_s(&r), 30, 1e-12);
	assert_near(regimes_left_s(&r), 10 * (90. / 14 - 3) + 5 * 50. / 14, 1e-9);
}

/* Nine of ten epochs with the small batch; 100 / 20 of the other were expected. */
static void
a_regime_that_lasts_too_long_leaves_the_rest_to_others(void **state)
{
	const struct regimes r = { .n = 2,
				   .now = 0,
				   .n_epochs = 10,
				   .epoch_s = { 10, 5 },
				   .n_done = { 9, 0 } };

	(void)state;
	/* (5 + 10) / 20 of 10 epochs is less than nine: none is left of it. */
	assert_near(regimes_left_s(&r), 5, 1e-9);
	assert_near(regimes_epoch_s(&r), 10, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_regime_lasts_as_long_as_it_says),
		cmocka_unit_test(parts_follow_what_was_seen),
		cmocka_unit_test(
			a_regime_that_lasts_too_long_leaves_the_rest_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
