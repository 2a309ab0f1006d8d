/*
 * verb_replay.c - 'antiphase sim replay': the jobs of a trace under policies of the literature.
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

/* ---- Running ------------------------------------------------------------------------------ */

static int
replay_all(const struct replay_inputs *inputs, const char *progress,
	   struct replaying *ret_replayings, size_t *ret_n, struct err *err)
{
	struct replaying_opts opts = inputs->opts;
	size_t n = inputs->n_specs;
	struct watch watch;
	int r = 0;

	watch_catch_interrupts();
	watch_init(&watch, n, progress);
	opts.ctx = &watch;
	opts.go_on = watch_go_on;
	for (watch.i = 0; r == 0 && watch.i < n; watch.i++) {
		r = replaying_run(&inputs->list, inputs->specs[watch.i], &opts,
				  &ret_replayings[watch.i], err);
		*ret_n += r == 0;
	}
	watch_end(&watch, r == 0);
	return r;
}

/* No place that the policy gives fits them, or it never serves them. */
static void
tell_unfinished(const char *path, const struct replay_inputs *inputs,
		const struct replaying *replaying)
{
	size_t n = inputs->list.n;

	if (replaying->n_done < n && !(inputs->opts.until_s < INFINITY))
		fprintf(stderr,
			"antiphase-sim: %s: jobs that %s never served in full: %zu\n",
			path, replaying->spec->name, n - (size_t)replaying->n_done);
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
	struct replaying replayings[REPLAY_MAX_POLICIES] = { 0 };
	struct replay_inputs inputs;
	struct replay_report report = { .path = path,
					.cluster = args->cluster,
					.semantics = args->semantics,
					.list = &inputs.list,
					.has_times = args->measure,
					.replayings = replayings };
	struct err err = { 0 };
	int r = replay_inputs_read(args, path, &inputs, &err);

	if (r < 0)
		return cli_fail(r, &err);
	report.n_too_large = inputs.n_too_large;
	r = replay_all(&inputs, args->progress, replayings, &report.n, &err);
	for (size_t i = 0; r == 0 && i < report.n; i++)
		tell_unfinished(path, &inputs, &replayings[i]);
	if (r == 0)
		r = report_all(args, &report, command, &err);
	for (size_t i = 0; i < report.n; i++)
		replaying_fini(&replayings[i]);
	replay_inputs_fini(&inputs);
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
			  "8192 over the square of their number, if that is above 8; "
			  "windows of 2 of each, if it is above 16)",
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
	.summary = "the jobs of a trace under scheduling policies: completion times",
	.usage = "[options] TRACE|RECIPE.ini",
	.examples =
		"  antiphase sim replay philly.csv.gz --cluster 48x8 --policy 2d-las\n"
		"  antiphase sim replay jobs.csv --cluster 8x8 --policy fifo,srtf --json\n"
		"  antiphase sim replay jobs.csv -c 8x8 -p 2d-las --set "
		"2d-las.limit0=3600\n",
	.run = run_replay,
};
