/* SPDX-License-Identifier: Apache-2.0 */
/* test_crux.c - Crux's intensities, paths, priorities and contention graph */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "sim/baselines/crux.h"
#include "tests/unit/test.h"

/*
 * Three hosts of a rack send to three of another over two spines: links 0 to 2 leave the
 * hosts, 3 and 4 lead to the spines.  Path 2 h + s is that of host h over spine s.
 */
static const double capacity[5] = { 8, 8, 8, 8, 8 }; /* A byte a second. */
static const uint32_t hops[12] = { 0, 3, 0, 4, 1, 3, 1, 4, 2, 3, 2, 4 };
static const struct crux_path paths[6] = {
	{ 0, 2 }, { 2, 2 }, { 4, 2 }, { 6, 2 }, { 8, 2 }, { 10, 2 },
};
static const struct crux_job jobs[3] = { { 10, 2, 2 }, { 5, 1, 1 }, { 9, 3, 0 } };
static const struct crux_flow flows[3] = { { 0, 0, 2, 2 },
					   { 1, 2, 2, 1 },
					   { 2, 4, 2, 1 } };

static struct crux_problem
small(void)
{
	return (struct crux_problem){ .capacity_bps = capacity,
				      .n_links = 5,
				      .jobs = jobs,
				      .n_jobs = 3,
				      .flows = flows,
				      .n_flows = 3,
				      .paths = paths,
				      .n_paths = 6,
				      .hops = hops,
				      .n_hops = 12 };
}

static void
intensity_is_computing_over_the_slowest_link(void **state)
{
	struct crux_problem problem = small();
	const uint32_t choices[3] = { 0, 0, 1 };
	double network_s[3], intensities[3];

	(void)state;
	crux_intensities(&problem, choices, network_s, intensities);
	assert_near(network_s[0], 2, 0);
	assert_near(network_s[1], 1, 0);
	assert_near(intensities[0], 5, 0);
	assert_near(intensities[1], 5, 0);
	assert_near(intensities[2], 9, 0);
	crux_intensities(&problem, choices, NULL, intensities);
	crux_intensities(&problem, choices, network_s, NULL);
}

static void
flows_of_a_job_add_up_on_a_link(void **state)
{
	struct crux_problem problem = small();
	const struct crux_flow both[2] = { { 0, 0, 2, 2 }, { 0, 2, 2, 1 } };
	uint32_t choices[2] = { 1, 1 };
	double network_s[3], intensities[3];

	(void)state;
	problem.flows = both;
	problem.n_flows = 2;
	crux_intensities(&problem, choices, network_s, intensities);
	assert_near(network_s[0], 3, 0);
	assert_near(intensities[1], 0, 0);
	crux_choose_paths(&problem, choices);
	crux_intensities(&problem, choices, network_s, NULL);
	assert_near(network_s[0], 2, 0);
}

static void
jobs_choose_by_intensity_what_is_least_congested(void **state)
{
	struct crux_problem problem = small();
	uint32_t choices[3] = { 0, 0, 0 };

	(void)state;
	crux_choose_paths(&problem, choices);
	/*
	 * Job 2 first: spine 0, a third of the time.  Job 0: spine 1, half of the time.
	 * Job 1, half of the time: spine 0.
	 */
	assert_int_equal(choices[2], 0);
	assert_int_equal(choices[0], 1);
	assert_int_equal(choices[1], 0);
}

static void
the_published_example_has_its_priorities(void **state)
{
	struct crux_problem problem = small();
	const uint32_t choices[3] = { 0, 0, 0 };
	double priorities[3];

	(void)state;
	problem.n_jobs = problem.n_flows = 2;
	crux_priorities(&problem, choices, priorities);
	assert_near(priorities[0], 5, 0);
	assert_near(priorities[1], 7.5, 0);
}

static void
jobs_on_a_link_contend_once(void **state)
{
	struct crux_problem problem = small();
	const struct crux_flow twice[4] = {
		{ 0, 0, 2, 2 }, { 0, 0, 2, 2 }, { 1, 2, 2, 1 }, { 1, 2, 2, 1 }
	};
	const uint32_t apart[3] = { 0, 1, 0 }, together[4] = { 0, 1, 0, 1 };
	const double priorities[3] = { 1, 2, 3 }, intensities[3] = { 4, 5, 6 };
	struct crux_edge *edges;

	(void)state;
	assert_int_equal(
		crux_contention(&problem, apart, priorities, intensities, &edges), 1);
	assert_int_equal(edges[0].high, 2);
	assert_int_equal(edges[0].low, 0);
	assert_near(edges[0].weight, 6, 0);
	free(edges);
	/* They meet on both spines. */
	problem.flows = twice;
	problem.n_flows = 4;
	assert_int_equal(
		crux_contention(&problem, together, priorities, intensities, &edges),
		1);
	assert_int_equal(edges[0].high, 1);
	free(edges);
}

static void
bad_problems_are_refused(void **state)
{
	struct crux_problem problem = small();
	struct crux_flow f[3];
	struct crux_job j[3];
	double c[5] = { 8, 8, 8, 8, 0 };

	(void)state;
	assert_int_equal(crux_check(&problem), 0);
	problem.capacity_bps = c;
	assert_int_equal(crux_check(&problem), -EINVAL);
	c[4] = NAN;
	assert_int_equal(crux_check(&problem), -EINVAL);
	problem = small();
	problem.n_links = 4;
	assert_int_equal(crux_check(&problem), -EINVAL);
	problem = small();
	problem.n_hops = 11;
	assert_int_equal(crux_check(&problem), -EINVAL);
	problem = small();
	problem.n_paths = 5;
	assert_int_equal(crux_check(&problem), -EINVAL);
	problem = small();
	problem.n_jobs = 2;
	assert_int_equal(crux_check(&problem), -EINVAL);
	for (int bad = 0; bad < 6; bad++) {
		problem = small();
		memcpy(f, flows, sizeof f);
		memcpy(j, jobs, sizeof j);
		problem.flows = f;
		problem.jobs = j;
		switch (bad) {
		case 0:
			f[2].job = 0;
			break;
		case 1:
			f[1].n_paths = 0;
			break;
		case 2:
			f[1].bytes = -1;
			break;
		case 3:
			j[0].compute_s = 0;
			break;
		case 4:
			j[0].compute_flop = INFINITY;
			break;
		default:
			j[0].offset_s = NAN;
		}
		assert_int_equal(crux_check(&problem), -EINVAL);
	}
	problem = (struct crux_problem){ 0 };
	assert_int_equal(crux_check(&problem), 0);
	crux_choose_paths(&problem, NULL);
}

#define N_LINKS 8
#define N_JOBS  6
#define N_FLOWS 12
#define N_PATHS 3 /* Of a flow, of two links each. */

/* Whether flows of both jobs that send are on the link. */
static bool
is_shared(const struct crux_problem *problem, const uint32_t *choices, uint32_t a,
	  uint32_t b, uint32_t link)
{
	bool is_there[2] = { false, false };

	for (uint32_t f = 0; f < problem->n_flows; f++) {
		const struct crux_flow *flow = &problem->flows[f];
		const struct crux_path *path =
			&problem->paths[flow->first_path + choices[f]];

		for (uint32_t h = 0; flow->bytes > 0 && h < path->n_links; h++) {
			if (problem->hops[path->first_link + h] != link)
				continue;
			is_there[0] |= flow->job == a;
			is_there[1] |= flow->job == b;
		}
	}
	return is_there[0] && is_there[1];
}

/* Any order of priorities; some jobs send nothing, some flows have no bytes. */
static void
the_contention_graph_has_the_pairs_that_share_a_link(void **state)
{
	double capacity_of[N_LINKS], priorities[N_JOBS], intensities[N_JOBS];
	struct crux_job computes[N_JOBS];
	struct crux_flow sends[N_FLOWS];
	struct crux_path each[N_FLOWS * N_PATHS];
	uint32_t links[N_FLOWS * N_PATHS * 2], choices[N_FLOWS];
	const struct crux_problem problem = { capacity_of, N_LINKS, computes, N_JOBS,
					      sends,       N_FLOWS, each,     36,
					      links,       72 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 24);
	for (int i = 0; i < 300; i++) {
		struct crux_edge *edges;
		size_t n = 0, n_edges;

		for (uint32_t l = 0; l < N_LINKS; l++)
			capacity_of[l] = 1;
		for (uint32_t j = 0; j < N_JOBS; j++) {
			computes[j] = (struct crux_job){ 1, 1, 1 };
			priorities[j] = (double)rng_below(&rng, 4);
			intensities[j] = rng_uniform(&rng);
		}
		for (uint32_t f = 0; f < N_FLOWS; f++) {
			uint32_t job = f * (uint32_t)(1 + rng_below(&rng, 2)) / 4;

			if (f && job < sends[f - 1].job)
				job = sends[f - 1].job;
			sends[f] = (struct crux_flow){ job, N_PATHS * f, N_PATHS,
						       (double)rng_below(&rng, 3) };
			choices[f] = (uint32_t)rng_below(&rng, N_PATHS);
		}
		for (uint32_t p = 0; p < N_FLOWS * N_PATHS; p++) {
			each[p] = (struct crux_path){ 2 * p, 2 };
			links[2 * p] = (uint32_t)rng_below(&rng, N_LINKS);
			links[2 * p + 1] = (uint32_t)rng_below(&rng, N_LINKS);
		}
		assert_int_equal(crux_check(&problem), 0);
		n_edges = crux_contention(&problem, choices, priorities, intensities,
					  &edges);
		for (uint32_t a = 0; a < N_JOBS; a++)
			for (uint32_t b = a + 1; b < N_JOBS; b++) {
				bool is_first = priorities[a] >= priorities[b],
				     contend = false;
				uint32_t high = is_first ? a : b, k = 0;

				for (uint32_t l = 0; l < N_LINKS; l++)
					contend |=
						is_shared(&problem, choices, a, b, l);
				if (!contend)
					continue;
				n++;
				while (k < n_edges && (edges[k].high != high ||
						       edges[k].low != a + b - high))
					k++;
				assert_true(k < n_edges);
				assert_near(edges[k].weight, intensities[high], 0);
			}
		assert_int_equal(n_edges, n);
		free(edges);
	}
}

/*
 * 64 equal jobs, each from its own host of a rack with 8 uplinks: as many choose each
 * uplink, whatever was drawn before.
 */
static void
equal_jobs_spread_evenly(void **state)
{
	struct crux_problem problem = { .n_links = 72,
					.n_jobs = 64,
					.n_flows = 64,
					.n_paths = 512,
					.n_hops = 1024 };
	double *bps = xcalloc(72, sizeof *bps);
	struct crux_job *many = xcalloc(64, sizeof *many);
	struct crux_flow *all = xcalloc(64, sizeof *all);
	struct crux_path *each = xcalloc(512, sizeof *each);
	uint32_t *links = xcalloc(1024, sizeof *links), choices[64], used[8] = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (uint32_t l = 0; l < 72; l++)
		bps[l] = 50e9;
	for (uint32_t j = 0; j < 64; j++) {
		many[j] = (struct crux_job){ 1, 0.1, 0.1 };
		all[j] = (struct crux_flow){ j, 8 * j, 8, 1e8 };
		choices[j] = (uint32_t)rng_below(&rng, 8);
		for (uint32_t p = 0; p < 8; p++) {
			each[8 * j + p] = (struct crux_path){ 2 * (8 * j + p), 2 };
			links[2 * (8 * j + p)] = 8 + j;
			links[2 * (8 * j + p) + 1] = p;
		}
	}
	problem.capacity_bps = bps;
	problem.jobs = many;
	problem.flows = all;
	problem.paths = each;
	problem.hops = links;
	assert_int_equal(crux_check(&problem), 0);
	crux_choose_paths(&problem, choices);
	for (uint32_t j = 0; j < 64; j++)
		used[choices[j]]++;
	for (uint32_t p = 0; p < 8; p++)
		assert_int_equal(used[p], 8);
	free(links);
	free(each);
	free(all);
	free(many);
	free(bps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intensity_is_computing_over_the_slowest_link),
		cmocka_unit_test(flows_of_a_job_add_up_on_a_link),
		cmocka_unit_test(jobs_choose_by_intensity_what_is_least_congested),
		cmocka_unit_test(the_published_example_has_its_priorities),
		cmocka_unit_test(jobs_on_a_link_contend_once),
		cmocka_unit_test(the_contention_graph_has_the_pairs_that_share_a_link),
		cmocka_unit_test(bad_problems_are_refused),
		cmocka_unit_test(equal_jobs_spread_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
