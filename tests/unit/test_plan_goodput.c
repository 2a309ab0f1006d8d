/*
 * test_plan_goodput.c - who has how many GPUs, by what they learn there.
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/policy/goodput.h"
#include "scheduler/policy/policy.h"
#include "tests/unit/test.h"

#define N_NODES 4
#define MAX     8
#define N_PLANS 10

/* Four nodes of four GPUs. */
static const uint32_t gpus[N_NODES] = { 4, 4, 4, 4 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 16 };

struct lab {
	struct pol_job jobs[MAX];
	struct pol_piece pieces[MAX][N_NODES];
	uint32_t ids[MAX];
	struct pol_view view;
	struct policy *policy;
	struct pol_plan plans[N_PLANS];
	uint32_t n_plans;
	/* What jobs tell: POL_NONE, nothing. */
	uint32_t n_seen[MAX];
	double sync_s[MAX]; /* Between nodes. */
};

/* An iteration takes 0.1 s + 1 ms a sample; gradients are so noisy that batches may grow. */
static uint32_t
report(void *ctx, const struct pol_job *job, struct goodput *ret_goodput)
{
	const struct lab *lab = ctx;

	*ret_goodput = (struct goodput){
		.params = { 0.1, 0.001, lab->sync_s[job->id], 1e-8, 1e-8, 1e-8, 1 },
		.grad_sqr = 1,
		.grad_var = 1000,
		.first_batch = 128,
		.max_batch = 8192,
		.min_local = 16,
		.max_local = 512,
	};
	return lab->n_seen[job->id];
}

static void
lab_init(struct lab *lab, const struct policy_opts *opts)
{
	struct err err = { 0 };

	*lab = (struct lab){ .view = { .cluster = &cluster,
				       .ids = lab->ids,
				       .jobs = lab->jobs,
				       .n_ids = MAX,
				       .report = { lab, report } } };
	assert_int_equal(
		policy_new(policy_find("pollux"), opts, &cluster, &lab->policy, &err),
		0);
}

static void
lab_fini(struct lab *lab)
{
	policy_free(lab->policy);
	for (int i = 0; i < N_PLANS; i++)
		pol_plan_fini(&lab->plans[i]);
}

static void
submit(struct lab *lab, uint32_t n_gpus, uint32_t max_gpus, uint32_t n_seen)
{
	uint32_t id = lab->view.n_jobs++;

	lab->ids[id] = id;
	lab->n_seen[id] = n_seen;
	lab->sync_s[id] = 0.01;
	lab->jobs[id] = (struct pol_job){ .id = id,
					  .submit_s = lab->view.now_s,
					  .n_gpus = n_gpus,
					  .max_gpus = max_gpus,
					  .duration_s = 1000,
					  .remaining_s = 1000,
					  .first_s = NAN,
					  .group = id };
	policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->jobs[id]);
}

/* Jobs on several nodes that share one with another such. */
static uint32_t
count_in_the_way(const struct pol_plan *plan)
{
	uint32_t n_spread[N_NODES] = { 0 }, n = 0;

	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		for (uint32_t k = 0; grant->n_pieces > 1 && k < grant->n_pieces; k++)
			n += n_spread[plan->pieces.items[grant->first_piece + k]
					      .node]++ > 0;
	}
	return n;
}

/* The same jobs on as many GPUs; those that stay in the first stay in all. */
static void
check_alike(const struct lab *lab, const struct pol_plan *plan)
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

/* Decides, checks all plans, and carries the first out. */
static void
decide(struct lab *lab, bool avoids)
{
	lab->n_plans = policy_decide(lab->policy, &lab->view, lab->plans, N_PLANS);
	assert_in_range(lab->n_plans, 1, N_PLANS);
	for (uint32_t i = 0; i < lab->n_plans; i++) {
		assert_null(pol_plan_why_not(&lab->plans[i], &lab->view));
		check_alike(lab, &lab->plans[i]);
		if (avoids)
			assert_int_equal(count_in_the_way(&lab->plans[i]), 0);
		assert_true(lab->plans[i].score >= 0.99 * lab->plans[0].score);
		assert_true(lab->plans[i].score <= lab->plans[0].score);
	}
	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		lab->jobs[i].n_pieces = lab->jobs[i].n_held_gpus = 0;
	for (size_t i = 0; i < lab->plans[0].grants.n; i++) {
		const struct pol_grant *grant = &lab->plans[0].grants.items[i];
		struct pol_job *job = &lab->jobs[grant->job];

		memcpy(lab->pieces[job->id],
		       lab->plans[0].pieces.items + grant->first_piece,
		       grant->n_pieces * sizeof(struct pol_piece));
		job->pieces = lab->pieces[job->id];
		job->n_pieces = grant->n_pieces;
		job->n_held_gpus = grant->n_gpus;
		job->n_starts++;
	}
	lab->view.now_s += 60;
}

static void
who_has_measured_little_is_given_little(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL);
	submit(&lab, 4, 16, 0);
	submit(&lab, 4, 16, 1);
	submit(&lab, 4, 16, 3);
	decide(&lab, true);
	assert_int_equal(lab.jobs[0].n_held_gpus, 1);
	assert_int_equal(lab.jobs[1].n_held_gpus, 2);
	assert_int_equal(lab.jobs[2].n_held_gpus, 6);
	lab_fini(&lab);
}

/* Equal jobs, which all gain from more GPUs, have equal parts; on as few nodes as can be. */
static void
equal_jobs_have_equal_parts(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL);
	for (int i = 0; i < 4; i++)
		submit(&lab, 4, 16, 16);
	decide(&lab, true);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(lab.jobs[i].n_held_gpus, 4);
		assert_int_equal(lab.jobs[i].n_pieces, 1);
	}
	/* Nobody has anything to gain from moving. */
	for (int k = 0; k < 3; k++) {
		decide(&lab, true);
		for (int i = 0; i < 4; i++)
			assert_int_equal(lab.jobs[i].n_held_gpus, 4);
	}
	lab_fini(&lab);
}

/* One alone has all of it, where the network costs nothing, and a node where it costs much. */
static void
what_is_between_nodes_counts(void **state)
{
	struct lab lab;

	(void)state;
	for (int is_slow = 0; is_slow < 2; is_slow++) {
		lab_init(&lab, NULL);
		submit(&lab, 4, 16, 16);
		lab.sync_s[0] = is_slow ? 100 : 1e-6;
		decide(&lab, true);
		assert_int_equal(lab.jobs[0].n_held_gpus, is_slow ? 4 : 16);
		lab_fini(&lab);
	}
}

/* Three that want six GPUs are on two nodes each: with four nodes there is room for two. */
static void
jobs_on_several_nodes_are_kept_apart(void **state)
{
	static const char *const may[] = { "goodput.avoid=0" };
	const struct policy_opts opts = {
		.seed = 1, .round_s = NAN, .restart_s = NAN, .sets = may, .n_sets = 1
	};

	(void)state;
	for (int avoids = 0; avoids < 2; avoids++) {
		uint32_t n_on = 0;
		struct lab lab;

		lab_init(&lab, avoids ? NULL : &opts);
		/* Two use a node and a half each; one is left for four. */
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

/* Jobs of a trace, of which nothing is known: all or nothing, nobody moves for nothing. */
static void
who_tells_nothing_has_what_it_asked_for(void **state)
{
	struct pol_piece before[N_NODES];
	uint32_t sum = 0;
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL);
	submit(&lab, 8, 8, POL_NONE);
	submit(&lab, 2, 2, POL_NONE);
	submit(&lab, 4, 4, POL_NONE);
	submit(&lab, 1, 1, POL_NONE);
	decide(&lab, true);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(lab.jobs[i].n_held_gpus, lab.jobs[i].n_gpus);
		assert_int_equal(lab.jobs[i].n_pieces, i ? 1 : 2);
	}
	/* One more does not fit; when another one is done, it does, and the rest stays. */
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

/* Nobody is stopped so that one runs instead of two, until it has waited for long. */
static void
a_large_one_is_not_forgotten(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL);
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
	struct lab lab;

	(void)state;
	lab_init(&lab, NULL);
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
