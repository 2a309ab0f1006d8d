/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pod_report.c - lists of pods from an API server, separated by NUL */
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/k8s/pod_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
may_annotate(void *ctx, const char *namespace)
{
	(void)ctx;
	return *namespace != 'w';
}

static bool
advice_of(void *ctx, const char *job, struct pod_report_advice *ret_advice)
{
	const struct pod_report_view *view = ctx;

	*ret_advice = (struct pod_report_advice){ .shift_us = view->now_us / 7,
						  .slack_us = 100,
						  .pacing = "realign" };
	return strlen(job) % 3 != 0;
}

static bool
is_plain(char c)
{
	return c > ' ' && c <= '~' && !strchr("?#%\\", c);
}

/* Only pods are patched, through a path that leads nowhere else. */
static void
check(const struct pod_report_round *round)
{
	for (size_t i = 0; i < round->patches.n; i++) {
		const char *path = round->patches.items[i].path;
		size_t n_slashes = 0;

		for (const char *c = path; *c; c++) {
			n_slashes += *c == '/';
			BUG_ON(!is_plain(*c));
		}
		BUG_ON(n_slashes != 6 || strstr(path, ".."));
	}
}

static void
on_reader(void *ctx, const char *job)
{
	(void)ctx;
	BUG_ON(!strchr(job, '/'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_report_view view = { .now_us = 1000000,
					.may_annotate = may_annotate,
					.advice = advice_of,
					.reads = on_reader,
					.ctx = &view };
	struct pod_report_round round = { .next = NULL };
	struct pod_report *report = pod_report_new();
	char *text = xcalloc(size + 1, 1);

	memcpy(text, data, size);
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		view.now_us += 11000000;
		view.is_ending = view.now_us % 5 == 0;
		pod_report_read(report, text + at, strlen(text + at), &view, &round,
				NULL);
		check(&round);
	}
	pod_report_round_sort(&round);
	pod_report_round_fini(&round);
	pod_report_free(report);
	free(text);
	return 0;
}
