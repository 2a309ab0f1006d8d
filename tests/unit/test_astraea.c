/* SPDX-License-Identifier: Apache-2.0 */
/* test_astraea.c - users and jobs with the least of what they deserved come first */
#include "tests/unit/policy_lab.h"

#define LEASE_S 900

static uint32_t
submit(struct policy_lab *lab, uint32_t user, uint32_t n_gpus, double duration_s)
{
	return lab_add(lab, (struct pol_job){ .submit_s = lab->view.now_s,
					      .since_s = lab->view.now_s,
					      .user = user,
					      .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .duration_s = duration_s,
					      .remaining_s = duration_s,
					      .first_s = NAN });
}

/* Lets time pass: running jobs get their service. */
static void
pass(struct policy_lab *lab, double dt_s)
{
	lab->view.now_s += dt_s;
	for (uint32_t i = 0; i < lab->view.n_jobs; i++) {
		struct pol_job *job = &lab->jobs[lab->ids[i]];

		job->attained_s += job->n_held_gpus * dt_s;
		job->executed_s += job->n_pieces ? dt_s : 0;
	}
}

static bool
runs(const struct policy_lab *lab, uint32_t id)
{
	return pol_plan_find(&lab->plans[0], id) != NULL;
}

static void
users_with_many_jobs_get_no_more(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	for (uint32_t i = 0; i < 3; i++)
		submit(&lab, 0, 8, 1e6);
	submit(&lab, 1, 8, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 0) && runs(&lab, 3));
	assert_true(!runs(&lab, 1) && !runs(&lab, 2));
	lab_fini(&lab);
}

/* A user whose jobs had all GPUs for a lease waits for one that had none. */
static void
a_user_that_had_much_waits(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	submit(&lab, 0, 16, 1e6);
	submit(&lab, 1, 16, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 0));
	lab_carry_out(&lab);
	/* It holds a lease. */
	pass(&lab, LEASE_S / 2);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 0));
	lab_carry_out(&lab);
	pass(&lab, LEASE_S / 2);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 1));
	lab_fini(&lab);
}

static void
of_a_user_the_job_that_had_least_is_first(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	submit(&lab, 0, 16, 1e6);
	submit(&lab, 0, 16, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 0));
	lab_carry_out(&lab);
	pass(&lab, LEASE_S);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 1));
	lab_fini(&lab);
}

/* Ended jobs of 8 GPUs were short, those of 12 long. */
static void
end_ten(struct policy_lab *lab)
{
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t id = submit(lab, 0, i < 5 ? 8 : 12, i < 5 ? 100 : 1e6);

		lab_plan(lab, 1);
		lab_finish(lab, id);
	}
}

static void
in_a_class_the_job_that_may_end_is_first(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	end_ten(&lab);
	submit(&lab, 0, 12, 1e6);
	submit(&lab, 0, 8, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 11) && !runs(&lab, 10));
	lab_fini(&lab);
}

/* The same jobs; the first has waited for four hours. */
static void
a_job_that_starves_is_first(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	end_ten(&lab);
	submit(&lab, 0, 12, 1e6);
	pass(&lab, 14400);
	submit(&lab, 0, 8, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 10) && !runs(&lab, 11));
	lab_fini(&lab);
}

/* What a user had more than a day ago does not count. */
static void
a_day_is_remembered(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "astraea", NULL);
	submit(&lab, 0, 16, 1e6);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	policy_taken(lab.policy, &lab.view, &lab.plans[0]);
	pass(&lab, 3600);
	lab_finish(&lab, 0);
	lab_plan(&lab, 1);
	lab_carry_out(&lab);
	pass(&lab, 3600);
	submit(&lab, 0, 16, 1e6);
	submit(&lab, 1, 16, 1e6);
	lab_plan(&lab, 1);
	assert_true(runs(&lab, 2));
	pass(&lab, 25 * 3600);
	lab_plan(&lab, 1);
	/* Equal again: by number. */
	assert_true(runs(&lab, 1));
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_with_many_jobs_get_no_more),
		cmocka_unit_test(a_user_that_had_much_waits),
		cmocka_unit_test(of_a_user_the_job_that_had_least_is_first),
		cmocka_unit_test(in_a_class_the_job_that_may_end_is_first),
		cmocka_unit_test(a_job_that_starves_is_first),
		cmocka_unit_test(a_day_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
