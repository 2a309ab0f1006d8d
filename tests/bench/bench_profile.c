/* SPDX-License-Identifier: Apache-2.0 */
/* bench_profile.c - CPU time of 'antiphase profile' by step: unpack, parse, windows */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/core/profile/detect.h"

#define CAPTURE  "examples/mpi-4rank-16MB.csv.xz"
#define WINDOW_S 10.0
#define STEP_S   0.5

static double
ms_since(int64_t start_ns)
{
	return (double)(clk_cpu_ns() - start_ns) / 1e6;
}

/* Slides a window over the capture; prints the mean time per window. */
static void
bench_windows(const struct capture *capture)
{
	double series_ms = 0, detect_ms = 0;
	unsigned n = 0;

	for (double from_s = 0; from_s < 19; from_s += STEP_S, n++) {
		int64_t start_ns = clk_cpu_ns();
		struct series_set set;
		struct detection found;

		if (capture_series(capture, 0, from_s, WINDOW_S, &set, NULL) < 0)
			return;
		series_ms += ms_since(start_ns);
		start_ns = clk_cpu_ns();
		if (detect_profile(&set, CAPTURE, "1", &found, NULL) == 0)
			detection_fini(&found);
		detect_ms += ms_since(start_ns);
		series_fini(&set);
	}
	printf("profile: window of 10 s, 8 series      %8.2f ms (series %.2f, detection "
	       "%.2f; mean of %u)\n",
	       (series_ms + detect_ms) / n, series_ms / n, detect_ms / n, n);
}

int
main(void)
{
	int64_t start_ns = clk_cpu_ns();
	struct capture *capture;
	struct err err;
	size_t length;
	char *text;

	if (file_read(CAPTURE, CAPTURE_CSV_MAX_BYTES, &text, &length, &err) < 0) {
		err_print(&err, stderr);
		return 1;
	}
	printf("profile: unpack %.1f MB of CSV          %8.2f ms\n",
	       (double)length / 1e6, ms_since(start_ns));
	start_ns = clk_cpu_ns();
	if (capture_csv_parse(CAPTURE, text, length, &capture, &err) < 0) {
		err_print(&err, stderr);
		return 1;
	}
	printf("profile: parse it (145,980 rows)        %8.2f ms\n",
	       ms_since(start_ns));
	bench_windows(capture);
	capture_free(capture);
	free(text);
	return 0;
}
