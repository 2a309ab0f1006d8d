/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_path_inference.c - how many paths are inferred from counters, and how many of
 * the answers are wrong
 *
 * Jobs are scattered over 16 leaves of 8 hosts of 50 Gb/s as in bench_paths.c, with
 * hashed paths and the engine's traffic.  Counters have all the faults of
 * inference_lab.h at once.
 */
#include <stdio.h>

#include "lib/base/clk.h"
#include "tests/unit/inference_lab.h"

#define N_PLACEMENTS 10

struct row {
	const char *what;
	struct inference_view view;
};

#define FINE(n)   .bin_ms = 100, .n_parts = 10, .n_bins = (n)
#define COARSE(n) .bin_ms = 1000, .n_parts = 20, .n_bins = (n)

/* Switches count 1 % more, one job in ten does not report, one bin in 100 is missing. */
#define FAULTS .gain = 1.01, .hidden_frac = 0.1, .gap_frac = 0.01

static const struct row rows[] = {
	{ "exact", { FINE(300), .gain = 1 } },
	{ "exact", { COARSE(60), .gain = 1 } },
	{ "exact", { COARSE(300), .gain = 1 } },
	{ "faults", { FINE(50), FAULTS, .background = 0.01, .clock_frac = 0.5 } },
	{ "faults", { FINE(100), FAULTS, .background = 0.01, .clock_frac = 0.5 } },
	{ "faults", { FINE(300), FAULTS, .background = 0.01, .clock_frac = 0.5 } },
#define READ .read_ms = 1000, .clock_frac = 0.5
	{ "faults, read each second",
	  { COARSE(40), FAULTS, READ, .background = 0.01 } },
	{ "faults, read each second",
	  { COARSE(60), FAULTS, READ, .background = 0.01 } },
	{ "faults, read each second",
	  { COARSE(120), FAULTS, READ, .background = 0.01 } },
	{ "faults, read each second",
	  { COARSE(300), FAULTS, READ, .background = 0.01 } },
	{ "the same, fine bins", { FINE(300), FAULTS, READ, .background = 0.01 } },
	{ "the same, other traffic 5 %",
	  { COARSE(300), FAULTS, READ, .background = 0.05 } },
	{ "the same, 1 packet in 1000",
	  { COARSE(300), FAULTS, READ, .background = 0.01, .sampling = 1000 } },
	{ "the same, clocks 1 s off",
	  { COARSE(300), FAULTS, .read_ms = 1000, .clock_frac = 1,
	    .background = 0.01 } },
};

static void
measure(bool are_alike)
{
	enum {
		N_ROWS = sizeof rows / sizeof *rows
	};
	struct inference_score scores[N_ROWS] = { 0 };
	double seconds[N_ROWS] = { 0 };

	for (uint64_t seed = 1; seed <= N_PLACEMENTS; seed++) {
		const struct inference_lab_opts opts = { 16,  8,    8,        14,
							 305, seed, are_alike };
		struct inference_lab lab;

		inference_lab_init(&lab, &opts);
		for (size_t i = 0; i < N_ROWS; i++) {
			struct inference_view view = rows[i].view;
			int64_t from_ns;

			view.seed = seed;
			inference_lab_see(&lab, &view);
			from_ns = clk_thread_cpu_ns();
			inference_lab_score(&lab, &scores[i]);
			seconds[i] += (double)(clk_thread_cpu_ns() - from_ns) / 1e9;
		}
		inference_lab_fini(&lab);
	}
	printf("\nPaths inferred from counters: 128 hosts, 8 uplinks a leaf, %d "
	       "placements, %s\n",
	       N_PLACEMENTS,
	       are_alike ? "all jobs with a period of 200 ms" : "unlike jobs");
	printf("%-28s %8s %6s %6s %9s %6s %8s\n", "", "bin, ms", "bins", "flows",
	       "answered", "wrong", "s a run");
	for (size_t i = 0; i < N_ROWS; i++)
		printf("%-28s %8u %6u %6zu %7.1f %% %6zu %8.3f\n", rows[i].what,
		       rows[i].view.bin_ms, rows[i].view.n_bins, scores[i].n,
		       100.0 * (double)scores[i].n_known / (double)scores[i].n,
		       scores[i].n_wrong, seconds[i] / N_PLACEMENTS);
}

int
main(void)
{
	measure(false);
	measure(true);
	return 0;
}
