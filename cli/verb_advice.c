/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_advice.c - 'antiphase advice': the current advice of antiphase-scheduler, for
 * one job or all.  ('antiphase advise' computes its own advice.)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/advice_moves.h"
#include "cli/scheduler_advice.h"
#include "cli/scheduler_api.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/utf8.h"
#include "scheduler/core/advise/advice_doc.h"

#define REFRESH_S   2
#define MAX_REASONS 3 /* Jobs without advice that standard error explains. */

struct args {
	const char *address, *file, *job; /* 'file', 'job': NULL if not given. */
	enum cli_json json;
	bool is_watched;
};

/* ---- The table ------------------------------------------------------------------- */

static void
add_where(const struct advice_doc_job *job, struct table *t)
{
	if (job->is_advised && job->n_places)
		table_cell(t, "%s *", job->places[0].nodes);
	else if (job->n_hosts == 0)
		table_cell(t, "-");
	else
		table_cell(t, "%zu host%s", job->n_hosts, job->n_hosts == 1 ? "" : "s");
}

static void
add_row(const struct advice_doc *doc, const struct advice_doc_job *job, struct table *t)
{
	int64_t left_us = job->valid_until_us - doc->at_us;

	table_cell(t, "%s", job->name);
	table_cell(t, "%s", job->is_waiting ? "waits" : "runs");
	add_where(job, t);
	if (job->is_advised && job->pacing)
		table_cell(t, "%.1f ms", (double)job->shift_us / 1e3);
	else
		table_cell(t, "-");
	table_cell(t, "%s", job->is_advised && job->pacing ? job->pacing : "-");
	table_cell(t, "%s", job->reason);
	if (job->is_advised && job->has_gain)
		table_cell(t, "%.1f..%.1f %%", 100 * job->gain_low,
			   100 * job->gain_high);
	else
		table_cell(t, "-");
	if (job->age_us >= 0)
		table_cell(t, "%.0f s", (double)job->age_us / 1e6);
	else
		table_cell(t, "-");
	if (!job->is_advised)
		table_cell(t, "-");
	else if (left_us < 0)
		table_cell(t, "over");
	else
		table_cell(t, "%.0f s", (double)left_us / 1e6);
}

static size_t
count_advised(const struct advice_doc *doc)
{
	size_t n = 0;

	for (size_t i = 0; i < doc->n_jobs; i++)
		n += doc->jobs[i].is_advised;
	return n;
}

static void
print_table(const struct args *args, const struct advice_doc *doc)
{
	static const size_t missed_least[] = { 8, 4, 7, 1 };
	size_t n_places = 0;
	struct strbuf state = STRBUF_EMPTY;
	struct table t;

	table_init(&t,
		   (const char *const[]){ "JOB", "STATE", "WHERE", "%SHIFT", "PACING",
					  "REASON", "%GAIN", "%AGE", "%VALID", NULL });
	for (size_t i = 0; i < doc->n_jobs; i++) {
		const struct advice_doc_job *job = &doc->jobs[i];

		add_row(doc, job, &t);
		n_places += job->is_advised && job->n_places;
	}
	if (cli_columns() < CLI_FULL_COLUMNS)
		table_fit(&t, cli_columns(), missed_least,
			  sizeof missed_least / sizeof *missed_least);
	if (doc->n_jobs)
		table_print(&t, stdout);
	table_fini(&t);
	if (n_places)
		puts("* best placement for a waiting job");
	advice_moves_print(doc, stdout);
	printf("%zu of %zu jobs have advice; 'antiphase explain JOB' "
	       "gives the reasons.\n",
	       count_advised(doc), doc->n_jobs);
	if (!args->file)
		scheduler_api_state(args->address, &state);
	fputs(state.text, stdout);
	strbuf_free(&state);
}

/* The daemon's own document, on one line if requested. */
static void
print_json(const struct args *args, const struct strbuf *body)
{
	size_t length = body->length;

	while (length && body->text[length - 1] == '\n')
		length--;
	for (size_t i = 0; i < length; i++)
		if (args->json != CLI_JSON_LINES || body->text[i] != '\n')
			putchar(body->text[i]);
	putchar('\n');
}

/* ---- Running --------------------------------------------------------------------- */

/* CLI_THIN and a message with the reasons if no requested job has advice. */
static int
status_of(const struct advice_doc *doc)
{
	size_t n = doc->n_jobs;
	struct strbuf why = STRBUF_EMPTY;

	if (count_advised(doc))
		return CLI_OK;
	if (n == 0)
		strbuf_puts(&why, "antiphase-scheduler knows no job");
	for (size_t i = 0; i < n && i < MAX_REASONS; i++)
		strbuf_printf(&why, "%s%s: %s", i ? "; " : "", doc->jobs[i].name,
			      doc->jobs[i].text);
	if (n > MAX_REASONS)
		strbuf_printf(&why, "; and %zu more", n - MAX_REASONS);
	/* Users choose job names: remove what would control a terminal. */
	utf8_disarm(why.text, 0);
	fprintf(stderr, "antiphase advice: no advice: %s\n", why.text);
	strbuf_free(&why);
	return CLI_THIN;
}

static int
show(const struct args *args, bool is_first)
{
	struct advice_doc doc;
	struct strbuf body;
	struct err err = { .line = 0 };
	int status = args->file ? scheduler_advice_read(args->file, args->job, &doc,
							&body, &err)
				: scheduler_advice_ask(args->address, args->job, &doc,
						       &body, &err);

	if (status != CLI_OK) {
		err_print(&err, stderr);
	} else if (args->json) {
		print_json(args, &body);
		status = args->is_watched ? CLI_OK : status_of(&doc);
	} else {
		if (args->is_watched && isatty(STDOUT_FILENO))
			fputs("\033[H\033[J", stdout);
		else if (!is_first)
			putchar('\n');
		print_table(args, &doc);
		fflush(stdout);
		status = args->is_watched ? CLI_OK : status_of(&doc);
	}
	fflush(stdout);
	advice_doc_fini(&doc);
	strbuf_free(&body);
	return status;
}

/* Runs until SIGINT, SIGTERM or a failed request. */
static int
watch(const struct args *args)
{
	const struct timespec second = { .tv_sec = REFRESH_S };
	sigset_t ends;
	int status = CLI_OK;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (bool is_first = true; status == CLI_OK && !ferror(stdout);
	     is_first = false) {
		status = show(args, is_first);
		if (status == CLI_OK && sigtimedwait(&ends, NULL, &second) > 0)
			status = CLI_INTERRUPTED;
	}
	return status;
}

static int
run_advice(int argc, char **argv)
{
	struct args args = { .address = SCHEDULER_API_ADDRESS };
	const struct cli_opt opts[] = {
		CLI_OPT("http", 0, CLI_STR, &args.address, "ADDRESS:PORT",
			"address of antiphase-scheduler (default: " SCHEDULER_API_ADDRESS
			")"),
		CLI_OPT("from", 'F', CLI_STR, &args.file, "FILE",
			"a saved answer of its API, instead of asking it"),
		CLI_OPT("watch", 'W', CLI_FLAG, &args.is_watched, NULL,
			"refresh every two seconds"),
		CLI_OPT("json", 'j', CLI_JSON, &args.json, NULL,
			"print antiphase.job_advices/1 (for one job "
			"antiphase.job_advice/1); =lines: on one line"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_advice, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	args.job = argv[first];
	if (args.file && args.is_watched)
		return cli_usage_error(&verb_advice,
				       "--watch and --from exclude each other");
	if (args.file && args.json && args.job)
		return cli_usage_error(
			&verb_advice,
			"--json --from FILE prints the whole file; omit the JOB");
	return cli_finish(args.is_watched ? watch(&args) : show(&args, true));
}

const struct cli_verb verb_advice = {
	.name = "advice",
	.summary = "show the scheduler's current advice: placements, shifts, reasons",
	.usage = "[options] [JOB]",
	.examples = "  antiphase advice\n"
		    "  antiphase advice 4711 --watch\n"
		    "  antiphase advice --from advised.json\n",
	.run = run_advice,
	.operands = "at most one JOB",
	.max_operands = 1,
};
