/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_page.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/web_files.h"
#include "lib/daemon/web_tables.h"

/* Those that the page can show: KEYS and LISTS in web/src/state.js. */
static const char *const report_schemas[] = {
	"antiphase.advice/2",
	"antiphase.changes/1",
	"antiphase.fragmentation/1",
	"antiphase.health/1",
	"antiphase.job_advices/1",
	"antiphase.jobs/1",
	"antiphase.link_history/2",
	"antiphase.links/1",
	"antiphase.path_inference/2",
	"antiphase.path_probe/1",
	"antiphase.sim_compare/2",
	"antiphase.sim_run/2",
	"antiphase.topology/1",
	"antiphase.topology_path/2",
	"antiphase.top/1",
	NULL,
};

/* Of former versions: web/src/model/former.js. */
static const char *const former_schemas[] = {
	"antiphase.advice/1",
	"antiphase.link_history/1",
	"antiphase.path_inference/1",
	"antiphase.sim-compare/1",
	"antiphase.sim-run/1",
	"antiphase.topology_path/1",
	NULL,
};

/* Also appends the tables of a document that the page can show. */
static int
check(const char *path, const char *text, size_t length, struct strbuf *tables,
      struct err *err)
{
	struct json_doc *doc;
	const char *schema;
	int r = json_parse(path, text, length, &doc, err);

	if (r < 0)
		return r;
	r = json_get_str(doc, json_root(doc), "schema", &schema, err);
	if (r == 0 && words_index(schema, report_schemas) < 0 &&
	    words_index(schema, former_schemas) < 0) {
		r = err_set(err, path, 0, 0, "a report does not show a '%s'", schema);
		err_suggest(err, schema, report_schemas);
	}
	if (r == 0)
		web_tables_add(json_root(doc), tables);
	json_doc_free(doc);
	return r;
}

/*
 * Appends checked JSON without the white space between its tokens.  '<' occurs only in
 * strings, and is written as an escape.
 */
static void
add_json(const char *text, size_t length, struct strbuf *out)
{
	bool is_string = false;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (c == '"')
			is_string = !is_string;
		if (c == '<')
			strbuf_puts(out, "\\u003c");
		else if (is_string || !strchr(" \t\r\n", c) || !c)
			strbuf_putc(out, c);
		if (c == '\\' && i + 1 < length)
			strbuf_putc(out, text[++i]);
	}
}

int
report_add(const char *path, const char *text, size_t length, struct report *report,
	   struct err *err)
{
	int r = check(path, text, length, &report->tables, err);

	if (r < 0)
		return r;
	if (report->documents.length)
		strbuf_puts(&report->documents, ",\n");
	add_json(text, length, &report->documents);
	return 0;
}

void
report_free(struct report *report)
{
	strbuf_free(&report->documents);
	strbuf_free(&report->tables);
}

static void
add_file(const char *name, struct strbuf *out)
{
	web_file_unpack(web_file_find(name), out);
}

/* Appends the frame up to the marker; returns what follows it. */
static const char *
add_frame(const char *frame, const char *marker, struct strbuf *out)
{
	const char *at = strstr(frame, marker);

	BUG_ON(!at);
	strbuf_add(out, frame, (size_t)(at - frame));
	return at + strlen(marker);
}

void
report_page(const struct report *report, struct strbuf *out)
{
	struct strbuf frame = STRBUF_EMPTY;
	const char *rest;

	add_file("report.html", &frame);
	rest = add_frame(frame.text, "@STYLE@", out);
	add_file("app.css", out);
	rest = add_frame(rest, "@TABLES@", out);
	strbuf_add(out, report->tables.text, report->tables.length);
	rest = add_frame(rest, "@DATA@", out);
	strbuf_printf(out,
		      "{\"schema\":\"antiphase.report/1\",\"version\":\"%s\","
		      "\"documents\":[\n",
		      cli_version());
	strbuf_add(out, report->documents.text, report->documents.length);
	strbuf_puts(out, "\n]}");
	rest = add_frame(rest, "@SCRIPT@", out);
	add_file("app.js", out);
	strbuf_puts(out, rest);
	strbuf_free(&frame);
}
