/*
 * verb_trace.c - 'antiphase trace' is a verb of the program antiphase-sim.
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
	.summary = "traces of jobs: info, convert, filter, make",
	.usage = "VERB [options] TRACE",
	.run = run_trace,
};
