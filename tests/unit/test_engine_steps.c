/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine_steps.c - weights that change with the bytes sent, against a simulation that
 * computes all rates again at each event
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"

#define LINKS      4
#define JOBS       4
#define FLOWS      3 /* Of a job. */
#define ITERATIONS 6

/* ------ A scenario ------ */

struct scenario {
	double capacity_bps[LINKS];
	uint32_t links[JOBS][FLOWS][2];
	struct engine_flow flows[JOBS][FLOWS];
	struct engine_segment segments[JOBS];
	struct engine_job jobs[JOBS];
};

static void
draw(struct rng *rng, struct scenario *s)
{
	for (uint32_t l = 0; l < LINKS; l++)
		s->capacity_bps[l] = 1e9 * (double)(1 + rng_below(rng, 4));
	for (uint32_t j = 0; j < JOBS; j++) {
		for (uint32_t f = 0; f < FLOWS; f++) {
			uint32_t a = (uint32_t)rng_below(rng, LINKS);

			s->links[j][f][0] = a;
			s->links[j][f][1] =
				(a + 1 + (uint32_t)rng_below(rng, LINKS - 1)) % LINKS;
			s->flows[j][f] = (struct engine_flow){
				.links = s->links[j][f],
				.n_links = 1 + (uint32_t)rng_below(rng, 2),
				.bytes = 1e6 * (double)(1 + rng_below(rng, 9)),
				.cap_bps = rng_below(rng, 3) ? 0 : 7e8,
				.weight = 1 + (double)rng_below(rng, 2),
			};
		}
		s->segments[j] = (struct engine_segment){
			.compute_ns = 1000000 * (int64_t)rng_below(rng, 30),
			.flows = s->flows[j],
			.n_flows = FLOWS,
			.first_weight = 0.25,
			.last_weight = 0.25 + 4 * rng_uniform(rng),
			.n_steps = (uint32_t)rng_below(rng, 8),
		};
		/* Half of the jobs send while they compute. */
		if (j % 2)
			s->segments[j].flows_offset_ns = s->segments[j].compute_ns / 2;
		else
			s->segments[j].flows_offset_ns = s->segments[j].compute_ns;
		s->jobs[j] = (struct engine_job){
			.segments = &s->segments[j],
			.n_segments = 1,
			.arrival_ns = 1000000 * (int64_t)rng_below(rng, 20),
			.stop_ns = ENGINE_NEVER,
			.max_iterations = ITERATIONS,
		};
	}
}

/* ------ The naive simulation ------ */

struct naive_flow {
	const struct engine_flow *spec;
	uint32_t job;
	double left_bits, rate_bps;
	uint32_t step;
	bool is_active, is_fixed;
};

struct naive {
	const struct scenario *s;
	struct naive_flow flows[JOBS * FLOWS];
	double begin_ns[JOBS], end_ns[JOBS][ITERATIONS], now_ns;
	uint32_t n_done[JOBS];
	bool is_sent[JOBS];
};

static double
weight_of(const struct naive *n, const struct naive_flow *flow)
{
	const struct engine_segment *seg = &n->s->segments[flow->job];

	if (!seg->n_steps)
		return flow->spec->weight;
	return flow->spec->weight *
	       (seg->first_weight + (seg->last_weight - seg->first_weight) *
					    (flow->step + 0.5) / seg->n_steps);
}

static double
cap_of(const struct naive *n, const struct naive_flow *flow)
{
	double cap_bps = flow->spec->cap_bps > 0 ? flow->spec->cap_bps : INFINITY;

	for (uint32_t i = 0; i < flow->spec->n_links; i++)
		cap_bps = fmin(cap_bps, n->s->capacity_bps[flow->spec->links[i]]);
	return cap_bps;
}

static bool
is_on(const struct naive_flow *flow, uint32_t link)
{
	for (uint32_t i = 0; i < flow->spec->n_links; i++)
		if (flow->spec->links[i] == link)
			return true;
	return false;
}

/* Water-filling: the least level at which a link is full or a flow has its cap. */
static void
fill(struct naive *n)
{
	for (;;) {
		double least = INFINITY;
		uint32_t full = LINKS, capped = JOBS * FLOWS;

		for (uint32_t l = 0; l < LINKS; l++) {
			double free_bps = n->s->capacity_bps[l], weight = 0;

			for (uint32_t f = 0; f < JOBS * FLOWS; f++) {
				const struct naive_flow *flow = &n->flows[f];

				if (!flow->is_active || !is_on(flow, l))
					continue;
				if (flow->is_fixed)
					free_bps -= flow->rate_bps;
				else
					weight += weight_of(n, flow);
			}
			if (weight > 0 && free_bps / weight < least) {
				least = free_bps / weight;
				full = l;
			}
		}
		for (uint32_t f = 0; f < JOBS * FLOWS; f++) {
			const struct naive_flow *flow = &n->flows[f];

			if (flow->is_active && !flow->is_fixed &&
			    cap_of(n, flow) / weight_of(n, flow) < least) {
				least = cap_of(n, flow) / weight_of(n, flow);
				capped = f;
			}
		}
		if (!isfinite(least))
			return;
		for (uint32_t f = 0; f < JOBS * FLOWS; f++) {
			struct naive_flow *flow = &n->flows[f];

			if (!flow->is_active || flow->is_fixed ||
			    (capped < JOBS * FLOWS ? f != capped : !is_on(flow, full)))
				continue;
			flow->is_fixed = true;
			flow->rate_bps = least * weight_of(n, flow);
		}
	}
}

/* Bits left when the flow's step ends. */
static double
step_end(const struct naive *n, const struct naive_flow *flow)
{
	uint32_t n_steps = n->s->segments[flow->job].n_steps;

	if (flow->step + 1 >= n_steps)
		return 0;
	return 8 * flow->spec->bytes * (n_steps - flow->step - 1) / n_steps;
}

static void
start_flows(struct naive *n, uint32_t j)
{
	n->is_sent[j] = true;
	for (uint32_t f = 0; f < FLOWS; f++)
		n->flows[j * FLOWS + f] = (struct naive_flow){
			.spec = &n->s->flows[j][f],
			.job = j,
			.left_bits = 8 * n->s->flows[j][f].bytes,
			.is_active = true,
		};
}

/* Does what is due for a job; returns when something is due next. */
static double
advance(struct naive *n, uint32_t j)
{
	const struct engine_segment *seg = &n->s->segments[j];
	double compute_end_ns = n->begin_ns[j] + (double)seg->compute_ns;
	double send_ns = n->begin_ns[j] + (double)seg->flows_offset_ns;
	bool is_sending = false;

	if (n->n_done[j] == ITERATIONS)
		return INFINITY;
	if (n->begin_ns[j] > n->now_ns + 0.5)
		return n->begin_ns[j];
	if (!n->is_sent[j]) {
		if (send_ns > n->now_ns + 0.5)
			return send_ns;
		start_flows(n, j);
	}
	for (uint32_t f = j * FLOWS; f < (j + 1) * FLOWS; f++)
		is_sending |= n->flows[f].is_active;
	if (is_sending)
		return INFINITY;
	if (compute_end_ns > n->now_ns + 0.5)
		return compute_end_ns;
	n->end_ns[j][n->n_done[j]++] = n->now_ns;
	n->begin_ns[j] = n->now_ns;
	n->is_sent[j] = false;
	return advance(n, j);
}

static void
run_naive(struct naive *n, const struct scenario *s)
{
	*n = (struct naive){ .s = s };
	for (uint32_t j = 0; j < JOBS; j++)
		n->begin_ns[j] = (double)s->jobs[j].arrival_ns;
	for (;;) {
		double next_ns = INFINITY, dt_ns;

		for (uint32_t j = 0; j < JOBS; j++)
			next_ns = fmin(next_ns, advance(n, j));
		for (uint32_t f = 0; f < JOBS * FLOWS; f++)
			n->flows[f].is_fixed = false;
		fill(n);
		for (uint32_t f = 0; f < JOBS * FLOWS; f++) {
			const struct naive_flow *flow = &n->flows[f];

			if (flow->is_active)
				next_ns = fmin(next_ns,
					       n->now_ns + 1e9 *
								   (flow->left_bits -
								    step_end(n, flow)) /
								   flow->rate_bps);
		}
		if (!isfinite(next_ns))
			return;
		dt_ns = next_ns - n->now_ns;
		n->now_ns = next_ns;
		for (uint32_t f = 0; f < JOBS * FLOWS; f++) {
			struct naive_flow *flow = &n->flows[f];

			if (!flow->is_active)
				continue;
			flow->left_bits -= dt_ns * flow->rate_bps / 1e9;
			/* Within half a nanosecond. */
			if (flow->left_bits >
			    step_end(n, flow) + flow->rate_bps * 0.5e-9)
				continue;
			if (step_end(n, flow) > 0)
				flow->step++;
			else
				flow->is_active = false;
		}
	}
}

/* ------ Tests ------ */

struct seen {
	double end_ns[JOBS][ITERATIONS];
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct seen *seen = ctx;

	(void)start_ns;
	if (iteration < ITERATIONS)
		seen->end_ns[job][iteration] = end_ns;
}

static struct engine *
make(const struct scenario *s, struct seen *seen, bool measures)
{
	const struct engine_config config = {
		.capacity_bps = s->capacity_bps,
		.n_links = LINKS,
		.measure_links = measures,
		.observer = { .ctx = seen, .on_iteration = on_iteration },
	};
	struct engine *engine = engine_new(&config);
	uint32_t id;

	for (uint32_t j = 0; j < JOBS; j++)
		assert_int_equal(engine_add_job(engine, &s->jobs[j], &id), 0);
	return engine;
}

static void
iterations_end_as_in_the_naive_simulation(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 2024);
	for (int i = 0; i < 300; i++) {
		struct seen seen = { 0 };
		struct engine_link_stats stats;
		struct scenario s;
		struct engine *engine;
		struct naive naive;
		double bytes = 0;

		draw(&rng, &s);
		engine = make(&s, &seen, i % 2);
		/* Some runs are cut: what is left continues with its step. */
		for (int k = 1; k < 20 && i % 3 == 0; k++)
			engine_run(engine, 5000000 * k);
		engine_run(engine, ENGINE_NEVER);
		run_naive(&naive, &s);
		for (uint32_t j = 0; j < JOBS; j++)
			for (uint32_t k = 0; k < ITERATIONS; k++)
				assert_near(seen.end_ns[j][k], naive.end_ns[j][k], 100);
		engine_link_stats(engine, 0, &stats);
		for (uint32_t j = 0; j < JOBS; j++)
			for (uint32_t f = 0; f < FLOWS; f++)
				for (uint32_t l = 0; l < s.flows[j][f].n_links; l++)
					bytes += s.links[j][f][l] == 0
							 ? ITERATIONS *
								   s.flows[j][f].bytes
							 : 0;
		assert_near(stats.bytes, i % 2 ? bytes : 0, 100);
		engine_free(engine);
	}
}

static void
equal_weights_in_steps_change_nothing(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < 50; i++) {
		struct seen steps = { 0 }, constant = { 0 };
		struct scenario s;
		struct engine *engine;

		draw(&rng, &s);
		for (uint32_t j = 0; j < JOBS; j++) {
			s.segments[j].n_steps = 16;
			s.segments[j].first_weight = s.segments[j].last_weight = 1;
		}
		engine = make(&s, &steps, false);
		engine_run(engine, ENGINE_NEVER);
		engine_free(engine);
		for (uint32_t j = 0; j < JOBS; j++)
			s.segments[j].n_steps = 0;
		engine = make(&s, &constant, false);
		engine_run(engine, ENGINE_NEVER);
		engine_free(engine);
		for (uint32_t j = 0; j < JOBS; j++)
			for (uint32_t k = 0; k < ITERATIONS; k++)
				assert_near(steps.end_ns[j][k], constant.end_ns[j][k],
					    50);
	}
}

/* Two flows on one link, the second one half a burst later: by hand, in 2 steps. */
static void
a_flow_that_is_further_gets_more(void **state)
{
	const double capacity_bps = 8e9; /* A byte a nanosecond. */
	const uint32_t link = 0;
	const struct engine_flow flow = { &link, 1, 1000000, 0, 1 };
	struct engine_segment seg = { .flows = &flow,
				      .n_flows = 1,
				      .first_weight = 0,
				      .last_weight = 4,
				      .n_steps = 2 };
	struct engine_job job = { .segments = &seg,
				  .n_segments = 1,
				  .stop_ns = ENGINE_NEVER,
				  .max_iterations = 1 };
	struct seen seen = { 0 };
	const struct engine_config config = {
		.capacity_bps = &capacity_bps,
		.n_links = 1,
		.observer = { .ctx = &seen, .on_iteration = on_iteration },
	};
	struct engine *engine = engine_new(&config);
	uint32_t id;

	(void)state;
	assert_int_equal(engine_add_job(engine, &job, &id), -EINVAL);
	seg.first_weight = NAN;
	assert_int_equal(engine_add_job(engine, &job, &id), -EINVAL);
	seg.first_weight = 1e-9;
	seg.n_steps = ENGINE_MAX_STEPS + 1;
	assert_int_equal(engine_add_job(engine, &job, &id), -EINVAL);
	seg.n_steps = 2;
	assert_int_equal(engine_add_job(engine, &job, &id), 0);
	job.arrival_ns = 500000;
	assert_int_equal(engine_add_job(engine, &job, &id), 0);
	engine_run(engine, ENGINE_NEVER);
	/* From 0.5 ms on weights are 3 and 1: 0.5 MB take 2/3 ms; then the second alone. */
	assert_near(seen.end_ns[0][0], 500000 + 2e6 / 3, 10);
	assert_near(seen.end_ns[1][0], 2000000, 10);
	engine_free(engine);
}

/* A run that continues in another engine, from the points of all jobs, ends alike. */
static void
a_point_keeps_the_step(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 31);
	for (int i = 0; i < 100; i++) {
		struct seen whole = { 0 }, rest = { 0 };
		struct engine_point points[JOBS];
		struct engine *first, *second;
		struct scenario s;

		draw(&rng, &s);
		for (uint32_t j = 0; j < JOBS; j++)
			s.jobs[j].max_iterations = 0;
		first = make(&s, &whole, false);
		engine_run(first, 60000000);
		for (uint32_t j = 0; j < JOBS; j++) {
			engine_job_point(first, j, &points[j]);
			s.jobs[j].arrival_ns = 0;
		}
		second = make(&s, &rest, false);
		for (uint32_t j = 0; j < JOBS; j++) {
			assert_int_equal(engine_job_resume(second, j, &points[j]), 0);
			engine_point_fini(&points[j]);
		}
		engine_run(first, 60000000 + 40000000);
		engine_run(second, 40000000);
		for (uint32_t j = 0; j < JOBS; j++) {
			double a = engine_job_progress(first, j),
			       b = engine_job_progress(second, j);

			assert_near(a - floor(a), b - floor(b), 1e-4);
		}
		assert_true(engine_state_size(first) >= JOBS * FLOWS);
		engine_free(first);
		engine_free(second);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_end_as_in_the_naive_simulation),
		cmocka_unit_test(equal_weights_in_steps_change_nothing),
		cmocka_unit_test(a_flow_that_is_further_gets_more),
		cmocka_unit_test(a_point_keeps_the_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
