/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_solver.c - CPU time of exact shifts on one core
 *
 *	pair    two jobs of n segments each on one link
 *	link    eight jobs on one link, and their gap to the best known solution
 *	joint   many jobs on many links with loops: from scratch, and after one more job
 *	        has arrived
 *
 * Every figure is computed in the run; instances depend on the seeds only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/pair.h"

#define CAPACITY_BPS 100e9

/* A profile of 'n' phases of varying length and rate that fill 'duty' of it. */
static void
make_profile(struct rng *rng, int64_t period_us, size_t n, double duty, double max_bps,
	     struct profile *ret_profile)
{
	struct profile *profile = ret_profile;
	int64_t slot_us = period_us / (int64_t)n;

	memset(profile, 0, sizeof *profile);
	profile->period_us = period_us;
	profile->n_phases = n;
	profile->phases = xcalloc(n, sizeof *profile->phases);
	for (size_t i = 0; i < n; i++) {
		struct profile_phase *phase = &profile->phases[i];
		double part = duty * (0.5 + rng_uniform(rng));

		phase->duration_us = (int64_t)((double)slot_us * fmin(part, 0.95)) + 1;
		phase->start_us =
			(int64_t)i * slot_us +
			(int64_t)rng_below(rng,
					   (uint64_t)(slot_us - phase->duration_us));
		phase->rate_bps = max_bps * (0.3 + 0.7 * rng_uniform(rng));
	}
}

/* ---- Pair --------------------------------------------------------------------- */

static void
bench_pair(size_t n, int64_t ta_us, int64_t tb_us)
{
	enum {
		N_PAIRS = 50,
		N_REPEATS = 40
	};
	struct profile a[N_PAIRS], b[N_PAIRS];
	struct pair_optimum best;
	struct rng rng;
	double sum = 0;
	int64_t start_ns;

	rng_init(&rng, n);
	for (int i = 0; i < N_PAIRS; i++) {
		make_profile(&rng, ta_us, n, 0.5, CAPACITY_BPS, &a[i]);
		make_profile(&rng, tb_us, n, 0.5, CAPACITY_BPS, &b[i]);
	}
	start_ns = clk_cpu_ns();
	for (int k = 0; k < N_REPEATS; k++) {
		for (int i = 0; i < N_PAIRS; i++) {
			struct pair_job ja = { &a[i], 1 }, jb = { &b[i], 1 };

			if (pair_optimize(&ja, &jb, CAPACITY_BPS, &best) == 0)
				sum += best.score;
		}
	}
	printf("pair    %2zu x %2zu segments  T %.3f / %.3f ms  %7.2f us   mean score %.4f\n",
	       n, n, (double)ta_us / 1e3, (double)tb_us / 1e3,
	       (double)(clk_cpu_ns() - start_ns) / 1e3 / (N_PAIRS * N_REPEATS),
	       sum / (N_PAIRS * N_REPEATS));
	for (int i = 0; i < N_PAIRS; i++) {
		free(a[i].phases);
		free(b[i].phases);
	}
}

/* ---- One link ------------------------------------------------------------------ */

struct instance {
	struct joint_problem problem;
	struct profile *profiles;
	const struct profile **pointers;
	struct joint_link *links;
	struct joint_load *loads;
};

static void
instance_new(struct instance *in, size_t n_jobs, size_t n_links, size_t n_loads)
{
	in->profiles = xcalloc(n_jobs, sizeof *in->profiles);
	in->pointers = xcalloc(n_jobs, sizeof *in->pointers);
	in->links = xcalloc(n_links, sizeof *in->links);
	in->loads = xcalloc(n_loads, sizeof *in->loads);
	for (size_t j = 0; j < n_jobs; j++)
		in->pointers[j] = &in->profiles[j];
	in->problem = (struct joint_problem){ n_jobs, in->pointers, n_links, in->links,
					      in->loads };
}

static void
instance_free(struct instance *in)
{
	for (size_t j = 0; j < in->problem.n_jobs; j++)
		free(in->profiles[j].phases);
	free(in->profiles);
	free(in->pointers);
	free(in->links);
	free(in->loads);
}

/* 'n_jobs' jobs on one link; harmonic: of periods T and T/2. */
static void
make_link(uint64_t seed, size_t n_jobs, size_t n_phases, bool is_harmonic, double duty,
	  struct instance *in)
{
	struct rng rng;

	rng_init(&rng, seed);
	instance_new(in, n_jobs, 1, n_jobs);
	in->links[0] = (struct joint_link){ 0, 0, (uint32_t)n_jobs, CAPACITY_BPS, 1 };
	for (uint32_t j = 0; j < n_jobs; j++) {
		int64_t period_us = is_harmonic && rng_below(&rng, 2) ? 120000 : 240000;

		make_profile(&rng, period_us, n_phases, duty, 0.8 * CAPACITY_BPS,
			     &in->profiles[j]);
		in->loads[j] = (struct joint_load){ j, 1 };
	}
}

/*
 * The gap in the score 1 - E/C, and in the sum of the excesses E, to the best of three
 * searches from other seeds with fifty times the effort.
 */
static void
bench_link(size_t n_jobs, size_t n_phases, bool is_harmonic, double duty)
{
	enum {
		N_LINKS = 10
	};

	double ms[N_LINKS], score_gap[N_LINKS], ours[N_LINKS], excess[N_LINKS];

	for (int i = 0; i < N_LINKS; i++) {
		struct joint_opts opts = { .seed = 1 };
		struct joint_result *result;
		struct instance in;
		double best, cost;
		int64_t start_ns;

		make_link((uint64_t)i, n_jobs, n_phases, is_harmonic, duty, &in);
		start_ns = clk_cpu_ns();
		result = joint_solve(&in.problem, &opts);
		ms[i] = (double)(clk_cpu_ns() - start_ns) / 1e6;
		cost = best = result->objective_after;
		joint_result_free(result);
		opts.n_restarts = 400;
		for (opts.seed = 2; opts.seed < 5; opts.seed++) {
			result = joint_solve(&in.problem, &opts);
			best = fmin(best, result->objective_after);
			joint_result_free(result);
		}
		excess[i] = best;
		score_gap[i] = (cost - best) / (1 - best);
		ours[i] = cost;
		instance_free(&in);
	}
	stats_sort(ms, N_LINKS);
	stats_sort(score_gap, N_LINKS);
	printf("link    %2zu jobs of %2zu segments, %s, duty %.2f: %5.2f ms (worst %5.2f)  best "
	       "E/C %.3f  below best score %.2f %% (worst %.2f %%)  above best E, all together, %.1f "
	       "%%\n",
	       n_jobs, n_phases, is_harmonic ? "T and T/2" : "equal T  ", duty,
	       stats_mean(ms, N_LINKS), ms[N_LINKS - 1], stats_mean(excess, N_LINKS),
	       100 * stats_mean(score_gap, N_LINKS), 100 * score_gap[N_LINKS - 1],
	       100 * (stats_mean(ours, N_LINKS) / stats_mean(excess, N_LINKS) - 1));
}

/* ---- The joint problem ----------------------------------------------------------- */

/*
 * Jobs of 1 or 2 phases on links of a fabric.  Each link carries 2 to 4 jobs of a
 * neighborhood of the fabric, so that there are loops of all lengths.  Three quarters
 * of the jobs have one of four related periods, the rest any.
 */
static void
make_joint(uint64_t seed, size_t n_jobs, size_t n_links, struct instance *in)
{
	static const int64_t periods_us[] = { 120000, 180000, 240000, 360000 };
	size_t n_loads = 0;
	struct rng rng;

	rng_init(&rng, seed);
	instance_new(in, n_jobs, n_links, 4 * n_links);
	for (size_t j = 0; j < n_jobs; j++) {
		int64_t period_us = rng_below(&rng, 4) > 0
					    ? periods_us[rng_below(&rng, 4)]
					    : 100000 + (int64_t)rng_below(&rng, 400000);

		make_profile(&rng, period_us, 1 + rng_below(&rng, 2),
			     0.1 + 0.25 * rng_uniform(&rng), CAPACITY_BPS,
			     &in->profiles[j]);
	}
	for (size_t l = 0; l < n_links; l++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 3);
		uint32_t near = (uint32_t)(l * n_jobs / n_links);
		uint32_t first = (uint32_t)n_loads;

		while (n_loads - first < n) {
			uint32_t j = (near + (uint32_t)rng_below(&rng, 12)) %
				     (uint32_t)n_jobs;
			bool is_there = false;

			for (size_t i = first; i < n_loads; i++)
				is_there |= in->loads[i].job == j;
			if (!is_there)
				in->loads[n_loads++] =
					(struct joint_load){ j,
							     0.5 + rng_uniform(&rng) };
		}
		in->links[l] =
			(struct joint_link){ (uint32_t)l, first, n, CAPACITY_BPS, 1 };
	}
}

/*
 * The new job and all jobs that share a link with it may move; the excess of its links
 * must be computed again.
 */
static void
arrive(const struct joint_problem *problem, uint32_t job, bool *movable,
       double *excess_bps)
{
	memset(movable, 0, problem->n_jobs * sizeof *movable);
	for (size_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		const struct joint_load *loads = &problem->loads[link->first_load];
		bool is_on = false;

		for (uint32_t i = 0; i < link->n_loads; i++)
			is_on |= loads[i].job == job;
		for (uint32_t i = 0; i < link->n_loads && is_on; i++)
			movable[loads[i].job] = true;
		if (is_on)
			excess_bps[l] = NAN;
	}
}

static void
bench_joint(size_t n_jobs, size_t n_links)
{
	enum {
		N_ARRIVALS = 10
	};
	struct joint_opts opts = { .seed = 1 };
	struct joint_result *cold, *warm;
	bool *movable = xcalloc(n_jobs, sizeof *movable);
	double *excess_bps;
	double arrival_ms = 0, worst_ms = 0, arrived_at = 0;
	size_t n_loop = 0;
	struct instance in;
	int64_t start_ns;
	double cold_s;

	make_joint(7, n_jobs, n_links, &in);
	start_ns = clk_cpu_ns();
	cold = joint_solve(&in.problem, &opts);
	cold_s = (double)(clk_cpu_ns() - start_ns) / 1e9;
	for (size_t j = 0; j < n_jobs; j++)
		n_loop += cold->method[j] == JOINT_LOOP;
	printf("joint   %5zu jobs on %5zu links, %zu in loops: cold %.3f s, "
	       "excess %.4f -> %.4f C a link",
	       n_jobs, n_links, n_loop, cold_s,
	       cold->objective_before / (double)n_links,
	       cold->objective_after / (double)n_links);
	for (uint32_t i = 0; i < N_ARRIVALS; i++) {
		/* The new job starts with shift 0. */
		uint32_t job = (uint32_t)(i * n_jobs / N_ARRIVALS);
		int64_t before_us = cold->shift_us[job];
		double ms;

		cold->shift_us[job] = 0;
		opts.start_shifts_us = cold->shift_us;
		opts.movable = movable;
		excess_bps =
			xmemdup(cold->excess_after_bps, n_links, sizeof *excess_bps);
		arrive(&in.problem, job, movable, excess_bps);
		opts.start_excess_bps = excess_bps;
		start_ns = clk_cpu_ns();
		warm = joint_solve(&in.problem, &opts);
		ms = (double)(clk_cpu_ns() - start_ns) / 1e6;
		arrival_ms += ms / N_ARRIVALS;
		arrived_at += warm->objective_after / (double)n_links / N_ARRIVALS;
		worst_ms = fmax(worst_ms, ms);
		joint_result_free(warm);
		free(excess_bps);
		cold->shift_us[job] = before_us;
	}
	printf("; after an arrival mean %.2f ms, worst %.2f ms, at %.4f\n", arrival_ms,
	       worst_ms, arrived_at);
	joint_result_free(cold);
	free(movable);
	instance_free(&in);
}

int
main(void)
{
	for (size_t n = 3; n <= 24; n *= 2)
		bench_pair(n, 100000, 100000);
	bench_pair(12, 101003, 103017);
	bench_pair(12, 120000, 180000);
	bench_link(3, 3, false, 0.4);
	bench_link(8, 1, false, 0.2);
	bench_link(8, 2, false, 0.2);
	bench_link(8, 3, false, 0.2);
	bench_link(8, 3, true, 0.2);
	bench_link(8, 3, false, 0.25);
	bench_link(8, 6, false, 0.2);
	bench_link(8, 12, false, 0.2);
	bench_link(8, 12, true, 0.2);
	bench_joint(100, 400);
	bench_joint(300, 1200);
	bench_joint(1000, 4000);
	bench_joint(3000, 12000);
	return 0;
}
