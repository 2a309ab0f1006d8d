/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_redact.c - texts for 'antiphase bundle': a secret is removed, whatever is before it */
#include <stdlib.h>
#include <string.h>

#include "cli/redact.h"
#include "lib/base/strbuf.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "s3cretZvalue"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const lines[] = { "\ntoken: " SECRET "\n",
					     "\nx-password=\"" SECRET "\" y\n",
					     "\nhttp://me:" SECRET "@host/path\n" };
	struct strbuf in = STRBUF_EMPTY, out = STRBUF_EMPTY;

	if (size && memmem(data, size, SECRET, strlen(SECRET)))
		return 0;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		strbuf_clear(&in);
		strbuf_clear(&out);
		if (size)
			strbuf_add(&in, (const char *)data, size);
		strbuf_puts(&in, lines[i]);
		redact(in.text, in.length, &out);
		BUG_ON(strlen(out.text) != out.length);
		BUG_ON(strstr(out.text, SECRET) != NULL);
	}
	strbuf_free(&in);
	strbuf_free(&out);
	return 0;
}
