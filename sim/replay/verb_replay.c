/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_replay.c - 'antiphase sim replay': the jobs of a trace under policies of the
 * literature.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/table.h"
#include "sim/replay/replay_inputs.h"
#include "sim/replay/replay_report.h"
#include "sim/report/watch.h"
#include "sim/verbs.h"

/* ---- Running --------------------------------------------------------------------- */

/* What is printed while policies run. */
struct session {
	const struct replay_args *args;
	struct replay_inputs inputs;
	struct replay_report report;
	struct replay *replays; /* Of the report; owned. */
	struct table table; /* Rows as they are ready, unless JSON or CSV follows. */
	bool has_table;
};

static size_t
policy_width(const struct replay_inputs *inputs)
{
	size_t width = 0;

	for (size_t i = 0; i < inputs->n_specs; i++) {
		size_t n = strlen(inputs->specs[i]->name);

		width = n > width ? n : width;
	}
	return width;
}

/* Runs one policy; its progress and the estimate of the time left are its own. */
static int
replay_one(struct session *s, size_t i, struct err *err)
{
	const struct replay_inputs *inputs = &s->inputs;
	size_t n = inputs->n_specs * inputs->n_augments;
	const struct policy_spec *spec = inputs->specs[i / inputs->n_augments];
	struct replay_opts opts = inputs->opts;
	struct watch watch;
	char what[96];
	int r;

	opts.fabric.augment = inputs->augments[i % inputs->n_augments];
	snprintf(what, sizeof what, "%s%s%s, %zu of %zu", spec->name,
		 opts.topo ? " " : "",
		 opts.topo ? fabric_augment_names[opts.fabric.augment] : "", i + 1, n);
	watch_init(&watch, 1, s->args->progress);
	watch_name(&watch, what);
	opts.ctx = &watch;
	opts.go_on = watch_go_on;
	r = replay_run(&inputs->list, spec, &opts, &s->replays[i], err);
	watch_end(&watch, r == 0);
	return r;
}

/* A row for each policy and augmentation, as soon as it is known. */
static int
replay_all(struct session *s, struct err *err)
{
	size_t n = s->inputs.n_specs * s->inputs.n_augments;
	int r = 0;

	watch_catch_interrupts();
	for (size_t i = 0; r == 0 && i < n && !watch_is_interrupted(); i++) {
		r = replay_one(s, i, err);
		if (r < 0)
			break;
		s->report.n++;
		if (!s->has_table)
			continue;
		replay_report_row(&s->table, &s->replays[i], s->inputs.list.n);
		table_print_new(&s->table, stdout);
		fflush(stdout);
	}
	s->report.was_interrupted = watch_is_interrupted();
	return r;
}

/* Jobs that fit no place of the policy, or are never served. */
static void
report_unfinished(const char *path, const struct replay_inputs *inputs,
		  const struct replay *replay)
{
	size_t n = inputs->list.n;

	if (replay->n_done < n && !(inputs->opts.until_s < INFINITY) &&
	    !replay->was_interrupted)
		fprintf(stderr, "%s: %s: jobs that %s did not complete: %zu\n",
			log_program(), path, replay->spec->name,
			n - (size_t)replay->n_done);
}

/* Results of some policies depend on a cost that was not given. */
static void
report_free_restarts(const struct session *s)
{
	const struct policy_spec *last = NULL;

	for (size_t i = 0; i < s->report.n; i++) {
		const struct replay *replay = &s->replays[i];

		if (replay->spec == last ||
		    !replay_restarts_freely(replay, &s->inputs.opts))
			continue;
		fprintf(stderr, "%s%s%s", last ? "" : log_program(), last ? ", " : ": ",
			replay->spec->name);
		last = replay->spec;
	}
	if (last)
		fprintf(stderr, ": jobs that were preempted or moved lost no time; "
				"--restart sets the cost\n");
}

static int
report_all(const struct session *s, const char *command, struct err *err)
{
	const struct replay_args *args = s->args;
	char seed[24];
	const struct provenance provenance = {
		.version = cli_version(),
		.command = command,
		.scenario = s->report.path,
		.seeds = seed,
	};

	snprintf(seed, sizeof seed, "%lld", (long long)args->seed);
	if (args->csv) {
		int r = replay_report_csv(&s->report, args->csv, &provenance, err);

		if (r < 0)
			return r;
	}
	if (args->json)
		replay_report_json(&s->report, stdout);
	else if (s->has_table && args->fabric)
		printf("Jobs that share links of the fabric slow each other down "
		       "(%s).\n",
		       args->fabric);
	return 0;
}

static void
session_fini(struct session *s)
{
	for (size_t i = 0; i < s->report.n; i++)
		replay_fini(&s->replays[i]);
	free(s->replays);
	if (s->has_table)
		table_fini(&s->table);
	replay_inputs_fini(&s->inputs);
}

static int
replay(const struct replay_args *args, const char *path, const char *command)
{
	struct session s = { .args = args };
	struct err err = { 0 };
	int r = replay_inputs_read(args, path, &s.inputs, &err);
	size_t n = s.inputs.n_specs * s.inputs.n_augments;
	bool was_interrupted;

	if (r < 0)
		return cli_fail(r, &err);
	s.replays = xcalloc(n, sizeof *s.replays);
	s.report = (struct replay_report){ .path = path,
					   .cluster = args->cluster,
					   .semantics = args->semantics,
					   .list = &s.inputs.list,
					   .n_too_large = s.inputs.n_too_large,
					   .has_times = args->measure,
					   .replays = s.replays };
	s.has_table = !args->json && !(args->csv && strcmp(args->csv, "-") == 0);
	if (s.has_table)
		replay_report_begin(&s.table, policy_width(&s.inputs), &s.inputs.list,
				    args->fabric != NULL);
	r = replay_all(&s, &err);
	for (size_t i = 0; r == 0 && i < s.report.n; i++)
		report_unfinished(path, &s.inputs, &s.replays[i]);
	if (r == 0)
		r = report_all(&s, command, &err);
	if (r == 0)
		report_free_restarts(&s);
	was_interrupted = s.report.was_interrupted;
	if (was_interrupted && r == 0)
		fprintf(stderr, "%s: interrupted in run %zu of %zu\n", log_program(),
			s.report.n, n);
	session_fini(&s);
	if (r < 0)
		return cli_fail(r, &err);
	return was_interrupted ? CLI_INTERRUPTED : cli_finish(CLI_OK);
}

/* Why options contradict one another, or NULL. */
static const char *
contradiction(const struct replay_args *args)
{
	bool is_plain = strcmp(args->semantics, "plain") == 0;
	bool is_sia = strcmp(args->semantics, "sia") == 0;

	if (!args->policies || !args->cluster)
		return "needs --policy and --cluster";
	if (!args->fabric != !args->models)
		return "--fabric and --models go together";
	if (args->throughputs && (args->fabric || !is_plain))
		return "--throughputs excludes --fabric and needs --semantics plain";
	if (args->fabric && !is_plain)
		return "--fabric needs --semantics plain";
	if (args->inside && (args->fabric || args->apps || !is_plain))
		return "--inside excludes --fabric and --apps, and needs --semantics "
		       "plain";
	if (args->apps && (args->fabric || args->throughputs || !(is_plain || is_sia)))
		return "--apps excludes --fabric, --throughputs, and --semantics other "
		       "than sia";
	if (is_sia && !args->apps)
		return "--semantics sia needs --apps";
	if (args->memory_factor != 1 && !args->memory)
		return "--memory-factor needs --memory";
	if (args->apps && args->memory)
		return "--apps and --memory exclude each other";
	if (args->apps && !(isnan(args->resize_s) && isnan(args->migrate_s)))
		return "--apps has the cost --restart only, not --resize or --migrate";
	if ((args->moves_per_hour > 0 || args->move_cost_s > 0) &&
	    !(args->levers && strstr(args->levers, "move")))
		return "--moves-per-hour and --move-cost need --levers with move";
	if (!args->fabric && (strcmp(args->augment, "none") || args->jitter > 0 ||
			      args->measure || args->model_gpus || args->iterations))
		return "--augment, --jitter, --measure, --model-gpus and --iterations "
		       "need "
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
				    .resize_s = NAN,
				    .migrate_s = NAN,
				    .memory_factor = 1,
				    .seed = 1 };
	const struct cli_opt opts[] = {
		CLI_OPT("policy", 'p', CLI_STR, &args.policies, "NAME[,NAME...]",
			"policies to run; see 'antiphase sim policies'"),
		CLI_OPT("cluster", 'c', CLI_STR, &args.cluster, "NODESxGPUS",
			"the cluster: 8x8; 64x8/16 with 16 nodes per rack; "
			"2x4:v100,2x4:k80 with two types of GPUs"),
		CLI_OPT("memory", 0, CLI_STR, &args.memory, "GIB[/GIB]",
			"memory of a GPU, and of a node for each of its GPUs; by type, "
			"separated by commas (default: without limit)"),
		CLI_OPT("memory-factor", 0, CLI_NUM, &args.memory_factor, "FACTOR",
			"of the GPU memory of all jobs: compressed activations, as in "
			"Comet, need less",
			.min = 1e-3, .max = 1e3),
		CLI_OPT("inside", 0, CLI_STR, &args.inside, "NAME",
			"how the GPUs of a node are linked, for policies that choose "
			"single GPUs: dgx-v, dgx-p, summit, torus, cube-mesh-16, "
			"power8"),
		CLI_OPT("throughputs", 0, CLI_STR, &args.throughputs, "FILE",
			"table of steps per second, by model and GPU type, in Gavel's "
			"format"),
		CLI_OPT("place", 0, CLI_STR, &args.place, "NAME",
			"placement to use instead of the policy's"),
		CLI_OPT("set", 0, CLI_LIST, &args.sets, "NAME=VALUE",
			"set a parameter of the policies that have it; may be "
			"repeated"),
		CLI_OPT("samples", 0, CLI_STR, &args.samples, "FILE",
			"GPU seconds of past jobs, one per line, for 2d-gittins"),
		CLI_OPT("semantics", 0, CLI_WORDS, &args.semantics, "NAME",
			"emulate the semantics of a published simulator; plain: of "
			"none",
			.words = replay_semantics_names),
		CLI_OPT("fabric", 'f', CLI_STR, &args.fabric, "FILE",
			"simulate communication on this fabric; also \"leaf-spine "
			"--leaves 6 ...\" as for 'topology generate'"),
		CLI_OPT("models", 0, CLI_STR, &args.models, "FOLDER",
			"models that jobs train (antiphase.model/1); with --fabric"),
		CLI_OPT("model-gpus", 0, CLI_INT, &args.model_gpus, "N",
			"jobs with fewer GPUs have no model and no traffic", .min = 0,
			.max = JOBTRACE_MAX_GPUS),
		CLI_OPT("iterations", 0, CLI_INT, &args.iterations, "N",
			"iterations to simulate of the slowest job of jobs that share "
			"links, if their pattern does not repeat; default: 128; "
			"8192/n^2 for n > 8 jobs; windows of 2 for n > 16",
			.min = 4, .max = 1000000),
		CLI_OPT("apps", 0, CLI_STR, &args.apps, "FOLDER",
			"measured applications that jobs train, in the format of "
			"Pollux's simulator; also FILE.tar.xz:FOLDER"),
		CLI_OPT("augment", 0, CLI_STR, &args.augment, "NAME[,NAME...]",
			"what breaks ties between equally good plans and shifts jobs; "
			"cassini-once: delays jobs only once; dedicated: no contention; "
			"spray: perfect balance; crux, crux-paths, monkeytree, mltcp, "
			"mltcp-text: paths, priorities, moves, weights as published",
			.words = fabric_augment_names),
		CLI_OPT("levers", 0, CLI_STR, &args.levers, "LIST",
			"what antiphase may change: place, path, time, move (default: "
			"all but move)"),
		CLI_OPT("moves-per-hour", 0, CLI_NUM, &args.moves_per_hour, "SHARE",
			"with the lever move: share of the running jobs that may be "
			"moved in an hour (default: 0.1)",
			.min = 1e-6, .max = 3600),
		CLI_OPT("move-cost", 0, CLI_NUM, &args.move_cost_s, "SECONDS",
			"time that a moved job loses (default: 30, and 10 for each "
			"worker that moves)",
			.min = 1e-3, .max = 1e9),
		CLI_OPT("jitter", 0, CLI_NUM, &args.jitter, "SHARE",
			"standard deviation of compute times, as a fraction", .min = 0,
			.max = WORK_MAX_JITTER),
		CLI_OPT("measure", 0, CLI_FLAG, &args.measure, NULL,
			"add iteration times on the fabric and ECN marks to the JSON "
			"output"),
		CLI_OPT("until", 0, CLI_NUM, &args.until_s, "SECONDS",
			"end of the simulation, on the clock of the trace", .min = 0,
			.max = 1e12),
		CLI_OPT("round", 0, CLI_NUM, &args.round_s, "SECONDS",
			"length of rounds or leases, instead of the policy's",
			.min = 1e-3, .max = 1e9),
		CLI_OPT("restart", 0, CLI_NUM, &args.restart_s, "SECONDS",
			"cost of a start after a stop, instead of the policy's",
			.min = 0, .max = 1e9),
		CLI_OPT("resize", 0, CLI_NUM, &args.resize_s, "SECONDS",
			"cost of another number of GPUs for a running job (default: as "
			"a restart)",
			.min = 0, .max = 1e9),
		CLI_OPT("migrate", 0, CLI_NUM, &args.migrate_s, "SECONDS",
			"cost of a policy's move of a running job to other GPUs "
			"(default: as a restart)",
			.min = 0, .max = 1e9),
		CLI_OPT("seed", 's', CLI_INT, &args.seed, "N",
			"seed of random policies, recipes and phases", .min = 0,
			.max = 1e15),
		CLI_OPT("format", 0, CLI_WORDS, &args.format, "NAME",
			"format of the trace; auto: detect it from the first row",
			.words = jobtrace_format_names),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"machine-readable: antiphase.sim_replay/2"),
		CLI_OPT("csv", 0, CLI_STR, &args.csv, "FILE",
			"also write CSV, a row per job and policy"),
		PROGRESS_OPT(&args.progress),
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
	.summary = "replay a job trace under scheduling policies: completion times",
	.usage = "[options] TRACE|RECIPE.ini",
	.examples =
		"  antiphase sim replay philly.csv.gz --cluster 48x8 --policy 2d-las\n"
		"  antiphase sim replay jobs.csv --cluster 8x8 --policy fifo,srtf "
		"--json\n"
		"  antiphase sim replay jobs.csv -c 8x8 -p 2d-las --set "
		"2d-las.limit0=3600\n",
	.run = run_replay,
};
