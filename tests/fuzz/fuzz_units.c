/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_units.c - texts for units.h; accepted values are finite and not negative */
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/units.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	double value;
	int64_t ns;
	int n_meanings = 0;

	if (units_parse_ns(text, &ns) == 0) {
		n_meanings++;
		BUG_ON(ns < 0);
	}
	if (units_parse_bytes(text, &value) == 0) {
		n_meanings++;
		BUG_ON(!isfinite(value) || value < 0);
	}
	if (units_parse_bps(text, &value) == 0) {
		n_meanings++;
		BUG_ON(!isfinite(value) || value < 0);
	}
	if (units_parse_frac(text, &value) == 0) {
		n_meanings++;
		BUG_ON(!isfinite(value) || value < 0);
	}
	/* No unit is ambiguous. */
	BUG_ON(n_meanings > 1);
	free(text);
	return 0;
}
