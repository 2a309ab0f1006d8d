/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_model.c - random workloads in the engine and in a naive twin of it */
#include "tests/unit/engine_twin.h"
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"
#include "tests/unit/workload_case.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_WORKLOADS 300
#else
#define N_WORKLOADS 4000
#endif

/* A larger difference would be another event, not rounding. */
#define TOLERANCE_NS 20.0

/* A weight that changes with each iteration. */
static double
draw_weight(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment)
{
	uint64_t x = rng_mix(rng_mix(rng_mix(job) ^ iteration) ^ segment);

	(void)ctx;
	return 0.25 + (double)(x % 1000) / 250;
}

/* One of three priorities; every other iteration brings another one. */
static uint8_t
draw_priority(uint32_t job, uint64_t iteration)
{
	return (uint8_t)(rng_mix(rng_mix(job) ^ (iteration / 2)) % 3 * 100);
}

/* Sets that of the next job, whose flows may be sending. */
static void
change_priority(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
		double end_ns)
{
	struct lab *lab = ctx;

	lab_on_iteration(ctx, job, iteration, start_ns, end_ns);
	engine_job_set_priority(lab->engine, (job + 1) % lab->n_jobs,
				draw_priority(job, iteration));
}

/* ------ Engine and twin  */

/* Adds the jobs from 'from' on that are (not) late; returns the next one. */
static uint32_t
add_jobs(struct workload_case *c, struct lab *lab, struct twin *twin, uint32_t from,
	 bool late, int64_t now_ns, uint64_t seed)
{
	for (; from < c->n_jobs && c->is_late[from] == late; from++) {
		uint32_t id;

		if (c->jobs[from].arrival_ns < now_ns)
			c->jobs[from].arrival_ns = now_ns;
		assert_int_equal(engine_add_job(lab->engine, &c->jobs[from], &id), 0);
		assert_int_equal(id, from);
		lab->n_jobs++;
		twin_add(twin, &c->jobs[from], seed);
	}
	return from;
}

static void
compare_jobs(const struct lab *lab, const struct twin *twin, uint64_t seed)
{
	uint64_t n_seen[CASE_MAX_JOBS] = { 0 };

	for (size_t i = 0; i < lab->iterations.n; i++) {
		const struct lab_iteration *it = &lab->iterations.items[i];
		const struct twin_job *job = &twin->jobs[it->job];

		if (it->iteration >= job->ends_ns.n ||
		    fabs(job->ends_ns.items[it->iteration] - it->end_ns) > TOLERANCE_NS)
			fail_msg("workload %llu: job %u iteration %llu ends at %.3f ns,"
				 " the twin's at %.3f",
				 (unsigned long long)seed, it->job,
				 (unsigned long long)it->iteration, it->end_ns,
				 it->iteration < job->ends_ns.n
					 ? job->ends_ns.items[it->iteration]
					 : NAN);
		n_seen[it->job]++;
	}
	for (uint32_t j = 0; j < twin->n_jobs; j++) {
		struct engine_job_stats stats;

		engine_job_stats(lab->engine, j, &stats);
		assert_int_equal(n_seen[j], twin->jobs[j].ends_ns.n);
		assert_int_equal(stats.n_iterations, twin->jobs[j].n_iterations);
		assert_int_equal(stats.n_corrections, twin->jobs[j].n_corrections);
		assert_near(stats.waited_ns, twin->jobs[j].waited_ns,
			    20 * TOLERANCE_NS);
		assert_near(stats.end_ns, twin->jobs[j].end_ns, TOLERANCE_NS);
	}
}

static void
compare_links(const struct lab *lab, const struct twin *twin)
{
	for (uint32_t l = 0; l < twin->n_links; l++) {
		const struct engine_link_stats *b = &twin->stats[l];
		struct engine_link_stats a;

		engine_link_stats(lab->engine, l, &a);
		assert_near(a.bytes, b->bytes, 1e-6 * b->bytes + 500);
		assert_near(a.busy_ns, b->busy_ns, 10 * TOLERANCE_NS);
		assert_near(a.over_ns, b->over_ns, 10 * TOLERANCE_NS);
		assert_near(a.job_ns, b->job_ns, 20 * TOLERANCE_NS);
		assert_int_equal(a.max_jobs, b->max_jobs);
		assert_near(a.peak_bps, b->peak_bps, 1e-9 * b->peak_bps + 1);
	}
}

static void
run_both(uint64_t seed, bool measured, bool has_priorities)
{
	struct workload_case c;
	struct engine_config config;
	struct twin twin;
	struct lab lab;
	uint32_t n;

	draw_case(&c, seed);
	config = lab_config(&lab, c.capacity_bps, c.n_links);
	config.seed = seed;
	config.measure_links = measured;
	if (seed % 3 == 0)
		config.observer.on_flows = NULL; /* Lets the engine look ahead. */
	if (seed % 4 == 0)
		config.observer.flow_weight = draw_weight;
	if (has_priorities && seed % 2 == 0)
		config.observer.on_iteration = change_priority;
	for (uint32_t j = 0; j < c.n_jobs && has_priorities; j++)
		c.jobs[j].priority = draw_priority(j, 0);
	lab_open(&lab, &config);
	twin_init(&twin, c.capacity_bps, c.n_links);
	if (has_priorities && seed % 2 == 0)
		twin.priority = draw_priority;
	twin.flow_weight = config.observer.flow_weight;

	n = add_jobs(&c, &lab, &twin, 0, false, 0, seed);
	if (n < c.n_jobs) {
		int64_t now_ns = draw_ns(&(struct rng){ { seed, 1, 2, 3 } }, 100);

		engine_run(lab.engine, now_ns);
		twin_run(&twin, (double)now_ns);
		n = add_jobs(&c, &lab, &twin, n, true, now_ns, seed);
	}
	assert_int_equal(n, c.n_jobs);
	engine_run(lab.engine, ENGINE_NEVER);
	twin_run(&twin, INFINITY);
	compare_jobs(&lab, &twin, seed);
	if (measured)
		compare_links(&lab, &twin);
	twin_fini(&twin);
	lab_close(&lab);
}

static void
iterations_end_when_the_naive_twin_ends_them(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS; seed++)
		run_both(seed, false, false);
}

static void
links_see_what_the_naive_twin_sees(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS; seed++)
		run_both(seed, true, false);
}

static void
so_they_do_with_priorities(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS; seed++)
		run_both(seed, seed % 3 == 1, true);
}

/* Links wide enough for all possible demand: pacing cannot matter. */
static void
the_gate_changes_nothing_where_nothing_contends(void **state)
{
	static const enum engine_pacing pacings[] = { ENGINE_PACE_GATE,
						      ENGINE_PACE_FREE };

	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS / 10; seed++) {
		struct workload_case c;
		struct lab labs[2];

		draw_case(&c, seed);
		for (uint32_t l = 0; l < c.n_links; l++)
			c.capacity_bps[l] = CASE_MAX_JOBS * CASE_MAX_FLOWS * 50e9;
		for (uint32_t j = 0; j < c.n_jobs; j++)
			for (uint32_t s = 0; s < c.jobs[j].n_segments; s++)
				for (uint32_t f = 0; f < CASE_MAX_FLOWS; f++)
					c.flows[j][s][f].cap_bps = 50e9;
		for (uint32_t i = 0; i < 2; i++) {
			struct engine_config config =
				lab_config(&labs[i], c.capacity_bps, c.n_links);
			uint32_t id;

			lab_open(&labs[i], &config);
			for (uint32_t j = 0; j < c.n_jobs; j++) {
				c.jobs[j].pacing = pacings[i];
				assert_int_equal(
					engine_add_job(labs[i].engine, &c.jobs[j], &id),
					0);
			}
			engine_run(labs[i].engine, ENGINE_NEVER);
		}
		assert_int_equal(labs[0].iterations.n, labs[1].iterations.n);
		for (size_t i = 0; i < labs[0].iterations.n; i++)
			assert_near(labs[0].iterations.items[i].end_ns,
				    labs[1].iterations.items[i].end_ns, 0);
		lab_close(&labs[0]);
		lab_close(&labs[1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_end_when_the_naive_twin_ends_them),
		cmocka_unit_test(links_see_what_the_naive_twin_sees),
		cmocka_unit_test(so_they_do_with_priorities),
		cmocka_unit_test(the_gate_changes_nothing_where_nothing_contends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
