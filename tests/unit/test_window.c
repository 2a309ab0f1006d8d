/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c - many jobs that contend, in one window after the other */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/cluster/steady.h"
#include "sim/cluster/window.h"
#include "tests/unit/fabric_lab.h"
#include "tests/unit/test.h"
#include "topology/route.h"

#define N_JOBS 20

/* Jobs between two leaves with one uplink; periods 0.3 to 1.3 s, duty 5 %. */
struct crowd {
	struct topo *topo;
	struct routes *routes;
	struct work_job jobs[N_JOBS];
	struct routed_job routed[N_JOBS];
	struct link_subset_job dense[N_JOBS];
	struct window_past pasts[N_JOBS], *past_of[N_JOBS];
	double phases[N_JOBS], iteration_ns[N_JOBS], rms_ns[N_JOBS];
};

static int64_t
period_ns(uint32_t j)
{
	return INT64_C(1000000) * (300 + 53 * (int64_t)j);
}

static void
open_crowd(struct crowd *crowd, double jitter_frac)
{
	const uint32_t *hosts;
	size_t n_hosts;

	memset(crowd, 0, sizeof *crowd);
	crowd->topo = lab_topo(2, N_JOBS);
	crowd->routes = routes_new(crowd->topo, 1);
	hosts = topo_hosts(crowd->topo, &n_hosts);
	assert_int_equal(n_hosts, 2 * N_JOBS);
	for (uint32_t j = 0; j < N_JOBS; j++) {
		const uint32_t own[] = { hosts[j], hosts[N_JOBS + j] };
		double period = (double)period_ns(j);
		struct work_segment segments[] = {
			{ .compute_ns = (int64_t)(0.95 * period) },
			{ .nic_bytes = 0.05 * period * LINE / 8e9 },
		};
		struct work_model model = models[0];

		model.segments = segments;
		crowd->jobs[j].n_hosts_wanted = 2;
		assert_int_equal(work_model_make_job(&model, 1, LINE, &crowd->jobs[j]),
				 0);
		crowd->jobs[j].jitter_frac = jitter_frac;
		assert_int_equal(routed_job_make(&crowd->jobs[j], own, crowd->topo,
						 crowd->routes, &crowd->routed[j]),
				 0);
		crowd->dense[j] =
			(struct link_subset_job){ .job = &crowd->jobs[j],
						  .routed = &crowd->routed[j] };
		crowd->past_of[j] = &crowd->pasts[j];
		crowd->phases[j] = fmod(0.618 * j, 1);
	}
}

static void
close_crowd(struct crowd *crowd)
{
	for (uint32_t j = 0; j < N_JOBS; j++) {
		window_past_fini(&crowd->pasts[j]);
		routed_job_fini(&crowd->routed[j]);
		work_job_fini(&crowd->jobs[j]);
	}
	routes_free(crowd->routes);
	topo_unref(crowd->topo);
}

/* The first 'n' jobs in one window. */
static struct window
look(struct crowd *crowd, uint32_t n, uint64_t seed)
{
	struct window window;

	assert_int_equal(window_run(crowd->dense, n, crowd->topo, seed, crowd->phases,
				    crowd->past_of, crowd->iteration_ns, crowd->rms_ns,
				    NULL, &window),
			 0);
	return window;
}

static void
windows_say_together_what_a_long_run_says(void **state)
{
	enum {
		N_WINDOWS = 2000
	};

	double long_ns[N_JOBS], long_rms_ns[N_JOBS], rate[N_JOBS] = { 0 };
	double rms_ns[N_JOBS] = { 0 }, most = 1;
	struct crowd crowd;
	struct steady steady;

	(void)state;
	open_crowd(&crowd, 0);
	for (int w = 0; w < N_WINDOWS; w++) {
		struct window window = look(&crowd, N_JOBS, 1);

		assert_true(window.n_iterations >= WINDOW_ITERATIONS * N_JOBS);
		assert_true(window.n_iterations < 3 * WINDOW_ITERATIONS * N_JOBS);
		assert_true(window.error > 0 && window.error < 0.1);
		for (uint32_t j = 0; j < N_JOBS; j++) {
			rate[j] += 1 / crowd.iteration_ns[j] / N_WINDOWS;
			rms_ns[j] += crowd.rms_ns[j] / N_WINDOWS;
		}
	}
	assert_int_equal(steady_run(crowd.dense, N_JOBS, crowd.topo, 1,
				    (struct steady_limits){ 1000000, 10000 }, long_ns,
				    long_rms_ns, NULL, &steady),
			 0);
	for (uint32_t j = 0; j < N_JOBS; j++) {
		double slowdown = long_ns[j] / (double)period_ns(j);

		assert_near(1 / rate[j] / long_ns[j], 1, 0.004);
		assert_near(rms_ns[j] / long_rms_ns[j], 1, 0.004);
		most = fmax(most, slowdown);
	}
	assert_true(most > 1.05); /* They contend. */
	close_crowd(&crowd);
}

/* Isolated from then on: it ends its iteration, and three more in its own time. */
static void
who_is_left_goes_on_where_it_was(void **state)
{
	const double isolated_ns = (double)period_ns(0);
	struct crowd crowd;
	double since_ns;

	(void)state;
	open_crowd(&crowd, 0);
	look(&crowd, N_JOBS, 1);
	since_ns = crowd.pasts[0].point.since_ns;
	assert_true(since_ns > 0);
	/* As if this were the whole history. */
	crowd.pasts[0].iterations = crowd.pasts[0].ns = 0;
	crowd.pasts[0].n_ended = crowd.pasts[0].sum_ns = crowd.pasts[0].sum_ns2 = 0;
	assert_int_equal(look(&crowd, 1, 1).n_iterations, WINDOW_ITERATIONS);
	assert_near(crowd.pasts[0].n_ended, WINDOW_ITERATIONS, 0);
	assert_near(crowd.iteration_ns[0] / isolated_ns, 1, 1e-6);
	assert_true(crowd.pasts[0].iterations < WINDOW_ITERATIONS);
	assert_true(crowd.pasts[0].ns < (WINDOW_ITERATIONS - 0.01) * isolated_ns);
	/* The first iteration is longer by the time lost before. */
	assert_near(crowd.pasts[0].sum_ns - crowd.pasts[0].ns, since_ns, 1e-3);
	close_crowd(&crowd);
}

/* The slowest job is new: its first window has enough of its iterations. */
static void
who_is_new_is_waited_for(void **state)
{
	struct crowd crowd;

	(void)state;
	open_crowd(&crowd, 0);
	for (int w = 0; w < 5; w++)
		look(&crowd, N_JOBS - 1, 1);
	assert_false(crowd.pasts[N_JOBS - 1].is_known);
	look(&crowd, N_JOBS, 1);
	assert_true(crowd.pasts[N_JOBS - 1].is_known);
	assert_true(crowd.pasts[N_JOBS - 1].n_ended >= 1);
	assert_true(crowd.pasts[N_JOBS - 1].n_ended < WINDOW_ITERATIONS);
	assert_true(crowd.iteration_ns[N_JOBS - 1] >=
		    0.999 * (double)period_ns(N_JOBS - 1));
	close_crowd(&crowd);
}

/* With jitter it computes longer than the window lasts. */
static void
who_got_nothing_done_is_as_if_alone(void **state)
{
	const uint32_t slow = N_JOBS - 1;
	uint32_t n_without = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct crowd crowd;

		open_crowd(&crowd, 0.5);
		crowd.jobs[slow].segments[0].compute_ns *= 100000;
		crowd.jobs[slow].profile.period_us *= 100000;
		look(&crowd, slow, seed);
		look(&crowd, N_JOBS, seed);
		for (uint32_t j = 0; j < N_JOBS; j++)
			assert_true(crowd.iteration_ns[j] > 0 &&
				    isfinite(crowd.iteration_ns[j]) &&
				    isfinite(crowd.rms_ns[j]));
		if (!(crowd.pasts[slow].iterations > 0)) {
			assert_near(crowd.iteration_ns[slow],
				    1e3 * (double)crowd.jobs[slow].profile.period_us,
				    0);
			n_without++;
		}
		close_crowd(&crowd);
	}
	assert_true(n_without > 0);
}

static void
what_is_remembered_is_bounded(void **state)
{
	struct crowd crowd;

	(void)state;
	open_crowd(&crowd, 0);
	for (int w = 0; w < 20; w++) {
		look(&crowd, N_JOBS, 1);
		for (uint32_t j = 0; j < N_JOBS; j++) {
			const struct window_past *past = &crowd.pasts[j];

			assert_true(past->iterations <= 2 * WINDOW_MEMORY);
			assert_true(fabs(past->n_ended - past->iterations) <= 2);
			assert_true(w < 15 || past->iterations >= WINDOW_MEMORY - 1e-6);
		}
	}
	close_crowd(&crowd);
}

static void
the_same_past_and_seed_have_the_same_future(void **state)
{
	static const uint64_t seeds[] = { 7, 7, 8 };
	struct crowd crowds[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		open_crowd(&crowds[i], 0.05);
		look(&crowds[i], N_JOBS, 1);
		look(&crowds[i], N_JOBS, seeds[i]);
	}
	assert_memory_equal(crowds[0].iteration_ns, crowds[1].iteration_ns,
			    sizeof crowds[0].iteration_ns);
	/* Other jitter gives other times. */
	assert_memory_not_equal(crowds[0].iteration_ns, crowds[2].iteration_ns,
				sizeof crowds[0].iteration_ns);
	for (int i = 0; i < 3; i++)
		close_crowd(&crowds[i]);
}

static void
what_is_seen_of_a_job_is_what_ended(void **state)
{
	struct crowd crowd;
	struct steady_seen seen[N_JOBS];
	struct window window;
	double n = 0, ecn_packets = 0;

	(void)state;
	open_crowd(&crowd, 0);
	for (int w = 0; w < 2; w++) {
		assert_int_equal(window_run(crowd.dense, N_JOBS, crowd.topo, 1,
					    crowd.phases, crowd.past_of,
					    crowd.iteration_ns, crowd.rms_ns, seen,
					    &window),
				 0);
		for (uint32_t j = 0; j < N_JOBS; j++) {
			n += w * histogram_weight(&seen[j].times_ns);
			ecn_packets += seen[j].ecn_packets;
			assert_true(histogram_mean(&seen[j].times_ns) >=
				    0.999 * (double)period_ns(j));
			histogram_fini(&seen[j].times_ns);
		}
	}
	/* All complete iterations, and one for each job without any. */
	assert_true(n >= (double)window.n_iterations &&
		    n <= (double)window.n_iterations + 5);
	assert_true(ecn_packets > 0);
	close_crowd(&crowd);
}

/* A job in all four leaves, one of higher priority that fills the links between the first
 * two, and one in the last two. */
static void
marks_count_while_a_flow_gets_nothing(void **state)
{
	static const uint32_t places[][4] = { { 0, 2, 4, 6 }, { 1, 3 }, { 5, 7 } };
	static const uint32_t sizes[] = { 4, 2, 2 };
	struct topo *topo = lab_topo(4, 2);
	struct routes *routes = routes_new(topo, 1);
	struct work_segment burst[] = { { .nic_bytes = 0.5 * LINE / 8 } };
	struct work_job jobs[3] = { 0 };
	struct routed_job routed[3];
	struct link_subset_job dense[3];
	struct window_past pasts[3] = { 0 };
	struct window_past *past_of[] = { &pasts[0], &pasts[1], &pasts[2] };
	const double phases[3] = { 0 };
	double iteration_ns[3], rms_ns[3];
	const double packets = burst[0].nic_bytes / 1000 * 4;
	struct window window;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	(void)state;
	for (uint32_t j = 0; j < 3; j++) {
		struct work_model model = models[0];
		uint32_t own[4];

		model.segments = burst;
		model.n_segments = 1;
		jobs[j].n_hosts_wanted = sizes[j];
		assert_int_equal(work_model_make_job(&model, 1, LINE, &jobs[j]), 0);
		jobs[j].priority = j == 1;
		for (uint32_t i = 0; i < sizes[j]; i++)
			own[i] = hosts[places[j][i]];
		assert_int_equal(
			routed_job_make(&jobs[j], own, topo, routes, &routed[j]), 0);
		dense[j] = (struct link_subset_job){ .job = &jobs[j],
						     .routed = &routed[j] };
	}
	for (int w = 0; w < 3; w++) {
		struct steady_seen seen[3];

		assert_int_equal(window_run(dense, 3, topo, 1, phases, past_of,
					    iteration_ns, rms_ns, seen, &window),
				 0);
		for (uint32_t j = 0; j < 3; j++) {
			assert_true(seen[j].ecn_packets <= packets);
			assert_true(w > 0 || j == 1 || seen[j].ecn_packets > 0);
			histogram_fini(&seen[j].times_ns);
		}
	}
	for (uint32_t j = 0; j < 3; j++) {
		window_past_fini(&pasts[j]);
		routed_job_fini(&routed[j]);
		work_job_fini(&jobs[j]);
	}
	routes_free(routes);
	topo_unref(topo);
}

static void
the_past_of_another_job_is_refused(void **state)
{
	struct crowd crowd;
	struct window window;

	(void)state;
	open_crowd(&crowd, 0);
	look(&crowd, N_JOBS, 1);
	crowd.pasts[3].point.segment = 2;
	crowd.pasts[3].point.since_ns = 1;
	assert_int_equal(window_run(crowd.dense, N_JOBS, crowd.topo, 1, crowd.phases,
				    crowd.past_of, crowd.iteration_ns, crowd.rms_ns,
				    NULL, &window),
			 -EINVAL);
	close_crowd(&crowd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_say_together_what_a_long_run_says),
		cmocka_unit_test(who_is_left_goes_on_where_it_was),
		cmocka_unit_test(who_is_new_is_waited_for),
		cmocka_unit_test(who_got_nothing_done_is_as_if_alone),
		cmocka_unit_test(what_is_remembered_is_bounded),
		cmocka_unit_test(the_same_past_and_seed_have_the_same_future),
		cmocka_unit_test(what_is_seen_of_a_job_is_what_ended),
		cmocka_unit_test(marks_count_while_a_flow_gets_nothing),
		cmocka_unit_test(the_past_of_another_job_is_refused),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
