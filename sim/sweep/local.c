/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/local.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/child.h"
#include "lib/daemon/loop.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"

/* The limit of cells without one. */
#define YEAR_NS (INT64_C(365) * 24 * 3600 * 1000000000)

/* In the environment of cells: the process that runs them. */
#define PARENT_KEY "ANTIPHASE_SWEEP_PID"

struct local;

/* A process, or the place for one. */
struct slot {
	struct local *local;
	struct child *child; /* NULL: free. */
	size_t cell;
};

struct local {
	const struct study *study;
	const size_t *cells;
	size_t n, next; /* Cells, and the next to start. */
	struct slot *slots;
	size_t n_slots, n_running;
	struct loop *loop;
	struct progress progress;
	struct local_result *result;
	char exe[4096];
	struct err *err;
	int error;
};

size_t
local_n_cpus(void)
{
	cpu_set_t set;

	/* An error means more CPUs than the set has room for; one always works. */
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set)
							   : 1;
}

void
local_be_a_cell(void)
{
	const char *parent = getenv(PARENT_KEY);

	if (!parent)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The sweep may have ended before that. */
	if (getppid() != atoi(parent))
		_exit(1);
	unsetenv(PARENT_KEY);
}

static void
stop(struct local *local, int error)
{
	if (local->error == 0)
		local->error = error;
	loop_stop(local->loop, 0);
}

static void start_some(struct local *local);

/* Copies the last line that is not empty, cut to fit. */
static void
last_line(const char *said, char line[400])
{
	size_t n = strlen(said), start;

	while (n && strchr(" \n\r\t", said[n - 1]))
		n--;
	for (start = n; start && said[start - 1] != '\n'; start--)
		;
	snprintf(line, 400, "%.*s", (int)(n - start), said + start);
}

static int
store(struct slot *slot, const struct child_result *result, struct err *why)
{
	const struct study *study = slot->local->study;
	char line[400];

	if (!result->why)
		return cells_put(study, slot->cell, result->text, result->n, why);
	last_line(result->said, line);
	if (result->status >= 0 && *line)
		err_set(why, NULL, 0, 0, "%s", line);
	else
		*why = *result->why;
	return -EINVAL;
}

/* True if a signal from outside ended it: it may succeed another time. */
static bool
was_ended(const struct child_result *result)
{
	switch (result->signal) {
	case SIGHUP:
	case SIGINT:
	case SIGTERM:
	case SIGKILL:
		return true;
	default:
		return result->status == CLI_INTERRUPTED;
	}
}

/* Shows the progress. */
static void
show(struct local *local)
{
	progress_count(&local->progress, local->next - local->n_running, local->n,
		       clk_monotonic_ns());
}

static void
report(struct local *local, size_t cell, const char *what, const char *why)
{
	char *command = cells_command(local->study, cell);

	progress_clear(&local->progress);
	fprintf(stderr, "antiphase-sim: cell %zu %s: %s: %s\n", cell + 1, what, command,
		why);
	free(command);
}

static void
on_done(void *ctx, const struct child_result *result)
{
	struct slot *slot = ctx;
	struct local *local = slot->local;
	struct err why = { 0 };
	int r = store(slot, result, &why);

	slot->child = NULL;
	local->n_running--;
	if (r == 0) {
		local->result->n_done++;
	} else if (r != -EINVAL) {
		*local->err = why;
		stop(local, r);
		return;
	} else if (was_ended(result)) {
		local->result->n_ended++;
		report(local, slot->cell, "was ended from outside and is missing",
		       why.text);
	} else {
		local->result->n_failed++;
		report(local, slot->cell, "failed", why.text);
		r = cells_put_failure(local->study, slot->cell, why.text, local->err);
		if (r < 0) {
			stop(local, r);
			return;
		}
	}
	show(local);
	start_some(local);
}

/* Starts a cell in the folder to which its paths are relative. */
static int
start(struct local *local, struct slot *slot, size_t cell)
{
	const struct sweep *sweep = local->study->sweep;
	struct sweep_words words;
	const char **argv;
	size_t n = 0;
	int r;

	sweep_command(sweep, cell, &words);
	argv = xcalloc(words.n + 2, sizeof *argv);
	argv[n++] = local->exe;
	for (size_t i = 0; i < words.n; i++)
		argv[n++] = words.items[i];
	slot->cell = cell;
	r = child_start(
		local->loop,
		&(struct child_opts){
			.argv = argv,
			.name = "the cell",
			.dir = sweep->dir,
			.timeout_ns = sweep->limit_ns ? sweep->limit_ns : YEAR_NS,
			.max_bytes = CELLS_MAX_BYTES,
			.done = on_done,
			.ctx = slot,
		},
		&slot->child, local->err);
	free(argv);
	sweep_words_fini(&words);
	return r;
}

/* Skips cells that another process has finished: two may run on one folder. */
static void
skip_done(struct local *local)
{
	while (local->next < local->n &&
	       cells_state(local->study, local->cells[local->next]) == CELLS_DONE) {
		local->result->n_done++;
		local->next++;
	}
}

static void
start_some(struct local *local)
{
	for (size_t i = 0; i < local->n_slots && local->next < local->n; i++) {
		int r;

		if (local->slots[i].child)
			continue;
		skip_done(local);
		if (local->next == local->n)
			break;
		r = start(local, &local->slots[i], local->cells[local->next]);
		if (r < 0) {
			stop(local, r);
			return;
		}
		local->next++;
		local->n_running++;
	}
	if (!local->n_running)
		loop_stop(local->loop, 0);
}

/* Shows the progress also before the first cell has ended. */
static void
on_second(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
	show(ctx);
}

static void
on_signal(void *ctx, int signal)
{
	struct local *local = ctx;

	(void)signal;
	local->result->was_interrupted = true;
	loop_stop(local->loop, 0);
}

int
local_run(const struct study *study, const size_t *cells, size_t n, size_t n_at_once,
	  enum progress_form form, struct local_result *ret_result, struct err *err)
{
	struct local local = { .study = study,
			       .cells = cells,
			       .n = n,
			       .n_slots = n_at_once < n ? n_at_once : n,
			       .result = ret_result,
			       .err = err };
	ssize_t length = readlink("/proc/self/exe", local.exe, sizeof local.exe - 1);
	char pid[16];

	*ret_result = (struct local_result){ 0 };
	if (!n)
		return 0;
	if (length < 0)
		return err_set_errno(err, "/proc/self/exe", errno, "cannot read");
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv(PARENT_KEY, pid, 1);
	local.loop = loop_new();
	local.slots = xcalloc(local.n_slots, sizeof *local.slots);
	for (size_t i = 0; i < local.n_slots; i++)
		local.slots[i].local = &local;
	loop_signal(local.loop, SIGINT, on_signal, &local);
	loop_signal(local.loop, SIGTERM, on_signal, &local);
	progress_init(&local.progress, stderr, form, "cells", clk_monotonic_ns());
	loop_every(local.loop, 1000000000, on_second, &local);
	start_some(&local);
	if (local.n_running && local.error == 0)
		loop_run(local.loop);
	progress_end(&local.progress, local.error == 0 && !ret_result->was_interrupted,
		     clk_monotonic_ns());
	for (size_t i = 0; i < local.n_slots; i++)
		child_free(local.slots[i].child);
	loop_free(local.loop);
	free(local.slots);
	return local.error;
}
