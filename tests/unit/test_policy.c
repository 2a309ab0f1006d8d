/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c - the steps from jobs to a plan, mechanism by mechanism */
#include <math.h>
#include <string.h>

#include "tests/unit/policy_lab.h"

static void
submit(struct policy_lab *lab, uint32_t n_gpus, double duration_s)
{
	lab_submit(lab, n_gpus, n_gpus, duration_s);
}

static void
decide(struct policy_lab *lab)
{
	lab_plan(lab, 1);
	lab_carry_out(lab);
}

/* The running jobs: one letter each, in the order of service. */
static const char *
running(const struct policy_lab *lab)
{
	static char text[LAB_JOBS + 1];

	memset(text, 0, sizeof text);
	for (size_t i = 0; i < lab->plans[0].grants.n; i++)
		text[i] = (char)('a' + lab->plans[0].grants.items[i].job);
	return text;
}

/* ---- Fitting --------------------------------------------------------------------- */

static void
fifo_lets_nobody_pass_and_backfill_does(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "fifo", NULL);
	submit(&lab, 10, 100);
	submit(&lab, 8, 100);
	submit(&lab, 2, 100);
	decide(&lab);
	assert_string_equal(running(&lab), "a");
	lab_fini(&lab);
	lab_init(&lab, "fifo-backfill", NULL);
	submit(&lab, 10, 100);
	submit(&lab, 8, 100);
	submit(&lab, 2, 100);
	decide(&lab);
	assert_string_equal(running(&lab), "ac");
	/* A running job is not stopped, though an earlier job would fit then. */
	lab.view.now_s = 1;
	decide(&lab);
	assert_string_equal(running(&lab), "ac");
	lab_fini(&lab);
}

static void
srtf_stops_longer_ones_and_keeps_the_order_of_equals(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "srtf", NULL);
	submit(&lab, 8, 100);
	submit(&lab, 8, 100);
	submit(&lab, 8, 100);
	decide(&lab);
	assert_string_equal(running(&lab), "ab");
	submit(&lab, 16, 10);
	decide(&lab);
	assert_string_equal(running(&lab), "d");
	lab.jobs[2].remaining_s = 5;
	decide(&lab);
	assert_string_equal(running(&lab), "ca");
	lab_fini(&lab);
}

static void
jobs_are_demoted_when_they_have_attained_their_limit(void **state)
{
	static const char *const sets[] = { "2d-las.limit0=100", "2d-las.limit1=1000" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 2, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "2d-las", &opts);
	submit(&lab, 16, 1000);
	submit(&lab, 16, 1000);
	decide(&lab);
	assert_string_equal(running(&lab), "a");
	assert_float_equal(policy_wakeup_s(lab.policy, &lab.view), 6.25, 1e-9);
	lab.view.now_s = 6.25;
	lab.jobs[0].executed_s = 6.25;
	decide(&lab);
	assert_string_equal(running(&lab), "b");
	assert_float_equal(policy_wakeup_s(lab.policy, &lab.view), 12.5, 1e-9);
	/* A later job is served before both. */
	lab.view.now_s = 7;
	lab.jobs[1].executed_s = 0.75;
	submit(&lab, 16, 10);
	decide(&lab);
	assert_string_equal(running(&lab), "b");
	lab.view.now_s = 12.5;
	lab.jobs[1].executed_s = 6.25;
	decide(&lab);
	assert_string_equal(running(&lab), "c");
	lab_fini(&lab);
}

/* Shares of rounds: all jobs get the same time. */
static void
rounds_serve_who_has_had_least_and_keep_places(void **state)
{
	struct pol_piece was;
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "gavel-max-min", NULL);
	submit(&lab, 2, 1000);
	submit(&lab, 12, 1000);
	submit(&lab, 12, 1000);
	decide(&lab);
	/* The large job is placed first. */
	assert_string_equal(running(&lab), "ba");
	was = lab.pieces[0][0];
	lab.view.now_s = 360;
	lab.jobs[0].executed_s = lab.jobs[1].executed_s = 360;
	decide(&lab);
	assert_string_equal(running(&lab), "ca");
	assert_memory_equal(&lab.pieces[0][0], &was, sizeof was);
	lab.view.now_s = 720;
	lab.jobs[0].executed_s = 720;
	lab.jobs[2].executed_s = 360;
	decide(&lab);
	assert_string_equal(running(&lab), "ba");
	lab_fini(&lab);
}

/* The second type is twice as fast. */
static double
type_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	   uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)job;
	(void)n_gpus;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return 1 + type;
}

/* Returns the node that a job gets which has all its share on the second type. */
static uint32_t
node_of_a_share(const char *set)
{
	static const uint32_t type_of[] = { 0, 1 };
	struct pol_cluster cluster = lab_cluster_of(lab_gpus, 2);
	struct policy_opts opts = {
		.sets = &set, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;
	uint32_t node;

	cluster.n_types = 2;
	cluster.type_of = type_of;
	lab_init_on(&lab, cluster, "gavel-throughput", &opts);
	lab.view.speed.speed = type_speed;
	submit(&lab, 4, 1000);
	decide(&lab);
	assert_string_equal(running(&lab), "a");
	node = lab.jobs[0].pieces[0].node;
	lab_fini(&lab);
	return node;
}

static void
types_are_served_in_turn_or_together(void **state)
{
	(void)state;
	assert_int_equal(node_of_a_share("deficit.types_together=0"), 0);
	assert_int_equal(node_of_a_share("deficit.types_together=1"), 1);
}

/* Jobs 0 and 1 are faster on the type of their number, others as fast on both. */
static double
own_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	  uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)n_gpus;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return job->id == type ? 2 : 1;
}

/*
 * Both types have given a round, however early its job ended: a job with equal shares
 * gets the first one.
 */
static void
the_last_round_of_a_job_counts_as_a_whole(void **state)
{
	static const char *const sets[] = { "deficit.types_together=1",
					    "deficit.since_arrival=1",
					    "deficit.recompute_s=0" };
	static const uint32_t type_of[] = { 0, 1 };
	struct pol_cluster cluster = lab_cluster_of(lab_gpus, 2);
	struct policy_opts opts = {
		.sets = sets, .n_sets = 3, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	cluster.n_types = 2;
	cluster.type_of = type_of;
	lab_init_on(&lab, cluster, "gavel-throughput", &opts);
	lab.view.speed.speed = own_speed;
	submit(&lab, 4, 100);
	submit(&lab, 4, 300);
	decide(&lab);
	assert_int_equal(lab.jobs[0].pieces[0].node, 0);
	assert_int_equal(lab.jobs[1].pieces[0].node, 1);
	lab.jobs[0].executed_s = 100;
	lab.jobs[1].executed_s = 300;
	lab.view.now_s = 300;
	lab_finish(&lab, 0);
	lab_finish(&lab, 1);
	lab.view.now_s = 360;
	submit(&lab, 4, 1000);
	decide(&lab);
	assert_int_equal(lab.jobs[2].pieces[0].node, 0);
	lab_fini(&lab);
}

/* Returns who of two equal jobs runs, of which the second makes more steps. */
static char
who_runs(const char *set)
{
	struct policy_opts opts = {
		.sets = &set, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct pol_job job = { .n_gpus = 16,
			       .max_gpus = 16,
			       .duration_s = 1000,
			       .remaining_s = 1000,
			       .first_s = NAN,
			       .iteration_s = 1 };
	struct policy_lab lab;
	char who;

	lab_init(&lab, "gavel-throughput", &opts);
	lab_add(&lab, job);
	job.iteration_s = 0.1;
	lab_add(&lab, job);
	decide(&lab);
	who = running(&lab)[0];
	lab_fini(&lab);
	return who;
}

static void
throughput_counts_in_time_or_in_steps(void **state)
{
	(void)state;
	assert_int_equal(who_runs("throughput.in_steps=0"), 'a');
	assert_int_equal(who_runs("throughput.in_steps=1"), 'b');
}

/* The gain of each GPU is smaller than that of the one before. */
static double
root_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	   uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)job;
	(void)n_nodes;
	(void)type;
	(void)mates;
	(void)n_mates;
	return sqrt(n_gpus);
}

static void
optimus_gives_gpus_where_they_save_most_time(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "optimus", NULL);
	lab.view.speed.speed = root_speed;
	submit(&lab, 2, 100);
	submit(&lab, 2, 1000);
	submit(&lab, 2, 5);
	lab.jobs[0].max_gpus = 16;
	lab.jobs[1].max_gpus = 8;
	decide(&lab);
	/* The third is not elastic; the second has its maximum; smallest first. */
	assert_string_equal(running(&lab), "cab");
	assert_int_equal(lab.plans[0].grants.items[0].n_gpus, 2);
	assert_int_equal(lab.plans[0].grants.items[1].n_gpus, 6);
	assert_int_equal(lab.plans[0].grants.items[2].n_gpus, 8);
	/* A job with an unchanged number of GPUs is not moved. */
	assert_int_equal(lab.jobs[2].pieces[0].node, 0);
	lab.jobs[0].remaining_s = 1;
	lab.jobs[1].remaining_s = 1;
	lab.view.now_s = 60;
	decide(&lab);
	assert_int_equal(lab.jobs[2].pieces[0].node, 0);
	lab_fini(&lab);
}

static void
slaq_prefers_those_that_have_just_begun(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "slaq", NULL);
	lab.view.speed.speed = root_speed;
	submit(&lab, 1, 10000);
	submit(&lab, 1, 10000);
	lab.jobs[0].max_gpus = lab.jobs[1].max_gpus = 16;
	lab.jobs[0].remaining_s = 1000;
	decide(&lab);
	assert_string_equal(running(&lab), "ab");
	assert_true(lab.plans[0].grants.items[0].n_gpus < 4);
	assert_true(lab.plans[0].grants.items[1].n_gpus > 12);
	lab_fini(&lab);
}

/* If rounds may move jobs, scattered gangs move together when there is room. */
static void
gandiva_moves_gangs_to_fewer_nodes(void **state)
{
	for (int moves = 0; moves < 2; moves++) {
		const char *const sets[] = { moves ? "gandiva.max_moves=1"
						   : "gandiva.max_moves=0" };
		const struct policy_opts opts = {
			.sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
		};
		struct policy_lab lab;

		(void)state;
		lab_init(&lab, "gandiva", &opts);
		for (int i = 0; i < 4; i++)
			submit(&lab, 3, 1000);
		submit(&lab, 2, 1000);
		submit(&lab, 2, 1000);
		decide(&lab);
		assert_int_equal(lab.jobs[4].n_pieces, 2);
		assert_int_equal(lab.jobs[5].n_pieces, 2);
		/* The first job is done: three GPUs are free beside a piece of one. */
		policy_event(lab.policy, &lab.view, POL_DONE, &lab.jobs[0]);
		memmove(lab.ids, lab.ids + 1, 5 * sizeof *lab.ids);
		lab.view.n_jobs = 5;
		lab.view.now_s = 60;
		lab_plan(&lab, 1);
		assert_int_equal(lab.plans[0].grants.n, 5);
		assert_int_equal(pol_plan_find(&lab.plans[0], 4)->n_pieces, 2 - moves);
		assert_int_equal(pol_plan_find(&lab.plans[0], 5)->n_pieces, 2);
		for (uint32_t i = 1; i < 4; i++)
			assert_int_equal(pol_plan_find(&lab.plans[0], i)->n_pieces, 1);
		lab_fini(&lab);
	}
}

static void
leases_are_kept_and_then_go_to_the_worst_off(void **state)
{
	static const char *const sets[] = { "themis.fairness=0" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 1, .round_s = 100, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "themis", &opts);
	submit(&lab, 16, 1000);
	decide(&lab);
	assert_string_equal(running(&lab), "a");
	assert_float_equal(policy_wakeup_s(lab.policy, &lab.view), 100, 1e-9);
	/* A short job suffers most from waiting, yet the lease continues. */
	lab.view.now_s = 50;
	submit(&lab, 16, 10);
	decide(&lab);
	assert_string_equal(running(&lab), "a");
	lab.view.now_s = 100;
	lab.jobs[0].remaining_s = 900;
	assert_float_equal(policy_wakeup_s(lab.policy, &lab.view), 200, 1e-9);
	decide(&lab);
	assert_string_equal(running(&lab), "b");
	lab_fini(&lab);
}

/* ---- The time of the next decision ----------------------------------------------- */

/* 0.7 s three times is 2.1 s, of which a third is less than 0.7 s. */
static void
rounds_follow_one_another_however_long_they_are(void **state)
{
	static const double rounds_s[] = { 0.001, 0.1, 0.7, 1.1, 33.3, 360.1, 60 };

	(void)state;
	for (size_t i = 0; i < sizeof rounds_s / sizeof *rounds_s; i++) {
		const struct policy_opts opts = { .round_s = rounds_s[i],
						  .restart_s = NAN };
		struct policy_lab lab;

		lab_init(&lab, "blox", &opts);
		submit(&lab, 1, 1e9);
		for (int k = 0; k < 3000; k++) {
			if (!policy_is_due(lab.policy, &lab.view))
				fail_msg("round %d of %g s has not begun at %.17g", k,
					 rounds_s[i], lab.view.now_s);
			assert_true(fabs(lab.view.now_s - k * rounds_s[i]) < 1e-6);
			decide(&lab);
			assert_false(policy_is_due(lab.policy, &lab.view));
			lab.view.now_s = policy_wakeup_s(lab.policy, &lab.view);
		}
		lab_fini(&lab);
	}
}

/* Lacks a rounding error: due at an event of its own, or attained. */
static void
only_in_muri_s_semantics_a_rounding_error_delays_a_demotion(void **state)
{
	static const char *const sets[] = { "2d-las.quantum_rounding=2" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};

	(void)state;
	for (int muri = 0; muri < 2; muri++) {
		struct policy_lab lab;
		double left_s;

		lab_init(&lab, "2d-las", muri ? &opts : NULL);
		submit(&lab, 1, 1e6);
		decide(&lab);
		lab.view.now_s = 10;
		lab.jobs[0].executed_s = nextafter(3250, 0);
		decide(&lab);
		left_s = policy_wakeup_s(lab.policy, &lab.view) - lab.view.now_s;
		assert_true(left_s > 0);
		if (muri)
			assert_true(left_s < 1e-9);
		else
			assert_float_equal(left_s, 7200 - 3250, 1e-6);
		lab_fini(&lab);
	}
}

static void
time_goes_on_where_the_clock_is_too_coarse(void **state)
{
	static const char *const sets[] = { "2d-las.limit0=100",
					    "2d-las.quantum_rounding=1" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 2, .round_s = NAN, .restart_s = NAN
	};
	static const char *const muri_sets[] = { "2d-las.quantum_rounding=2" };
	const struct policy_opts muri_opts = {
		.sets = muri_sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	/* Clock steps are 2e-6 s: the limit is nearer than that but not reached. */
	lab_init(&lab, "2d-las", NULL);
	lab.view.now_s = 1e10;
	submit(&lab, 16, 1e6);
	decide(&lab);
	lab.jobs[0].executed_s = nextafter(3250 * (1 - 1.0001e-9) / 16, 0);
	assert_true(policy_wakeup_s(lab.policy, &lab.view) > lab.view.now_s);
	lab_fini(&lab);
	/* The same with Muri's rounding, which has no tolerance. */
	lab_init(&lab, "2d-las", &muri_opts);
	lab.view.now_s = 1e10;
	submit(&lab, 1, 1e6);
	decide(&lab);
	lab.jobs[0].executed_s = nextafter(3250, 0);
	assert_true(policy_wakeup_s(lab.policy, &lab.view) > lab.view.now_s + 1);
	lab_fini(&lab);
	/* Half a second is left, which is zero in whole seconds. */
	lab_init(&lab, "2d-las", &opts);
	submit(&lab, 1, 1e6);
	decide(&lab);
	lab.view.now_s = lab.jobs[0].executed_s = 99.5;
	assert_float_equal(policy_wakeup_s(lab.policy, &lab.view), 100, 1e-9);
	lab_fini(&lab);
	/* Leases after some hundred years. */
	lab_init(&lab, "themis", NULL);
	submit(&lab, 1, 1e6);
	lab.view.now_s = 1e11 + 0.3;
	decide(&lab);
	lab.jobs[0].since_s = lab.view.now_s;
	for (int i = 0; i < 1000; i++) {
		double next_s = policy_wakeup_s(lab.policy, &lab.view);

		assert_true(next_s > lab.view.now_s);
		lab.view.now_s = next_s;
	}
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_lets_nobody_pass_and_backfill_does),
		cmocka_unit_test(srtf_stops_longer_ones_and_keeps_the_order_of_equals),
		cmocka_unit_test(optimus_gives_gpus_where_they_save_most_time),
		cmocka_unit_test(slaq_prefers_those_that_have_just_begun),
		cmocka_unit_test(jobs_are_demoted_when_they_have_attained_their_limit),
		cmocka_unit_test(rounds_serve_who_has_had_least_and_keep_places),
		cmocka_unit_test(types_are_served_in_turn_or_together),
		cmocka_unit_test(the_last_round_of_a_job_counts_as_a_whole),
		cmocka_unit_test(throughput_counts_in_time_or_in_steps),
		cmocka_unit_test(gandiva_moves_gangs_to_fewer_nodes),
		cmocka_unit_test(leases_are_kept_and_then_go_to_the_worst_off),
		cmocka_unit_test(rounds_follow_one_another_however_long_they_are),
		cmocka_unit_test(
			only_in_muri_s_semantics_a_rounding_error_delays_a_demotion),
		cmocka_unit_test(time_goes_on_where_the_clock_is_too_coarse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
