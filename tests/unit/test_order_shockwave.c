/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_order_shockwave.c - plans of rounds: what utility, makespan and fairness ask for
 */
#include "policies/regimes.h"
#include "tests/unit/policy_lab.h"

#define ROUND_S 120

static void
begin(struct policy_lab *lab, const char *set, const char *other)
{
	const char *const sets[] = { set, other };
	const struct policy_opts opts = { .sets = sets,
					  .n_sets = other ? 2 : 1,
					  .round_s = ROUND_S,
					  .restart_s = NAN };

	lab_init(lab, "shockwave", &opts);
}

/* Carries out a round, in which jobs progress; returns the job that ran, if it was one. */
static uint32_t
run_round(struct policy_lab *lab)
{
	uint32_t job;

	lab_plan(lab, 1);
	lab_carry_out(lab);
	for (size_t i = 0; i < lab->plans[0].grants.n; i++)
		lab->jobs[lab->plans[0].grants.items[i].job].remaining_s -= ROUND_S;
	lab->view.now_s += ROUND_S;
	job = lab->plans[0].grants.n ? lab->plans[0].grants.items[0].job : POL_NONE;
	return lab->plans[0].grants.n == 1 ? job : POL_NONE;
}

/*
 * Two jobs on all GPUs.  A round is a fifth of the short one's work, and worth 0.3 of
 * utility; the next ones are worth less than what the makespan of the long one costs.
 */
static void
a_short_job_begins_then_the_makespan_counts(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, "shockwave.makespan_weight=1e-3", NULL);
	lab_submit(&lab, 16, 16, 60000);
	lab_submit(&lab, 16, 16, 600);
	assert_int_equal(run_round(&lab), 1);
	for (int i = 0; i < 7; i++)
		assert_int_equal(run_round(&lab), 0);
	lab_fini(&lab);
}

static void
without_a_makespan_the_short_job_goes_on(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, "shockwave.makespan_weight=0", NULL);
	lab_submit(&lab, 16, 16, 60000);
	lab_submit(&lab, 16, 16, 600);
	for (int i = 0; i < 5; i++)
		assert_int_equal(run_round(&lab), 1);
	lab_fini(&lab);
}

/* A job that had no time for ten times its duration is late; power 0: it is not heard. */
static void
a_late_job_goes_first(void **state)
{
	(void)state;
	for (int power = 0; power <= 12; power += 12) {
		struct policy_lab lab;

		begin(&lab,
		      power ? "shockwave.fairness_power=12"
			    : "shockwave.fairness_power=0",
		      "shockwave.replan_rounds=1");
		lab_submit(&lab, 16, 16, 60000);
		lab_submit(&lab, 16, 16, 1200);
		lab.jobs[1].remaining_s = 700;
		lab_plan(&lab, 1);
		lab.view.now_s = 12000;
		assert_int_equal(run_round(&lab), power ? 1 : 0);
		lab_fini(&lab);
	}
}

static void
an_arrival_changes_the_plan(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, "shockwave.replan_rounds=20", NULL);
	lab_submit(&lab, 16, 16, 60000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(run_round(&lab), 0);
	lab_submit(&lab, 16, 16, 600);
	assert_int_equal(run_round(&lab), 1);
	lab_fini(&lab);
}

/* Two jobs of 6 GPUs leave four, which one of 4 GPUs uses. */
static void
no_gpus_are_left_that_a_job_could_use(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, "shockwave.window_rounds=1", NULL);
	for (int i = 0; i < 4; i++)
		lab_submit(&lab, 6, 6, 1000 * (i + 1));
	lab_submit(&lab, 4, 4, 9000);
	lab_submit(&lab, 4, 4, 900);
	lab_plan(&lab, 1);
	assert_int_equal(lab.plans[0].grants.n, 3);
	lab_fini(&lab);
}

/* Job 0 is in its second regime, which is ten times as fast as the first. */
static bool
report(void *ctx, const struct pol_job *job, struct regimes *ret_regimes)
{
	(void)ctx;
	*ret_regimes = (struct regimes){ .n = 2,
					 .now = 1,
					 .n_epochs = 20,
					 .epoch_s = { 100, 10 },
					 .n_done = { 10, 5 } };
	return job->id == 0;
}

/* Of two equal jobs, the one with large batches has less left: the other one runs. */
static void
large_batches_shorten_what_is_left(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, "shockwave.makespan_weight=1", "shockwave.window_rounds=1");
	lab_submit(&lab, 16, 16, 1100);
	lab_submit(&lab, 16, 16, 1100);
	lab.jobs[0].remaining_s = lab.jobs[1].remaining_s = 600;
	lab_plan(&lab, 1);
	assert_non_null(pol_plan_find(&lab.plans[0], 0));
	lab_fini(&lab);
	begin(&lab, "shockwave.makespan_weight=1", "shockwave.window_rounds=1");
	lab.view.report.regimes = report;
	lab_submit(&lab, 16, 16, 1100);
	lab_submit(&lab, 16, 16, 1100);
	lab.jobs[0].remaining_s = lab.jobs[1].remaining_s = 600;
	lab_plan(&lab, 1);
	assert_non_null(pol_plan_find(&lab.plans[0], 1));
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_job_begins_then_the_makespan_counts),
		cmocka_unit_test(without_a_makespan_the_short_job_goes_on),
		cmocka_unit_test(a_late_job_goes_first),
		cmocka_unit_test(an_arrival_changes_the_plan),
		cmocka_unit_test(no_gpus_are_left_that_a_job_could_use),
		cmocka_unit_test(large_batches_shorten_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
