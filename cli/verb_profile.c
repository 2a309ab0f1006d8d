/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_profile.c - 'antiphase profile': the traffic of one iteration of a job.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen.h"
#include "cli/sparkline.h"
#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/name.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/core/profile/detect.h"
#include "scheduler/core/profile/profile_json.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define SKETCH_COLUMNS 64
#define MAX_SECONDS    1e9

struct args {
	const char *job;      /* NULL: all. */
	const char *name;     /* NULL: as in the capture. */
	struct cli_list from; /* Seconds with captures, else sources of telemetry. */
	const char *keys;     /* Of a bus; NULL: none. */
	double from_s, for_s; /* Negative: not given. */
	bool json;
	const char *output; /* NULL: none. */
};

/* Results, in the order of the files and of the jobs in each. */
struct results {
	VEC(struct detection) found; /* Owned. */
	VEC(double) seconds;         /* Length of traffic examined for each. */
	struct strtab *names;        /* Owned.  Jobs of 'found'. */
	unsigned n_refused;
};

static void
results_fini(struct results *results)
{
	for (size_t i = 0; i < results->found.n; i++)
		detection_fini(&results->found.items[i]);
	vec_free(&results->found);
	vec_free(&results->seconds);
	strtab_free(results->names);
}

/* ---- Reading ------------------------------------------------------------------ */

/* Two files may both have a job "1": the second becomes "1 (2)", and so on. */
static void
add_found(struct results *results, struct detection *detection, double seconds)
{
	struct profile *profile = &detection->profile;
	char *name = xstrdup(profile->job);

	for (unsigned i = 2; strtab_find(results->names, profile->job) != STRTAB_NONE;
	     i++) {
		free(profile->job);
		profile->job = xasprintf("%s (%u)", name, i);
	}
	free(name);
	strtab_intern(results->names, profile->job);
	vec_push(&results->found, *detection);
	vec_push(&results->seconds, seconds);
}

/* Profiles one job; a refusal is printed at once and counted. */
static int
profile_job(const struct args *args, const char *path, const struct capture *capture,
	    uint32_t job, struct results *results, struct err *err)
{
	struct series_set set;
	struct detection detection;
	int error = capture_series(capture, job, args->from_s, args->for_s, &set, err);

	if (error == 0) {
		error = detect_profile(
			&set, path, args->name ? args->name : capture_job(capture, job),
			&detection, err);
		if (error == 0)
			add_found(results, &detection, (double)set.n_buckets / 1e3);
		else if (error == -ENODATA)
			err_append(err, " (--from and --for choose another part)");
		series_fini(&set);
	}
	if (error == -ENODATA) {
		err_print(err, stderr);
		results->n_refused++;
		return 0;
	}
	return error;
}

/* Fails for a --job that the file does not have. */
static int
no_such_job(const char *path, const struct capture *capture, const char *job,
	    struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;

	for (uint32_t i = 0; i < capture_n_jobs(capture); i++)
		vec_push(&names, capture_job(capture, i));
	vec_push(&names, NULL);
	err_set(err, path, 0, 0, "no job '%s' among the %u of this capture", job,
		capture_n_jobs(capture));
	err_suggest(err, job, names.items);
	vec_free(&names);
	return -EINVAL;
}

static int
profile_capture(const struct args *args, const char *path,
		const struct capture *capture, struct results *results, struct err *err)
{
	uint32_t first = 0, end = capture_n_jobs(capture);

	if (args->job) {
		first = capture_find_job(capture, args->job);
		if (first == CAPTURE_NO_JOB)
			return no_such_job(path, capture, args->job, err);
		end = first + 1;
	}
	if (args->name && end - first > 1)
		return err_set(
			err, path, 0, 0,
			"--name needs one job, this capture has %u; select one with "
			"--job",
			end - first);
	for (uint32_t job = first; job < end; job++) {
		int error = profile_job(args, path, capture, job, results, err);

		if (error < 0)
			return error;
	}
	return 0;
}

static int
profile_file(const struct args *args, const char *path, struct results *results,
	     struct err *err)
{
	struct capture *capture;
	char *text;
	size_t length;
	int error = file_read(path, CAPTURE_CSV_MAX_BYTES, &text, &length, err);

	if (error < 0)
		return error;

	error = capture_csv_parse(path, text, length, &capture, err);
	free(text);
	if (error < 0)
		return error;

	error = profile_capture(args, path, capture, results, err);
	capture_free(capture);
	return error;
}

/* ---- Running jobs ---------------------------------------------------------------- */

/* Adds a job's newest profile, or prints why it has none. */
static void
add_running(const struct args *args, const struct screen *screen,
	    const struct profiled_job *job, struct results *results)
{
	const struct detection *seen = &job->detection;
	struct detection copy = *seen;

	if (!job->has_estimate || job->why) {
		fprintf(stderr, "antiphase: job '%s': no profile: %s\n",
			live_job_name(screen->live, job->job),
			job->why ? job->why : "too little of its traffic was seen");
		results->n_refused++;
		return;
	}
	profile_copy(&seen->profile, &copy.profile);
	copy.fold_bps = xmemdup(seen->fold_bps, seen->n_fold, sizeof *seen->fold_bps);
	if (args->name) {
		free(copy.profile.job);
		copy.profile.job = xstrdup(args->name);
	}
	add_found(results, &copy, job->window_ms / 1e3);
}

/* Profiles the running jobs, from telemetry.  Returns the exit status. */
static int
profile_running(const struct args *args, struct results *results)
{
	const struct screen_opts opts = { .from = args->from, .keys = args->keys };
	uint32_t least_ms = args->for_s > 0 ? (uint32_t)(args->for_s * 1e3)
					    : JOB_PROFILER_MIN_WINDOW_MS;
	struct screen screen;
	size_t n = 0, n_found = 0;
	const struct profiled_job *const *jobs = NULL;
	int status = screen_open(&screen, &verb_profile, &opts, false);

	if (status == CLI_OK)
		status = screen_gather(&screen, least_ms);
	if (status == CLI_OK)
		jobs = job_profiler_jobs(screen.profiler, &n);
	if (args->name && !args->job && n > 1)
		status = cli_usage_error(
			&verb_profile,
			"--name needs one job, there are %zu; select one with --job",
			n);
	for (size_t i = 0; i < n && status == CLI_OK; i++) {
		if (args->job &&
		    strcmp(args->job, live_job_name(screen.live, jobs[i]->job)) != 0)
			continue;
		add_running(args, &screen, jobs[i], results);
		n_found++;
	}
	if (status == CLI_OK && args->job && !n_found)
		status = screen_unknown_job(&screen, args->job);
	else if (status == CLI_OK && !n_found)
		results->n_refused++; /* Without traffic of any job there is no profile. */
	screen_close(&screen);
	return status;
}

/* ---- Printing for people ------------------------------------------------------ */

static void
print_summary(const struct results *results)
{
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "%PERIOD", "%JITTER",
					      "%ITERATIONS", "%BYTES/ITERATION",
					      "%MEAN", "%PEAK", "%CONFIDENCE", NULL });
	for (size_t i = 0; i < results->found.n; i++) {
		const struct profile *p = &results->found.items[i].profile;

		table_cell(&t, "%s", p->job);
		table_cell(&t, "%.1f ms", (double)p->period_us / 1e3);
		table_cell(&t, "%.1f ms", (double)p->jitter_us / 1e3);
		table_cell(&t, "%lld", (long long)p->n_iterations);
		table_cell(&t, "%.2f MB", p->bytes_per_iteration / 1e6);
		table_cell(&t, "%.2f Gb/s", profile_mean_bps(p) / 1e9);
		table_cell(&t, "%.2f Gb/s", profile_peak_bps(p) / 1e9);
		table_cell(&t, "%.2f", p->confidence);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
print_phases(const struct profile *p)
{
	struct table t;

	table_init(&t, (const char *const[]){ "%  PHASE", "%START", "%DURATION",
					      "%RATE", "%BYTES", NULL });
	for (size_t i = 0; i < p->n_phases; i++) {
		const struct profile_phase *phase = &p->phases[i];

		table_cell(&t, "%zu", i + 1);
		table_cell(&t, "%.1f ms", (double)phase->start_us / 1e3);
		table_cell(&t, "%.1f ms", (double)phase->duration_us / 1e3);
		table_cell(&t, "%.2f Gb/s", phase->rate_bps / 1e9);
		table_cell(&t, "%.2f MB",
			   phase->rate_bps * (double)phase->duration_us / 8e12);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
print_people(const struct results *results)
{
	print_summary(results);
	for (size_t i = 0; i < results->found.n; i++) {
		const struct detection *d = &results->found.items[i];
		struct strbuf sketch = STRBUF_EMPTY;
		double highest_bps;

		printf("\nJob %s: mean of %lld iteration%s in %.1f s; rates of one "
		       "interface in one direction:\n",
		       d->profile.job, (long long)d->profile.n_iterations,
		       words_plural((uint64_t)d->profile.n_iterations),
		       results->seconds.items[i]);
		highest_bps = sparkline_sketch(d->fold_bps, d->n_fold, SKETCH_COLUMNS,
					       &sketch);
		printf("%s%.2f Gb/s\n", sketch.text, highest_bps / 1e9);
		strbuf_free(&sketch);
		print_phases(&d->profile);
	}
}

/* ---- Profile files ------------------------------------------------------------ */

/* The text of a profile file; free with free(). */
static char *
profiles_text(const struct results *results, size_t *ret_length)
{
	struct profile_list list = { 0 };
	char *text;

	for (size_t i = 0; i < results->found.n; i++) {
		struct profile copy;

		profile_copy(&results->found.items[i].profile, &copy);
		profile_list_take(&list, &copy);
	}
	text = profile_json_text(&list, ret_length);
	profile_list_fini(&list);
	return text;
}

/*
 * Prints the results.  Without results no file is written; the JSON is an empty array.
 */
static int
answer(const struct args *args, const struct results *results)
{
	bool is_empty = results->found.n == 0;
	struct err err;
	size_t length;
	char *text = profiles_text(results, &length);
	int error = 0;

	if (args->output && !is_empty)
		error = file_write(args->output, text, length, &err);
	if (error < 0)
		err_print(&err, stderr);
	else if (args->json)
		fwrite(text, 1, length, stdout);
	else if (!is_empty)
		print_people(results);
	free(text);
	if (error < 0)
		return CLI_USAGE;
	return cli_finish(results->n_refused ? CLI_THIN : CLI_OK);
}

/* With captures, --from is a time in them.  Returns CLI_OK or CLI_USAGE. */
static int
take_from(struct args *args)
{
	char *end;

	if (args->from.n == 0)
		return CLI_OK;
	args->from_s = strtod(args->from.items[args->from.n - 1], &end);
	if (end != args->from.items[args->from.n - 1] && !*end && args->from_s >= 0 &&
	    args->from_s <= MAX_SECONDS)
		return CLI_OK;
	return cli_usage_error(
		&verb_profile,
		"--from is '%s', expected a number from 0 to 1e9: seconds "
		"into the captures (without captures: a bus or a recording)",
		args->from.items[args->from.n - 1]);
}

/* Profiles the captures argv[first ..]. */
static int
profile_files(struct args *args, int first, int argc, char **argv,
	      struct results *results)
{
	int status = take_from(args);

	for (int i = first; i < argc && status == CLI_OK; i++) {
		struct err err;
		int error = profile_file(args, argv[i], results, &err);

		if (error < 0)
			status = cli_fail(error, &err);
	}
	return status;
}

static int
run_profile(int argc, char **argv)
{
	struct args args = { .from_s = -1, .for_s = -1 };
	const struct cli_opt opts[] = {
		CLI_OPT("job", 'J', CLI_STR, &args.job, "JOB",
			"only this job of each file"),
		CLI_OPT("from", 0, CLI_LIST, &args.from, "S|SOURCE",
			"start S seconds after the file's first row; without FILE: "
			"profile the running jobs, from a bus or a recording"),
		CLI_OPT("for", 0, CLI_NUM, &args.for_s, "S",
			"examine S seconds; with a bus, listen S seconds (default: 10)",
			.max = MAX_SECONDS),
		CLI_OPT("keys", 0, CLI_STR, &args.keys, "DIR",
			"directory of CURVE keys, for a bus on another machine"),
		CLI_OPT("name", 'n', CLI_STR, &args.name, "NAME",
			"name of the job in the output"),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"print the profile file (antiphase.profiles/1)"),
		CLI_OPT("output", 'o', CLI_STR, &args.output, "FILE",
			"also write the profile file to FILE"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_profile, opts, argc, argv), status;
	const char *fault;
	struct results results = { .found = VEC_EMPTY };

	if (first < 0)
		return cli_status(first);
	fault = args.name ? name_fault(args.name) : NULL;
	if (fault)
		return cli_usage_error(&verb_profile, "--name: expected %s", fault);
	if (first == argc && !args.from.n)
		return cli_usage_error(
			&verb_profile,
			"expected a capture FILE, or --from SOURCE for the running "
			"jobs");

	results.names = strtab_new();
	status = first == argc ? profile_running(&args, &results)
			       : profile_files(&args, first, argc, argv, &results);
	if (status == CLI_OK)
		status = answer(&args, &results);
	results_fini(&results);
	return status;
}

const struct cli_verb verb_profile = {
	.name = "profile",
	.summary = "find the iterations of jobs in their traffic",
	.usage = "[options] FILE...\n"
		 "       antiphase profile [options] --from SOURCE",
	.examples = "  antiphase profile mpi-4rank-16MB.csv.xz\n"
		    "  antiphase profile --from 5 --for 10 mpi-4rank-16MB.csv.xz\n"
		    "  antiphase profile --name llm --json mpi-4rank-16MB.csv.xz "
		    ">llm.json\n"
		    "  antiphase profile --from tcp://127.0.0.1:7461 -o running.json\n",
	.run = run_profile,
};
