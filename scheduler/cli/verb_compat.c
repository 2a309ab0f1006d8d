/*
 * verb_compat.c - 'antiphase compat': would these jobs get along on one link?
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "scheduler/cli/verbs.h"
#include "scheduler/core/circle_svg.h"
#include "scheduler/core/compat.h"
#include "scheduler/core/profile_json.h"

/* More jobs than any link carries; the solvers take seconds for this many. */
#define MAX_JOBS   64
#define MAX_FACTOR 1e6

struct args {
	double capacity_gbps;
	bool has_capacity;
	const char *solver;
	const char *factors; /* "2" or "1,2,1"; NULL: 1. */
	int64_t seed;
	double min_score;
	bool json;
	const char *svg_before, *svg_after; /* NULL: none. */
};

/* The jobs asked about: their profiles, under names that differ. */
struct jobs {
	struct profile_list profiles; /* Owned. */
	VEC(struct compat_job) list;
};

static void
jobs_fini(struct jobs *jobs)
{
	profile_list_fini(&jobs->profiles);
	vec_free(&jobs->list);
}

/* ---- Reading ------------------------------------------------------------------ */

/* "a" becomes "a (2)" if there is an "a" already, and so on. */
static void
make_name_unique(const struct profile_list *list, struct profile *profile)
{
	char *name = profile->job;

	for (unsigned i = 2; profile_list_find(list, profile->job) != NULL; i++) {
		if (profile->job != name)
			free(profile->job);
		profile->job = xasprintf("%s (%u)", name, i);
	}
	if (profile->job != name)
		free(name);
}

/* Moves the profile of 'wanted', or all if it is NULL, from 'file' to 'jobs'. */
static int
take_jobs(struct jobs *jobs, const char *path, const char *wanted,
	  struct profile_list *file, struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;
	bool found = false;
	int error = 0;

	for (size_t i = 0; i < file->n; i++) {
		struct profile *profile = &file->items[i];

		if (wanted != NULL && strcmp(profile->job, wanted) != 0)
			continue;
		found = true;
		make_name_unique(&jobs->profiles, profile);
		profile_list_take(&jobs->profiles, profile);
	}
	if (!found && wanted != NULL) {
		for (size_t i = 0; i < file->n; i++)
			vec_push(&names, file->items[i].job);
		vec_push(&names, NULL);
		error = err_set(err, path, 0, 0, "there is no job '%s' in it", wanted);
		err_suggest(err, wanted, names.items);
		vec_free(&names);
	}
	return error;
}

/* Reads an operand, PATH or PATH#JOB. */
static int
read_operand(struct jobs *jobs, const char *operand, struct err *err)
{
	const char *hash = strrchr(operand, '#');
	struct profile_list file = { 0 };
	char *path, *text = NULL;
	size_t length;
	int error;

	/* A file may have a # in its name. */
	if (hash != NULL && access(operand, F_OK) == 0)
		hash = NULL;
	path = hash != NULL ? xstrndup(operand, (size_t)(hash - operand))
			    : xstrdup(operand);

	error = file_read(path, PROFILE_JSON_MAX_BYTES, &text, &length, err);
	if (error < 0)
		goto out;
	error = profile_json_parse(path, text, length, &file, err);
	if (error < 0)
		goto out;
	error = take_jobs(jobs, path, hash != NULL ? hash + 1 : NULL, &file, err);
out:
	profile_list_fini(&file);
	free(text);
	free(path);
	return error;
}

/* Fills factors[0 .. n) from "F" or "F1,F2,..."; false if that is not what it is. */
static bool
parse_factors(const char *text, size_t n, double *factors)
{
	size_t n_given = 0;
	char *end;

	for (const char *at = text;; at = end + 1) {
		double factor = strtod(at, &end);

		if (end == at || (*end != ',' && *end != '\0') || !(factor > 0) ||
		    factor > MAX_FACTOR || n_given == n)
			return false;
		factors[n_given++] = factor;
		if (*end == '\0')
			break;
	}
	for (size_t j = n_given; n_given == 1 && j < n; j++)
		factors[j] = factors[0];
	return n_given == 1 || n_given == n;
}

/* Makes the list of jobs from the profiles; returns an exit status. */
static int
list_jobs(struct jobs *jobs, const struct args *args)
{
	double factors[MAX_JOBS];
	size_t n = jobs->profiles.n;

	if (n < 2)
		return cli_usage_error(&verb_compat,
				       "at least two jobs are needed, and there is %s",
				       n == 0 ? "none" : "only one");
	if (n > MAX_JOBS)
		return cli_usage_error(
			&verb_compat,
			"%zu jobs are too many (at most %d); choose some "
			"as FILE#JOB",
			n, MAX_JOBS);
	if (!parse_factors(args->factors != NULL ? args->factors : "1", n, factors))
		return cli_usage_error(
			&verb_compat,
			"--factor '%s' is neither one number above 0 nor "
			"%zu of them with commas, one a job",
			args->factors, n);
	for (size_t j = 0; j < n; j++)
		vec_push(&jobs->list,
			 ((struct compat_job){ &jobs->profiles.items[j], factors[j] }));
	return CLI_OK;
}

/* ---- Answering ---------------------------------------------------------------- */

static void
print_json(const struct args *args, const struct jobs *jobs,
	   const struct compat *compat)
{
	struct jsonw w;

	jsonw_init(&w, stdout);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "schema", "antiphase.compat/1");
	jsonw_num(&w, "capacity_gbps", args->capacity_gbps);
	jsonw_str(&w, "solver", args->solver);
	jsonw_rounded(&w, "score", compat->score, 9);
	jsonw_rounded(&w, "mean_excess_gbps", compat->excess_bps / 1e9, 9);
	jsonw_array(&w, "jobs");
	for (size_t j = 0; j < jobs->list.n; j++) {
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "job", jobs->list.items[j].profile->job);
		jsonw_int(&w, "shift_us", compat->shift_us[j]);
		jsonw_int(&w, "slack_us", compat->slack_us[j]);
		jsonw_int(&w, "period_us", jobs->list.items[j].profile->period_us);
		jsonw_num(&w, "factor", jobs->list.items[j].factor);
		jsonw_rounded(&w, "score_gain_bound", compat->job_bound_frac[j], 9);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_str(&w, "reason", reason_name(compat->reason));
	jsonw_rounded(&w, "score_unshifted", compat->score_before, 9);
	jsonw_rounded(&w, "score_chance", compat->score_chance, 9);
	jsonw_rounded(&w, "score_gain_bound", compat->bound_frac, 9);
	if (isnan(compat->grid_score))
		jsonw_null(&w, "grid_score");
	else
		jsonw_rounded(&w, "grid_score", compat->grid_score, 9);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
print_jobs(const struct jobs *jobs, const struct compat *compat)
{
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "%PERIOD ms", "%PEAK Gb/s",
					      "%MEAN Gb/s", "%SHIFT ms", "%SLACK ms",
					      NULL });
	for (size_t j = 0; j < jobs->list.n; j++) {
		const struct compat_job *job = &jobs->list.items[j];

		table_cell(&t, "%s", job->profile->job);
		table_cell(&t, "%.3f", (double)job->profile->period_us / 1e3);
		table_cell(&t, "%.3f",
			   profile_peak_bps(job->profile) * job->factor / 1e9);
		table_cell(&t, "%.3f",
			   profile_mean_bps(job->profile) * job->factor / 1e9);
		table_cell(&t, "%.3f", (double)compat->shift_us[j] / 1e3);
		if (isnan(compat->grid_score))
			table_cell(&t, "%.3f", (double)compat->slack_us[j] / 1e3);
		else
			table_cell(&t, "-"); /* CASSINI knows none. */
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
add_score_row(struct table *t, const char *what, double score, double excess_bps)
{
	table_cell(t, "%s", what);
	table_cell(t, "%.4f", score);
	table_cell(t, "%.4f", excess_bps / 1e9);
}

static void
print_scores(const struct compat *compat)
{
	struct table t;

	table_init(&t, (const char *const[]){ "SHIFTS", "%SCORE", "%MEAN EXCESS Gb/s",
					      NULL });
	add_score_row(&t, "none: all start together", compat->score_before,
		      compat->excess_before_bps);
	add_score_row(&t, "left to chance, on average", compat->score_chance,
		      compat->excess_chance_bps);
	add_score_row(&t, "as above", compat->score, compat->excess_bps);
	table_print(&t, stdout);
	table_fini(&t);
}

/* Half the room that the job with the least has. */
static int64_t
least_slack_us(const struct compat *compat)
{
	int64_t least_us = INT64_MAX;

	for (size_t j = 0; j < compat->n_jobs; j++)
		if (compat->slack_us[j] < least_us)
			least_us = compat->slack_us[j];
	return least_us;
}

/* Prints 'text', at most 79 columns a line. */
static void
print_wrapped(const char *text)
{
	size_t column = 0;

	for (;;) {
		size_t length = strcspn(text, " ");

		if (column > 0 && column + 1 + length > 79) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column > 0 ? " " : "", (int)length,
					 text);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	putchar('\n');
}

/* Names the jobs whose own shift cannot matter, unless that goes for all. */
static void
add_worthless_jobs(struct strbuf *text, const struct jobs *jobs,
		   const struct compat *compat)
{
	size_t n = 0;

	for (size_t j = 0; j < compat->n_jobs; j++) {
		if (!(compat->job_bound_frac[j] < COMPAT_WORTHLESS_FRAC))
			continue;
		strbuf_printf(
			text, "%s%s",
			n++ == 0 ? " Shifting is provably worthless (g/4 bound) for "
				 : ", ",
			jobs->list.items[j].profile->job);
	}
	if (n > 0)
		strbuf_puts(text, ".");
}

/* What it means, in words. */
static void
print_verdict(const struct jobs *jobs, const struct compat *compat)
{
	struct strbuf text = STRBUF_EMPTY;
	int64_t slack_us = least_slack_us(compat);

	switch (compat->reason) {
	case REASON_FITS:
		strbuf_puts(&text, "No shift is needed: even all peaks together do not "
				   "exceed the link.");
		break;
	case REASON_INTERLEAVED:
		strbuf_puts(&text, "At these shifts the bursts fit side by side.");
		if (slack_us > 0)
			strbuf_printf(&text,
				      " Any one job may be early or late by %.3f ms "
				      "before that is lost.",
				      (double)slack_us / 1e3);
		break;
	case REASON_PERIODS_UNRELATED:
		strbuf_printf(
			&text,
			"Shifting is provably worthless here: the iteration times "
			"have so small a common measure that no shifts can better "
			"the score by more than %.4f over chance (g/4 bound).",
			compat->bound_frac);
		break;
	case REASON_REDUCED:
		strbuf_puts(&text,
			    "The bursts do not all fit side by side; these shifts "
			    "take off a part of the excess.");
		add_worthless_jobs(&text, jobs, compat);
		break;
	default:
		strbuf_puts(&text,
			    "The bursts do not fit side by side: these shifts do "
			    "little better than chance.");
		add_worthless_jobs(&text, jobs, compat);
		break;
	}
	if (!isnan(compat->grid_score))
		strbuf_printf(&text, " CASSINI's own score, of 72 samples, is %.4f.",
			      compat->grid_score);
	print_wrapped(text.text);
	if (reason_remedy(compat->reason)[0] != '\0') {
		strbuf_clear(&text);
		strbuf_printf(&text, "What would help: %s",
			      reason_remedy(compat->reason));
		print_wrapped(text.text);
	}
	strbuf_free(&text);
}

static void
print_text(const struct args *args, const struct jobs *jobs,
	   const struct compat *compat)
{
	printf("%zu jobs on a link of %.10g Gb/s, solver %s\n\n", jobs->list.n,
	       args->capacity_gbps, args->solver);
	print_jobs(jobs, compat);
	putchar('\n');
	print_scores(compat);
	putchar('\n');
	print_verdict(jobs, compat);
}

/* Writes the circle at the shifts, or at none if 'shift_us' is NULL. */
static int
write_svg(const char *path, const struct args *args, const struct jobs *jobs,
	  const int64_t *shift_us, double score, struct err *err)
{
	struct circle_svg_job *rings = xcalloc(jobs->list.n, sizeof *rings);
	char *title = xasprintf("%zu jobs on a link of %.10g Gb/s", jobs->list.n,
				args->capacity_gbps);
	struct circle_svg picture = {
		.title = title,
		.subtitle = shift_us != NULL ? "after shifting" : "before shifting",
		.capacity_bps = args->capacity_gbps * 1e9,
		.score = score,
		.jobs = rings,
		.n_jobs = jobs->list.n,
	};
	char *text;
	int error;

	for (size_t j = 0; j < jobs->list.n; j++) {
		const struct compat_job *job = &jobs->list.items[j];

		rings[j] =
			(struct circle_svg_job){ job->profile->job, job->profile,
						 job->factor,
						 shift_us != NULL ? shift_us[j] : 0 };
	}
	text = circle_svg(&picture);
	error = file_write(path, text, strlen(text), err);
	free(text);
	free(title);
	free(rings);
	return error;
}

static int
answer(const struct args *args, const struct jobs *jobs)
{
	bool is_cassini = strcmp(args->solver, "cassini") == 0;
	struct compat compat;
	struct err err;
	int error;

	error = compat_solve(jobs->list.items, jobs->list.n, args->capacity_gbps * 1e9,
			     is_cassini ? COMPAT_CASSINI : COMPAT_EXACT,
			     (uint64_t)args->seed, &compat);
	BUG_ON(error < 0); /* All that it refuses has been refused. */

	if (args->svg_before != NULL)
		error = write_svg(args->svg_before, args, jobs, NULL,
				  compat.score_before, &err);
	if (error == 0 && args->svg_after != NULL)
		error = write_svg(args->svg_after, args, jobs, compat.shift_us,
				  compat.score, &err);
	if (error < 0) {
		compat_fini(&compat);
		return cli_fail(error, &err);
	}
	if (args->json)
		print_json(args, jobs, &compat);
	else
		print_text(args, jobs, &compat);

	error = compat.score < args->min_score ? CLI_NO : CLI_OK;
	compat_fini(&compat);
	return error;
}

static int
run_compat(int argc, char **argv)
{
	struct args args = { .solver = compat_solver_names[COMPAT_EXACT],
			     .seed = 1,
			     .min_score = -HUGE_VAL };
	const struct cli_opt opts[] = {
		{ "capacity-gbps", 'c', CLI_NUM, &args.capacity_gbps, "GBPS",
		  "capacity of the link; needed", 1e-6, 1e6, NULL, &args.has_capacity },
		{ "solver", 's', CLI_WORDS, &args.solver, "NAME",
		  "who looks for the shifts", 0, 0, compat_solver_names, NULL },
		{ "factor", 'f', CLI_STR, &args.factors, "F[,F...]",
		  "multiply the rates: one factor, or one a job", 0, 0, NULL, NULL },
		{ "min-score", 'm', CLI_NUM, &args.min_score, "SCORE",
		  "exit with 1 if the score is below", -1e9, 1, NULL, NULL },
		{ "seed", 0, CLI_INT, &args.seed, "N", "for the search (1)", 0, 1e15,
		  NULL, NULL },
		{ "svg-before", 0, CLI_STR, &args.svg_before, "FILE",
		  "draw the circle without shifts", 0, 0, NULL, NULL },
		{ "svg-after", 0, CLI_STR, &args.svg_after, "FILE",
		  "draw the circle with them", 0, 0, NULL, NULL },
		{ "json", 'j', CLI_FLAG, &args.json, NULL, "machine-readable", 0, 0,
		  NULL, NULL },
		CLI_OPTS_END,
	};
	struct jobs jobs = { 0 };
	struct err err;
	int status = cli_parse(&verb_compat, opts, argc, argv);

	if (status < 0)
		return cli_status(status);
	if (!args.has_capacity)
		return cli_usage_error(&verb_compat, "--capacity-gbps is needed");

	for (int i = status; i < argc; i++) {
		int error = read_operand(&jobs, argv[i], &err);

		if (error < 0) {
			jobs_fini(&jobs);
			return cli_fail(error, &err);
		}
	}
	status = list_jobs(&jobs, &args);
	if (status == CLI_OK)
		status = answer(&args, &jobs);
	jobs_fini(&jobs);
	return status;
}

const struct cli_verb verb_compat = {
	.name = "compat",
	.summary = "say how well jobs fit on one link, and how to shift them",
	.usage = "--capacity-gbps GBPS [options] FILE[#JOB]...",
	.examples =
		"  antiphase compat --capacity-gbps 50 vgg16.json wideresnet.json\n"
		"  antiphase compat --capacity-gbps 50 --solver cassini models.json#bert "
		"models.json#roberta\n"
		"  antiphase compat --capacity-gbps 50 --svg-after circle.svg "
		"vgg16.json vgg16.json\n",
	.run = run_compat,
};
