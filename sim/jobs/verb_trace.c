/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_trace.c - 'antiphase trace': summarize, convert, filter and generate job traces.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/newfile.h"
#include "lib/base/words.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/recipe.h"
#include "sim/jobs/trace_info.h"
#include "sim/trace/columns.h"
#include "sim/verbs.h"

static const struct cli_verb verb_trace_info, verb_trace_convert, verb_trace_filter,
	verb_trace_make;

static enum jobtrace_format
format_of(const char *name)
{
	return (enum jobtrace_format)words_index(name, jobtrace_format_names);
}

/* clang-format off */
#define FORMAT_OPT(format)                                                              \
	CLI_OPT("format", 0, CLI_WORDS, format, "NAME",                                 \
		"format of the trace; auto: detect it from the first row",              \
		.words = jobtrace_format_names)
#define INSTANCES_OPT(path)                                                             \
	CLI_OPT("instances", 0, CLI_STR, path, "FILE",                                  \
		"pai_instance_table of a pai-2020 trace: when and where its tasks ran")
#define OUT_OPT(out)                                                                    \
	CLI_OPT("output", 'o', CLI_STR, out, "FILE",                                    \
		"output file; default: standard output")

/* clang-format on */

/* A trace and how to read it. */
struct input {
	const char *path, *instances; /* The latter may be NULL. */
	enum jobtrace_format format;
};

/* Also reports on the joined table. */
static int
open_trace(const struct input *input, struct jobtrace **ret_trace, struct err *err)
{
	int r = jobtrace_open(input->path, input->format, ret_trace, err);

	if (r < 0 || !input->instances)
		return r;
	r = jobtrace_join(*ret_trace, input->instances, err);
	if (r < 0)
		jobtrace_close(*ret_trace);
	else
		joblist_report_trace(jobtrace_joined(*ret_trace), input->instances);
	return r;
}

/* ---- Info ------------------------------------------------------------------------ */

static int
run_info(int argc, char **argv)
{
	const char *format = "auto", *instances = NULL;
	bool json = false;
	const struct cli_opt opts[] = {
		FORMAT_OPT(&format),
		INSTANCES_OPT(&instances),
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL,
			"machine-readable: antiphase.trace_info/2"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_trace_info, opts, argc, argv);
	struct jobtrace *trace;
	struct trace_info info;
	struct err err = { 0 };
	int r;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_info, "expected one trace");
	r = open_trace(&(struct input){ argv[first], instances, format_of(format) },
		       &trace, &err);
	if (r < 0)
		return cli_fail(r, &err);
	r = trace_info_read(trace, argv[first], &info, &err);
	jobtrace_close(trace);
	if (r < 0)
		return cli_fail(r, &err);
	if (json)
		trace_info_json(&info, argv[first], stdout);
	else
		trace_info_text(&info, argv[first], stdout);
	return cli_finish(CLI_OK);
}

/* ---- Convert and filter ---------------------------------------------------------- */

/* The input and its filter. */
struct source {
	struct input input;
	const struct joblist_filter *filter; /* NULL: the path is a recipe. */
	uint64_t seed;
};

static int
write_recipe(const struct source *source, FILE *out, struct err *err)
{
	struct jobtrace_job *jobs;
	struct recipe *recipe;
	size_t n;
	int r = recipe_load(source->input.path, &recipe, err);

	if (r < 0)
		return r;
	jobs = recipe_make(recipe, source->seed, &n);
	jobtrace_write_header(out);
	for (size_t i = 0; i < n; i++)
		jobtrace_write(out, &jobs[i]);
	free(jobs);
	recipe_free(recipe);
	return 0;
}

/* Writes row by row: files may have any length. */
static int
write_jobs(const struct source *source, FILE *out, uint64_t *ret_n, struct err *err)
{
	const struct joblist_filter *filter = source->filter;
	struct jobtrace_job job;
	struct jobtrace *trace;
	uint64_t n = 0;
	int r;

	r = open_trace(&source->input, &trace, err);
	if (r < 0)
		return r;
	jobtrace_write_header(out);
	while (n < filter->n_head && (r = jobtrace_next(trace, &job, err)) > 0) {
		if (!joblist_filter_passes(filter, &job))
			continue;
		jobtrace_write(out, &job);
		n++;
	}
	joblist_report_trace(trace, source->input.path);
	jobtrace_close(trace);
	*ret_n = n;
	return r < 0 ? r : 0;
}

/* The output may be the input file. */
static int
write_to(const struct source *source, const char *out_path)
{
	struct newfile file = { .out = stdout };
	struct err err = { 0 };
	uint64_t n = 0;
	int r = out_path ? newfile_open(out_path, &file, &err) : 0;

	if (r < 0)
		return cli_fail(r, &err);
	r = source->filter ? write_jobs(source, file.out, &n, &err)
			   : write_recipe(source, file.out, &err);
	if (out_path)
		r = newfile_finish(&file, r, &err);
	if (r < 0)
		return cli_fail(r, &err);
	if (n || !source->filter || !source->filter->n_head)
		return cli_finish(CLI_OK);
	fprintf(stderr,
		"%s: %s: no job matches; see "
		"'antiphase trace info'\n",
		log_program(), source->input.path);
	return cli_finish(CLI_NO);
}

static int
run_convert(int argc, char **argv)
{
	const char *format = "auto", *instances = NULL, *out = NULL;
	const struct cli_opt opts[] = {
		FORMAT_OPT(&format),
		INSTANCES_OPT(&instances),
		OUT_OPT(&out),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_trace_convert, opts, argc, argv);
	struct joblist_filter filter;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_convert, "expected one trace");
	joblist_filter_init(&filter);
	return write_to(&(struct source){ { argv[first], instances, format_of(format) },
					  &filter,
					  0 },
			out);
}

/* Reads "2017-10-09", with or without a time, or seconds on the trace's clock. */
static bool
read_time(const char *text, double *ret_s)
{
	char whole[32];

	if (!text)
		return true;
	if (strlen(text) == strlen("YYYY-MM-DD") && strchr(text, '-')) {
		snprintf(whole, sizeof whole, "%s 00:00:00", text);
		text = whole;
	}
	return columns_time(text, ret_s) && !isnan(*ret_s);
}

static int
run_filter(int argc, char **argv)
{
	const char *format = "auto", *instances = NULL, *out = NULL;
	const char *from = NULL, *to = NULL;
	int64_t min_gpus = 0, max_gpus = UINT32_MAX, head = INT64_MAX;
	struct joblist_filter filter;
	const struct cli_opt opts[] = {
		CLI_OPT("min-gpus", 0, CLI_INT, &min_gpus, "N",
			"jobs with at least N GPUs", .min = 0, .max = UINT32_MAX),
		CLI_OPT("max-gpus", 0, CLI_INT, &max_gpus, "N",
			"jobs with at most N GPUs", .min = 1, .max = UINT32_MAX),
		CLI_OPT("min-duration", 0, CLI_NUM, &filter.min_duration_s, "SECONDS",
			"jobs of at least this duration", .min = 0, .max = 1e12),
		CLI_OPT("max-duration", 0, CLI_NUM, &filter.max_duration_s, "SECONDS",
			"jobs of at most this duration", .min = 0, .max = 1e12),
		CLI_OPT("from", 0, CLI_STR, &from, "TIME",
			"jobs submitted at or after TIME: YYYY-MM-DD, YYYY-MM-DD "
			"HH:MM:SS, or seconds on the clock of the trace"),
		CLI_OPT("to", 0, CLI_STR, &to, "TIME", "jobs submitted before TIME"),
		CLI_OPT("vc", 0, CLI_STR, &filter.vc, "NAME",
			"jobs of a virtual cluster"),
		CLI_OPT("head", 'n', CLI_INT, &head, "N", "at most the first N of them",
			.min = 0, .max = 1e15),
		FORMAT_OPT(&format),
		INSTANCES_OPT(&instances),
		OUT_OPT(&out),
		CLI_OPTS_END,
	};
	int first;

	joblist_filter_init(&filter);
	first = cli_parse(&verb_trace_filter, opts, argc, argv);
	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_filter, "expected one trace");
	if (!read_time(from, &filter.from_s) || !read_time(to, &filter.to_s))
		return cli_usage_error(&verb_trace_filter,
				       "--from and --to are YYYY-MM-DD, 'YYYY-MM-DD "
				       "HH:MM:SS' or seconds");
	if (min_gpus > max_gpus || filter.min_duration_s > filter.max_duration_s ||
	    filter.from_s >= filter.to_s)
		return cli_usage_error(&verb_trace_filter,
				       "no job can match: each lower bound must be "
				       "below its upper bound");
	filter.min_gpus = (uint32_t)min_gpus;
	filter.max_gpus = (uint32_t)max_gpus;
	filter.n_head = (uint64_t)head;
	return write_to(&(struct source){ { argv[first], instances, format_of(format) },
					  &filter,
					  0 },
			out);
}

static int
run_make(int argc, char **argv)
{
	const char *out = NULL;
	int64_t seed = 1;
	const struct cli_opt opts[] = {
		CLI_OPT("seed", 's', CLI_INT, &seed, "N", "seed of the generator",
			.min = 0, .max = 1e15),
		OUT_OPT(&out),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_trace_make, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_make, "expected one recipe");
	return write_to(
		&(struct source){ .input.path = argv[first], .seed = (uint64_t)seed },
		out);
}

static const struct cli_verb verb_trace_info = {
	.name = "trace info",
	.summary = "summarize a trace: jobs, sizes, span, load",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace info jobs.csv\n",
	.run = run_info,
};
static const struct cli_verb verb_trace_convert = {
	.name = "trace convert",
	.summary = "convert a trace of any known format to CSV",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace convert philly.csv.gz -o jobs.csv\n",
	.run = run_convert,
};
static const struct cli_verb verb_trace_filter = {
	.name = "trace filter",
	.summary = "select jobs of a trace, as CSV",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace filter jobs.csv --min-gpus 4 --head 100\n",
	.run = run_filter,
};

static const struct cli_verb verb_trace_make = {
	.name = "trace make",
	.summary = "generate jobs from a recipe, as CSV",
	.usage = "[options] RECIPE.ini",
	.examples = "  antiphase trace make studies/poisson-24.ini --seed 7\n",
	.run = run_make,
};

static const struct cli_verb *const subverbs[] = {
	&verb_trace_info,
	&verb_trace_convert,
	&verb_trace_filter,
	&verb_trace_make,
	NULL,
};

static int
run_trace(int argc, char **argv)
{
	return cli_subverbs(&verb_trace, subverbs, argc, argv);
}

const struct cli_verb verb_trace = {
	.name = "trace",
	.summary = "traces of jobs: info, convert, filter, make",
	.usage = "VERB [options] TRACE",
	.examples = "  antiphase trace info jobs.csv\n"
		    "  antiphase trace filter jobs.csv --min-gpus 4\n",
	.run = run_trace,
};
