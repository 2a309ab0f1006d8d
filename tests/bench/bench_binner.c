/* SPDX-License-Identifier: Apache-2.0 */
/* bench_binner.c - CPU time of the binner per bin and per second's frames */
#include <stdio.h>

#include "collector/series/binner.h"
#include "lib/base/clk.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"

#define INTERFACES 16
#define JOBS       16
#define SECONDS    60
#define MS         INT64_C(1000000)

static void
report(const char *what, int64_t start_ns, double n)
{
	int64_t took_ns = clk_cpu_ns() - start_ns;

	printf("binner: %-44s %8.2f ns each, %.3f %% of a core\n", what,
	       (double)took_ns / n, (double)took_ns / (SECONDS * 1e9) * 100);
}

/* Readings of every interface each 'step_ms', in both directions. */
static void
bench_counters(int64_t step_ms)
{
	struct binner *binner = binner_new();
	int64_t start_ns = clk_cpu_ns();
	char what[64];

	for (int64_t ms = 0; ms < SECONDS * 1000; ms += step_ms)
		for (uint32_t i = 0; i < INTERFACES * 2; i++)
			binner_counter(
				binner,
				&(struct source_key){ i / 2, TELE_LINK,
						      (uint8_t)(i % 2), TELE_WIRE },
				ms * MS + i * 1000, (uint64_t)ms * 12500, 64, NULL);
	snprintf(what, sizeof what, "bin of a counter read each %lld ms, 16 interfaces",
		 (long long)step_ms);
	report(what, start_ns, SECONDS * 1000.0 * INTERFACES * 2);
	binner_free(binner);
}

/* Cost of 100 ms of bins and of a second's frames, with 16 jobs on each interface. */
static void
bench_bins(void)
{
	struct binner *binner = binner_new();
	struct tele_frame frame = { 0 };
	int64_t start_ns = clk_cpu_ns(), frames_ns = 0;
	uint32_t bytes[100];

	for (size_t i = 0; i < 100; i++)
		bytes[i] = i % 4 ? 12500 : 0;
	for (int64_t ms = 0; ms < SECONDS * 1000; ms += 100) {
		for (uint32_t i = 0; i < INTERFACES; i++) {
			for (uint32_t job = 0; job < JOBS; job++)
				binner_bins(binner,
					    &(struct source_key){ i, job, TELE_TX,
								  TELE_WIRE },
					    ms, bytes, 100, NULL);
			binner_complete(binner, i, ms + 100);
		}
		if (ms % 1000 == 900) {
			int64_t begin_ns = clk_cpu_ns();

			frame.traffic.n = frame.series.n = frame.bins.n = 0;
			binner_summary(binner, ms - 900, ms + 100, &frame);
			binner_raw(binner, ms - 900, ms + 100, &frame);
			frames_ns += clk_cpu_ns() - begin_ns;
		}
	}
	report("bin of bins, 16 interfaces x 16 jobs", start_ns + frames_ns,
	       SECONDS * 1000.0 * INTERFACES * JOBS);
	report("bin of a summary and a raw frame, the same", clk_cpu_ns() - frames_ns,
	       SECONDS * 1000.0 * INTERFACES * JOBS);
	vec_free(&frame.traffic);
	vec_free(&frame.series);
	vec_free(&frame.bins);
	binner_free(binner);
}

int
main(void)
{
	bench_counters(1);
	bench_counters(10);
	bench_bins();
	return 0;
}
