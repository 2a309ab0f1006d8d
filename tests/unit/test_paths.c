/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/paths.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

#define MAX_JOBS 256

/* A fixture's placed jobs on links. */
struct lab {
	struct fixture f;
	struct link_loads *loads;
	struct routed_job routed[MAX_JOBS];
	struct paths_job jobs[MAX_JOBS];
	size_t n;
};

/* Routes the fixture's jobs by hash, and loads their links. */
static void
lab_load(struct lab *lab)
{
	lab->loads = link_loads_new(lab->f.topo);
	lab->n = lab->f.workload.n;
	for (uint32_t j = 0; j < lab->n; j++) {
		const struct work_job *job = &lab->f.workload.jobs[j];

		assert_int_equal(routed_job_make(job, job->hosts, lab->f.topo,
						 lab->f.routes, &lab->routed[j]),
				 0);
		lab->jobs[j] = (struct paths_job){ .job = j,
						   .first_port = job->first_port,
						   .weight = job->weight,
						   .routed = &lab->routed[j] };
		link_loads_set_job(lab->loads, j, &job->profile, job->weight);
		paths_load(lab->loads, &lab->jobs[j]);
	}
}

static void
lab_fini(struct lab *lab)
{
	for (size_t j = 0; j < lab->n; j++)
		routed_job_fini(&lab->routed[j]);
	link_loads_free(lab->loads);
	fixture_fini(&lab->f);
}

/* Jobs of 2 to 4 hosts on random hosts of a small fabric. */
static void
lab_random(struct lab *lab, struct rng *rng, uint32_t n_jobs)
{
	uint32_t order[12];

	*lab = (struct lab){ 0 };
	fixture_init(&lab->f, 3, 4, 2, 50e9);
	for (uint32_t i = 0; i < 12; i++)
		order[i] = i;
	rng_shuffle(rng, order, 12);
	for (uint32_t j = 0; j < n_jobs; j++) {
		struct work_job *job =
			fixture_job(&lab->f, (const char[]){ (char)('a' + j), 0 }, 2,
				    100000 + (int64_t)rng_below(rng, 50000),
				    0.2 + 0.4 * rng_uniform(rng), 50e9);

		fixture_on(job, order + j * 2);
		job->first_port = (uint16_t)rng_below(rng, 60000);
	}
	lab_load(lab);
}

static double
total_harm(const struct lab *lab)
{
	double sum = 0;

	for (uint32_t l = 0; l < topo_n_links(lab->f.topo); l++)
		sum += link_loads_harm(lab->loads, l);
	return sum;
}

/* ---- Loads ----------------------------------------------------------------------- */

static void
cost_of_a_link_is_that_of_its_jobs_in_any_order(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 200; round++) {
		struct lab lab;
		struct link_loads *again;
		uint32_t link;

		lab_random(&lab, &rng, 6);
		again = link_loads_new(lab.f.topo);
		link = (uint32_t)rng_below(&rng, topo_n_links(lab.f.topo));
		for (uint32_t j = 0; j < lab.n; j++)
			link_loads_set_job(again, j, &lab.f.workload.jobs[j].profile,
					   lab.f.workload.jobs[j].weight);
		for (uint32_t j = 0; j < lab.n; j++) {
			double before = link_loads_cost_with(again, link, j, 0.75);
			double harm = link_loads_harm(again, link);
			double other = link_loads_added_harm(again, link, j, 0.5);
			double added = link_loads_added_harm(again, link, j, 0.75);

			/* Also when it is remembered. */
			assert_near(link_loads_added_harm(again, link, j, 0.75), added,
				    0);
			assert_near(link_loads_added_harm(again, link, j, 0.5), other,
				    0);
			link_loads_add(again, link, j, 0.75);
			assert_near(link_loads_harm(again, link) - harm, added,
				    1e-9 * (1 + added));
			assert_near(link_loads_cost(again, link), before,
				    1e-9 * (1 + before));
			/* The same job again: its flows meet on the link. */
			before = link_loads_cost_with(again, link, j, 0.5);
			link_loads_add(again, link, j, 0.5);
			assert_near(link_loads_cost(again, link), before,
				    1e-9 * (1 + before));
		}
		for (uint32_t j = 0; j < lab.n; j++)
			link_loads_take(again, link, j, 1.25);
		assert_true(link_loads_cost(again, link) == 0);
		assert_true(link_loads_mean(again, link) == 0);
		link_loads_free(again);
		lab_fini(&lab);
	}
}

/* Two jobs of one period could take turns on the link, if they were shifted. */
static void
what_shifts_gain_counts_only_where_jobs_are_shifted(void **state)
{
	struct lab lab = { 0 };
	double shifted, mu;
	uint32_t link = 0;

	(void)state;
	fixture_init(&lab.f, 2, 2, 1, 50e9);
	ON(fixture_job(&lab.f, "a", 2, 100000, 0.4, 50e9), 0, 2);
	ON(fixture_job(&lab.f, "b", 2, 100000, 0.4, 50e9), 1, 3);
	lab_load(&lab);
	while (!(link_loads_cost(lab.loads, link) > 0))
		link++;
	shifted = link_loads_cost(lab.loads, link);
	mu = link_loads_excess_bps(lab.loads, link) / 50e9;
	assert_near(shifted, LINK_RESIDUE_FRAC * mu, 1e-9);
	link_loads_set_shifting(lab.loads, false);
	assert_near(link_loads_cost(lab.loads, link), (1 + LINK_RESIDUE_FRAC) * mu,
		    1e-9);
	link_loads_set_shifting(lab.loads, true);
	assert_near(link_loads_cost(lab.loads, link), shifted, 0);
	lab_fini(&lab);
}

static void
a_link_with_room_for_all_peaks_costs_nothing(void **state)
{
	struct lab lab = { 0 };

	(void)state;
	fixture_init(&lab.f, 2, 2, 1, 100e9);
	ON(fixture_job(&lab.f, "a", 2, 100000, 0.6, 50e9), 0, 2);
	ON(fixture_job(&lab.f, "b", 2, 130000, 0.6, 50e9), 1, 3);
	lab_load(&lab);
	assert_true(total_harm(&lab) == 0);
	lab_fini(&lab);
}

/* ---- Paths ----------------------------------------------------------------------- */

/* Gives every flow of every job each of its paths; returns the least harm. */
static double
brute_force(struct lab *lab, size_t job, uint32_t flow)
{
	struct routed_job *routed = &lab->routed[job];
	const struct collective_flow *f;
	double best = HUGE_VAL;
	uint32_t n_paths = 1;

	if (job == lab->n)
		return total_harm(lab);
	if (flow == routed->flows.n)
		return brute_force(lab, job + 1, 0);
	f = &routed->flows.flows[flow];
	for (uint32_t number = 0; number < n_paths; number++) {
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		assert_int_equal(routes_numbered_path(
					 lab->f.routes, f->source, f->destination,
					 (uint16_t)(lab->jobs[job].first_port + flow),
					 number, links, &n, &n_paths),
				 0);
		paths_unload(lab->loads, &lab->jobs[job]);
		memcpy(routed->path_links + routed->path_first[flow], links,
		       n * sizeof *links);
		paths_load(lab->loads, &lab->jobs[job]);
		best = fmin(best, brute_force(lab, job, flow + 1));
	}
	return best;
}

static void
small_instances_get_the_best_paths(void **state)
{
	const struct paths_opts opts = { .seed = 1, .n_redraws = 200 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 40; round++) {
		struct paths_counts counts;
		struct lab lab;
		double least;

		lab_random(&lab, &rng, 4);
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		assert_near(counts.harm_after, total_harm(&lab), 1e-9);
		assert_true(counts.harm_after <= counts.harm_before + 1e-9);
		least = brute_force(&lab, 0, 0);
		assert_near(counts.harm_after, least, 1e-9 * (1 + least));
		lab_fini(&lab);
	}
}

/* Rings of 2 to 12 hosts over all hosts: each sends one flow, and receives one. */
static void
lab_fill(struct lab *lab, struct rng *rng, uint32_t n_leaves, uint32_t n_uplinks)
{
	uint32_t n_hosts = n_leaves * n_uplinks, used = 0;
	uint32_t *order = xcalloc(n_hosts, sizeof *order);

	*lab = (struct lab){ 0 };
	fixture_init(&lab->f, n_leaves, n_uplinks, n_uplinks, 50e9);
	for (uint32_t i = 0; i < n_hosts; i++)
		order[i] = i;
	rng_shuffle(rng, order, n_hosts);
	while (n_hosts - used >= 2) {
		uint32_t n = 2 + (uint32_t)rng_below(rng, 11);

		if (n > n_hosts - used)
			n = n_hosts - used;
		fixture_on(fixture_job(&lab->f, "j", n, 100000, 0.9, 50e9),
			   order + used);
		lab->f.workload.jobs[lab->f.workload.n - 1].first_port =
			(uint16_t)(1000 * lab->f.workload.n);
		used += n;
	}
	free(order);
	lab_load(lab);
}

/*
 * A permutation at full bisection always has paths without a collision (Koenig), also
 * where so many flows leave each rack that moving one at a time does not find them.
 */
static void
permutations_at_full_bisection_do_not_collide(void **state)
{
	static const uint32_t sizes[][2] = {
		{ 8, 4 }, { 16, 8 }, { 64, 8 }, { 32, 16 }
	};
	const struct paths_opts opts = { .seed = 1 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 20; round++) {
		const uint32_t *size = sizes[round % 4];
		struct paths_counts counts;
		struct lab lab;

		lab_fill(&lab, &rng, size[0], size[1]);
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		assert_true(counts.harm_before > 0);
		assert_near(counts.harm_after, 0, 1e-12);
		assert_near(total_harm(&lab), 0, 1e-12);
		lab_fini(&lab);
	}
}

static uint32_t
spine_of(const struct lab *lab, size_t job, uint32_t flow)
{
	const struct routed_job *routed = &lab->routed[job];

	return topo_link(lab->f.topo, routed->path_links[routed->path_first[flow] + 1])
		->to;
}

/* Of three jobs for two spines, the two of one period share one: they can take turns. */
static void
jobs_that_interleave_share_a_link_on_purpose(void **state)
{
	const struct paths_opts opts = { .seed = 1, .n_redraws = 100 };

	(void)state;
	for (uint16_t port = 0; port < 32; port++) {
		struct paths_counts counts;
		struct lab lab = { 0 };

		fixture_init(&lab.f, 2, 3, 2, 50e9);
		ON(fixture_job(&lab.f, "a", 2, 100000, 0.45, 50e9), 0, 3);
		ON(fixture_job(&lab.f, "b", 2, 97003, 0.3, 50e9), 1, 4);
		ON(fixture_job(&lab.f, "c", 2, 100000, 0.45, 50e9), 2, 5);
		for (int j = 0; j < 3; j++)
			lab.f.workload.jobs[j].first_port =
				(uint16_t)(port * (j + 1) * 10);
		lab_load(&lab);
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		for (uint32_t flow = 0; flow < 2; flow++) {
			assert_int_equal(spine_of(&lab, 0, flow),
					 spine_of(&lab, 2, flow));
			assert_int_not_equal(spine_of(&lab, 0, flow),
					     spine_of(&lab, 1, flow));
		}
		lab_fini(&lab);
	}
}

static void
an_arrival_avoids_links_in_use(void **state)
{
	struct lab lab = { 0 };

	(void)state;
	fixture_init(&lab.f, 2, 2, 2, 50e9);
	ON(fixture_job(&lab.f, "a", 2, 100000, 0.6, 50e9), 0, 2);
	ON(fixture_job(&lab.f, "b", 2, 130000, 0.6, 50e9), 1, 3);
	for (uint16_t port = 0; port < 64; port++) {
		lab.f.workload.jobs[1].first_port = port;
		lab_load(&lab);
		paths_unload(lab.loads, &lab.jobs[1]);
		assert_int_equal(paths_choose(lab.loads, lab.f.topo, lab.f.routes,
					      &lab.jobs[1], port),
				 0);
		assert_true(total_harm(&lab) == 0);
		for (size_t i = 0; i < lab.routed[1].footprint.n; i++)
			assert_int_equal(lab.routed[1].footprint.entries[i].n_flows, 1);
		for (uint32_t j = 0; j < 2; j++)
			routed_job_fini(&lab.routed[j]);
		link_loads_free(lab.loads);
	}
	lab.n = 0;
	lab.loads = NULL;
	lab_fini(&lab);
}

static void
fixed_jobs_and_dear_changes_keep_their_paths(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 40; round++) {
		struct paths_opts opts = { .seed = 1, .n_redraws = 50 };
		struct paths_counts counts;
		struct lab lab;

		lab_random(&lab, &rng, 4);
		for (size_t j = 0; j < lab.n; j++)
			lab.jobs[j].is_fixed = true;
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		assert_int_equal(counts.n_changed, 0);
		assert_int_equal(counts.n_flows, 0);
		for (size_t j = 0; j < lab.n; j++)
			lab.jobs[j].is_fixed = false;
		opts.change_cost = 1e6;
		opts.n_redraws = 0;
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		assert_int_equal(counts.n_changed, 0);
		lab_fini(&lab);
	}
}

static void
paths_of_a_job_that_do_not_fit_its_flows_are_refused(void **state)
{
	struct fixture f;
	struct routed_job routed;
	struct work_job *job;

	(void)state;
	fixture_init(&f, 2, 2, 2, 50e9);
	job = fixture_job(&f, "a", 2, 100000, 0.6, 50e9);
	ON(job, 0, 2);
	job->n_paths = 3;
	job->paths = xcalloc(3, sizeof *job->paths);
	assert_int_equal(routed_job_make(job, job->hosts, f.topo, f.routes, &routed),
			 -EINVAL);
	job->n_paths = 2;
	assert_int_equal(routed_job_make(job, job->hosts, f.topo, f.routes, &routed),
			 0);
	assert_int_equal(routed.paths[0], 0);
	routed_job_fini(&routed);
	fixture_fini(&f);
}

static void
changes_are_limited_and_fixed_flows_stay(void **state)
{
	struct rng rng;
	size_t n_more = 0;

	(void)state;
	rng_init(&rng, 12);
	for (int round = 0; round < 50; round++) {
		const struct paths_opts opts = { .max_changes = 1 + rng_below(&rng, 3),
						 .n_redraws = 10,
						 .seed = 3 };
		const bool is_fixed[2] = { true, false };
		struct paths_counts counts;
		size_t n_changed = 0;
		struct lab lab;

		lab_random(&lab, &rng, 6);
		for (size_t j = 0; j < lab.n; j++)
			lab.jobs[j].is_flow_fixed = is_fixed;
		assert_int_equal(paths_improve(lab.loads, lab.f.topo, lab.f.routes,
					       lab.jobs, lab.n, &opts, &counts),
				 0);
		for (size_t j = 0; j < lab.n; j++) {
			assert_int_equal(lab.routed[j].paths[0], WORK_HASHED);
			n_changed += lab.routed[j].paths[1] != WORK_HASHED;
		}
		assert_int_equal(n_changed, counts.n_changed);
		assert_true(n_changed <= opts.max_changes);
		n_more += n_changed > 1;
		lab_fini(&lab);
	}
	assert_true(n_more > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_of_a_link_is_that_of_its_jobs_in_any_order),
		cmocka_unit_test(what_shifts_gain_counts_only_where_jobs_are_shifted),
		cmocka_unit_test(a_link_with_room_for_all_peaks_costs_nothing),
		cmocka_unit_test(small_instances_get_the_best_paths),
		cmocka_unit_test(permutations_at_full_bisection_do_not_collide),
		cmocka_unit_test(jobs_that_interleave_share_a_link_on_purpose),
		cmocka_unit_test(an_arrival_avoids_links_in_use),
		cmocka_unit_test(fixed_jobs_and_dear_changes_keep_their_paths),
		cmocka_unit_test(paths_of_a_job_that_do_not_fit_its_flows_are_refused),
		cmocka_unit_test(changes_are_limited_and_fixed_flows_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
