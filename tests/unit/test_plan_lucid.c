/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_lucid.c - profiling nodes, and jobs that share GPUs when they barely slow
 * (Lucid)
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

#define N_JOBS 150

/* On lab_cluster; by default the last two of its four nodes are for profiling. */
static void
begin(struct policy_lab *lab, const char *const *sets, size_t n_sets)
{
	const struct policy_opts opts = {
		.sets = sets, .n_sets = n_sets, .round_s = NAN, .restart_s = NAN
	};

	lab_init(lab, "lucid", &opts);
}

/* gpu_share: the part of an iteration on the GPU; NAN: unknown. */
static void
submit(struct policy_lab *lab, uint32_t n_gpus, double predicted_s, double gpu_share)
{
	lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
				       .max_gpus = n_gpus,
				       .predicted_s = predicted_s,
				       .iteration_s = 1,
				       .stage_s = { 1 - gpu_share, gpu_share, 0 } });
}

/* A job that keeps its place has run there since it was placed. */
static void
carry_out(struct policy_lab *lab, struct pol_job *job, const struct pol_grant *grant)
{
	const struct pol_piece *pieces =
		lab->plans[0].pieces.items + grant->first_piece;
	size_t size = grant->n_pieces * sizeof *pieces;

	if (job->n_pieces == grant->n_pieces &&
	    memcmp(lab->pieces[job->id], pieces, size) == 0)
		return;
	memcpy(lab->pieces[job->id], pieces, size);
	job->pieces = lab->pieces[job->id];
	job->n_pieces = grant->n_pieces;
	job->since_s = lab->view.now_s;
}

/* The plan in the order of jobs: "a 0:4, b 0:4 with a". */
static const char *
decide(struct policy_lab *lab, double now_s)
{
	static struct strbuf text = STRBUF_EMPTY;
	const struct pol_plan *plan = &lab->plans[0];

	lab->view.now_s = now_s;
	lab_plan(lab, 1);
	strbuf_clear(&text);
	for (uint32_t i = 0; i < lab->n; i++) {
		const struct pol_grant *grant = pol_plan_find(plan, i);

		if (!grant) {
			lab->jobs[i].n_pieces = 0;
			continue;
		}
		carry_out(lab, &lab->jobs[i], grant);
		plan_text_add(&text, plan, grant);
		if (grant->group != i)
			strbuf_printf(&text, " with %c", 'a' + (int)grant->group);
	}
	return text.text;
}

/* ---- Profiling nodes ------------------------------------------------------------- */

static void
jobs_are_looked_at_apart_first(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab, NULL, 0);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 2, 100, NAN);
	/* Fewest GPUs first; c does not fit and blocks later jobs. */
	assert_string_equal(decide(&lab, 0), "a 3:4, d 2:2");
	assert_near(policy_wakeup_s(lab.policy, &lab.view), 200, 0);
	/* d ends early; a has been profiled, and continues in the main part. */
	lab_finish(&lab, 3);
	assert_string_equal(decide(&lab, 50), "a 3:4, b 2:4");
	assert_string_equal(decide(&lab, 200), "a 0:4, b 2:4, c 3:4");
	assert_near(policy_wakeup_s(lab.policy, &lab.view), 250, 0);
	assert_string_equal(decide(&lab, 250), "a 0:4, b 1:4, c 3:4");
	/* No room in the main part: c is stopped, and its place is free. */
	assert_string_equal(decide(&lab, 400), "a 0:4, b 1:4");
	lab_finish(&lab, 0);
	assert_string_equal(decide(&lab, 500), "b 1:4, c 0:4");
	lab_fini(&lab);
}

static void
jobs_that_are_too_large_are_not_looked_at(void **state)
{
	static const char *const sets[] = { "lucid.max_profiled_gpus=2" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, sets, 1);
	submit(&lab, 3, 100, NAN);
	submit(&lab, 12, 10000, NAN);
	/* b would not even fit into the empty main part. */
	assert_string_equal(decide(&lab, 0), "a 0:3, b 1:4 2:4 3:4");
	lab_fini(&lab);
}

/* ---- Order ----------------------------------------------------------------------- */

static void
least_predicted_gpu_time_goes_first_and_nobody_passes(void **state)
{
	static const char *const sets[] = { "lucid.profiling_nodes=0" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, sets, 1);
	submit(&lab, 4, 100, 0.1);
	submit(&lab, 8, 20, 0.1);
	submit(&lab, 12, 15, 0.1);
	submit(&lab, 1, 300, 0.1);
	/* b needs 160 GPU seconds, c 180, d 300, a 400. c does not fit: it blocks. */
	assert_string_equal(decide(&lab, 0), "b 0:4 1:4");
	lab_finish(&lab, 1);
	assert_string_equal(decide(&lab, 10), "c 0:4 1:4 2:4, d 3:1");
	lab_fini(&lab);
}

/* ---- Pairs ----------------------------------------------------------------------- */

static void
pairs_are_of_jobs_that_hardly_feel_each_other(void **state)
{
	static const char *const sets[] = { "lucid.profiling_nodes=0",
					    "lucid.sharing_rate=0" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, sets, 2);
	submit(&lab, 4, 100, 0.5); /* a, alone. */
	submit(&lab, 4, 150, 0.5); /* Both are medium. */
	submit(&lab, 4, 200, 0.8); /* Jumbo: with neither; b is taken anyway. */
	submit(&lab, 4, 250, 0.2); /* Tiny: with any job. */
	submit(&lab, 4, 300, 0.8);
	submit(&lab, 4, 310, 0.5); /* Medium and jumbo is too much. */
	submit(&lab, 4, 320, NAN); /* Unknown: with no job. */
	assert_string_equal(decide(&lab, 0),
			    "a 0:4, b 0:4 with a, c 1:4, d 1:4 with c, "
			    "e 2:4, f 3:4");
	/* A job left alone may get another mate; g and h find none. */
	lab_finish(&lab, 0);
	submit(&lab, 4, 700, 0.5); /* h: more than twice as long as b or f. */
	assert_string_equal(decide(&lab, 10),
			    "b 0:4, c 1:4, d 1:4 with c, e 2:4, f 3:4");
	submit(&lab, 4, 300, 0.5);
	submit(&lab, 2, 1, 0.1);
	assert_string_equal(decide(&lab, 20),
			    "b 0:4, c 1:4, d 1:4 with c, e 2:4, f 3:4, "
			    "i 0:4 with b");
	lab_finish(&lab, 2);
	lab_finish(&lab, 3);
	assert_string_equal(decide(&lab, 30), "b 0:4, e 2:4, f 3:4, i 0:4 with b, "
					      "j 1:2");
	lab_fini(&lab);
}

static void
nobody_shares_while_few_jobs_come(void **state)
{
	static const char *const sets[] = { "lucid.profiling_nodes=0" };
	struct policy_lab lab;

	(void)state;
	begin(&lab, sets, 1);
	for (int i = 0; i < 12; i++)
		submit(&lab, 4, 100, 0.2);
	assert_string_equal(decide(&lab, 0), "a 0:4, b 1:4, c 2:4, d 3:4");
	/* The 13th of an hour. */
	submit(&lab, 4, 100, 0.2);
	assert_string_equal(decide(&lab, 1),
			    "a 0:4, b 1:4, c 2:4, d 3:4, e 0:4 with a, "
			    "f 1:4 with b, g 2:4 with c, h 3:4 with d");
	lab_fini(&lab);
}

/* ---- Whole runs ------------------------------------------------------------------ */

static void
all_are_served(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		double now_s = 0;
		struct rng rng;

		rng_init(&rng, seed);
		for (size_t i = 0; i < N_JOBS; i++) {
			double gpu_share = rng_uniform(&rng), duration_s;

			now_s += (double)rng_below(&rng, 400);
			duration_s = (double)(1 + rng_below(&rng, 2000));
			jobs[i] = cluster_lab_job(now_s, duration_s,
						  (uint32_t)(1 + rng_below(&rng, 16)));
			jobs[i].user = (uint32_t)rng_below(&rng, 4);
			jobs[i].iteration_s = 1;
			jobs[i].stage_s[0] = 1 - gpu_share;
			jobs[i].stage_s[1] = gpu_share;
		}
		cluster_lab_run(&lab_cluster, "lucid", NULL, jobs, N_JOBS, results);
		for (size_t i = 0; i < N_JOBS; i++) {
			assert_true(results[i].executed_s >= jobs[i].duration_s - 1e-6);
			assert_true(results[i].n_preempted <= 1);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_looked_at_apart_first),
		cmocka_unit_test(jobs_that_are_too_large_are_not_looked_at),
		cmocka_unit_test(least_predicted_gpu_time_goes_first_and_nobody_passes),
		cmocka_unit_test(pairs_are_of_jobs_that_hardly_feel_each_other),
		cmocka_unit_test(nobody_shares_while_few_jobs_come),
		cmocka_unit_test(all_are_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
