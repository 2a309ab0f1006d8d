/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_fragmentation.c - 'antiphase fragmentation': the goodput that is lost because
 * jobs are scattered over racks, of files or of antiphase-scheduler's jobs.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/scheduler_api.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "scheduler/core/advise/fragmentation.h"
#include "scheduler/core/workload/workload_ini.h"

/* Jobs and racks shown without --all. */
#define FEW_ROWS 8
/* A smaller share of goodput is shown as none. */
#define NO_SHARE 5e-4

#define API_PATH "/api/v1/fragmentation"

struct args {
	const char *fabric, *jobs; /* NULL: not given. */
	const char *address;
	int64_t seed;
	bool json, all;
};

/* ---- Text ------------------------------------------------------------------------ */

static void
add_share(struct table *t, double share)
{
	if (fabs(share) < NO_SHARE)
		table_cell(t, "-");
	else
		table_cell(t, "%.1f %%", 100 * share);
}

static void
print_jobs(const struct fragmentation *f, size_t n)
{
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "%HOSTS", "%RACKS", "%NEEDED",
					      "%EXTRA FRAGMENTS", "%SLOWDOWN",
					      "%SLOWDOWN PACKED", "%LOST", NULL });
	for (size_t i = 0; i < n; i++) {
		const struct fragmentation_job *job = &f->jobs[i];

		table_cell(&t, "%s", job->name);
		table_cell(&t, "%u", job->n_hosts);
		table_cell(&t, "%u", job->n_racks);
		table_cell(&t, "%u", job->n_racks_needed);
		table_cell(&t, "%u", job->n_extra_fragments);
		table_cell(&t, "%.3f", job->slowdown);
		table_cell(&t, "%.3f", job->slowdown_packed);
		add_share(&t, job->lost_frac);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
print_racks(const struct fragmentation *f, size_t n)
{
	struct table t;

	table_init(&t, (const char *const[]){ "RACK", "%JOBS", "%FRAGMENTS", "%LOST",
					      NULL });
	for (size_t i = 0; i < n; i++) {
		const struct fragmentation_rack *rack = &f->racks[i];

		table_cell(&t, "%s", rack->name);
		table_cell(&t, "%u", rack->n_jobs);
		table_cell(&t, "%u", rack->n_fragments);
		add_share(&t, rack->lost_frac);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
print_left_out(const char *what, size_t n, size_t n_all, bool all)
{
	if (n == n_all)
		return;
	printf("%zu of %zu %s, those that lose most%s\n", n, n_all, what,
	       all ? "" : "; --all shows more");
}

static void
print_text(const struct fragmentation *f, bool all)
{
	size_t n_jobs = f->n_jobs_listed, n_racks = f->n_racks_listed;

	n_jobs = all || n_jobs < FEW_ROWS ? n_jobs : FEW_ROWS;
	n_racks = all || n_racks < FEW_ROWS ? n_racks : FEW_ROWS;
	printf("Fragmentation costs %.1f %% of goodput: %u of %u job%s span%s more "
	       "racks than %s.\n\n",
	       100 * (fabs(f->lost_frac) < NO_SHARE ? 0 : f->lost_frac),
	       f->n_fragmented, f->n_jobs, f->n_jobs == 1 ? "" : "s",
	       f->n_jobs == 1 ? "s" : "", f->n_jobs == 1 ? "needed" : "they need");
	print_jobs(f, n_jobs);
	print_left_out("jobs", n_jobs, f->n_jobs_listed + f->n_jobs_left_out, all);
	putchar('\n');
	print_racks(f, n_racks);
	print_left_out("racks", n_racks, f->n_racks_listed + f->n_racks_left_out, all);
	printf("\nGoodput %.1f %% now, %.1f %% with each job alone in its fewest "
	       "racks\n",
	       100 * f->goodput, 100 * f->goodput_packed);
	if (f->n_unknown)
		printf("%u further running jobs are not counted: their slowdown is not "
		       "known.\n",
		       f->n_unknown);
}

/* Prints the figure, unless there is none.  Returns the exit status. */
static int
show_text(const struct fragmentation *f, const struct args *args)
{
	if (f->n_jobs == 0) {
		fprintf(stderr, "antiphase fragmentation: no job %s\n",
			args->jobs ? "has hosts: give the running jobs 'hosts'"
				   : "of antiphase-scheduler runs with a known "
				     "slowdown; see 'antiphase advice'");
		return CLI_THIN;
	}
	print_text(f, args->all);
	return CLI_OK;
}

/* ---- From files ------------------------------------------------------------------ */

static int
show_files(const struct args *args)
{
	struct fragmentation found = { 0 };
	struct inputs inputs;
	struct err err;
	int error = inputs_load(&inputs, args->fabric, args->jobs, &err), status;

	if (error < 0)
		return cli_fail(error, &err);
	error = fragmentation_of_workload(&inputs.scenario->workload, inputs.topo,
					  inputs.routes, (uint64_t)args->seed, &found);
	if (error < 0) {
		err_set(&err, args->jobs, 0, 0,
			"two hosts of a job cannot reach each other on the fabric; "
			"run 'antiphase topology check'");
		status = cli_fail(error, &err);
	} else if (args->json) {
		struct jsonw w;

		jsonw_document(&w, stdout, FRAGMENTATION_SCHEMA);
		fragmentation_json_put(&found, SIZE_MAX, &w);
		jsonw_end(&w);
		jsonw_finish(&w);
		status = found.n_jobs ? CLI_OK : CLI_THIN;
	} else {
		status = show_text(&found, args);
	}
	fragmentation_fini(&found);
	inputs_fini(&inputs);
	return status;
}

/* ---- From antiphase-scheduler ---------------------------------------------------- */

static int
show_answer(const struct args *args, struct strbuf *body)
{
	struct fragmentation found = { 0 };
	struct err err;
	int status;

	if (fragmentation_json_parse(args->address, body->text, body->length, &found,
				     &err) < 0) {
		err_print(&err, stderr);
		return CLI_UNREACHABLE;
	}
	if (args->json) {
		fputs(body->text, stdout);
		status = found.n_jobs ? CLI_OK : CLI_THIN;
	} else {
		status = show_text(&found, args);
	}
	fragmentation_fini(&found);
	return status;
}

static int
show_live(const struct args *args)
{
	struct strbuf body = STRBUF_EMPTY;
	struct err err = { .line = 0 };
	int http, status = scheduler_api_get(args->address, API_PATH,
					     "the fragmentation", &body, &http, &err);

	if (status != CLI_OK) {
		err_print(&err, stderr);
	} else if (http == 404) {
		fputs("antiphase fragmentation: antiphase-scheduler has no answer yet; "
		      "it needs a fabric (see 'antiphase advice')\n",
		      stderr);
		status = CLI_THIN;
	} else {
		status = show_answer(args, &body);
	}
	strbuf_free(&body);
	return status;
}

/* ---- The verb -------------------------------------------------------------------- */

static int
run_fragmentation(int argc, char **argv)
{
	struct args args = { .address = SCHEDULER_API_ADDRESS, .seed = 1 };
	bool has_address = false;
	const struct cli_opt opts[] = {
		CLI_OPT("fabric", 'f', CLI_STR, &args.fabric, "FILE",
			"the fabric (default: the fabric named in the jobs' file)"),
		CLI_OPT("jobs", 'j', CLI_STR, &args.jobs, "FILE",
			"the jobs (default: those of antiphase-scheduler)"),
		CLI_OPT("seed", 's', CLI_INT, &args.seed, "N",
			"seed of the random choices (default: 1)",
			.max = 9007199254740992.0),
		CLI_OPT("http", 0, CLI_STR, &args.address, "ADDRESS:PORT",
			"address of antiphase-scheduler (default: " SCHEDULER_API_ADDRESS
			")",
			.ret_given = &has_address),
		CLI_OPT("all", 'a', CLI_FLAG, &args.all, NULL,
			"show all jobs and racks"),
		CLI_OPT("json", 0, CLI_FLAG, &args.json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_fragmentation, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (args.jobs && has_address)
		return cli_usage_error(&verb_fragmentation,
				       "--jobs and --http exclude each other");
	if (args.fabric && !args.jobs)
		return cli_usage_error(&verb_fragmentation,
				       "--fabric needs --jobs FILE");
	return cli_finish(args.jobs ? show_files(&args) : show_live(&args));
}

const struct cli_verb verb_fragmentation = {
	.name = "fragmentation",
	.summary = "show what it costs that jobs are scattered over racks",
	.usage =
		"[options]\n"
		"       antiphase fragmentation [--fabric FABRIC] --jobs JOBS [options]",
	.examples = "  antiphase fragmentation\n"
		    "  antiphase fragmentation --jobs jobs.ini\n"
		    "  antiphase fragmentation --fabric fabric.json --jobs jobs.ini "
		    "--json\n",
	.run = run_fragmentation,
	.operands = "; give jobs with --jobs FILE",
};
