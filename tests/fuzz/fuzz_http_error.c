/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_error.c - bodies of errors that a server answered with */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/daemon/http_ask.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct err err = { 0 };

	http_ask_error("127.0.0.1:1", 500, text, size, &err);
	BUG_ON(!err.text[0]);
	free(text);
	return 0;
}
