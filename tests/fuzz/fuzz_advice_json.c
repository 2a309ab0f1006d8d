/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_advice_json.c - texts as advice files */
#include <stdlib.h>
#include <string.h>

#include "cli/advice_prose.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"
#include "tests/fuzz/fuzz.h"

/* Accepted advice is explained, and is the same after writing and reading. */
static void
use(const struct advice_doc *doc)
{
	struct strbuf prose = STRBUF_EMPTY;
	struct advice_doc again;
	struct err err;
	size_t length, length_again;
	char *text = advice_json_text(doc, &length), *text_again;

	advice_prose_all(doc, &prose);
	for (size_t j = 0; j < doc->n_jobs && j < 16; j++)
		advice_prose_job(doc, &doc->jobs[j], &prose);
	for (size_t i = 0; i < doc->n_links && i < 16; i++)
		advice_prose_link(doc, &doc->links[i], &prose);
	strbuf_free(&prose);
	BUG_ON(advice_json_parse("again", text, length, &again, &err) < 0);
	text_again = advice_json_text(&again, &length_again);
	BUG_ON(length != length_again || memcmp(text, text_again, length) != 0);
	advice_doc_fini(&again);
	free(text);
	free(text_again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct advice_doc doc;
	struct err err;

	if (advice_json_parse("fuzz", text, size, &doc, &err) == 0) {
		use(&doc);
		advice_doc_fini(&doc);
	}
	free(text);
	return 0;
}
