/*
 * replay.c - 'antiphase sim replay': the jobs of a trace under policies of the literature.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/stats.h"
#include "lib/base/words.h"
#include "sim/jobtrace/lines.h"
#include "sim/recipe.h"
#include "sim/replay_fabric.h"
#include "sim/replay_report.h"
#include "sim/verbs.h"
#include "sim/watch.h"

#define MAX_POLICIES 32

struct replay_args {
	const char *policies, *cluster, *place, *semantics, *format, *csv, *samples;
	const char *fabric, *models, *augment, *throughputs, *apps;
	struct cli_list sets;
	double until_s, round_s, restart_s, jitter;
	int64_t seed, model_gpus, iterations;
	bool json, measure;
};

/* ---- What is to be run ------------------------------------------------------------------- */

static int
find_policies(char *names, const struct policy_spec **ret_specs, size_t *ret_n,
	      struct err *err)
{
	const char *known[MAX_POLICIES * 4];
	size_t n_known = 0;
	char *rest = NULL;

	for (const struct policy_spec *spec = policy_table;
	     spec->name && n_known < sizeof known / sizeof *known - 1; spec++)
		known[n_known++] = spec->name;
	known[n_known] = NULL;
	for (char *name = strtok_r(names, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		const struct policy_spec *spec = policy_find(name);

		if (!spec) {
			err_set(err, NULL, 0, 0,
				"there is no policy '%.40s'; 'antiphase sim policies' "
				"lists them",
				name);
			err_suggest(err, name, known);
			return -EINVAL;
		}
		if (*ret_n == MAX_POLICIES)
			return err_set(err, NULL, 0, 0, "more than %d policies",
				       MAX_POLICIES);
		ret_specs[(*ret_n)++] = spec;
	}
	return *ret_n ? 0 : err_set(err, NULL, 0, 0, "no policy is named");
}

/* Each parameter is one of some policy's. */
static int
check_sets(const struct replay_args *args, const struct policy_spec *const *specs,
	   size_t n, struct err *err)
{
	for (size_t i = 0; i < args->sets.n; i++) {
		const char *set = args->sets.items[i];
		bool is_known = false;

		for (size_t p = 0; p < n; p++)
			is_known |= replaying_has_param(specs[p], args->place, set);
		if (!is_known)
			return err_set(
				err, NULL, 0, 0,
				"no policy of --policy has the parameter '%.*s'; 'antiphase "
				"sim policies %s' lists those there are",
				(int)strcspn(set, "="), set, specs[0]->name);
	}
	return 0;
}

/* Whether one of them takes up what GPU seconds jobs took elsewhere. */
static bool
takes_samples(const struct policy_spec *spec)
{
	struct replaying_module modules[REPLAYING_MODULES];
	size_t n = replaying_modules(spec, NULL, modules);

	for (size_t i = 0; i < n; i++)
		if (modules[i].module->samples)
			return true;
	return false;
}

/* What the user sets is something for one of the policies at least. */
static int
check_used(const struct replay_args *args, const struct policy_spec *const *specs,
	   size_t n, struct err *err)
{
	bool has_place = !args->place, has_rounds = isnan(args->round_s);
	bool has_samples = !args->samples;

	for (size_t i = 0; i < n; i++) {
		has_place |= specs[i]->place != NULL;
		has_rounds |= specs[i]->drive != POL_EVENTS;
		has_samples |= takes_samples(specs[i]);
	}
	if (!has_place)
		return err_set(err, NULL, 0, 0,
			       "--place is nothing for %s, whose planner places jobs "
			       "itself; leave it out",
			       specs[0]->name);
	if (!has_rounds)
		return err_set(
			err, NULL, 0, 0,
			"--round is nothing for %s, which has neither rounds nor "
			"leases; leave it out",
			specs[0]->name);
	if (!has_samples)
		return err_set(err, NULL, 0, 0,
			       "--samples is nothing for %s; it is for 2d-gittins",
			       specs[0]->name);
	return 0;
}

/* A number a line, the first of each row; a first line that is none is a heading. */
static int
load_samples(const char *path, struct replaying_opts *opts, double **ret_samples,
	     struct err *err)
{
	VEC(double) samples = VEC_EMPTY;
	struct lines *lines;
	char *line, *end;
	size_t n;
	int r = lines_open(path, &lines, err);

	if (r < 0)
		return r;
	while ((r = lines_next(lines, &line, &n, err)) > 0) {
		double value = strtod(line, &end);

		if (!line[strspn(line, " \t")])
			continue;
		if (end == line && lines_number(lines) == 1)
			continue;
		if (end == line || !(value >= 0) || !isfinite(value)) {
			r = err_set(err, path, (unsigned)lines_number(lines), 0,
				    "expected GPU seconds");
			break;
		}
		vec_push(&samples, value);
	}
	lines_close(lines);
	if (r == 0 && !samples.n)
		r = err_set(err, path, 0, 0, "has no samples");
	if (samples.n)
		stats_sort(samples.items, samples.n);
	*ret_samples = samples.items;
	opts->policy.samples = samples.items;
	opts->policy.n_samples = samples.n;
	return r;
}

/* How fast jobs are on the types that the cluster names. */
static int
load_speeds(const struct replay_args *args, const char *path,
	    const struct replay_cluster *cluster, struct joblist *list,
	    struct replay_speeds *ret_speeds, struct err *err)
{
	struct speeds *table = NULL;
	int r = 0;

	if (!args->throughputs != !strtab_n(cluster->types))
		return err_set(err, NULL, 0, 0,
			       "types of GPUs in --cluster and --throughputs need "
			       "each other");
	if (!args->throughputs)
		return 0;
	r = speeds_load(args->throughputs, &table, err);
	if (r == 0)
		r = replay_speeds_find(table, cluster, list, ret_speeds, err);
	speeds_free(table);
	if (r == 0 && ret_speeds->n_dropped)
		fprintf(stderr,
			"antiphase-sim: %s: jobs that were not measured on all types of "
			"the cluster's GPUs, left out: %zu\n",
			path, ret_speeds->n_dropped);
	return r;
}

/* ---- Running ------------------------------------------------------------------------------ */

static int
replay_all(const struct joblist *list, const struct policy_spec *const *specs, size_t n,
	   const struct replaying_opts *common, struct replaying *ret_replayings,
	   size_t *ret_n, struct err *err)
{
	struct replaying_opts opts = *common;
	struct watch watch;
	int r = 0;

	watch_catch_interrupts();
	watch_init(&watch, n);
	opts.ctx = &watch;
	opts.go_on = watch_go_on;
	for (watch.i = 0; r == 0 && watch.i < n; watch.i++) {
		r = replaying_run(list, specs[watch.i], &opts, &ret_replayings[watch.i],
				  err);
		*ret_n += r == 0;
	}
	watch_end(&watch);
	return r;
}

/* No place that the policy gives fits them, or it never serves them. */
static void
tell_unfinished(const char *path, const struct joblist *list,
		const struct replaying_opts *opts, const struct replaying *replaying)
{
	if (replaying->n_done < list->n && !(opts->until_s < INFINITY))
		fprintf(stderr,
			"antiphase-sim: %s: jobs that %s never served in full: %zu\n",
			path, replaying->spec->name,
			list->n - (size_t)replaying->n_done);
}

static int
report_all(const struct replay_args *args, const struct replay_report *report,
	   const char *command, struct err *err)
{
	char seed[24];
	const struct provenance provenance = {
		.version = cli_version(),
		.command = command,
		.scenario = report->path,
		.seeds = seed,
	};

	snprintf(seed, sizeof seed, "%lld", (long long)args->seed);
	if (args->csv) {
		int r = replay_report_csv(report, args->csv, &provenance, err);

		if (r < 0)
			return r;
	}
	if (args->json)
		replay_report_json(report, stdout);
	else if (!args->csv || strcmp(args->csv, "-"))
		replay_report_table(report, stdout);
	return 0;
}

static int
replay(const struct replay_args *args, const char *path, const char *command)
{
	const struct policy_spec *specs[MAX_POLICIES];
	struct replaying replayings[MAX_POLICIES] = { 0 };
	struct replaying_opts opts = {
		.semantics = (enum replaying_semantics)words_index(
			args->semantics, replaying_semantics_names),
		.policy = { .seed = (uint64_t)args->seed,
			    .sets = args->sets.items,
			    .n_sets = args->sets.n,
			    .round_s = args->round_s,
			    .restart_s = args->restart_s,
			    .place = args->place },
		.until_s = args->until_s,
		.fabric = { .augment = (enum fabric_augment)words_index(
				    args->augment, fabric_augment_names),
			    .jitter_frac = args->jitter,
			    .max_iterations = (uint32_t)args->iterations,
			    .measure = args->measure },
	};
	struct joblist list = { 0 };
	struct replay_report report = { .path = path,
					.cluster = args->cluster,
					.semantics = args->semantics,
					.list = &list,
					.has_times = args->measure,
					.replayings = replayings };
	char *names = xstrdup(args->policies);
	struct replay_cluster cluster = { 0 };
	struct replay_speeds speeds = { 0 };
	struct joblist_filter filter;
	struct replay_fabric fabric = { 0 };
	struct app *apps = NULL;
	double *samples = NULL;
	struct err err = { 0 };
	size_t n = 0;
	int r;

	joblist_filter_init(&filter);
	/* How long they take is not the trace's to tell. */
	filter.keeps_unknown = args->throughputs || args->apps;
	r = find_policies(names, specs, &n, &err);
	if (r == 0)
		r = replay_cluster_parse(args->cluster, &cluster, &err);
	opts.cluster = cluster.cluster;
	if (r == 0)
		r = check_sets(args, specs, n, &err);
	if (r == 0)
		r = check_used(args, specs, n, &err);
	if (r == 0 && args->samples)
		r = load_samples(args->samples, &opts, &samples, &err);
	if (r == 0 && args->apps)
		r = apps_read(args->apps, &apps, &opts.n_apps, &err);
	opts.apps = apps;
	if (r == 0)
		r = recipe_is(path)
			    ? joblist_make(path, (uint64_t)args->seed, &list, &err)
			    : joblist_load(path,
					   (enum jobtrace_format)words_index(
						   args->format, jobtrace_format_names),
					   &filter, &list, &err);
	if (r == 0)
		r = load_speeds(args, path, &cluster, &list, &speeds, &err);
	opts.speeds = speeds.items ? &speeds : NULL;
	if (r == 0) {
		if (apps) /* None of them is left out. */
			list.n_no_duration = 0;
		joblist_tell(&list, path);
		report.n_too_large =
			joblist_drop_above(&list, replay_cluster_most(&cluster));
		if (report.n_too_large)
			fprintf(stderr,
				"antiphase-sim: %s: jobs that want more than the cluster's "
				"%u GPUs%s, left out: %zu\n",
				path, replay_cluster_most(&cluster),
				cluster.cluster.n_types > 1 ? " of one type" : "",
				report.n_too_large);
		if (!list.n)
			r = err_set(&err, path, 0, 0, "has no jobs to replay");
	}
	if (r == 0 && args->fabric) {
		r = replay_fabric_load(args->fabric, args->models,
				       (uint32_t)args->model_gpus, (uint64_t)args->seed,
				       &list, &opts, &fabric, &err);
		if (r == 0 && fabric.n_drawn)
			fprintf(stderr,
				"antiphase-sim: %s: jobs whose model is drawn, as the trace "
				"names none of those in %s: %llu of %zu\n",
				path, args->models, (unsigned long long)fabric.n_drawn,
				list.n);
	}
	if (r == 0)
		r = replay_all(&list, specs, n, &opts, replayings, &report.n, &err);
	for (size_t i = 0; r == 0 && i < report.n; i++)
		tell_unfinished(path, &list, &opts, &replayings[i]);
	if (r == 0)
		r = report_all(args, &report, command, &err);
	for (size_t i = 0; i < report.n; i++)
		replaying_fini(&replayings[i]);
	replay_cluster_fini(&cluster);
	replay_speeds_fini(&speeds);
	joblist_fini(&list);
	replay_fabric_fini(&fabric);
	apps_free(apps, opts.n_apps);
	free(samples);
	free(names);
	if (r == -ECANCELED) {
		fprintf(stderr, "antiphase-sim: interrupted\n");
		return CLI_INTERRUPTED;
	}
	return r < 0 ? cli_fail(r, &err) : cli_finish(CLI_OK);
}

/* What options do not go together, or NULL. */
static const char *
contradiction(const struct replay_args *args)
{
	bool is_plain = strcmp(args->semantics, "plain") == 0;

	if (!args->policies || !args->cluster)
		return "needs --policy and --cluster";
	if (!args->fabric != !args->models)
		return "--fabric and --models need each other";
	if (args->throughputs && (args->fabric || !is_plain))
		return "with --throughputs semantics are plain, without a fabric";
	if (args->fabric && !is_plain)
		return "on a fabric semantics are plain";
	if (args->apps && (args->fabric || args->throughputs || !is_plain))
		return "--apps goes with none of --fabric, --throughputs and --semantics";
	if (!args->fabric && (strcmp(args->augment, "none") || args->jitter > 0 ||
			      args->measure || args->model_gpus || args->iterations))
		return "--augment, --jitter, --measure, --model-gpus and --iterations need "
		       "--fabric";
	return NULL;
}

static int
run_replay(int argc, char **argv)
{
	struct replay_args args = { .semantics = "plain",
				    .augment = "none",
				    .format = "auto",
				    .until_s = INFINITY,
				    .round_s = NAN,
				    .restart_s = NAN,
				    .seed = 1 };
	const struct cli_opt opts[] = {
		{ .name = "policy",
		  .letter = 'p',
		  .type = CLI_STR,
		  .ret_value = &args.policies,
		  .argument = "NAME[,NAME...]",
		  .help = "of 'antiphase sim policies'; one after another" },
		{ .name = "cluster",
		  .letter = 'c',
		  .type = CLI_STR,
		  .ret_value = &args.cluster,
		  .argument = "NODESxGPUS",
		  .help = "such as 8x8; 64x8/16 has 16 nodes in a rack; "
			  "2x4:v100,2x4:k80 has two types of GPUs" },
		{ .name = "throughputs",
		  .type = CLI_STR,
		  .ret_value = &args.throughputs,
		  .argument = "FILE",
		  .help = "steps a second of models on types of GPUs, as Gavel has "
			  "them" },
		{ .name = "place",
		  .type = CLI_STR,
		  .ret_value = &args.place,
		  .argument = "NAME",
		  .help = "another placement than the policy's" },
		{ .name = "set",
		  .type = CLI_LIST,
		  .ret_value = &args.sets,
		  .argument = "NAME=VALUE",
		  .help = "a parameter of the policies that have it; several times" },
		{ .name = "samples",
		  .type = CLI_STR,
		  .ret_value = &args.samples,
		  .argument = "FILE",
		  .help = "GPU seconds that jobs took elsewhere, one a line: for "
			  "2d-gittins" },
		{ .name = "semantics",
		  .type = CLI_WORDS,
		  .ret_value = &args.semantics,
		  .argument = "NAME",
		  .help = "whose simulator's habits are followed: plain (nobody's), "
			  "tiresias, muri",
		  .words = replaying_semantics_names },
		{ .name = "fabric",
		  .letter = 'f',
		  .type = CLI_STR,
		  .ret_value = &args.fabric,
		  .argument = "FILE",
		  .help = "how long messages take is decided on this fabric; also as of "
			  "'topology generate': \"leaf-spine --leaves 6 ...\"" },
		{ .name = "models",
		  .type = CLI_STR,
		  .ret_value = &args.models,
		  .argument = "FOLDER",
		  .help = "what jobs train, of antiphase.model/1; with --fabric" },
		{ .name = "model-gpus",
		  .type = CLI_INT,
		  .ret_value = &args.model_gpus,
		  .argument = "N",
		  .help = "jobs of less GPUs have no model, and send nothing",
		  .min = 0,
		  .max = JOBTRACE_MAX_GPUS },
		{ .name = "iterations",
		  .type = CLI_INT,
		  .ret_value = &args.iterations,
		  .argument = "N",
		  .help = "of the slowest of jobs that meet, if they do not repeat (128; "
			  "8192 over the square of their number, if that is above 8)",
		  .min = 4,
		  .max = 1000000 },
		{ .name = "apps",
		  .type = CLI_STR,
		  .ret_value = &args.apps,
		  .argument = "FOLDER",
		  .help = "measured applications that jobs train, as Pollux's simulator "
			  "has them; also FILE.tar.xz:FOLDER" },
		{ .name = "augment",
		  .type = CLI_WORDS,
		  .ret_value = &args.augment,
		  .argument = "NAME",
		  .help = "who chooses among plans as good, and shifts jobs on the "
			  "fabric: none, cassini, antiphase; cassini-once: who delays "
			  "once only; dedicated: nobody is in another one's way",
		  .words = fabric_augment_names },
		{ .name = "jitter",
		  .type = CLI_NUM,
		  .ret_value = &args.jitter,
		  .argument = "SHARE",
		  .help = "standard deviation of computing times on the fabric",
		  .min = 0,
		  .max = WORK_MAX_JITTER },
		{ .name = "measure",
		  .type = CLI_FLAG,
		  .ret_value = &args.measure,
		  .help = "in JSON also how long iterations take on the fabric, and their "
			  "ECN marks" },
		{ .name = "until",
		  .type = CLI_NUM,
		  .ret_value = &args.until_s,
		  .argument = "SECONDS",
		  .help = "end there, on the clock of the trace",
		  .min = 0,
		  .max = 1e12 },
		{ .name = "round",
		  .type = CLI_NUM,
		  .ret_value = &args.round_s,
		  .argument = "SECONDS",
		  .help = "another length of rounds or leases than the policy's",
		  .min = 1e-3,
		  .max = 1e9 },
		{ .name = "restart",
		  .type = CLI_NUM,
		  .ret_value = &args.restart_s,
		  .argument = "SECONDS",
		  .help = "what a start after a stop costs",
		  .min = 0,
		  .max = 1e9 },
		{ .name = "seed",
		  .letter = 's',
		  .type = CLI_INT,
		  .ret_value = &args.seed,
		  .argument = "N",
		  .help = "of policies that draw, of a recipe, of phases",
		  .min = 0,
		  .max = 1e15 },
		{ .name = "format",
		  .type = CLI_WORDS,
		  .ret_value = &args.format,
		  .argument = "NAME",
		  .help = "of the trace; auto: by its first row",
		  .words = jobtrace_format_names },
		{ .name = "json",
		  .letter = 'j',
		  .type = CLI_FLAG,
		  .ret_value = &args.json,
		  .help = "machine-readable: antiphase.sim-replay/1" },
		{ .name = "csv",
		  .type = CLI_STR,
		  .ret_value = &args.csv,
		  .argument = "FILE",
		  .help = "also write a row for each job and policy" },
		CLI_OPTS_END,
	};
	char *command = report_command(argc, argv); /* Parsing moves arguments. */
	int first = cli_parse(&verb_sim_replay, opts, argc, argv), status;
	const char *wrong = "expected one trace";

	if (first < 0) {
		free(command);
		return cli_status(first);
	}
	if (argc - first == 1)
		wrong = contradiction(&args);
	status = wrong ? cli_usage_error(&verb_sim_replay, "%s", wrong)
		       : replay(&args, argv[first], command);
	free(command);
	return status;
}

const struct cli_verb verb_sim_replay = {
	.name = "replay",
	.summary = "the jobs of a trace under scheduling policies: completion times",
	.usage = "[options] TRACE|RECIPE.ini",
	.examples =
		"  antiphase sim replay philly.csv.gz --cluster 48x8 --policy 2d-las\n"
		"  antiphase sim replay jobs.csv --cluster 8x8 --policy fifo,srtf --json\n"
		"  antiphase sim replay jobs.csv -c 8x8 -p 2d-las --set "
		"las2d.limit0=3600\n",
	.run = run_replay,
};
