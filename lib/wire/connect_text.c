/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/connect_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/wire/wire_json.h"

char *
connect_text_write(const struct connect_message *message)
{
	char address[ADDRESS_TEXT_BYTES], *text = NULL;
	struct jsonw w;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	BUG_ON(!out);
	jsonw_line(&w, out, "antiphase.connect/1");
	jsonw_str(&w, "job", message->job);
	jsonw_str(&w, "source", address_write(message->source, address));
	jsonw_str(&w, "destination", address_write(message->destination, address));
	jsonw_int(&w, "destination_port", ntohs(message->destination_port));
	jsonw_array(&w, "ports");
	for (size_t i = 0; i < message->n_ports; i++)
		jsonw_int(&w, NULL, ntohs(message->ports[i]));
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

static int
read_port(const struct json_doc *doc, const struct json *at,
	  struct connect_message *message, struct err *err)
{
	unsigned number = 0;
	uint16_t port;

	if (wire_json_element(doc, at, UINT16_MAX, &number, err) < 0)
		return -EINVAL;
	port = htons((uint16_t)number);
	for (size_t i = 0; i < message->n_ports; i++)
		if (message->ports[i] == port)
			return json_fail(doc, at, err, "port %u is there twice",
					 ntohs(port));
	message->ports[message->n_ports++] = port;
	return 0;
}

static int
read_ports(const struct json_doc *doc, struct connect_message *message, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "ports", &array, &n, err) < 0)
		return -EINVAL;
	if (n > CONNECT_MAX_PORTS)
		return json_fail(doc, array, err, "more than %d ports",
				 CONNECT_MAX_PORTS);
	for (const struct json *at = json_first(array); at; at = json_next(at))
		if (read_port(doc, at, message, err) < 0)
			return -EINVAL;
	return 0;
}

static int
read_message(const struct json_doc *doc, struct connect_message *message,
	     struct err *err)
{
	const struct json *root = json_root(doc);
	const char *job;

	if (json_check_schema(doc, "antiphase.connect", 1, err) < 0 ||
	    json_get_str(doc, root, "job", &job, err) < 0 ||
	    wire_json_ends(doc, root, message->source, message->destination, err) < 0 ||
	    wire_json_port(doc, root, "destination_port", &message->destination_port,
			   err) < 0)
		return -EINVAL;
	if (!tele_name_is_valid(job))
		return json_fail(doc, json_find(root, "job"), err,
				 "that is not the name of a job");
	strcpy(message->job, job);
	return read_ports(doc, message, err);
}

int
connect_text_parse(const char *text, size_t n, struct connect_message *ret_message,
		   struct err *err)
{
	struct connect_message message = { .n_ports = 0 };
	struct json_doc *doc;
	int rc = json_parse("connect", text, n, &doc, err);

	if (rc < 0)
		return rc;
	rc = read_message(doc, &message, err);
	if (rc == 0)
		*ret_message = message;
	json_doc_free(doc);
	return rc;
}

void
connect_text_topic_of(const uint8_t source[16], char ret_topic[CONNECT_TOPIC_BYTES])
{
	char text[ADDRESS_TEXT_BYTES];

	snprintf(ret_topic, CONNECT_TOPIC_BYTES, CONNECT_TOPIC "%s/",
		 address_write(source, text));
}
