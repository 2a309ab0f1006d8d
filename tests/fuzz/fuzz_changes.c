/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_changes.c - texts as answers of antiphase-scheduler with its changes */
#include "cli/changes.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct changes_filter filters[] = {
		{ .n_max = CHANGES_MAX_LINES },
		{ .n_max = 2, .job = "4711", .last_us = 1000000 },
	};
	static struct memory_file memory;

	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		struct changes changes;
		struct err err = { 0 };
		int status = changes_read(memory_file_set(&memory, data, size),
					  &filters[i], &changes, &err);

		BUG_ON(status != 0 && !err.text[0]);
		BUG_ON(status == 0 && changes.lines.n > filters[i].n_max);
		changes_fini(&changes);
	}
	return 0;
}
