/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_setup.c - 'antiphase setup': looks at the host, says the steps that make antiphase
 * work on it, takes them, and takes them back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/bus_opts.h"
#include "cli/setup/apply.h"
#include "cli/setup/journal.h"
#include "cli/setup/plan.h"
#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"

struct setup_args {
	const char *root;
	bool is_apply, is_undo, is_json;
};

/* ---- Text ------------------------------------------------------------------------ */

/* The settings of a file that is to be written, without its comments. */
static void
print_settings(const char *text)
{
	const char *section = NULL;

	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");

		if (*at == '[') {
			section = at;
		} else if (n && *at != '#') {
			if (section)
				printf("        %.*s\n", (int)strcspn(section, "\n"),
				       section);
			section = NULL;
			printf("        %.*s\n", (int)n, at);
		}
		at += n + (at[n] == '\n');
	}
}

static void
print_steps(const struct setup_plan *plan)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct setup_step *step = &plan->steps.items[i];

		printf("%-6s  %s %s\n", setup_state_names[step->state],
		       setup_action_names[step->action], step->target);
		if (*step->why)
			printf("        (%s)\n", step->why);
		for (size_t k = 0; k < step->differences.n; k++)
			printf("        %s\n", step->differences.items[k]);
		if (step->state == SETUP_TO_DO && step->text && *step->text != '{')
			print_settings(step->text);
	}
}

static void
print_end(const struct setup_args *args, const struct setup_plan *plan)
{
	size_t n_to_do = setup_plan_count(plan, SETUP_TO_DO);
	size_t n_done = setup_plan_count(plan, SETUP_DONE);
	size_t n_failed = setup_plan_count(plan, SETUP_FAILED);

	if (args->is_undo && !plan->steps.n)
		puts("Nothing to do: setup changed nothing on this host, or it is taken "
		     "back already.");
	else if (args->is_apply && n_to_do + n_failed)
		printf("%zu step%s done, %zu not taken; mend what failed, and run it "
		       "again.\n",
		       n_done, words_plural(n_done), n_to_do + n_failed);
	else if (args->is_undo || n_done)
		printf("%zu step%s done, %zu left as they are%s.\n", n_done,
		       words_plural(n_done), setup_plan_count(plan, SETUP_LEFT),
		       args->is_undo ? ""
				     : "; 'antiphase setup --undo' takes them back");
	else if (n_to_do)
		printf("%zu step%s to do; nothing was changed.  'antiphase setup --apply' "
		       "takes them, as root.\n",
		       n_to_do, words_plural(n_to_do));
	else
		puts("Nothing to do.");
}

static void
print_text(const struct setup_args *args, const struct survey *survey,
	   const struct setup_plan *plan)
{
	if (!args->is_undo) {
		findings_print(&survey->findings, stdout);
		puts("");
	}
	print_steps(plan);
	if (plan->steps.n)
		puts("");
	print_end(args, plan);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
print_json(const struct setup_args *args, const struct survey *survey,
	   const struct setup_plan *plan)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.setup/1");
	jsonw_int(&w, "at_us", clk_wall_us());
	jsonw_str(&w, "mode",
		  args->is_undo    ? "undo"
		  : args->is_apply ? "apply"
				   : "plan");
	jsonw_str(&w, "host", survey->host);
	findings_json(&survey->findings, &w);
	jsonw_array(&w, "steps");
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct setup_step *step = &plan->steps.items[i];

		jsonw_object(&w, NULL);
		jsonw_str(&w, "state", setup_state_names[step->state]);
		jsonw_str(&w, "action", setup_action_names[step->action]);
		jsonw_str(&w, "target", step->target);
		jsonw_str(&w, "why", step->why);
		jsonw_array(&w, "differences");
		for (size_t k = 0; k < step->differences.n; k++)
			jsonw_str(&w, NULL, step->differences.items[k]);
		jsonw_end(&w);
		jsonw_str(&w, "text", step->text);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* ---- The verb -------------------------------------------------------------------- */

/* What an earlier run left when it was killed. */
static void
sweep(const char *root)
{
	targets_sweep(root, JOURNAL_FILE);
	for (size_t i = 0; setup_files[i]; i++)
		targets_sweep(root, setup_files[i]);
}

/* Looks, acts and prints; the exit status. */
static int
set_up(const struct setup_args *args)
{
	struct journal journal;
	struct setup_plan plan = { .steps = VEC_EMPTY };
	struct survey survey;
	struct err err = { .line = 0 };
	int r = journal_load(&journal, args->root, &err), status = CLI_OK;

	if (r < 0)
		return bus_opts_fail(r, &err);
	if (args->is_undo || args->is_apply)
		sweep(args->root);
	survey_read(&survey, args->root);
	if (args->is_undo) {
		r = setup_undo(&survey, &journal, &plan, &err);
	} else {
		setup_plan_make(&survey, &journal, &plan);
		if (args->is_apply)
			r = setup_apply(&survey, &journal, &plan, &err);
	}
	if (args->is_json)
		print_json(args, &survey, &plan);
	else
		print_text(args, &survey, &plan);
	if (r < 0) {
		fflush(stdout);
		status = bus_opts_fail(r, &err);
	} else if (args->is_undo && setup_plan_count(&plan, SETUP_LEFT)) {
		status = CLI_NO;
	}
	setup_plan_fini(&plan);
	survey_fini(&survey);
	journal_fini(&journal);
	return status == CLI_OK ? cli_finish(CLI_OK) : status;
}

static int
run_setup(int argc, char **argv)
{
	struct setup_args args = { .root = "" };
	const struct cli_opt opts[] = {
		CLI_OPT("apply", 0, CLI_FLAG, &args.is_apply, NULL,
			"take the steps (default: only say them)"),
		CLI_OPT("undo", 0, CLI_FLAG, &args.is_undo, NULL,
			"take back what --apply did, except what was changed since"),
		CLI_OPT("root", 0, CLI_STR, &args.root, "DIR",
			"the root of an image of a host: all paths and programs are "
			"below it"),
		CLI_OPT("json", 'j', CLI_FLAG, &args.is_json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_setup, opts, argc, argv), status;
	struct stat folder;
	char *root;

	if (first < 0)
		return cli_status(first);
	if (args.is_apply && args.is_undo)
		return cli_usage_error(&verb_setup,
				       "--apply and --undo exclude each other");
	if (*args.root && (stat(args.root, &folder) < 0 || !S_ISDIR(folder.st_mode)))
		return cli_usage_error(&verb_setup, "--root: '%s' is no directory",
				       args.root);
	/* "DIR/" is DIR, and "/" this host. */
	root = xstrdup(args.root);
	for (size_t n = strlen(root); n && root[n - 1] == '/';)
		root[--n] = '\0';
	args.root = root;
	/* The daemons' user reads what root writes. */
	umask(022);
	status = set_up(&args);
	free(root);
	return status;
}

const struct cli_verb verb_setup = {
	.name = "setup",
	.summary = "find out what this host needs for antiphase, and set it up",
	.usage = "[options]",
	.examples = "  antiphase setup\n"
		    "  antiphase setup --apply\n"
		    "  antiphase setup --undo\n",
	.run = run_setup,
	.operands = "",
};
