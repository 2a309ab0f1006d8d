/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/web_tables.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/rate_text.h"
#include "lib/base/strbuf.h"
#include "lib/base/svg.h"

/* ---- Cells ----------------------------------------------------------------------- */

static double
number(const struct json *row, const char *key)
{
	const struct json *value = json_find(row, key);

	return value ? json_number(value) : NAN;
}

static const char *
string(const struct json *row, const char *key)
{
	const struct json *value = json_find(row, key);

	return value ? json_string(value) : NULL;
}

static size_t
count(const struct json *row, const char *key)
{
	const struct json *array = json_find(row, key);
	size_t n = 0;

	if (!array || json_kind(array) != JSON_ARRAY)
		return 0;
	for (const struct json *value = json_first(array); value;
	     value = json_next(value))
		n++;
	return n;
}

static void
add_text(const char *text, struct strbuf *out)
{
	strbuf_puts(out, "<td>");
	svg_escape(out, text ? text : "-");
	strbuf_puts(out, "</td>");
}

static void
add_rate(double bps, struct strbuf *out)
{
	strbuf_puts(out, "<td>");
	rate_add(out, bps);
	strbuf_puts(out, "</td>");
}

/* The value times 'factor', with the unit; "-" if it is unknown. */
static void
add_number(double value, double factor, int digits, const char *unit,
	   struct strbuf *out)
{
	if (isfinite(value))
		strbuf_printf(out, "<td>%.*f%s</td>", digits, value * factor, unit);
	else
		strbuf_puts(out, "<td>-</td>");
}

/* ---- Tables ---------------------------------------------------------------------- */

static void
add_link(const struct json *link, struct strbuf *out)
{
	const struct json *pairs = json_find(link, "pairs");
	const struct json *pair =
		pairs && json_kind(pairs) == JSON_ARRAY ? json_first(pairs) : NULL;
	const struct json *names = pair ? json_find(pair, "jobs") : NULL;
	const struct json *first =
		names && json_kind(names) == JSON_ARRAY ? json_first(names) : NULL;
	const struct json *second = first ? json_next(first) : NULL;

	add_text(string(link, "link"), out);
	add_rate(number(link, "capacity_bps"), out);
	add_rate(number(link, "now_bps"), out);
	add_rate(number(link, "peak_bps"), out);
	add_number(number(link, "over_ratio"), 100, 0, " %", out);
	strbuf_printf(out, "<td>%zu</td><td>", count(link, "jobs"));
	if (second && json_string(first) && json_string(second)) {
		svg_escape(out, json_string(first));
		strbuf_puts(out, " x ");
		svg_escape(out, json_string(second));
	} else {
		strbuf_puts(out, "-");
	}
	strbuf_puts(out, "</td>");
}

static void
add_job(const struct json *job, struct strbuf *out)
{
	add_text(string(job, "job"), out);
	strbuf_printf(out, "<td>%zu</td>", count(job, "hosts"));
	add_number(number(job, "period_us"), 1e-3, 1, " ms", out);
	add_number(number(job, "jitter_us"), 1e-3, 1, " ms", out);
	add_number(number(job, "duty_ratio"), 100, 0, " %", out);
	add_number(number(job, "bytes_per_iteration"), 1e-6, 2, " MB", out);
	add_number(number(job, "confidence"), 1, 2, "", out);
}

static void
add_table(const struct json *rows, const char *caption, const char *headings,
	  void (*add_row)(const struct json *row, struct strbuf *out),
	  size_t n_left_out, struct strbuf *out)
{
	size_t n = 0;

	strbuf_printf(out,
		      "<table>\n<caption>%s</caption>\n<thead><tr>%s</tr></thead>\n"
		      "<tbody>\n",
		      caption, headings);
	for (const struct json *row = json_first(rows); row; row = json_next(row)) {
		if (n++ >= WEB_TABLES_MAX_ROWS)
			continue;
		strbuf_puts(out, "<tr>");
		add_row(row, out);
		strbuf_puts(out, "</tr>\n");
	}
	strbuf_puts(out, "</tbody>\n</table>\n");
	if (!n)
		strbuf_puts(out, "<p>None.</p>\n");
	if (n > WEB_TABLES_MAX_ROWS)
		n_left_out += n - WEB_TABLES_MAX_ROWS;
	if (n_left_out)
		strbuf_printf(out, "<p>%zu more rows.</p>\n", n_left_out);
}

void
web_tables_add(const struct json *doc, struct strbuf *out)
{
	static const char links_headings[] =
		"<th>Link</th><th>Capacity</th><th>Now</th><th>Peak</th><th>Over</th>"
		"<th>Jobs</th><th>Worst pair</th>";
	static const char jobs_headings[] =
		"<th>Job</th><th>Hosts</th><th>Period</th><th>Jitter</th>"
		"<th>Duty</th><th>Bytes per iteration</th><th>Confidence</th>";
	const struct json *links = json_find(doc, "links"),
			  *jobs = json_find(doc, "jobs");
	double age_us = number(doc, "data_age_us"), left_out = number(doc, "left_out");
	size_t n_left_out = left_out > 0 && left_out < 1e9 ? (size_t)left_out : 0;

	if (isfinite(age_us))
		strbuf_printf(out, "<p>Data %.1f s old, %zu hosts.</p>\n", age_us / 1e6,
			      count(doc, "hosts"));
	if (links && json_kind(links) == JSON_ARRAY)
		add_table(links, "Links", links_headings, add_link, n_left_out, out);
	if (jobs && json_kind(jobs) == JSON_ARRAY)
		add_table(jobs, "Jobs", jobs_headings, add_job, n_left_out, out);
}

int
web_tables_page(const char *const *documents, size_t n, struct strbuf *out,
		struct err *err)
{
	strbuf_puts(out,
		    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"refresh\" content=\"5\">\n"
		    "<title>antiphase: links and jobs</title>\n"
		    "<link rel=\"stylesheet\" href=\"app.css\">\n<body>\n<main>\n"
		    "<h1>Links and jobs</h1>\n");
	for (size_t i = 0; i < n; i++) {
		struct json_doc *doc;
		int r = json_parse("document", documents[i], strlen(documents[i]), &doc,
				   err);

		if (r < 0)
			return r;
		web_tables_add(json_root(doc), out);
		json_doc_free(doc);
	}
	strbuf_puts(out, "</main>\n</body>\n</html>\n");
	return 0;
}
