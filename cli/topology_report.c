/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_report.c - 'antiphase topology report': send this host's report to the
 * service; 'watch': print the changes that the service announces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bus_opts.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/wire/bus.h"
#include "topology/in_lldp.h"
#include "topology/links_netlink.h"
#include "topology/lldp_run.h"
#include "topology/observed.h"
#include "topology/observed_json.h"

#define SECOND_NS       INT64_C(1000000000)
#define LLDP_TIMEOUT_NS (5 * SECOND_NS)

/* ---- report ---------------------------------------------------------------------- */

struct report {
	const char *to, *node, *lldp, *socket, *program;
	bool no_links, print;
};

/* The neighbors, from a file or from lldpcli. */
static int
add_neighbours(const struct report *rp, struct observed_node *node, struct err *err)
{
	const struct lldp_run_opts opts = { .program = rp->program,
					    .socket = rp->socket,
					    .timeout_ns = LLDP_TIMEOUT_NS };
	char *text;
	size_t n;
	int r;

	if (rp->lldp)
		r = file_read(rp->lldp, LLDP_MAX_BYTES, &text, &n, err);
	else
		r = lldp_run_once(&opts, &text, &n, err);
	if (r < 0)
		return r;
	r = lldp_read(rp->lldp ? rp->lldp : rp->program, text, n, node, err);
	free(text);
	return r;
}

static int
add_links(struct observed_node *node, struct err *err)
{
	struct links *links;
	int r = links_open(&links, err);

	if (r < 0)
		return r;
	r = links_report(links, node);
	if (r < 0)
		err_set(err, NULL, 0, 0, "cannot list the kernel's links");
	links_close(links);
	return r;
}

/* A new string: a document to keep, or a request. */
static char *
write_report(const struct observed_node *node, bool as_document)
{
	struct jsonw w;
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	BUG_ON(!out);
	if (as_document) {
		jsonw_document(&w, out, "antiphase.seen/1");
		jsonw_int(&w, "at_us", node->heard_us);
		jsonw_array(&w, "nodes");
		jsonw_object(&w, NULL);
	} else {
		jsonw_init(&w, out);
		jsonw_object(&w, NULL);
	}
	observed_json_node(node, &w);
	jsonw_end(&w);
	if (as_document) {
		jsonw_end(&w);
		jsonw_end(&w);
	}
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	return text;
}

static int
send_report(const struct report *rp, const struct observed_node *node)
{
	struct err err = { 0 };
	struct strbuf reply = STRBUF_EMPTY;
	char *text = write_report(node, rp->print);
	int r = 0;

	if (rp->print)
		fputs(text, stdout);
	else
		r = topology_ask(rp->to, "seen", text, &reply, &err);
	strbuf_free(&reply);
	free(text);
	return r < 0 ? topology_fail(r, &err) : CLI_OK;
}

/* Without neighbors, the state of the links is still reported. */
static int
make_report(const struct report *rp)
{
	struct observed_node node;
	struct err err = { 0 };
	int r = 0, status;

	observed_node_init(&node, rp->node);
	if (!rp->no_links)
		r = add_links(&node, &err);
	if (r == 0) {
		r = add_neighbours(rp, &node, &err);
		if (r < 0 && !rp->lldp && node.has_links) {
			fprintf(stderr, "antiphase: %s; reporting links only\n",
				err.text);
			r = 0;
		}
	}
	node.heard_us = clk_wall_us();
	node.neighbours_us = node.has_neighbours ? node.heard_us : 0;
	status = r < 0 ? cli_fail(r, &err) : send_report(rp, &node);
	observed_node_fini(&node);
	return status;
}

static int
run_report(int argc, char **argv)
{
	struct report rp = { .to = TOPOLOGY_SERVICE, .program = "lldpcli" };
	char host[256] = "";
	const struct cli_opt opts[] = {
		CLI_OPT("to", 't', CLI_STR, &rp.to, "SERVICE",
			"address of antiphase-topology (default: " TOPOLOGY_SERVICE
			")"),
		CLI_OPT("print", 0, CLI_FLAG, &rp.print, NULL,
			"print the report instead, for 'topology diff'"),
		CLI_OPT("node", 'n', CLI_STR, &rp.node, "NAME",
			"host of the report (default: this host's name)"),
		CLI_OPT("lldp", 0, CLI_STR, &rp.lldp, "FILE",
			"output of 'lldpcli -f json0 show neighbors details'; "
			"implies --no-links"),
		CLI_OPT("no-links", 0, CLI_FLAG, &rp.no_links, NULL,
			"only neighbors, without state and speed of ports"),
		CLI_OPT("lldp-socket", 0, CLI_STR, &rp.socket, "PATH",
			"lldpd's socket (default: lldpd's own default)"),
		CLI_OPT("lldpcli", 0, CLI_STR, &rp.program, "PROGRAM",
			"program that queries lldpd (default: lldpcli)"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_topology_report, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (!rp.node && gethostname(host, sizeof host - 1) == 0)
		rp.node = host;
	if (!rp.node || !*rp.node)
		return cli_usage_error(&verb_topology_report,
				       "this host has no name; give --node NAME");
	rp.no_links |= rp.lldp != NULL;
	return make_report(&rp);
}

const struct cli_verb verb_topology_report = {
	.name = "topology report",
	.summary = "report this host's cables to antiphase-topology",
	.usage = "[options]",
	.examples = "  antiphase topology report --to http://127.0.0.1:7462\n"
		    "  antiphase topology report --print > seen.json\n"
		    "  antiphase topology report --node gpu0 --lldp lldp-gpu0.json\n",
	.run = run_report,
	.operands = "",
};

/* ---- watch ----------------------------------------------------------------------- */

static int
watch(struct bus_sub *changes, int64_t count, int64_t timeout_s)
{
	int64_t until_ns = clk_monotonic_ns() + timeout_s * SECOND_NS;

	for (int64_t i = 0; count == 0 || i < count;) {
		int64_t left_ns = timeout_s ? until_ns - clk_monotonic_ns() : SECOND_NS;
		const char *topic;
		const uint8_t *text;
		size_t n;
		int r = bus_sub_message(changes, &topic, &text, &n);

		if (r == 1) {
			i++;
			if (fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0)
				return CLI_NO;
			continue;
		}
		if (r == 0 && timeout_s && left_ns <= 0)
			return i ? CLI_OK : CLI_NO;
		if (r == 0)
			r = bus_sub_wait(changes, left_ns);
		if (r < 0)
			return r == -EINTR ? CLI_INTERRUPTED : CLI_NO;
	}
	return CLI_OK;
}

static int
run_watch(int argc, char **argv)
{
	const char *from = TOPOLOGY_CHANGES, *directory = getenv("ANTIPHASE_KEYS");
	int64_t count = 0, timeout_s = 0;
	const struct cli_opt opts[] = {
		CLI_OPT("from", 'f', CLI_STR, &from, "ENDPOINT",
			"endpoint of antiphase-topology's announcements (default: " TOPOLOGY_CHANGES
			")"),
		CLI_OPT("count", 'c', CLI_INT, &count, "N",
			"stop after N changes (default: never)", .min = 1,
			.max = 1000000000),
		CLI_OPT("keys", 'k', CLI_STR, &directory, "DIR",
			"directory of CURVE keys (default: $ANTIPHASE_KEYS)"),
		CLI_OPT("timeout", 0, CLI_INT, &timeout_s, "SECONDS",
			"stop after this time (default: never); exit status 1 if "
			"no change came",
			.min = 1, .max = 1000000),
		CLI_OPTS_END,
	};
	struct bus_sub *changes = NULL;
	struct bus_keys *keys = NULL;
	struct err err = { 0 };
	int first = cli_parse(&verb_topology_watch, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	r = bus_opts_keys(directory && *directory ? directory : NULL, &keys, &err);
	if (r == 0)
		r = bus_sub_open_texts(from, keys, "t/", &changes, &err);
	bus_keys_free(keys);
	r = r < 0 ? cli_fail(r, &err) : watch(changes, count, timeout_s);
	bus_sub_close(changes);
	return r;
}

const struct cli_verb verb_topology_watch = {
	.name = "topology watch",
	.summary = "print the changes that antiphase-topology announces, one "
		   "JSON line each",
	.usage = "[options]",
	.examples = "  antiphase topology watch\n"
		    "  antiphase topology watch --count 1 --timeout 60\n",
	.run = run_watch,
	.operands = "",
};
