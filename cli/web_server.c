/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/web_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web_source.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json_text.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"
#include "lib/daemon/web_files.h"
#include "lib/daemon/web_tables.h"
#include "topology/write.h"

/* What is shown stands before this in the page. */
#define APP "<div id=\"app\">"

struct web_server {
	struct http *http;         /* Owned. */
	struct web_source *source; /* Borrowed. */
};

/* ---- The page ---------------------------------------------------------------------- */

/* Appends antiphase.viewer/1; no text in it can end the script that holds it. */
static void
add_viewer(const struct web_source *source, struct strbuf *out)
{
	struct strbuf line = STRBUF_EMPTY;
	struct json_text text;
	struct jsonw *w = &text.w;

	json_text_begin_line(&text, "antiphase.viewer/1");
	jsonw_str(w, "source", web_source_name(source));
	jsonw_bool(w, "has_fabric", web_source_topo(source) != NULL);
	jsonw_bool(w, "is_recording", web_source_is_recording(source));
	if (web_source_is_recording(source)) {
		jsonw_int(w, "begin_us", web_source_begin_us(source));
		jsonw_int(w, "end_us", web_source_end_us(source));
	} else {
		jsonw_null(w, "begin_us");
		jsonw_null(w, "end_us");
	}
	json_text_end(&text, &line);
	strbuf_puts(out, "<script id=\"viewer\" type=\"application/json\">");
	for (size_t i = 0; i < line.length; i++)
		if (line.text[i] == '<')
			strbuf_puts(out, "\\u003c");
		else
			strbuf_putc(out, line.text[i]);
	strbuf_puts(out, "</script>\n");
	strbuf_free(&line);
}

static void
answer_page(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;
	const struct web_file *file = web_file_find("index.html");
	struct strbuf page = STRBUF_EMPTY;
	const char *app;

	(void)request;
	web_file_unpack(file, &page);
	app = strstr(page.text, APP);
	BUG_ON(!app);
	strbuf_add(&reply->body, page.text, (size_t)(app - page.text));
	add_viewer(server->source, &reply->body);
	strbuf_puts(&reply->body, app);
	reply->content_type = file->content_type;
	reply->policy = WEB_FILE_POLICY;
	strbuf_free(&page);
}

static void
answer_file(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	web_file_answer(request, reply);
}

/* ---- Documents --------------------------------------------------------------------- */

/* Reads 'at_us', within the recording; false with an error in 'reply'. */
static bool
read_time(const struct web_source *source, const struct http_request *request,
	  struct http_reply *reply, int64_t *ret_at_us)
{
	int64_t begin_us = web_source_begin_us(source),
		end_us = web_source_end_us(source);
	const char *text = http_query(request, "at_us");
	char *end;
	long long at_us;

	*ret_at_us = end_us;
	if (!web_source_is_recording(source) || !text || !*text)
		return true;
	errno = 0;
	at_us = strtoll(text, &end, 10);
	if (errno || *end || at_us < begin_us || at_us > end_us) {
		http_reply_error(reply, 400, "bad_query", "?at_us=T",
				 "at_us is a time of the recording, from %lld to %lld",
				 (long long)begin_us, (long long)end_us);
		return false;
	}
	*ret_at_us = at_us;
	return true;
}

static void
fail(int error, const struct err *err, struct http_reply *reply)
{
	if (error == -ENOENT)
		http_reply_error(reply, 404, "unknown_link",
				 "GET /api/v1/top lists those that are known", "%s",
				 err->text);
	else
		http_reply_error(reply, 500, "source", "", "%s", err->text);
}

static void
answer_top(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;
	int64_t at_us;
	struct err err;
	int r;

	if (!read_time(server->source, request, reply, &at_us))
		return;
	r = web_source_top(server->source, at_us, &reply->body, &err);
	if (r < 0)
		fail(r, &err, reply);
}

/* NAME/circle or NAME/series. */
static void
answer_link(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;
	const char *what = strrchr(request->rest, '/');
	bool is_series = what && strcmp(what, "/series") == 0;
	int64_t at_us;
	struct err err;
	char *link;
	int r;

	if (!what || what == request->rest ||
	    (!is_series && strcmp(what, "/circle") != 0)) {
		http_reply_error(
			reply, 404, "not_found",
			"GET /api/v1/links/NAME/circle, or .../series",
			"of a single link, the circle and the series are served");
		return;
	}
	if (!read_time(server->source, request, reply, &at_us))
		return;
	link = xstrndup(request->rest, (size_t)(what - request->rest));
	r = (is_series ? web_source_series : web_source_circle)(
		server->source, at_us, link, &reply->body, &err);
	if (r < 0)
		fail(r, &err, reply);
	free(link);
}

static void
answer_history(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;

	(void)request;
	if (web_source_is_recording(server->source))
		web_source_history(server->source, &reply->body);
	else
		http_reply_error(reply, 404, "no_history", "",
				 "only a recording has a history here");
}

static void
answer_topology(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;
	const struct topo *topo = web_source_topo(server->source);
	char *text;
	size_t length;
	FILE *out;

	(void)request;
	if (!topo) {
		http_reply_error(reply, 404, "no_fabric", "give --fabric FILE",
				 "no fabric is known");
		return;
	}
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	topo_json_write(topo, out);
	fclose(out);
	strbuf_add(&reply->body, text, length);
	free(text);
}

static void
answer_tables(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct web_server *server = ctx;
	struct strbuf top = STRBUF_EMPTY;
	int64_t at_us;
	struct err err;
	int r;

	if (!read_time(server->source, request, reply, &at_us))
		return;
	r = web_source_top(server->source, at_us, &top, &err);
	if (r == 0)
		r = web_tables_page((const char *const[]){ top.text }, 1, &reply->body,
				    &err);
	if (r < 0) {
		fail(r, &err, reply);
	} else {
		reply->content_type = "text/html; charset=utf-8";
		reply->policy = WEB_FILE_POLICY;
	}
	strbuf_free(&top);
}

/* ---- Opening ----------------------------------------------------------------------- */

/* clang-format off */
static const struct http_route routes[] = {
	{ "GET", "/", false, 0, answer_page, HTTP_ANY_PARAMETERS },
	{ "GET", "/app.js", false, 0, answer_file, HTTP_ANY_PARAMETERS },
	{ "GET", "/app.css", false, 0, answer_file, HTTP_ANY_PARAMETERS },
	{ "GET", "/icon.svg", false, 0, answer_file, HTTP_ANY_PARAMETERS },
	{ "GET", "/LICENSES.txt", false, 0, answer_file, HTTP_ANY_PARAMETERS },
	{ "GET", "/tables", false, 0, answer_tables, "at_us" },
	{ "GET", "/api/v1/topology", false, 0, answer_topology, NULL },
	{ "GET", "/api/v1/top", false, 0, answer_top, "at_us" },
	{ "GET", "/api/v1/links/*", false, 0, answer_link, "at_us" },
	{ "GET", "/api/v1/history", false, 0, answer_history, NULL },
};

/* clang-format on */

int
web_server_open(struct loop *loop, const char *address, struct web_source *source,
		struct web_server **ret_server, struct err *err)
{
	struct web_server *server = xcalloc(1, sizeof *server);
	int r = http_open(loop, address, NULL, 0, &server->http, err);

	if (r < 0) {
		free(server);
		return r;
	}
	server->source = source;
	http_add_routes(server->http, routes, sizeof routes / sizeof *routes, server);
	*ret_server = server;
	return 0;
}

void
web_server_close(struct web_server *server)
{
	if (!server)
		return;
	http_close(server->http);
	free(server);
}

unsigned
web_server_port(const struct web_server *server)
{
	return http_port(server->http);
}
