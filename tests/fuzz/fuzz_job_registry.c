/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job_registry.c - texts as files of registered jobs, the same after writing */
#include <stdlib.h>
#include <string.h>

#include "collector/jobs/registry_lines.h"
#include "lib/base/strbuf.h"
#include "tests/fuzz/fuzz.h"

struct found {
	struct strbuf text; /* The jobs, written again. */
	size_t n, n_bad;
};

static bool
take(void *ctx, const char *name, const char *path)
{
	struct found *found = ctx;

	if (!name) {
		found->n_bad++;
		return false;
	}
	BUG_ON(!*name || !*path);
	found->n++;
	registry_lines_add(&found->text, name, path);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct found found = { .text = STRBUF_EMPTY }, again = { .text = STRBUF_EMPTY };
	char *text = fuzz_text(data, size);
	size_t n_bad = registry_lines_read(text, take, &found);
	char *written = xstrndup(found.text.text, found.text.length);

	/* And the rest of a line. */
	BUG_ON(n_bad != found.n_bad && n_bad != found.n_bad + 1);
	BUG_ON(registry_lines_read(written, take, &again) != 0 || again.n != found.n);
	BUG_ON(again.text.length != found.text.length ||
	       memcmp(again.text.text, found.text.text, found.text.length) != 0);
	strbuf_free(&found.text);
	strbuf_free(&again.text);
	free(written);
	free(text);
	return 0;
}
