/* SPDX-License-Identifier: Apache-2.0 */
/* test_fairness.c - GPU time of users and jobs over what they deserved, by hand */
#include <math.h>

#include "sim/replay/fairness.h"
#include "tests/unit/test.h"

#define NEAR 1e-12

static struct cluster_job
job_of(uint32_t user, double submit_s, uint32_t n_gpus)
{
	return (struct cluster_job){ .user = user,
				     .submit_s = submit_s,
				     .n_gpus = n_gpus };
}

static struct cluster_result
result_of(double end_s, double attained_s)
{
	return (struct cluster_result){ .end_s = end_s, .attained_s = attained_s };
}

static bool
is_near(double a, double b)
{
	return fabs(a - b) < NEAR;
}

/*
 * 8 GPUs, two users, quota 4.  User 0 has a job of 8 GPUs, 100 s on them: it deserved
 * 400, and had 800.  User 1's job of 4 GPUs waits for 100 s, then runs 100 s: it
 * deserved 800, and had 400.
 */
static void
a_user_that_waits_has_less_than_it_deserved(void **state)
{
	const struct cluster_job jobs[] = { job_of(0, 0, 8), job_of(1, 0, 4) };
	const struct cluster_result results[] = { result_of(100, 800),
						  result_of(200, 400) };
	struct fairness f = fairness_of(jobs, results, 2, 8, INFINITY);

	(void)state;
	assert_int_equal(f.n_users, 2);
	assert_true(is_near(f.user_least, 0.5) && is_near(f.user_mean, 1.25));
	assert_true(is_near(f.job_least, 0.5) && is_near(f.job_mean, 1.25));
}

/*
 * One user, quota 8.  Jobs of 8 and of 2 GPUs: while both are there, each deserves up to
 * 4.  The first runs from 0 to 10, the second waits and runs from 10 to 20.
 */
static void
jobs_of_a_user_share_its_quota(void **state)
{
	const struct cluster_job jobs[] = { job_of(7, 0, 8), job_of(7, 0, 2) };
	const struct cluster_result results[] = { result_of(10, 80),
						  result_of(20, 20) };
	struct fairness f = fairness_of(jobs, results, 2, 8, INFINITY);

	(void)state;
	/* The first deserved 40, the second 2 x 20. */
	assert_true(is_near(f.job_least, 0.5) && is_near(f.job_mean, 1.25));
	/* The user deserved 8 x 10 and 2 x 10, and had that. */
	assert_true(is_near(f.user_least, 1) && is_near(f.user_mean, 1));
}

static void
jobs_that_have_not_ended_count_until_then(void **state)
{
	const struct cluster_job jobs[] = { job_of(0, 10, 4), job_of(POL_NONE, 0, 4) };
	const struct cluster_result results[] = { result_of(NAN, 20),
						  result_of(5, 20) };
	struct fairness f = fairness_of(jobs, results, 2, 8, 20);

	(void)state;
	assert_int_equal(f.n_users, 1);
	assert_true(is_near(f.user_least, 0.5) && is_near(f.job_mean, 0.5));
}

static void
without_users_there_is_none(void **state)
{
	const struct cluster_job job = job_of(POL_NONE, 0, 4);
	const struct cluster_result result = result_of(5, 20);
	struct fairness f = fairness_of(&job, &result, 1, 8, INFINITY);

	(void)state;
	assert_int_equal(f.n_users, 0);
	assert_true(isnan(f.user_least) && isnan(f.job_mean));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_that_waits_has_less_than_it_deserved),
		cmocka_unit_test(jobs_of_a_user_share_its_quota),
		cmocka_unit_test(jobs_that_have_not_ended_count_until_then),
		cmocka_unit_test(without_users_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
