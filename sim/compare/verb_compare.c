/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_compare.c - 'antiphase sim compare': one scenario under several policies, with
 * the same seeds for each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "sim/compare/comparison_report.h"
#include "sim/compare/seeds.h"
#include "sim/report/watch.h"
#include "sim/run/run_series.h"
#include "sim/run/setup.h"
#include "sim/verbs.h"

#define MAX_POLICIES 12
#define MAX_SEEDS    10000

struct compare_args {
	struct setup_args common;
	const char *policies, *seeds, *levers;
};

/* A running comparison. */
struct compare {
	struct setup setup;
	char *names[MAX_POLICIES];  /* Owned.  As requested: "cassini:once". */
	int policies[MAX_POLICIES]; /* Numbers in sim_policy_names. */
	enum scenario_pacing pacings[MAX_POLICIES];
	struct sim_plan plans[MAX_POLICIES];
	bool has_starved[MAX_POLICIES];
	bool with_series;
	struct run_series
		*series[MAX_POLICIES]; /* Owned; or NULL.  Of the first seed. */
	size_t n_policies;
	unsigned levers; /* Of antiphase; 0: all. */
	struct seeds seeds;
	struct comparison *comparison;
};

/* ---- Lists on the command line --------------------------------------------------- */

/* Reads "NAME" or "NAME:PACING". */
static int
read_policy(struct compare *c, char *word, struct err *err)
{
	size_t n = c->n_policies;
	char *colon = strchr(word, ':');
	int policy, pacing = 0;

	if (n == MAX_POLICIES)
		return err_set(err, NULL, 0, 0, "more than %d policies", MAX_POLICIES);
	c->names[n] = xstrdup(word);
	c->n_policies++;
	if (colon) {
		*colon = '\0';
		pacing = words_index(colon + 1, scenario_pacing_names) + 1;
		if (!pacing) {
			err_set(err, NULL, 0, 0,
				"there is no pacing '%s'; expected none, once, "
				"realign, "
				"gate or steer",
				colon + 1);
			err_suggest(err, colon + 1, scenario_pacing_names);
			return -EINVAL;
		}
	}
	policy = words_index(word, sim_policy_names);
	if (policy < 0) {
		err_set(err, NULL, 0, 0,
			"there is no policy '%s'; expected none, fair, cassini, "
			"antiphase, spray, crux, crux-paths, monkeytree, "
			"mltcp or mltcp-text",
			word);
		err_suggest(err, word, sim_policy_names);
		return -EINVAL;
	}
	c->policies[n] = policy;
	c->pacings[n] = (enum scenario_pacing)pacing;
	return 0;
}

static int
read_policies(struct compare *c, const char *text, struct err *err)
{
	int error = 0;

	while (*text && error == 0) {
		size_t length = strcspn(text, ",");
		char *word = xstrndup(text, length);

		error = read_policy(c, word, err);
		free(word);
		text += length + (text[length] == ',');
	}
	if (error == 0 && !c->n_policies)
		return err_set(err, NULL, 0, 0, "--policies names no policy");
	return error;
}

/* ---- Runs ------------------------------------------------------------------------ */

/* Means cover placed jobs only, so the others are reported. */
static void
report_plan(const struct compare *c, size_t p)
{
	const struct sim_plan *plan = &c->plans[p];

	if (plan->solve_ns >= 1000000000)
		fprintf(stderr, "%s: %s: planned in %.3f s of CPU time\n",
			log_program(), c->names[p], (double)plan->solve_ns / 1e9);
	sim_plan_report_moves(plan, c->setup.scenario, c->names[p]);
	for (size_t j = 0; j < plan->n; j++)
		if (!plan->jobs[j].is_placed)
			fprintf(stderr,
				"%s: %s: no place for job '%s'; only the "
				"goodput includes it\n",
				log_program(), c->names[p],
				c->setup.scenario->workload.jobs[j].name);
}

/* Plans do not depend on the seed: policies cannot know the draws. */
static int
make_plans(struct compare *c, struct err *err)
{
	for (size_t p = 0; p < c->n_policies; p++) {
		if (sim_plan_make(c->setup.scenario, c->setup.topo, c->setup.routes,
				  c->policies[p], c->levers, c->pacings[p],
				  &c->plans[p], err) < 0)
			return -EINVAL;
		report_plan(c, p);
	}
	return 0;
}

static int
run_one(struct compare *c, size_t p, size_t s, struct watch *watch, struct err *err)
{
	struct experiment experiment;
	struct experiment_opts opts;

	/* The same draws for all policies, including "none". */
	experiment_opts_init(&opts, c->setup.scenario, SIM_POLICY_NONE + 1);
	opts.seed = c->seeds.items[s];
	opts.ctx = watch;
	opts.go_on = watch_go_on;
	opts.with_series = c->with_series && s == 0;
	if (setup_run(&c->setup, &c->plans[p], &opts, &experiment, err) < 0)
		return -EINVAL;
	if (!c->has_starved[p])
		c->has_starved[p] =
			setup_report_starved(&c->setup, c->names[p], &experiment);
	if (!experiment.was_interrupted)
		comparison_note(c->comparison, p, s, &experiment,
				&c->setup.scenario->workload);
	if (experiment.series) {
		c->series[p] = experiment.series;
		experiment.series = NULL;
	}
	experiment_fini(&experiment);
	return 0;
}

/* Seed by seed, so that after an interrupt all policies have the same seeds. */
static int
run_all(struct compare *c, const char *progress, struct err *err)
{
	struct watch watch;
	int error = 0;

	watch_init(&watch, c->seeds.n * c->n_policies, progress);
	for (size_t s = 0; s < c->seeds.n && error == 0; s++)
		for (size_t p = 0; p < c->n_policies && error == 0; p++) {
			if (watch_is_interrupted())
				break;
			error = run_one(c, p, s, &watch, err);
			watch.i++;
			watch_go_on(&watch, 0);
		}
	watch_end(&watch, error == 0);
	return error;
}

/* So that steps of all policies can be compared. */
static void
align_series(const struct compare *c)
{
	int64_t step_ns = 0;

	for (size_t p = 0; p < c->n_policies; p++)
		if (c->series[p]->step_ns > step_ns)
			step_ns = c->series[p]->step_ns;
	for (size_t p = 0; p < c->n_policies; p++)
		run_series_coarsen(c->series[p], step_ns);
}

static int
report(const struct compare *c, const struct compare_args *args, const char *command,
       struct err *err)
{
	const struct comparison_report report = {
		.scenario = c->setup.scenario,
		.comparison = c->comparison,
		.policies = (const char *const *)c->names,
		.n_policies = c->n_policies,
		.plans = c->plans,
		.seeds = c->seeds.items,
		.was_interrupted = watch_is_interrupted(),
		.topo = c->setup.topo,
		.series = c->with_series ? (const struct run_series *const *)c->series
					 : NULL,
		.utf8 = cli_utf8(),
	};
	const struct provenance provenance = {
		.version = cli_version(),
		.command = command,
		.scenario = c->setup.scenario->file,
		.seeds = args->seeds,
	};

	if (c->with_series)
		align_series(c);
	if (args->common.csv &&
	    comparison_report_csv(&report, args->common.csv, &provenance, err) < 0)
		return -EINVAL;
	if (args->common.json)
		comparison_report_json(&report, stdout);
	else if (!args->common.csv || strcmp(args->common.csv, "-"))
		comparison_report_table(&report, stdout);
	return 0;
}

static int
compare(struct compare *c, const struct compare_args *args, const char *path,
	const char *command, struct err *err)
{
	int error;

	if (read_policies(c, args->policies, err) < 0 ||
	    seeds_read(args->seeds, "seed", MAX_SEEDS, &c->seeds, err) < 0 ||
	    (args->levers && advise_levers_read(args->levers, &c->levers, err) < 0))
		return -EINVAL;
	error = setup_load(path, &args->common, &c->setup, err);
	if (error < 0)
		return error;
	c->comparison = comparison_new(c->n_policies, c->seeds.n,
				       c->setup.scenario->workload.n);
	error = make_plans(c, err);
	watch_catch_interrupts();
	if (error == 0)
		error = run_all(c, args->common.progress, err);
	if (error == 0 && comparison_n_seeds(c->comparison))
		error = report(c, args, command, err);
	return error;
}

static int
compare_scenario(const struct compare_args *args, const char *path, const char *command)
{
	struct compare c = { .seeds = VEC_EMPTY, .with_series = args->common.series };
	struct err err = { 0 };
	int error = compare(&c, args, path, command, &err);
	int status = error < 0 ? cli_fail(error, &err) : CLI_OK;

	if (status == CLI_OK && watch_is_interrupted()) {
		fprintf(stderr, "%s: interrupted after %zu of %zu seeds\n",
			log_program(), comparison_n_seeds(c.comparison), c.seeds.n);
		status = CLI_INTERRUPTED;
	}
	for (size_t p = 0; p < c.n_policies; p++) {
		sim_plan_fini(&c.plans[p]);
		run_series_free(c.series[p]);
		free(c.names[p]);
	}
	comparison_free(c.comparison);
	vec_free(&c.seeds);
	setup_fini(&c.setup);
	return status;
}

static int
run_compare(int argc, char **argv)
{
	struct compare_args args = {
		.policies = "fair,cassini,antiphase",
		.seeds = "1..10",
	};
	const struct cli_opt opts[] = {
		CLI_OPT("policies", 'p', CLI_STR, &args.policies, "LIST",
			"policies: none, fair, cassini, antiphase, spray, crux, "
			"crux-paths, monkeytree, mltcp, mltcp-text; the first is the reference; "
			"NAME:PACING sets another pacing"),
		CLI_OPT("levers", 0, CLI_STR, &args.levers, "LIST",
			"what antiphase may change: place, path, time, move (default: all)"),
		CLI_OPT("seeds", 's', CLI_STR, &args.seeds, "LIST",
			"seeds, such as 1..10 or 1,2,5"),
		SETUP_OPTS(&args.common, "machine-readable: antiphase.sim_compare/2",
			   "also write CSV, a row per run: one file, or all into a "
			   "folder"),
		CLI_OPTS_END,
	};
	char *command = report_command(argc, argv); /* Parsing moves arguments. */
	int first = cli_parse(&verb_compare, opts, argc, argv), status;

	if (first < 0)
		status = cli_status(first);
	else if (argc - first != 1)
		status = cli_usage_error(&verb_compare, "expected one scenario file");
	else if (args.common.series && !args.common.json)
		status = cli_usage_error(&verb_compare, "--series needs --json");
	else
		status = compare_scenario(&args, argv[first], command);
	free(command);
	return status == CLI_OK ? cli_finish(CLI_OK) : status;
}

const struct cli_verb verb_compare = {
	.name = "compare",
	.summary = "compare policies: means with confidence intervals",
	.usage = "[options] SCENARIO",
	.examples =
		"  antiphase sim compare demo.ini\n"
		"  antiphase sim compare demo.ini --policies fair,antiphase --seeds "
		"1..5\n"
		"  antiphase sim compare demo.ini --json\n",
	.run = run_compare,
};
