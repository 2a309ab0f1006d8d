/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_jobs.c - 'antiphase jobs': the running jobs and their iterations; and
 * 'antiphase job': one of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/jobs_print.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

/* Time to listen to a bus without --window: two windows of the shortest kind. */
#define BUS_LEAST_MS JOB_PROFILER_MIN_WINDOW_MS

#define MAX_REASONS 3 /* Jobs without a period that standard error explains. */

struct args {
	struct screen_opts screen;
	const char *job; /* NULL: all. */
	bool json;
};

struct picked {
	VEC(const struct profiled_job *) jobs; /* Borrowed. */
};

/* Selects by full name, or by the only name with that prefix. */
static int
pick(const struct args *args, const struct screen *screen, struct picked *picked)
{
	size_t n, length = args->job ? strlen(args->job) : 0;
	const struct profiled_job *const *jobs =
		job_profiler_jobs(screen->profiler, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = live_job_name(screen->live, jobs[i]->job);

		if (args->job && strcmp(name, args->job) == 0) {
			picked->jobs.n = 0;
			vec_push(&picked->jobs, jobs[i]);
			break;
		}
		if (!args->job || strncmp(name, args->job, length) == 0)
			vec_push(&picked->jobs, jobs[i]);
	}
	if (args->job && picked->jobs.n != 1)
		return screen_unknown_job(screen, args->job);
	return CLI_OK;
}

static void
show_json(const struct screen *screen, const struct contention *found,
	  const struct picked *picked)
{
	const struct status status = screen_status(screen);
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.jobs/1");
	status_json_footer(&status, found->from_ms, found->to_ms, &w);
	status_json_jobs(&status, found, picked->jobs.items, picked->jobs.n, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
show_text(const struct args *args, const struct screen *screen,
	  const struct contention *found, const struct picked *picked)
{
	struct strbuf out = STRBUF_EMPTY;
	size_t n = picked->jobs.n;

	if (args->job) {
		jobs_detail(screen, found, picked->jobs.items[0], &out);
	} else if (n) {
		char **lines = jobs_table(screen, picked->jobs.items, n, cli_columns());

		for (size_t i = 0; i <= n; i++) {
			strbuf_printf(&out, "%s\n", lines[i]);
			free(lines[i]);
		}
		free(lines);
	} else {
		strbuf_puts(&out, "No job has traffic.\n");
	}
	screen_footer(screen, found->from_ms, found->to_ms, &out);
	fwrite(out.text, 1, out.length, stdout);
	strbuf_free(&out);
}

/* CLI_THIN and a message with the reasons if no selected job has an estimate. */
static int
status_of(const struct screen *screen, const struct picked *picked)
{
	size_t n = picked->jobs.n;

	for (size_t i = 0; i < n; i++)
		if (picked->jobs.items[i]->has_estimate)
			return CLI_OK;
	fprintf(stderr, "antiphase %s: ", screen->verb->name);
	if (n == 0)
		fputs("no job has traffic", stderr);
	for (size_t i = 0; i < n && i < MAX_REASONS; i++)
		fprintf(stderr, "%s%s: %s", i ? "; " : "no period known yet: ",
			live_job_name(screen->live, picked->jobs.items[i]->job),
			picked->jobs.items[i]->why ? picked->jobs.items[i]->why
						   : "not analyzed yet");
	if (n > MAX_REASONS)
		fprintf(stderr, "; and %zu more", n - MAX_REASONS);
	fputc('\n', stderr);
	return CLI_THIN;
}

static int
run(const struct cli_verb *verb, const struct args *args)
{
	struct picked picked = { .jobs = VEC_EMPTY };
	struct screen screen;
	struct contention found;
	int status = screen_open(&screen, verb, &args->screen, false);

	if (status == CLI_OK)
		status = screen_gather(&screen, args->screen.window ? 0 : BUS_LEAST_MS);
	if (status == CLI_OK)
		status = pick(args, &screen, &picked);
	if (status == CLI_OK) {
		screen_find(&screen, CONTENTION_BY_CONTENTION, &found);
		if (args->json)
			show_json(&screen, &found, &picked);
		else
			show_text(args, &screen, &found, &picked);
		status = status_of(&screen, &picked);
		contention_fini(&found);
	}
	vec_free(&picked.jobs);
	screen_close(&screen);
	return cli_finish(status);
}

static int
run_verb(const struct cli_verb *verb, int argc, char **argv)
{
	struct args args = { .job = NULL };
	const struct cli_opt opts[] = {
		SCREEN_OPTS(&args.screen),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"print antiphase.jobs/1"),
		CLI_OPTS_END,
	};
	int first = cli_parse(verb, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (first < argc)
		args.job = argv[first];
	return run(verb, &args);
}

static int
run_jobs(int argc, char **argv)
{
	return run_verb(&verb_jobs, argc, argv);
}

static int
run_job(int argc, char **argv)
{
	return run_verb(&verb_job, argc, argv);
}

const struct cli_verb verb_jobs = {
	.name = "jobs",
	.summary = "show running jobs: period, jitter, bytes per iteration",
	.usage = "[options]",
	.examples = "  antiphase jobs\n"
		    "  antiphase jobs --from two-jobs.tele\n",
	.run = run_jobs,
	.operands = "; 'antiphase job JOB' shows one job",
};

const struct cli_verb verb_job = {
	.name = "job",
	.summary = "show one running job: phases, trend, its links",
	.usage = "[options] JOB",
	.examples = "  antiphase job a --from two-jobs.tele --fabric "
		    "two-jobs-fabric.json\n",
	.run = run_job,
	.operands = "one JOB",
	.min_operands = 1,
	.max_operands = 1,
};
