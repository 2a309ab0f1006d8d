/* SPDX-License-Identifier: Apache-2.0 */
/* test_size_ranks.c - several ranks on a GPU before another job waits (Singularity) */
#include <math.h>
#include <string.h>

#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

enum {
	BASIC,
	STANDARD,
	PREMIUM,
};

static const uint32_t two_nodes[] = { 4, 4 };

static void
submit(struct policy_lab *lab, uint32_t n_gpus, int32_t tier, double memory)
{
	lab_add(lab, (struct pol_job){ .n_gpus = n_gpus,
				       .max_gpus = n_gpus,
				       .priority = tier,
				       .needs = { { 0, 0, memory, 0 } } });
}

static void
put_ranks(struct strbuf *text, const struct pol_plan *plan,
	  const struct pol_grant *grant)
{
	(void)plan;
	if (grant->n_ranks > 1)
		strbuf_printf(text, " by %u", grant->n_ranks);
}

static const char *
decide(struct policy_lab *lab)
{
	const char *text = lab_decide(lab, put_ranks);

	lab_carry_out(lab);
	return text;
}

static void
lower_tiers_shrink_first_and_the_last_one_waits(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init_on(&lab, lab_cluster_of(two_nodes, 2), "singularity", NULL);
	submit(&lab, 8, BASIC, 0); /* a */
	assert_string_equal(decide(&lab), "a 0:4 1:4");
	submit(&lab, 4, PREMIUM, 0); /* b: a has half of its GPUs left. */
	assert_string_equal(decide(&lab), "b 0:4, a 1:4 by 2");
	submit(&lab, 4, STANDARD, 0); /* c: a needs at least two GPUs, c gets two. */
	assert_string_equal(decide(&lab), "b 0:4, c 1:2 by 2, a 1:2 by 4");
	submit(&lab, 2, PREMIUM, 0); /* d: a is stopped only now. */
	assert_string_equal(decide(&lab), "b 0:4, c 1:2 by 2, d 1:2");
	lab_finish(&lab, 1);
	assert_string_equal(decide(&lab), "d 1:2, c 0:4, a 1:2 by 4");
	lab_fini(&lab);
}

static void
ranks_fit_into_the_memory_of_a_gpu(void **state)
{
	static const struct needs capacity[] = { { { 0, 0, 32, 0 } } };
	struct pol_cluster cluster = lab_cluster_of(two_nodes, 2);
	struct policy_lab lab;

	(void)state;
	cluster.capacity = capacity;
	lab_init_on(&lab, cluster, "singularity", NULL);
	submit(&lab, 8, BASIC, 16); /* Two ranks of it fit, */
	submit(&lab, 4, BASIC, 10); /* and three of this one. */
	submit(&lab, 4, BASIC, 20); /* One; it waits. */
	assert_string_equal(decide(&lab), "a 0:4 by 2, b 1:4");
	/* With activations of half the size, all of them fit. */
	for (int i = 0; i < 3; i++)
		lab.jobs[i].needs.of[NEED_GPU_MEMORY] /= 2;
	assert_string_equal(decide(&lab), "a 0:4 by 2, b 1:2 by 2, c 1:2 by 2");
	lab_fini(&lab);
}

/* A basic job of 100 s on 8 GPUs; a premium one has half of them for 30 s. */
static void
a_job_with_k_ranks_on_a_gpu_runs_at_1_over_k(void **state)
{
	struct cluster_job jobs[] = { cluster_lab_job(0, 100, 8),
				      cluster_lab_job(20, 30, 4) };
	struct pol_cluster cluster = lab_cluster_of(two_nodes, 2);
	struct cluster_result results[2];

	(void)state;
	jobs[1].priority = PREMIUM;
	cluster_lab_run(&cluster, "singularity", NULL, jobs, 2, results);
	assert_near(results[0].end_s, 20 + 30 + 100 - 20 - 30 / 2.0, 1e-9);
	assert_near(results[0].attained_s, 8 * 85 + 4 * 30, 1e-9);
	assert_near(results[1].end_s, 50, 1e-9);
	assert_int_equal(results[0].n_preempted, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lower_tiers_shrink_first_and_the_last_one_waits),
		cmocka_unit_test(ranks_fit_into_the_memory_of_a_gpu),
		cmocka_unit_test(a_job_with_k_ranks_on_a_gpu_runs_at_1_over_k),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
