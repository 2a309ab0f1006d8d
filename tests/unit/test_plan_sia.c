/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_sia.c - types and numbers of GPUs by goodput, and their places */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/goodput.h"
#include "tests/unit/policy_lab.h"

static const uint32_t types[LAB_NODES] = { 0, 0, 1, 1 };

/* What jobs report, and their speed on each type. */
static uint32_t n_seen[LAB_JOBS];
static double speeds[LAB_JOBS][2];

/* 0.1 s + 1 ms per sample; gradient noise is high enough for larger batches. */
static uint32_t
report(void *ctx, const struct pol_job *job, struct goodput *ret_goodput)
{
	(void)ctx;
	*ret_goodput = (struct goodput){
		.params = { 0.1, 0.001, 0.01, 1e-8, 1e-8, 1e-8, 1 },
		.grad_sqr = 1,
		.grad_var = 1000,
		.first_batch = 128,
		.max_batch = 8192,
		.min_local = 16,
		.max_local = 512,
	};
	return n_seen[job->id];
}

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return speeds[job->id][type] * pow(n_gpus, 0.7);
}

static void
begin(struct policy_lab *lab, bool has_types, const struct policy_opts *opts)
{
	struct pol_cluster cluster = lab_cluster;

	if (has_types) {
		cluster.n_types = 2;
		cluster.type_of = types;
	}
	lab_init_on(lab, cluster, "sia", opts);
	lab->view.report.goodput = report;
	lab->view.speed.speed = speed;
}

static uint32_t
submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t max_gpus, uint32_t seen)
{
	uint32_t id = lab_submit(lab, n_gpus, max_gpus, 1000);

	n_seen[id] = seen;
	speeds[id][0] = speeds[id][1] = 1;
	return id;
}

/* Decides, carries out the plan, and lets a minute pass. */
static void
decide(struct policy_lab *lab)
{
	lab_plan(lab, 1);
	for (uint32_t i = 0; i < lab->view.n_jobs; i++) {
		struct pol_job *job = &lab->jobs[lab->ids[i]];
		const struct pol_grant *grant = pol_plan_find(&lab->plans[0], job->id);
		const struct pol_piece *pieces =
			grant ? lab->plans[0].pieces.items + grant->first_piece : NULL;

		if (!grant ||
		    (grant->n_pieces == job->n_pieces &&
		     memcmp(pieces, job->pieces, job->n_pieces * sizeof *pieces) == 0))
			continue;
		job->n_starts++;
		job->since_s = lab->view.now_s;
	}
	lab_carry_out(lab);
	lab->view.now_s += 60;
}

static uint32_t
type_of(const struct policy_lab *lab, uint32_t id)
{
	return lab->cluster.type_of[lab->jobs[id].pieces[0].node];
}

static void
who_has_measured_little_is_given_little(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, false, NULL);
	submit(&lab, 4, 16, 0);
	decide(&lab);
	submit(&lab, 4, 16, 0);
	n_seen[0] = 1;
	decide(&lab);
	n_seen[1] = 3;
	decide(&lab);
	assert_int_equal(lab.jobs[0].n_held_gpus, 2);
	assert_int_equal(lab.jobs[1].n_held_gpus, 4);
	lab_fini(&lab);
}

/* Equal jobs that gain from GPUs get equal parts, and keep them. */
static void
equal_jobs_have_equal_parts(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, false, NULL);
	for (int i = 0; i < 4; i++)
		submit(&lab, 4, 16, 0);
	decide(&lab);
	for (int i = 0; i < 4; i++)
		n_seen[i] = 16;
	decide(&lab);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 4; i++) {
			assert_int_equal(lab.jobs[i].n_held_gpus, 4);
			assert_int_equal(lab.jobs[i].n_pieces, 1);
			assert_int_equal(lab.jobs[i].n_starts, 2);
		}
		decide(&lab);
	}
	lab_fini(&lab);
}

/* It has run on one type only; the other is known by the ratio on one GPU. */
static void
an_untried_type_is_used_if_it_is_faster(void **state)
{
	struct policy_lab lab;
	uint32_t id;

	(void)state;
	begin(&lab, true, NULL);
	id = submit(&lab, 4, 16, 0);
	decide(&lab);
	n_seen[id] = 1;
	speeds[id][1 - type_of(&lab, id)] = 3;
	decide(&lab);
	assert_int_equal(lab.jobs[id].n_held_gpus, 2);
	assert_true(speeds[id][type_of(&lab, id)] == 3);
	lab_fini(&lab);
}

/* Jobs of one GPU on all nodes are moved for one that needs two whole nodes. */
static void
small_jobs_make_room_for_whole_nodes(void **state)
{
	struct policy_lab lab;
	uint32_t id;

	(void)state;
	begin(&lab, false, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		id = submit(&lab, 1, 1, POL_NONE);
		lab.pieces[id][0] = (struct pol_piece){ i, 1, 0 };
		lab.jobs[id].pieces = lab.pieces[id];
		lab.jobs[id].n_pieces = lab.jobs[id].n_held_gpus = 1;
		lab.jobs[id].since_s = -1000;
	}
	id = submit(&lab, 8, 8, POL_NONE);
	decide(&lab);
	assert_int_equal(lab.jobs[id].n_pieces, 2);
	assert_int_equal(lab.jobs[id].n_held_gpus, 8);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(lab.jobs[i].n_held_gpus, 1);
	lab_fini(&lab);
}

/* A job that does not report is a gang, on the faster type. */
static void
a_gang_is_whole_and_of_one_type(void **state)
{
	struct policy_lab lab;
	uint32_t id;

	(void)state;
	begin(&lab, true, NULL);
	id = submit(&lab, 6, 6, POL_NONE);
	speeds[id][1] = 2;
	decide(&lab);
	assert_int_equal(lab.jobs[id].n_held_gpus, 6);
	assert_int_equal(type_of(&lab, id), 1);
	lab_fini(&lab);
}

static void
a_job_that_starts_is_not_moved(void **state)
{
	static const char *const sets[] = { "sia.restart_s=100" };
	const struct policy_opts opts = {
		.seed = 1, .sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;
	uint32_t id;

	(void)state;
	begin(&lab, false, &opts);
	id = submit(&lab, 4, 16, 0);
	decide(&lab);
	n_seen[id] = 16;
	decide(&lab);
	assert_int_equal(lab.jobs[id].n_held_gpus, 1);
	decide(&lab); /* After 120 s. */
	assert_true(lab.jobs[id].n_held_gpus > 1);
	lab_fini(&lab);
}

/* ---- The objective --------------------------------------------------------------- */

/*
 * The largest sum of 1.1 - (relative goodput)^-0.5 over all ways to give the gangs from
 * 'id' on GPUs of a type, with 'left' GPUs: those of jobs that are not elastic.
 */
static double
best(const struct policy_lab *lab, uint32_t id, const uint32_t *left)
{
	const struct pol_job *job = &lab->jobs[id];
	double most, least = fmin(speeds[id][0], speeds[id][1]);

	if (id == lab->n)
		return 0;
	most = best(lab, id + 1, left);
	for (uint32_t type = 0; type < 2; type++) {
		uint32_t rest[2] = { left[0], left[1] };
		double value = job->n_gpus * speeds[id][type] / least;

		if (job->n_gpus > left[type])
			continue;
		rest[type] -= job->n_gpus;
		most = fmax(most, 1.1 - pow(value, -0.5) + best(lab, id + 1, rest));
	}
	return most;
}

static void
plans_have_the_largest_sum_there_is(void **state)
{
	static const uint32_t left[2] = { 8, 8 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	for (int round = 0; round < 300; round++) {
		struct policy_lab lab;

		begin(&lab, true, NULL);
		for (uint64_t n = 1 + rng_below(&rng, 7); n; n--) {
			uint32_t id = submit(&lab, 1 + (uint32_t)rng_below(&rng, 8), 0,
					     POL_NONE);

			for (int type = 0; type < 2; type++)
				speeds[id][type] = 0.1 + rng_uniform(&rng);
		}
		lab_plan(&lab, 1);
		assert_near(lab.plans[0].score, best(&lab, 0, left), 1e-7);
		lab_fini(&lab);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_measured_little_is_given_little),
		cmocka_unit_test(equal_jobs_have_equal_parts),
		cmocka_unit_test(an_untried_type_is_used_if_it_is_faster),
		cmocka_unit_test(small_jobs_make_room_for_whole_nodes),
		cmocka_unit_test(a_gang_is_whole_and_of_one_type),
		cmocka_unit_test(a_job_that_starts_is_not_moved),
		cmocka_unit_test(plans_have_the_largest_sum_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
