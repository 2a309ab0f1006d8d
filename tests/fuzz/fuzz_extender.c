/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_extender.c - kube-scheduler's requests to one extender, separated by NUL */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "scheduler/k8s/extender.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
rank_first(void *ctx, const struct extender_job *job, const char *const *offered,
	   size_t n_offered, struct extender_choice *choice, struct err *err)
{
	(void)ctx;
	(void)offered;
	(void)err;
	choice->n_chosen = job->n_nodes < n_offered ? job->n_nodes : n_offered;
	choice->chosen = xcalloc(choice->n_chosen + 1, sizeof *choice->chosen);
	for (uint32_t i = 0; i < choice->n_chosen; i++)
		choice->chosen[i] = i;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct extender *extender = extender_new(NULL, rank_first, NULL);
	char *text = xcalloc(size + 1, 1);
	int64_t now_us = 0;

	memcpy(text, data, size);
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		size_t n = strlen(text + at);
		struct strbuf out = STRBUF_EMPTY;

		now_us += 2000000;
		extender_filter(extender, text + at, n, now_us, &out, NULL);
		extender_prioritize(extender, text + at, n, now_us, &out, NULL);
		strbuf_free(&out);
	}
	free(text);
	extender_free(extender);
	return 0;
}
