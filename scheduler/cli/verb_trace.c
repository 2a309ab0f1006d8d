/*
 * verb_trace.c - 'antiphase trace' is a verb of the program antiphase-sim.
 */
#include "lib/base/alloc.h"
#include "scheduler/cli/run_program.h"
#include "scheduler/cli/verbs.h"

static int
run_trace(int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 2, sizeof *words);

	/* "trace info ...", behind the name of the program. */
	for (int i = 0; i < argc; i++)
		words[i + 1] = argv[i];
	return run_program("antiphase-sim", words);
}

const struct cli_verb verb_trace = {
	.name = "trace",
	.summary = "traces of jobs: info, convert, filter, make",
	.usage = "VERB [options] TRACE",
	.run = run_trace,
};
