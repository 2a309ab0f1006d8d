/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hostlist.c - texts for hostlist.h; folding and expanding are inverse */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "tests/fuzz/fuzz.h"

#define MAX_NAMES 500

struct names {
	VEC(char *) list;
	size_t n_seen;
};

static int
keep(void *ctx, const char *name)
{
	struct names *names = ctx;

	BUG_ON(!*name || strlen(name) > HOSTLIST_MAX_NAME);
	vec_push(&names->list, xstrdup(name));
	return 0;
}

static int
compare(void *ctx, const char *name)
{
	struct names *names = ctx;

	BUG_ON(names->n_seen == names->list.n);
	BUG_ON(strcmp(names->list.items[names->n_seen], name) != 0);
	names->n_seen++;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names names = { .list = VEC_EMPTY };
	char *text = fuzz_text(data, size);
	struct strbuf folded = STRBUF_EMPTY;
	const char *why = NULL;
	int result = hostlist_expand(text, MAX_NAMES, keep, &names, &why);

	BUG_ON(result && (!why || (result != -EINVAL && result != -E2BIG)));
	BUG_ON(names.list.n > MAX_NAMES);
	if (names.list.n) {
		hostlist_fold((const char *const *)names.list.items, names.list.n,
			      &folded);
		BUG_ON(hostlist_expand(folded.text, MAX_NAMES, compare, &names, &why));
		BUG_ON(names.n_seen != names.list.n);
	}
	strbuf_free(&folded);
	for (size_t i = 0; i < names.list.n; i++)
		free(names.list.items[i]);
	vec_free(&names.list);
	free(text);
	return 0;
}
