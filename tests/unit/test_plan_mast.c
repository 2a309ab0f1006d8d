/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_mast.c - MAST: quotas, priorities, and where data is; a flat search is in
 * test_plan_mast_search.c
 */
#include "lib/base/rng.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/policy_lab.h"

#define N_NODES 8
#define COPY_S  1000

static const struct policy_opts defaults = { .round_s = NAN, .restart_s = NAN };

static void
add_nothing(struct strbuf *text, const struct pol_plan *plan,
	    const struct pol_grant *grant)
{
	(void)text;
	(void)plan;
	(void)grant;
}

static uint32_t
submit(struct policy_lab *lab, uint32_t vc, int32_t priority, uint32_t n_gpus)
{
	return lab_add(lab, (struct pol_job){ .submit_s = lab->view.now_s,
					      .n_gpus = n_gpus,
					      .max_gpus = n_gpus,
					      .user = POL_NONE,
					      .vc = vc,
					      .priority = priority,
					      .duration_s = 100,
					      .remaining_s = 100,
					      .first_s = NAN });
}

static const char *
decide(struct policy_lab *lab)
{
	const char *text = lab_decide(lab, add_nothing);

	lab_carry_out(lab);
	return text;
}

/* ---- Hand-made cases: one region of 4 nodes with 4 GPUs ---------------------------- */

static void
a_tenant_over_its_quota_is_served_last(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "mast", &defaults);
	/* Two tenants: 8 GPUs each.  c is over the quota, and d is not. */
	submit(&lab, 0, 0, 4);
	submit(&lab, 0, 0, 4);
	submit(&lab, 0, 0, 4);
	submit(&lab, 1, 0, 8);
	assert_string_equal(decide(&lab), "a 0:4, b 1:4, d 2:4 3:4");
	/* GPUs that are within no quota are not left idle. */
	lab_finish(&lab, 3);
	assert_string_equal(decide(&lab), "a 0:4, b 1:4, c 2:4");
	/* Quotas order jobs of one priority, and stop none. */
	submit(&lab, 1, 0, 8);
	assert_string_equal(decide(&lab), "a 0:4, b 1:4, c 2:4");
	lab_fini(&lab);
}

static void
the_quota_may_be_stated(void **state)
{
	static const char *const sets[] = { "mast.quota=0.25" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "mast", &opts);
	submit(&lab, 0, 0, 8); /* Over 4 GPUs. */
	submit(&lab, 1, 0, 12);
	submit(&lab, 2, 0, 4);
	assert_string_equal(decide(&lab), "a 1:4 2:4, c 0:4");
	lab_fini(&lab);
}

static void
a_job_that_lost_its_gpus_uses_no_quota(void **state)
{
	static const char *const sets[] = { "mast.quota=0.5" };
	const struct policy_opts opts = {
		.sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "mast", &opts);
	submit(&lab, 0, 0, 8);
	assert_string_equal(decide(&lab), "a 0:4 1:4");
	/* b stops a.  Then c is over its tenant's quota, and d is not. */
	submit(&lab, 1, 1, 12);
	submit(&lab, 1, 0, 4);
	submit(&lab, 0, 0, 4);
	assert_string_equal(decide(&lab), "b 0:4 1:4 2:4, d 3:4");
	lab_fini(&lab);
}

static void
users_have_quotas_where_there_are_no_vcs(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "mast", &defaults);
	for (uint32_t i = 0; i < 3; i++)
		lab_add(&lab, (struct pol_job){ .n_gpus = 8,
						.max_gpus = 8,
						.vc = POL_NONE,
						.user = i / 2,
						.first_s = NAN });
	assert_string_equal(decide(&lab), "a 0:4 1:4, c 2:4 3:4");
	lab_fini(&lab);
}

static void
a_higher_priority_goes_first_and_preempts(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "mast", &defaults);
	submit(&lab, 0, 0, 4);
	submit(&lab, 0, 1, 8);
	submit(&lab, 0, 0, 2);
	submit(&lab, 0, 0, 2);
	assert_string_equal(decide(&lab), "b 0:4 1:4, a 2:4, c 3:2, d 3:2");
	/* d loses as few GPUs as c, and came later. */
	submit(&lab, 0, 1, 2);
	assert_string_equal(decide(&lab), "b 0:4 1:4, e 3:2, a 2:4, c 3:2");
	/* f stops a and c, not b; more than all of priority 0 helps no one. */
	submit(&lab, 0, 1, 8);
	submit(&lab, 0, 1, 6);
	assert_string_equal(decide(&lab), "b 0:4 1:4, e 3:2, g 2:4 3:2");
	/* An equal priority stops nothing. */
	submit(&lab, 1, 1, 1);
	assert_string_equal(decide(&lab), "b 0:4 1:4, e 3:2, g 2:4 3:2");
	lab_fini(&lab);
}

/* ---- Where data is ----------------------------------------------------------------- */

static void
a_job_leaves_its_region_when_its_data_is_copied(void **state)
{
	static const uint32_t racks[] = { 0, 1, 2, 3 };
	struct pol_cluster cluster = lab_cluster;
	struct policy_lab lab;

	(void)state;
	cluster.rack_of = racks;
	cluster.n_racks = 4;
	lab_init_on(&lab, cluster, "mast", &defaults);
	for (int i = 0; i < 8; i++)
		submit(&lab, 0, 0, 4);
	for (int step = 0; step < 3; step++) {
		uint32_t n_at_home = 0;

		lab_plan(&lab, 1);
		for (size_t i = 0; i < lab.plans[0].grants.n; i++) {
			const struct pol_grant *grant = &lab.plans[0].grants.items[i];
			uint32_t node =
				lab.plans[0].pieces.items[grant->first_piece].node;

			n_at_home += node / 2 == rng_mix(grant->job) % 2;
		}
		if (step < 2) /* Now, and just before. */
			assert_int_equal(n_at_home, lab.plans[0].grants.n);
		else
			assert_int_equal(lab.plans[0].grants.n, 4);
		if (!step)
			assert_near(policy_wakeup_s(lab.policy, &lab.view), 3600, 0);
		lab.view.now_s = step ? 3600 : 3599.999;
	}
	lab_fini(&lab);
}

/* ---- In a run ---------------------------------------------------------------------- */

#define N_JOBS 60

static const uint32_t run_gpus[] = { 4, 4, 8, 8, 4, 4, 8, 4 };
static const uint32_t run_racks[] = { 0, 0, 1, 1, 2, 3, 4, 5 };
static const uint32_t run_types[N_NODES];

struct watch {
	uint32_t n_away; /* Plans of jobs outside their region. */
};

static void
after_plan(void *ctx, const struct pol_view *view, const struct pol_plan *plan)
{
	struct watch *w = ctx;

	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		const struct pol_job *job = &view->jobs[grant->job];
		bool is_away = false;

		for (uint32_t k = 0; k < grant->n_pieces; k++)
			is_away |= run_racks[plan->pieces.items[grant->first_piece + k]
						     .node] /
					   2 !=
				   rng_mix(job->id) % 3;
		w->n_away += is_away;
		if (is_away && view->now_s < job->submit_s + COPY_S)
			fail_msg("job %u is not where its data is", job->id);
	}
}

static void
no_job_leaves_its_region_early(void **state)
{
	static const char *const sets[] = { "mast.copy_s=1000" };
	const struct policy_opts policy_opts = {
		.sets = sets, .n_sets = 1, .round_s = NAN, .restart_s = 20
	};
	const struct pol_cluster cluster = { .n_nodes = N_NODES,
					     .n_racks = 6,
					     .n_types = 1,
					     .n_gpus = run_gpus,
					     .rack_of = run_racks,
					     .type_of = run_types,
					     .n_all_gpus = 44 };
	const struct cluster_work work = { 0 };
	struct watch w = { 0 };
	const struct cluster_opts opts = { .cluster = &cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .ctx = &w,
					   .on_plan = after_plan };
	uint32_t n_preempted = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 25; seed++) {
		struct cluster_job jobs[N_JOBS];
		struct cluster_result results[N_JOBS];
		struct cluster_counts counts;
		struct policy *policy;
		struct err err = { 0 };
		struct rng rng;
		size_t bad;

		rng_init(&rng, seed);
		for (size_t i = 0; i < N_JOBS; i++)
			jobs[i] = (struct cluster_job){
				.submit_s = (double)(60 * i),
				.duration_s = (double)(1 + rng_below(&rng, 3000)),
				.n_gpus = 1u << rng_below(&rng, 6),
				.user = (uint32_t)rng_below(&rng, 3),
				.vc = POL_NONE,
				.model = POL_NONE,
				.priority = (int32_t)rng_below(&rng, 3),
				.predicted_s = NAN,
				.iterations = NAN,
				.iteration_s = NAN,
			};
		for (size_t i = 0; i < N_JOBS; i++)
			jobs[i].max_gpus = jobs[i].n_gpus;
		assert_int_equal(policy_new(policy_find("mast"), &policy_opts, &cluster,
					    &policy, &err),
				 0);
		assert_int_equal(cluster_run(jobs, N_JOBS, policy, &opts, results,
					     &counts, &bad),
				 0);
		policy_free(policy);
		for (size_t i = 0; i < N_JOBS; i++)
			assert_true(results[i].end_s > jobs[i].submit_s);
		n_preempted += (uint32_t)counts.n_preemptions;
	}
	assert_true(w.n_away > 0 && n_preempted > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tenant_over_its_quota_is_served_last),
		cmocka_unit_test(the_quota_may_be_stated),
		cmocka_unit_test(a_job_that_lost_its_gpus_uses_no_quota),
		cmocka_unit_test(users_have_quotas_where_there_are_no_vcs),
		cmocka_unit_test(a_higher_priority_goes_first_and_preempts),
		cmocka_unit_test(a_job_leaves_its_region_when_its_data_is_copied),
		cmocka_unit_test(no_job_leaves_its_region_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
