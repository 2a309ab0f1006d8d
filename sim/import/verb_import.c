/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_import.c - 'antiphase import chakra' and 'operations': execution traces as
 * scenarios.  The other kinds of 'antiphase import' are antiphase-collector's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "sim/import/chakra.h"
#include "sim/import/op_csv.h"
#include "sim/import/op_scenario.h"
#include "sim/verbs.h"

static int
read_chakra(const char *path, struct op_table *table, struct err *err)
{
	uint32_t rank;
	char *bytes;
	size_t size;
	int r = chakra_rank_of(path, &rank, err);

	if (r < 0)
		return r;
	r = file_read(path, CHAKRA_MAX_FILE, &bytes, &size, err);
	if (r < 0)
		return r;
	r = chakra_read(path, rank, bytes, size, table, err);
	free(bytes);
	return r;
}

static int
convert(bool is_chakra, char **files, int n, const struct op_scenario_options *options,
	struct strbuf *text, struct err *err)
{
	struct op_table table;
	struct op_graph graph = { 0 };
	int r = 0;

	op_table_init(&table);
	for (int i = 0; i < n && r == 0; i++)
		r = is_chakra ? read_chakra(files[i], &table, err)
			      : op_csv_read(files[i], &table, err);
	if (r == 0)
		r = op_table_finish(&table, err);
	if (r == 0)
		r = op_graph_make(&table, &graph, err);
	if (r == 0)
		r = op_scenario_write(&table, &graph, options, text, err);
	op_graph_fini(&graph);
	op_table_fini(&table);
	return r;
}

/* As workload_ini.h has names of jobs. */
static bool
is_job_name(const char *name)
{
	return strlen(name) <= OP_MAX_NAME && *name &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789._-/+@*") == strlen(name);
}

static int
run_import(int argc, char **argv)
{
	struct op_scenario_options options = { .job = "trace", .slots = 1 };
	const char *output = "-";
	int64_t slots = 1;
	const struct cli_opt opts[] = {
		CLI_OPT("output", 'o', CLI_STR, &output, "FILE",
			"the scenario to write (default: standard output)"),
		CLI_OPT("job", 0, CLI_STR, &options.job, "NAME",
			"name of the job (default: trace)"),
		CLI_OPT("hosts", 0, CLI_STR, &options.hosts, "LIST",
			"hosts of the job, in the order of the ranks (default: as many "
			"nodes, which wait for a place)"),
		CLI_OPT("slots", 0, CLI_INT, &slots, "N",
			"ranks on each host (default: 1)", .min = 1,
			.max = OP_MAX_RANKS),
		CLI_OPT("generate", 0, CLI_STR, &options.generate, "FABRIC",
			"also a [fabric] section, with these arguments of 'antiphase "
			"topology generate'"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_sim_import, opts, argc, argv), r;
	struct strbuf text = STRBUF_EMPTY;
	struct err err = { 0 };
	bool is_chakra;

	if (first < 0)
		return cli_status(first);
	is_chakra = first < argc && !strcmp(argv[first], "chakra");
	if (first == argc || (!is_chakra && strcmp(argv[first], "operations") != 0))
		return cli_usage_error(&verb_sim_import,
				       "expected chakra or operations");
	if (argc - first < 2)
		return cli_usage_error(&verb_sim_import, "no file to import");
	if (!is_job_name(options.job))
		return cli_usage_error(&verb_sim_import,
				       "--job is '%s', expected up to %d letters, "
				       "digits and '._-/+@*'",
				       options.job, OP_MAX_NAME);
	options.slots = (uint32_t)slots;
	r = convert(is_chakra, argv + first + 1, argc - first - 1, &options, &text,
		    &err);
	if (r == 0)
		r = file_write(output, text.text, text.length, &err);
	strbuf_free(&text);
	return cli_finish(r < 0 ? cli_fail(r, &err) : CLI_OK);
}

const struct cli_verb verb_sim_import = {
	.name = "import",
	.summary = "execution traces as scenarios: chakra, operations",
	.usage = "chakra|operations [options] FILE...",
	.examples = "  antiphase import chakra all_reduce.*.et -o all_reduce.ini\n"
		    "  antiphase import operations operations.csv --hosts 'h[0-3]'\n",
	.run = run_import,
};
