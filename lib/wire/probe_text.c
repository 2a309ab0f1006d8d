/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/probe_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "lib/wire/wire_json.h"

static const char *const kinds[] = { "order", "answer", NULL };

/* In answers; PROBE_ASKED is in none. */
static const char *const states[] = {
	[PROBE_ASKED] = "",        [PROBE_FOUND] = "found",
	[PROBE_SILENT] = "silent", [PROBE_REACHED] = "reached",
	[PROBE_FAILED] = "failed", NULL
};

/* ---- Writing --------------------------------------------------------------------- */

static void
write_port(struct jsonw *w, const struct probe_port *port)
{
	char text[ADDRESS_TEXT_BYTES];

	jsonw_object(w, NULL);
	jsonw_int(w, "port", ntohs(port->port));
	jsonw_str(w, "state", states[port->state]);
	jsonw_array(w, "addresses");
	for (size_t i = 0; i < port->n_addresses; i++)
		jsonw_str(w, NULL, address_write(port->addresses[i], text));
	jsonw_end(w);
	jsonw_end(w);
}

char *
probe_text_write(const struct probe_message *message)
{
	char address[ADDRESS_TEXT_BYTES], *text = NULL;
	struct jsonw w;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	BUG_ON(!out);
	jsonw_line(&w, out, "antiphase.probe/1");
	jsonw_str(&w, "kind", kinds[message->is_answer]);
	jsonw_int(&w, "number", (int64_t)message->number);
	jsonw_str(&w, "source", address_write(message->source, address));
	jsonw_str(&w, "destination", address_write(message->destination, address));
	jsonw_int(&w, "destination_port", ntohs(message->destination_port));
	jsonw_array(&w, "hops");
	for (size_t i = 0; i < message->n_hops; i++)
		jsonw_int(&w, NULL, message->hops[i]);
	jsonw_end(&w);
	jsonw_array(&w, "ports");
	for (size_t i = 0; i < message->n_ports; i++) {
		if (message->is_answer)
			write_port(&w, &message->ports[i]);
		else
			jsonw_int(&w, NULL, ntohs(message->ports[i].port));
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

/* ---- Reading --------------------------------------------------------------------- */

static int
read_hops(const struct json_doc *doc, struct probe_message *message, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "hops", &array, &n, err) < 0)
		return -EINVAL;
	if (n < 1 || n > PROBE_MAX_HOPS)
		return json_fail(doc, array, err, "expected 1 to %d hops",
				 PROBE_MAX_HOPS);
	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		unsigned hop = 0;

		if (wire_json_element(doc, at, PROBE_MAX_HOP, &hop, err) < 0)
			return -EINVAL;
		if (message->n_hops && hop <= message->hops[message->n_hops - 1])
			return json_fail(doc, at, err, "hops have to ascend");
		message->hops[message->n_hops++] = (uint8_t)hop;
	}
	return 0;
}

static int
read_addresses(const struct json_doc *doc, const struct json *at, size_t n_hops,
	       struct probe_port *port, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, at, "addresses", &array, &n, err) < 0)
		return -EINVAL;
	if (n > n_hops || (port->state == PROBE_FOUND) != (n == n_hops))
		return json_fail(doc, array, err,
				 "%zu addresses do not fit %zu hops and this state", n,
				 n_hops);
	for (const struct json *one = json_first(array); one; one = json_next(one))
		if (wire_json_address(doc, one, port->addresses[port->n_addresses++],
				      err) < 0)
			return -EINVAL;
	return 0;
}

static int
read_answer(const struct json_doc *doc, const struct json *at, size_t n_hops,
	    struct probe_port *port, struct err *err)
{
	const char *state;
	int index;

	if (json_as_object(doc, at, err) < 0 ||
	    wire_json_port(doc, at, "port", &port->port, err) < 0 ||
	    json_get_str(doc, at, "state", &state, err) < 0)
		return -EINVAL;
	index = words_index(state, states);
	if (index <= PROBE_ASKED)
		return json_fail(doc, json_find(at, "state"), err,
				 "unknown state '%.40s'", state);
	port->state = (enum probe_state)index;
	return read_addresses(doc, at, n_hops, port, err);
}

static int
read_port(const struct json_doc *doc, const struct json *at,
	  struct probe_message *message, struct err *err)
{
	struct probe_port *port = &message->ports[message->n_ports];
	unsigned number = 0;

	*port = (struct probe_port){ .state = PROBE_ASKED };
	if (message->is_answer) {
		if (read_answer(doc, at, message->n_hops, port, err) < 0)
			return -EINVAL;
	} else {
		if (wire_json_element(doc, at, UINT16_MAX, &number, err) < 0)
			return -EINVAL;
		port->port = htons((uint16_t)number);
	}
	for (size_t i = 0; i < message->n_ports; i++)
		if (message->ports[i].port == port->port)
			return json_fail(doc, at, err, "port %u is there twice",
					 ntohs(port->port));
	message->n_ports++;
	return 0;
}

static int
read_ports(const struct json_doc *doc, struct probe_message *message, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "ports", &array, &n, err) < 0)
		return -EINVAL;
	if (n < 1 || n > PROBE_MAX_PORTS)
		return json_fail(doc, array, err, "expected 1 to %d ports",
				 PROBE_MAX_PORTS);
	for (const struct json *at = json_first(array); at; at = json_next(at))
		if (read_port(doc, at, message, err) < 0)
			return -EINVAL;
	return 0;
}

static int
read_message(const struct json_doc *doc, struct probe_message *message, struct err *err)
{
	const struct json *root = json_root(doc);
	int64_t number;
	const char *kind;
	int index;

	if (json_check_schema(doc, "antiphase.probe", 1, err) < 0 ||
	    json_get_str(doc, root, "kind", &kind, err) < 0 ||
	    json_get_int(doc, root, "number", 0, WIRE_JSON_MAX_NUMBER, &number, err) <
		    0 ||
	    wire_json_ends(doc, root, message->source, message->destination, err) < 0 ||
	    wire_json_port(doc, root, "destination_port", &message->destination_port,
			   err) < 0)
		return -EINVAL;
	index = words_index(kind, kinds);
	if (index < 0)
		return json_fail(doc, json_find(root, "kind"), err,
				 "unknown kind '%.40s'", kind);
	message->is_answer = index == 1;
	message->number = (uint64_t)number;
	if (read_hops(doc, message, err) < 0)
		return -EINVAL;
	return read_ports(doc, message, err);
}

int
probe_text_parse(const char *text, size_t n, struct probe_message *ret_message,
		 struct err *err)
{
	struct probe_message message = { .n_hops = 0 };
	struct json_doc *doc;
	int rc = json_parse("probe", text, n, &doc, err);

	if (rc < 0)
		return rc;
	rc = read_message(doc, &message, err);
	if (rc == 0)
		*ret_message = message;
	json_doc_free(doc);
	return rc;
}

void
probe_text_topic_of(const uint8_t source[16], char ret_topic[PROBE_TOPIC_BYTES])
{
	char text[ADDRESS_TEXT_BYTES];

	snprintf(ret_topic, PROBE_TOPIC_BYTES, PROBE_TOPIC "%s/",
		 address_write(source, text));
}
