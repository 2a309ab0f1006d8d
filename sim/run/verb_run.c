/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_run.c - 'antiphase sim run': one scenario under one policy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/words.h"
#include "scheduler/core/advise/advise.h"
#include "sim/report/watch.h"
#include "sim/run/perfetto.h"
#include "sim/run/run_report.h"
#include "sim/run/setup.h"
#include "sim/telemetry/publish.h"
#include "sim/verbs.h"

struct run_args {
	struct setup_args common;
	const char *policy, *pacing, *levers, *trace;
	struct publish_opts publish;
	int64_t seed;
	bool has_seed, all_links, trace_all_links;
};

/* Context of the experiment's callbacks. */
struct hooks {
	struct watch watch;
	struct perfetto *trace;  /* NULL: none. */
	struct publish *publish; /* NULL: none. */
};

static bool
go_on(void *ctx, double frac)
{
	struct hooks *hooks = ctx;

	return watch_go_on(&hooks->watch, frac);
}

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct hooks *hooks = ctx;

	perfetto_iteration(hooks->trace, job, iteration, start_ns, end_ns);
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct hooks *hooks = ctx;

	if (hooks->trace)
		perfetto_flows(hooks->trace, job, segment, start_ns, end_ns);
	if (hooks->publish)
		emit_flows(publish_emit(hooks->publish), job, segment, start_ns,
			   end_ns);
}

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct hooks *hooks = ctx;

	emit_sent(publish_emit(hooks->publish), job, flow, start_ns, end_ns, rate_bps,
		  ecn_packets);
}

static bool
on_tick(void *ctx, int64_t now_ns)
{
	struct hooks *hooks = ctx;

	return publish_tick(hooks->publish, now_ns);
}

static int
open_publish(const struct run_args *args, const struct setup *setup,
	     const struct sim_plan *plan, struct experiment_opts *opts,
	     struct hooks *hooks, struct err *err)
{
	struct publish_opts publish = args->publish;
	int error;

	publish.emit.seed = opts->seed;
	publish.emit.mtu_bytes = opts->mtu_bytes;
	publish.is_interrupted = watch_is_interrupted;
	error = publish_open(setup->topo, setup->scenario, plan, &publish,
			     &hooks->publish, err);
	opts->tick_ns = PUBLISH_WINDOW_NS;
	opts->on_sent = on_sent;
	opts->on_tick = on_tick;
	if (publish.emit.with_events)
		opts->on_flows = on_flows;
	return error;
}

/* Returns 'error', or the error of writing the trace. */
static int
end_trace(const struct run_args *args, struct hooks *hooks, FILE *out,
	  const char *command, uint64_t seed, int error, struct err *err)
{
	if (perfetto_finish(hooks->trace, cli_version(), command, seed))
		fprintf(stderr,
			"%s: %s: cut at 200 MB; a shorter run, or one without "
			"--trace-all-links, fits\n",
			log_program(), args->trace);
	if (fclose(out) != 0 && error == 0)
		error = err_set_errno(err, args->trace, errno, "cannot write");
	return error;
}

/* Runs the experiment, with a trace and telemetry if requested. */
static int
simulate(const struct run_args *args, const struct setup *setup,
	 const struct sim_plan *plan, const char *command,
	 struct experiment *ret_experiment, struct err *err)
{
	struct hooks hooks = { 0 };
	struct experiment_opts opts;
	FILE *out = NULL;
	int error = 0, closing_error;

	if (setup->scenario->n_events && (args->publish.target || args->trace))
		return err_set(err, setup->scenario->file,
			       setup->scenario->events[0].line, 0,
			       "%s does not know paths that change; leave it out, or "
			       "the events",
			       args->trace ? "--trace" : "--publish");
	experiment_opts_init(&opts, setup->scenario,
			     words_index(args->policy, sim_policy_names));
	opts.ctx = &hooks;
	opts.go_on = go_on;
	opts.with_series = args->common.series;
	if (args->publish.target)
		error = open_publish(args, setup, plan, &opts, &hooks, err);
	if (error < 0)
		return error;
	if (args->trace) {
		out = fopen(args->trace, "w");
		if (!out) {
			error = err_set_errno(err, args->trace, errno, "cannot write");
			goto out;
		}
		hooks.trace = perfetto_new(out, setup->scenario, plan, setup->topo,
					   args->trace_all_links, PERFETTO_MAX_BYTES);
		opts.on_iteration = on_iteration;
		opts.on_flows = on_flows;
	}
	watch_init(&hooks.watch, 1, args->common.progress);
	error = setup_run(setup, plan, &opts, ret_experiment, err);
	if (error == 0)
		setup_report_starved(setup, args->policy, ret_experiment);
	watch_end(&hooks.watch, error == 0);
	if (out)
		error = end_trace(args, &hooks, out, command, opts.seed, error, err);
out:
	closing_error = publish_close(hooks.publish, error < 0 ? NULL : err);
	return error < 0 ? error : closing_error;
}

static int
report(const struct run_args *args, const struct setup *setup,
       const struct sim_plan *plan, const struct experiment *experiment,
       const char *command, struct err *err)
{
	const struct run_report report = {
		.scenario = setup->scenario,
		.plan = plan,
		.topo = setup->topo,
		.experiment = experiment,
		.policy = args->policy,
		.seed = setup->scenario->sim.seed,
		.all_links = args->all_links,
	};
	char seed[24];
	const struct provenance provenance = {
		.version = cli_version(),
		.command = command,
		.scenario = setup->scenario->file,
		.seeds = seed,
	};

	snprintf(seed, sizeof seed, "%llu", (unsigned long long)report.seed);
	if (args->common.csv &&
	    run_report_csv(&report, args->common.csv, &provenance, err) < 0)
		return -EINVAL;
	if (args->publish.target && !strcmp(args->publish.target, "-"))
		return 0; /* Standard output has the recording. */
	if (args->common.json)
		run_report_json(&report, stdout);
	else if (!args->common.csv || strcmp(args->common.csv, "-"))
		run_report_table(&report, stdout);
	return 0;
}

/* As cli_fail(), with the exit status of errors of the bus. */
static int
fail(const struct run_args *args, int error, const struct err *err)
{
	int status = cli_fail(error, err);

	if (!args->publish.target || !publish_is_bus(args->publish.target))
		return status;
	if (error == -EINTR)
		return CLI_INTERRUPTED;
	if (error == -EACCES)
		return CLI_DENIED;
	return error == -EADDRINUSE || error == -EADDRNOTAVAIL ? CLI_UNREACHABLE
							       : status;
}

static int
run_scenario(const struct run_args *args, const char *path, const char *command)
{
	enum scenario_pacing pacing = SCENARIO_PACE_UNSET;
	struct setup setup = { 0 };
	struct sim_plan plan = { 0 };
	struct experiment experiment = { 0 };
	struct err err = { 0 };
	unsigned levers = 0;
	int error;

	if (args->pacing)
		pacing = (enum scenario_pacing)(
			1 + words_index(args->pacing, scenario_pacing_names));
	if (args->levers && advise_levers_read(args->levers, &levers, &err) < 0)
		return cli_fail(-EINVAL, &err);
	error = setup_load(path, &args->common, &setup, &err);
	if (error < 0)
		return cli_fail(error, &err);
	if (args->has_seed)
		setup.scenario->sim.seed = (uint64_t)args->seed;
	error = sim_plan_make(setup.scenario, setup.topo, setup.routes,
			      words_index(args->policy, sim_policy_names), levers,
			      pacing, &plan, &err);
	watch_catch_interrupts();
	if (error == 0)
		sim_plan_report_moves(&plan, setup.scenario, args->policy);
	if (error == 0)
		error = simulate(args, &setup, &plan, command, &experiment, &err);
	if (error == 0)
		error = report(args, &setup, &plan, &experiment, command, &err);
	error = error < 0 ? fail(args, error, &err) : CLI_OK;
	if (error == CLI_OK && experiment.was_interrupted) {
		fprintf(stderr,
			"%s: interrupted; these are the iterations "
			"that were done\n",
			log_program());
		error = CLI_INTERRUPTED;
	}
	experiment_fini(&experiment);
	sim_plan_fini(&plan);
	setup_fini(&setup);
	return error;
}

static int
run_run(int argc, char **argv)
{
	struct run_args args = { .policy = "none" };
	const struct cli_opt opts[] = {
		CLI_OPT("policy", 'p', CLI_WORDS, &args.policy, "NAME",
			"policy that places and shifts jobs; none: as the scenario says",
			.words = sim_policy_names),
		CLI_OPT("levers", 0, CLI_STR, &args.levers, "LIST",
			"what antiphase may change: place, path, time, move (default: all)"),
		CLI_OPT("pacing", 0, CLI_WORDS, &args.pacing, "NAME",
			"how jobs are kept at their shifts",
			.words = scenario_pacing_names),
		CLI_OPT("seed", 's', CLI_INT, &args.seed, "N",
			"seed of jitter and phases; default: the scenario's", .min = 0,
			.max = 1e15, .ret_given = &args.has_seed),
		SETUP_OPTS(&args.common, "machine-readable: antiphase.sim_run/2",
			   "also write CSV: a file of jobs, or all into a folder"),
		CLI_OPT("trace", 't', CLI_STR, &args.trace, "FILE",
			"also write a trace for Perfetto"),
		CLI_OPT("trace-all-links", 0, CLI_FLAG, &args.trace_all_links, NULL,
			"include links of a single job in the trace"),
		CLI_OPT("all-links", 'a', CLI_FLAG, &args.all_links, NULL,
			"include links of a single job in the table"),
		CLI_OPT("publish", 0, CLI_STR, &args.publish.target, "TARGET",
			"also send telemetry, as collectors do, to an endpoint such "
			"as tcp://127.0.0.1:7461 or to a file"),
		CLI_OPT("publish-switches", 0, CLI_FLAG,
			&args.publish.emit.with_switches, NULL,
			"include the telemetry of switch ports"),
		CLI_OPT("publish-events", 0, CLI_FLAG, &args.publish.emit.with_events,
			NULL, "include the begin and end of each collective"),
		CLI_OPT("pace", 0, CLI_NUM, &args.publish.pace, "X",
			"simulated seconds per second; 0: as fast as possible",
			.min = 0, .max = 1e9, .ret_given = &args.publish.has_pace),
		CLI_OPT("epoch", 0, CLI_NUM, &args.publish.epoch_s, "SECONDS",
			"begin of the simulated clock, in seconds since 1970", .min = 0,
			.max = PUBLISH_MAX_S, .ret_given = &args.publish.has_epoch),
		CLI_OPT("wait", 0, CLI_FLAG, &args.publish.must_wait, NULL,
			"begin when there is a subscriber"),
		CLI_OPT("connect", 0, CLI_FLAG, &args.publish.is_connected, NULL,
			"connect to the endpoint of a proxy instead of binding"),
		CLI_OPT("keys", 0, CLI_STR, &args.publish.keys, "DIR",
			"folder of CURVE keys for the bus; see antiphase-keys(1)"),
		CLI_OPTS_END,
	};
	char *command = report_command(argc, argv); /* Parsing moves arguments. */
	int first = cli_parse(&verb_run, opts, argc, argv), status;

	if (first < 0)
		status = cli_status(first);
	else if (argc - first != 1)
		status = cli_usage_error(&verb_run, "expected one scenario file");
	else if (args.common.series && !args.common.json)
		status = cli_usage_error(&verb_run, "--series needs --json");
	else
		status = run_scenario(&args, argv[first], command);
	free(command);
	return status == CLI_OK ? cli_finish(CLI_OK) : status;
}

const struct cli_verb verb_run = {
	.name = "run",
	.summary = "run a scenario: iteration times of jobs, contention on links",
	.usage = "[options] SCENARIO",
	.examples = "  antiphase sim run two-jobs.ini\n"
		    "  antiphase sim run demo.ini --policy antiphase --json\n"
		    "  antiphase sim run demo.ini --policy fair --trace fair.json\n"
		    "  antiphase sim run two-jobs.ini --duration 20 "
		    "--publish two-jobs.tele\n",
	.run = run_run,
};
