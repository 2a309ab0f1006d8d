/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_capture_csv.c - texts as captures, then series and profiles if accepted */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/core/profile/detect.h"
#include "tests/fuzz/fuzz.h"

/* Longer parts would only make the fuzzer slow. */
#define MAX_SECONDS 0.5

static void
detect_in(const struct series_set *set)
{
	struct detection found;
	const char *why = NULL;

	if (detect_profile(set, "fuzz", "job", &found, NULL) < 0)
		return;
	if (profile_normalize(&found.profile, &why) < 0)
		BUG("%s", why);
	detection_fini(&found);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct capture *capture;
	struct series_set set;
	struct err err = { 0 };

	if (capture_csv_parse("fuzz", text, size, &capture, &err) < 0) {
		BUG_ON(!err.text[0]);
	} else {
		BUG_ON(capture_n_jobs(capture) == 0);
		for (uint32_t job = 0; job < capture_n_jobs(capture) && job < 3; job++)
			if (capture_series(capture, job, -1, MAX_SECONDS, &set, NULL) ==
			    0) {
				BUG_ON(set.n_buckets > 500);
				if (set.n_series <= 8)
					detect_in(&set);
				series_fini(&set);
			}
		capture_free(capture);
	}
	free(text);
	return 0;
}
