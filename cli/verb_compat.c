/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_compat.c - 'antiphase compat': the compatibility of jobs on one link.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/circle_svg.h"
#include "cli/compat_print.h"
#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/core/advise/compat.h"
#include "scheduler/core/profile/profile_json.h"

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

/* The operands' profiles, under distinct names. */
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

/* Moves the profile of the job 'wanted' (NULL: all profiles) from 'file' to 'jobs'. */
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
		error = err_set(err, path, 0, 0, "it has no job '%s'", wanted);
		err_suggest(err, wanted, names.items);
		vec_free(&names);
	}
	return error;
}

/*
 * The '#' of an operand PATH#JOB, or NULL for a path alone.  Paths and job names may
 * contain a '#'; existing files decide.
 */
static const char *
find_hash(const char *operand)
{
	const char *hash = strchr(operand, '#');

	if (access(operand, F_OK) == 0)
		return NULL;
	for (const char *at = hash; at != NULL; at = strchr(at + 1, '#')) {
		char *path = xstrndup(operand, (size_t)(at - operand));
		bool is_there = access(path, F_OK) == 0;

		free(path);
		if (is_there)
			return at;
	}
	return hash;
}

/* Reads an operand, PATH or PATH#JOB. */
static int
read_operand(struct jobs *jobs, const char *operand, struct err *err)
{
	const char *hash = find_hash(operand);
	struct profile_list file = { 0 };
	char *path, *text = NULL;
	size_t length;
	int error;

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

/* Fills factors[0 .. n) from "F" or "F1,F2,..."; false if malformed. */
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
				       "expected at least two jobs, got %s",
				       n == 0 ? "none" : "only one");
	if (n > MAX_JOBS)
		return cli_usage_error(
			&verb_compat,
			"%zu jobs are too many (at most %d); select some with FILE#JOB",
			n, MAX_JOBS);
	if (!parse_factors(args->factors != NULL ? args->factors : "1", n, factors))
		return cli_usage_error(
			&verb_compat,
			"--factor is '%s', expected one number above 0, or %zu of "
			"them, comma-separated",
			args->factors, n);
	for (size_t j = 0; j < n; j++)
		vec_push(&jobs->list,
			 ((struct compat_job){ &jobs->profiles.items[j], factors[j] }));
	return CLI_OK;
}

/* ---- Answering ---------------------------------------------------------------- */

/* Writes the circle at the shifts, or at none if 'shift_us' is NULL. */
static int
write_svg(const char *path, const struct args *args, const struct jobs *jobs,
	  const int64_t *shift_us, double score, struct err *err)
{
	struct circle_svg_job *rings = xcalloc(jobs->list.n, sizeof *rings);
	char *title = xasprintf("%zu job%s on a link of %.10g Gb/s", jobs->list.n,
				words_plural(jobs->list.n), args->capacity_gbps);
	struct circle_svg drawing = {
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
	text = circle_svg(&drawing);
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
	struct compat_answer shown;
	struct compat compat;
	struct err err;
	int error;

	error = compat_solve(jobs->list.items, jobs->list.n, args->capacity_gbps * 1e9,
			     is_cassini ? COMPAT_CASSINI : COMPAT_EXACT,
			     (uint64_t)args->seed, &compat);
	BUG_ON(error < 0); /* The arguments were checked. */

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
	shown = (struct compat_answer){ args->capacity_gbps * 1e9, args->solver,
					jobs->list.items, &compat };
	if (args->json)
		compat_print_json(&shown);
	else
		compat_print_text(&shown);

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
		CLI_OPT("capacity-gbps", 'c', CLI_NUM, &args.capacity_gbps, "GBPS",
			"capacity of the link; required", .min = 1e-6, .max = 1e6,
			.ret_given = &args.has_capacity),
		CLI_OPT("solver", 's', CLI_WORDS, &args.solver, "NAME",
			"solver of the shifts (default: exact)",
			.words = compat_solver_names),
		CLI_OPT("factor", 'f', CLI_STR, &args.factors, "F[,F...]",
			"multiply the rates: one factor for all, or one per job"),
		CLI_OPT("min-score", 'm', CLI_NUM, &args.min_score, "SCORE",
			"exit with status 1 if the score is lower", .min = -1e9,
			.max = 1),
		CLI_OPT("seed", 0, CLI_INT, &args.seed, "N",
			"seed of the search (default: 1)", .max = 1e15),
		CLI_OPT("svg-before", 0, CLI_STR, &args.svg_before, "FILE",
			"draw the link without shifts, as SVG"),
		CLI_OPT("svg-after", 0, CLI_STR, &args.svg_after, "FILE",
			"draw the link with the shifts, as SVG"),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	struct jobs jobs = { 0 };
	struct err err;
	int status = cli_parse(&verb_compat, opts, argc, argv);

	if (status < 0)
		return cli_status(status);
	if (!args.has_capacity)
		return cli_usage_error(&verb_compat, "give --capacity-gbps GBPS");

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
	.summary = "compute how well jobs fit on one link, and their best shifts",
	.usage = "--capacity-gbps GBPS [options] FILE[#JOB]...",
	.examples = "  antiphase compat --capacity-gbps 50 vgg16.json wideresnet.json\n"
		    "  antiphase compat --capacity-gbps 50 --solver cassini "
		    "models.json#bert "
		    "models.json#roberta\n"
		    "  antiphase compat --capacity-gbps 50 --svg-after circle.svg "
		    "vgg16.json vgg16.json\n",
	.run = run_compat,
};
