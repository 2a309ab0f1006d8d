/*
 * verb_sim.c - 'antiphase sim' runs antiphase-sim.
 */
#include "cli/run_program.h"
#include "cli/verbs.h"

static int
run_sim(int argc, char **argv)
{
	return run_program("antiphase-sim", "antiphase sim", argc - 1, argv + 1);
}

const struct cli_verb verb_sim = {
	.name = "sim",
	.summary = "simulate jobs on a fabric, and scheduling policies on job traces",
	.usage = "VERB [options] FILE",
	.run = run_sim,
};
