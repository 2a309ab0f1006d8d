/* SPDX-License-Identifier: Apache-2.0 */
/* test_order_key.c - orders by one key: the highest response ratio */
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

static void
put_nothing(struct strbuf *text, const struct pol_plan *plan,
	    const struct pol_grant *grant)
{
	(void)text;
	(void)plan;
	(void)grant;
}

static const char *
decide(struct policy_lab *lab, double now_s)
{
	const char *text;

	lab->view.now_s = now_s;
	text = lab_decide(lab, put_nothing);
	lab_carry_out(lab);
	return text;
}

/* All jobs have 16 GPUs, so that one runs at a time. */
static void
a_short_job_goes_first_until_a_long_one_has_waited_enough(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "hrrn", NULL);
	lab_submit(&lab, 16, 16, 50);
	assert_string_equal(decide(&lab, 0), "a 0:4 1:4 2:4 3:4");
	lab.view.now_s = 10;
	lab_submit(&lab, 16, 16, 100); /* b */
	lab.view.now_s = 40;
	lab_submit(&lab, 16, 16, 10); /* c */
	/* At 50: b has waited 0.4 of its running time, c 1. */
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab, 50), "c 0:4 1:4 2:4 3:4");
	lab.view.now_s = 59;
	lab_submit(&lab, 16, 16, 10); /* d */
	/* At 60: b 0.5, d 0.1. */
	lab_finish(&lab, 2);
	assert_string_equal(decide(&lab, 60), "b 0:4 1:4 2:4 3:4");
	lab_fini(&lab);
}

/* c would fit beside a, but b has waited longer for its size and is not overtaken. */
static void
a_job_that_does_not_fit_blocks_those_behind_it(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "hrrn", NULL);
	lab_submit(&lab, 8, 8, 100);
	assert_string_equal(decide(&lab, 0), "a 0:4 1:4");
	lab_submit(&lab, 16, 16, 100); /* b */
	lab.view.now_s = 10;
	lab_submit(&lab, 4, 4, 100); /* c */
	assert_string_equal(decide(&lab, 20), "a 0:4 1:4");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab, 100), "b 0:4 1:4 2:4 3:4");
	lab_fini(&lab);
}

/* Running jobs keep their GPUs, however high the ratio of a waiting job. */
static void
no_job_is_preempted(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "hrrn", NULL);
	lab_submit(&lab, 16, 16, 1000);
	assert_string_equal(decide(&lab, 0), "a 0:4 1:4 2:4 3:4");
	lab_submit(&lab, 16, 16, 1);
	assert_string_equal(decide(&lab, 900), "a 0:4 1:4 2:4 3:4");
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_short_job_goes_first_until_a_long_one_has_waited_enough),
		cmocka_unit_test(a_job_that_does_not_fit_blocks_those_behind_it),
		cmocka_unit_test(no_job_is_preempted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
