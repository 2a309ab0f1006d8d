/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_ctl.c - 'antiphase ctl DAEMON REQUEST...': a request to a daemon of this host.
 *
 * The help names the requests of each daemon; tests/man_options.sh compares it with the
 * daemons' tables.
 */
#include <string.h>

#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/daemon/control.h"
#include "lib/daemon/runtime_dirs.h"

static int run_ctl(int argc, char **argv);

#define OF_ALL                                                                    \
	"  ping                       whether it is alive, and its sources\n"     \
	"  log LEVEL                  set its log level: err, warn, info, dbg\n"  \
	"  stats                      its metrics, in the format of Prometheus\n" \
	"  commands                   these requests, as JSON"

/* Help for one daemon, 'ctl DAEMON --help'. */
static const struct cli_verb of_daemons[] = {
	{
		.name = "ctl collector",
		.summary = "send a request to antiphase-collector",
		.usage = "[--runtime-dir DIR] REQUEST...\n\nRequests:\n"
			 "  job add NAME CGROUP        count a control group as a job\n"
			 "  job remove NAME            forget that\n"
			 "  job list [json]            the jobs\n"
			 "  port list                  wire ports of flows\n"
			 "  port release               end all of them\n" OF_ALL,
		.examples = "  antiphase ctl collector ping\n"
			    "  antiphase ctl collector log dbg\n",
		.run = run_ctl,
	},
	{
		.name = "ctl scheduler",
		.summary = "send a request to antiphase-scheduler",
		.usage =
			"[--runtime-dir DIR] REQUEST...\n\nRequests:\n"
			"  modes                      the modes of all partitions\n"
			"  mode MODE [PARTITION]      set one: observe, advise, enforce\n"
			"  poke                       poll the cluster's scheduler now\n"
			"  flow list                  TCP flows of jobs\n"
			"  flow moved                 those that have a wire port\n"
			"  flow move JOB SOURCE DESTINATION PORT\n"
			"                             give a flow a wire port\n"
			"  flow port SOURCE DESTINATION SWITCHES\n"
			"                             a wire port for a path\n" OF_ALL,
		.examples = "  antiphase ctl scheduler modes\n"
			    "  antiphase ctl scheduler mode advise train\n",
		.run = run_ctl,
	},
};

/* The verb for help and errors: that of the daemon, if one is named first. */
static const struct cli_verb *
verb_for(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof of_daemons / sizeof *of_daemons; i++)
		if (strcmp(argv[1], strchr(of_daemons[i].name, ' ') + 1) == 0)
			return &of_daemons[i];
	return &verb_ctl;
}

/* Refuses a name that is no daemon's socket in its own directory. */
static int
refuse_daemon(const char *name)
{
	static const char *const names[] = { "collector", "scheduler", NULL };
	const char *meant = err_did_you_mean(name, names);

	if (strcmp(name, "topology") == 0)
		return cli_usage_error(
			&verb_ctl,
			"antiphase-topology takes no requests; 'antiphase topology "
			"show http://127.0.0.1:7462' asks it");
	return cli_usage_error(&verb_ctl,
			       "there is no daemon '%s' here%s%s%s; expected collector "
			       "or scheduler",
			       name, meant ? " (did you mean '" : "",
			       meant ? meant : "", meant ? "'?)" : "");
}

static int
run_ctl(int argc, char **argv)
{
	const struct cli_verb *verb = verb_for(argc, argv);
	const char *runtime_dir = NULL, *words[CONTROL_MAX_WORDS + 1];
	const struct cli_opt opts[] = {
		CLI_OPT("runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
			"directory of its socket (default: " COLLECTOR_RUNTIME_DIR
			", of scheduler " SCHEDULER_RUNTIME_DIR ")"),
		CLI_OPTS_END,
	};
	int first = cli_parse(verb, opts, argc, argv), n = argc - first;
	bool is_scheduler;

	if (first < 0)
		return cli_status(first);
	if (n < 1 || n - 1 > CONTROL_MAX_WORDS || strchr(argv[first], '/'))
		return cli_usage_error(verb, "expected a daemon, such as collector, "
					     "and a request, such as 'log dbg'");
	is_scheduler = strcmp(argv[first], "scheduler") == 0;
	if (!runtime_dir && !is_scheduler && strcmp(argv[first], "collector") != 0)
		return refuse_daemon(argv[first]);
	if (n < 2)
		return cli_usage_error(verb, "expected a request, such as 'log dbg'");
	for (int i = 1; i < n; i++)
		words[i - 1] = argv[first + i];
	words[n - 1] = NULL;
	if (!runtime_dir)
		runtime_dir =
			is_scheduler ? SCHEDULER_RUNTIME_DIR : COLLECTOR_RUNTIME_DIR;
	return control_ask_print(runtime_dir, argv[first], words);
}

const struct cli_verb verb_ctl = {
	.name = "ctl",
	.summary = "send a request to a daemon of this host: log level, jobs, modes",
	.usage = "[--runtime-dir DIR] DAEMON REQUEST...\n\n"
		 "Daemons; 'antiphase ctl DAEMON --help' lists their requests:\n"
		 "  collector                  telemetry of this host, and its jobs\n"
		 "  scheduler                  advice, modes, flows",
	.examples = "  antiphase ctl collector ping\n"
		    "  antiphase ctl collector log dbg\n"
		    "  antiphase ctl scheduler modes\n"
		    "  antiphase ctl scheduler mode advise train\n",
	.run = run_ctl,
};
