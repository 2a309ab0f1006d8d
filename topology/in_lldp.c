/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_lldp.c - the reader of lldpcli's json0.
 *
 *	{"lldp":[{"interface":[{"name":"e0","via":"LLDP",
 *	   "chassis":[{"id":[{"type":"mac","value":...}],"name":[{"value":"leaf0"}]}],
 *	   "port":[{"id":[{"type":"ifname","value":"swp1"}],"descr":[{"value":...}],
 *	      "auto-negotiation":[{"current":[{"value":"10GbaseT - ..."}]}]}]}]}]}
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

/* The first element of the array 'key' of 'object'; NULL if there is none. */
static const struct json *
first_of(const struct reader *rd, const struct json *object, const char *key)
{
	const struct json *array;
	size_t n;

	if (!object || json_get_array(rd->doc, object, key, &array, &n, NULL) < 0 || !n)
		return NULL;
	return json_first(array);
}

/* "value" of the first element of the array 'key'; NULL if there is none. */
static const char *
value_of(const struct reader *rd, const struct json *object, const char *key)
{
	const struct json *first = first_of(rd, object, key);
	const char *value;

	if (!first || json_get_str(rd->doc, first, "value", &value, NULL) < 0)
		return NULL;
	return *value ? value : NULL;
}

/* One neighbor of one interface. */
static int
read_interface(struct reader *rd, const struct json *item)
{
	const struct json *chassis, *port;
	const char *name, *node, *id, *descr, *mau;
	struct observed_port *at;

	if (json_as_object(rd->doc, item, rd->err) < 0 ||
	    json_get_str(rd->doc, item, "name", &name, rd->err) < 0)
		return -EINVAL;
	if (!*name)
		return json_fail(rd->doc, item, rd->err, "'name' is empty");
	chassis = first_of(rd, item, "chassis");
	port = first_of(rd, item, "port");
	node = value_of(rd, chassis, "name");
	if (!node)
		node = value_of(rd, chassis, "id");
	if (!node)
		return json_fail(
			rd->doc, item, rd->err,
			"the neighbour of '%s' has neither a name nor an id; "
			"expected the text of 'lldpcli -f json0 show neighbors "
			"details'",
			name);
	id = value_of(rd, port, "id");
	descr = value_of(rd, port, "descr");
	mau = value_of(rd, first_of(rd, port, "auto-negotiation"), "current");
	at = observed_node_port(rd->report, name);
	if (!at)
		return json_fail(rd->doc, item, rd->err, "more than %d interfaces",
				 OBSERVED_MAX_PORTS);
	/* More neighbors than a port keeps: a hub.  Keeps the first ones. */
	(void)observed_port_add(at, node, id, descr, mau ? lldp_mau_bps(mau) : 0);
	return 0;
}

static int
read_interfaces(struct reader *rd, const struct json *lldp)
{
	const struct json *interfaces = NULL;
	size_t n;

	if (json_as_object(rd->doc, lldp, rd->err) < 0 ||
	    json_opt_array(rd->doc, lldp, "interface", &interfaces, &n, rd->err) < 0)
		return -EINVAL;
	if (!interfaces)
		return 0;
	for (const struct json *item = json_first(interfaces); item;
	     item = json_next(item)) {
		int r = read_interface(rd, item);

		if (r < 0)
			return r;
	}
	return 0;
}

int
lldp_read_value(const struct json_doc *doc, const struct json *value,
		struct observed_node *report, struct err *err)
{
	struct reader rd = { .doc = doc, .report = report, .err = err };
	const struct json *list;
	size_t n;

	if (json_as_object(doc, value, err) < 0)
		return -EINVAL;
	if (json_get_array(doc, value, "lldp", &list, &n, err) < 0) {
		err_append(err, "; is this the text of 'lldpcli -f json0'? "
				"(-f json has another shape)");
		return -EINVAL;
	}
	for (const struct json *item = json_first(list); item; item = json_next(item)) {
		int r = read_interfaces(&rd, item);

		if (r < 0)
			return r;
	}
	report->has_neighbours = true;
	return 0;
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
