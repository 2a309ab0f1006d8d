/* SPDX-License-Identifier: Apache-2.0 */
/* in_kueue.c - reads the topology assignments of a Workload of Kueue. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "topology/kueue.h"
#include "topology/topo.h"

#define HOSTNAME "kubernetes.io/hostname"

struct reader {
	const struct json_doc *doc; /* Borrowed. */
	struct strtab *names;       /* Those found so far. */
	size_t max_nodes, n_levels;
	int (*node)(void *ctx, const char *name);
	void *ctx;
	struct err *err;
};

static int
take_node(struct reader *rd, const struct json *at, const char *name)
{
	uint32_t n = strtab_n(rd->names);

	if (!topo_name_is_valid(name))
		return json_fail(rd->doc, at, rd->err, "'%.64s' is not a Node's name",
				 name);
	if (strtab_intern(rd->names, name) != n)
		return 0;
	if (n == rd->max_nodes) {
		json_fail(rd->doc, at, rd->err, "more than %zu Nodes", rd->max_nodes);
		return -E2BIG;
	}
	return rd->node(rd->ctx, name);
}

/* The last element of a list of 'n_levels'. */
static int
lowest(const struct reader *rd, const struct json *object, const char *key,
       const struct json **ret_value)
{
	const struct json *list, *at;
	size_t n;
	int r = json_get_array(rd->doc, object, key, &list, &n, rd->err);

	if (r < 0)
		return r;
	if (n != rd->n_levels)
		return json_fail(rd->doc, list, rd->err,
				 "%s has %zu elements, expected one for each of the "
				 "%zu levels",
				 key, n, rd->n_levels);
	for (at = json_first(list); json_next(at); at = json_next(at))
		;
	*ret_value = at;
	return 0;
}

/* v1beta1. */
static int
read_domain(struct reader *rd, const struct json *domain)
{
	const struct json *value = NULL;
	const char *name;
	int r = json_as_object(rd->doc, domain, rd->err);

	if (r == 0)
		r = lowest(rd, domain, "values", &value);
	if (r == 0)
		r = json_as_str(rd->doc, value, &name, rd->err);
	return r < 0 ? r : take_node(rd, value, name);
}

/* The names "prefix root suffix" of a slice. */
static int
read_roots(struct reader *rd, const struct json *values, size_t n_domains)
{
	const char *prefix = "", *suffix = "", *root;
	const struct json *roots = NULL;
	struct strbuf name = STRBUF_EMPTY;
	size_t n = 0;
	int r = json_opt_str(rd->doc, values, "prefix", &prefix, rd->err);

	if (r == 0)
		r = json_opt_str(rd->doc, values, "suffix", &suffix, rd->err);
	if (r == 0)
		r = json_get_array(rd->doc, values, "roots", &roots, &n, rd->err);
	if (r == 0 && n != n_domains)
		r = json_fail(rd->doc, roots, rd->err,
			      "%zu roots, expected one for each of the %zu domains", n,
			      n_domains);
	for (const struct json *at = r == 0 ? json_first(roots) : NULL; r == 0 && at;
	     at = json_next(at)) {
		r = json_as_str(rd->doc, at, &root, rd->err);
		if (r < 0)
			break;
		strbuf_clear(&name);
		strbuf_printf(&name, "%s%s%s", prefix, root, suffix);
		r = take_node(rd, at, name.text);
	}
	strbuf_free(&name);
	return r;
}

/* v1beta2. */
static int
read_slice(struct reader *rd, const struct json *slice)
{
	const struct json *values = NULL;
	const char *universal = NULL;
	int64_t n_domains = 0;
	int r = json_as_object(rd->doc, slice, rd->err);

	if (r == 0)
		r = json_get_int(rd->doc, slice, "domainCount", 1, INT_MAX, &n_domains,
				 rd->err);
	if (r == 0)
		r = lowest(rd, slice, "valuesPerLevel", &values);
	if (r == 0)
		r = json_as_object(rd->doc, values, rd->err);
	if (r == 0)
		r = json_opt_str(rd->doc, values, "universalValue", &universal,
				 rd->err);
	if (r < 0)
		return r;
	if (universal)
		return take_node(rd, values, universal);
	return read_roots(rd, values, (size_t)n_domains);
}

static int
read_assignment(struct reader *rd, const struct json *assignment)
{
	const struct json *levels, *level = NULL, *list;
	const char *key = NULL;
	size_t n;
	bool is_old;
	int r = json_as_object(rd->doc, assignment, rd->err);

	if (r == 0)
		r = json_get_array(rd->doc, assignment, "levels", &levels,
				   &rd->n_levels, rd->err);
	if (r == 0 && !rd->n_levels)
		r = json_fail(rd->doc, levels, rd->err, "levels is empty");
	if (r == 0)
		r = lowest(rd, assignment, "levels", &level);
	if (r == 0)
		r = json_as_str(rd->doc, level, &key, rd->err);
	if (r < 0)
		return r;
	if (strcmp(key, HOSTNAME) != 0)
		return json_fail(rd->doc, level, rd->err,
				 "Kueue assigned domains of '%.64s', not Nodes; make "
				 "'" HOSTNAME "' the lowest level of the Topology",
				 key);
	is_old = json_find(assignment, "domains");
	r = json_get_array(rd->doc, assignment, is_old ? "domains" : "slices", &list,
			   &n, rd->err);
	for (const struct json *at = r == 0 ? json_first(list) : NULL; r == 0 && at;
	     at = json_next(at))
		r = is_old ? read_domain(rd, at) : read_slice(rd, at);
	return r;
}

/* The member of an object, which has to be an object. */
static int
go_into(const struct reader *rd, const struct json **at, const char *key,
	const char *why)
{
	const struct json *member;
	int r = json_as_object(rd->doc, *at, rd->err);

	if (r < 0)
		return r;
	member = json_find(*at, key);
	if (!member || json_is_null(member))
		return json_fail(rd->doc, *at, rd->err, "%s", why);
	*at = member;
	return json_as_object(rd->doc, member, rd->err);
}

/* The Workload in a List of one. */
static int
find_workload(const struct reader *rd, const struct json **at)
{
	const struct json *items;
	const char *kind;
	size_t n;
	int r = json_as_object(rd->doc, *at, rd->err);

	if (r == 0 && json_find(*at, "items")) {
		r = json_get_array(rd->doc, *at, "items", &items, &n, rd->err);
		if (r == 0 && n != 1)
			r = json_fail(rd->doc, items, rd->err,
				      "has %zu Workloads, expected one; run 'kubectl "
				      "get workload NAME -o json'",
				      n);
		if (r == 0) {
			*at = json_first(items);
			r = json_as_object(rd->doc, *at, rd->err);
		}
	}
	if (r == 0)
		r = json_get_str(rd->doc, *at, "kind", &kind, rd->err);
	if (r == 0 && strcmp(kind, "Workload") != 0)
		r = json_fail(rd->doc, *at, rd->err,
			      "is a '%.64s', expected a Workload of Kueue", kind);
	return r;
}

static int
read_workload(struct reader *rd, const struct json *at)
{
	const struct json *sets;
	size_t n;
	int r = find_workload(rd, &at);

	if (r == 0)
		r = go_into(rd, &at, "status", "has no status: Kueue has not seen it");
	if (r == 0)
		r = go_into(rd, &at, "admission", "is not admitted yet");
	if (r == 0)
		r = json_get_array(rd->doc, at, "podSetAssignments", &sets, &n,
				   rd->err);
	for (const struct json *set = r == 0 ? json_first(sets) : NULL; r == 0 && set;
	     set = json_next(set)) {
		const struct json *assignment;

		r = json_as_object(rd->doc, set, rd->err);
		if (r < 0)
			break;
		assignment = json_find(set, "topologyAssignment");
		if (assignment && !json_is_null(assignment))
			r = read_assignment(rd, assignment);
	}
	if (r == 0 && !strtab_n(rd->names))
		r = json_fail(rd->doc, at, rd->err,
			      "has no topologyAssignment: its flavor has no Topology, "
			      "or the job does not ask for one");
	return r;
}

int
kueue_nodes_read(const char *file, const char *text, size_t length, size_t max_nodes,
		 int (*node)(void *ctx, const char *name), void *ctx, struct err *err)
{
	struct reader rd = {
		.max_nodes = max_nodes, .node = node, .ctx = ctx, .err = err
	};
	struct json_doc *doc;
	int r = json_parse(file, text, length, &doc, err);

	if (r < 0)
		return r;
	rd.doc = doc;
	rd.names = strtab_new();
	r = read_workload(&rd, json_root(doc));
	strtab_free(rd.names);
	json_doc_free(doc);
	return r;
}
