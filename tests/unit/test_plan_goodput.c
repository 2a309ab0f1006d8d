/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_goodput.c - allocation of GPUs by goodput */
#include <math.h>
#include <string.h>

#include "policies/goodput.h"
#include "tests/unit/policy_lab.h"

/* What jobs report: POL_NONE, nothing; and the cost of the network between nodes. */
static uint32_t n_seen[LAB_JOBS];
static double sync_s[LAB_JOBS];

/* 0.1 s + 1 ms per sample; gradient noise is high enough for larger batches. */
static uint32_t
report(void *ctx, const struct pol_job *job, struct goodput *ret_goodput)
{
	(void)ctx;
	*ret_goodput = (struct goodput){
		.params = { 0.1, 0.001, sync_s[job->id], 1e-8, 1e-8, 1e-8, 1 },
		.grad_sqr = 1,
		.grad_var = 1000,
		.first_batch = 128,
		.max_batch = 8192,
		.min_local = 16,
		.max_local = 512,
	};
	return n_seen[job->id];
}

static void
begin(struct policy_lab *lab, const struct policy_opts *opts)
{
	lab_init(lab, "pollux", opts);
	lab->view.report.goodput = report;
}

static void
submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t max_gpus, uint32_t seen)
{
	uint32_t id = lab_submit(lab, n_gpus, max_gpus, 1000);

	n_seen[id] = seen;
	sync_s[id] = 0.01;
}

/* Number of jobs on several nodes that share a node with another such job. */
static uint32_t
count_in_the_way(const struct pol_plan *plan)
{
	uint32_t n_spread[LAB_NODES] = { 0 }, n = 0;

	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		for (uint32_t k = 0; grant->n_pieces > 1 && k < grant->n_pieces; k++)
			n += n_spread[plan->pieces.items[grant->first_piece + k]
					      .node]++ > 0;
	}
	return n;
}

/* The same jobs with the same GPU counts; kept jobs are kept in all plans. */
static void
check_alike(const struct policy_lab *lab, const struct pol_plan *plan)
{
	const struct pol_plan *first = &lab->plans[0];

	assert_int_equal(plan->grants.n, first->grants.n);
	for (size_t i = 0; i < first->grants.n; i++) {
		const struct pol_grant *one = &first->grants.items[i];
		const struct pol_grant *other = pol_plan_find(plan, one->job);
		const struct pol_job *job = &lab->jobs[one->job];
		const struct pol_piece *pieces = &first->pieces.items[one->first_piece];
		size_t size = one->n_pieces * sizeof *pieces;

		assert_non_null(other);
		assert_int_equal(other->n_gpus, one->n_gpus);
		if (job->n_pieces != one->n_pieces ||
		    memcmp(job->pieces, pieces, size) != 0)
			continue;
		assert_int_equal(other->n_pieces, one->n_pieces);
		assert_memory_equal(&plan->pieces.items[other->first_piece], pieces,
				    size);
	}
}

/* Decides, checks all plans, and carries out the first. */
static void
decide(struct policy_lab *lab, bool avoids)
{
	lab_plan(lab, LAB_PLANS);
	for (uint32_t i = 0; i < lab->n_plans; i++) {
		check_alike(lab, &lab->plans[i]);
		if (avoids)
			assert_int_equal(count_in_the_way(&lab->plans[i]), 0);
		assert_true(lab->plans[i].score >= 0.99 * lab->plans[0].score);
		assert_true(lab->plans[i].score <= lab->plans[0].score);
	}
	lab_carry_out(lab);
	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		lab->jobs[i].n_starts += lab->jobs[i].n_pieces > 0;
	lab->view.now_s += 60;
}

static void
who_has_measured_little_is_given_little(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL);
	submit(&lab, 4, 16, 0);
	submit(&lab, 4, 16, 1);
	submit(&lab, 4, 16, 3);
	decide(&lab, true);
	assert_int_equal(lab.jobs[0].n_held_gpus, 1);
	assert_int_equal(lab.jobs[1].n_held_gpus, 2);
	assert_int_equal(lab.jobs[2].n_held_gpus, 6);
	lab_fini(&lab);
}

/* Equal jobs that gain from GPUs get equal parts, on as few nodes as possible. */
static void
equal_jobs_have_equal_parts(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL);
	for (int i = 0; i < 4; i++)
		submit(&lab, 4, 16, 16);
	decide(&lab, true);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(lab.jobs[i].n_held_gpus, 4);
		assert_int_equal(lab.jobs[i].n_pieces, 1);
	}
	/* No job gains from moving. */
	for (int k = 0; k < 3; k++) {
		decide(&lab, true);
		for (int i = 0; i < 4; i++)
			assert_int_equal(lab.jobs[i].n_held_gpus, 4);
	}
	lab_fini(&lab);
}

/* One job gets everything if the network is free, and one node if it is expensive. */
static void
what_is_between_nodes_counts(void **state)
{
	struct policy_lab lab;

	(void)state;
	for (int is_slow = 0; is_slow < 2; is_slow++) {
		begin(&lab, NULL);
		submit(&lab, 4, 16, 16);
		sync_s[0] = is_slow ? 100 : 1e-6;
		decide(&lab, true);
		assert_int_equal(lab.jobs[0].n_held_gpus, is_slow ? 4 : 16);
		lab_fini(&lab);
	}
}

/* Three jobs of six GPUs use two nodes each: four nodes have room for two. */
static void
jobs_on_several_nodes_are_kept_apart(void **state)
{
	static const char *const may[] = { "goodput.no_shared_nodes=0" };
	const struct policy_opts opts = {
		.seed = 1, .round_s = NAN, .restart_s = NAN, .sets = may, .n_sets = 1
	};

	(void)state;
	for (int avoids = 0; avoids < 2; avoids++) {
		uint32_t n_on = 0;
		struct policy_lab lab;

		begin(&lab, avoids ? NULL : &opts);
		/* Two use a node and a half each; one node is left for four GPUs. */
		submit(&lab, 6, 6, POL_NONE);
		submit(&lab, 6, 6, POL_NONE);
		submit(&lab, 4, 4, POL_NONE);
		decide(&lab, avoids);
		for (int i = 0; i < 3; i++)
			n_on += lab.jobs[i].n_held_gpus > 0;
		assert_int_equal(n_on, avoids ? 2 : 3);
		lab_fini(&lab);
	}
}

/* Trace jobs without reports get all or nothing, and do not move without need. */
static void
who_tells_nothing_has_what_it_asked_for(void **state)
{
	struct pol_piece before[LAB_NODES];
	uint32_t sum = 0;
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL);
	submit(&lab, 8, 8, POL_NONE);
	submit(&lab, 2, 2, POL_NONE);
	submit(&lab, 4, 4, POL_NONE);
	submit(&lab, 1, 1, POL_NONE);
	decide(&lab, true);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(lab.jobs[i].n_held_gpus, lab.jobs[i].n_gpus);
		assert_int_equal(lab.jobs[i].n_pieces, i ? 1 : 2);
	}
	/* Another job does not fit; when one is done it does, and the rest stays. */
	submit(&lab, 4, 4, POL_NONE);
	decide(&lab, true);
	for (uint32_t i = 0; i < 5; i++)
		sum += lab.jobs[i].n_held_gpus;
	assert_true(sum <= 16);
	memcpy(before, lab.pieces[0], sizeof before);
	decide(&lab, true);
	assert_memory_equal(before, lab.pieces[0],
			    lab.jobs[0].n_pieces * sizeof *before);
	lab_fini(&lab);
}

/* No job is stopped to run one instead of two, until it has waited for long. */
static void
a_large_one_is_not_forgotten(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL);
	for (int i = 0; i < 4; i++)
		submit(&lab, 4, 4, POL_NONE);
	decide(&lab, true);
	submit(&lab, 8, 8, POL_NONE);
	decide(&lab, true);
	assert_int_equal(lab.jobs[4].n_held_gpus, 0);
	lab.view.now_s += 2000;
	for (int i = 0; i < 4; i++)
		lab.jobs[i].executed_s = lab.view.now_s;
	decide(&lab, true);
	assert_int_equal(lab.jobs[4].n_held_gpus, 8);
	lab_fini(&lab);
}

static void
an_empty_cluster_has_an_empty_plan(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL);
	decide(&lab, true);
	assert_int_equal(lab.plans[0].grants.n, 0);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_measured_little_is_given_little),
		cmocka_unit_test(equal_jobs_have_equal_parts),
		cmocka_unit_test(what_is_between_nodes_counts),
		cmocka_unit_test(jobs_on_several_nodes_are_kept_apart),
		cmocka_unit_test(who_tells_nothing_has_what_it_asked_for),
		cmocka_unit_test(a_large_one_is_not_forgotten),
		cmocka_unit_test(an_empty_cluster_has_an_empty_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
