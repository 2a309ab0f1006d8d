/*
 * test_profile_planner.c - jobs that are looked at apart, and share when they hardly feel it
 * (Lucid).
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "scheduler/policy/policy.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/plan_text.h"
#include "tests/unit/test.h"

#define N_NODES 4
#define MAX     16
#define N_JOBS  150

/* Four nodes of four GPUs; by default the last two are apart. */
static const uint32_t fours[N_NODES] = { 4, 4, 4, 4 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = fours,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 16 };

struct lab {
	struct pol_job jobs[MAX];
	struct pol_piece pieces[MAX][N_NODES];
	uint32_t ids[MAX], n;
	struct pol_view view;
	struct policy *policy;
	struct pol_plan plan;
};

static void
lab_init(struct lab *lab, const char *const *sets, size_t n_sets)
{
	const struct policy_opts opts = {
		.sets = sets, .n_sets = n_sets, .round_s = NAN, .restart_s = NAN
	};
	struct err err = { 0 };

	*lab = (struct lab){ .view = { .cluster = &cluster, .n_ids = MAX } };
	lab->view.ids = lab->ids;
	lab->view.jobs = lab->jobs;
	assert_int_equal(
		policy_new(policy_find("lucid"), &opts, &cluster, &lab->policy, &err),
		0);
}

static void
lab_fini(struct lab *lab)
{
	policy_free(lab->policy);
	pol_plan_fini(&lab->plan);
}

/* Of an iteration, gpu_share is on the GPU; NAN: not known. */
static void
submit(struct lab *lab, uint32_t n_gpus, double predicted_s, double gpu_share)
{
	uint32_t id = lab->n++;

	lab->ids[lab->view.n_jobs++] = id;
	lab->jobs[id] = (struct pol_job){ .id = id,
					  .n_gpus = n_gpus,
					  .max_gpus = n_gpus,
					  .predicted_s = predicted_s,
					  .iteration_s = 1,
					  .stage_s = { 1 - gpu_share, gpu_share, 0 },
					  .group = id };
	policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->jobs[id]);
}

static void
finish(struct lab *lab, uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		if (lab->ids[i] != id)
			lab->ids[n++] = lab->ids[i];
	lab->view.n_jobs = n;
	policy_event(lab->policy, &lab->view, POL_DONE, &lab->jobs[id]);
}

static void
carry_out(struct lab *lab, struct pol_job *job, const struct pol_grant *grant)
{
	const struct pol_piece *pieces = lab->plan.pieces.items + grant->first_piece;
	size_t size = grant->n_pieces * sizeof *pieces;

	if (job->n_pieces == grant->n_pieces &&
	    memcmp(lab->pieces[job->id], pieces, size) == 0)
		return;
	memcpy(lab->pieces[job->id], pieces, size);
	job->pieces = lab->pieces[job->id];
	job->n_pieces = grant->n_pieces;
	job->since_s = lab->view.now_s;
}

/* Who runs where, in the order of jobs: "a 0:4, b 0:4 with a". */
static const char *
decide(struct lab *lab, double now_s)
{
	static struct strbuf text = STRBUF_EMPTY;

	lab->view.now_s = now_s;
	policy_decide(lab->policy, &lab->view, &lab->plan, 1);
	assert_null(pol_plan_why_not(&lab->plan, &lab->view));
	strbuf_clear(&text);
	for (uint32_t i = 0; i < lab->n; i++) {
		const struct pol_grant *grant = pol_plan_find(&lab->plan, i);

		if (!grant) {
			lab->jobs[i].n_pieces = 0;
			continue;
		}
		carry_out(lab, &lab->jobs[i], grant);
		plan_text_add(&text, &lab->plan, grant);
		if (grant->group != i)
			strbuf_printf(&text, " with %c", 'a' + (int)grant->group);
	}
	return text.text;
}

/* ---- Apart --------------------------------------------------------------------------------- */

static void
jobs_are_looked_at_apart_first(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL, 0);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 4, 100, NAN);
	submit(&lab, 2, 100, NAN);
	/* The one with the fewest GPUs first; c and nobody after it fits. */
	assert_string_equal(decide(&lab, 0), "a 3:4, d 2:2");
	assert_near(policy_wakeup_s(lab.policy, &lab.view), 200, 0);
	/* d is done before; a has been looked at, and goes on in the main part. */
	finish(&lab, 3);
	assert_string_equal(decide(&lab, 50), "a 3:4, b 2:4");
	assert_string_equal(decide(&lab, 200), "a 0:4, b 2:4, c 3:4");
	assert_near(policy_wakeup_s(lab.policy, &lab.view), 250, 0);
	assert_string_equal(decide(&lab, 250), "a 0:4, b 1:4, c 3:4");
	/* No room in the main part: c is stopped, and its place is free. */
	assert_string_equal(decide(&lab, 400), "a 0:4, b 1:4");
	finish(&lab, 0);
	assert_string_equal(decide(&lab, 500), "b 1:4, c 0:4");
	lab_fini(&lab);
}

static void
jobs_that_are_too_large_are_not_looked_at(void **state)
{
	static const char *const sets[] = { "profile.gpus=2" };
	struct lab lab;

	(void)state;
	lab_init(&lab, sets, 1);
	submit(&lab, 3, 100, NAN);
	submit(&lab, 12, 10000, NAN);
	/* b would not even have room in the empty main part. */
	assert_string_equal(decide(&lab, 0), "a 0:3, b 1:4 2:4 3:4");
	lab_fini(&lab);
}

/* ---- Who goes first ------------------------------------------------------------------------ */

static void
least_predicted_gpu_time_goes_first_and_nobody_passes(void **state)
{
	static const char *const sets[] = { "profile.nodes=0" };
	struct lab lab;

	(void)state;
	lab_init(&lab, sets, 1);
	submit(&lab, 4, 100, 0.1);
	submit(&lab, 8, 20, 0.1);
	submit(&lab, 12, 15, 0.1);
	submit(&lab, 1, 300, 0.1);
	/* b wants 160 GPU seconds, c 180, d 300, a 400. c has no room, so no one else. */
	assert_string_equal(decide(&lab, 0), "b 0:4 1:4");
	finish(&lab, 1);
	assert_string_equal(decide(&lab, 10), "c 0:4 1:4 2:4, d 3:1");
	lab_fini(&lab);
}

/* ---- Pairs --------------------------------------------------------------------------------- */

static void
pairs_are_of_jobs_that_hardly_feel_each_other(void **state)
{
	static const char *const sets[] = { "profile.nodes=0", "profile.rate=0" };
	struct lab lab;

	(void)state;
	lab_init(&lab, sets, 2);
	submit(&lab, 4, 100, 0.5); /* a, alone. */
	submit(&lab, 4, 150, 0.5); /* Both are medium. */
	submit(&lab, 4, 200, 0.8); /* Jumbo: not with either; b is taken anyway. */
	submit(&lab, 4, 250, 0.2); /* Tiny: with anybody. */
	submit(&lab, 4, 300, 0.8);
	submit(&lab, 4, 310, 0.5); /* Medium and jumbo is too much. */
	submit(&lab, 4, 320, NAN); /* Nothing is known: with nobody. */
	assert_string_equal(decide(&lab, 0),
			    "a 0:4, b 0:4 with a, c 1:4, d 1:4 with c, "
			    "e 2:4, f 3:4");
	/* Who is left alone may have another mate; g and h have none to go to. */
	finish(&lab, 0);
	submit(&lab, 4, 700, 0.5); /* h: more than twice what b or f is. */
	assert_string_equal(decide(&lab, 10),
			    "b 0:4, c 1:4, d 1:4 with c, e 2:4, f 3:4");
	submit(&lab, 4, 300, 0.5);
	submit(&lab, 2, 1, 0.1);
	assert_string_equal(decide(&lab, 20),
			    "b 0:4, c 1:4, d 1:4 with c, e 2:4, f 3:4, "
			    "i 0:4 with b");
	finish(&lab, 2);
	finish(&lab, 3);
	assert_string_equal(decide(&lab, 30), "b 0:4, e 2:4, f 3:4, i 0:4 with b, "
					      "j 1:2");
	lab_fini(&lab);
}

static void
nobody_shares_while_few_jobs_come(void **state)
{
	static const char *const sets[] = { "profile.nodes=0" };
	struct lab lab;

	(void)state;
	lab_init(&lab, sets, 1);
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

/* ---- Whole runs ------------------------------------------------------------------------------ */

static void
all_are_served(void **state)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct policy *policy;
		struct err err = { 0 };
		double now_s = 0;
		struct rng rng;
		size_t bad;

		rng_init(&rng, seed);
		for (size_t i = 0; i < N_JOBS; i++) {
			double gpu_share = rng_uniform(&rng);

			now_s += (double)rng_below(&rng, 400);
			jobs[i] = (struct cluster_job){
				.submit_s = now_s,
				.duration_s = (double)(1 + rng_below(&rng, 2000)),
				.n_gpus = (uint32_t)(1 + rng_below(&rng, 16)),
				.user = (uint32_t)rng_below(&rng, 4),
				.vc = POL_NONE,
				.model = POL_NONE,
				.predicted_s = NAN,
				.iterations = NAN,
				.iteration_s = 1,
				.stage_s = { 1 - gpu_share, gpu_share, 0 },
			};
			jobs[i].max_gpus = jobs[i].n_gpus;
		}
		assert_int_equal(
			policy_new(policy_find("lucid"), NULL, &cluster, &policy, &err),
			0);
		assert_int_equal(cluster_run(jobs, N_JOBS, policy, &opts, results,
					     &counts, &bad),
				 0);
		for (size_t i = 0; i < N_JOBS; i++) {
			assert_true(results[i].executed_s >= jobs[i].duration_s - 1e-6);
			assert_true(results[i].n_preempted <= 1);
		}
		policy_free(policy);
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
