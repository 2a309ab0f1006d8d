/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_lyra.c - returned servers, shortest first, and extra workers (Lyra) */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/reclaim.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

/* ---- Which servers are returned --------------------------------------------------- */

#define N_SERVERS  8
#define N_TRAINING 2 /* The first ones are not lent. */
#define N_JOBS     10
#define N_CASES    2000
#define UNIT       12 /* Costs in twelfths are whole: jobs have up to 4 servers. */

struct scene {
	struct pol_job jobs[N_JOBS];
	struct pol_piece pieces[N_JOBS][N_SERVERS];
	uint32_t ids[N_JOBS], gpus[N_SERVERS];
	struct pol_cluster cluster;
	struct pol_view view;
};

/* Jobs of a GPU on each of up to 'n_most' servers. */
static void
draw(struct scene *scene, struct rng *rng, uint32_t n_most)
{
	*scene = (struct scene){ .cluster = { .n_nodes = N_SERVERS,
					      .n_gpus = scene->gpus },
				 .view = { .cluster = &scene->cluster,
					   .ids = scene->ids,
					   .n_jobs = N_JOBS,
					   .jobs = scene->jobs } };
	for (uint32_t i = 0; i < N_SERVERS; i++)
		scene->gpus[i] = N_JOBS;
	for (uint32_t i = 0; i < N_JOBS; i++) {
		struct pol_job *job = &scene->jobs[i];
		uint32_t n = 1 + (uint32_t)rng_below(rng, n_most);

		scene->ids[i] = i;
		for (uint32_t k = 0; k < N_SERVERS && job->n_pieces < n; k++)
			if (rng_below(rng, N_SERVERS - k) < n - job->n_pieces)
				scene->pieces[i][job->n_pieces++] =
					(struct pol_piece){ k, 1, 0 };
		job->pieces = scene->pieces[i];
		job->n_gpus = job->max_gpus = job->n_held_gpus = n;
	}
}

static uint32_t
servers_of(const struct pol_job *job)
{
	uint32_t set = 0;

	for (uint32_t k = 0; k < job->n_pieces; k++)
		set |= 1u << job->pieces[k].node;
	return set;
}

/* Jobs that a set of returned servers stops. */
static uint32_t
count_stopped(const struct scene *scene, uint32_t set)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N_JOBS; i++)
		n += (servers_of(&scene->jobs[i]) & set) != 0;
	return n;
}

/* The least of all sets of 'n' lent servers. */
static uint32_t
least_stopped(const struct scene *scene, uint32_t n)
{
	uint32_t least = N_JOBS;

	for (uint32_t set = 0; set < 1u << N_SERVERS; set += 1u << N_TRAINING)
		if (__builtin_popcount(set) == (int)n &&
		    count_stopped(scene, set) < least)
			least = count_stopped(scene, set);
	return least;
}

/* Cost of one more server than 'set', in twelfths. */
static uint32_t
cost_of(const struct scene *scene, uint32_t set, uint32_t server)
{
	uint32_t cost = 0;

	for (uint32_t i = 0; i < N_JOBS; i++) {
		uint32_t servers = servers_of(&scene->jobs[i]);

		if (!(servers & set) && servers >> server & 1)
			cost += UNIT / scene->jobs[i].n_pieces;
	}
	return cost;
}

static uint32_t
by_definition(const struct scene *scene, uint32_t n)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t best = POL_NONE;

		for (uint32_t server = N_TRAINING; server < N_SERVERS; server++)
			if (!(set >> server & 1) &&
			    (best == POL_NONE ||
			     cost_of(scene, set, server) <= cost_of(scene, set, best)))
				best = server;
		set |= 1u << best;
	}
	return set;
}

/* Returns how many jobs are stopped; checks that it is the greedy choice. */
static uint32_t
reclaim(const struct scene *scene, uint32_t n)
{
	struct reclaim r = { 0 };
	bool is_lent[N_SERVERS];
	uint32_t set = 0, n_stopped;

	memset(is_lent, true, sizeof is_lent);
	n_stopped = reclaim_servers(&r, &scene->view, N_TRAINING, n, is_lent);
	for (uint32_t i = 0; i < N_SERVERS; i++)
		set |= is_lent[i] ? 0 : 1u << i;
	assert_int_equal(set, by_definition(scene, n));
	assert_int_equal(n_stopped, count_stopped(scene, set));
	reclaim_fini(&r);
	return n_stopped;
}

static void
the_cheapest_servers_are_returned_one_by_one(void **state)
{
	uint32_t n_best = 0, n_more = 0;
	struct scene scene;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < N_CASES; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, N_SERVERS - N_TRAINING);
		uint32_t n_stopped, n_least;

		draw(&scene, &rng, 4);
		n_stopped = reclaim(&scene, n);
		n_least = least_stopped(&scene, n);
		assert_true(n_stopped >= n_least);
		n_best += n_stopped == n_least;
		n_more += n_stopped - n_least;
	}
	/* As docs/policies/lyra.md says. */
	assert_int_equal(n_best, 1798);
	assert_int_equal(n_more, 211);
}

static void
it_is_the_optimum_if_jobs_are_on_one_server(void **state)
{
	struct scene scene;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < N_CASES; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, N_SERVERS - N_TRAINING);

		draw(&scene, &rng, 1);
		assert_int_equal(reclaim(&scene, n), least_stopped(&scene, n));
	}
}

/* ---- Plans ------------------------------------------------------------------------ */

/* The last two of four nodes are lent; inference wants both at 12:00, none at 0:00. */
static const char *const sets[] = { "lyra.loaned_share=0.5", "lyra.peak_hour=12",
				    "predicted.oracle=1" };
static const struct policy_opts opts = {
	.sets = sets, .n_sets = 3, .round_s = NAN, .restart_s = NAN
};

static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	(void)ctx;
	(void)n_nodes;
	(void)type;
	(void)mates;
	(void)n_mates;
	return pow((double)n_gpus / job->n_gpus, 0.5 + 0.1 * (job->id % 4));
}

static const char *
decide(struct policy_lab *lab, double hour)
{
	static char text[256];
	const struct pol_plan *plan = &lab->plans[0];

	lab->view.now_s = hour * 3600;
	lab_plan(lab, 1);
	lab_carry_out(lab);
	text[0] = '\0';
	for (uint32_t id = 0; id < lab->n; id++) {
		const struct pol_grant *grant = pol_plan_find(plan, id);

		for (uint32_t i = 0; grant && i < grant->n_pieces; i++) {
			const struct pol_piece *piece =
				&plan->pieces.items[grant->first_piece + i];
			size_t n = strlen(text);

			snprintf(text + n, sizeof text - n, "%s%u:%u", i ? "+" : " ",
				 piece->node, piece->n_gpus);
		}
		if (!grant)
			strcat(text, " -");
	}
	return text;
}

static void
jobs_leave_servers_that_inference_wants(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "lyra", &opts);
	lab.view.speed.speed = speed;
	lab_submit(&lab, 2, 6, 1e6); /* a: elastic. */
	lab_submit(&lab, 6, 6, 2e6); /* b */
	lab_submit(&lab, 3, 3, 3e6); /* c: it is served last. */
	lab_submit(&lab, 1, 1, 4e6); /* d */
	/* Training servers first; extra workers onto lent ones. */
	assert_string_equal(decide(&lab, 0), " 0:2+3:4 0:2+1:4 2:3 2:1");
	/* At half load, the one with extra workers only. */
	assert_string_equal(decide(&lab, 6), " 0:2 0:2+1:4 2:3 2:1");
	assert_string_equal(decide(&lab, 12), " 0:2 0:2+1:4 - -");
	assert_string_equal(decide(&lab, 18), " 0:2 0:2+1:4 2:3 2:1");
	assert_string_equal(decide(&lab, 24), " 0:2+3:4 0:2+1:4 2:3 2:1");
	lab_fini(&lab);
}

static void
the_shortest_job_is_first_and_none_is_stopped_for_it(void **state)
{
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "lyra", &opts);
	lab_submit(&lab, 8, 8, 100);
	assert_string_equal(decide(&lab, 12), " 0:4+1:4");
	lab_submit(&lab, 8, 8, 50);
	lab_submit(&lab, 16, 16, 10);
	lab_submit(&lab, 4, 4, 20);
	assert_string_equal(decide(&lab, 12), " 0:4+1:4 - - -");
	assert_string_equal(decide(&lab, 18), " 0:4+1:4 - - 2:4");
	lab_finish(&lab, 0);
	lab.jobs[0].n_pieces = 0;
	assert_string_equal(decide(&lab, 18), " - 0:4+1:4 - 2:4");
	lab_fini(&lab);
}

static double
sum_remaining_s(const struct policy_lab *lab, const uint32_t *n_gpus)
{
	double sum_s = 0;

	for (uint32_t i = 0; i < lab->n; i++)
		sum_s += lab->jobs[i].remaining_s /
			 speed(NULL, &lab->jobs[i], n_gpus[i], 1, 0, NULL, 0);
	return sum_s;
}

/* Of all numbers of extra workers of three jobs on 16 GPUs. */
static void
extra_workers_save_the_most_time(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int c = 0; c < 100; c++) {
		double best_s = INFINITY;
		uint32_t n[3], chosen[3];
		struct policy_lab lab;

		lab_init(&lab, "lyra", &opts);
		lab.view.speed.speed = speed;
		for (int i = 0; i < 3; i++)
			lab_submit(&lab, 1 + (uint32_t)rng_below(&rng, 4),
				   5 + (uint32_t)rng_below(&rng, 8),
				   (double)(10 + rng_below(&rng, 1000)));
		for (n[0] = lab.jobs[0].n_gpus; n[0] <= lab.jobs[0].max_gpus; n[0]++)
			for (n[1] = lab.jobs[1].n_gpus; n[1] <= lab.jobs[1].max_gpus;
			     n[1]++)
				for (n[2] = lab.jobs[2].n_gpus;
				     n[2] <= lab.jobs[2].max_gpus; n[2]++)
					if (n[0] + n[1] + n[2] <= 16)
						best_s = fmin(best_s,
							      sum_remaining_s(&lab, n));
		decide(&lab, 0);
		for (int i = 0; i < 3; i++)
			chosen[i] = lab.jobs[i].n_held_gpus;
		assert_near(sum_remaining_s(&lab, chosen), best_s, 1e-6 * best_s);
		lab_fini(&lab);
	}
}

static void
it_decides_when_the_load_changes(void **state)
{
	static const char *const all[] = { "lyra.loaned_share=0.5",
					   "lyra.least_load=1" };
	const struct policy_opts never = {
		.sets = all, .n_sets = 2, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	(void)state;
	lab_init(&lab, "lyra", &opts);
	assert_true(isinf(policy_wakeup_s(lab.policy, &lab.view)));
	lab_submit(&lab, 16, 16, 100);
	/* A quarter of the load, 4 h after midnight; half a step of rounding. */
	assert_in_range(policy_wakeup_s(lab.policy, &lab.view), 14400, 14700);
	lab.view.now_s = 86400 + 14700;
	assert_in_range(policy_wakeup_s(lab.policy, &lab.view), 86400 + 28800,
			86400 + 29100);
	lab_fini(&lab);
	/* A job that never fits does not make it wake up. */
	lab_init(&lab, "lyra", &never);
	lab_submit(&lab, 16, 16, 100);
	assert_true(isinf(policy_wakeup_s(lab.policy, &lab.view)));
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cheapest_servers_are_returned_one_by_one),
		cmocka_unit_test(it_is_the_optimum_if_jobs_are_on_one_server),
		cmocka_unit_test(jobs_leave_servers_that_inference_wants),
		cmocka_unit_test(the_shortest_job_is_first_and_none_is_stopped_for_it),
		cmocka_unit_test(extra_workers_save_the_most_time),
		cmocka_unit_test(it_decides_when_the_load_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
