/*
 * verb_trace.c - 'antiphase trace': what is in traces of jobs, and parts of them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/newfile.h"
#include "lib/base/words.h"
#include "sim/jobs/joblist.h"
#include "sim/jobs/recipe.h"
#include "sim/jobs/trace_info.h"
#include "sim/trace/columns.h"
#include "sim/verbs.h"

extern const struct cli_verb verb_trace_info, verb_trace_convert, verb_trace_filter,
	verb_trace_make;

static enum jobtrace_format
format_of(const char *name)
{
	return (enum jobtrace_format)words_index(name, jobtrace_format_names);
}

/* clang-format off */
#define FORMAT_OPT(format)                                                      \
	{ .name = "format", .type = CLI_WORDS, .ret_value = (format),          \
	  .argument = "NAME", .help = "of the trace; auto: by its first row",  \
	  .words = jobtrace_format_names }
#define OUT_OPT(out)                                                            \
	{ .name = "output", .letter = 'o', .type = CLI_STR, .ret_value = (out), \
	  .argument = "FILE", .help = "instead of standard output" }

/* clang-format on */

/* ---- Info -------------------------------------------------------------------------------- */

static int
run_info(int argc, char **argv)
{
	const char *format = "auto";
	bool json = false;
	const struct cli_opt opts[] = {
		FORMAT_OPT(&format),
		{ .name = "json",
		  .letter = 'j',
		  .type = CLI_FLAG,
		  .ret_value = &json,
		  .help = "machine-readable: antiphase.trace-info/1" },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_trace_info, opts, argc, argv);
	struct jobs_info info;
	struct err err = { 0 };
	int r;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_info, "expected one trace");
	r = jobs_info_read(argv[first], format_of(format), &info, &err);
	if (r < 0)
		return cli_fail(r, &err);
	if (json)
		jobs_info_json(&info, argv[first], stdout);
	else
		jobs_info_text(&info, argv[first], stdout);
	return cli_finish(CLI_OK);
}

/* ---- Convert and filter -------------------------------------------------------------------- */

/* What is written, and out of what. */
struct source {
	const char *path;
	enum jobtrace_format format;
	const struct joblist_filter *filter; /* NULL: the path is a recipe. */
	uint64_t seed;
};

static int
write_recipe(const struct source *source, FILE *out, struct err *err)
{
	struct jobtrace_job *jobs;
	struct recipe *recipe;
	size_t n;
	int r = recipe_load(source->path, &recipe, err);

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

/* Row by row, of files of any length. */
static int
write_jobs(const struct source *source, FILE *out, uint64_t *ret_n, struct err *err)
{
	const struct joblist_filter *filter = source->filter;
	struct jobtrace_job job;
	struct jobtrace *trace;
	uint64_t n = 0;
	int r;

	r = jobtrace_open(source->path, source->format, &trace, err);
	if (r < 0)
		return r;
	jobtrace_write_header(out);
	while (n < filter->n_head && (r = jobtrace_next(trace, &job, err)) > 0) {
		if (!joblist_filter_passes(filter, &job))
			continue;
		jobtrace_write(out, &job);
		n++;
	}
	joblist_tell_counts(trace, source->path);
	jobtrace_close(trace);
	*ret_n = n;
	return r < 0 ? r : 0;
}

/* What it is written to may be what it is read from. */
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
		"antiphase-sim: %s: no job passes; 'antiphase trace info' says what "
		"jobs there are\n",
		source->path);
	return cli_finish(CLI_NO);
}

static int
run_convert(int argc, char **argv)
{
	const char *format = "auto", *out = NULL;
	const struct cli_opt opts[] = {
		FORMAT_OPT(&format),
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
	return write_to(&(struct source){ argv[first], format_of(format), &filter, 0 },
			out);
}

/* "2017-10-09", with or without a time, or seconds as the trace has them. */
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
	const char *format = "auto", *out = NULL, *from = NULL, *to = NULL;
	int64_t min_gpus = 0, max_gpus = UINT32_MAX, head = INT64_MAX;
	struct joblist_filter filter;
	const struct cli_opt opts[] = {
		{ .name = "min-gpus",
		  .type = CLI_INT,
		  .ret_value = &min_gpus,
		  .argument = "N",
		  .help = "jobs with so many GPUs or more",
		  .min = 0,
		  .max = UINT32_MAX },
		{ .name = "max-gpus",
		  .type = CLI_INT,
		  .ret_value = &max_gpus,
		  .argument = "N",
		  .help = "or fewer",
		  .min = 1,
		  .max = UINT32_MAX },
		{ .name = "min-duration",
		  .type = CLI_NUM,
		  .ret_value = &filter.min_duration_s,
		  .argument = "SECONDS",
		  .help = "that run so long or longer",
		  .min = 0,
		  .max = 1e12 },
		{ .name = "max-duration",
		  .type = CLI_NUM,
		  .ret_value = &filter.max_duration_s,
		  .argument = "SECONDS",
		  .help = "or shorter",
		  .min = 0,
		  .max = 1e12 },
		{ .name = "from",
		  .type = CLI_STR,
		  .ret_value = &from,
		  .argument = "TIME",
		  .help = "submitted then or later: YYYY-MM-DD, that and HH:MM:SS, or "
			  "seconds on the clock of the trace" },
		{ .name = "to",
		  .type = CLI_STR,
		  .ret_value = &to,
		  .argument = "TIME",
		  .help = "submitted before" },
		{ .name = "vc",
		  .type = CLI_STR,
		  .ret_value = &filter.vc,
		  .argument = "NAME",
		  .help = "of that virtual cluster" },
		{ .name = "head",
		  .letter = 'n',
		  .type = CLI_INT,
		  .ret_value = &head,
		  .argument = "N",
		  .help = "the first N that pass",
		  .min = 0,
		  .max = 1e15 },
		FORMAT_OPT(&format),
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
				       "no job can be between those: what is from has "
				       "to be below what is to");
	filter.min_gpus = (uint32_t)min_gpus;
	filter.max_gpus = (uint32_t)max_gpus;
	filter.n_head = (uint64_t)head;
	return write_to(&(struct source){ argv[first], format_of(format), &filter, 0 },
			out);
}

static int
run_make(int argc, char **argv)
{
	const char *out = NULL;
	int64_t seed = 1;
	const struct cli_opt opts[] = {
		{ .name = "seed",
		  .letter = 's',
		  .type = CLI_INT,
		  .ret_value = &seed,
		  .argument = "N",
		  .help = "of what is drawn",
		  .min = 0,
		  .max = 1e15 },
		OUT_OPT(&out),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_trace_make, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_trace_make, "expected one recipe");
	return write_to(&(struct source){ .path = argv[first], .seed = (uint64_t)seed },
			out);
}

const struct cli_verb verb_trace_info = {
	.name = "trace info",
	.summary = "what is in a trace: jobs, sizes, span, load",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace info jobs.csv\n",
	.run = run_info,
};
const struct cli_verb verb_trace_convert = {
	.name = "trace convert",
	.summary = "a trace of any known format as CSV",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace convert philly.csv.gz -o jobs.csv\n",
	.run = run_convert,
};
const struct cli_verb verb_trace_filter = {
	.name = "trace filter",
	.summary = "some jobs of a trace, as CSV",
	.usage = "[options] TRACE",
	.examples = "  antiphase trace filter jobs.csv --min-gpus 4 --head 100\n",
	.run = run_filter,
};

const struct cli_verb verb_trace_make = {
	.name = "trace make",
	.summary = "jobs drawn by a recipe, as CSV",
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
