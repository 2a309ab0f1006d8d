/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_path.c - 'antiphase path': the links of a flow on the fabric of the cluster, those
 * of running flows, and the switches that source ports of this host pass.
 */
#include "cli/inferred_print.h"
#include "cli/path_print.h"
#include "cli/probe_print.h"
#include "cli/screen.h"
#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/verbs.h"

/* A fabric is asked for names of switches only if one is given. */
static int
run_probe(const char *fabric, const struct probe_question *question)
{
	struct topo *topo = NULL;
	struct err err = { 0 };
	int r = fabric ? topology_load(fabric, NULL, &topo, &err) : 0;

	if (r < 0)
		return topology_fail(r, &err);
	r = probe_show(topo, question);
	topo_unref(topo);
	return r;
}

/* A recording says nothing without a fabric; a bus may have the local service. */
static int
run_infer(const struct screen_opts *opts, char **hosts, bool json)
{
	struct screen screen;
	int status = screen_open(&screen, &verb_path, opts, false);

	if (status == CLI_OK && !screen.topo)
		status = cli_usage_error(
			&verb_path, "--from needs a fabric; give it with --fabric");
	if (status == CLI_OK)
		status = screen_gather(&screen, opts->window ? 0 : INFERRED_LEAST_MS);
	if (status == CLI_OK)
		status = inferred_show(&screen, hosts, json);
	screen_close(&screen);
	return cli_finish(status);
}

static int
run_path(int argc, char **argv)
{
	struct path_question question = { 0 };
	struct probe_question probe = { .ports = "61000-61015" };
	struct screen_opts screen = { .window = NULL };
	const char *fabric = NULL;
	const struct cli_opt opts[] = {
		CLI_OPT("fabric", 'f', CLI_STR, &fabric, "FILE",
			"fabric, or its service (default: " TOPOLOGY_SERVICE ")"),
		PATH_OPTS(&question),
		CLI_OPT("from", 'F', CLI_LIST, &screen.from, "SOURCE",
			"infer the paths of running flows from telemetry: a bus or a "
			"recording"),
		CLI_OPT("window", 'w', CLI_STR, &screen.window, "TIME",
			"with --from: how long to read a bus (default: 30 s)"),
		CLI_OPT("keys", 0, CLI_STR, &screen.keys, "DIR",
			"with --from: directory of CURVE keys, for a bus on another "
			"machine"),
		CLI_OPT("probe", 0, CLI_STR, &probe.destination, "ADDRESS:PORT",
			"from this host: probe which switches TCP packets pass"),
		CLI_OPT("ports", 0, CLI_STR, &probe.ports, "RANGE",
			"with --probe: source ports (default: 61000-61015)"),
		CLI_OPT("hops", 0, CLI_STR, &probe.hops, "RANGE",
			"with --probe: hop counts, such as 2 or 1-3 (default: all)"),
		CLI_OPTS_END,
	};
	struct topo *topo;
	struct err err = { 0 };
	int first = cli_parse(&verb_path, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	if (argc - first != (probe.destination ? 0 : 2))
		return cli_usage_error(&verb_path,
				       probe.destination ? "expected no operands with "
							   "--probe"
							 : "expected SOURCE and "
							   "DESTINATION");
	if (probe.destination && screen.from.n)
		return cli_usage_error(&verb_path, "--probe and --from exclude each "
						   "other");
	probe.json = question.json;
	screen.fabric = fabric;
	if (probe.destination)
		return run_probe(fabric, &probe);
	if (screen.from.n)
		return run_infer(&screen, argv + first, question.json);
	r = topology_load(fabric ? fabric : TOPOLOGY_SERVICE, NULL, &topo, &err);
	if (r < 0)
		return topology_fail(r, &err);
	r = path_show(topo, argv + first, &question);
	topo_unref(topo);
	return r;
}

const struct cli_verb verb_path = {
	.name = "path",
	.summary = "show the links of a flow between two hosts, and how it is chosen",
	.usage = "[options] SOURCE DESTINATION | --probe ADDRESS:PORT [options]",
	.examples = "  antiphase path h0 h23\n"
		    "  antiphase path --fabric fabric.json h0 h23 --port 4791\n"
		    "  antiphase path --fabric fabric.json h0 h23 --all\n"
		    "  antiphase path h0 h23 --from run.tele --fabric fabric.json\n"
		    "  antiphase path --probe 10.0.1.1:5001 --ports 61000-61015\n",
	.run = run_path,
};
