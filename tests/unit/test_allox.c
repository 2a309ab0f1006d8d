/* SPDX-License-Identifier: Apache-2.0 */
/* test_allox.c - AlloX's assignment of jobs to GPUs, against all schedules */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define N_JOBS  6
#define N_TYPES 3

/* Three GPUs of different types. */
static const uint32_t gpus[N_TYPES] = { 1, 1, 1 }, types[N_TYPES] = { 0, 1, 2 },
		      zeros[N_TYPES];
static const struct pol_cluster cluster = { .n_nodes = N_TYPES,
					    .n_racks = 1,
					    .n_types = N_TYPES,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = types,
					    .n_all_gpus = N_TYPES };

struct throughputs {
	double of[N_JOBS][N_TYPES];
};

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)n_gpus;
	(void)n_nodes;
	(void)mates;
	(void)n_mates;
	return ((const struct throughputs *)ctx)->of[job->id][type];
}

/*
 * The least sum of completion times over all assignments of jobs to machines, shortest
 * first on each.  Where firsts[machine] is a job, that one must be first.
 */
static double
best(const struct cluster_job *jobs, const struct throughputs *speeds,
     const uint32_t *firsts, uint32_t *machine_of, uint32_t i)
{
	double least = INFINITY, sum = 0;

	for (uint32_t m = 0; i < N_JOBS && m < N_TYPES; m++) {
		machine_of[i] = m;
		least = fmin(least, best(jobs, speeds, firsts, machine_of, i + 1));
	}
	if (i < N_JOBS)
		return least;
	for (uint32_t m = 0; firsts && m < N_TYPES; m++)
		if (firsts[m] != POL_NONE && machine_of[firsts[m]] != m)
			return INFINITY;
	/* A job delays itself and the longer jobs on its machine. */
	for (uint32_t a = 0; a < N_JOBS; a++)
		for (uint32_t b = 0; b < N_JOBS; b++) {
			uint32_t m = machine_of[a];
			double time_a = jobs[a].duration_s / speeds->of[a][m];
			double time_b = jobs[b].duration_s / speeds->of[b][m];

			if (firsts && firsts[m] == a && machine_of[b] == m &&
			    time_b < time_a)
				return INFINITY;
			if (machine_of[b] == m &&
			    (time_a < time_b || (time_a == time_b && a <= b)))
				sum += time_a;
		}
	return sum;
}

/* Records the first job of each machine. */
static void
on_plan(void *ctx, const struct pol_view *view, const struct pol_plan *plan)
{
	uint32_t *firsts = ctx;

	for (size_t i = 0; view->now_s == 0 && i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		firsts[plan->pieces.items[grant->first_piece].node] = grant->job;
	}
}

static void
the_first_on_each_machine_are_those_of_the_best_schedule(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 31);
	for (int round = 0; round < 100; round++) {
		struct cluster_job jobs[N_JOBS];
		struct throughputs speeds;
		uint32_t firsts[N_TYPES] = { POL_NONE, POL_NONE, POL_NONE };
		const struct cluster_work work = { .speed = { .ctx = &speeds,
							      .speed = speed } };
		const struct cluster_opts opts = { .cluster = &cluster,
						   .work = &work,
						   .until_s = INFINITY,
						   .check = true,
						   .ctx = firsts,
						   .on_plan = on_plan };
		struct cluster_result results[N_JOBS];
		struct cluster_counts counts;
		struct policy *policy;
		struct err err = { 0 };
		uint32_t machine_of[N_JOBS];
		double found_s, least_s;
		size_t bad;

		for (int i = 0; i < N_JOBS; i++) {
			jobs[i] = (struct cluster_job){
				.duration_s = 1 + (double)rng_below(&rng, 100),
				.n_gpus = 1,
				.max_gpus = 1,
				.predicted_s = NAN
			};
			for (int type = 0; type < N_TYPES; type++)
				speeds.of[i][type] = 0.2 + rng_uniform(&rng);
		}
		assert_int_equal(
			policy_new(policy_find("allox"), NULL, &cluster, &policy, &err),
			0);
		assert_int_equal(cluster_run(jobs, N_JOBS, policy, &opts, results,
					     &counts, &bad),
				 0);
		policy_free(policy);
		found_s = best(jobs, &speeds, firsts, machine_of, 0);
		least_s = best(jobs, &speeds, NULL, machine_of, 0);
		if (!(fabs(found_s - least_s) <= 1e-6))
			fail_msg("round %d: %.9g s in all, not %.9g", round, found_s,
				 least_s);
		assert_int_equal(counts.n_preemptions, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_first_on_each_machine_are_those_of_the_best_schedule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
