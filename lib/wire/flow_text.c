/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/flow_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/wire/port_text.h"

/* JSON holds integers below 2^53: 9 PB. */
#define MAX_BYTES ((INT64_C(1) << 53) - 1)

static void
write_row(struct jsonw *w, const struct flow_row *row)
{
	char end[PORT_TEXT_END_BYTES];
	const struct port_flow *flow = &row->flow;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", row->job);
	jsonw_str(w, "source",
		  port_text_write_end(flow->source, flow->source_port, end));
	jsonw_str(w, "destination",
		  port_text_write_end(flow->destination, flow->destination_port, end));
	jsonw_int(w, "port", ntohs(row->port));
	jsonw_int(w, "bytes", row->bytes > MAX_BYTES ? MAX_BYTES : (int64_t)row->bytes);
	if (row->is_opened)
		jsonw_bool(w, "opened", true);
	jsonw_end(w);
}

char *
flow_text_write(const struct flow_rows *rows)
{
	char range[PORT_RANGE_BYTES], *text = NULL;
	struct jsonw w;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	BUG_ON(!out);
	jsonw_line(&w, out, "antiphase.flows/1");
	jsonw_str(&w, "host", rows->host);
	if (rows->range.first)
		jsonw_str(&w, "range", port_range_write(&rows->range, range));
	jsonw_array(&w, "flows");
	for (size_t i = 0; i < rows->rows.n && i < FLOW_MAX; i++)
		write_row(&w, &rows->rows.items[i]);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

static int
read_name(const struct json_doc *doc, const struct json *at, const char *key,
	  char ret_name[TELE_MAX_NAME + 1], struct err *err)
{
	const char *name;

	if (json_get_str(doc, at, key, &name, err) < 0)
		return -EINVAL;
	if (!tele_name_is_valid(name))
		return json_fail(doc, json_find(at, key), err, "that is not a name");
	strcpy(ret_name, name);
	return 0;
}

static int
read_end(const struct json_doc *doc, const struct json *at, const char *key,
	 uint8_t ret_address[16], uint16_t *ret_port, struct err *err)
{
	const char *text;

	if (json_get_str(doc, at, key, &text, err) < 0)
		return -EINVAL;
	if (port_text_end(text, ret_address, ret_port) < 0)
		return json_fail(doc, json_find(at, key), err,
				 "expected an address with a port");
	return 0;
}

static int
read_row(const struct json_doc *doc, const struct json *at, struct flow_row *ret_row,
	 struct err *err)
{
	struct port_flow *flow = &ret_row->flow;
	int64_t port, bytes;

	if (json_as_object(doc, at, err) < 0 ||
	    read_name(doc, at, "job", ret_row->job, err) < 0 ||
	    read_end(doc, at, "source", flow->source, &flow->source_port, err) < 0 ||
	    read_end(doc, at, "destination", flow->destination, &flow->destination_port,
		     err) < 0 ||
	    json_get_int(doc, at, "port", 1, UINT16_MAX, &port, err) < 0 ||
	    json_get_int(doc, at, "bytes", 0, MAX_BYTES, &bytes, err) < 0 ||
	    json_opt_bool(doc, at, "opened", &ret_row->is_opened, err) < 0)
		return -EINVAL;
	ret_row->port = htons((uint16_t)port);
	ret_row->bytes = (uint64_t)bytes;
	return 0;
}

static int
read_range(const struct json_doc *doc, struct port_range *ret_range, struct err *err)
{
	const struct json *at = json_find(json_root(doc), "range");
	const char *text;

	*ret_range = (struct port_range){ .first = 0 };
	if (!at)
		return 0;
	if (json_as_str(doc, at, &text, err) < 0)
		return -EINVAL;
	if (port_range_parse(text, ret_range, NULL) < 0)
		return json_fail(doc, at, err, "expected ports such as 61000-61999");
	return 0;
}

static int
read_rows(const struct json_doc *doc, struct flow_rows *rows, struct err *err)
{
	const struct json *root = json_root(doc), *array;
	size_t n;

	if (json_check_schema(doc, "antiphase.flows", 1, err) < 0 ||
	    read_name(doc, root, "host", rows->host, err) < 0 ||
	    read_range(doc, &rows->range, err) < 0 ||
	    json_get_array(doc, root, "flows", &array, &n, err) < 0)
		return -EINVAL;
	if (n > FLOW_MAX)
		return json_fail(doc, array, err, "more than %d flows", FLOW_MAX);
	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		struct flow_row row = { .bytes = 0 };

		if (read_row(doc, at, &row, err) < 0)
			return -EINVAL;
		vec_push(&rows->rows, row);
	}
	return 0;
}

int
flow_text_parse(const char *text, size_t n, struct flow_rows *rows, struct err *err)
{
	struct json_doc *doc;
	int rc = json_parse("flows", text, n, &doc, err);

	rows->rows.n = 0;
	if (rc < 0)
		return rc;
	rc = read_rows(doc, rows, err);
	if (rc < 0)
		rows->rows.n = 0;
	json_doc_free(doc);
	return rc;
}

void
flow_rows_fini(struct flow_rows *rows)
{
	vec_free(&rows->rows);
}
