/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_path.c - 'antiphase path': the links of a flow on the fabric of the cluster.
 */
#include "cli/path_print.h"
#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/verbs.h"

static int
run_path(int argc, char **argv)
{
	struct path_question question = { 0 };
	const char *fabric = TOPOLOGY_SERVICE;
	const struct cli_opt opts[] = {
		CLI_OPT("fabric", 'f', CLI_STR, &fabric, "FILE",
			"fabric, or its service (default: " TOPOLOGY_SERVICE ")"),
		PATH_OPTS(&question),
		CLI_OPTS_END,
	};
	struct topo *topo;
	struct err err = { 0 };
	int first = cli_parse(&verb_path, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	r = topology_load(fabric, NULL, &topo, &err);
	if (r < 0)
		return topology_fail(r, &err);
	r = path_show(topo, argv + first, &question);
	topo_unref(topo);
	return r;
}

const struct cli_verb verb_path = {
	.name = "path",
	.summary = "show the links of a flow between two hosts, and how it is chosen",
	.usage = "[options] SOURCE DESTINATION",
	.examples = "  antiphase path h0 h23\n"
		    "  antiphase path --fabric fabric.json h0 h23 --port 4791\n"
		    "  antiphase path --fabric fabric.json h0 h23 --all\n",
	.run = run_path,
	.operands = "SOURCE and DESTINATION",
	.min_operands = 2,
	.max_operands = 2,
};
