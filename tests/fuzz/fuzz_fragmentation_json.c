/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fragmentation_json.c - texts as answers of antiphase-scheduler */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "scheduler/core/advise/fragmentation.h"
#include "tests/fuzz/fuzz.h"

static char *
text_of(const struct fragmentation *found, size_t *ret_length)
{
	struct jsonw w;
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);

	BUG_ON(!out);
	jsonw_document(&w, out, FRAGMENTATION_SCHEMA);
	fragmentation_json_put(found, SIZE_MAX, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

/* An accepted answer is the same after writing and reading. */
static void
use(const struct fragmentation *found)
{
	struct fragmentation again;
	struct err err;
	size_t length, length_again;
	char *text = text_of(found, &length), *text_again;

	BUG_ON(fragmentation_json_parse("again", text, length, &again, &err) < 0);
	text_again = text_of(&again, &length_again);
	BUG_ON(length != length_again || memcmp(text, text_again, length) != 0);
	fragmentation_fini(&again);
	free(text);
	free(text_again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct fragmentation found;
	struct err err;

	if (fragmentation_json_parse("fuzz", text, size, &found, &err) == 0) {
		use(&found);
		fragmentation_fini(&found);
	}
	free(text);
	return 0;
}
