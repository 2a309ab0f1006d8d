/*
 * verb_trace.c - 'antiphase trace' runs antiphase-sim.
 */
#include "cli/run_program.h"
#include "cli/verbs.h"

static int
run_trace(int argc, char **argv)
{
	return run_program("antiphase-sim", "antiphase", argc, argv);
}

const struct cli_verb verb_trace = {
	.name = "trace",
	.summary = "inspect, convert, filter and generate job traces",
	.usage = "VERB [options] TRACE",
	.run = run_trace,
};
