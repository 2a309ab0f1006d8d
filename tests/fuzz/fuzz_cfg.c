/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cfg.c - texts for cfg.h; entries must come in line order */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"

static int
entry(void *ctx, const struct cfg_entry *e, struct err *err)
{
	unsigned *line = ctx;

	(void)err;
	BUG_ON(e->line <= *line);
	*line = e->line;
	BUG_ON(!e->section || strchr(e->section, '\n'));
	BUG_ON(!e->key != !e->value);
	if (e->key)
		BUG_ON(!*e->key || strchr(e->key, '\n') || strchr(e->value, '\n'));
	else
		BUG_ON(!*e->section);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	unsigned line = 0;

	if (cfg_parse("fuzz", (const char *)data, size, entry, &line, &err) < 0)
		BUG_ON(err.line < line || err.line > size + 1);
	return 0;
}
