/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_steer.c - the control loop against no control, on mixes of jobs for which it
 * was not designed: mean slowdown of all jobs from their first iteration on
 *
 *	unlike, ratio, near, change	steer_mix.h: 2 to 6 jobs, jitter 0.5 to 8 %,
 *					orders 5 to 100 ms under way; in some runs up to
 *					a quarter of orders and reports are lost
 *	late	the same, but a job that comes late to a link gets a third of a share:
 *		sharing costs less than the loop predicts
 *
 * "harm" is the slowdown beyond that without the loop, "noise" the difference between
 * two runs without it; prints upper percentiles of both, and the seeds with the most
 * harm.
 *
 *	bench_steer [MIXES OF A KIND]
 *	bench_steer 1 KIND SEED [late]
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "tests/unit/steer_mix.h"

#define N_MIXES    100
#define N_WORST    3
#define OTHER_SEED 1000000
#define LATE       (1.0 / 3)
#define N_TABLES   (2 * MIX_N_KINDS)

static void
play(enum mix_kind kind, uint64_t seed, bool is_late, struct mix *m)
{
	mix_make(kind, seed, m);
	m->opts.late_weight = is_late ? LATE : 0;
	mix_play(m);
}

static void
print_worst(const double *harm, size_t n)
{
	double last = INFINITY;

	for (int k = 0; k < N_WORST; k++) {
		size_t worst = n;

		for (size_t i = 0; i < n; i++)
			if (harm[i] < last && (worst == n || harm[i] > harm[worst]))
				worst = i;
		if (worst == n)
			break;
		last = harm[worst];
		printf("%s%zu", k ? "," : "  ", worst + 1);
	}
	printf("\n");
}

static void
bench(enum mix_kind kind, bool is_late, size_t n)
{
	double *harm = xcalloc(n, sizeof *harm), *noise = xcalloc(n, sizeof *noise);
	double free_sum = 0, steered_sum = 0, *sorted;

	for (size_t i = 0; i < n; i++) {
		struct mix m;

		play(kind, i + 1, is_late, &m);
		harm[i] = m.steered - m.free;
		free_sum += m.free;
		steered_sum += m.steered;
		m.opts.seed += OTHER_SEED;
		noise[i] = fabs(mix_slowdown(&m, false) - m.free);
	}
	sorted = xmemdup(harm, n, sizeof *harm);
	stats_sort(sorted, n);
	stats_sort(noise, n);
	printf("%-7s %-5s %5zu %7.4f %7.4f %8.4f %8.4f %8.4f %8.4f %8.4f %8.4f",
	       mix_names[kind], is_late ? "late" : "fair", n, free_sum / (double)n,
	       steered_sum / (double)n, stats_quantile(sorted, n, 0.5),
	       stats_quantile(sorted, n, 0.9), stats_quantile(sorted, n, 0.99),
	       sorted[n - 1], stats_quantile(noise, n, 0.9),
	       stats_quantile(noise, n, 0.99));
	print_worst(harm, n);
	fflush(stdout);
	free(sorted);
	free(noise);
	free(harm);
}

static void
show(enum mix_kind kind, uint64_t seed, bool is_late)
{
	struct mix m;

	play(kind, seed, is_late, &m);
	for (uint32_t j = 0; j < m.opts.n_jobs; j++)
		printf("job %u: %.1f + %.1f ms, %+.1f\n", j, m.jobs[j].compute_ms,
		       m.jobs[j].comm_ms, m.jobs[j].more_ms);
	printf("jitter %.2f %%, latency %.0f ms, lost %.2f\nfree %.4f, steered %.4f\n",
	       100 * m.opts.jitter_frac, (double)m.opts.steered.latency_ns / MS,
	       m.opts.steered.lost_order_frac, m.free, m.steered);
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : N_MIXES;

	if (argc > 3) {
		show((enum mix_kind)(strtoul(argv[2], NULL, 10) % MIX_N_KINDS),
		     strtoul(argv[3], NULL, 10), argc > 4);
		return 0;
	}
	printf("%-7s %-5s %5s %7s %7s %8s %8s %8s %8s %8s %8s  %s\n", "mix", "share",
	       "n", "free", "steered", "harm p50", "p90", "p99", "worst", "noise p90",
	       "p99", "worst seeds");
	for (int k = 0; k < N_TABLES && n; k++)
		bench((enum mix_kind)(k % MIX_N_KINDS), k >= MIX_N_KINDS, n);
	return 0;
}
