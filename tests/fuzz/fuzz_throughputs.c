/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_throughputs.c - texts as tables of throughput: every speed is possible */
#include <math.h>

#include "lib/base/err.h"
#include "sim/replay/throughputs.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file memory;
	struct throughputs *speeds = NULL;
	struct err err = { 0 };
	uint32_t type, key;

	if (throughputs_load(memory_file_set(&memory, data, size), &speeds, &err) < 0) {
		BUG_ON(speeds || !err.text[0]);
		return 0;
	}
	type = throughputs_type(speeds, "v100");
	key = throughputs_key(speeds, "ResNet-18", 16, 2);
	BUG_ON(throughputs_of(speeds, THROUGHPUTS_NONE, key) > 0);
	BUG_ON(throughputs_of(speeds, type, THROUGHPUTS_NONE) > 0);
	for (uint32_t t = 0; t < 4; t++)
		for (uint32_t k = 0; k < 8; k++) {
			double steps_s = throughputs_of(speeds, t, k);

			BUG_ON(!(steps_s >= 0) || !isfinite(steps_s));
		}
	throughputs_free(speeds);
	return 0;
}
