/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lldp_run.c - lldpcli as a child with bounds.
 */
#include "topology/lldp_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/child.h"
#include "topology/in_lldp.h"

#define MAX_WORDS 8

struct lldp_run {
	struct lldp_run_opts opts;
	struct loop *loop;
	struct child *child; /* NULL: none runs. */
};

/* The command line of lldpcli. */
static struct child_opts
child_opts(const struct lldp_run_opts *opts, const char *argv[MAX_WORDS + 1])
{
	size_t n = 0;

	argv[n++] = opts->program;
	if (opts->socket) {
		argv[n++] = "-u";
		argv[n++] = opts->socket;
	}
	argv[n++] = "-f";
	argv[n++] = "json0";
	argv[n++] = "show";
	argv[n++] = "neighbors";
	argv[n++] = "details";
	argv[n] = NULL;
	return (struct child_opts){ .argv = argv,
				    .timeout_ns = opts->timeout_ns,
				    .max_bytes = LLDP_MAX_BYTES };
}

/* The hint for errors that lldpcli reports. */
static void
add_hint(struct err *err, const struct child_result *result)
{
	if (result->status > 0)
		err_append(err, "; is lldpd running, and may we talk to it?");
}

static void
on_done(void *ctx, const struct child_result *result)
{
	struct lldp_run *run = ctx;
	struct err why;

	run->child = NULL;
	if (!result->why) {
		run->opts.done(run->opts.ctx, result->text, result->n, NULL);
		return;
	}
	why = *result->why;
	add_hint(&why, result);
	run->opts.done(run->opts.ctx, NULL, 0, &why);
}

struct lldp_run *
lldp_run_new(struct loop *loop, const struct lldp_run_opts *opts)
{
	struct lldp_run *run = xcalloc(1, sizeof *run);

	run->loop = loop;
	run->opts = *opts;
	return run;
}

void
lldp_run_free(struct lldp_run *run)
{
	if (!run)
		return;
	child_free(run->child);
	free(run);
}

void
lldp_run_start(struct lldp_run *run)
{
	const char *argv[MAX_WORDS + 1];
	struct child_opts opts = child_opts(&run->opts, argv);
	struct err why = { .line = 0 };

	if (run->child)
		return;
	opts.done = on_done;
	opts.ctx = run;
	if (child_start(run->loop, &opts, &run->child, &why) < 0) {
		run->child = NULL;
		run->opts.done(run->opts.ctx, NULL, 0, &why);
	}
}

/* ---- Without a loop -------------------------------------------------------------- */

struct once {
	char *text;
	size_t n;
	struct err *err;
};

static void
on_once(void *ctx, const struct child_result *result)
{
	struct once *once = ctx;

	if (!result->why) {
		once->text = xmemdup(result->text, result->n + 1, 1);
		once->n = result->n;
	} else if (once->err) {
		*once->err = *result->why;
		add_hint(once->err, result);
	}
}

int
lldp_run_once(const struct lldp_run_opts *opts, char **ret_text, size_t *ret_n,
	      struct err *err)
{
	const char *argv[MAX_WORDS + 1];
	struct child_opts run = child_opts(opts, argv);
	struct once once = { .err = err };
	int r;

	run.done = on_once;
	run.ctx = &once;
	r = child_run(&run, err);
	if (r < 0)
		return r;
	if (!once.text)
		return -EIO;
	*ret_text = once.text;
	*ret_n = once.n;
	return 0;
}
