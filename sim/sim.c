/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.c - 'antiphase-sim', which 'antiphase sim', 'antiphase trace' and 'antiphase
 * import' run: its table of verbs.
 */
#include <stddef.h>
#include <string.h>

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
	&verb_sim_ratios,
	&verb_trace,
	NULL,
};

/* What 'antiphase' runs without the word 'sim'. */
static const struct cli_verb *const own_verbs[] = {
	&verb_sim_import,
	&verb_trace,
	NULL,
};

/* clang-format on */

int
main(int argc, char **argv)
{
	/* Run by 'antiphase trace' or 'antiphase import', it shows that name. */
	bool is_own = argc > 1 && strcmp(argv[0], "antiphase") == 0 &&
		      (strcmp(argv[1], verb_trace.name) == 0 ||
		       strcmp(argv[1], verb_sim_import.name) == 0);
	const struct cli_program program = {
		.name = is_own ? "antiphase" : "antiphase-sim",
		.summary = "simulate training jobs on a switch fabric",
		.verbs = is_own ? own_verbs : verbs,
	};

	local_be_a_cell();
	return cli_main(&program, argc, argv);
}
