/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_diff.c - 'antiphase topology diff': compare the plan with hosts' reports.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/clk.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "topology/diff.h"
#include "topology/diff_write.h"
#include "topology/observed.h"
#include "topology/observed_json.h"

#define DEFAULT_AGE_S 300

/* The reports of the service's nodes: the reply has the members of antiphase.seen/1. */
static int
ask_seen(const char *service, struct observed *seen, struct err *err)
{
	struct json_doc *doc = NULL;
	struct strbuf reply = STRBUF_EMPTY;
	int r = topology_ask(service, "seen", NULL, &reply, err);

	if (r == 0)
		r = json_parse(service, reply.text, reply.length, &doc, err);
	if (r == 0)
		r = observed_json_read_nodes(doc, clk_wall_us(), seen, err);
	json_doc_free(doc);
	strbuf_free(&reply);
	return r;
}

static void
print(const struct diff *diff, const struct topo *plan, bool json)
{
	struct jsonw w;

	if (!json) {
		diff_write_text(diff, plan, stdout);
		return;
	}
	jsonw_document(&w, stdout, "antiphase.topology_diff/1");
	diff_json_members(diff, plan, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
compare(const struct topo *plan, const struct observed *seen, int64_t max_age_s,
	bool json)
{
	const struct diff_opts opts = { clk_wall_us(), max_age_s * 1000000 };
	struct diff diff;
	int status;

	diff_make(plan, seen, &opts, &diff);
	if (diff.findings.n)
		status = CLI_NO;
	else
		status = diff.n_compared ? CLI_OK : CLI_THIN;
	print(&diff, plan, json);
	if (status == CLI_THIN)
		fprintf(stderr, "antiphase: no report covers a cable of the plan; "
				"'antiphase topology report' reports this host's\n");
	diff_fini(&diff);
	return status;
}

static int
run_diff(int argc, char **argv)
{
	const char *from = NULL;
	int64_t max_age_s = 0;
	bool json = false, has_age = false;
	const struct cli_opt opts[] = {
		CLI_OPT("from", 'f', CLI_STR, &from, "SERVICE",
			"ask this antiphase-topology for the reports, and for the "
			"plan if none is given"),
		CLI_OPT("max-age", 0, CLI_INT, &max_age_s, "SECONDS",
			"ignore older reports (default: 300 with --from, else none)",
			.max = 1000000, .ret_given = &has_age),
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_topology_diff, opts, argc, argv);
	struct topo *plan = NULL;
	struct observed *seen;
	struct err err = { 0 };
	int r;

	if (first < 0)
		return cli_status(first);
	if (!from && argc - first < 2)
		return cli_usage_error(
			&verb_topology_diff,
			"expected a PLAN and SEEN files, or --from SERVICE");
	if (from && !has_age)
		max_age_s = DEFAULT_AGE_S;
	seen = observed_new();
	r = first < argc ? topology_load(argv[first], NULL, &plan, &err)
			 : topology_ask_plan(from, &plan, &err);
	if (r == 0 && from)
		r = ask_seen(from, seen, &err);
	for (int i = first + 1; r == 0 && i < argc; i++)
		r = topology_read_seen(argv[i], false, seen, &err);
	r = r < 0 ? topology_fail(r, &err) : compare(plan, seen, max_age_s, json);
	observed_free(seen);
	topo_unref(plan);
	return r;
}

const struct cli_verb verb_topology_diff = {
	.name = "topology diff",
	.summary = "compare the plan with the cables that hosts see",
	.usage = "[options] [PLAN] [[NODE=]SEEN...]",
	.examples = "  antiphase topology diff fabric.json seen.json\n"
		    "  antiphase topology diff fabric.json gpu0=lldp-gpu0.json\n"
		    "  antiphase topology diff --from http://127.0.0.1:7462\n",
	.run = run_diff,
};
