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

#include "lib/base/err.h"
#include "sim/replay/replay_inputs.h"
#include "sim/replay/replay_report.h"
#include "sim/report/watch.h"
#include "sim/verbs.h"

/* ---- Running --------------------------------------------------------------------- */

static int
replay_all(const struct replay_inputs *inputs, const char *progress,
	   struct replay *ret_replayings, size_t *ret_n, struct err *err)
{
	struct replay_opts opts = inputs->opts;
	size_t n = inputs->n_specs;
	struct watch watch;
	int r = 0;

	watch_catch_interrupts();
	watch_init(&watch, n, progress);
	opts.ctx = &watch;
	opts.go_on = watch_go_on;
	for (watch.i = 0; r == 0 && watch.i < n; watch.i++) {
		r = replay_run(&inputs->list, inputs->specs[watch.i], &opts,
			       &ret_replayings[watch.i], err);
		*ret_n += r == 0;
	}
	watch_end(&watch, r == 0);
	return r;
}

/* Jobs that fit no place of the policy, or are never served. */
static void
report_unfinished(const char *path, const struct replay_inputs *inputs,
		  const struct replay *replay)
{
	size_t n = inputs->list.n;

	if (replay->n_done < n && !(inputs->opts.until_s < INFINITY))
		fprintf(stderr,
			"antiphase-sim: %s: jobs that %s did not complete: %zu\n", path,
			replay->spec->name, n - (size_t)replay->n_done);
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
	struct replay replays[REPLAY_MAX_POLICIES] = { 0 };
	struct replay_inputs inputs;
	struct replay_report report = { .path = path,
					.cluster = args->cluster,
					.semantics = args->semantics,
					.list = &inputs.list,
					.has_times = args->measure,
					.replays = replays };
	struct err err = { 0 };
	int r = replay_inputs_read(args, path, &inputs, &err);

	if (r < 0)
		return cli_fail(r, &err);
	report.n_too_large = inputs.n_too_large;
	r = replay_all(&inputs, args->progress, replays, &report.n, &err);
	for (size_t i = 0; r == 0 && i < report.n; i++)
		report_unfinished(path, &inputs, &replays[i]);
	if (r == 0)
		r = report_all(args, &report, command, &err);
	for (size_t i = 0; i < report.n; i++)
		replay_fini(&replays[i]);
	replay_inputs_fini(&inputs);
	if (r == -ECANCELED) {
		fprintf(stderr, "antiphase-sim: interrupted\n");
		return CLI_INTERRUPTED;
	}
	return r < 0 ? cli_fail(r, &err) : cli_finish(CLI_OK);
}

/* Why options contradict one another, or NULL. */
static const char *
contradiction(const struct replay_args *args)
{
	bool is_plain = strcmp(args->semantics, "plain") == 0;

	if (!args->policies || !args->cluster)
		return "needs --policy and --cluster";
	if (!args->fabric != !args->models)
		return "--fabric and --models go together";
	if (args->throughputs && (args->fabric || !is_plain))
		return "--throughputs excludes --fabric and needs --semantics plain";
	if (args->fabric && !is_plain)
		return "--fabric needs --semantics plain";
	if (args->apps && (args->fabric || args->throughputs || !is_plain))
		return "--apps excludes --fabric, --throughputs and --semantics";
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
				    .seed = 1 };
	const struct cli_opt opts[] = {
		CLI_OPT("policy", 'p', CLI_STR, &args.policies, "NAME[,NAME...]",
			"policies to run; see 'antiphase sim policies'"),
		CLI_OPT("cluster", 'c', CLI_STR, &args.cluster, "NODESxGPUS",
			"the cluster: 8x8; 64x8/16 with 16 nodes per rack; "
			"2x4:v100,2x4:k80 with two types of GPUs"),
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
		CLI_OPT("augment", 0, CLI_WORDS, &args.augment, "NAME",
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
		CLI_OPT("seed", 's', CLI_INT, &args.seed, "N",
			"seed of random policies, recipes and phases", .min = 0,
			.max = 1e15),
		CLI_OPT("format", 0, CLI_WORDS, &args.format, "NAME",
			"format of the trace; auto: detect it from the first row",
			.words = jobtrace_format_names),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"machine-readable: antiphase.sim-replay/1"),
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
