/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_hypernodes.c - the reader of Volcano's HyperNodes.
 *
 * The input is a list of objects (JSON), or manifests and lists (YAML, also as the API
 * server writes them).  The reader takes their names, then their members, and converts
 * those with members to a topology.conf.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/yaml.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

#define MAX_TIER 1000
/* Limit of comparisons of names with patterns, and with labels. */
#define MAX_COMPARED 50000000

struct hypernode {
	const char *name; /* Of the switch; borrowed. */
	const struct json *item, *spec;
	int64_t tier;
	VEC(uint32_t) hosts;      /* Index in 'hosts'. */
	VEC(uint32_t) hypernodes; /* Index in 'list'. */
	bool is_used;             /* There are hosts below it. */
};

struct hypernodes {
	struct json_doc *doc;
	const struct topo_read_opts *opts;
	struct k8s_nodes nodes;
	bool has_nodes;
	struct strtab *names;    /* Of HyperNodes; numbers are indexes in 'list'. */
	struct strtab *switches; /* Of their switches; numbers likewise. */
	struct strtab *hosts;    /* Those of 'nodes' first, with the same numbers. */
	struct strtab *edges;    /* "number TYPE name": members already reported. */
	VEC(struct hypernode) list;
	size_t n_names, max_names, n_compared, n_missing;
	struct err *err;
};

/* ---- HyperNodes ------------------------------------------------------------------ */

/* The tier: a number, or in YAML a text. */
static int
read_tier(struct hypernodes *h, const struct json *spec, int64_t *ret_tier)
{
	const struct json *value = json_find(spec, "tier");
	const char *text;
	char *end;

	if (!value || json_as_str(h->doc, value, &text, NULL) < 0)
		return json_get_int(h->doc, spec, "tier", 1, MAX_TIER, ret_tier,
				    h->err);
	*ret_tier = strtol(text, &end, 10);
	if (!*text || *end || *ret_tier < 1 || *ret_tier > MAX_TIER)
		return json_fail(h->doc, value, h->err,
				 "tier '%.40s', expected 1 (closest) to %d", text,
				 MAX_TIER);
	return 0;
}

static int
read_name(struct hypernodes *h, const struct json *metadata, struct hypernode *ret)
{
	const struct json *annotations = json_find(metadata, "annotations");
	const char *name;

	if (json_get_str(h->doc, metadata, "name", &name, h->err) < 0)
		return -EINVAL;
	ret->name = name;
	if (annotations &&
	    (json_as_object(h->doc, annotations, h->err) < 0 ||
	     json_opt_str(h->doc, annotations, K8S_SWITCH, &ret->name, h->err) < 0))
		return -EINVAL;
	if (!topo_name_is_valid(ret->name))
		return json_fail(
			h->doc, metadata, h->err,
			"'%.64s' is not a valid name for a switch of a fabric: 1 to %d "
			"letters, digits and \"._-/+@\"",
			ret->name, TOPO_MAX_NAME);
	if (strtab_intern(h->names, name) != h->list.n ||
	    strtab_intern(h->switches, ret->name) != h->list.n)
		return json_fail(h->doc, metadata, h->err,
				 "HyperNode '%.64s' is there twice", name);
	return 0;
}

static int
read_hypernode(struct hypernodes *h, const struct json *item)
{
	struct hypernode new = { .item = item };
	const struct json *metadata;
	const char *kind = "HyperNode";

	if (json_as_object(h->doc, item, h->err) < 0 ||
	    json_opt_str(h->doc, item, "kind", &kind, h->err) < 0)
		return -EINVAL;
	if (strcmp(kind, "HyperNode") != 0)
		return json_fail(h->doc, item, h->err,
				 "a %.40s, expected HyperNodes only", kind);
	metadata = json_find(item, "metadata");
	new.spec = json_find(item, "spec");
	if (!metadata || !new.spec)
		return json_fail(h->doc, item, h->err,
				 "a HyperNode without metadata or spec");
	if (json_as_object(h->doc, metadata, h->err) < 0 ||
	    json_as_object(h->doc, new.spec, h->err) < 0 ||
	    read_tier(h, new.spec, &new.tier) < 0 || read_name(h, metadata, &new) < 0)
		return -EINVAL;
	vec_push(&h->list, new);
	return 0;
}

/* ---- Members --------------------------------------------------------------------- */

/* The target of a selector's matches. */
struct finding {
	struct hypernodes *h;
	uint32_t parent;
	const struct json *member;
	bool is_full;
};

/* Returns true for a new member if there is room. */
static bool
is_new_edge(struct finding *f, char type, uint32_t child)
{
	struct hypernodes *h = f->h;
	uint32_t n = strtab_n(h->edges);
	char key[32];

	snprintf(key, sizeof key, "%u%c%u", f->parent, type, child);
	if (strtab_intern(h->edges, key) != n)
		return false;
	if (h->n_names == h->max_names) {
		f->is_full = true;
		return false;
	}
	h->n_names++;
	return true;
}

static void
found_host(void *ctx, uint32_t number)
{
	struct finding *f = ctx;

	if (is_new_edge(f, 'n', number))
		vec_push(&f->h->list.items[f->parent].hosts, number);
}

static void
found_hypernode(void *ctx, uint32_t number)
{
	struct finding *f = ctx;

	if (number != f->parent && is_new_edge(f, 'h', number))
		vec_push(&f->h->list.items[f->parent].hypernodes, number);
}

static int
find_exact(struct finding *f, const struct json *exact, bool is_node)
{
	struct hypernodes *h = f->h;
	const char *name;
	uint32_t number;

	if (json_as_object(h->doc, exact, h->err) < 0 ||
	    json_get_str(h->doc, exact, "name", &name, h->err) < 0)
		return -EINVAL;
	if (!is_node) {
		number = strtab_find(h->names, name);
		if (number == STRTAB_NONE)
			return json_fail(h->doc, exact, h->err,
					 "there is no HyperNode '%.64s'", name);
		found_hypernode(f, number);
		return 0;
	}
	if (!topo_name_is_valid(name))
		return json_fail(h->doc, exact, h->err,
				 "'%.64s' is not a valid name for a host of a fabric",
				 name);
	if (h->has_nodes && strtab_find(h->nodes.names, name) == STRTAB_NONE)
		h->n_missing++;
	else
		found_host(f, strtab_intern(h->hosts, name));
	return 0;
}

/* Counts comparisons; -E2BIG if there are too many. */
static int
count_compared(struct hypernodes *h, const struct json *selector, size_t n)
{
	h->n_compared += n;
	if (h->n_compared <= MAX_COMPARED)
		return 0;
	json_fail(h->doc, selector, h->err,
		  "patterns and labels of too many members for so many names");
	return -E2BIG;
}

static int
find_pattern(struct finding *f, const struct json *regex, bool is_node)
{
	struct hypernodes *h = f->h;
	const struct strtab *names = is_node ? h->nodes.names : h->names;
	const struct json *pattern;

	if (json_as_object(h->doc, regex, h->err) < 0)
		return -EINVAL;
	pattern = json_find(regex, "pattern");
	if (!pattern)
		return json_fail(h->doc, regex, h->err, "a regexMatch without pattern");
	if (is_node && !h->has_nodes)
		return json_fail(h->doc, regex, h->err,
				 "a regexMatch needs the Nodes: --nodes FILE");
	if (count_compared(h, regex, strtab_n(names)) < 0)
		return -E2BIG;
	return k8s_match_pattern(h->doc, pattern, names,
				 is_node ? found_host : found_hypernode, f, h->err);
}

static int
find_labels(struct finding *f, const struct json *selector, bool is_node)
{
	struct hypernodes *h = f->h;

	if (!is_node)
		return json_fail(h->doc, selector, h->err,
				 "a labelMatch is for Nodes only");
	if (!h->has_nodes)
		return json_fail(h->doc, selector, h->err,
				 "a labelMatch needs the Nodes: --nodes FILE");
	if (count_compared(h, selector, h->nodes.list.n) < 0)
		return -E2BIG;
	return k8s_match_labels(h->doc, selector, &h->nodes, found_host, f, h->err);
}

static int
read_member(struct finding *f)
{
	struct hypernodes *h = f->h;
	const struct json *selector, *exact, *regex, *labels;
	const char *type;
	bool is_node;
	int r;

	if (json_as_object(h->doc, f->member, h->err) < 0 ||
	    json_get_str(h->doc, f->member, "type", &type, h->err) < 0)
		return -EINVAL;
	is_node = strcmp(type, "Node") == 0;
	if (!is_node && strcmp(type, "HyperNode") != 0)
		return json_fail(h->doc, f->member, h->err,
				 "type '%.40s', expected Node or HyperNode", type);
	selector = json_find(f->member, "selector");
	if (!selector)
		return json_fail(h->doc, f->member, h->err,
				 "a member without a selector");
	if (json_as_object(h->doc, selector, h->err) < 0)
		return -EINVAL;
	exact = json_find(selector, "exactMatch");
	regex = json_find(selector, "regexMatch");
	labels = json_find(selector, "labelMatch");
	if (!!exact + !!regex + !!labels != 1)
		return json_fail(h->doc, selector, h->err,
				 "expected one of exactMatch, regexMatch and "
				 "labelMatch");
	r = exact   ? find_exact(f, exact, is_node)
	    : regex ? find_pattern(f, regex, is_node)
		    : find_labels(f, labels, is_node);
	if (r == 0 && f->is_full) {
		json_fail(h->doc, f->member, h->err, "more than %zu members in all",
			  h->max_names);
		r = -E2BIG;
	}
	return r;
}

static int
read_members(struct hypernodes *h, uint32_t number)
{
	struct hypernode *hn = &h->list.items[number];
	const struct json *members = NULL;
	size_t n = 0;
	int r = json_opt_array(h->doc, hn->spec, "members", &members, &n, h->err);

	for (const struct json *m = r == 0 && n ? json_first(members) : NULL;
	     r == 0 && m; m = json_next(m)) {
		struct finding f = { .h = h, .parent = number, .member = m };

		r = read_member(&f);
	}
	if (r < 0)
		return r;
	if (hn->hosts.n && hn->hypernodes.n)
		return json_fail(h->doc, hn->item, h->err,
				 "HyperNode '%.64s' has Nodes and HyperNodes; a switch "
				 "of this reader has either",
				 hn->name);
	for (size_t i = 0; i < hn->hypernodes.n; i++) {
		const struct hypernode *child = &h->list.items[hn->hypernodes.items[i]];

		if (child->tier >= hn->tier)
			return json_fail(
				h->doc, hn->item, h->err,
				"HyperNode '%.64s' of tier %lld has '%.64s' of "
				"tier %lld as a member",
				hn->name, (long long)hn->tier, child->name,
				(long long)child->tier);
	}
	return 0;
}

/* ---- The tree -------------------------------------------------------------------- */

static int
by_tier(const void *a, const void *b, void *ctx)
{
	const struct hypernodes *h = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int64_t x = h->list.items[i].tier, y = h->list.items[j].tier;

	return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

/* Writes the line of one HyperNode; false if it is empty. */
static bool
write_line(const struct hypernodes *h, const struct hypernode *hn, struct strbuf *conf)
{
	struct strbuf below = STRBUF_EMPTY;
	bool is_used;

	for (size_t i = 0; i < hn->hosts.n; i++)
		strbuf_printf(&below, ",%s", strtab_name(h->hosts, hn->hosts.items[i]));
	for (size_t i = 0; i < hn->hypernodes.n; i++)
		if (h->list.items[hn->hypernodes.items[i]].is_used)
			strbuf_printf(&below, ",%s",
				      h->list.items[hn->hypernodes.items[i]].name);
	is_used = below.length > 0;
	if (is_used)
		strbuf_printf(conf, "SwitchName=%s %s=%s\n", hn->name,
			      hn->hosts.n ? "Nodes" : "Switches", below.text + 1);
	strbuf_free(&below);
	return is_used;
}

/* Writes lines, lowest tier first: members of a tier are of lower ones. */
static void
write_conf(struct hypernodes *h, struct strbuf *conf)
{
	uint32_t *order = xcalloc(h->list.n + 1, sizeof *order);
	size_t n_empty = 0;

	for (uint32_t i = 0; i < h->list.n; i++)
		order[i] = i;
	qsort_r(order, h->list.n, sizeof *order, by_tier, h);
	for (size_t i = 0; i < h->list.n; i++) {
		struct hypernode *hn = &h->list.items[order[i]];

		hn->is_used = write_line(h, hn, conf);
		n_empty += !hn->is_used;
	}
	if (n_empty)
		topo_note(h->opts,
			  "%zu of %zu HyperNodes left out: no Node is below them",
			  n_empty, h->list.n);
	if (h->n_missing)
		topo_note(h->opts, "%zu members left out: there is no such Node",
			  h->n_missing);
	free(order);
}

static int
read_nodes(struct hypernodes *h)
{
	const struct topo_k8s_opts *k8s = h->opts ? h->opts->k8s : NULL;
	int r;

	h->nodes.default_slots = h->opts && h->opts->n_slots ? h->opts->n_slots : 1;
	if (!k8s || !k8s->nodes_text)
		return 0;
	h->has_nodes = true;
	r = k8s_nodes_parse(k8s->nodes_file, k8s->nodes_text, k8s->n_nodes_text,
			    h->opts, &h->nodes, h->err);
	for (uint32_t i = 0; r == 0 && i < h->nodes.list.n; i++)
		strtab_intern(h->hosts, h->nodes.list.items[i].name);
	return r;
}

/* A JSON list, as 'kubectl get' writes it. */
static int
read_items(struct hypernodes *h, const struct json *list)
{
	const struct json *items = NULL;
	size_t n;
	int r = json_as_object(h->doc, list, h->err);

	if (r == 0)
		r = json_get_array(h->doc, list, "items", &items, &n, h->err);
	for (const struct json *item = r == 0 ? json_first(items) : NULL;
	     r == 0 && item; item = json_next(item))
		r = read_hypernode(h, item);
	return r;
}

/* The documents of YAML: manifests, and lists. */
static int
read_documents(struct hypernodes *h)
{
	int r = 0;

	for (const struct json *at = json_first(json_root(h->doc)); r == 0 && at;
	     at = json_next(at))
		r = json_kind(at) == JSON_OBJECT && json_find(at, "items")
			    ? read_items(h, at)
			    : read_hypernode(h, at);
	return r;
}

static int
read_list(struct hypernodes *h, const char *file, bool is_yaml, struct topo **ret_topo)
{
	const struct topo_tree_opts tree = { .name = "hypernodes",
					     .slots_of = k8s_nodes_slots,
					     .ctx = &h->nodes };
	struct strbuf conf = STRBUF_EMPTY;
	int r = is_yaml ? read_documents(h) : read_items(h, json_root(h->doc));

	if (r == 0)
		r = read_nodes(h);
	for (uint32_t i = 0; r == 0 && i < h->list.n; i++)
		r = read_members(h, i);
	if (r == 0) {
		write_conf(h, &conf);
		r = conf.length ? topo_tree_read(file, conf.text, conf.length, h->opts,
						 &tree, ret_topo, h->err)
				: err_set(h->err, file, 0, 0,
					  "has no HyperNode with a Node below it");
		if (r < 0 && conf.length &&
		    h->err) /* Lines of 'conf', not of the file. */
			h->err->line = 0;
	}
	strbuf_free(&conf);
	return r;
}

static void
hypernodes_fini(struct hypernodes *h)
{
	for (size_t i = 0; i < h->list.n; i++) {
		vec_free(&h->list.items[i].hosts);
		vec_free(&h->list.items[i].hypernodes);
	}
	vec_free(&h->list);
	strtab_free(h->names);
	strtab_free(h->switches);
	strtab_free(h->hosts);
	strtab_free(h->edges);
	k8s_nodes_fini(&h->nodes);
	json_doc_free(h->doc);
}

int
topo_hypernodes_read(const char *file, const char *text, size_t length,
		     const struct topo_read_opts *opts, struct topo **ret_topo,
		     struct err *err)
{
	struct hypernodes h = {
		.opts = opts,
		.names = strtab_new(),
		.switches = strtab_new(),
		.hosts = strtab_new(),
		.edges = strtab_new(),
		.max_names = opts && opts->max_names ? opts->max_names : TOPO_MAX_NODES,
		.err = err,
	};
	size_t blanks = strspn(text, " \t\r\n");
	bool is_yaml = blanks < length && text[blanks] != '{';
	int r = (is_yaml ? yaml_parse : json_parse)(file, text, length, &h.doc, err);

	if (r == 0)
		r = read_list(&h, file, is_yaml, ret_topo);
	hypernodes_fini(&h);
	return r;
}
