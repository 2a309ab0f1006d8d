/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_settle.c - how soon new jobs find their turns; settle_lab.h describes the jobs
 *
 * Runs without and with the loop, from each job's first iteration to the end.  Prints
 * the mean slowdown; with the loop over seeds the median, 90th percentile, worst, and
 * the harm against no loop; the seconds from the last job's begin (or a job's change)
 * to the first order, and until settled: from then on no 16 consecutive iterations of a
 * job take more than 1.05 of their isolated time.  An unsettled run counts with its
 * length; their number comes last.
 *
 *	bench_settle [SEEDS [FIRST_SEED]]
 *
 * With "noise", the noise of other users (settle_disturb() in settle_lab.h): pairs of
 * runs with equal seeds, without and with the loop, and a third one with turns by an
 * oracle that sees the link, which shows what there is to gain.  Prints the mean
 * slowdowns with 95 % confidence intervals, the seconds in turns, how often the loop
 * stood back and after how many seconds of turns at most, and the verdict: worse
 * than without beyond the interval of the pairs' differences; no gain, where the oracle
 * gains nothing beyond its interval; else whether half of the oracle's gain is gained.
 *
 *	bench_settle noise [PAIRS [FIRST_SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "tests/unit/settle_lab.h"

#define N_SEEDS 40
#define N_PAIRS 10
#define WINDOW  16
#define NEAR    1.05

struct outcome {
	double slowdown, shift_s, settled_s;
	bool is_settled;
};

/* ---- Results --------------------------------------------------------------------- */

/* The isolated time of the iteration, in ms. */
static double
should_ms(const struct settle *s, const struct lab_iteration *it)
{
	const struct steer_lab_job *job = &s->jobs[it->job];
	double came_ns = it->end_ns - job->comm_ms * MS;

	return job->compute_ms + job->comm_ms +
	       (job->more_ms > 0 && came_ns >= job->more_from_s * SECOND ? job->more_ms
									 : 0);
}

/* Seconds from 'from_s' until the job was settled; INFINITY: never. */
static double
judge(const struct settle *s, uint32_t j, double from_s, double *ret_slowdown)
{
	double over_ms[WINDOW] = { 0 }, begin_s[WINDOW] = { 0 }, sum_ms = 0, took = 0,
	       should = 0, settled_s = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < s->lab.lab.iterations.n; i++) {
		const struct lab_iteration *it = &s->lab.lab.iterations.items[i];
		double ms = (it->end_ns - it->start_ns) / MS;

		if (it->job != j)
			continue;
		took += ms;
		should += should_ms(s, it);
		if (it->start_ns < from_s * SECOND)
			continue;
		sum_ms -= over_ms[n % WINDOW];
		over_ms[n % WINDOW] = ms - NEAR * should_ms(s, it);
		begin_s[n % WINDOW] = it->start_ns / SECOND;
		sum_ms += over_ms[n++ % WINDOW];
		if (n < WINDOW)
			continue;
		if (sum_ms > 0)
			settled_s = INFINITY;
		else if (isinf(settled_s))
			settled_s = begin_s[n % WINDOW];
	}
	*ret_slowdown = took / should;
	return settled_s - from_s;
}

static void
play(struct settle *s, bool is_steered, struct outcome *ret_o)
{
	bool changes = s->jobs[SETTLE_N_JOBS - 1].more_ms > 0;
	double from_s = s->all_s, most_s, first_ns = INFINITY;
	struct outcome o = { .is_settled = true };

	if (changes)
		from_s = s->jobs[SETTLE_N_JOBS - 1].more_from_s;
	most_s = s->opts.seconds - from_s;
	settle_run(s, is_steered);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		struct steer_state state;
		double slowdown, settled_s = judge(s, j, from_s, &slowdown);

		steer_state(steer_sim_steer(s->lab.steered), j, &state);
		if (state.first_shift_ns)
			first_ns = fmin(first_ns, (double)state.first_shift_ns);
		o.slowdown += slowdown / SETTLE_N_JOBS;
		o.is_settled &= !isinf(settled_s);
		o.settled_s = fmax(o.settled_s, fmin(settled_s, most_s));
	}
	o.shift_s = fmin(fmax(0, first_ns / SECOND - s->all_s), s->opts.seconds);
	settle_finish(s);
	*ret_o = o;
}

static void
print_quantiles(double *values, size_t n, int digits)
{
	stats_sort(values, n);
	printf("  %*.*f %*.*f %*.*f", digits + 3, digits,
	       stats_quantile(values, n, 0.5), digits + 3, digits,
	       stats_quantile(values, n, 0.9), digits + 3, digits, values[n - 1]);
}

static void
bench(enum settle_kind kind, enum settle_marks marks, bool is_late, size_t n,
      uint64_t first_seed)
{
	double *values = xcalloc(5 * n, sizeof *values), free_sum = 0, sum = 0;
	size_t n_unsettled = 0;

	for (size_t i = 0; i < n; i++) {
		struct settle s;
		struct outcome o[2];

		for (int is_steered = 0; is_steered < 2; is_steered++) {
			settle_make(&s, kind, marks, is_late, first_seed + i);
			play(&s, is_steered, &o[is_steered]);
		}
		free_sum += o[0].slowdown;
		sum += o[1].slowdown;
		values[i] = o[1].slowdown;
		values[n + i] = o[1].slowdown - o[0].slowdown;
		values[2 * n + i] = o[1].shift_s;
		values[3 * n + i] = o[1].settled_s;
		n_unsettled += !o[1].is_settled;
	}
	printf("%-14s %-5s %-4s %3zu  %6.4f %6.4f", settle_kinds[kind].name,
	       settle_manners[marks].name, is_late ? "late" : "fair", n,
	       free_sum / (double)n, sum / (double)n);
	print_quantiles(values, n, 3);
	print_quantiles(values + n, n, 3);
	print_quantiles(values + 2 * n, n, 1);
	print_quantiles(values + 3 * n, n, 1);
	printf("  %zu\n", n_unsettled);
	fflush(stdout);
	free(values);
}

/* ---- Noise ----------------------------------------------------------------------- */

enum way {
	OBSERVE,
	ENFORCE,
	ORACLE,
	N_WAYS,
};

struct noisy {
	double slowdown; /* The mean of all jobs over the whole run. */
	double turns_s, failed_s;
	uint32_t n_failed;
};

static void
noisy_slowdown(enum settle_kind kind, enum settle_noise noise, uint64_t seed,
	       enum way way, struct noisy *ret)
{
	struct settle s;
	double sum = 0;

	settle_make(&s, kind, QUIET, false, seed);
	settle_disturb(&s, noise);
	s.has_gate = way == ORACLE;
	settle_run(&s, way == ENFORCE);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		double slowdown;

		judge(&s, j, 0, &slowdown);
		sum += slowdown / SETTLE_N_JOBS;
	}
	*ret = (struct noisy){ .slowdown = sum,
			       .turns_s = s.turns_s,
			       .failed_s = s.failed_s,
			       .n_failed = s.n_failed };
	settle_finish(&s);
}

static const char *
verdict(const double *gain, const double *possible, size_t n, bool has_oracle)
{
	double left = stats_mean(possible, n);

	if (stats_mean(gain, n) < -stats_ci95(gain, n))
		return "WORSE";
	if (!has_oracle)
		return "not worse";
	if (!(left > stats_ci95(possible, n)))
		return "not worse, nothing to gain";
	return stats_mean(gain, n) >= left / 2 ? "half gained"
					       : "not worse, less than half gained";
}

static void
print_mean(const double *x, size_t n, bool has_sign)
{
	printf(has_sign ? "  %+.3f +- %.3f" : "  %.3f +- %.3f", stats_mean(x, n),
	       stats_ci95(x, n));
}

static void
bench_noise(enum settle_kind kind, enum settle_noise noise, size_t n,
	    uint64_t first_seed)
{
	double *values = xcalloc(5 * n, sizeof *values), turns_s = 0, failed_s = 0,
	       n_failed = 0;
	double *gain = values + 3 * n, *possible = values + 4 * n;
	/* Its jobs change by waits, which the oracle's engine does not have. */
	bool has_oracle = !(settle_kinds[kind].more_frac > 0);

	for (size_t i = 0; i < n; i++) {
		for (int way = 0; way < N_WAYS; way++) {
			struct noisy run;

			if (way == ORACLE && !has_oracle)
				continue;
			noisy_slowdown(kind, noise, first_seed + i, (enum way)way,
				       &run);
			values[(size_t)way * n + i] = run.slowdown;
			turns_s += run.turns_s / (double)n;
			n_failed += (double)run.n_failed / (double)n;
			failed_s = fmax(failed_s, run.failed_s);
		}
		gain[i] = values[i] - values[n + i];
		possible[i] = has_oracle ? values[i] - values[2 * n + i] : 0;
	}
	printf("%-14s %-6s %3zu", settle_kinds[kind].name, settle_noises[noise].name,
	       n);
	for (size_t way = 0; way < N_WAYS; way++)
		if (way != ORACLE || has_oracle)
			print_mean(values + way * n, n, false);
		else
			printf("  %14s", "-");
	print_mean(gain, n, true);
	printf("  %5.1f  %3.1f %5.1f  %s\n", turns_s, n_failed, failed_s,
	       verdict(gain, possible, n, has_oracle));
	fflush(stdout);
	free(values);
}

static int
main_noise(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : N_PAIRS;
	uint64_t first_seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;

	printf("%-14s %-6s %3s  %-14s  %-14s  %-14s  %-15s  %-13s  %s\n", "jobs",
	       "noise", "n", "observe", "enforce", "oracle", "gain", "turns, max, s",
	       "verdict");
	for (int k = 0; k < N_KINDS && n; k++)
		for (int noise = 0; noise < N_NOISES; noise++)
			bench_noise((enum settle_kind)k, (enum settle_noise)noise, n,
				    first_seed);
	return 0;
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : N_SEEDS;
	uint64_t first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	if (argc > 1 && strcmp(argv[1], "noise") == 0)
		return main_noise(argc, argv);
	printf("%-14s %-5s %-4s %3s  %6s %6s  %-20s  %-20s  %-14s  %-14s  %s\n", "jobs",
	       "marks", "link", "n", "free", "with", "with: p50 p90 worst",
	       "harm: p50 p90 worst", "shift, s", "settled, s", "never");
	for (int k = 0; k < N_KINDS && n; k++)
		for (int how = 0; how < 2 * N_MARKS; how++)
			bench((enum settle_kind)k, (enum settle_marks)(how % N_MARKS),
			      how >= N_MARKS, n, first_seed);
	return 0;
}
