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
#include "lib/base/log.h"
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
	fprintf(stderr, "%s: cell %zu %s: %s: %s\n", log_program(), cell + 1, what,
		command, why);
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

/* The arguments of the cell's process, with room for one more; free with free(). */
static const char **
arguments(const char *exe, const struct sweep_words *words)
{
	const char **argv = xcalloc(words->n + 3, sizeof *argv);

	argv[0] = exe;
	for (size_t i = 0; i < words->n; i++)
		argv[1 + i] = words->items[i];
	return argv;
}

/* Starts a cell in the folder to which its paths are relative. */
static int
start(struct local *local, struct slot *slot, size_t cell)
{
	const struct sweep *sweep = local->study->sweep;
	struct sweep_words words;
	const char **argv;
	int r;

	sweep_command(sweep, cell, &words);
	argv = arguments(local->exe, &words);
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

/* Finds this program, and makes its processes end with this one. */
static int
prepare(char exe[4096], struct err *err)
{
	ssize_t length = readlink("/proc/self/exe", exe, 4095);
	char pid[16];

	if (length < 0)
		return err_set_errno(err, "/proc/self/exe", errno, "cannot read");
	exe[length] = '\0';
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv(PARENT_KEY, pid, 1);
	return 0;
}

/* Of a command's process: what it says, or "" if its options are right. */
static void
keep_said(void *ctx, const struct child_result *result)
{
	if (result->status == CLI_USAGE)
		last_line(result->said, ctx);
}

/* With --help last, a command parses the options before it, and does nothing. */
static int
check_options_of(const struct study *study, const char *exe, size_t cell,
		 struct err *err)
{
	struct sweep_words words;
	const char **argv;
	char said[400] = "";
	int r;

	sweep_command(study->sweep, cell, &words);
	argv = arguments(exe, &words);
	argv[words.n + 1] = "--help";
	r = child_run(
		&(struct child_opts){
			.argv = argv,
			.name = "the cell",
			.timeout_ns = INT64_C(60) * 1000000000,
			.max_bytes = 1 << 20,
			.done = keep_said,
			.ctx = said,
		},
		err);
	if (r == 0 && *said)
		r = err_set(err, study->sweep->file, 0, 0, "%s", said);
	free(argv);
	sweep_words_fini(&words);
	return r;
}

int
local_check_options(const struct study *study, struct err *err)
{
	const struct sweep *sweep = study->sweep;
	/* Cells whose numbers differ by this have neighboring values of the axis. */
	size_t stride = sweep->seeds.n;
	char exe[4096];
	int r = prepare(exe, err);

	if (r == 0)
		r = check_options_of(study, exe, 0, err);
	for (size_t i = sweep->axes.n; i-- && r == 0;) {
		size_t n_values = sweep->axes.items[i].values.n;

		for (size_t value = 1; value < n_values && r == 0; value++)
			r = check_options_of(study, exe, value * stride, err);
		stride *= n_values;
	}
	unsetenv(PARENT_KEY); /* Not for the tasks of an array. */
	return r;
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
	int r;

	*ret_result = (struct local_result){ 0 };
	if (!n)
		return 0;
	r = prepare(local.exe, err);
	if (r < 0)
		return r;
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
