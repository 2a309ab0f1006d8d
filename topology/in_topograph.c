/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_topograph.c - the reader of Slurm's topology.yaml, and of files and models of
 * NVIDIA's topograph, which writes that, too.
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
 * network.  So each form is converted to the text of a topology.conf, one line per
 * switch; an error in a line is reported with the switch's line in the YAML.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/base/yaml.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

#define MAX_LAYERS TOPO_MAX_TIER

struct reader {
	const struct json_doc *doc; /* Borrowed. */
	struct strbuf conf;         /* Builds the text of a topology.conf. */
	/* By line of 'conf': the switch; borrowed.  Empty for the graph engine. */
	VEC(const struct json *) switches;
	const struct topo_read_opts *opts; /* Borrowed; may be NULL. */
	struct err *err;
};

/* ---- YAML ------------------------------------------------------------------------ */

/* True for a valid list of names of Slurm: no blanks, quotes or line ends. */
static bool
is_list(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789._-/+@[],")];
}

static int
add_names(struct reader *rd, const struct json *scalar, bool is_first)
{
	const char *text = json_string(scalar);

	if (!text || !is_list(text))
		return json_fail(rd->doc, scalar, rd->err,
				 "expected a name, or names such as 'n[1-4]'");
	if (!is_first)
		strbuf_putc(&rd->conf, ',');
	strbuf_puts(&rd->conf, text);
	return 0;
}

/* True for {}, [] and no value: 'scontrol show topoconf' prints keys without values. */
static bool
is_empty(const struct json *value)
{
	if (json_kind(value) == JSON_STRING)
		return !*json_string(value);
	return !json_first(value);
}

/* " KEY=a,b" of a scalar or a sequence; nothing for an empty one. */
static int
add_pair(struct reader *rd, const char *key, const struct json *value)
{
	int r = 0;

	if (is_empty(value))
		return 0;
	if (json_kind(value) == JSON_OBJECT)
		return json_fail(rd->doc, value, rd->err, "expected a list of names");
	strbuf_printf(&rd->conf, " %s=", key);
	if (json_kind(value) == JSON_STRING)
		return add_names(rd, value, true);
	for (const struct json *at = json_first(value); r == 0 && at;
	     at = json_next(at))
		r = add_names(rd, at, at == json_first(value));
	return r;
}

/* One switch: its name, and a mapping with its children under 'keys'. */
static int
add_switch(struct reader *rd, const struct json *at, const char *name,
	   const struct json *mapping)
{
	static const char *const keys[] = { "switch", "switches", "children",
					    "nodes",  "metadata", NULL };
	int r = 0;

	if (!topo_name_is_valid(name))
		return json_fail(rd->doc, at, rd->err, "'%.64s' is not a switch name",
				 name);
	vec_push(&rd->switches, at);
	strbuf_printf(&rd->conf, "SwitchName=%s", name);
	for (const struct json *child = json_first(mapping); r == 0 && child;
	     child = json_next(child)) {
		const char *key = json_key(child);

		if (strcmp(key, "switches") == 0 || strcmp(key, "children") == 0) {
			r = add_pair(rd, "Switches", child);
		} else if (strcmp(key, "nodes") == 0) {
			r = add_pair(rd, "Nodes", child);
		} else if (strcmp(key, "metadata") != 0 && strcmp(key, "switch") != 0) {
			r = json_fail(rd->doc, child, rd->err,
				      "unknown key '%.64s' of a switch", key);
			err_suggest(rd->err, key, keys);
		}
	}
	strbuf_putc(&rd->conf, '\n');
	return r;
}

/* A model: switches are the keys. */
static int
add_model(struct reader *rd, const struct json *switches)
{
	int r = 0;

	for (const struct json *at = json_first(switches); r == 0 && at;
	     at = json_next(at))
		r = json_kind(at) == JSON_ARRAY
			    ? json_fail(rd->doc, at, rd->err,
					"expected \"switches\" or \"nodes\" of "
					"switch '%.64s'",
					json_key(at))
			    : add_switch(rd, at, json_key(at), at);
	return r;
}

/* Slurm's form: switches are items, with their name under "switch". */
static int
add_tree(struct reader *rd, const struct json *tree)
{
	const struct json *switches = json_find(tree, "switches");
	int r = 0;

	if (!switches || json_kind(switches) != JSON_ARRAY)
		return json_fail(rd->doc, tree, rd->err,
				 "the tree has no list of \"switches\"");
	for (const struct json *at = json_first(switches); r == 0 && at;
	     at = json_next(at)) {
		const struct json *name =
			json_kind(at) == JSON_OBJECT ? json_find(at, "switch") : NULL;

		if (!name || !json_string(name))
			return json_fail(rd->doc, at, rd->err,
					 "expected \"switch: NAME\" and its children");
		r = add_switch(rd, name, json_string(name), at);
	}
	return r;
}

/* A boolean of Slurm. */
static bool
is_true(const struct json *value)
{
	static const char *const words[] = { "true", "yes", "on", "1" };
	const char *text = value ? json_string(value) : NULL;

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strcasecmp(text, words[i]) == 0)
			return true;
	return false;
}

/* The key of what a topology is, such as "tree"; NULL: none. */
static const char *
kind_of(const struct json *topology)
{
	for (const struct json *at = json_first(topology); at; at = json_next(at))
		if (strcmp(json_key(at), "topology") != 0 &&
		    strcmp(json_key(at), "cluster_default") != 0 && !is_empty(at))
			return json_key(at);
	return NULL;
}

static const char *
name_of(const struct json *topology)
{
	const struct json *name = json_find(topology, "topology");

	return name && json_string(name) ? json_string(name) : "?";
}

/* The topology with the tree that is used, or NULL. */
static const struct json *
find_tree(const struct json *topologies)
{
	const struct json *found = NULL;

	for (const struct json *at = json_first(topologies); at; at = json_next(at)) {
		const struct json *tree =
			json_kind(at) == JSON_OBJECT ? json_find(at, "tree") : NULL;

		if (!tree || json_kind(tree) != JSON_OBJECT || is_empty(tree))
			continue;
		if (!found)
			found = at;
		if (is_true(json_find(at, "cluster_default")))
			return at;
	}
	return found;
}

/* Tells which topology is used, if there are others. */
static void
note_others(const struct reader *rd, const struct json *topologies,
	    const struct json *used)
{
	struct strbuf others = STRBUF_EMPTY;

	for (const struct json *at = json_first(topologies); at; at = json_next(at)) {
		const char *kind = json_kind(at) == JSON_OBJECT ? kind_of(at) : NULL;

		if (at == used)
			continue;
		strbuf_printf(&others, "%s'%.64s' (%.32s)", others.length ? ", " : "",
			      json_kind(at) == JSON_OBJECT ? name_of(at) : "?",
			      kind ? kind : "?");
	}
	if (others.length)
		topo_note(rd->opts, "topology '%.64s' is used; left out: %s",
			  name_of(used), others.text);
	strbuf_free(&others);
}

/* Slurm's topology.yaml. */
static int
add_topologies(struct reader *rd, const char *file, const struct json *root)
{
	const struct json *used = find_tree(root);

	if (!used)
		return err_set(rd->err, file, 0, 0,
			       "has no tree of switches: expected a topology with "
			       "\"tree\"; blocks say nothing of the network's cables");
	note_others(rd, root, used);
	return add_tree(rd, json_find(used, "tree"));
}

static int
read_yaml(struct reader *rd, const char *file, const struct json *root)
{
	const struct json *switches = NULL;

	if (json_next(root))
		return json_fail(rd->doc, json_next(root), rd->err,
				 "a second document is not read");
	if (json_kind(root) == JSON_ARRAY)
		return add_topologies(rd, file, root);
	if (json_kind(root) == JSON_OBJECT)
		switches = json_find(root, "switches");
	if (switches && json_kind(switches) == JSON_OBJECT)
		return add_model(rd, switches);
	return err_set(rd->err, file, 0, 0,
		       "has no tree of switches: expected a topology.yaml with "
		       "\"tree\", or a model with \"switches\"; blocks say nothing "
		       "of the network's cables");
}

/* ---- JSON of the graph engine ---------------------------------------------------- */

struct graph {
	struct strtab *switches; /* By number: the members. */
	VEC(struct strbuf) below;
	struct strtab *edges; /* "parent child": already written. */
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

/* Slurm would read a name with brackets as a list of names. */
static int
check_name(const struct json_doc *doc, const struct json *value, const char *name,
	   struct err *err)
{
	if (topo_name_is_valid(name))
		return 0;
	return json_fail(doc, value, err,
			 "'%.64s' is not a valid name of a node or switch", name);
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
read_graph(struct reader *rd, const struct json *root)
{
	const struct json *instances = NULL;
	struct graph leaves, uppers;
	size_t n;
	int r = json_as_object(rd->doc, root, rd->err);

	graph_init(&leaves);
	graph_init(&uppers);
	if (r == 0)
		r = json_get_array(rd->doc, root, "instances", &instances, &n, rd->err);
	for (const struct json *item = r == 0 ? json_first(instances) : NULL;
	     r == 0 && item; item = json_next(item))
		r = read_instance(rd->doc, item, &leaves, &uppers, rd->err);
	if (r == 0) {
		write_graph(rd, &leaves, "Nodes");
		write_graph(rd, &uppers, "Switches");
	}
	graph_fini(&leaves);
	graph_fini(&uppers);
	return r;
}

int
topo_topograph_read(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct topo **ret_topo,
		    struct err *err)
{
	struct reader rd = { .conf = STRBUF_EMPTY, .opts = opts, .err = err };
	size_t blanks = strspn(text, " \t\r\n");
	bool is_json = blanks < length && text[blanks] == '{';
	struct json_doc *doc;
	int r = (is_json ? json_parse : yaml_parse)(file, text, length, &doc, err);

	if (r < 0)
		return r;
	rd.doc = doc;
	r = is_json ? read_graph(&rd, json_root(doc))
		    : read_yaml(&rd, file, json_first(json_root(doc)));
	if (r == 0 && !rd.conf.length)
		r = err_set(err, file, 0, 0, "has no switches");
	if (r == 0) {
		r = topo_slurm_read(file, rd.conf.text, rd.conf.length, opts, ret_topo,
				    err);
		/* Maps a fault in a line to the switch that the line was made from. */
		if (r < 0 && err && err->line)
			err->line =
				err->line <= rd.switches.n
					? json_line(doc,
						    rd.switches.items[err->line - 1])
					: 0;
	}
	vec_free(&rd.switches);
	strbuf_free(&rd.conf);
	json_doc_free(doc);
	return r;
}
