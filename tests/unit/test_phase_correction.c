/* SPDX-License-Identifier: Apache-2.0 */
/* test_phase_correction.c - the cheapest delays into all windows, against all delays */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/rng.h"
#include "scheduler/core/control/phase_correction.h"
#include "tests/unit/test.h"

#define MAX_JOBS 4
#define G        12 /* Modulus; phases and windows are multiples of 100. */
#define UNIT     100.0

struct instance {
	struct phase_correction_job jobs[MAX_JOBS];
	struct phase_correction_constraint edges[MAX_JOBS * MAX_JOBS];
	size_t n_jobs, n_edges;
};

/* A tree, plus 'n_more' edges. */
static void
draw(struct rng *rng, size_t n_more, struct instance *in)
{
	*in = (struct instance){ .n_jobs = 2 + rng_below(rng, MAX_JOBS - 1) };
	for (size_t j = 0; j < in->n_jobs; j++) {
		in->jobs[j].phase_ns = (double)rng_below(rng, 3 * G) * UNIT;
		in->jobs[j].weight = 1 + (double)rng_below(rng, 3);
		in->jobs[j].is_fixed = rng_below(rng, 6) == 0;
	}
	for (size_t i = 0; i + 1 < in->n_jobs + n_more; i++) {
		struct phase_correction_constraint *e = &in->edges[in->n_edges++];

		e->b = (uint32_t)(i + 1 < in->n_jobs ? i + 1
						     : rng_below(rng, in->n_jobs));
		do
			e->a = (uint32_t)rng_below(
				rng, i + 1 < in->n_jobs ? i + 1 : in->n_jobs);
		while (e->a == e->b);
		e->modulus_ns = G * UNIT;
		e->lo_ns = (double)rng_below(rng, G) * UNIT;
		e->hi_ns = e->lo_ns + (double)rng_below(rng, G - 1) * UNIT;
	}
}

static bool
all_within(const struct instance *in, const double *delay_ns, double tolerance_ns)
{
	struct phase_correction_job jobs[MAX_JOBS];

	for (size_t j = 0; j < in->n_jobs; j++) {
		jobs[j] = in->jobs[j];
		jobs[j].phase_ns += delay_ns[j];
	}
	for (size_t i = 0; i < in->n_edges; i++)
		if (fabs(phase_correction_error_ns(jobs, &in->edges[i])) > tolerance_ns)
			return false;
	return true;
}

/*
 * The least cost over all delays up to two turns.  With integers everywhere the best
 * delays are integers, as with difference constraints.
 */
static double
brute_force(const struct instance *in)
{
	double best = INFINITY, delay_ns[MAX_JOBS];
	size_t n_all = 1;

	for (size_t j = 0; j < in->n_jobs; j++)
		n_all *= 2 * G;
	for (size_t c = 0; c < n_all; c++) {
		size_t rest = c;
		double cost = 0;
		bool is_good = true;

		for (size_t j = 0; j < in->n_jobs; j++, rest /= (size_t)(2 * G)) {
			delay_ns[j] = (double)(rest % (2 * G)) * UNIT;
			cost += in->jobs[j].weight * delay_ns[j];
			is_good &= !in->jobs[j].is_fixed || delay_ns[j] == 0;
		}
		if (is_good && cost < best && all_within(in, delay_ns, 0.5))
			best = cost;
	}
	return best;
}

static void
compare(struct rng *rng, size_t n_more, int n_draws)
{
	int n_solved = 0, n_impossible = 0;

	for (int draw_number = 0; draw_number < n_draws; draw_number++) {
		struct instance in;
		double delay_ns[MAX_JOBS] = { 0 }, cost = 0, best;
		int error;

		draw(rng, n_more, &in);
		best = brute_force(&in);
		error = phase_correction_solve(in.jobs, in.n_jobs, in.edges, in.n_edges,
					       0, delay_ns);
		n_solved += error == 0;
		n_impossible += best == INFINITY;
		if (error < 0) {
			assert_int_equal(error, -ERANGE);
			assert_true(best == INFINITY);
			continue;
		}
		assert_true(all_within(&in, delay_ns, 2));
		for (size_t j = 0; j < in.n_jobs; j++) {
			assert_true(delay_ns[j] >= 0);
			assert_true(!in.jobs[j].is_fixed || delay_ns[j] <= 1);
			cost += in.jobs[j].weight * delay_ns[j];
		}
		assert_near(cost, best, 20);
	}
	assert_true(n_solved > n_draws / 4);
	assert_true(!n_more || n_impossible > 0);
}

static void
delays_of_trees_cost_least(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	compare(&rng, 0, 40);
}

static void
delays_of_loops_cost_least_or_there_are_none(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	compare(&rng, 1, 40);
	compare(&rng, 2, 40);
}

static void
nothing_is_moved_within_the_windows(void **state)
{
	const struct phase_correction_job jobs[2] = {
		{ .phase_ns = 1e6, .weight = 1 }, { .phase_ns = 1.5e6, .weight = 1 }
	};
	const struct phase_correction_constraint edge = { 0, 1, 1e6, 0.3e6, 0.7e6 };
	double delay_ns[2] = { 9, 9 };

	(void)state;
	assert_int_equal(phase_correction_solve(jobs, 2, &edge, 1, 0, delay_ns), 0);
	assert_true(delay_ns[0] == 0 && delay_ns[1] == 0);
	assert_true(phase_correction_error_ns(jobs, &edge) == 0);
	/* Half way in, with a margin that they already have. */
	assert_int_equal(phase_correction_solve(jobs, 2, &edge, 1, 1, delay_ns), 0);
	assert_true(delay_ns[0] < 1 && delay_ns[1] < 1);
}

static void
it_is_the_cheaper_of_two_that_waits(void **state)
{
	/* The target is half a turn; b is a tenth late, a nine tenths early. */
	struct phase_correction_job jobs[2] = { { .phase_ns = 0, .weight = 1 },
						{ .phase_ns = 0.6e6, .weight = 1 } };
	const struct phase_correction_constraint edge = { 0, 1, 1e6, 0.5e6, 0.5e6 };
	double delay_ns[2];

	(void)state;
	assert_near(phase_correction_error_ns(jobs, &edge), 0.1e6, 1);
	assert_int_equal(phase_correction_solve(jobs, 2, &edge, 1, 0, delay_ns), 0);
	assert_near(delay_ns[0], 0.1e6, 2);
	assert_near(delay_ns[1], 0, 2);
	jobs[0].weight = 10;
	assert_int_equal(phase_correction_solve(jobs, 2, &edge, 1, 0, delay_ns), 0);
	assert_near(delay_ns[0], 0, 2);
	assert_near(delay_ns[1], 0.9e6, 2);
}

/* All on one link with a window for each pair: as many as fit, and more. */
static void
many_jobs_are_answered_for_whether_they_fit_or_not(void **state)
{
	enum {
		N = 64
	};
	struct phase_correction_job *jobs = calloc(N, sizeof *jobs);
	struct phase_correction_constraint *edges =
		calloc((size_t)N * N, sizeof *edges);
	double *delay_ns = calloc(N, sizeof *delay_ns);
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int fits = 0; fits < 2; fits++) {
		double burst_ns = 1e6 / N * (fits ? 0.6 : 1.4);
		size_t n = 0;

		for (uint32_t a = 0; a < N; a++) {
			jobs[a] = (struct phase_correction_job){
				.phase_ns = rng_uniform(&rng) * 1e6, .weight = 1
			};
			for (uint32_t b = a + 1; b < N; b++)
				edges[n++] = (struct phase_correction_constraint){
					a, b, 1e6, burst_ns, 1e6 - burst_ns
				};
		}
		if (!fits) {
			assert_int_equal(
				phase_correction_solve(jobs, N, edges, n, 0, delay_ns),
				-ERANGE);
			continue;
		}
		assert_int_equal(phase_correction_solve(jobs, N, edges, n, 0, delay_ns),
				 0);
		for (uint32_t j = 0; j < N; j++)
			jobs[j].phase_ns += delay_ns[j];
		for (size_t i = 0; i < n; i++)
			assert_near(phase_correction_error_ns(jobs, &edges[i]), 0, 2);
	}
	free(jobs);
	free(edges);
	free(delay_ns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_of_trees_cost_least),
		cmocka_unit_test(delays_of_loops_cost_least_or_there_are_none),
		cmocka_unit_test(nothing_is_moved_within_the_windows),
		cmocka_unit_test(it_is_the_cheaper_of_two_that_waits),
		cmocka_unit_test(many_jobs_are_answered_for_whether_they_fit_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
