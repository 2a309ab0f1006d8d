/*
 * sim.c - 'antiphase-sim', which 'antiphase sim' runs: the table of its verbs.
 */
#include <stddef.h>

#include "sim/sweep/local.h"
#include "sim/verbs.h"

/* One a line. clang-format would not. */
/* clang-format off */
static const struct cli_verb *const verbs[] = {
	&verb_run,
	&verb_compare,
	&verb_flows,
	&verb_sim_policies,
	&verb_sim_replay,
	&verb_sim_sweep,
	&verb_trace,
	NULL,
};
/* clang-format on */

static const struct cli_program program = {
	.name = "antiphase-sim",
	.summary = "simulate training jobs on a switch fabric",
	.verbs = verbs,
};

int
main(int argc, char **argv)
{
	local_be_a_cell();
	return cli_main(&program, argc, argv);
}
