/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_control.c - requests to a daemon: a byte of permissions, a line that is the path,
 * and the body
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/control_run.h"
#include "tests/fuzz/fuzz.h"

struct calls {
	unsigned n, n_changes;
};

static int
run(void *ctx, size_t n_args, char **args, struct strbuf *reply, struct err *err)
{
	struct calls *calls = ctx;

	calls->n++;
	BUG_ON(n_args > CONTROL_MAX_WORDS);
	for (size_t i = 0; i < n_args; i++)
		strbuf_puts(reply, args[i]);
	if (n_args != 3)
		return 0;
	err_set(err, NULL, 0, 0, "three");
	return -ENOENT;
}

static int
run_change(void *ctx, size_t n_args, char **args, struct strbuf *reply, struct err *err)
{
	struct calls *calls = ctx;

	calls->n_changes++;
	BUG_ON(n_args < 1 || n_args > 2);
	return run(ctx, n_args, args, reply, err);
}

static const struct control_command commands[] = {
	{ "stats", "", 0, 0, false, run },
	{ "job add", "NAME [CGROUP]", 1, 2, true, run_change },
	{ "job list", "[--json]", 0, 3, false, run },
	{ NULL, NULL, 0, 0, false, NULL },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(size ? data + 1 : data, size ? size - 1 : 0);
	char *body = text, *path = strsep(&body, "\n");
	unsigned flags = size ? data[0] : 0;
	struct control_request request = {
		.method = flags & 1 ? "POST" : "GET",
		.words = path,
		.body = body ? body : "",
		.n_body = body ? strlen(body) : 0,
		.user = 7,
		.may_change = flags & 2,
	};
	struct strbuf reply = STRBUF_EMPTY;
	struct calls calls = { 0 };
	struct err err = { 0 };
	int r = control_run(commands, &calls, &request, &reply, &err);

	BUG_ON((r < 0) != (err.text[0] != '\0') || r > 0);
	BUG_ON(calls.n > 1 || calls.n_changes > calls.n);
	BUG_ON(calls.n_changes && (flags & 3) != 3);
	strbuf_free(&reply);
	free(text);
	/* "log dbg" is among the commands. */
	log_set_level(LOG_LEVEL_ERR);
	return 0;
}
