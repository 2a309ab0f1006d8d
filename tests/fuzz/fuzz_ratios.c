/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ratios.c - texts as merged sweeps, compared with a baseline */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "sim/sweep/ratios.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const base[] = { "policy=none" };
	static const char *const metrics[] = { "summary.slowdown_mean", "mean_s" };
	char *text = fuzz_text(data, size);
	struct ratios ratios = { 0 };
	struct json_doc *doc = NULL;
	struct err err = { 0 };

	if (json_parse("fuzz", text, size, &doc, &err) == 0 &&
	    ratios_make(doc, base, 1, metrics, 2, &ratios, &err) < 0)
		BUG_ON(!err.text[0]);
	ratios_fini(&ratios);
	json_doc_free(doc);
	free(text);
	return 0;
}
