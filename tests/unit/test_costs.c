/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_costs.c - the costs of restarts, resizes and migrations add up, and no policy
 * loses a job that is stopped at any event
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

#define N_JOBS    40
#define N_STOPS   5
#define MAX_STOPS 20 /* Of a job, at random. */
#define NEAR_S    1e-6

/* ---- Costs of one job ------------------------------------------------------------ */

/* What the job gets from a time on: GPUs of a node; none: it waits. */
struct step {
	double from_s;
	uint32_t node, n_gpus;
};

/* A run of 100 s that is moved, resized twice, stopped for 20 s, and moved. */
static const struct step steps[] = { { 0, 0, 2 },   { 10, 1, 2 }, { 30, 1, 4 },
				     { 45, 1, 2 },  { 60, 0, 0 }, { 80, 0, 2 },
				     { 110, 3, 2 }, { 1e9, 0, 0 } };

static const struct step *
step_at(double now_s)
{
	const struct step *step = steps;

	while (step[1].from_s <= now_s)
		step++;
	return step;
}

static double
wakeup_s(void *state, const struct pol_view *view)
{
	(void)state;
	return step_at(view->now_s)[1].from_s;
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	const struct step *step = step_at(view->now_s);

	(void)state;
	(void)n_max;
	if (!step->n_gpus || !view->n_jobs)
		return 1;
	vec_push(&plans[0].pieces, ((struct pol_piece){ step->node, step->n_gpus, 0 }));
	pol_plan_grant(&plans[0], 0, step->n_gpus, 0, 0);
	return 1;
}

static const struct pol_planner planner_steps = {
	.module = { .name = "steps", .text = "a list of steps", .wakeup_s = wakeup_s },
	.plan = plan,
};
static const struct policy_spec policy_steps = { .name = "steps",
						 .planner = &planner_steps };

/* The completion time of a job of 100 s that may have 1 to 4 GPUs. */
static double
run_steps(const struct policy_opts *opts)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts cluster_opts = { .cluster = &lab_cluster,
						   .work = &work,
						   .until_s = INFINITY,
						   .check = true };
	struct cluster_job job = cluster_lab_job(0, 100, 2);
	struct cluster_result result;
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	job.max_gpus = 4;
	assert_int_equal(policy_new(&policy_steps, opts, &lab_cluster, &policy, &err),
			 0);
	assert_int_equal(
		cluster_run(&job, 1, policy, &cluster_opts, &result, &counts, &bad), 0);
	policy_free(policy);
	assert_int_equal(result.n_preempted, 1);
	assert_int_equal(result.n_starts, 6);
	assert_near(result.executed_s, 100, NEAR_S);
	return result.end_s;
}

static void
each_kind_has_its_own_cost(void **state)
{
	static const double costs[][3] = { /* Restart, resize, migrate. */
					   { 0, 0, 0 },
					   { 7, 0, 0 },
					   { 0, 3, 0 },
					   { 0, 0, 2 },
					   { 6, 3, 0.5 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
		const struct policy_opts opts = { .round_s = NAN,
						  .restart_s = costs[i][0],
						  .resize_s = &costs[i][1],
						  .migrate_s = &costs[i][2] };

		/* One restart, two resizes, two migrations; it waits for 20 s. */
		assert_near(run_steps(&opts),
			    120 + costs[i][0] + 2 * costs[i][1] + 2 * costs[i][2],
			    NEAR_S);
	}
}

static void
by_default_each_costs_a_restart(void **state)
{
	const struct policy_opts opts = { .round_s = NAN, .restart_s = 4 };

	(void)state;
	assert_near(run_steps(&opts), 120 + 5 * 4, NEAR_S);
}

/* ---- Interruptions --------------------------------------------------------------- */

struct stops {
	struct rng rng;
	double at_s[N_STOPS]; /* Of job 0; or at random. */
	uint32_t n;
	bool is_random;
};

static bool
interrupt(void *ctx, const struct pol_view *view, const struct pol_job *job)
{
	struct stops *stops = ctx;

	/* A bound, since a job that is starting again may see many events. */
	if (stops->is_random)
		return job->n_preempted < MAX_STOPS && rng_below(&stops->rng, 8) == 0;
	if (job->id || stops->n == N_STOPS || view->now_s < stops->at_s[stops->n])
		return false;
	stops->n++;
	return true;
}

static struct cluster_counts
run(const struct policy_spec *spec, const struct cluster_job *jobs, size_t n,
    double cost_s, uint64_t seed, struct stops *stops, struct cluster_result *results)
{
	static const char *const short_search = "goodput.max_generations=5";
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = &lab_cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .ctx = stops,
					   .interrupt = interrupt };
	const struct policy_opts policy_opts = { .seed = seed,
						 .sets = &short_search,
						 .n_sets = strcmp(spec->name,
								  "pollux") == 0,
						 .round_s = NAN,
						 .restart_s = cost_s };
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(policy_new(spec, &policy_opts, &lab_cluster, &policy, &err),
			 0);
	assert_int_equal(cluster_run(jobs, n, policy, &opts, results, &counts, &bad),
			 0);
	policy_free(policy);
	return counts;
}

/* One job, and others of no length whose arrivals are the events. */
static void
a_job_takes_as_much_longer_as_its_costs_under_every_policy(void **state)
{
	const double cost_s = 45;
	struct cluster_job jobs[1 + N_STOPS] = { cluster_lab_job(0, 5000, 1) };

	(void)state;
	for (uint32_t i = 0; i < N_STOPS; i++)
		jobs[1 + i] = cluster_lab_job(1000 + 700 * i, 0, 1);
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		struct cluster_result without[1 + N_STOPS], with[1 + N_STOPS];
		struct stops stops = { 0 }, again;
		uint32_t n;

		for (uint32_t i = 0; i < N_STOPS; i++)
			stops.at_s[i] = jobs[1 + i].submit_s;
		again = stops;
		run(spec, jobs, 1 + N_STOPS, 0, 1, &stops, without);
		run(spec, jobs, 1 + N_STOPS, cost_s, 1, &again, with);
		n = with[0].n_starts - 1;
		if (n < N_STOPS || n != without[0].n_starts - 1 ||
		    !(fabs(with[0].end_s - without[0].end_s - n * cost_s) < NEAR_S))
			fail_msg("%s: %u and %u starts, ends at %g and %g", spec->name,
				 without[0].n_starts, with[0].n_starts,
				 without[0].end_s, with[0].end_s);
	}
}

static void
draw_jobs(struct cluster_job *jobs, uint64_t seed)
{
	struct rng rng;
	double now_s = 0;

	rng_init(&rng, seed);
	for (size_t i = 0; i < N_JOBS; i++) {
		double gpu = 0.1 * (double)(1 + rng_below(&rng, 9));

		now_s += (double)rng_below(&rng, 200);
		jobs[i] = cluster_lab_job(now_s, (double)rng_below(&rng, 2000),
					  1u << rng_below(&rng, 5));
		jobs[i].user = (uint32_t)rng_below(&rng, 3);
		jobs[i].priority = (int32_t)rng_below(&rng, 3);
		if (rng_below(&rng, 3) == 0)
			continue;
		jobs[i].iteration_s = 1;
		jobs[i].stage_s[0] = (1 - gpu) / 2;
		jobs[i].stage_s[1] = gpu;
		jobs[i].stage_s[2] = (1 - gpu) / 2;
	}
}

static void
no_policy_loses_a_job_that_is_stopped(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];

	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		for (uint64_t seed = 1; seed <= 25; seed++) {
			struct stops stops = { .is_random = true };

			rng_init(&stops.rng, seed);
			draw_jobs(jobs, seed);
			/* All plans are checked on the way. */
			if (!run(spec, jobs, N_JOBS, 20, seed, &stops, results)
				     .n_preemptions)
				fail_msg("%s: no job was stopped", spec->name);
			for (size_t i = 0; i < N_JOBS; i++)
				if (!(results[i].end_s >= jobs[i].submit_s))
					fail_msg("%s, seed %d: job %zu did not end",
						 spec->name, (int)seed, i);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_its_own_cost),
		cmocka_unit_test(by_default_each_costs_a_restart),
		cmocka_unit_test(
			a_job_takes_as_much_longer_as_its_costs_under_every_policy),
		cmocka_unit_test(no_policy_loses_a_job_that_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
