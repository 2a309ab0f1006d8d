/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_synergy.c - jobs with as many CPUs as they can use (Synergy) */
#include <math.h>

#include "lib/base/rng.h"
#include "policies/stages.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

#define N_NODES 3
#define N_JOBS  150

/* Three nodes of four GPUs, and hence 12 CPUs. */
static void
begin(struct policy_lab *lab)
{
	lab_init_on(lab, lab_cluster_of(lab_gpus, N_NODES), "synergy", NULL);
}

/* An iteration loads for load_s and needs 1 s otherwise: 3 load_s CPUs per GPU. */
static void
submit(struct policy_lab *lab, uint32_t n_gpus, double load_s)
{
	lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
				       .max_gpus = n_gpus,
				       .iteration_s = 1,
				       .stage_s = { load_s, 1, 0 } });
}

static void
put_cpus(struct strbuf *text, const struct pol_plan *plan,
	 const struct pol_grant *grant)
{
	(void)plan;
	strbuf_printf(text, "/%g", 3 * grant->given.of[NEED_CPUS]);
}

/* The plan with CPUs per GPU: "a 0:4/3". */
static const char *
decide(struct policy_lab *lab)
{
	return lab_decide(lab, put_cpus);
}

static void
jobs_have_as_many_cpus_as_they_can_use(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, 2);   /* 6 CPUs. */
	submit(&lab, 2, 0.1); /* One per GPU. */
	submit(&lab, 1, 1.1); /* 4: 12 in all. */
	submit(&lab, 1, 100); /* A whole node's. */
	submit(&lab, 1, NAN); /* Unknown: 3, which node 1 does not have. */
	assert_string_equal(decide(&lab),
			    "a 0:1/6, b 0:2/1, c 0:1/4, d 1:1/12, e 2:1/3");
	lab_fini(&lab);
}

static void
the_fullest_node_with_both_is_taken(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, 3); /* 9 of node 0's CPUs. */
	submit(&lab, 3, 1); /* Also 9: node 1, although node 0 has the GPUs. */
	submit(&lab, 1, 1); /* 3: both nodes have them. */
	submit(&lab, 1, 2); /* 6: node 2. */
	assert_string_equal(decide(&lab), "a 0:1/9, b 1:3/3, c 1:1/3, d 2:1/6");
	lab_fini(&lab);
}

static void
no_gpu_is_idle_for_want_of_cpus(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, 4); /* All CPUs of each node. */
	submit(&lab, 1, 4);
	submit(&lab, 1, 4);
	submit(&lab, 2, 4); /* The even share suffices, but a has only that now, too. */
	assert_string_equal(decide(&lab), "a 0:1/3, b 1:1/12, c 2:1/12, d 0:2/3");
	submit(&lab, 4, 0.1); /* e: on two nodes. */
	assert_string_equal(decide(&lab),
			    "a 0:1/3, b 1:1/3, c 2:1/3, d 0:2/3, e 1:3 2:1/1");
	lab_fini(&lab);
}

static void
one_of_several_nodes_has_an_even_share(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 1, 4);
	submit(&lab, 9, 4);
	submit(&lab, 3, 4);
	assert_string_equal(decide(&lab), "a 0:1/3, b 0:1 1:4 2:4/3");
	lab_fini(&lab);
}

static void
cpus_given_twice_are_found(void **state)
{
	struct policy_lab lab;

	(void)state;
	begin(&lab);
	submit(&lab, 2, 2);
	submit(&lab, 2, 0.1);
	decide(&lab);
	lab.plans[0].grants.items[0].given.of[NEED_CPUS] = 3.1;
	assert_string_equal(pol_plan_why_not(&lab.plans[0], &lab.view),
			    "CPUs given twice");
	lab.plans[0].grants.items[0].given.of[NEED_CPUS] = NAN;
	assert_string_equal(pol_plan_why_not(&lab.plans[0], &lab.view),
			    "an amount that is not valid");
	lab_fini(&lab);
}

static void
loading_is_as_fast_as_there_are_cpus(void **state)
{
	static const struct {
		double load_s, cpus, speed;
	} cases[] = {
		{ 2, 0, 1 },        { 2, 1, 1 },     { 2, 1.5, 1.5 }, { 2, 2, 2 },
		{ 2, 4, 2 },        { 2, 0.5, 0.5 }, { 0.5, 4, 1 },   { 0.5, 0.5, 1 },
		{ 0.5, 0.25, 0.5 }, { NAN, 4, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct pol_job job = { .iteration_s = 1,
					     .stage_s = { cases[i].load_s, 1, 0 },
					     .given = { { cases[i].cpus } } };

		assert_near(stages_speed(NULL, &job, 1, 1, 0, NULL, 0), cases[i].speed,
			    1e-12);
	}
}

static void
a_run(double load_s, struct cluster_result *ret_results, size_t n)
{
	const struct pol_cluster cluster = lab_cluster_of(lab_gpus, N_NODES);
	struct cluster_job jobs[N_JOBS];
	struct rng rng;

	rng_init(&rng, 1);
	for (size_t i = 0; i < n; i++) {
		double duration_s = (double)(300 + rng_below(&rng, 2000));

		jobs[i] = cluster_lab_job((double)i * 300, duration_s,
					  (uint32_t)(1 + rng_below(&rng, 12)));
		jobs[i].iteration_s = 1;
		jobs[i].stage_s[0] = i % 2 ? 0.1 : load_s;
		jobs[i].stage_s[1] = 1;
	}
	cluster_lab_run(&cluster, "synergy", NULL, jobs, n, ret_results);
	/* No job is slower than with an even share. */
	for (size_t i = 0; i < n; i++)
		assert_true(ret_results[i].executed_s <= jobs[i].duration_s + 1e-6);
}

static void
all_are_served_and_nobody_is_slower_than_evenly(void **state)
{
	struct cluster_result results[N_JOBS];

	(void)state;
	a_run(4, results, N_JOBS);
	a_run(NAN, results, N_JOBS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_have_as_many_cpus_as_they_can_use),
		cmocka_unit_test(the_fullest_node_with_both_is_taken),
		cmocka_unit_test(no_gpu_is_idle_for_want_of_cpus),
		cmocka_unit_test(one_of_several_nodes_has_an_even_share),
		cmocka_unit_test(cpus_given_twice_are_found),
		cmocka_unit_test(loading_is_as_fast_as_there_are_cpus),
		cmocka_unit_test(all_are_served_and_nobody_is_slower_than_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
