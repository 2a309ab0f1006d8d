/* SPDX-License-Identifier: Apache-2.0 */
/* apply_units.c - systemctl, for setup's steps */
#include <errno.h>
#include <stdlib.h>

#include "cli/setup/apply.h"
#include "cli/setup/survey.h"
#include "lib/base/err.h"
#include "lib/daemon/child.h"

/* A unit's start and stop have their own limits, which are below this. */
#define LIMIT_NS INT64_C(120000000000)

struct answer {
	int r;
	struct err *err;
};

static void
on_end(void *ctx, const struct child_result *result)
{
	struct answer *answer = ctx;

	if (!result->why)
		return;
	answer->r = -EIO;
	*answer->err = *result->why;
}

int
setup_systemctl(const struct survey *survey, const char *word, bool is_now,
		const char *unit, struct err *err)
{
	char *program = survey_program(survey, "systemctl");
	const char *const argv[] = { program, word, is_now ? "--now" : unit,
				     is_now ? unit : NULL, NULL };
	struct answer answer = { 0, err };
	const struct child_opts opts = { .argv = argv,
					 .name = "systemctl",
					 .timeout_ns = LIMIT_NS,
					 .max_bytes = 65536,
					 .done = on_end,
					 .ctx = &answer };
	int r;

	if (!program) {
		err_set(err, NULL, 0, 0, "systemctl is not on the path");
		return -ENOENT;
	}
	r = child_run(&opts, err);
	if (r == 0 && answer.r < 0) {
		r = answer.r;
		err_append(err, "; 'journalctl -u %s' may say why", unit);
	}
	free(program);
	return r;
}
