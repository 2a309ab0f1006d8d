/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pacer_orders.c - texts as orders for pacers */
#include <stdlib.h>

#include "collector/jobs/pacer_orders.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct orders orders;
	struct err err = { 0 };
	char *text = fuzz_text(data, size);

	if (orders_parse(&orders, text, size, INT64_C(1763650000000000000), &err) < 0 &&
	    (orders.rows.n || !err.text[0]))
		abort();
	/* An accepted order can be sent, and the pacer understands it. */
	for (size_t i = 0; i < orders.rows.n; i++) {
		const struct pace_packet packet = {
			.kind = PACE_ORDER, .order = orders.rows.items[i].order
		};
		struct pace_packet back;
		uint8_t bytes[PACE_MAX_BYTES];

		if (pace_decode(bytes, pace_encode(&packet, bytes), &back) < 0)
			abort();
	}
	free(text);
	return 0;
}
