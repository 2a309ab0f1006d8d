/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_flow_text.c - texts as reports of flows */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/flow_text.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct flow_rows rows, again;
	char *text = fuzz_text(data, size), *written;
	struct err err = { 0 };

	if (flow_text_parse(text, size, &rows, &err) == 0) {
		written = flow_text_write(&rows);
		if (flow_text_parse(written, strlen(written), &again, NULL) < 0 ||
		    again.rows.n != rows.rows.n)
			abort();
		free(written);
	} else if (rows.rows.n || !err.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
