/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_topology.c - 'antiphase topology': the table of its verbs.
 */
#include "cli/topology_verbs.h"
#include "cli/verbs.h"

static const struct cli_verb *const subverbs[] = {
	&verb_topology_generate, &verb_topology_show,
	&verb_topology_check,    &verb_topology_import,
	&verb_topology_path,     &verb_topology_links_of,
	&verb_topology_diff,     &verb_topology_report,
	&verb_topology_watch,    NULL,
};

static int
run_topology(int argc, char **argv)
{
	return cli_subverbs(&verb_topology, subverbs, argc, argv);
}

const struct cli_verb verb_topology = {
	.name = "topology",
	.summary = "generate, show, check, import and compare fabrics",
	.usage = "VERB [options] ...",
	.examples =
		"  antiphase topology generate leaf-spine --leaves 6 --hosts-per-leaf "
		"4 "
		"-o fabric.json\n"
		"  antiphase topology show fabric.json\n"
		"  antiphase topology check fabric.json\n",
	.run = run_topology,
};
