/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - shared parts of 'run' and 'compare': options, a scenario on its fabric, and
 * one experiment with it.
 */
#ifndef SIM_RUN_SETUP_H
#define SIM_RUN_SETUP_H

#include <stdbool.h>

#include "lib/base/cli.h"
#include "lib/base/progress.h"
#include "scheduler/core/workload/workload_ini.h"
#include "sim/run/experiment.h"

struct err;

/* Options of both verbs. */
struct setup_args {
	const char *fabric; /* File; NULL: the scenario's. */
	const char *csv;
	const char *progress; /* One of progress_words; NULL: auto. */
	struct cli_list sets; /* "SECTION.KEY=VALUE": see scenario_parse_set(). */
	int64_t iterations;   /* 0: as the scenario says. */
	double duration_s;    /* Only if 'has_duration'. */
	bool has_duration, json, series;
};

/* clang-format off */
/* Rows of a table of options that fill 'args'. */
#define SETUP_OPTS(args, json_help, csv_help)                                   \
	{ "iterations", 'n', CLI_INT, &(args)->iterations, "N",                 \
	  "iterations of each job to measure",                                  \
	  1, EXPERIMENT_MAX_ITERATIONS, NULL, NULL },                           \
	{ "duration", 0, CLI_NUM, &(args)->duration_s, "SECONDS",               \
	  "simulated time, instead of --iterations",                                           \
	  1e-6, 1e8, NULL, &(args)->has_duration },                             \
	{ "fabric", 'f', CLI_STR, &(args)->fabric, "FILE",                      \
	  "fabric to use instead of the scenario's", 0, 0, NULL, NULL },          \
	{ "set", 0, CLI_LIST, &(args)->sets, "SECTION.KEY=VALUE",               \
	  "override a key of the scenario; may be repeated",                   \
	  0, 0, NULL, NULL },                                                   \
	{ "json", 'j', CLI_FLAG, &(args)->json, NULL, json_help,                \
	  0, 0, NULL, NULL },                                                   \
	{ "series", 0, CLI_FLAG, &(args)->series, NULL,                         \
	  "with --json: also the traffic of links and the iterations by time",    \
	  0, 0, NULL, NULL },                                                   \
	{ "csv", 0, CLI_STR, &(args)->csv, "PATH", csv_help,                    \
	  0, 0, NULL, NULL },                                                   \
	PROGRESS_OPT(&(args)->progress)

/* clang-format on */

struct setup {
	struct scenario *scenario;
	struct topo *topo;
	struct routes *routes;
};

/*
 * Reads the scenario 'path' and makes or reads its fabric; 'args' override the
 * scenario.  Returns 0 or a negative errno with 'err' filled.  Release with
 * setup_fini().
 */
int setup_load(const char *path, const struct setup_args *args, struct setup *ret_setup,
	       struct err *err);
void setup_fini(struct setup *setup); /* Accepts a zeroed one. */

/* As experiment_run(), but fills 'err'. */
int setup_run(const struct setup *setup, const struct sim_plan *plan,
	      const struct experiment_opts *opts, struct experiment *ret_experiment,
	      struct err *err);

/* Names the first job that starved on standard error; false: none did. */
bool setup_report_starved(const struct setup *setup, const char *policy,
			  const struct experiment *experiment);

#endif
