/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_priority.c - jobs of different priority on one link: closed forms */
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

/* One link; a and b need 20 ms of it each, and begin together. */
static void
open_two_jobs(struct lab *lab, uint8_t priority_of_b)
{
	struct lab_job j;

	lab_open_link(lab);
	lab_job_init(&j, 0, PATH, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(lab, &j);
	j.job.priority = priority_of_b;
	lab_add(lab, &j);
}

static void
a_job_of_higher_priority_sends_first(void **state)
{
	struct lab lab;
	struct engine_point point;

	(void)state;
	open_two_jobs(&lab, 255);
	engine_run(lab.engine, 10 * MS);
	engine_job_point(lab.engine, 0, &point);
	assert_near(point.left[0], 1, 0);
	engine_point_fini(&point);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 1, 0), 20e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 0), 40e6, 1e-3);
	lab_close(&lab);
}

static void
a_new_priority_counts_at_once(void **state)
{
	struct lab lab;

	(void)state;
	open_two_jobs(&lab, 0);
	engine_job_set_priority(lab.engine, 0, 1);
	engine_run(lab.engine, 8 * MS); /* 0 has 12 of 20 ms left, 1 all. */
	engine_job_set_priority(lab.engine, 1, 2);
	engine_run(lab.engine, 12 * MS); /* 1 has 16 ms left. */
	engine_job_set_priority(lab.engine, 0, 2);
	engine_run(lab.engine, ENGINE_NEVER); /* Both at half the rate. */
	assert_near(lab_iteration_ns(&lab, 0, 0), 36e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 40e6, 1e-3);
	engine_job_set_priority(lab.engine, 0, 3); /* It has left: no effect. */
	lab_close(&lab);
}

static void
a_job_that_stops_lets_lower_ones_send(void **state)
{
	struct lab lab;
	struct lab_job j;

	(void)state;
	open_two_jobs(&lab, 0);
	lab_job_init(&j, 0, PATH, 1, 1e9);
	j.job.priority = 7;
	j.job.stop_ns = 5 * MS;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 0, 0), 45e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 45e6, 1e-3);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_of_higher_priority_sends_first),
		cmocka_unit_test(a_new_priority_counts_at_once),
		cmocka_unit_test(a_job_that_stops_lets_lower_ones_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
