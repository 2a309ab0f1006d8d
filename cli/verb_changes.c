/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_changes.c - 'antiphase changes': what antiphase-scheduler changed at the
 * cluster's scheduler and did not undo, and the log of its requests.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/changes.h"
#include "cli/scheduler_api.h"
#include "cli/screen.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/units.h"

#define USUAL_LINES 100

struct args {
	const char *address, *file, *since; /* 'file', 'since': NULL if not given. */
	const char *job;                    /* NULL: all. */
	int64_t n_max;
	enum cli_json json;
};

/* ---- Tables ---------------------------------------------------------------------- */

static void
print_fitting(struct table *t, const size_t *missed_least, size_t n)
{
	if (isatty(STDOUT_FILENO))
		table_fit(t, cli_columns(), missed_least, n);
	table_print(t, stdout);
	table_fini(t);
}

static void
print_standing(const struct changes *changes)
{
	static const size_t missed_least[] = { 4, 3 };
	struct table t;
	char when[TIME_TEXT_SIZE];

	table_init(&t, (const char *const[]){ "STANDS SINCE", "JOB", "CHANGE", "NODES",
					      "RECORD", NULL });
	for (size_t i = 0; i < changes->standing.n; i++) {
		const struct changes_standing *change = &changes->standing.items[i];

		time_text(change->at_us, when);
		table_cell(&t, "%s", when);
		table_cell(&t, "%s", change->job);
		table_cell(&t, "%s%s", change->kind, change->is_under_way ? " *" : "");
		table_cell(&t, "%s", change->nodes ? change->nodes : "-");
		table_cell(&t, "%s",
			   change->record && *change->record ? change->record : "-");
	}
	print_fitting(&t, missed_least, sizeof missed_least / sizeof *missed_least);
}

static void
print_log(const struct changes *changes)
{
	static const size_t missed_least[] = { 5, 6, 4 };
	struct table t;
	char when[TIME_TEXT_SIZE];

	table_init(&t, (const char *const[]){ "ANSWERED AT", "JOB", "ACTION", "STATE",
					      "REASON", "NODES", "WHY", NULL });
	for (size_t i = 0; i < changes->lines.n; i++) {
		const struct changes_line *line = &changes->lines.items[i];

		time_text(line->at_us, when);
		table_cell(&t, "%s", when);
		table_cell(&t, "%s", line->job);
		table_cell(&t, "%s", line->action);
		table_cell(&t, "%s", line->state);
		table_cell(&t, "%s", line->reason);
		table_cell(&t, "%s", line->nodes ? line->nodes : "-");
		table_cell(&t, "%s", line->error ? line->error : line->text);
	}
	print_fitting(&t, missed_least, sizeof missed_least / sizeof *missed_least);
}

static bool
is_any_under_way(const struct changes *changes)
{
	for (size_t i = 0; i < changes->standing.n; i++)
		if (changes->standing.items[i].is_under_way)
			return true;
	return false;
}

static void
print_tables(const struct args *args, const struct changes *changes)
{
	struct strbuf state = STRBUF_EMPTY;

	if (changes->standing.n) {
		print_standing(changes);
		if (is_any_under_way(changes))
			puts("* requested, not yet answered");
		putchar('\n');
	}
	if (changes->lines.n) {
		print_log(changes);
		putchar('\n');
	}
	printf("%zu change%s stand%s; ", changes->standing.n,
	       changes->standing.n == 1 ? "" : "s",
	       changes->standing.n == 1 ? "s" : "");
	if (!changes->has_log)
		puts("no log: the daemon has no store.");
	else
		printf("%zu line%s of the log%s.\n", changes->lines.n,
		       changes->lines.n == 1 ? "" : "s",
		       changes->is_more ? "; --limit shows more" : "");
	if (!args->file)
		scheduler_api_state(args->address, &state);
	fputs(state.text, stdout);
	strbuf_free(&state);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
put_standing(const struct changes_standing *change, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", change->job);
	jsonw_str(w, "kind", change->kind);
	jsonw_str(w, "nodes", change->nodes);
	jsonw_str(w, "record", change->record);
	jsonw_int(w, "at_us", change->at_us);
	jsonw_bool(w, "is_under_way", change->is_under_way);
	jsonw_end(w);
}

static void
put_line(const struct changes_line *line, struct jsonw *w)
{
	jsonw_flat_object(w, NULL);
	jsonw_int(w, "id", line->id);
	jsonw_int(w, "at_us", line->at_us);
	jsonw_str(w, "job", line->job);
	jsonw_str(w, "action", line->action);
	jsonw_str(w, "state", line->state);
	jsonw_str(w, "reason", line->reason);
	jsonw_str(w, "text", line->text);
	jsonw_str(w, "nodes", line->nodes);
	jsonw_str(w, "record", line->record);
	jsonw_str(w, "error", line->error);
	jsonw_end(w);
}

/* The document of the daemon's answers, merged. */
static void
print_json(const struct args *args, const struct changes *changes)
{
	struct jsonw w;

	if (args->json == CLI_JSON_LINES)
		jsonw_line(&w, stdout, "antiphase.changes/1");
	else
		jsonw_document(&w, stdout, "antiphase.changes/1");
	jsonw_int(&w, "at_us", changes->at_us);
	jsonw_array(&w, "standing");
	for (size_t i = 0; i < changes->standing.n; i++)
		put_standing(&changes->standing.items[i], &w);
	jsonw_end(&w);
	jsonw_bool(&w, "has_log", changes->has_log);
	if (changes->is_more && changes->lines.n)
		jsonw_int(&w, "next_before",
			  changes->lines.items[changes->lines.n - 1].id);
	else
		jsonw_null(&w, "next_before");
	jsonw_array(&w, "log");
	for (size_t i = 0; i < changes->lines.n; i++)
		put_line(&changes->lines.items[i], &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* ---- Running --------------------------------------------------------------------- */

static int
show(const struct args *args, int64_t last_us)
{
	const struct changes_filter filter = { .job = args->job,
					       .last_us = last_us,
					       .n_max = (size_t)args->n_max };
	struct changes changes;
	struct err err = { .line = 0 };
	int status = args->file ? changes_read(args->file, &filter, &changes, &err)
				: changes_ask(args->address, &filter, &changes, &err);

	if (status != CLI_OK)
		err_print(&err, stderr);
	else if (args->json)
		print_json(args, &changes);
	else
		print_tables(args, &changes);
	changes_fini(&changes);
	return status;
}

static int
run_changes(int argc, char **argv)
{
	struct args args = { .address = SCHEDULER_API_ADDRESS, .n_max = USUAL_LINES };
	const struct cli_opt opts[] = {
		CLI_OPT("http", 0, CLI_STR, &args.address, "ADDRESS:PORT",
			"address of antiphase-scheduler (default: " SCHEDULER_API_ADDRESS
			")"),
		CLI_OPT("from", 'F', CLI_STR, &args.file, "FILE",
			"a saved answer of its API, instead of asking it"),
		CLI_OPT("job", 0, CLI_STR, &args.job, "JOB", "only this job"),
		CLI_OPT("since", 0, CLI_STR, &args.since, "TIME",
			"only the log of this last time ('10 min')"),
		CLI_OPT("limit", 'n', CLI_INT, &args.n_max, "N",
			"number of log lines, newest first (default: 100)", .min = 1,
			.max = CHANGES_MAX_LINES),
		CLI_OPT("json", 'j', CLI_JSON, &args.json, NULL,
			"print antiphase.changes/1; =lines: on one line"),
		CLI_OPTS_END,
	};
	int64_t since_ns = 0;
	int first = cli_parse(&verb_changes, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (argc > first)
		return cli_usage_error(
			&verb_changes,
			"unexpected operand; --job %s shows the changes of one job",
			argv[first]);
	if (args.since &&
	    (units_parse_ns(args.since, &since_ns) < 0 || since_ns < 1000))
		return cli_usage_error(&verb_changes, "--since is '%s', expected %s",
				       args.since, UNITS_WANT_TIME);
	return cli_finish(show(&args, since_ns / 1000));
}

const struct cli_verb verb_changes = {
	.name = "changes",
	.summary = "show what antiphase changed at the cluster's scheduler, and why",
	.usage = "[options]",
	.examples = "  antiphase changes\n"
		    "  antiphase changes --job 4711 --since '1 h'\n"
		    "  antiphase changes --from changes.json --json\n",
	.run = run_changes,
};
