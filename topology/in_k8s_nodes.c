/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_k8s_nodes.c - the reader of Kubernetes Nodes, whose labels name their switches.
 *
 * Each cloud provider has its own keys, and topograph has changed its own twice: the
 * lists below are tried in order, closest switch first.  A switch is identified by its
 * name, must be of one tier and have one switch above; where names are unique only
 * within that switch, both names are joined.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

#define NVIDIA "network.topology.nvidia.com/"
#define AWS    "topology.k8s.aws/network-node-layer-"
#define GOOGLE "cloud.google.com/gce-topology-"
#define ORACLE "oci.oraclecloud.com/host."
#define WEAVE  "backend.coreweave.cloud/"
#define NEBIUS "topology.nebius.com/tier-"

static const char *const known_keys[] = {
	K8S_LABEL_KEYS,
	NVIDIA "leaf," NVIDIA "spine," NVIDIA "core",
	NVIDIA "block," NVIDIA "spine," NVIDIA "datacenter",
	AWS "3," AWS "2," AWS "1",
	GOOGLE "subblock," GOOGLE "block",
	ORACLE "rack_id," ORACLE "network_block_id",
	WEAVE "leafgroup," WEAVE "superpod," WEAVE "fabric",
	NEBIUS "1," NEBIUS "2," NEBIUS "3",
};

#define N_KNOWN (sizeof known_keys / sizeof *known_keys)

void
topo_note(const struct topo_read_opts *opts, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!opts || !opts->on_note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	opts->on_note(opts->ctx, text);
}

/* ---- Nodes ----------------------------------------------------------------------- */

/* The slots of a Node: a quantity, a whole number for unshared resources. */
static int
read_slots(struct k8s_nodes *nodes, const struct json *item, const char *resource,
	   uint32_t *ret_slots, struct err *err)
{
	const struct json *status = json_find(item, "status");
	const struct json *allocatable =
		status ? json_find(status, "allocatable") : NULL;
	const struct json *value =
		allocatable ? json_find(allocatable, resource) : NULL;
	const char *text;
	unsigned long n;
	char *end;

	if (!value)
		return 0;
	if (json_as_str(nodes->doc, value, &text, err) < 0)
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > TOPO_MAX_SLOTS)
		return json_fail(nodes->doc, value, err,
				 "'%.40s' of %.60s, expected 0 to %d", text, resource,
				 TOPO_MAX_SLOTS);
	nodes->has_gpus |= n > 0;
	*ret_slots = (uint32_t)n;
	return 0;
}

static int
read_node(struct k8s_nodes *nodes, const struct json *item, const char *resource,
	  struct err *err)
{
	const struct json *metadata;
	struct k8s_node node = { .element = item };

	if (json_as_object(nodes->doc, item, err) < 0)
		return -EINVAL;
	metadata = json_find(item, "metadata");
	if (!metadata)
		return json_fail(nodes->doc, item, err, "a Node without metadata");
	if (json_as_object(nodes->doc, metadata, err) < 0 ||
	    json_get_str(nodes->doc, metadata, "name", &node.name, err) < 0)
		return -EINVAL;
	if (!topo_name_is_valid(node.name))
		return json_fail(
			nodes->doc, metadata, err,
			"'%.64s' is not a valid name for a host of a fabric: 1 to %d "
			"letters, digits and \"._-/+@\"",
			node.name, TOPO_MAX_NAME);
	node.labels = json_find(metadata, "labels");
	if (node.labels && json_as_object(nodes->doc, node.labels, err) < 0)
		return -EINVAL;
	if (read_slots(nodes, item, resource, &node.n_slots, err) < 0)
		return -EINVAL;
	if (strtab_intern(nodes->names, node.name) != nodes->list.n)
		return json_fail(nodes->doc, metadata, err, "Node '%s' is there twice",
				 node.name);
	vec_push(&nodes->list, node);
	return 0;
}

int
k8s_nodes_parse(const char *file, const char *text, size_t length,
		const struct topo_read_opts *opts, struct k8s_nodes *nodes,
		struct err *err)
{
	const char *resource = opts && opts->k8s && opts->k8s->gpu_resource
				       ? opts->k8s->gpu_resource
				       : K8S_GPU_RESOURCE;
	const struct json *items;
	size_t n;
	int r;

	*nodes = (struct k8s_nodes){
		.names = strtab_new(),
		.list = VEC_EMPTY,
		.default_slots = opts && opts->n_slots ? opts->n_slots : 1,
	};
	r = json_parse(file, text, length, &nodes->doc, err);
	if (r < 0)
		return r;
	r = json_as_object(nodes->doc, json_root(nodes->doc), err);
	if (r == 0)
		r = json_get_array(nodes->doc, json_root(nodes->doc), "items", &items,
				   &n, err);
	if (r == 0 && n > TOPO_MAX_NODES)
		r = json_fail(nodes->doc, items, err, "more than %d Nodes",
			      TOPO_MAX_NODES);
	for (const struct json *item = r == 0 ? json_first(items) : NULL;
	     r == 0 && item; item = json_next(item))
		r = read_node(nodes, item, resource, err);
	return r;
}

void
k8s_nodes_fini(struct k8s_nodes *nodes)
{
	json_doc_free(nodes->doc);
	strtab_free(nodes->names);
	vec_free(&nodes->list);
}

uint32_t
k8s_nodes_slots(void *ctx, const char *host)
{
	const struct k8s_nodes *nodes = ctx;
	uint32_t number = nodes->names ? strtab_find(nodes->names, host) : STRTAB_NONE;

	return number == STRTAB_NONE || !nodes->has_gpus
		       ? nodes->default_slots
		       : nodes->list.items[number].n_slots;
}

const char *
k8s_node_label(const struct k8s_nodes *nodes, const struct k8s_node *node,
	       const char *key)
{
	const struct json *value = node->labels ? json_find(node->labels, key) : NULL;
	const char *text;

	return value && json_as_str(nodes->doc, value, &text, NULL) == 0 && *text
		       ? text
		       : NULL;
}

/* ---- Switches -------------------------------------------------------------------- */

struct label_switch {
	uint32_t tier;       /* From 0, the lowest. */
	uint32_t parent;     /* Or STRTAB_NONE while unknown. */
	uint32_t node;       /* The first Node that names it or its parent. */
	struct strbuf below; /* Its members, separated by commas. */
};

struct labels {
	struct k8s_nodes nodes;
	const struct topo_read_opts *opts;
	const char *keys;
	char *key[TOPO_MAX_TIER]; /* Owned. */
	unsigned n_keys;
	struct strtab *names; /* Of switches; numbers are indexes in 'switches'. */
	VEC(struct label_switch) switches;
	size_t n_left_out, n_without_gpus;
	struct strbuf left_out; /* The first names left out. */
	struct err *err;
};

static void
expand_keys(struct labels *l)
{
	struct strbuf key = STRBUF_EMPTY;

	while (k8s_label_key(l->keys, l->n_keys, &key))
		l->key[l->n_keys++] = strbuf_steal(&key);
	strbuf_free(&key);
}

/* The known list whose closest key most Nodes have; NULL if no Node has any. */
static const char *
find_keys(const struct labels *l)
{
	const char *best = NULL;
	size_t n_best = 0;

	for (size_t i = 0; i < N_KNOWN; i++) {
		struct strbuf key = STRBUF_EMPTY;
		size_t n = 0;

		k8s_label_key(known_keys[i], 0, &key);
		for (size_t j = 0; j < l->nodes.list.n; j++)
			n += k8s_node_label(&l->nodes, &l->nodes.list.items[j],
					    key.text) != NULL;
		strbuf_free(&key);
		if (n > n_best) {
			best = known_keys[i];
			n_best = n;
		}
	}
	return best;
}

static int
no_labels(struct labels *l)
{
	struct strbuf tried = STRBUF_EMPTY;
	int r;

	for (size_t i = 0; i < N_KNOWN && !l->keys; i++)
		strbuf_printf(&tried, "%s%.*s", i ? ", " : "",
			      (int)strcspn(known_keys[i], ","), known_keys[i]);
	r = err_set(l->err, NULL, 0, 0,
		    "none of %zu Nodes has a label that names its switch; "
		    "tried %s; name the keys with --labels",
		    l->nodes.list.n, l->keys ? l->keys : tried.text);
	strbuf_free(&tried);
	return r;
}

static int
conflict(struct labels *l, const struct k8s_node *node, const struct label_switch *sw,
	 const char *name, const char *what, const char *other)
{
	return json_fail(l->nodes.doc, node->element, l->err,
			 "Node '%s' has switch '%s' %s '%s', and Node '%s' has it "
			 "elsewhere; if names hold only within the switch above: "
			 "--nested",
			 node->name, name, what, other,
			 l->nodes.list.items[sw->node].name);
}

/* The number of a switch; adds a new one.  Negative if it is invalid. */
static int
intern_switch(struct labels *l, uint32_t number, unsigned tier, const char *name,
	      uint32_t *ret_switch)
{
	const struct k8s_node *node = &l->nodes.list.items[number];

	if (!topo_name_is_valid(name))
		return json_fail(l->nodes.doc, node->labels, l->err,
				 "'%.64s' is not a switch name: 1 to %d letters, "
				 "digits and \"._-/+@\"",
				 name, TOPO_MAX_NAME);
	*ret_switch = strtab_intern(l->names, name);
	if (*ret_switch == l->switches.n)
		vec_push(&l->switches,
			 ((struct label_switch){ .tier = tier,
						 .parent = STRTAB_NONE,
						 .node = number,
						 .below = STRBUF_EMPTY }));
	if (l->switches.items[*ret_switch].tier != tier)
		return conflict(l, node, &l->switches.items[*ret_switch], name, "as",
				l->key[tier]);
	return 0;
}

/* Sets the parent of a switch; it may be set already. */
static int
hang_switch(struct labels *l, uint32_t number, uint32_t child, uint32_t parent)
{
	struct label_switch *sw = &l->switches.items[child];

	if (sw->parent == STRTAB_NONE) {
		struct strbuf *below = &l->switches.items[parent].below;

		strbuf_printf(below, "%s%s", below->length ? "," : "",
			      strtab_name(l->names, child));
		sw->parent = parent;
		sw->node = number;
	}
	if (sw->parent != parent)
		return conflict(l, &l->nodes.list.items[number], sw,
				strtab_name(l->names, child), "on",
				strtab_name(l->names, parent));
	return 0;
}

static void
leave_out(struct labels *l, const struct k8s_node *node)
{
	if (l->n_left_out++ < 5)
		strbuf_printf(&l->left_out, "%s%s", l->left_out.length ? ", " : "",
			      node->name);
}

/* The values of a Node's labels, closest first; 0 if none, or with a gap. */
static unsigned
path_of(const struct labels *l, const struct k8s_node *node,
	const char *values[TOPO_MAX_TIER])
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n_keys; i++) {
		values[i] = k8s_node_label(&l->nodes, node, l->key[i]);
		if (values[i] && n < i)
			return 0;
		n += values[i] != NULL;
	}
	return n;
}

static int
read_path(struct labels *l, uint32_t number)
{
	const struct k8s_node *node = &l->nodes.list.items[number];
	const char *values[TOPO_MAX_TIER];
	struct strbuf name = STRBUF_EMPTY, *below;
	uint32_t above = STRTAB_NONE, sw = STRTAB_NONE;
	unsigned n = path_of(l, node, values);
	int r = 0;

	if (!n) {
		leave_out(l, node);
		return 0;
	}
	for (unsigned i = n; r == 0 && i-- > 0;) {
		if (!l->opts || !l->opts->k8s || !l->opts->k8s->is_nested)
			strbuf_clear(&name);
		strbuf_printf(&name, "%s%s", name.length ? "/" : "", values[i]);
		r = intern_switch(l, number, i, name.text, &sw);
		if (r == 0 && above != STRTAB_NONE)
			r = hang_switch(l, number, sw, above);
		above = sw;
	}
	strbuf_free(&name);
	if (r < 0)
		return r;
	below = &l->switches.items[sw].below;
	strbuf_printf(below, "%s%s", below->length ? "," : "", node->name);
	l->n_without_gpus += !node->n_slots;
	return 0;
}

/* ---- The tree -------------------------------------------------------------------- */

/* Switches as lines of a topology.conf, closest first. */
static void
write_conf(const struct labels *l, struct strbuf *conf)
{
	const char *root = l->opts && l->opts->k8s ? l->opts->k8s->root : NULL;
	struct strbuf tops = STRBUF_EMPTY;
	size_t n_tops = 0;

	for (unsigned tier = 0; tier < l->n_keys; tier++)
		for (uint32_t i = 0; i < l->switches.n; i++) {
			const struct label_switch *sw = &l->switches.items[i];

			if (sw->tier != tier)
				continue;
			strbuf_printf(conf, "SwitchName=%s %s=%s\n",
				      strtab_name(l->names, i),
				      tier ? "Switches" : "Nodes", sw->below.text);
			if (sw->parent == STRTAB_NONE)
				strbuf_printf(&tops, "%s%s", n_tops++ ? "," : "",
					      strtab_name(l->names, i));
		}
	if (n_tops > 1 && root)
		strbuf_printf(conf, "SwitchName=%s Switches=%s\n", root, tops.text);
	else if (n_tops > 1)
		topo_note(l->opts,
			  "%zu switches have none above them, so that hosts below "
			  "different ones cannot reach each other; --root NAME joins "
			  "them",
			  n_tops);
	strbuf_free(&tops);
}

static void
tell_notes(const struct labels *l)
{
	if (l->n_left_out)
		topo_note(l->opts, "%zu of %zu Nodes left out, without labels %s: %s%s",
			  l->n_left_out, l->nodes.list.n, l->keys, l->left_out.text,
			  l->n_left_out > 5 ? ", ..." : "");
	if (l->nodes.has_gpus && l->n_without_gpus)
		topo_note(l->opts, "%zu of %zu hosts have no GPUs, and no slots",
			  l->n_without_gpus, l->nodes.list.n - l->n_left_out);
}

static int
read_labels(struct labels *l, const char *file, struct topo **ret_topo)
{
	struct strbuf conf = STRBUF_EMPTY;
	const struct topo_tree_opts tree = { .name = "kubernetes",
					     .slots_of = k8s_nodes_slots,
					     .ctx = &l->nodes };
	int r = 0;

	if (l->opts && l->opts->k8s) {
		const char *root = l->opts->k8s->root;

		l->keys = l->opts->k8s->label_keys;
		if (root && !topo_name_is_valid(root))
			return err_set(l->err, NULL, 0, 0,
				       "'%.64s' is not a switch name", root);
	}
	if (l->keys)
		r = k8s_label_keys_check(l->keys, l->err);
	else
		l->keys = find_keys(l);
	if (r < 0)
		return r;
	if (!l->keys)
		return no_labels(l);
	expand_keys(l);
	for (uint32_t i = 0; r == 0 && i < l->nodes.list.n; i++)
		r = read_path(l, i);
	if (r == 0 && l->n_left_out == l->nodes.list.n)
		r = no_labels(l);
	if (r == 0) {
		write_conf(l, &conf);
		tell_notes(l);
		r = topo_tree_read(file, conf.text, conf.length, l->opts, &tree,
				   ret_topo, l->err);
		if (r < 0 && l->err) /* Lines of 'conf', not of the file. */
			l->err->line = 0;
	}
	strbuf_free(&conf);
	return r;
}

int
topo_k8s_nodes_read(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct topo **ret_topo,
		    struct err *err)
{
	struct labels l = { .opts = opts,
			    .names = strtab_new(),
			    .left_out = STRBUF_EMPTY,
			    .err = err };
	int r = k8s_nodes_parse(file, text, length, opts, &l.nodes, err);

	if (r == 0)
		r = read_labels(&l, file, ret_topo);
	for (size_t i = 0; i < l.switches.n; i++)
		strbuf_free(&l.switches.items[i].below);
	vec_free(&l.switches);
	for (unsigned i = 0; i < l.n_keys; i++)
		free(l.key[i]);
	strtab_free(l.names);
	strbuf_free(&l.left_out);
	k8s_nodes_fini(&l.nodes);
	return r;
}
