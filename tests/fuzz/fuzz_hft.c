/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hft.c - texts as high-frequency telemetry: accepted, or refused with a reason */
#include <stdlib.h>

#include "collector/import/hft.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct err err = { 0 };
	struct hft hft;

	if (hft_parse("fuzz", text, size, HFT_AUTO, &hft, &err) < 0) {
		BUG_ON(!err.text[0]);
	} else {
		BUG_ON(hft.samples.n == 0 || hft.ports.n == 0);
		for (size_t i = 0; i < hft.samples.n; i++)
			BUG_ON(hft.samples.items[i].port >= hft.ports.n);
		hft_fini(&hft);
	}
	free(text);
	return 0;
}
