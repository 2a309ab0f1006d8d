/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_path.c - 'antiphase topology path' and 'links-of': the links of a flow, and
 * the links that a job loads.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/path_print.h"
#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/file.h"
#include "lib/base/hostlist.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "topology/collective.h"
#include "topology/kueue.h"
#include "topology/route.h"

/* ---- path ------------------------------------------------------------------------ */

static int
run_path(int argc, char **argv)
{
	struct path_question question = { 0 };
	const struct cli_opt opts[] = {
		PATH_OPTS(&question),
		CLI_OPTS_END,
	};
	struct topo *topo;
	struct err err = { 0 };
	int first = cli_parse(&verb_topology_path, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	r = topology_load(argv[first], NULL, &topo, &err);
	if (r < 0)
		return topology_fail(r, &err);
	r = path_show(topo, argv + first + 1, &question);
	topo_unref(topo);
	return r;
}

const struct cli_verb verb_topology_path = {
	.name = "topology path",
	.summary = "show the links of a flow between two hosts",
	.usage = "[options] FILE SOURCE DESTINATION",
	.examples = "  antiphase topology path fabric.json h0 h23 --port 4791\n",
	.run = run_path,
	.operands = "FILE, SOURCE and DESTINATION",
	.min_operands = 3,
	.max_operands = 3,
};

/* ---- links-of -------------------------------------------------------------------- */

struct load {
	const struct topo *topo;
	const char *collective;
	int64_t port, seed;
	VEC(uint32_t) hosts;
	struct collective_flows flows;
	struct footprint footprint;
	struct err *err;
};

static int
take_host(void *ctx, const char *name)
{
	struct load *load = ctx;
	uint32_t host = topology_find_host(load->topo, name, load->err);

	if (host == TOPO_NONE)
		return -EINVAL;
	for (size_t i = 0; i < load->hosts.n; i++) {
		if (load->hosts.items[i] == host)
			return err_set(load->err, NULL, 0, 0,
				       "host '%s' is named twice", name);
	}
	vec_push(&load->hosts, host);
	return 0;
}

/* From --hosts, or from the file of a Workload of Kueue. */
static int
find_hosts(struct load *load, const char *hosts, const char *workload)
{
	size_t max_hosts = (size_t)topo_n_hosts(load->topo) + 1, length;
	const char *why = NULL;
	char *text;
	int r;

	if (hosts) {
		r = hostlist_expand(hosts, max_hosts, take_host, load, &why);
		return why ? err_set(load->err, NULL, 0, 0, "--hosts is '%s': %s",
				     hosts, why)
			   : r;
	}
	r = file_read(workload, TOPO_MAX_FILE_BYTES, &text, &length, load->err);
	if (r < 0)
		return r;
	r = kueue_nodes_read(workload, text, length, max_hosts, take_host, load,
			     load->err);
	free(text);
	return r;
}

static int
find_load(struct load *load, struct topo *topo)
{
	struct routes *routes;
	enum collective kind;
	uint32_t pair[2];
	int r;

	kind = (enum collective)words_index(load->collective, collective_names);
	r = collective_make(topo, kind, load->hosts.items, load->hosts.n, 1,
			    &load->flows);
	if (r < 0)
		return err_set(load->err, NULL, 0, 0,
			       "too many hosts for %s: more than %d flows",
			       load->collective, COLLECTIVE_MAX_FLOWS);
	routes = routes_new(topo, (uint64_t)load->seed);
	r = footprint_make(routes, &load->flows, (uint16_t)load->port, &load->footprint,
			   pair);
	routes_free(routes);
	if (r < 0)
		err_set(load->err, NULL, 0, 0, "no path from %s to %s",
			topo_node(topo, pair[0])->name, topo_node(topo, pair[1])->name);
	return r;
}

static void
load_json(const struct load *load)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.topology_links_of/2");
	jsonw_str(&w, "collective", load->collective);
	jsonw_int(&w, "port", load->port);
	jsonw_int(&w, "seed", load->seed);
	jsonw_flat_array(&w, "hosts");
	for (size_t i = 0; i < load->hosts.n; i++)
		jsonw_str(&w, NULL, topo_node(load->topo, load->hosts.items[i])->name);
	jsonw_end(&w);
	jsonw_int(&w, "flows", (int64_t)load->flows.n);
	jsonw_rounded(&w, "nic_bytes_per_message_byte", load->flows.nic_bytes, 9);
	jsonw_array(&w, "links");
	for (size_t i = 0; i < load->footprint.n; i++) {
		const struct footprint_entry *e = &load->footprint.entries[i];

		topology_json_link(&w, load->topo, e->link);
		jsonw_rounded(&w, "factor", e->factor, 9);
		jsonw_int(&w, "flows", e->n_flows);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
load_text(const struct load *load)
{
	struct table t;

	printf("%s over %zu host%s: %zu flow%s on %zu link%s; an interface "
	       "carries %.6g times the message\n"
	       "\n",
	       load->collective, load->hosts.n, words_plural(load->hosts.n),
	       load->flows.n, words_plural(load->flows.n), load->footprint.n,
	       words_plural(load->footprint.n), load->flows.nic_bytes);
	table_init(&t,
		   (const char *const[]){ "LINK", "%Gb/s", "%FACTOR", "%FLOWS", NULL });
	for (size_t i = 0; i < load->footprint.n; i++) {
		const struct footprint_entry *e = &load->footprint.entries[i];

		topology_table_link(&t, load->topo, e->link);
		table_cell(&t, "%.4g", e->factor);
		table_cell(&t, "%u", e->n_flows);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static int
run_links_of(int argc, char **argv)
{
	struct err err = { 0 };
	struct load load = { .collective = collective_names[0], .err = &err };
	const char *hosts = NULL, *workload = NULL;
	bool json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("hosts", 0, CLI_STR, &hosts, "LIST",
			"hosts of the job, such as 'h[0-3]'"),
		CLI_OPT("workload", 0, CLI_STR, &workload, "FILE",
			"hosts that Kueue assigned to this Workload (kubectl get "
			"workload NAME -o json)"),
		CLI_OPT("collective", 'c', CLI_WORDS, &load.collective, "KIND",
			"their collective operation (default: ring)",
			.words = collective_names),
		CLI_OPT("port", 'p', CLI_INT, &load.port, "N",
			"source port of the first flow (default: 0)", .max = 65535),
		CLI_OPT("seed", 's', CLI_INT, &load.seed, "N",
			"seed of the ECMP hash (default: 0)", .max = PATH_MAX_SEED),
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	struct topo *topo;
	int first = cli_parse(&verb_topology_links_of, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1 || !hosts == !workload)
		return cli_usage_error(
			&verb_topology_links_of,
			"expected one FILE, and --hosts LIST or --workload FILE");
	r = topology_load(argv[first], NULL, &topo, &err);
	if (r < 0)
		return topology_fail(r, &err);
	load.topo = topo;
	r = find_hosts(&load, hosts, workload);
	if (r == 0)
		r = find_load(&load, topo);
	if (r < 0)
		cli_fail(r, &err);
	else if (json)
		load_json(&load);
	else
		load_text(&load);
	vec_free(&load.hosts);
	collective_flows_fini(&load.flows);
	footprint_fini(&load.footprint);
	topo_unref(topo);
	return r == -EHOSTUNREACH ? CLI_NO : r < 0 ? CLI_USAGE : CLI_OK;
}

const struct cli_verb verb_topology_links_of = {
	.name = "topology links-of",
	.summary = "show the links that a job loads, and by how much",
	.usage = "[options] --hosts LIST|--workload FILE FILE",
	.examples = "  antiphase topology links-of fabric.json --hosts 'h[0-5]'\n"
		    "  antiphase topology links-of fabric.json --hosts h0,h4 -c "
		    "all-to-all\n",
	.run = run_links_of,
};
