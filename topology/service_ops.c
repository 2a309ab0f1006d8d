/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_ops.c - requests and replies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "topology/collective.h"
#include "topology/diff_write.h"
#include "topology/interface_links.h"
#include "topology/observed_json.h"
#include "topology/route.h"
#include "topology/service_priv.h"
#include "topology/write.h"

#define MAX_SEED 9007199254740991

/* A look-up blocks the loop: all-to-all over 500 hosts takes about 0.1 s. */
#define MAX_FLOWS 250000

const char *const service_op_names[] = { "health", "snapshot", "lookup",
					 "diff",   "seen",     NULL };

static const char *const lldp_names[] = { "off", "ok", "failed" };

struct request {
	struct service *s;
	const struct json_doc *doc; /* Of the body, an object; NULL: no body. */
	const struct json *root;
	enum service_op op;
	unsigned status;
	const char *code; /* Of the error; static. */
	const char *hint; /* Likewise; may be NULL. */
	struct err err;
	struct jsonw w;
};

/* ---- Replies --------------------------------------------------------------------- */

static FILE *
open_reply(char **bytes, size_t *length)
{
	FILE *out = open_memstream(bytes, length);

	BUG_ON(!out);
	return out;
}

static void
close_reply(FILE *out, char **bytes, const size_t *length, struct strbuf *reply)
{
	BUG_ON(fclose(out) != 0);
	strbuf_add(reply, *bytes, *length);
	free(*bytes);
}

static void
begin(struct request *rq, FILE *out)
{
	jsonw_document(&rq->w, out, "antiphase.topology_reply/1");
	jsonw_str(&rq->w, "op", service_op_names[rq->op]);
}

static void
end(struct request *rq)
{
	jsonw_end(&rq->w);
	jsonw_finish(&rq->w);
}

static void
write_error(const struct request *rq, struct strbuf *reply)
{
	struct jsonw w;
	char *bytes;
	size_t length;
	FILE *out = open_reply(&bytes, &length);

	jsonw_document(&w, out, "antiphase.topology_reply/1");
	jsonw_object(&w, "error");
	jsonw_str(&w, "code", rq->code);
	jsonw_str(&w, "message", rq->err.text);
	jsonw_str(&w, "hint", rq->hint);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	close_reply(out, &bytes, &length, reply);
}

/* Sets the kind of an error with its message in 'err'; returns -EINVAL. */
static int
refuse(struct request *rq, unsigned status, const char *code, const char *hint)
{
	rq->status = status;
	rq->code = code;
	rq->hint = hint;
	return -EINVAL;
}

static int
need_plan(struct request *rq)
{
	if (rq->s->plan)
		return 0;
	err_set(&rq->err, NULL, 0, 0, "no plan is loaded");
	return refuse(rq, 503, "no_plan", "start it with one: antiphase-topology FILE");
}

/* ---- health ---------------------------------------------------------------------- */

static int
answer_health(struct request *rq, struct strbuf *reply)
{
	struct service *s = rq->s;
	char *bytes;
	size_t length, n_heard = 0;
	FILE *out = open_reply(&bytes, &length);

	for (size_t i = 0; i < observed_n_nodes(s->seen); i++)
		n_heard += observed_node(s->seen, i)->has_neighbours;
	service_compare(s);
	begin(rq, out);
	jsonw_int(&rq->w, "at_us", s->now_us);
	jsonw_str(&rq->w, "plan_file", s->plan_file);
	jsonw_str(&rq->w, "plan", s->plan ? topo_name(s->plan) : NULL);
	jsonw_int(&rq->w, "plan_read_us", s->plan_us);
	jsonw_int(&rq->w, "nodes", s->plan ? topo_n_nodes(s->plan) : 0);
	jsonw_int(&rq->w, "links", s->plan ? topo_n_links(s->plan) : 0);
	jsonw_int(&rq->w, "nodes_reporting", (int64_t)observed_n_nodes(s->seen));
	jsonw_int(&rq->w, "nodes_heard", (int64_t)n_heard);
	jsonw_str(&rq->w, "lldp", lldp_names[s->lldp]);
	jsonw_int(&rq->w, "differences", (int64_t)s->diff.findings.n);
	end(rq);
	close_reply(out, &bytes, &length, reply);
	return 0;
}

/* ---- snapshot -------------------------------------------------------------------- */

/* The plan's own document, as the value of a key of the reply. */
static int
answer_snapshot(struct request *rq, struct strbuf *reply)
{
	char *bytes;
	size_t length;
	FILE *out;

	if (need_plan(rq) < 0)
		return -EINVAL;
	out = open_reply(&bytes, &length);
	strbuf_puts(reply, "{\"schema\": \"antiphase.topology_reply/1\", \"op\": "
			   "\"snapshot\", \"topology\": ");
	topo_json_write(rq->s->plan, out);
	close_reply(out, &bytes, &length, reply);
	strbuf_puts(reply, "}\n");
	return 0;
}

/* ---- lookup ---------------------------------------------------------------------- */

struct hosts {
	struct request *rq;
	VEC(uint32_t) list;
	bool *is_taken; /* Owned.  By host number. */
};

static int
take_host(void *ctx, const char *name)
{
	struct hosts *hosts = ctx;
	struct topo *plan = hosts->rq->s->plan;
	uint32_t node = observed_plan_node(plan, name);
	uint32_t number = topo_host_number(plan, node);

	if (number == TOPO_NONE) {
		err_set(&hosts->rq->err, NULL, 0, 0, "the plan has no host '%s'", name);
		return refuse(hosts->rq, 404, "unknown_host", NULL);
	}
	if (hosts->is_taken[number]) {
		err_set(&hosts->rq->err, NULL, 0, 0, "host '%s' is named twice", name);
		return refuse(hosts->rq, 400, "bad_request", NULL);
	}
	hosts->is_taken[number] = true;
	vec_push(&hosts->list, node);
	return 0;
}

/* "hosts" is a list such as "h[0-3]" or an array of names. */
static int
read_hosts(struct request *rq, struct hosts *hosts)
{
	struct topo *plan = rq->s->plan;
	const struct json *array;
	const char *text, *why = NULL;
	size_t n;
	int r;

	hosts->is_taken = xcalloc((size_t)topo_n_hosts(plan) + 1, 1);
	if (json_get_str(rq->doc, rq->root, "hosts", &text, NULL) == 0) {
		r = hostlist_expand(text, (size_t)topo_n_hosts(plan) + 1, take_host,
				    hosts, &why);
		if (r < 0 && !*rq->err.text)
			err_set(&rq->err, NULL, 0, 0, "'hosts' is '%s': %s", text,
				why ? why : "more names than there are hosts");
		return r;
	}
	r = json_get_array(rq->doc, rq->root, "hosts", &array, &n, &rq->err);
	for (const struct json *item = r == 0 ? json_first(array) : NULL;
	     r == 0 && item; item = json_next(item)) {
		r = json_as_str(rq->doc, item, &text, &rq->err);
		if (r == 0)
			r = take_host(hosts, text);
	}
	return r;
}

static void
write_load(struct request *rq, const char *collective, const struct footprint *load,
	   const struct collective_flows *flows, struct strbuf *reply)
{
	struct topo *plan = rq->s->plan;
	struct strbuf name = STRBUF_EMPTY;
	char *bytes;
	size_t length;
	FILE *out = open_reply(&bytes, &length);

	begin(rq, out);
	jsonw_str(&rq->w, "collective", collective);
	jsonw_int(&rq->w, "flows", (int64_t)flows->n);
	jsonw_rounded(&rq->w, "nic_bytes_per_message_byte", flows->nic_bytes, 9);
	jsonw_array(&rq->w, "links");
	for (size_t i = 0; i < load->n; i++) {
		const struct footprint_entry *e = &load->entries[i];

		strbuf_clear(&name);
		topo_link_name(plan, e->link, &name);
		jsonw_flat_object(&rq->w, NULL);
		jsonw_str(&rq->w, "link", name.text);
		jsonw_num(&rq->w, "gbps", topo_link(plan, e->link)->capacity_bps / 1e9);
		jsonw_rounded(&rq->w, "factor", e->factor, 9);
		jsonw_int(&rq->w, "flows", e->n_flows);
		jsonw_end(&rq->w);
	}
	jsonw_end(&rq->w);
	end(rq);
	close_reply(out, &bytes, &length, reply);
	strbuf_free(&name);
}

/* Upper bound of the flows of a collective over this many hosts; see collective.h. */
static double
count_flows(const struct topo *plan, enum collective kind, const struct hosts *hosts)
{
	double n = (double)hosts->list.n,
	       flows = kind == COLLECTIVE_ALL_TO_ALL ? n * n : 3 * n;
	size_t n_rails = 1;

	for (size_t i = 0; i < hosts->list.n; i++) {
		size_t n_links;

		topo_links_out(plan, hosts->list.items[i], &n_links);
		if (n_links > n_rails)
			n_rails = n_links;
	}
	return flows * (double)n_rails;
}

static int
answer_load(struct request *rq, struct strbuf *reply)
{
	struct topo *plan = rq->s->plan;
	struct hosts hosts = { .rq = rq };
	struct collective_flows flows = { .flows = NULL };
	struct footprint load = { .entries = NULL };
	const char *word = collective_names[COLLECTIVE_RING];
	int64_t port = 0, seed = 0;
	struct routes *routes = NULL;
	uint32_t pair[2];
	int r = -EINVAL, kind;

	if (json_opt_str(rq->doc, rq->root, "collective", &word, &rq->err) < 0 ||
	    json_opt_int(rq->doc, rq->root, "port", 0, 65535, &port, &rq->err) < 0 ||
	    json_opt_int(rq->doc, rq->root, "seed", 0, MAX_SEED, &seed, &rq->err) < 0 ||
	    read_hosts(rq, &hosts) < 0)
		goto out;
	kind = words_index(word, collective_names);
	if (kind < 0) {
		err_set(&rq->err, NULL, 0, 0, "'collective' is '%s'", word);
		refuse(rq, 400, "bad_request",
		       "ring, tree, all-to-all or hierarchical");
		goto out;
	}
	if (count_flows(plan, (enum collective)kind, &hosts) > MAX_FLOWS) {
		err_set(&rq->err, NULL, 0, 0, "%s over %zu hosts is more than %d flows",
			word, hosts.list.n, MAX_FLOWS);
		refuse(rq, 413, "too_large",
		       "'antiphase topology links-of' has no limit");
		goto out;
	}
	if (collective_make(plan, (enum collective)kind, hosts.list.items, hosts.list.n,
			    1, &flows) < 0) {
		err_set(&rq->err, NULL, 0, 0, "no flows can be made of these hosts");
		goto out;
	}
	routes = routes_new(plan, (uint64_t)seed);
	if (footprint_make(routes, &flows, (uint16_t)port, &load, pair) < 0) {
		err_set(&rq->err, NULL, 0, 0, "there is no path from %s to %s",
			topo_node(plan, pair[0])->name, topo_node(plan, pair[1])->name);
		refuse(rq, 422, "unreachable", "run 'antiphase topology check'");
		goto out;
	}
	write_load(rq, word, &load, &flows, reply);
	r = 0;
out:
	routes_free(routes);
	footprint_fini(&load);
	collective_flows_fini(&flows);
	vec_free(&hosts.list);
	free(hosts.is_taken);
	return r;
}

static void
write_link(struct request *rq, const char *key, uint32_t link)
{
	struct strbuf name = STRBUF_EMPTY;

	if (link != TOPO_NONE)
		topo_link_name(rq->s->plan, link, &name);
	jsonw_str(&rq->w, key, link != TOPO_NONE ? name.text : NULL);
	strbuf_free(&name);
}

static int
answer_interface(struct request *rq, struct strbuf *reply)
{
	struct topo_interface_links at;
	const char *node, *interface;
	char *bytes;
	size_t length;
	FILE *out;

	if (json_get_str(rq->doc, rq->root, "node", &node, &rq->err) < 0 ||
	    json_get_str(rq->doc, rq->root, "interface", &interface, &rq->err) < 0)
		return -EINVAL;
	if (observed_plan_node(rq->s->plan, node) == TOPO_NONE) {
		err_set(&rq->err, NULL, 0, 0, "the plan has no node '%s'", node);
		return refuse(rq, 404, "unknown_host", NULL);
	}
	at = topo_interface_links(rq->s->plan, rq->s->seen, node, interface);
	out = open_reply(&bytes, &length);
	begin(rq, out);
	jsonw_str(&rq->w, "node", node);
	jsonw_str(&rq->w, "interface", interface);
	write_link(rq, "tx", at.tx);
	write_link(rq, "rx", at.rx);
	end(rq);
	close_reply(out, &bytes, &length, reply);
	return 0;
}

static int
answer_lookup(struct request *rq, struct strbuf *reply)
{
	if (need_plan(rq) < 0)
		return -EINVAL;
	if (rq->doc && json_find(rq->root, "hosts"))
		return answer_load(rq, reply);
	if (rq->doc && json_find(rq->root, "node"))
		return answer_interface(rq, reply);
	err_set(&rq->err, NULL, 0, 0, "an empty lookup");
	return refuse(rq, 400, "bad_request",
		      "\"hosts\" and \"collective\", or \"node\" and \"interface\"");
}

/* ---- diff, seen ------------------------------------------------------------------ */

static int
answer_diff(struct request *rq, struct strbuf *reply)
{
	char *bytes;
	size_t length;
	FILE *out;

	if (need_plan(rq) < 0)
		return -EINVAL;
	service_compare(rq->s);
	out = open_reply(&bytes, &length);
	begin(rq, out);
	diff_json_members(&rq->s->diff, rq->s->plan, &rq->w);
	end(rq);
	close_reply(out, &bytes, &length, reply);
	return 0;
}

static int
take_report(struct request *rq)
{
	struct observed_node report;
	int r = observed_json_read_node(rq->doc, rq->root, &report, &rq->err);

	if (r == 0 && !report.has_links && !report.has_neighbours) {
		err_set(&rq->err, NULL, 0, 0,
			"an empty report: neither \"links\" nor \"neighbours\" is "
			"true, and there is no \"lldp\"");
		r = -EINVAL;
	}
	if (r == 0 && service_report(rq->s, &report, rq->s->now_us) < 0) {
		err_set(&rq->err, NULL, 0, 0, "more than %d nodes, or too many ports",
			OBSERVED_MAX_NODES);
		r = refuse(rq, 413, "too_large", NULL);
	}
	observed_node_fini(&report);
	return r;
}

static int
answer_seen(struct request *rq, struct strbuf *reply)
{
	bool is_report = rq->doc != NULL;
	char *bytes;
	size_t length;
	FILE *out;

	if (is_report && take_report(rq) < 0)
		return -EINVAL;
	out = open_reply(&bytes, &length);
	begin(rq, out);
	if (is_report)
		jsonw_int(&rq->w, "nodes_reporting",
			  (int64_t)observed_n_nodes(rq->s->seen));
	else
		observed_json_members(rq->s->seen, rq->s->now_us, &rq->w);
	end(rq);
	close_reply(out, &bytes, &length, reply);
	return 0;
}

/* ----All requests ----------------------------------------------------------------- */

static int
answer(struct request *rq, const char *word, struct strbuf *reply)
{
	int op = words_index(word, service_op_names);

	if (op < 0) {
		err_set(&rq->err, NULL, 0, 0, "there is no op '%s'", word);
		err_suggest(&rq->err, word, service_op_names);
		return refuse(rq, 404, "unknown_op",
			      "health, snapshot, lookup, diff or seen");
	}
	rq->op = (enum service_op)op;
	rq->s->n_requests[op]++;
	switch (rq->op) {
	case SERVICE_OP_HEALTH:
		return answer_health(rq, reply);
	case SERVICE_OP_SNAPSHOT:
		return answer_snapshot(rq, reply);
	case SERVICE_OP_LOOKUP:
		return answer_lookup(rq, reply);
	case SERVICE_OP_DIFF:
		return answer_diff(rq, reply);
	case SERVICE_OP_SEEN:
		return answer_seen(rq, reply);
	case N_SERVICE_OPS:
		break;
	}
	BUG("op %d", op);
}

unsigned
service_answer(struct service *s, const char *op, const char *body, size_t n,
	       int64_t now_us, struct strbuf *reply)
{
	struct request rq = { .s = s, .status = 400, .code = "bad_request" };
	struct json_doc *doc = NULL;
	int r = 0;

	s->now_us = now_us;
	if (body)
		r = json_parse("request", body, n, &doc, &rq.err);
	if (doc) {
		rq.doc = doc;
		rq.root = json_root(doc);
		r = json_as_object(doc, rq.root, &rq.err);
	}
	if (r == 0)
		r = answer(&rq, op, reply);
	if (r < 0) {
		s->n_errors++;
		write_error(&rq, reply);
	}
	json_doc_free(doc);
	return r < 0 ? rq.status : 200;
}
