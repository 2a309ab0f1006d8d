/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - 'antiphase': the table of verbs.  Each verb is a file of its own.
 */
#include <string.h>

#include "cli/verbs.h"

/* One per line; clang-format would join them. */
/* clang-format off */
static const struct cli_verb *const verbs[] = {
	&verb_profile,
	&verb_topology,
	&verb_compat,
	&verb_advise,
	&verb_advice,
	&verb_changes,
	&verb_explain,
	&verb_fragmentation,
	&verb_links,
	&verb_link,
	&verb_path,
	&verb_jobs,
	&verb_job,
	&verb_top,
	&verb_web,
	&verb_report,
	&verb_record,
	&verb_replay,
	&verb_proxy,
	&verb_keys,
	&verb_config,
	&verb_setup,
	&verb_doctor,
	&verb_bundle,
	&verb_stats,
	&verb_ctl,
	&verb_store,
	&verb_import,
	&verb_slurm,
	&verb_sim,
	&verb_trace,
	NULL,
};
/* clang-format on */

static const struct cli_program program = {
	.name = "antiphase",
	.summary = "interleave the traffic of training jobs on shared links",
	.verbs = verbs,
};

int
main(int argc, char **argv)
{
	return cli_main(&program, argc, argv);
}
