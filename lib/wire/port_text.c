/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/port_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "lib/wire/wire_json.h"

static const char *const verbs[] = { [PORT_MOVE] = "move",
				     [PORT_PREPARE] = "prepare",
				     [PORT_READY] = "ready",
				     [PORT_REFUSED] = "refused",
				     [PORT_USING] = "using",
				     [PORT_SETTLED] = "settled",
				     NULL };

char *
port_text_write(const struct port_message *message)
{
	const struct port_flow *flow = &message->flow;
	char address[ADDRESS_TEXT_BYTES], *text = NULL;
	struct jsonw w;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	BUG_ON(!out);
	jsonw_line(&w, out, "antiphase.port/1");
	jsonw_str(&w, "verb", verbs[message->verb]);
	jsonw_str(&w, "job", message->job);
	jsonw_str(&w, "source", address_write(flow->source, address));
	jsonw_int(&w, "source_port", ntohs(flow->source_port));
	jsonw_str(&w, "destination", address_write(flow->destination, address));
	jsonw_int(&w, "destination_port", ntohs(flow->destination_port));
	jsonw_int(&w, "port", ntohs(message->port));
	jsonw_int(&w, "number", (int64_t)message->number);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

int
port_text_end(const char *text, uint8_t ret_address[16], uint16_t *ret_port)
{
	char address[ADDRESS_TEXT_BYTES + 1];
	const char *colon = strrchr(text, ':');
	bool is_six = *text == '[';
	unsigned port;
	int end = 0;

	if (!colon || (is_six && (colon == text || colon[-1] != ']')) ||
	    (size_t)(colon - text) >= sizeof address ||
	    sscanf(colon + 1, "%5u%n", &port, &end) != 1 || colon[1 + end] ||
	    !isdigit((unsigned char)colon[1]) || !port || port > UINT16_MAX)
		return -EINVAL;
	snprintf(address, sizeof address, "%.*s", (int)(colon - text) - 2 * is_six,
		 text + is_six);
	if (address_parse(address, ret_address) < 0 ||
	    is_six == address_is_ipv4(ret_address))
		return -EINVAL;
	*ret_port = htons((uint16_t)port);
	return 0;
}

static int
read_message(const struct json_doc *doc, struct port_message *ret_message,
	     struct err *err)
{
	const struct json *root = json_root(doc);
	struct port_flow *flow = &ret_message->flow;
	const char *verb, *job;
	int64_t number;
	int index;

	if (json_check_schema(doc, "antiphase.port", 1, err) < 0 ||
	    json_get_str(doc, root, "verb", &verb, err) < 0 ||
	    json_get_str(doc, root, "job", &job, err) < 0 ||
	    wire_json_ends(doc, root, flow->source, flow->destination, err) < 0 ||
	    wire_json_port(doc, root, "source_port", &flow->source_port, err) < 0 ||
	    wire_json_port(doc, root, "destination_port", &flow->destination_port,
			   err) < 0 ||
	    wire_json_port(doc, root, "port", &ret_message->port, err) < 0 ||
	    json_get_int(doc, root, "number", 0, WIRE_JSON_MAX_NUMBER, &number, err) <
		    0)
		return -EINVAL;
	index = words_index(verb, verbs);
	if (index < 0)
		return json_fail(doc, json_find(root, "verb"), err,
				 "unknown verb '%.40s'", verb);
	if (*job && !tele_name_is_valid(job))
		return json_fail(doc, json_find(root, "job"), err,
				 "that is not the name of a job");
	ret_message->verb = (enum port_verb)index;
	ret_message->number = (uint64_t)number;
	strcpy(ret_message->job, job);
	return 0;
}

int
port_text_parse(const char *text, size_t n, struct port_message *ret_message,
		struct err *err)
{
	struct port_message message = { .number = 0 };
	struct json_doc *doc;
	int rc = json_parse("port", text, n, &doc, err);

	if (rc < 0)
		return rc;
	rc = read_message(doc, &message, err);
	if (rc == 0)
		*ret_message = message;
	json_doc_free(doc);
	return rc;
}

void
port_text_topic_of(const uint8_t address[16], char ret_topic[PORT_TOPIC_BYTES])
{
	char text[ADDRESS_TEXT_BYTES];

	snprintf(ret_topic, PORT_TOPIC_BYTES, PORT_TOPIC "%s/",
		 address_write(address, text));
}

void
port_text_topic(const struct port_message *message, char ret_topic[PORT_TOPIC_BYTES])
{
	bool is_for_receiver =
		message->verb == PORT_PREPARE || message->verb == PORT_USING;

	port_text_topic_of(is_for_receiver ? message->flow.destination
					   : message->flow.source,
			   ret_topic);
}

const char *
port_text_write_end(const uint8_t address[16], uint16_t port,
		    char ret_text[PORT_TEXT_END_BYTES])
{
	char text[ADDRESS_TEXT_BYTES];

	snprintf(ret_text, PORT_TEXT_END_BYTES,
		 address_is_ipv4(address) ? "%s:%u" : "[%s]:%u",
		 address_write(address, text), ntohs(port));
	return ret_text;
}

const char *
port_text_flow(const struct port_flow *flow, char ret_text[PORT_TEXT_FLOW_BYTES])
{
	char from[PORT_TEXT_END_BYTES], to[PORT_TEXT_END_BYTES];

	snprintf(ret_text, PORT_TEXT_FLOW_BYTES, "%s > %s",
		 port_text_write_end(flow->source, flow->source_port, from),
		 port_text_write_end(flow->destination, flow->destination_port, to));
	return ret_text;
}
