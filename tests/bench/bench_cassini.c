/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_cassini.c - CASSINI's grid against the exact optimum, two jobs on a link
 *
 * For random pairs in five classes of periods: the mean excess (in units of the
 * capacity) at random phases, at the exact optimum, and at the rotation chosen from
 * CASSINI's 72 angles, all evaluated exactly; the share of pairs without excess; and
 * the CPU time of each.
 */
#include <stdio.h>

#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "scheduler/core/cassini/circle.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/pair.h"

#define N_PAIRS 4000
#define C_BPS   50e9
#define NONE    1e-9 /* Of the capacity. */

struct job {
	struct profile_phase phases[2];
	struct profile profile;
};

struct rollout {
	const char *name;
	void (*draw)(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us);
};

static void
draw_equal(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us)
{
	*ret_a_us = *ret_b_us = 1000 * (100 + (int64_t)rng_below(rng, 301));
}

static void
draw_double(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us)
{
	*ret_a_us = 1000 * (100 + (int64_t)rng_below(rng, 301));
	*ret_b_us = 2 * *ret_a_us;
}

static void
draw_tens(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us)
{
	*ret_a_us = 10000 * (10 + (int64_t)rng_below(rng, 31));
	*ret_b_us = 10000 * (10 + (int64_t)rng_below(rng, 31));
}

static void
draw_ones(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us)
{
	*ret_a_us = 1000 * (100 + (int64_t)rng_below(rng, 301));
	*ret_b_us = 1000 * (100 + (int64_t)rng_below(rng, 301));
}

static void
draw_any(struct rng *rng, int64_t *ret_a_us, int64_t *ret_b_us)
{
	*ret_a_us = 100 * (1000 + (int64_t)rng_below(rng, 3001));
	*ret_b_us = 100 * (1000 + (int64_t)rng_below(rng, 3001));
}

/*
 * One or two bursts of 70 to 100 % of C that take 15 to 45 % of the time.  They start
 * anywhere: a first burst at time 0 would always be at a grid angle, unlike real jobs.
 */
static void
draw_job(struct rng *rng, int64_t period_us, struct job *job)
{
	size_t n = 1 + rng_below(rng, 2);
	double duty = 0.15 + 0.3 * rng_uniform(rng);
	int64_t up_us = (int64_t)(duty * (double)period_us / (double)n);
	int64_t free_us = period_us - (int64_t)n * up_us;
	int64_t from_us = (int64_t)rng_below(rng, (uint64_t)free_us);

	for (size_t i = 0; i < n; i++) {
		job->phases[i] = (struct profile_phase){
			from_us, up_us, (0.7 + 0.3 * rng_uniform(rng)) * C_BPS
		};
		free_us = period_us - from_us - 2 * up_us;
		from_us +=
			up_us + 1 +
			(int64_t)rng_below(rng, (uint64_t)(free_us > 1 ? free_us : 1));
	}
	job->profile = (struct profile){ .period_us = period_us,
					 .n_phases = n,
					 .phases = job->phases };
}

static double
cassini_excess_bps(const struct pair_job *a, const struct pair_job *b)
{
	const struct circle_job jobs[2] = { { a->profile, 1 }, { b->profile, 1 } };
	struct circle circle;
	unsigned turns[2];
	int64_t shift_us[2];

	circle_init(&circle, jobs, 2, C_BPS);
	circle_solve(&circle, 1, 0, turns);
	for (size_t j = 0; j < 2; j++)
		shift_us[j] = circle_ticks_to_us(
			circle_shift_ticks(&circle.rings[j], turns[j]),
			jobs[j].profile->period_us);
	circle_fini(&circle);
	return pair_excess_bps(a, b, shift_us[1] - shift_us[0], C_BPS);
}

static void
measure(const struct rollout *regime)
{
	double chance = 0, exact = 0, grid = 0;
	int exact_none = 0, grid_none = 0;
	int64_t exact_ns = 0, grid_ns = 0;
	struct rng rng;

	rng_init(&rng, 1);
	for (int i = 0; i < N_PAIRS; i++) {
		struct job jobs[2];
		const struct pair_job a = { &jobs[0].profile, 1 };
		const struct pair_job b = { &jobs[1].profile, 1 };
		struct pair_optimum optimum;
		int64_t a_us, b_us, t0_ns, t1_ns;
		double left;

		regime->draw(&rng, &a_us, &b_us);
		draw_job(&rng, a_us, &jobs[0]);
		draw_job(&rng, b_us, &jobs[1]);

		t0_ns = clk_cpu_ns();
		pair_optimize(&a, &b, C_BPS, &optimum);
		t1_ns = clk_cpu_ns();
		left = cassini_excess_bps(&a, &b) / C_BPS;
		grid_ns += clk_cpu_ns() - t1_ns;
		exact_ns += t1_ns - t0_ns;

		chance += optimum.mean_excess_bps / C_BPS;
		exact += optimum.min_excess_bps / C_BPS;
		grid += left;
		exact_none += optimum.min_excess_bps < NONE * C_BPS;
		grid_none += left < NONE;
	}
	printf("  %-20s %8.4f %8.4f %3d %% %8.4f %3d %% %9.1f %9.1f\n", regime->name,
	       chance / N_PAIRS, exact / N_PAIRS, 100 * exact_none / N_PAIRS,
	       grid / N_PAIRS, 100 * grid_none / N_PAIRS,
	       (double)exact_ns / N_PAIRS / 1e3, (double)grid_ns / N_PAIRS / 1e3);
}

/* CPU time of one link's circle for 'n' jobs of equal periods. */
static void
time_link(size_t n)
{
	struct circle_job on_circle[16];
	struct job jobs[16];
	unsigned turns[16];
	struct rng rng;
	int64_t ns = 0;
	double score = 0;
	int n_rounds = 20;

	rng_init(&rng, n);
	for (int i = 0; i < n_rounds; i++) {
		struct circle circle;
		int64_t t0_ns;

		for (size_t j = 0; j < n; j++) {
			draw_job(&rng, 255000, &jobs[j]);
			on_circle[j] = (struct circle_job){ &jobs[j].profile, 1 };
		}
		t0_ns = clk_cpu_ns();
		circle_init(&circle, on_circle, n, C_BPS);
		score += circle_solve(&circle, 1, 8, turns);
		ns += clk_cpu_ns() - t0_ns;
		circle_fini(&circle);
	}
	printf("  %2zu jobs: %9.1f us, mean score %.4f\n", n,
	       (double)ns / n_rounds / 1e3, score / n_rounds);
}

int
main(void)
{
	static const struct rollout regimes[] = {
		{ "equal periods", draw_equal },     { "T2 = 2 T1", draw_double },
		{ "multiples of 10 ms", draw_tens }, { "multiples of 1 ms", draw_ones },
		{ "multiples of 0.1 ms", draw_any },
	};

	printf("two jobs on a link, mean excess / C over %d pairs (share with none)\n",
	       N_PAIRS);
	printf("  %-20s %8s %8s %5s %8s %5s %9s %9s\n", "periods", "chance", "exact",
	       "", "CASSINI", "", "exact us", "grid us");
	for (size_t i = 0; i < sizeof regimes / sizeof *regimes; i++)
		measure(&regimes[i]);

	printf("one link's circle, equal periods\n");
	for (size_t n = 2; n <= 16; n = n < 4 ? n + 1 : n * 2)
		time_link(n);
	return 0;
}
