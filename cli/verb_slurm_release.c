/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_slurm_release.c - 'antiphase slurm release': undo antiphase's changes to
 * waiting jobs without the daemon.  systemd runs it whenever the daemon has ended, the
 * hooks run it if they find no daemon, and administrators by hand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verb_slurm.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/settings.h"
#include "scheduler/slurm/slurm_release.h"

static const char *const kind_names[] = {
	[SCHED_UNPIN] = "unpin", [SCHED_LET_GO] = "let_go"
};

/* Slurm settings of the daemon. */
struct daemon_says {
	char *bindir; /* Owned; NULL: nothing. */
	bool is_of_another;
};

/* Release despite faulty settings, since they may be why the daemon ended. */
static void
read_settings(const char *file, struct daemon_says *ret_says)
{
	struct settings *settings = settings_new(&settings_scheduler);
	struct err err = { .line = 0 };
	const char *bindir;

	if (settings_load(settings, file, &err) < 0) {
		if (file)
			err_print(&err, stderr);
	} else {
		bindir = settings_text(settings, "scheduler", "slurm_bindir");
		ret_says->bindir = *bindir ? xstrdup(bindir) : NULL;
		ret_says->is_of_another =
			file &&
			strcmp(settings_text(settings, "scheduler", "scheduler"),
			       "slurm") != 0;
	}
	settings_free(settings);
}

static void
print(const struct slurm_releases *releases, bool is_dry)
{
	static const char *const would[] = {
		[SCHED_UNPIN] = "would be un-pinned", [SCHED_LET_GO] = "would be let go"
	};
	static const char *const done[] = {
		[SCHED_UNPIN] = "un-pinned", [SCHED_LET_GO] = "let go"
	};

	for (size_t i = 0; i < releases->items.n; i++) {
		const struct slurm_released *item = &releases->items.items[i];

		printf("job %s: %s%s%s\n", item->job, item->why ? "not " : "",
		       (is_dry ? would : done)[item->kind], item->why ? ": " : "");
		if (item->why)
			printf("    %s\n", item->why);
	}
	if (!releases->items.n)
		puts("no waiting job has a change made by antiphase");
}

static void
print_json(const struct slurm_releases *releases, bool is_dry)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.slurm_release/2");
	jsonw_bool(&w, "dry_run", is_dry);
	jsonw_array(&w, "jobs");
	for (size_t i = 0; i < releases->items.n; i++) {
		const struct slurm_released *item = &releases->items.items[i];

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "job", item->job);
		jsonw_str(&w, "action", kind_names[item->kind]);
		jsonw_bool(&w, "done", !item->why && !is_dry);
		jsonw_str(&w, "why", item->why);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
status_of(const struct slurm_releases *releases, int rc)
{
	if (rc == -ETIMEDOUT || rc == 0) {
		for (size_t i = 0; i < releases->items.n; i++)
			if (releases->items.items[i].why)
				return CLI_NO;
	}
	return rc < 0 ? CLI_UNREACHABLE : CLI_OK;
}

static int
release(const struct slurm_release_opts *opts, bool is_json)
{
	struct slurm_releases releases;
	struct err err = { .line = 0 };
	int rc = slurm_release(opts, &releases, &err), status;

	if (is_json)
		print_json(&releases, opts->is_dry);
	else if (rc == 0 || releases.items.n)
		print(&releases, opts->is_dry);
	if (rc < 0)
		err_print(&err, stderr);
	status = status_of(&releases, rc);
	slurm_releases_fini(&releases);
	return cli_finish(status);
}

static int
run_release(int argc, char **argv)
{
	struct slurm_release_opts how = { .is_dry = false };
	struct daemon_says says = { .bindir = NULL };
	const char *file = NULL, *bindir = NULL;
	double limit_s = 8;
	bool is_json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("dry-run", 'n', CLI_FLAG, &how.is_dry, NULL,
			"print what would be undone, and change nothing"),
		CLI_OPT("pins", 0, CLI_FLAG, &how.keeps_gates, NULL,
			"only undo pins: gates open by themselves"),
		CLI_OPT("config", 'c', CLI_STR, &file, "FILE",
			"settings of antiphase-scheduler; nothing is done unless "
			"its scheduler is slurm"),
		CLI_OPT("slurm-bindir", 0, CLI_STR, &bindir, "DIR",
			"directory of squeue (default: from the settings, else $PATH)"),
		CLI_OPT("limit-s", 0, CLI_NUM, &limit_s, "S",
			"time limit in seconds (default: 8)", .min = 0.5, .max = 600),
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL,
			"print antiphase.slurm_release/2"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_slurm_release, opts, argc, argv), status;

	if (first < 0)
		return cli_status(first);
	read_settings(file, &says);
	how.slurm.bindir = bindir ? bindir : says.bindir;
	how.limit_ms = (int64_t)(limit_s * 1000);
	if (says.is_of_another) {
		const struct slurm_releases none = { VEC_EMPTY };

		if (is_json)
			print_json(&none, how.is_dry);
		else
			puts("antiphase-scheduler has no Slurm ('scheduler = none'): "
			     "nothing to release");
		status = cli_finish(CLI_OK);
	} else {
		status = release(&how, is_json);
	}
	free(says.bindir);
	return status;
}

const struct cli_verb verb_slurm_release = {
	.name = "slurm release",
	.summary = "undo antiphase's changes to waiting jobs, without the daemon",
	.usage = "[options]",
	.examples = "  antiphase slurm release --dry-run\n"
		    "  antiphase slurm release --pins\n",
	.run = run_release,
	.operands = "",
};
