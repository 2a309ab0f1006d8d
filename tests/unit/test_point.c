/* SPDX-License-Identifier: Apache-2.0 */
/* test_point.c - jobs that continue in a second engine from their point in the first */
#include <errno.h>

#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"
#include "tests/unit/workload_case.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_WORKLOADS 200
#else
#define N_WORKLOADS 2000
#endif

#define PIECE_NS  (17 * MS + 13)
#define N_PIECES  9
#define SLIGHT_NS 20.0 /* Rounding errors. */

/* Jobs from the beginning, without an end. */
static void
draw_endless(struct workload_case *c, uint64_t seed)
{
	draw_case(c, seed);
	for (uint32_t j = 0; j < c->n_jobs; j++) {
		struct engine_job *job = &c->jobs[j];

		job->arrival_ns = 0;
		job->stop_ns = ENGINE_NEVER;
		job->max_iterations = 0;
		job->jitter_frac = 0;
		job->pacing = ENGINE_PACE_FREE;
		job->priority = seed % 3 == 0 ? (uint8_t)(j % 2) : 0;
	}
}

static struct engine *
open_engine(const struct workload_case *c, bool is_measured)
{
	const struct engine_config config = { .capacity_bps = c->capacity_bps,
					      .n_links = c->n_links,
					      .measure_links = is_measured,
					      .seed = 1 };
	struct engine *engine = engine_new(&config);

	for (uint32_t j = 0; j < c->n_jobs; j++) {
		uint32_t id;

		assert_int_equal(engine_add_job(engine, &c->jobs[j], &id), 0);
	}
	return engine;
}

/* A new engine in which all jobs continue from their points; frees 'from'. */
static struct engine *
hand_over(struct workload_case *c, struct engine *from, bool is_measured)
{
	struct engine *to;

	for (uint32_t j = 0; j < c->n_jobs; j++)
		c->jobs[j].shift_ns = 0;
	to = open_engine(c, is_measured);
	for (uint32_t j = 0; j < c->n_jobs; j++) {
		struct engine_point point;

		engine_job_point(from, j, &point);
		assert_int_equal(engine_job_resume(to, j, &point), 0);
		engine_point_fini(&point);
	}
	engine_free(from);
	return to;
}

/* Isolated, where progress can be computed from time. */
static double
isolated_ns(const struct engine_job *job, const double *capacity_bps)
{
	double sum_ns = 0;

	for (uint32_t s = 0; s < job->n_segments; s++) {
		const struct engine_segment *seg = &job->segments[s];
		double send_ns = 0;

		for (uint32_t f = 0; f < seg->n_flows; f++) {
			const struct engine_flow *flow = &seg->flows[f];
			double cap_bps = flow->cap_bps > 0 ? flow->cap_bps : INFINITY;

			for (uint32_t l = 0; l < flow->n_links; l++)
				cap_bps = fmin(cap_bps, capacity_bps[flow->links[l]]);
			send_ns = fmax(send_ns, 8e9 * flow->bytes / cap_bps);
		}
		sum_ns +=
			fmax((double)seg->compute_ns,
			     seg->n_flows ? (double)seg->flows_offset_ns + send_ns : 0);
	}
	return sum_ns;
}

static void
what_is_run_in_pieces_is_as_in_one(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS; seed++) {
		struct workload_case c;
		struct engine *whole, *part;
		double done[CASE_MAX_JOBS] = { 0 };

		draw_endless(&c, seed);
		whole = open_engine(&c, false);
		part = open_engine(&c, seed % 4 == 0);
		for (int piece = 1; piece <= N_PIECES; piece++) {
			double began[CASE_MAX_JOBS];

			for (uint32_t j = 0; j < c.n_jobs; j++)
				began[j] = engine_job_progress(part, j);
			engine_run(part, PIECE_NS);
			engine_run(whole, piece * PIECE_NS);
			for (uint32_t j = 0; j < c.n_jobs; j++) {
				double all = engine_job_progress(whole, j);
				double slight = SLIGHT_NS /
						isolated_ns(&c.jobs[j], c.capacity_bps);

				done[j] += engine_job_progress(part, j) - began[j];
				if (fabs(done[j] - all) > slight)
					fail_msg("workload %llu: job %u has done %.9f"
						 " in %d pieces, %.9f in one",
						 (unsigned long long)seed, j, done[j],
						 piece, all);
			}
			part = hand_over(&c, part, seed % 4 == 0);
		}
		engine_free(whole);
		engine_free(part);
	}
}

/* An isolated job's progress is the elapsed time over the iteration time. */
static void
alone_progress_is_time(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS / 10; seed++) {
		struct workload_case c;
		struct engine *engine;
		double all_ns;

		draw_endless(&c, seed);
		c.n_jobs = 1;
		c.jobs[0].shift_ns = 5 * MS;
		/* One flow per segment: the job does not contend with itself. */
		for (uint32_t s = 0; s < c.jobs[0].n_segments; s++)
			if (c.segments[0][s].n_flows > 1)
				c.segments[0][s].n_flows = 1;
		engine = open_engine(&c, false);
		all_ns = isolated_ns(&c.jobs[0], c.capacity_bps);
		assert_near(engine_job_progress(engine, 0), 0, 0);
		for (int64_t at_ns = 2 * MS; at_ns < 200 * MS; at_ns += 3 * MS + 7) {
			double done_ns = fmax(0, (double)(at_ns - 5 * MS));

			engine_run(engine, at_ns);
			assert_near(engine_job_progress(engine, 0), done_ns / all_ns,
				    SLIGHT_NS / all_ns);
		}
		engine_free(engine);
	}
}

/* The same as a job that ran up to this point. */
static void
amid_an_iteration_is_where_a_run_alone_comes_to(void **state)
{
	static const double shares[] = { 0, 0.1, 0.35, 0.5, 0.77, 0.999 };

	(void)state;
	for (uint64_t seed = 0; seed < N_WORKLOADS / 10; seed++) {
		struct workload_case c;

		draw_endless(&c, seed);
		c.n_jobs = 1;
		c.jobs[0].shift_ns = 0;
		for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
			struct engine *engine = open_engine(&c, false);
			struct engine_point point;

			engine_point_amid(engine, 0, shares[i], &point);
			assert_near(point.since_ns,
				    shares[i] * isolated_ns(&c.jobs[0], c.capacity_bps),
				    1e-3);
			assert_int_equal(engine_job_resume(engine, 0, &point), 0);
			assert_near(engine_job_progress(engine, 0), shares[i], 1e-9);
			engine_point_fini(&point);
			engine_free(engine);
		}
	}
}

static double ended_ns, began_ns;

static void
note(void *ctx, uint32_t job, uint64_t iteration, double start_ns, double end_ns)
{
	(void)ctx;
	(void)job;
	if (iteration)
		return;
	began_ns = start_ns;
	ended_ns = end_ns;
}

/* 25 ms of computing, 20 ms of sending at 50 Gb/s; 30 ms have passed. */
static void
an_iteration_that_goes_on_began_before(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct engine_point point;
	struct lab_job j;

	(void)state;
	config.observer = (struct engine_observer){ .on_iteration = note };
	lab_open(&lab, &config);
	lab_job_init(&j, 25 * MS, PATH, 1, 125e6);
	lab_add(&lab, &j);
	engine_point_amid(lab.engine, 0, 30.0 / 45, &point);
	assert_near(point.compute_ns, 0, 0);
	assert_near(point.left[0], 0.75, 1e-9);
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), 0);
	engine_run(lab.engine, 50 * MS);
	assert_near(began_ns, -30e6, 1e-3);
	assert_near(ended_ns, 15e6, 1e-3);
	engine_point_fini(&point);
	lab_close(&lab);
}

static void
points_that_do_not_fit_are_refused(void **state)
{
	struct lab lab;
	struct engine_point point, bad;
	struct lab_job free_job, gated;
	double left[2] = { 0.5, 0.5 };

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&free_job, 25 * MS, PATH, 1, 125e6);
	lab_job_init(&gated, 25 * MS, PATH, 1, 125e6);
	gated.job.pacing = ENGINE_PACE_GATE;
	lab_add(&lab, &free_job);
	lab_add(&lab, &gated);
	point = (struct engine_point){
		.since_ns = 30e6, .segment = 0, .left = left, .n_flows = 1
	};
	bad = point;
	bad.segment = 1;
	assert_int_equal(engine_job_resume(lab.engine, 0, &bad), -EINVAL);
	bad = point;
	bad.n_flows = 2;
	assert_int_equal(engine_job_resume(lab.engine, 0, &bad), -EINVAL);
	bad = point;
	bad.since_ns = NAN;
	assert_int_equal(engine_job_resume(lab.engine, 0, &bad), -EINVAL);
	bad = point;
	bad.compute_ns = -1;
	assert_int_equal(engine_job_resume(lab.engine, 0, &bad), -EINVAL);
	bad = point;
	bad.send_ns = INFINITY;
	assert_int_equal(engine_job_resume(lab.engine, 0, &bad), -EINVAL);
	left[0] = 1.5;
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), -EINVAL);
	left[0] = 0.5;
	assert_int_equal(engine_job_resume(lab.engine, 1, &point), -EINVAL);
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), 0);
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), -EINVAL);
	engine_run(lab.engine, 1 * MS);
	assert_int_equal(engine_job_resume(lab.engine, 0, &point), -EINVAL);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_run_in_pieces_is_as_in_one),
		cmocka_unit_test(alone_progress_is_time),
		cmocka_unit_test(amid_an_iteration_is_where_a_run_alone_comes_to),
		cmocka_unit_test(an_iteration_that_goes_on_began_before),
		cmocka_unit_test(points_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests_name("point", tests, NULL, NULL);
}
