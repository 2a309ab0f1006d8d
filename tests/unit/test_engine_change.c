/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_change.c - links and paths that change during a run */
#include <errno.h>

#include "tests/unit/engine_twin.h"
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"
#include "tests/unit/workload_case.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_WORKLOADS 300
#else
#define N_WORKLOADS 3000
#endif

#define N_CHANGES 4
/* A larger difference would be another event, not rounding. */
#define TOLERANCE_NS 20.0

static const double TWO_LINKS[] = { 50e9, 50e9 };
static const uint32_t OTHER_PATH[] = { 1 };

static void
open_two(struct lab *lab, bool measured)
{
	struct engine_config config = lab_config(lab, TWO_LINKS, 2);

	config.measure_links = measured;
	lab_open(lab, &config);
}

static void
a_degraded_link_slows_what_is_left(void **state)
{
	(void)state;
	for (int measured = 0; measured < 2; measured++) {
		struct engine_link_stats stats;
		struct lab_job a;
		struct lab lab;

		open_two(&lab, measured);
		lab_job_init(&a, 5 * MS, PATH, 1, 125e6);
		a.job.max_iterations = 2;
		lab_add(&lab, &a);
		engine_run(lab.engine, 15 * MS); /* Half is sent. */
		assert_int_equal(engine_set_capacity(lab.engine, 0, 25e9), 0);
		engine_run(lab.engine, 80 * MS); /* In the second iteration: 3/4. */
		assert_int_equal(engine_set_capacity(lab.engine, 0, 50e9), 0);
		engine_run(lab.engine, ENGINE_NEVER);
		assert_near(lab_iteration_ns(&lab, 0, 0), 35e6, 1e-3);
		/* From 40 to 80 ms at half the rate, as much as it has to send. */
		assert_near(lab_iteration_ns(&lab, 0, 1), 45e6, 1e-3);
		engine_link_stats(lab.engine, 0, &stats);
		if (measured)
			assert_near(stats.bytes, 250e6, 1);
		lab_close(&lab);
	}
}

static void
a_flow_goes_on_with_what_it_has_left_on_another_path(void **state)
{
	(void)state;
	for (int measured = 0; measured < 2; measured++) {
		struct engine_link_stats stats;
		struct lab_job a, b;
		struct lab lab;

		open_two(&lab, measured);
		lab_job_init(&a, 0, PATH, 1, 125e6);
		lab_job_init(&b, 0, OTHER_PATH, 1, 250e6);
		a.job.max_iterations = b.job.max_iterations = 1;
		lab_add(&lab, &a);
		lab_add(&lab, &b);
		engine_run(lab.engine, 10 * MS);
		assert_int_equal(engine_set_path(lab.engine, 0, 0, OTHER_PATH, 1), 0);
		engine_run(lab.engine, ENGINE_NEVER);
		/* Half of 20 ms is left, at half the rate; b has lost 10 ms. */
		assert_near(lab_iteration_ns(&lab, 0, 0), 30e6, 1e-3);
		assert_near(lab_iteration_ns(&lab, 1, 0), 50e6, 1e-3);
		if (measured) {
			engine_link_stats(lab.engine, 0, &stats);
			assert_near(stats.bytes, 62.5e6, 1);
			engine_link_stats(lab.engine, 1, &stats);
			assert_near(stats.bytes, 312.5e6, 1);
		}
		lab_close(&lab);
	}
}

static void
a_flow_without_a_path_waits_for_one(void **state)
{
	struct lab_job a;
	struct lab lab;

	(void)state;
	open_two(&lab, false);
	lab_job_init(&a, 5 * MS, PATH, 1, 125e6);
	a.job.max_iterations = 3;
	lab_add(&lab, &a);
	engine_run(lab.engine, 15 * MS);
	assert_int_equal(engine_set_path(lab.engine, 0, 0, NULL, 0), 0);
	engine_run(lab.engine, 95 * MS);
	assert_int_equal(lab.iterations.n, 0);
	assert_int_equal(engine_set_path(lab.engine, 0, 0, OTHER_PATH, 1), 0);
	/* Between two iterations' flows, while the job computes. */
	engine_run(lab.engine, 107 * MS);
	assert_int_equal(engine_set_path(lab.engine, 0, 0, NULL, 0), 0);
	engine_run(lab.engine, 120 * MS);
	assert_int_equal(engine_set_path(lab.engine, 0, 0, PATH, 1), 0);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 0, 0), 105e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 1), 35e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 2), 25e6, 1e-3);
	lab_close(&lab);
}

static void
impossible_changes_are_refused(void **state)
{
	static const uint32_t wrong[] = { 0, 2 };
	struct lab_job a;
	struct lab lab;

	(void)state;
	open_two(&lab, false);
	lab_job_init(&a, 5 * MS, PATH, 1, 125e6);
	a.job.max_iterations = 1;
	lab_add(&lab, &a);
	assert_int_equal(engine_set_capacity(lab.engine, 2, 1), -EINVAL);
	assert_int_equal(engine_set_capacity(lab.engine, 0, 0), -EINVAL);
	assert_int_equal(engine_set_capacity(lab.engine, 0, NAN), -EINVAL);
	assert_int_equal(engine_set_capacity(lab.engine, 0, INFINITY), -EINVAL);
	assert_int_equal(engine_set_path(lab.engine, 1, 0, PATH, 1), -EINVAL);
	assert_int_equal(engine_set_path(lab.engine, 0, 1, PATH, 1), -EINVAL);
	assert_int_equal(engine_set_path(lab.engine, 0, 0, wrong, 2), -EINVAL);
	engine_run(lab.engine, ENGINE_NEVER);
	/* The job has left. */
	assert_int_equal(engine_set_path(lab.engine, 0, 0, OTHER_PATH, 1), 0);
	lab_close(&lab);
}

/* ------ Random changes, in the engine and in its twin ------ */

/* The flow that is number 'f' of job 'j', over its segments. */
static struct engine_flow *
flow_of(struct workload_case *c, uint32_t j, uint32_t f, uint32_t *ret_seg,
	uint32_t *ret_f)
{
	for (uint32_t s = 0; s < c->jobs[j].n_segments; s++) {
		if (f < c->segments[j][s].n_flows) {
			*ret_seg = s;
			*ret_f = f;
			return &c->flows[j][s][f];
		}
		f -= c->segments[j][s].n_flows;
	}
	return NULL;
}

/* The twin's flows that send get their new caps. */
static void
update_twin(struct twin *twin)
{
	for (uint32_t j = 0; j < twin->n_jobs; j++) {
		struct twin_job *job = &twin->jobs[j];
		const struct engine_segment *seg = &job->spec->segments[job->segment];

		for (uint32_t f = 0; f < seg->n_flows; f++)
			if (job->flows[f].is_active)
				job->flows[f].cap_bps = twin_cap(twin, &seg->flows[f]);
	}
}

struct blocked {
	double cap_bps; /* Its own limit before. */
	bool is_blocked;
};

static void
change_flow(struct workload_case *c, struct lab *lab, struct rng *rng, uint32_t j,
	    uint32_t number, struct blocked *blocked, bool is_last)
{
	uint32_t s, f, first;
	struct engine_flow *flow = flow_of(c, j, number, &s, &f);
	uint32_t *path = c->paths[j][s][f];

	if (!flow->n_links && !blocked->is_blocked)
		return; /* Within a host. */
	if (blocked->is_blocked)
		flow->cap_bps = blocked->cap_bps;
	blocked->is_blocked = false;
	if (!is_last && rng_below(rng, 4) == 0) {
		blocked->is_blocked = true;
		blocked->cap_bps = flow->cap_bps;
		flow->cap_bps = ENGINE_BLOCKED_BPS;
		flow->n_links = 0;
		assert_int_equal(engine_set_path(lab->engine, j, number, NULL, 0), 0);
		return;
	}
	first = (uint32_t)rng_below(rng, c->n_links);
	flow->n_links = 1 + (uint32_t)rng_below(rng, c->n_links < 3 ? 1 : 3);
	for (uint32_t i = 0; i < flow->n_links; i++)
		path[i] = (first + i) % c->n_links;
	assert_int_equal(engine_set_path(lab->engine, j, number, path, flow->n_links),
			 0);
}

static void
change(struct workload_case *c, struct lab *lab, struct twin *twin, struct rng *rng,
       struct blocked blocked[][CASE_MAX_SEGS * CASE_MAX_FLOWS], bool is_last)
{
	for (uint32_t l = 0; l < c->n_links; l++) {
		if (rng_below(rng, 3))
			continue;
		twin->capacity_bps[l] *= 0.3 + 1.5 * rng_uniform(rng);
		assert_int_equal(
			engine_set_capacity(lab->engine, l, twin->capacity_bps[l]), 0);
	}
	for (uint32_t j = 0; j < c->n_jobs; j++) {
		uint32_t n_flows = 0;

		for (uint32_t s = 0; s < c->jobs[j].n_segments; s++)
			n_flows += c->segments[j][s].n_flows;
		for (uint32_t f = 0; f < n_flows; f++)
			if (is_last || rng_below(rng, 3) == 0)
				change_flow(c, lab, rng, j, f, &blocked[j][f], is_last);
	}
	update_twin(twin);
}

static void
run_both(uint64_t seed, bool measured, bool has_priorities)
{
	struct blocked blocked[CASE_MAX_JOBS][CASE_MAX_SEGS * CASE_MAX_FLOWS] = { 0 };
	struct rng rng = { { seed, 5, 6, 7 } };
	struct workload_case c;
	struct engine_config config;
	struct twin twin;
	struct lab lab;
	int64_t now_ns = 0;

	draw_case(&c, seed);
	config = lab_config(&lab, c.capacity_bps, c.n_links);
	config.seed = seed;
	config.measure_links = measured;
	if (seed % 3 == 0)
		config.observer.on_flows = NULL; /* Lets the engine look ahead. */
	lab_open(&lab, &config);
	twin_init(&twin, c.capacity_bps, c.n_links);
	for (uint32_t j = 0; j < c.n_jobs; j++) {
		uint32_t id;

		/* The twin knows no gate whose paths change. */
		if (c.jobs[j].pacing == ENGINE_PACE_GATE)
			c.jobs[j].pacing = ENGINE_PACE_FREE;
		if (has_priorities)
			c.jobs[j].priority = (uint8_t)(j % 3);
		assert_int_equal(engine_add_job(lab.engine, &c.jobs[j], &id), 0);
		twin_add(&twin, &c.jobs[j], seed);
	}
	for (int i = 0; i < N_CHANGES; i++) {
		/* Some changes are at the beginning, and some at the same time. */
		if (rng_below(&rng, 4))
			now_ns += draw_ns(&rng, 60);
		engine_run(lab.engine, now_ns);
		twin_run(&twin, (double)now_ns);
		change(&c, &lab, &twin, &rng, blocked, i + 1 == N_CHANGES);
	}
	engine_run(lab.engine, ENGINE_NEVER);
	twin_run(&twin, INFINITY);
	for (size_t i = 0; i < lab.iterations.n; i++) {
		const struct lab_iteration *it = &lab.iterations.items[i];
		const struct twin_job *job = &twin.jobs[it->job];

		if (it->iteration >= job->ends_ns.n ||
		    fabs(job->ends_ns.items[it->iteration] - it->end_ns) > TOLERANCE_NS)
			fail_msg("workload %llu: job %u iteration %llu ends at %.3f ns,"
				 " the twin's at %.3f",
				 (unsigned long long)seed, it->job,
				 (unsigned long long)it->iteration, it->end_ns,
				 it->iteration < job->ends_ns.n
					 ? job->ends_ns.items[it->iteration]
					 : NAN);
	}
	for (uint32_t l = 0; measured && l < c.n_links; l++) {
		struct engine_link_stats stats;

		engine_link_stats(lab.engine, l, &stats);
		assert_near(stats.bytes, twin.stats[l].bytes,
			    1e-6 * twin.stats[l].bytes + 500);
		assert_near(stats.busy_ns, twin.stats[l].busy_ns, 10 * TOLERANCE_NS);
		assert_near(stats.over_ns, twin.stats[l].over_ns, 10 * TOLERANCE_NS);
		assert_near(stats.job_ns, twin.stats[l].job_ns, 20 * TOLERANCE_NS);
		assert_near(stats.peak_bps, twin.stats[l].peak_bps,
			    1e-9 * stats.peak_bps + 1);
	}
	twin_fini(&twin);
	lab_close(&lab);
}

static void
changes_have_the_effect_that_the_naive_twin_sees(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS; seed++)
		run_both(seed, seed % 2, seed % 5 == 0);
}

/* The gate keeps its counts: in the end no link has a gated flow, so all jobs go on. */
static void
gated_jobs_go_on_after_changes(void **state)
{
	struct lab_job a, b;
	struct lab lab;

	(void)state;
	open_two(&lab, false);
	lab_job_init(&a, 5 * MS, PATH, 1, 125e6);
	lab_job_init(&b, 5 * MS, PATH, 1, 125e6);
	a.job.pacing = b.job.pacing = ENGINE_PACE_GATE;
	a.job.grid_ns = b.job.grid_ns = 50 * MS;
	a.job.max_iterations = b.job.max_iterations = 20;
	lab_add(&lab, &a);
	lab_add(&lab, &b);
	for (int i = 1; i < 60; i++) {
		engine_run(lab.engine, i * 7 * MS);
		engine_set_path(lab.engine, (uint32_t)i % 2, 0,
				i % 3 ? OTHER_PATH : PATH, 1);
		engine_set_capacity(lab.engine, (uint32_t)i % 2, (20 + i) * 1e9);
	}
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.iterations.n, 40);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_degraded_link_slows_what_is_left),
		cmocka_unit_test(a_flow_goes_on_with_what_it_has_left_on_another_path),
		cmocka_unit_test(a_flow_without_a_path_waits_for_one),
		cmocka_unit_test(impossible_changes_are_refused),
		cmocka_unit_test(changes_have_the_effect_that_the_naive_twin_sees),
		cmocka_unit_test(gated_jobs_go_on_after_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
