/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_lldp.c - the reader of lldpcli's json0 and json.
 *
 *	{"lldp":[{"interface":[{"name":"e0","via":"LLDP",
 *	   "chassis":[{"id":[{"type":"mac","value":...}],"name":[{"value":"leaf0"}]}],
 *	   "port":[{"id":[{"type":"ifname","value":"swp1"}],"descr":[{"value":...}],
 *	      "auto-negotiation":[{"current":[{"value":"10GbaseT - ..."}]}]}]}]}]}
 *
 * and in json, which has no arrays of one, no objects of one text, and names as keys
 *
 *	{"lldp":{"interface":{"e0":{"via":"LLDP",
 *	   "chassis":{"leaf0":{"id":{"type":"mac","value":...}}},
 *	   "port":{"id":{"type":"ifname","value":"swp1"},"descr":...,
 *	      "auto-negotiation":{"current":"10GbaseT - ..."}}}}}}
 *
 * Keys beyond these are many, differ by version and are passed over.
 */
#include "topology/in_lldp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "topology/observed.h"

struct reader {
	const struct json_doc *doc;
	struct observed_node *report;
	struct err *err;
};

double
lldp_mau_bps(const char *mau)
{
	char *end;
	double value;

	if (*mau < '0' || *mau > '9')
		return 0;
	value = strtod(mau, &end);
	value *= *end == 'G' ? 1e9 : 1e6;
	return value <= TOPO_MAX_BPS ? value : 0;
}

/* The first of the elements of an array, or the value itself: json has no arrays of one. */
static const struct json *
first_in(const struct json *value)
{
	return value && json_kind(value) == JSON_ARRAY ? json_first(value) : value;
}

static bool
is_object(const struct json *value)
{
	return value && json_kind(value) == JSON_OBJECT;
}

/* The first value of 'key' of 'object', which may be none; NULL if there is none. */
static const struct json *
first_of(const struct json *object, const char *key)
{
	return is_object(object) ? first_in(json_find(object, key)) : NULL;
}

/* The first text of 'key': json0 has it in an object; NULL if there is none. */
static const char *
value_of(const struct json *object, const char *key)
{
	const struct json *first = first_of(object, key);
	const char *value;

	if (is_object(first))
		first = json_find(first, "value");
	value = first ? json_string(first) : NULL;
	return value && *value ? value : NULL;
}

/*
 * Follows an object to the one that it names, if it does: {"e0":{...}} of json.  Returns
 * the name, or NULL.
 */
static const char *
unwrap(const struct json **object)
{
	const struct json *inner = is_object(*object) ? json_first(*object) : NULL;

	if (!is_object(inner) || json_next(inner))
		return NULL;
	*object = inner;
	return json_key(inner);
}

/* The name of a neighbor, or its id; NULL if it has neither.  Follows json's name. */
static const char *
chassis_name(const struct json **chassis)
{
	const char *name = NULL;

	if (is_object(*chassis) && !json_find(*chassis, "id"))
		name = unwrap(chassis);
	if (!name || !*name)
		name = value_of(*chassis, "name");
	return name ? name : value_of(*chassis, "id");
}

/* From "capability":[{"type":"Bridge","enabled":true}], which lists what it could be. */
static enum observed_role
chassis_role(const struct reader *rd, const struct json *chassis)
{
	const struct json *list =
		is_object(chassis) ? json_find(chassis, "capability") : NULL;
	bool is_array = list && json_kind(list) == JSON_ARRAY;
	enum observed_role role = OBSERVED_ROLE_UNKNOWN;

	for (const struct json *item = first_in(list); is_object(item);
	     item = is_array ? json_next(item) : NULL) {
		const char *type = value_of(item, "type");
		bool is_enabled = false;

		if (role == OBSERVED_ROLE_UNKNOWN)
			role = OBSERVED_ROLE_END;
		(void)json_opt_bool(rd->doc, item, "enabled", &is_enabled, NULL);
		if (type && is_enabled &&
		    (strcmp(type, "Bridge") == 0 || strcmp(type, "Router") == 0))
			role = OBSERVED_ROLE_BRIDGE;
	}
	return role;
}

/* One neighbor of one interface. */
static int
read_interface(struct reader *rd, const struct json *item)
{
	const struct json *chassis, *port;
	const char *name = NULL, *node, *id, *descr, *mau;
	struct observed_port *at;

	if (json_as_object(rd->doc, item, rd->err) < 0)
		return -EINVAL;
	if (!json_find(item, "name"))
		name = unwrap(&item);
	if (!name && json_get_str(rd->doc, item, "name", &name, rd->err) < 0)
		return -EINVAL;
	if (!*name)
		return json_fail(rd->doc, item, rd->err, "'name' is empty");
	chassis = first_of(item, "chassis");
	node = chassis_name(&chassis);
	if (!node)
		return json_fail(
			rd->doc, item, rd->err,
			"the neighbour of '%s' has neither a name nor an id; "
			"expected the text of 'lldpcli -f json0 show neighbors "
			"details'",
			name);
	port = first_of(item, "port");
	id = value_of(port, "id");
	descr = value_of(port, "descr");
	mau = value_of(first_of(port, "auto-negotiation"), "current");
	at = observed_node_port(rd->report, name);
	if (!at)
		return json_fail(rd->doc, item, rd->err, "more than %d interfaces",
				 OBSERVED_MAX_PORTS);
	/* More neighbors than a port keeps: a hub.  Keeps the first ones. */
	(void)observed_port_add(at, node, id, descr, mau ? lldp_mau_bps(mau) : 0,
				chassis_role(rd, chassis));
	return 0;
}

/* Calls 'read' for each element of an array, or for the value itself. */
static int
for_each(struct reader *rd, const struct json *value,
	 int (*read)(struct reader *rd, const struct json *item))
{
	bool is_array = value && json_kind(value) == JSON_ARRAY;
	int r = 0;

	for (const struct json *item = first_in(value); item && r == 0;
	     item = is_array ? json_next(item) : NULL)
		r = read(rd, item);
	return r;
}

static int
read_interfaces(struct reader *rd, const struct json *lldp)
{
	if (json_as_object(rd->doc, lldp, rd->err) < 0)
		return -EINVAL;
	return for_each(rd, json_find(lldp, "interface"), read_interface);
}

int
lldp_read_value(const struct json_doc *doc, const struct json *value,
		struct observed_node *report, struct err *err)
{
	struct reader rd = { .doc = doc, .report = report, .err = err };
	const struct json *lldp;
	int r;

	if (json_as_object(doc, value, err) < 0)
		return -EINVAL;
	lldp = json_find(value, "lldp");
	if (!lldp)
		return json_fail(doc, value, err,
				 "key 'lldp' is missing here; expected the text of "
				 "'lldpcli -f json0 show neighbors details'");
	r = for_each(&rd, lldp, read_interfaces);
	if (r == 0)
		report->has_neighbours = true;
	return r;
}

int
lldp_read(const char *file, const char *text, size_t length,
	  struct observed_node *report, struct err *err)
{
	struct json_doc *doc;
	int r = json_parse(file, text, length, &doc, err);

	if (r < 0)
		return r;
	r = lldp_read_value(doc, json_root(doc), report, err);
	json_doc_free(doc);
	return r;
}
