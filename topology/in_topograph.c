/*
 * in_topograph.c - the reader of what NVIDIA's topograph writes, and of its models.
 *
 * Four forms (github.com/NVIDIA/topograph, docs/engines and docs/modeling.md):
 *
 *	topology.conf of Slurm     lines "SwitchName=..."; read by in_slurm.c
 *	topology.yaml of Slurm     a list of topologies; the one with "tree" that is the
 *	                           cluster's default, else the first one with "tree"
 *	a model                    "switches:" by name, with "switches" and "nodes"
 *	the graph engine's JSON    "instances", each with "network_layers", leaf first
 *
 * None of them names ports or speeds, and blocks (NVLink domains) are no cables of the
 * network.  So all of them say as much as a topology.conf, and become the text of one;
 * a switch stands in the same line there as in the YAML, so that what the reader of
 * those finds wrong has its right place.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/read.h"
#include "topology/topo.h"
#include "topology/yaml.h"

#define MAX_LAYERS TOPO_MAX_TIER

struct reader {
	const char *file;
	struct yaml *yaml;
	struct strbuf conf; /* What becomes the text of a topology.conf. */
	unsigned line;      /* In it. */
	struct err *err;
};

/* ---- YAML ----------------------------------------------------------------------------- */

/* True for a list of names as Slurm has it: no blanks, quotes or line ends. */
static bool
is_list(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789._-/+@[],")];
}

static int
add_names(struct reader *rd, const struct yaml_node *scalar, bool is_first)
{
	if (scalar->kind != YAML_SCALAR || !is_list(scalar->value))
		return err_set(rd->err, rd->file, scalar->line, 0,
			       "expected a name, or names such as 'n[1-4]'");
	if (!is_first)
		strbuf_putc(&rd->conf, ',');
	strbuf_puts(&rd->conf, scalar->value);
	return 0;
}

/* " KEY=a,b" of a scalar or a sequence; nothing for an empty one. */
static int
add_pair(struct reader *rd, const char *key, uint32_t node)
{
	const struct yaml_node *value = yaml_node(rd->yaml, node);
	int r = 0;

	if (value->kind == YAML_MAPPING)
		return err_set(rd->err, rd->file, value->line, 0,
			       "expected a list of names");
	if (value->kind == YAML_SEQUENCE && value->first == YAML_NONE)
		return 0;
	strbuf_printf(&rd->conf, " %s=", key);
	if (value->kind == YAML_SCALAR)
		return add_names(rd, value, true);
	for (uint32_t i = value->first; r == 0 && i != YAML_NONE;
	     i = yaml_node(rd->yaml, i)->next)
		r = add_names(rd, yaml_node(rd->yaml, i), i == value->first);
	return r;
}

/* One switch: its name, and a mapping with its children under 'keys'. */
static int
add_switch(struct reader *rd, const struct yaml_node *name, const char *text,
	   uint32_t mapping)
{
	static const char *const keys[] = { "switch", "switches", "children",
					    "nodes",  "metadata", NULL };
	int r = 0;

	if (!topo_name_is_valid(text))
		return err_set(rd->err, rd->file, name->line, 0,
			       "'%.64s' is no name of a switch", text);
	for (; rd->line < name->line; rd->line++)
		strbuf_putc(&rd->conf, '\n');
	strbuf_printf(&rd->conf, "SwitchName=%s", text);
	for (uint32_t i = yaml_node(rd->yaml, mapping)->first; r == 0 && i != YAML_NONE;
	     i = yaml_node(rd->yaml, i)->next) {
		const struct yaml_node *child = yaml_node(rd->yaml, i);

		if (strcmp(child->key, "switches") == 0 ||
		    strcmp(child->key, "children") == 0) {
			r = add_pair(rd, "Switches", i);
		} else if (strcmp(child->key, "nodes") == 0) {
			r = add_pair(rd, "Nodes", i);
		} else if (strcmp(child->key, "metadata") != 0 &&
			   strcmp(child->key, "switch") != 0) {
			r = err_set(rd->err, rd->file, child->line, 0,
				    "unknown key '%.64s' of a switch", child->key);
			if (rd->err)
				err_suggest(rd->err, child->key, keys);
		}
	}
	strbuf_putc(&rd->conf, '\n');
	rd->line++;
	return r;
}

/* A model: switches are the keys. */
static int
add_model(struct reader *rd, uint32_t switches)
{
	int r = 0;

	for (uint32_t i = yaml_node(rd->yaml, switches)->first;
	     r == 0 && i != YAML_NONE; i = yaml_node(rd->yaml, i)->next) {
		const struct yaml_node *node = yaml_node(rd->yaml, i);

		if (node->kind == YAML_SEQUENCE)
			r = err_set(rd->err, rd->file, node->line, 0,
				    "expected \"switches\" or \"nodes\" of switch "
				    "'%.64s'",
				    node->key);
		else
			r = add_switch(rd, node, node->key, i);
	}
	return r;
}

/* Slurm's: switches are the items, with their name under "switch". */
static int
add_tree(struct reader *rd, uint32_t switches)
{
	int r = 0;

	if (switches == YAML_NONE ||
	    yaml_node(rd->yaml, switches)->kind != YAML_SEQUENCE)
		return err_set(rd->err, rd->file, 0, 0,
			       "the tree has no list of \"switches\"");
	for (uint32_t i = yaml_node(rd->yaml, switches)->first;
	     r == 0 && i != YAML_NONE; i = yaml_node(rd->yaml, i)->next) {
		uint32_t name = yaml_find(rd->yaml, i, "switch");

		if (name == YAML_NONE || yaml_node(rd->yaml, name)->kind != YAML_SCALAR)
			return err_set(rd->err, rd->file, yaml_node(rd->yaml, i)->line,
				       0, "expected \"switch: NAME\" and its children");
		r = add_switch(rd, yaml_node(rd->yaml, name),
			       yaml_node(rd->yaml, name)->value, i);
	}
	return r;
}

/* The tree of a topology.yaml that counts, or YAML_NONE. */
static uint32_t
find_tree(const struct yaml *yaml)
{
	uint32_t found = YAML_NONE;

	for (uint32_t i = yaml_node(yaml, 0)->first; i != YAML_NONE;
	     i = yaml_node(yaml, i)->next) {
		uint32_t tree = yaml_find(yaml, i, "tree");
		uint32_t is_default = yaml_find(yaml, i, "cluster_default");

		if (tree == YAML_NONE)
			continue;
		if (found == YAML_NONE)
			found = tree;
		if (is_default != YAML_NONE && yaml_node(yaml, is_default)->value &&
		    strcmp(yaml_node(yaml, is_default)->value, "true") == 0)
			return tree;
	}
	return found;
}

static int
read_yaml(struct reader *rd, const char *text, size_t length)
{
	uint32_t switches, tree;
	int r = yaml_parse(rd->file, text, length, &rd->yaml, rd->err);

	if (r < 0)
		return r;
	switches = yaml_find(rd->yaml, 0, "switches");
	tree = yaml_node(rd->yaml, 0)->kind == YAML_SEQUENCE ? find_tree(rd->yaml)
							     : YAML_NONE;
	if (switches != YAML_NONE &&
	    yaml_node(rd->yaml, switches)->kind == YAML_MAPPING)
		r = add_model(rd, switches);
	else if (tree != YAML_NONE)
		r = add_tree(rd, yaml_find(rd->yaml, tree, "switches"));
	else
		r = err_set(
			rd->err, rd->file, 0, 0,
			"has no tree of switches: expected a topology.yaml with "
			"\"tree\", or a model with \"switches\"; blocks say nothing "
			"of the network's cables");
	yaml_free(rd->yaml);
	return r;
}

/* ---- JSON of the graph engine ----------------------------------------------------------- */

struct graph {
	struct strtab *switches; /* By number: what hangs on it. */
	VEC(struct strbuf) below;
	struct strtab *edges; /* "parent child": told already. */
};

/* Puts 'child' below 'parent', once. */
static void
add_edge(struct graph *g, const char *parent, const char *child)
{
	uint32_t id = strtab_intern(g->switches, parent), n = strtab_n(g->edges);
	struct strbuf name = STRBUF_EMPTY, *below;

	if (id == g->below.n)
		vec_push(&g->below, (struct strbuf)STRBUF_EMPTY);
	strbuf_printf(&name, "%s %s", parent, child);
	if (strtab_intern(g->edges, name.text) == n) {
		below = &g->below.items[id];
		if (below->length)
			strbuf_putc(below, ',');
		strbuf_puts(below, child);
	}
	strbuf_free(&name);
}

/* A name with brackets in it would be a list of names. */
static int
check_name(const struct json_doc *doc, const struct json *value, const char *name,
	   struct err *err)
{
	if (topo_name_is_valid(name))
		return 0;
	return json_fail(doc, value, err, "'%.64s' is no name of a node or switch",
			 name);
}

static int
read_instance(const struct json_doc *doc, const struct json *item, struct graph *leaves,
	      struct graph *uppers, struct err *err)
{
	const struct json *layers;
	const char *id, *below, *above;
	size_t n;
	int r;

	if (json_as_object(doc, item, err) < 0 ||
	    json_get_str(doc, item, "id", &id, err) < 0 ||
	    check_name(doc, item, id, err) < 0 ||
	    json_get_array(doc, item, "network_layers", &layers, &n, err) < 0)
		return -EINVAL;
	if (n < 1 || n > MAX_LAYERS)
		return json_fail(
			doc, item, err,
			"instance '%s' has %zu network layers, expected 1 to %d", id, n,
			MAX_LAYERS);
	below = id;
	for (const struct json *layer = json_first(layers); layer;
	     layer = json_next(layer)) {
		r = json_as_str(doc, layer, &above, err);
		if (r == 0)
			r = check_name(doc, layer, above, err);
		if (r < 0)
			return r;
		add_edge(below == id ? leaves : uppers, above, below);
		below = above;
	}
	return 0;
}

static void
write_graph(struct reader *rd, const struct graph *g, const char *key)
{
	for (uint32_t i = 0; i < strtab_n(g->switches); i++)
		strbuf_printf(&rd->conf, "SwitchName=%s %s=%s\n",
			      strtab_name(g->switches, i), key, g->below.items[i].text);
}

static void
graph_init(struct graph *g)
{
	*g = (struct graph){ .switches = strtab_new(), .edges = strtab_new() };
}

static void
graph_fini(struct graph *g)
{
	for (size_t i = 0; i < g->below.n; i++)
		strbuf_free(&g->below.items[i]);
	vec_free(&g->below);
	strtab_free(g->switches);
	strtab_free(g->edges);
}

static int
read_graph(struct reader *rd, const char *text, size_t length)
{
	const struct json *instances = NULL;
	struct json_doc *doc;
	struct graph leaves, uppers;
	size_t n;
	int r = json_parse(rd->file, text, length, &doc, rd->err);

	if (r < 0)
		return r;
	graph_init(&leaves);
	graph_init(&uppers);
	r = json_as_object(doc, json_root(doc), rd->err);
	if (r == 0)
		r = json_get_array(doc, json_root(doc), "instances", &instances, &n,
				   rd->err);
	for (const struct json *item = r == 0 ? json_first(instances) : NULL;
	     r == 0 && item; item = json_next(item))
		r = read_instance(doc, item, &leaves, &uppers, rd->err);
	if (r == 0) {
		write_graph(rd, &leaves, "Nodes");
		write_graph(rd, &uppers, "Switches");
	}
	graph_fini(&leaves);
	graph_fini(&uppers);
	json_doc_free(doc);
	return r;
}

int
topo_topograph_read(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct topo **ret_topo,
		    struct err *err)
{
	struct reader rd = {
		.file = file, .conf = STRBUF_EMPTY, .line = 1, .err = err
	};
	size_t blanks = strspn(text, " \t\r\n");
	int r;

	if (blanks < length && text[blanks] == '{')
		r = read_graph(&rd, text, length);
	else
		r = read_yaml(&rd, text, length);
	if (r == 0 && !rd.conf.length)
		r = err_set(err, file, 0, 0, "has no switches");
	if (r == 0)
		r = topo_slurm_read(file, rd.conf.text, rd.conf.length, opts, ret_topo,
				    err);
	strbuf_free(&rd.conf);
	return r;
}
