/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_make.c - 'antiphase topology generate' and 'import': make fabric files.
 */
#include <string.h>

#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/file.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "topology/from_reports.h"
#include "topology/gen_table.h"
#include "topology/k8s.h"
#include "topology/observed.h"

static const char output_help[] = "write to FILE instead of standard output";

/* ---- generate ------------------------------------------------------------------- */

static void
print_kinds(FILE *out)
{
	fputs("antiphase topology generate - generate a fabric from a few numbers\n\n"
	      "Usage: antiphase topology generate KIND [options]\n\n",
	      out);
	for (size_t i = 0; i < GEN_N_KINDS; i++)
		fprintf(out, "  %-15s %s\n", gen_kinds[i].name, gen_kinds[i].summary);
	fputs("\n'antiphase topology generate KIND --help' lists the options of "
	      "each.\n",
	      out);
}

/* The kind's options for cli_parse(), which stores their texts in 'texts'. */
static void
fill_options(const struct gen_kind *kind, const char **texts, struct cli_opt *ret_opts)
{
	for (size_t i = 0; i < kind->n_options; i++) {
		const struct gen_option *option = &kind->options[i];

		ret_opts[i] = (struct cli_opt){
			.name = option->name,
			.type = CLI_STR,
			.ret_value = &texts[i],
			.argument = option->argument,
			.help = option->help,
			.words = option->words,
		};
	}
}

/* "--leaves N --hosts-per-leaf N [options]". */
static void
add_usage(const struct gen_kind *kind, struct strbuf *usage)
{
	for (size_t i = 0; i < kind->n_options; i++) {
		if (kind->options[i].is_needed)
			strbuf_printf(usage, "--%s %s ", kind->options[i].name,
				      kind->options[i].argument);
	}
	strbuf_puts(usage, "[options]");
}

static int
build_and_save(const struct gen_kind *kind, const char *const *texts,
	       const char *output)
{
	struct topo *topo;
	struct err err = { 0 };
	int r = gen_build(kind, texts, &topo, &err);

	if (r == 0) {
		r = topology_save(topo, output, &err);
		topo_unref(topo);
	}
	return r < 0 ? cli_fail(r, &err) : CLI_OK;
}

static int
generate_kind(const struct gen_kind *kind, int argc, char **argv)
{
	struct cli_opt opts[GEN_MAX_OPTIONS + 2];
	const char *texts[GEN_MAX_OPTIONS] = { NULL };
	char *name = xasprintf("topology generate %s", kind->name);
	struct strbuf usage = STRBUF_EMPTY;
	struct cli_verb verb = { .name = name,
				 .summary = kind->summary,
				 .operands = "" };
	const char *output = NULL;
	int first, status;

	fill_options(kind, texts, opts);
	opts[kind->n_options] = (struct cli_opt)CLI_OPT("output", 'o', CLI_STR, &output,
							"FILE", output_help);
	opts[kind->n_options + 1] = (struct cli_opt)CLI_OPTS_END;
	add_usage(kind, &usage);
	verb.usage = usage.text;
	first = cli_parse(&verb, opts, argc, argv);
	if (first < 0)
		status = cli_status(first);
	else
		status = build_and_save(kind, texts, output);
	strbuf_free(&usage);
	free(name);
	return status;
}

static int
run_generate(int argc, char **argv)
{
	const struct gen_kind *kind;
	struct err err = { 0 };

	if (argc < 2) {
		print_kinds(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_kinds(stdout);
		return CLI_OK;
	}
	kind = gen_find_kind(argv[1], &err);
	if (!kind)
		return cli_usage_error(&verb_topology_generate, "%s", err.text);
	return generate_kind(kind, argc - 1, argv + 1);
}

const struct cli_verb verb_topology_generate = {
	.name = "topology generate",
	.summary = "generate a fabric from a few numbers",
	.usage = "KIND [options]",
	.run = run_generate,
};

/* ---- import --------------------------------------------------------------------- */

struct import_args {
	const char *from, *output, *nodes, *hosts;
	double gbps, uplink_gbps, oversubscription;
	int64_t n_slots;
	struct topo_k8s_opts k8s;
};

static void
print_note(void *ctx, const char *note)
{
	(void)ctx;
	fprintf(stderr, "antiphase topology import: %s\n", note);
}

/* A fabric from the reports in the files. */
static int
load_reports(char **operands, size_t n, const char *hosts,
	     const struct topo_read_opts *opts, struct topo **ret_topo, struct err *err)
{
	struct observed **seen = xcalloc(n, sizeof(struct observed *));
	VEC(struct topo_report) reports = VEC_EMPTY;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		seen[i] = observed_new();
		r = topology_read_seen(operands[i], true, seen[i], err);
		for (size_t k = 0; r == 0 && k < observed_n_nodes(seen[i]); k++)
			vec_push(&reports,
				 ((struct topo_report){ operands[i],
							observed_node(seen[i], k) }));
	}
	if (r == 0)
		r = topo_from_reports(reports.items, reports.n, hosts, opts, ret_topo,
				      err);
	for (size_t i = 0; i < n; i++)
		observed_free(seen[i]);
	free(seen);
	vec_free(&reports);
	return r;
}

/* Reads the files, and the Nodes that HyperNodes match, and writes native JSON. */
static int
import_and_save(struct import_args *args, char **paths, size_t n, struct err *err)
{
	struct topo_read_opts opts = { .format = TOPO_FORMAT_GUESS,
				       .default_bps = args->gbps * 1e9,
				       .uplink_bps = args->uplink_gbps * 1e9,
				       .oversubscription = args->oversubscription,
				       .n_slots = (uint32_t)args->n_slots,
				       .on_note = print_note,
				       .k8s = &args->k8s };
	char *nodes = NULL;
	struct topo *topo;
	int r = 0;

	if (args->from)
		opts.format = (enum topo_format)(
			words_index(args->from, topo_format_names) + 1);
	if (args->nodes)
		r = file_read(args->nodes, TOPO_MAX_FILE_BYTES, &nodes,
			      &args->k8s.n_nodes_text, err);
	args->k8s.nodes_file = args->nodes;
	args->k8s.nodes_text = nodes;
	if (r == 0 && opts.format == TOPO_FORMAT_LLDP)
		r = load_reports(paths, n, args->hosts, &opts, &topo, err);
	else if (r == 0)
		r = topology_load(paths[0], &opts, &topo, err);
	if (r == 0) {
		r = topology_save(topo, args->output, err);
		topo_unref(topo);
	}
	free(nodes);
	return r;
}

static int
run_import(int argc, char **argv)
{
	struct import_args args = { 0 };
	const struct cli_opt opts[] = {
		CLI_OPT("from", 0, CLI_WORDS, &args.from, "FORMAT",
			"format of FILE (default: guessed)",
			.words = topo_format_names),
		CLI_OPT("gbps", 0, CLI_NUM, &args.gbps, "GBPS",
			"speed of links whose speed is not in FILE (default: 100)",
			.min = 1e-6, .max = 1e6),
		CLI_OPT("uplink-gbps", 0, CLI_NUM, &args.uplink_gbps, "GBPS",
			"the same, for links between switches of a tree", .min = 1e-6,
			.max = 1e6),
		CLI_OPT("oversubscription", 0, CLI_RATIO, &args.oversubscription,
			"RATIO",
			"instead of --uplink-gbps: capacity down / up of a switch",
			.min = 1e-6, .max = 1e6),
		CLI_OPT("slots", 0, CLI_INT, &args.n_slots, "N",
			"slots of hosts, unless FILE has them (default: 1)", .min = 1,
			.max = TOPO_MAX_SLOTS),
		CLI_OPT("labels", 0, CLI_STR, &args.k8s.label_keys, "KEYS",
			"for Nodes: keys of labels, closest switch first (default: "
			"known ones)"),
		CLI_OPT("nested", 0, CLI_FLAG, &args.k8s.is_nested, NULL,
			"for Nodes: a label's names are unique only within the switch "
			"above"),
		CLI_OPT("root", 0, CLI_STR, &args.k8s.root, "NAME",
			"for Nodes: a switch above all switches that have none above"),
		CLI_OPT("gpu-resource", 0, CLI_STR, &args.k8s.gpu_resource, "NAME",
			"for Nodes: the resource that counts as slots (default: " K8S_GPU_RESOURCE
			")"),
		CLI_OPT("nodes", 0, CLI_STR, &args.nodes, "FILE",
			"for HyperNodes: the Nodes that labels and patterns match"),
		CLI_OPT("hosts", 0, CLI_STR, &args.hosts, "LIST",
			"for LLDP: the hosts (default: nodes with one neighbor, and "
			"those that do not bridge)"),
		CLI_OPT("output", 'o', CLI_STR, &args.output, "FILE", output_help),
		CLI_OPTS_END,
	};
	struct err err = { 0 };
	bool is_lldp;
	int first = cli_parse(&verb_topology_import, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	if (args.uplink_gbps > 0 && args.oversubscription > 0)
		return cli_usage_error(&verb_topology_import,
				       "--uplink-gbps and --oversubscription exclude "
				       "each other");
	is_lldp = args.from && strcmp(args.from, "lldp") == 0;
	if (!is_lldp && argc - first > 1)
		return cli_usage_error(
			&verb_topology_import,
			"expected one FILE; only --from lldp takes more");
	if (!is_lldp && args.hosts)
		return cli_usage_error(&verb_topology_import,
				       "--hosts is for --from lldp");
	r = import_and_save(&args, argv + first, (size_t)(argc - first), &err);
	return r < 0 ? topology_fail(r, &err) : CLI_OK;
}

const struct cli_verb verb_topology_import = {
	.name = "topology import",
	.summary =
		"convert files of Slurm, ibnetdiscover, LLDP, topograph or Kubernetes",
	.usage = "[options] FILE...",
	.examples =
		"  antiphase topology import --gbps 200 /etc/slurm/topology.conf\n"
		"  ibnetdiscover | antiphase topology import -o fabric.json -\n"
		"  antiphase topology import --gbps 400 --oversubscription 2:1 "
		"nodes.json\n"
		"  antiphase topology import --from lldp -o fabric.json lldp/*.json\n",
	.run = run_import,
	.operands = "one FILE, or several with --from lldp",
	.min_operands = 1,
	.max_operands = OBSERVED_MAX_NODES,
};
