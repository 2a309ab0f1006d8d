/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_market.c - rounds of a window: how near the solver comes to the optimum, and that
 * what it plans fits into rounds
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "policies/math/market.h"
#include "tests/unit/test.h"

#define MAX_JOBS 1000

static struct market_job jobs[MAX_JOBS];

/* Jobs of 1 to 8 GPUs, some of them late; the cost of the makespan is as in Shockwave. */
static struct market
random_market(struct rng *rng, uint32_t n_jobs, uint32_t n_rounds, double capacity)
{
	for (uint32_t j = 0; j < n_jobs; j++) {
		double duration_s = 600 * exp(3 * rng_uniform(rng));
		double progress = rng_uniform(rng) < 0.3 ? 0 : rng_uniform(rng);
		double n_gpus = (double)(1u << (uint32_t)(4 * rng_uniform(rng)));

		jobs[j] = (struct market_job){
			.n_gpus = fmin(n_gpus, capacity),
			.weight = rng_uniform(rng) < 0.3 ? pow(1 + rng_uniform(rng), 12)
							 : 1,
			.progress = progress,
			.rate = 120 / duration_s,
			.left_s = (1 - progress) * duration_s *
				  (0.8 + 0.4 * rng_uniform(rng)),
		};
	}
	return (struct market){ .jobs = jobs,
				.n_jobs = n_jobs,
				.n_rounds = n_rounds,
				.capacity = capacity,
				.round_s = 120,
				.cost_per_s = rng_uniform(rng) < 0.5 ? 1e-3 : 1e-6,
				.log_floor = log(1e-6) };
}

static double
used(const struct market *m, const uint32_t *x)
{
	double n = 0;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		n += m->jobs[j].n_gpus * x[j];
	return n;
}

/* Of all choices of rounds, the best value. */
static double
best_of_all(const struct market *m)
{
	uint32_t x[8] = { 0 };
	double best = -INFINITY;

	for (;;) {
		uint32_t j = 0;

		if (used(m, x) <= m->capacity * m->n_rounds)
			best = fmax(best, market_value(m, x));
		while (j < m->n_jobs && ++x[j] > m->n_rounds)
			x[j++] = 0;
		if (j == m->n_jobs)
			return best;
	}
}

/* The part of what the optimum gains over no rounds at all that the solver misses. */
static double
missed(const struct market *m, double best)
{
	uint32_t x[MAX_JOBS], none[MAX_JOBS] = { 0 };
	double least = market_value(m, none);

	assert_true(market_solve(m, x));
	assert_true(used(m, x) <= m->capacity * m->n_rounds);
	for (uint32_t j = 0; j < m->n_jobs; j++)
		assert_true(x[j] <= m->n_rounds);
	assert_true(market_value(m, x) <= best + 1e-9 * (1 + fabs(best)));
	return best > least ? (best - market_value(m, x)) / (best - least) : 0;
}

static void
small_markets_are_nearly_optimal(void **state)
{
	struct rng rng;
	double sum = 0, worst = 0;
	int n_exact = 0, n = 2000;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < n; i++) {
		struct market m = random_market(&rng, 2 + i % 5, 1 + i % 4, 4 + i % 9);
		double part = missed(&m, best_of_all(&m));

		sum += part;
		worst = fmax(worst, part);
		n_exact += part < 1e-9;
	}
	print_message("small: %d of %d optimal, mean gap %.4f %%, worst %.2f %%\n",
		      n_exact, n, 100 * sum / n, 100 * worst);
	assert_true(n_exact > 0.99 * n);
	assert_true(sum / n < 1e-4);
	assert_true(worst < 0.02);
}

/* ---- A larger one, exactly: by GPUs, for each bound of the remaining time --------- */

#define WINDOW 20
#define GPUS   32
#define UNITS  (GPUS * WINDOW)

/* The best utility of all with at most 'bound_s' remaining; -INFINITY: impossible. */
static double
best_for(const struct market *m, double bound_s)
{
	static double best[UNITS + 1], next[UNITS + 1];
	struct market one = *m;

	one.cost_per_s = 0;
	one.n_jobs = 1;
	memset(best, 0, sizeof best);
	for (uint32_t j = 0; j < m->n_jobs; j++) {
		uint32_t n_gpus = (uint32_t)m->jobs[j].n_gpus;

		for (uint32_t c = 0; c <= UNITS; c++)
			next[c] = -INFINITY;
		one.jobs = &m->jobs[j];
		for (uint32_t x = 0; x <= m->n_rounds; x++) {
			double value = market_value(&one, &x) / m->n_jobs;

			if (market_left_s(m, &m->jobs[j], x) > bound_s)
				continue;
			for (uint32_t c = x * n_gpus; c <= UNITS; c++)
				next[c] = fmax(next[c], best[c - x * n_gpus] + value);
		}
		memcpy(best, next, sizeof best);
	}
	return best[UNITS];
}

static double
best_of_bounds(const struct market *m)
{
	double best = -INFINITY;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		for (uint32_t x = 0; x <= m->n_rounds; x++) {
			double bound_s = market_left_s(m, &m->jobs[j], x);

			best = fmax(best,
				    best_for(m, bound_s) - m->cost_per_s * bound_s);
		}
	return best;
}

static void
markets_of_a_cluster_are_nearly_optimal(void **state)
{
	struct rng rng;
	double sum = 0, worst = 0;
	int n = 16;

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < n; i++) {
		struct market m = random_market(&rng, 8 + 2 * i, WINDOW, GPUS);
		double part = missed(&m, best_of_bounds(&m));

		sum += part;
		worst = fmax(worst, part);
	}
	print_message("32 GPUs, 20 rounds: mean gap %.5f %%, worst %.4f %%\n",
		      100 * sum / n, 100 * worst);
	assert_true(sum / n < 1e-3);
	assert_true(worst < 0.02);
}

/* ---- Rounds ---------------------------------------------------------------------- */

static void
rounds_are_within_capacity(void **state)
{
	static bool runs[MAX_JOBS * WINDOW];
	static double priorities[MAX_JOBS];
	uint32_t x[MAX_JOBS], n_planned = 0, n_placed = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < 100; i++) {
		struct market m = random_market(&rng, 10 + i, WINDOW, GPUS);

		assert_true(market_solve(&m, x));
		for (uint32_t j = 0; j < m.n_jobs; j++)
			priorities[j] = m.jobs[j].weight;
		market_rank(&m, x, priorities, runs);
		for (uint32_t j = 0; j < m.n_jobs; j++) {
			uint32_t n = 0;

			for (uint32_t t = 0; t < WINDOW; t++)
				n += runs[j * WINDOW + t];
			assert_true(n <= x[j]);
			n_placed += n;
			n_planned += x[j];
		}
		for (uint32_t t = 0; t < WINDOW; t++) {
			double n_gpus = 0;

			for (uint32_t j = 0; j < m.n_jobs; j++)
				n_gpus += runs[j * WINDOW + t] * m.jobs[j].n_gpus;
			assert_true(n_gpus <= GPUS);
		}
	}
	print_message("%u of %u planned rounds have a place\n", n_placed, n_planned);
	assert_true(n_placed > 0.95 * n_planned);
}

/* Rounds of priority 2 and 1 on one GPU. */
static void
late_jobs_run_first(void **state)
{
	const double priorities[] = { 1, 2 };
	const uint32_t x[] = { 2, 2 };
	const struct market_job two[] = { { .n_gpus = 1 }, { .n_gpus = 1 } };
	const struct market m = {
		.jobs = two, .n_jobs = 2, .n_rounds = 4, .capacity = 1
	};
	bool runs[8];

	(void)state;
	market_rank(&m, x, priorities, runs);
	for (int t = 0; t < 4; t++) {
		assert_int_equal(runs[4 + t], t < 2);
		assert_int_equal(runs[t], t >= 2);
	}
}

static void
least_rounds_may_be_too_many(void **state)
{
	struct market_job two[] = {
		{ .n_gpus = 2, .weight = 1, .rate = 0.1, .left_s = 1200, .n_least = 3 },
		{ .n_gpus = 2, .weight = 1, .rate = 0.1, .left_s = 1200, .n_least = 1 },
	};
	const struct market m = { .jobs = two,
				  .n_jobs = 2,
				  .n_rounds = 4,
				  .capacity = 2,
				  .round_s = 120,
				  .log_floor = log(1e-6) };
	uint32_t x[2];

	(void)state;
	assert_true(market_solve(&m, x));
	assert_int_equal(x[0], 3);
	assert_int_equal(x[1], 1);
	two[1].n_least = 2;
	assert_false(market_solve(&m, x));
}

/* As on the largest cluster of the paper. */
static void
large_markets_take_little_time(void **state)
{
	static uint32_t x[MAX_JOBS];
	struct rng rng;
	struct market m;
	clock_t start;

	(void)state;
	rng_init(&rng, 4);
	m = random_market(&rng, 900, WINDOW, 256);
	start = clock();
	assert_true(market_solve(&m, x));
	print_message("900 jobs, 256 GPUs: %.3f s of CPU time\n",
		      (double)(clock() - start) / CLOCKS_PER_SEC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_markets_are_nearly_optimal),
		cmocka_unit_test(markets_of_a_cluster_are_nearly_optimal),
		cmocka_unit_test(rounds_are_within_capacity),
		cmocka_unit_test(late_jobs_run_first),
		cmocka_unit_test(least_rounds_may_be_too_many),
		cmocka_unit_test(large_markets_take_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
