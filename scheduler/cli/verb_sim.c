/*
 * verb_sim.c - 'antiphase sim' is the program antiphase-sim.
 */
#include "scheduler/cli/run_program.h"
#include "scheduler/cli/verbs.h"

static int
run_sim(int argc, char **argv)
{
	(void)argc;
	return run_program("antiphase-sim", argv);
}

const struct cli_verb verb_sim = {
	.name = "sim",
	.summary = "simulate jobs on a fabric, and policies over traces of jobs",
	.usage = "VERB [options] FILE",
	.run = run_sim,
};
