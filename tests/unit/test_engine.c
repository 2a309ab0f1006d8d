/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine.c - jobs on links: closed forms, arrivals and stops, jitter, what-if */
#include <errno.h>

#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

static void
a_job_alone_computes_then_sends_at_line_rate(void **state)
{
	struct lab lab;
	struct lab_job j;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&j, 25 * MS, PATH, 1, 125e6);
	j.job.shift_ns = 3 * MS;
	j.job.arrival_ns = 4 * MS;
	j.job.max_iterations = 3;
	lab_add(&lab, &j);
	assert_true(engine_run(lab.engine, ENGINE_NEVER) > 0);
	assert_int_equal(lab.iterations.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_near(lab.iterations.items[i].start_ns, 7e6 + 45e6 * i, 1e-3);
		assert_near(lab.iterations.items[i].end_ns, 52e6 + 45e6 * i, 1e-3);
		assert_near(lab.flows.items[i].start_ns, 32e6 + 45e6 * i, 1e-3);
		assert_near(lab.flows.items[i].end_ns, 52e6 + 45e6 * i, 1e-3);
	}
	assert_int_equal(engine_flows_finished(lab.engine), 3);
	lab_close(&lab);
}

static void
a_stop_amid_an_iteration_frees_the_link(void **state)
{
	struct lab lab;
	struct engine_job_stats stats;
	struct lab_job a, b;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&a, 0, PATH, 1, 125e6);
	lab_job_init(&b, 0, PATH, 1, 125e6);
	a.job.max_iterations = 1;
	b.job.stop_ns = 10 * MS;
	lab_add(&lab, &a);
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	/* 10 ms at half the rate, then the other 15 ms of work alone. */
	assert_near(lab_iteration_ns(&lab, 0, 0), 25e6, 1e-3);
	engine_job_stats(lab.engine, 1, &stats);
	assert_int_equal(stats.n_iterations, 0);
	assert_near(stats.end_ns, 10e6, 0);
	lab_close(&lab);
}

static void
a_job_that_arrives_during_the_run_takes_its_share(void **state)
{
	struct lab lab;
	struct lab_job a, b;
	uint32_t id;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&a, 5 * MS, PATH, 1, 125e6);
	a.job.max_iterations = 2;
	lab_add(&lab, &a);
	engine_run(lab.engine, 15 * MS); /* During the first flow, so far alone. */
	assert_near(engine_now_ns(lab.engine), 15e6, 0);

	lab_job_init(&b, 0, PATH, 1, 62.5e6);
	b.job.arrival_ns = 14 * MS;
	assert_int_equal(engine_add_job(lab.engine, &b.job, &id), -EINVAL);
	b.job.arrival_ns = 15 * MS;
	b.job.max_iterations = 1;
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	/* a has 10 of 20 ms left, b needs 10: both end at 35 ms. */
	assert_near(lab_iteration_ns(&lab, 0, 0), 35e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 20e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 1), 25e6, 1e-3);
	lab_close(&lab);
}

static void
a_job_that_arrives_while_the_other_computes_meets_it_later(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct lab_job a, b;

	(void)state;
	config.observer.on_flows = NULL; /* Lets the engine look ahead. */
	lab_open(&lab, &config);
	lab_job_init(&a, 20 * MS, PATH, 1, 125e6);
	a.job.max_iterations = 1;
	lab_add(&lab, &a);
	engine_run(lab.engine, 10 * MS);
	lab_job_init(&b, 0, PATH, 1, 125e6);
	b.job.arrival_ns = 10 * MS;
	b.job.max_iterations = 1;
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	/* b: 10 ms alone, then shared: 10 + 20. a: 20 shared, 10 alone. */
	assert_near(lab_iteration_ns(&lab, 1, 0), 30e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 0), 50e6, 1e-3);
	lab_close(&lab);
}

static void
overlap_ends_with_the_longer_of_computing_and_sending(void **state)
{
	struct lab lab;
	struct lab_job a, b;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&a, 30 * MS, PATH, 1, 125e6);
	a.segment.flows_offset_ns = 20 * MS; /* 20 to 40 ms; computes to 30. */
	a.job.max_iterations = 1;
	lab_add(&lab, &a);
	lab_job_init(&b, 30 * MS, PATH, 1, 31.25e6);
	b.segment.flows_offset_ns = 10 * MS; /* 10 to 15 ms; computes to 30. */
	b.job.max_iterations = 1;
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 0, 0), 40e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 30e6, 1e-3);
	/* Flows are reported when they end, not at the end of the segment. */
	assert_int_equal(lab.flows.n, 2);
	assert_int_equal(lab.flows.items[0].job, 1);
	assert_near(lab.flows.items[0].end_ns, 15e6, 1e-3);
	lab_close(&lab);
}

static void
flows_without_bytes_or_links_take_no_time_unless_capped(void **state)
{
	struct lab lab;
	const struct engine_flow flows[] = {
		{ .links = PATH, .n_links = 1, .bytes = 0, .weight = 1 },
		{ .links = NULL, .n_links = 0, .bytes = 1e9, .weight = 1 },
		{ .links = NULL,
		  .n_links = 0,
		  .bytes = 1e6,
		  .cap_bps = 8e9,
		  .weight = 1 },
	};
	struct engine_segment segment = { .flows = flows, .n_flows = 2 };
	struct engine_job job = { .segments = &segment,
				  .n_segments = 1,
				  .stop_ns = ENGINE_NEVER,
				  .max_iterations = 2 };
	uint32_t id;

	(void)state;
	lab_open_link(&lab);
	assert_int_equal(engine_add_job(lab.engine, &job, &id), 0);
	segment.n_flows = 3;
	assert_int_equal(engine_add_job(lab.engine, &job, &id), 0);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_mean_ns(&lab, 0, 2), 0, 0);
	assert_near(lab_mean_ns(&lab, 1, 2), 1e6, 1e-3);
	assert_int_equal(engine_flows_finished(lab.engine), 10);
	lab_close(&lab);
}

static void
segments_follow_each_other(void **state)
{
	struct lab lab;
	const struct engine_flow flow = {
		.links = PATH, .n_links = 1, .bytes = 62.5e6, .weight = 1
	};
	const struct engine_segment segments[] = {
		{ .compute_ns = 5 * MS },
		{ .flows = &flow, .n_flows = 1 },
		{ .compute_ns = 7 * MS,
		  .flows_offset_ns = 7 * MS,
		  .flows = &flow,
		  .n_flows = 1 },
	};
	struct engine_job job = { .segments = segments,
				  .n_segments = 3,
				  .stop_ns = ENGINE_NEVER,
				  .max_iterations = 5 };
	uint32_t id;

	(void)state;
	lab_open_link(&lab);
	assert_int_equal(engine_add_job(lab.engine, &job, &id), 0);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_mean_ns(&lab, 0, 5), 32e6, 1e-3);
	assert_int_equal(lab.flows.n, 10);
	assert_int_equal(lab.flows.items[0].segment, 1);
	assert_int_equal(lab.flows.items[1].segment, 2);
	lab_close(&lab);
}

static void
a_cap_below_the_share_leaves_the_rest_to_others(void **state)
{
	struct lab lab;
	struct lab_job a, b;

	(void)state;
	lab_open_link(&lab);
	lab_job_init(&a, 0, PATH, 1, 10e6);
	a.flow.cap_bps = 10e9;
	a.job.max_iterations = 1;
	lab_job_init(&b, 0, PATH, 1, 40e6);
	b.job.max_iterations = 1;
	lab_add(&lab, &a);
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 0, 0), 8e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 8e6, 1e-3);
	lab_close(&lab);
}

/* Two parts over a link each; on link 1 another job takes half. */
static void
a_flow_split_over_paths_ends_with_its_last_part(void **state)
{
	static const double two_links[] = { 50e9, 50e9 };
	static const uint32_t links[] = { 0, 1 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, two_links, 2);
	const struct engine_flow parts[] = {
		{ .links = links, .n_links = 1, .bytes = 62.5e6, .weight = 1 },
		{ .links = links + 1, .n_links = 1, .bytes = 62.5e6, .weight = 1 },
	};
	struct lab_job j;

	(void)state;
	lab_open(&lab, &config);
	lab_job_init(&j, 0, links + 1, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	j.segment.flows = parts;
	j.segment.n_flows = 2;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 1, 0), 20e6, 1e-3); /* 10 and 20. */
	assert_near(lab_iteration_ns(&lab, 0, 0), 30e6, 1e-3);
	assert_int_equal(lab.flows.n, 2); /* Communication, not parts. */
	lab_close(&lab);
}

static double
triple_for_job_1(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment)
{
	(void)ctx;
	(void)iteration;
	(void)segment;
	return job == 1 ? 3 : 1;
}

static void
the_weight_hook_divides_the_link(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct lab_job j;

	(void)state;
	config.observer.flow_weight = triple_for_job_1;
	lab_open(&lab, &config);
	lab_job_init(&j, 0, PATH, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	/* 125 MB at 37.5 Gb/s; the other job the rest of 40 ms. */
	assert_near(lab_iteration_ns(&lab, 1, 0), 1e9 / 37.5, 1e-3);
	assert_near(lab_iteration_ns(&lab, 0, 0), 40e6, 1e-3);
	lab_close(&lab);
}

static void
jitter_has_the_spread_asked_for_and_belongs_to_its_job(void **state)
{
	double first_ns[2000], sum = 0, square = 0;
	const uint32_t n = 2000;

	(void)state;
	for (uint32_t n_jobs = 1; n_jobs <= 2; n_jobs++) {
		struct lab lab;
		struct lab_job j;

		lab_open_link(&lab);
		lab_job_init(&j, 20 * MS, PATH, 1, 0);
		j.job.jitter_frac = 0.02;
		j.job.max_iterations = n;
		for (uint32_t i = 0; i < n_jobs; i++)
			lab_add(&lab, &j);
		engine_run(lab.engine, ENGINE_NEVER);
		for (size_t i = 0, k = 0; i < lab.iterations.n; i++) {
			const struct lab_iteration *it = &lab.iterations.items[i];
			double ns = it->end_ns - it->start_ns;

			if (it->job != 0)
				continue;
			if (n_jobs == 2)
				assert_near(first_ns[k++], ns, 1e-3);
			else
				first_ns[k++] = ns;
		}
		lab_close(&lab);
	}
	for (uint32_t i = 0; i < n; i++) {
		sum += first_ns[i];
		square += first_ns[i] * first_ns[i];
	}
	/* 4 standard errors of the mean, and of the standard deviation. */
	assert_near(sum / n, 20e6, 4 * 0.4e6 / sqrt(n));
	assert_near(sqrt(square / n - sum / n * (sum / n)), 0.4e6,
		    4 * 0.4e6 / sqrt(2.0 * n));
}

/* Stalls come on top of the jitter, which they do not change. */
static void
stalls_have_the_share_and_mean_asked_for(void **state)
{
	double sum_ns = 0, calm_ns[4000];
	const uint32_t n = 4000;
	uint32_t n_stalls = 0;

	(void)state;
	for (int stalls = 0; stalls < 2; stalls++) {
		struct lab lab;
		struct lab_job j;

		lab_open_link(&lab);
		lab_job_init(&j, 20 * MS, PATH, 1, 0);
		j.job.jitter_frac = 0.02;
		j.job.stall_frac = stalls ? 0.1 : 0;
		j.job.stall_ns = 30 * MS;
		j.job.max_iterations = n;
		lab_add(&lab, &j);
		engine_run(lab.engine, ENGINE_NEVER);
		assert_int_equal(lab.iterations.n, n);
		for (size_t i = 0; i < n; i++) {
			const struct lab_iteration *it = &lab.iterations.items[i];
			double ns = it->end_ns - it->start_ns;

			if (stalls && ns > calm_ns[i] + 1) {
				n_stalls++;
				sum_ns += ns - calm_ns[i];
			} else if (stalls) {
				assert_near(ns, calm_ns[i], 1);
			}
			calm_ns[i] = ns;
		}
		lab_close(&lab);
	}
	/* 4 standard errors of each. */
	assert_near(n_stalls, 0.1 * n, 4 * sqrt(0.1 * 0.9 * n));
	assert_near(sum_ns / n_stalls, 30e6, 4 * 30e6 / sqrt(n_stalls));
}

/* Jobs over four links, with everything that can be random. */
static void
fill_lab(struct lab *lab, bool measured, uint64_t seed)
{
	static const double capacity_bps[] = { 50e9, 50e9, 40e9, 25e9 };
	static const uint32_t paths[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } };
	struct engine_config config = lab_config(lab, capacity_bps, 4);

	config.seed = seed;
	config.measure_links = measured;
	lab_open(lab, &config);
	for (uint32_t i = 0; i < 12; i++) {
		struct lab_job j;

		lab_job_init(&j, (int64_t)(10 + i) * MS, paths[i % 4], 2,
			     20e6 + 1e6 * i);
		j.job.jitter_frac = 0.05;
		j.job.shift_ns = i * MS;
		j.job.pacing = (enum engine_pacing)(i % 3);
		j.job.grid_ns = 40 * MS;
		j.job.max_iterations = 60;
		if (i >= 8) /* Some jobs come later, some leave early. */
			j.job.arrival_ns = (int64_t)(i * 100) * MS;
		if (i < 4)
			j.job.stop_ns = (int64_t)(2000 + i * 50) * MS;
		lab_add(lab, &j);
	}
}

static void
the_same_seed_gives_the_same_bytes_in_one_go_or_many(void **state)
{
	struct lab a, b, c;
	bool differs = false;

	(void)state;
	fill_lab(&a, false, 7);
	fill_lab(&b, false, 7);
	fill_lab(&c, false, 8);
	engine_run(a.engine, ENGINE_NEVER);
	engine_run(c.engine, ENGINE_NEVER);
	for (int64_t until_ns = 0; until_ns < (int64_t)20000 * MS; until_ns += 7 * MS)
		engine_run(b.engine, until_ns);
	assert_true(a.iterations.n > 8 * 60);
	assert_int_equal(b.iterations.n, a.iterations.n);
	for (size_t i = 0; i < a.iterations.n; i++) {
		const struct lab_iteration *x = &a.iterations.items[i];
		const struct lab_iteration *y = &b.iterations.items[i];

		assert_int_equal(x->job, y->job);
		assert_near(x->end_ns, y->end_ns, 0);
		differs |=
			i < c.iterations.n && x->end_ns != c.iterations.items[i].end_ns;
	}
	assert_true(differs);
	lab_close(&a);
	lab_close(&b);
	lab_close(&c);
}

static void
measuring_does_not_change_what_happens(void **state)
{
	struct lab a, b;

	(void)state;
	fill_lab(&a, false, 7);
	fill_lab(&b, true, 7);
	engine_run(a.engine, ENGINE_NEVER);
	engine_run(b.engine, ENGINE_NEVER);
	assert_int_equal(b.iterations.n, a.iterations.n);
	for (uint32_t job = 0; job < 12; job++)
		assert_near(lab_mean_ns(&b, job, 20), lab_mean_ns(&a, job, 20), 1);
	lab_close(&a);
	lab_close(&b);
}

static void
stop_after_third(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
		 double end_ns)
{
	struct lab *lab = ctx;

	lab_on_iteration(ctx, job, iteration, start_ns, end_ns);
	if (lab->iterations.n % 3 == 0)
		engine_stop(lab->engine);
}

static void
an_observer_can_stop_the_run_even_where_time_stands_still(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct lab_job j;

	(void)state;
	config.observer.on_iteration = stop_after_third;
	lab_open(&lab, &config);
	lab_job_init(&j, 0, PATH, 1, 0);
	j.job.max_iterations = 1000000000;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.iterations.n, 3);
	engine_run(lab.engine, ENGINE_NEVER); /* The engine can continue. */
	assert_int_equal(lab.iterations.n, 6);
	lab_close(&lab);
}

/* Three jobs on a link with room for two: two jobs cannot exceed it. */
static void
those_who_stay_go_on_when_others_have_left(void **state)
{
	static const double capacity_bps[] = { 100e9, 50e9, 50e9, 50e9 };
	static const uint32_t paths[][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 } };

	(void)state;
	for (int with_flows = 0; with_flows < 2; with_flows++) {
		struct lab lab;
		struct engine_config config = lab_config(&lab, capacity_bps, 4);

		if (!with_flows)
			config.observer.on_flows = NULL;
		lab_open(&lab, &config);
		for (uint32_t i = 0; i < 3; i++) {
			struct lab_job j;

			lab_job_init(&j, 10 * MS, paths[i], 2, 125e6);
			j.job.max_iterations = 3;
			if (i == 2) /* During the first flows: 20 of 20 ms at 2/3. */
				j.job.stop_ns = 25 * MS;
			lab_add(&lab, &j);
		}
		engine_run(lab.engine, ENGINE_NEVER);
		assert_int_equal(lab.iterations.n, 6);
		/* 15 ms at 2/3 of the rate leave 10 ms of work at the full rate. */
		assert_near(lab_iteration_ns(&lab, 0, 0), 35e6, 1e-2);
		assert_near(lab_iteration_ns(&lab, 1, 0), 35e6, 1e-2);
		assert_near(lab_iteration_ns(&lab, 0, 1), 30e6, 1e-2);
		assert_near(lab_iteration_ns(&lab, 1, 2), 30e6, 1e-2);
		lab_close(&lab);
	}
}

static void
add_another(void *ctx, uint32_t job, uint64_t iteration, double start_ns, double end_ns)
{
	struct lab *lab = ctx;
	struct lab_job j;

	lab_on_iteration(ctx, job, iteration, start_ns, end_ns);
	if (lab->iterations.n > 30)
		return;
	lab_job_init(&j, 5 * MS, PATH, 1, 125e6);
	j.job.arrival_ns = (int64_t)end_ns + 1;
	j.job.max_iterations = 1;
	lab_add(lab, &j);
}

static void
an_observer_can_add_jobs(void **state)
{
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct lab_job j;

	(void)state;
	config.observer.on_iteration = add_another;
	lab_open(&lab, &config);
	lab_job_init(&j, 5 * MS, PATH, 1, 125e6);
	j.job.max_iterations = 1;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.iterations.n, 31);
	for (uint32_t i = 0; i < 31; i++)
		assert_near(lab_iteration_ns(&lab, i, 0), 25e6, 2);
	lab_close(&lab);
}

static void
unsound_jobs_are_refused(void **state)
{
	const uint32_t beyond[] = { 1 };
	struct lab lab;
	struct lab_job j;
	uint32_t id;

	(void)state;
	lab_open_link(&lab);
#define REFUSED(change)                                                             \
	do {                                                                        \
		lab_job_init(&j, 1 * MS, PATH, 1, 1e6);                             \
		change;                                                             \
		assert_int_equal(engine_add_job(lab.engine, &j.job, &id), -EINVAL); \
	} while (0)
	REFUSED(j.flow.links = beyond);
	REFUSED(j.flow.bytes = -1);
	REFUSED(j.flow.bytes = NAN);
	REFUSED(j.flow.bytes = INFINITY);
	REFUSED(j.flow.weight = 0);
	REFUSED(j.flow.weight = NAN);
	REFUSED(j.flow.cap_bps = -1);
	REFUSED(j.segment.compute_ns = -1);
	REFUSED(j.segment.flows_offset_ns = -1);
	REFUSED(j.job.arrival_ns = -1);
	REFUSED(j.job.shift_ns = -1);
	REFUSED(j.job.stop_ns = -1);
	REFUSED(j.job.grid_ns = -1);
	REFUSED(j.job.jitter_frac = NAN);
	REFUSED(j.job.stall_frac = NAN);
	REFUSED(j.job.stall_frac = 1.1);
	REFUSED(j.job.stall_ns = -1);
	REFUSED(j.job.deadband_frac = -0.1);
	REFUSED(j.job.n_segments = 0);
	/* Endless iterations that take no time. */
	REFUSED(j.flow.bytes = 0; j.segment.compute_ns = j.segment.flows_offset_ns = 0);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.iterations.n, 0);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_alone_computes_then_sends_at_line_rate),
		cmocka_unit_test(a_stop_amid_an_iteration_frees_the_link),
		cmocka_unit_test(a_job_that_arrives_during_the_run_takes_its_share),
		cmocka_unit_test(
			a_job_that_arrives_while_the_other_computes_meets_it_later),
		cmocka_unit_test(overlap_ends_with_the_longer_of_computing_and_sending),
		cmocka_unit_test(
			flows_without_bytes_or_links_take_no_time_unless_capped),
		cmocka_unit_test(segments_follow_each_other),
		cmocka_unit_test(a_cap_below_the_share_leaves_the_rest_to_others),
		cmocka_unit_test(a_flow_split_over_paths_ends_with_its_last_part),
		cmocka_unit_test(the_weight_hook_divides_the_link),
		cmocka_unit_test(
			jitter_has_the_spread_asked_for_and_belongs_to_its_job),
		cmocka_unit_test(stalls_have_the_share_and_mean_asked_for),
		cmocka_unit_test(the_same_seed_gives_the_same_bytes_in_one_go_or_many),
		cmocka_unit_test(measuring_does_not_change_what_happens),
		cmocka_unit_test(
			an_observer_can_stop_the_run_even_where_time_stands_still),
		cmocka_unit_test(those_who_stay_go_on_when_others_have_left),
		cmocka_unit_test(an_observer_can_add_jobs),
		cmocka_unit_test(unsound_jobs_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
