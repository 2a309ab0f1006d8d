/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observed_json.h - reports of nodes as JSON
 *
 *	{"schema":"antiphase.seen/1","at_us":...,"nodes":[{"node":"h0","heard_us":...,
 *	  "neighbours_us":...,"links":true,"neighbours":true,"ports":[{"port":"e0","state":"up","gbps":100,
 *	  "neighbours":[{"node":"leaf0","port":"swp1","alias":"","gbps":100}]}]}]}
 *
 * A node's report to the service is one element of "nodes".  See docs/json.md.
 */
#ifndef TOPOLOGY_OBSERVED_JSON_H
#define TOPOLOGY_OBSERVED_JSON_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct json;
struct json_doc;
struct jsonw;
struct observed;
struct observed_node;

/* Writes the members "at_us" and "nodes" into the open object. */
void observed_json_members(const struct observed *seen, int64_t at_us, struct jsonw *w);
/* Writes the members of one element of "nodes" into the open object. */
void observed_json_node(const struct observed_node *node, struct jsonw *w);

/*
 * Reads one element of "nodes".  A member "lldp", the text of lldpcli as json0, gives
 * the neighbors.  Release 'report' in any case.  0 or -EINVAL.
 */
int observed_json_read_node(const struct json_doc *doc, const struct json *value,
			    struct observed_node *report, struct err *err);

/* Adds all elements of "nodes" of the document to 'seen'.  0 or -EINVAL. */
int observed_json_read_nodes(const struct json_doc *doc, int64_t now_us,
			     struct observed *seen, struct err *err);

/*
 * Adds the reports of a file to 'seen': one of the above, or the text of lldpcli
 * (json0) of the node 'node' (NULL: an error), which was received at 'now_us'.  Returns
 * 0 or a negative errno.
 */
int observed_json_read(const char *file, const char *text, size_t length,
		       const char *node, int64_t now_us, struct observed *seen,
		       struct err *err);

#endif
