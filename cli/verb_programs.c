/* SPDX-License-Identifier: Apache-2.0 */
/* verb_programs.c - verbs of 'antiphase' that other programs implement. */
#include <stdbool.h>
#include <string.h>

#include "cli/run_program.h"
#include "cli/verbs.h"

static int
run_collector_verb(int argc, char **argv)
{
	return run_program("antiphase-collector", "antiphase", argc, argv);
}

static int
run_simulator_verb(int argc, char **argv)
{
	return run_program("antiphase-sim", "antiphase", argc, argv);
}

/* Execution traces become scenarios, which are the simulator's; the rest, telemetry. */
static int
run_import(int argc, char **argv)
{
	bool is_trace = argc > 1 &&
			(!strcmp(argv[1], "chakra") || !strcmp(argv[1], "operations"));

	return is_trace ? run_simulator_verb(argc, argv)
			: run_collector_verb(argc, argv);
}

/* antiphase-sim has the verbs of 'antiphase sim' at its top. */
static int
run_simulator(int argc, char **argv)
{
	return run_program("antiphase-sim", "antiphase sim", argc - 1, argv + 1);
}

const struct cli_verb verb_doctor = {
	.name = "doctor",
	.summary = "check what this host supports, and how to add what is missing",
	.usage = "[options]",
	.run = run_collector_verb,
};

const struct cli_verb verb_import = {
	.name = "import",
	.summary = "convert captures and telemetry to recordings, execution traces to "
		   "scenarios",
	.usage = "pcap|sflow|hft|chakra|operations [options] FILE... -o OUT",
	.run = run_import,
};

const struct cli_verb verb_sim = {
	.name = "sim",
	.summary = "simulate jobs on a fabric, and scheduling policies on job traces",
	.usage = "VERB [options] FILE",
	.run = run_simulator,
};

const struct cli_verb verb_trace = {
	.name = "trace",
	.summary = "inspect, convert, filter and generate job traces",
	.usage = "VERB [options] TRACE",
	.run = run_simulator_verb,
};
