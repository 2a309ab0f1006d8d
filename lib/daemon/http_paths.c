/* SPDX-License-Identifier: Apache-2.0 */
/* http_paths.c - what a server has: its pages, routes and their parameters. */
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json_text.h"
#include "lib/base/words.h"
#include "lib/daemon/http_priv.h"

/* Where servers of an API have their index. */
#define INDEX "/api/v1"

/* ---- Matching -------------------------------------------------------------------- */

/* Whether the route matches 'path'; then '*ret_rest' is what its '*' matched. */
static bool
is_for_path(const struct http_route *route, const char *path, const char **ret_rest)
{
	size_t n = strlen(route->path);

	if (n && route->path[n - 1] == '*') {
		*ret_rest = path + n - 1;
		return strncmp(route->path, path, n - 1) == 0 && path[n - 1];
	}
	*ret_rest = "";
	return strcmp(route->path, path) == 0;
}

static bool
is_method(const char *of_route, const char *method)
{
	return strcmp(of_route, method) == 0 ||
	       (strcmp(of_route, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct http_page *
http_find_page(const struct http *http, const char *path)
{
	for (size_t i = 0; i < http->n_pages; i++)
		if (strcmp(http->pages[i].path, path) == 0 && !http->pages[i].accepted)
			return &http->pages[i];
	return NULL;
}

const struct http_page *
http_page_for(const struct http *http, struct MHD_Connection *connection,
	      const char *path)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");

	for (size_t i = 0; i < http->n_pages; i++) {
		const struct http_page *page = &http->pages[i];

		if (strcmp(page->path, path) == 0 &&
		    (!page->accepted || (accept && strstr(accept, page->accepted))))
			return page;
	}
	return NULL;
}

void
http_list_methods(const struct http *http, const char *path, struct strbuf *out)
{
	const char *rest;

	if (http_find_page(http, path) || http_find_stream(http, path))
		strbuf_puts(out, "GET, HEAD");
	for (size_t i = 0; i < http->routes.n; i++) {
		const struct http_route *route = &http->routes.items[i].route;

		if (is_for_path(route, path, &rest))
			strbuf_printf(
				out, "%s%s%s", out->length ? ", " : "", route->method,
				strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
	}
}

/* " (did you mean '/api/v1/diff'?)", or nothing. */
static void
suggest_path(const struct http *http, const char *path, struct err *err)
{
	VEC(const char *) paths = VEC_EMPTY;

	for (size_t i = 0; i < http->routes.n; i++)
		vec_push(&paths, http->routes.items[i].route.path);
	vec_push(&paths, NULL);
	err_suggest(err, path, paths.items);
	vec_free(&paths);
}

const struct http_known_route *
http_find_route(const struct http *http, const char *method, const char *path,
		const char **ret_rest)
{
	for (size_t i = 0; i < http->routes.n; i++) {
		const struct http_route *route = &http->routes.items[i].route;

		if (is_method(route->method, method) &&
		    is_for_path(route, path, ret_rest))
			return &http->routes.items[i];
	}
	return NULL;
}

void
http_refuse_path(struct http *http, const char *method, const char *path,
		 struct http_reply *early)
{
	struct strbuf methods = STRBUF_EMPTY;
	struct err near = { .text = "" };
	const char *rest;

	http_list_methods(http, path, &methods);
	if (http->routes.n && methods.length) {
		http_reply_error(early, MHD_HTTP_METHOD_NOT_ALLOWED,
				 "method_not_allowed", "", "%s takes %s, not %.16s",
				 path, methods.text, method);
	} else if (http->routes.n) {
		suggest_path(http, path, &near);
		http_reply_error(early, MHD_HTTP_NOT_FOUND, "not_found",
				 http_find_route(http, "GET", INDEX, &rest)
					 ? "GET " INDEX " lists all paths"
					 : "docs/api.md lists all paths",
				 "no such path: %.200s%s", path, near.text);
	} else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		early->status = MHD_HTTP_METHOD_NOT_ALLOWED;
		early->content_type = "text/plain; charset=utf-8";
		strbuf_puts(&early->body, "only GET and HEAD\n");
	} else {
		early->status = MHD_HTTP_NOT_FOUND;
		early->content_type = "text/plain; charset=utf-8";
		strbuf_puts(&early->body, "not found; available pages:\n");
		for (size_t i = 0; i < http->n_pages; i++)
			if (!http->pages[i].accepted)
				strbuf_printf(&early->body, "%s\n",
					      http->pages[i].path);
	}
	strbuf_free(&methods);
}

/* ---- Parameters ------------------------------------------------------------------ */

static bool
takes_any(const struct http_route *route)
{
	return route->parameters && strcmp(route->parameters, HTTP_ANY_PARAMETERS) == 0;
}

struct query_check {
	const char *parameters; /* Of the route; NULL: none. */
	struct http_reply *early;
};

static enum MHD_Result
check_parameter(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct query_check *check = cls;
	struct words known;
	struct err near = { .text = "" };

	(void)kind;
	(void)value;
	words_split(&known, check->parameters, " ");
	vec_push(&known.items, NULL);
	if (*name && words_index(name, known.items.items) < 0) {
		err_suggest(&near, name, known.items.items);
		http_reply_error(check->early, MHD_HTTP_BAD_REQUEST,
				 "unknown_parameter",
				 "docs/api.md lists all parameters",
				 "the query has no '%.64s' here%s", name, near.text);
	}
	words_fini(&known);
	return check->early->status ? MHD_NO : MHD_YES;
}

void
http_refuse_parameters(struct MHD_Connection *connection,
		       const struct http_route *route, struct http_reply *early)
{
	struct query_check check = { route->parameters, early };

	if (!takes_any(route))
		MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND,
					  check_parameter, &check);
}

/* ---- Index ----------------------------------------------------------------------- */

static void
put_path(struct jsonw *w, const char *method, const char *path, const char *parameters,
	 bool needs_token)
{
	struct words words;

	words_split(&words, parameters, " ");
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "method", method);
	jsonw_str(w, "path", path);
	jsonw_array(w, "parameters");
	for (size_t i = 0; i < words.items.n; i++)
		jsonw_str(w, NULL, words.items.items[i]);
	jsonw_end(w);
	jsonw_bool(w, "needs_token", needs_token);
	jsonw_end(w);
	words_fini(&words);
}

void
http_reply_index(const struct http *http, struct http_reply *reply)
{
	struct json_text text;

	json_text_begin(&text, "antiphase.api/1");
	jsonw_array(&text.w, "paths");
	for (size_t i = 0; i < http->routes.n; i++) {
		const struct http_route *route = &http->routes.items[i].route;

		put_path(&text.w, route->method, route->path,
			 takes_any(route) ? NULL : route->parameters,
			 route->needs_token);
	}
	for (size_t i = 0; i < http->streams.n; i++)
		put_path(&text.w, "GET", http->streams.items[i]->path, NULL, false);
	for (size_t i = 0; i < http->n_pages; i++)
		if (!http->pages[i].accepted)
			put_path(&text.w, "GET", http->pages[i].path, NULL, false);
	jsonw_end(&text.w);
	json_text_end(&text, &reply->body);
}
