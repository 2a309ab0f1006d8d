/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observed_json.c - reports of nodes, written and read.
 */
#include "topology/observed_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "topology/in_lldp.h"
#include "topology/observed.h"

#define MAX_GBPS (TOPO_MAX_BPS / 1e9)
#define MAX_US   9e15

/* ---- Writing --------------------------------------------------------------------- */

static void
write_port(const struct observed_port *port, struct jsonw *w)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "port", port->name);
	jsonw_str(w, "state", observed_state_names[port->state]);
	if (port->bps > 0)
		jsonw_num(w, "gbps", port->bps / 1e9);
	jsonw_array(w, "neighbours");
	for (size_t i = 0; i < port->neighbours.n; i++) {
		const struct observed_neighbour *peer = &port->neighbours.items[i];

		jsonw_object(w, NULL);
		jsonw_str(w, "node", peer->node);
		jsonw_str(w, "port", peer->port);
		jsonw_str(w, "alias", peer->alias);
		if (peer->bps > 0)
			jsonw_num(w, "gbps", peer->bps / 1e9);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

void
observed_json_node(const struct observed_node *node, struct jsonw *w)
{
	jsonw_str(w, "node", node->name);
	jsonw_int(w, "heard_us", node->heard_us);
	if (node->has_neighbours)
		jsonw_int(w, "neighbours_us", node->neighbours_us);
	jsonw_bool(w, "links", node->has_links);
	jsonw_bool(w, "neighbours", node->has_neighbours);
	jsonw_array(w, "ports");
	for (size_t i = 0; i < node->ports.n; i++)
		write_port(&node->ports.items[i], w);
	jsonw_end(w);
}

void
observed_json_members(const struct observed *seen, int64_t at_us, struct jsonw *w)
{
	jsonw_int(w, "at_us", at_us);
	jsonw_array(w, "nodes");
	for (size_t i = 0; i < observed_n_nodes(seen); i++) {
		jsonw_object(w, NULL);
		observed_json_node(observed_node(seen, i), w);
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* ---- Reading --------------------------------------------------------------------- */

static int
read_neighbour(const struct json_doc *doc, const struct json *value,
	       struct observed_port *port, struct err *err)
{
	static const char *const keys[] = { "node", "port", "alias", "gbps", NULL };
	const char *node, *peer_port = "", *alias = "";
	double gbps = 0;

	if (json_as_object(doc, value, err) < 0 ||
	    json_check_keys(doc, value, keys, err) < 0 ||
	    json_get_str(doc, value, "node", &node, err) < 0 ||
	    json_opt_str(doc, value, "port", &peer_port, err) < 0 ||
	    json_opt_str(doc, value, "alias", &alias, err) < 0 ||
	    json_opt_num(doc, value, "gbps", 0, MAX_GBPS, &gbps, err) < 0)
		return -EINVAL;
	if (!*node)
		return json_fail(doc, value, err, "'node' is empty");
	(void)observed_port_add(port, node, peer_port, alias, gbps * 1e9,
				OBSERVED_ROLE_UNKNOWN);
	return 0;
}

static int
read_port(const struct json_doc *doc, const struct json *value,
	  struct observed_node *report, struct err *err)
{
	static const char *const keys[] = { "port", "state", "gbps", "neighbours",
					    NULL };
	const struct json *neighbours = NULL;
	const char *name, *state = "unknown";
	struct observed_port *port;
	double gbps = 0;
	size_t n;
	int index, r = 0;

	if (json_as_object(doc, value, err) < 0 ||
	    json_check_keys(doc, value, keys, err) < 0 ||
	    json_get_str(doc, value, "port", &name, err) < 0 ||
	    json_opt_str(doc, value, "state", &state, err) < 0 ||
	    json_opt_num(doc, value, "gbps", 0, MAX_GBPS, &gbps, err) < 0 ||
	    json_opt_array(doc, value, "neighbours", &neighbours, &n, err) < 0)
		return -EINVAL;
	index = words_index(state, observed_state_names);
	if (index < 0)
		return json_fail(doc, json_find(value, "state"), err,
				 "'state' is '%s', expected up, down or unknown",
				 state);
	port = *name ? observed_node_port(report, name) : NULL;
	if (!port)
		return json_fail(doc, value, err,
				 "a port without a name, or more than %d",
				 OBSERVED_MAX_PORTS);
	port->state = (enum observed_state)index;
	port->bps = gbps * 1e9;
	for (const struct json *item = neighbours ? json_first(neighbours) : NULL;
	     r == 0 && item; item = json_next(item))
		r = read_neighbour(doc, item, port, err);
	return r;
}

int
observed_json_read_node(const struct json_doc *doc, const struct json *value,
			struct observed_node *report, struct err *err)
{
	const struct json *ports = NULL, *lldp;
	const char *name;
	int64_t heard_us = 0, neighbours_us = 0;
	bool has_links = false, has_neighbours = false;
	size_t n;
	int r = 0;

	observed_node_init(report, "");
	if (json_as_object(doc, value, err) < 0 ||
	    json_get_str(doc, value, "node", &name, err) < 0 ||
	    json_opt_int(doc, value, "heard_us", 0, (int64_t)MAX_US, &heard_us, err) <
		    0 ||
	    json_opt_int(doc, value, "neighbours_us", 0, (int64_t)MAX_US,
			 &neighbours_us, err) < 0 ||
	    json_opt_bool(doc, value, "links", &has_links, err) < 0 ||
	    json_opt_bool(doc, value, "neighbours", &has_neighbours, err) < 0 ||
	    json_opt_array(doc, value, "ports", &ports, &n, err) < 0)
		return -EINVAL;
	if (!*name)
		return json_fail(doc, value, err, "'node' is empty");
	observed_copy_name(report->name, name);
	report->heard_us = heard_us;
	report->neighbours_us = has_neighbours ? neighbours_us : 0;
	report->has_links = has_links;
	report->has_neighbours = has_neighbours;
	for (const struct json *item = ports ? json_first(ports) : NULL; r == 0 && item;
	     item = json_next(item))
		r = read_port(doc, item, report, err);
	lldp = json_find(value, "lldp");
	if (r == 0 && lldp)
		r = lldp_read_value(doc, lldp, report, err);
	return r;
}

int
observed_json_read_nodes(const struct json_doc *doc, int64_t now_us,
			 struct observed *seen, struct err *err)
{
	const struct json *nodes;
	size_t n;
	int r = 0;

	if (json_get_array(doc, json_root(doc), "nodes", &nodes, &n, err) < 0)
		return -EINVAL;
	for (const struct json *item = json_first(nodes); r == 0 && item;
	     item = json_next(item)) {
		struct observed_node report;

		r = observed_json_read_node(doc, item, &report, err);
		if (r == 0 && !report.heard_us)
			report.heard_us = now_us;
		if (r == 0 && observed_update(seen, &report, NULL, NULL) < 0)
			r = json_fail(doc, item, err, "more than %d nodes",
				      OBSERVED_MAX_NODES);
		observed_node_fini(&report);
	}
	return r;
}

int
observed_json_read(const char *file, const char *text, size_t length, const char *node,
		   int64_t now_us, struct observed *seen, struct err *err)
{
	struct observed_node report;
	struct json_doc *doc;
	int r = json_parse(file, text, length, &doc, err);

	if (r < 0)
		return r;
	if (!json_find(json_root(doc), "lldp") || json_find(json_root(doc), "schema")) {
		r = json_check_schema(doc, "antiphase.seen", 1, err);
		if (r == 0)
			r = observed_json_read_nodes(doc, now_us, seen, err);
	} else if (!node || !*node) {
		r = err_set(err, file, 0, 0,
			    "is lldpcli's text, which does not name its node; name "
			    "it as NODE=FILE");
	} else {
		observed_node_init(&report, node);
		report.heard_us = now_us;
		r = lldp_read_value(doc, json_root(doc), &report, err);
		if (r == 0 && observed_update(seen, &report, NULL, NULL) < 0)
			r = err_set(err, file, 0, 0, "more than %d nodes",
				    OBSERVED_MAX_NODES);
		observed_node_fini(&report);
	}
	json_doc_free(doc);
	return r;
}
