/* SPDX-License-Identifier: Apache-2.0 */
/* http_route.c - one request: its page, route or stream, permission, body and reply. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/daemon/http_priv.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/peer_users.h"

/* Bytes of a refused body that are read, so that the client gets the reply. */
#define MAX_DISCARDED (1u << 20)

/* From the first line of a request to the end of its reply. */
struct request {
	const struct http_known_route *route; /* NULL: a page, a stream, or refused. */
	const char *rest;                     /* Points into the URL. */
	struct strbuf body;
	size_t n_discarded;
	size_t n_counted;        /* Its part of http->body_bytes. */
	size_t n_reply;          /* Its part of http->reply_bytes. */
	struct http_reply early; /* Status not 0: refused before the body. */
};

/* ---- Errors ---------------------------------------------------------------------- */

void
http_reply_error(struct http_reply *reply, unsigned status, const char *code,
		 const char *hint, const char *format, ...)
{
	char message[512], *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;
	va_list args;

	BUG_ON(!out);
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_object(&w, "error");
	jsonw_str(&w, "code", code);
	jsonw_str(&w, "message", message);
	jsonw_str(&w, "hint", hint);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	strbuf_clear(&reply->body);
	strbuf_add(&reply->body, text, length);
	free(text);
	reply->status = status;
	reply->content_type = NULL;
	reply->is_gzip = false;
	reply->policy = NULL;
	reply->etag[0] = '\0';
}

/* ---- Permission ------------------------------------------------------------------ */

/* Takes the same time wherever the texts differ; the token's length is not secret. */
static bool
is_equal_secret(const char *a, const char *b)
{
	size_t n = strlen(a), n_b = strlen(b);
	volatile unsigned char different = n != n_b;

	for (size_t i = 0; i < n && n_b; i++)
		different |= (unsigned char)(a[i] ^ b[i % n_b]);
	return !different;
}

static bool
has_token(const struct http *http, struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       "Authorization");

	return said && strncmp(said, scheme, sizeof scheme - 1) == 0 &&
	       is_equal_secret(said + sizeof scheme - 1, http->token);
}

static void
check_token(struct http *http, struct MHD_Connection *connection,
	    struct http_reply *early)
{
	if (!http->token)
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "no_token",
				 "set token_file in [scheduler]; the token is sent as "
				 "'Authorization: Bearer TOKEN'",
				 "changes are disabled: no token is set");
	else if (!has_token(http, connection))
		http_reply_error(early, MHD_HTTP_UNAUTHORIZED, "wrong_token",
				 "send 'Authorization: Bearer TOKEN', with the token "
				 "of token_file",
				 "a request that changes something needs the token");
}

/*
 * Refuses requests of web pages: a page in a browser on this host could POST to
 * loopback unnoticed.  Browsers send the page's origin, other clients do not.
 */
static void
refuse_browser(struct MHD_Connection *connection, struct http_reply *early)
{
	if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					MHD_HTTP_HEADER_ORIGIN))
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "cross_site",
				 "ask with a program such as curl",
				 "web pages may not send POST requests");
}

/* Whether "HOST", "HOST:PORT" or "[ADDRESS]:PORT" is this host by a name that it has. */
static bool
is_this_host(const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	char name[64];
	struct in_addr v4;

	if (n >= sizeof name || n > strlen(host))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
	       (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/*
 * Refuses requests for another host: a web page's name can be made to lead to loopback,
 * and the browser then gives the answers to the page.  It still says the page's name.
 */
static void
refuse_host(const struct http *http, struct MHD_Connection *connection,
	    struct http_reply *early)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_HOST);

	if (!http->path && host && !is_this_host(host))
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "wrong_host",
				 "ask 127.0.0.1 or localhost; a proxy in front has to "
				 "send 'Host: localhost'",
				 "this is not '%.80s'", host);
}

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

/* The page for clients without a media type in Accept. */
static const struct http_page *
find_page(const struct http *http, const char *path)
{
	for (size_t i = 0; i < http->n_pages; i++)
		if (strcmp(http->pages[i].path, path) == 0 && !http->pages[i].accepted)
			return &http->pages[i];
	return NULL;
}

/* The page for this client's Accept. */
static const struct http_page *
page_for(const struct http *http, struct MHD_Connection *connection, const char *path)
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

/* The methods of 'path', as in the header Allow; empty: unknown path. */
static void
list_methods(const struct http *http, const char *path, struct strbuf *out)
{
	const char *rest;

	if (find_page(http, path) || http_find_stream(http, path))
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

/* Replies in plain text if the server has no routes. */
static void
refuse_path(struct http *http, const char *method, const char *path,
	    struct http_reply *early)
{
	struct strbuf methods = STRBUF_EMPTY;
	struct err near = { .text = "" };

	list_methods(http, path, &methods);
	if (http->routes.n && methods.length) {
		http_reply_error(early, MHD_HTTP_METHOD_NOT_ALLOWED,
				 "method_not_allowed", "", "%s takes %s, not %.16s",
				 path, methods.text, method);
	} else if (http->routes.n) {
		suggest_path(http, path, &near);
		http_reply_error(early, MHD_HTTP_NOT_FOUND, "not_found",
				 "docs/api.md lists all paths",
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

static const struct http_known_route *
find_route(const struct http *http, const char *method, const char *path,
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

static size_t
announced_bytes(struct MHD_Connection *connection)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text ? (size_t)strtoull(text, NULL, 10) : 0;
}

static void
refuse_length(struct http_reply *early, size_t max)
{
	if (max)
		http_reply_error(early, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "",
				 "the body is longer than %zu bytes", max);
	else
		http_reply_error(early, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "",
				 "this request takes no body");
}

/* Checks a request before its body. */
static void
look(struct http *http, struct MHD_Connection *connection, const char *path,
     const char *method, struct request *request)
{
	bool is_get = is_method("GET", method);
	struct http_reply *early = &request->early;
	size_t n = announced_bytes(connection);

	refuse_host(http, connection, early);
	if (early->status)
		return;
	request->route = find_route(http, method, path, &request->rest);
	if (!request->route) {
		if (!is_get ||
		    (!find_page(http, path) && !http_find_stream(http, path)))
			refuse_path(http, method, path, early);
		else if (n)
			refuse_length(early, 0);
		return;
	}
	if (request->route->route.needs_token)
		check_token(http, connection, early);
	else if (!is_get)
		refuse_browser(connection, early);
	if (!early->status && n > request->route->route.max_body)
		refuse_length(early, request->route->route.max_body);
	if (!early->status && n && http->body_bytes + n > HTTP_MAX_BODIES)
		http_reply_error(early, MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
				 "ask again in a moment",
				 "too many bodies are being received");
}

/* ---- The reply ------------------------------------------------------------------- */

static void
add_headers(const struct http *http, struct MHD_Connection *connection,
	    const char *path, const struct http_reply *reply, unsigned status,
	    struct MHD_Response *response)
{
	struct strbuf methods = STRBUF_EMPTY;

	(void)connection;
	MHD_add_response_header(response, "Content-Type",
				reply->content_type ? reply->content_type
						    : "application/json");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Cache-Control",
				*reply->etag ? "no-cache" : "no-store");
	if (*reply->etag)
		MHD_add_response_header(response, "ETag", reply->etag);
	if (reply->is_gzip)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (reply->policy) {
		MHD_add_response_header(response, "Content-Security-Policy",
					reply->policy);
		MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
		MHD_add_response_header(response, "Vary", "Accept-Encoding");
	}
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status != MHD_HTTP_METHOD_NOT_ALLOWED)
		return;
	list_methods(http, path, &methods);
	MHD_add_response_header(response, "Allow",
				methods.length ? methods.text : "GET, HEAD");
	strbuf_free(&methods);
}

/* Takes the reply's body. */
static enum MHD_Result
send_reply(struct http *http, struct MHD_Connection *connection, const char *path,
	   struct request *request, struct http_reply *reply)
{
	const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							"If-None-Match");
	unsigned status = reply->status ? reply->status : MHD_HTTP_OK;
	struct MHD_Response *response;
	enum MHD_Result result;
	size_t length;

	if (status == MHD_HTTP_OK && *reply->etag && known &&
	    strstr(known, reply->etag)) {
		status = MHD_HTTP_NOT_MODIFIED;
		strbuf_free(&reply->body);
		reply->body = (struct strbuf)STRBUF_EMPTY;
	} else if (http->reply_bytes + reply->body.length > HTTP_MAX_REPLIES) {
		http_reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
				 "read the pending responses first",
				 "too many responses are pending");
		status = MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	if (status >= 400)
		http_refused(http, "%s: answered with %u", path, status);
	length = reply->body.length;
	response = MHD_create_response_from_buffer(length, strbuf_steal(&reply->body),
						   MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	add_headers(http, connection, path, reply, status, response);
	http_set_doing(connection, HTTP_ANSWERED);
	request->n_reply = length;
	http->reply_bytes += length;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* ---- Pages in pieces ------------------------------------------------------------- */

#define PIECE_BLOCK 65536

/* A page that is being sent; its response owns it. */
struct pieces {
	struct http *http;            /* Borrowed. */
	const struct http_page *page; /* Borrowed. */
	struct http_place place;
	bool is_over;
	struct strbuf waiting;
	size_t sent; /* Bytes of 'waiting'. */
};

static ssize_t
read_pieces(void *cls, uint64_t at, char *bytes, size_t max)
{
	struct pieces *pieces = cls;
	size_t n = pieces->waiting.length - pieces->sent;

	(void)at;
	if (n == 0) {
		loop_part(pieces->http->loop, pieces->page->path);
		strbuf_clear(&pieces->waiting);
		pieces->sent = 0;
		while (!pieces->is_over && !pieces->waiting.length)
			pieces->is_over = !pieces->page->write_piece(
				pieces->page->ctx, &pieces->place, &pieces->waiting);
		n = pieces->waiting.length;
		loop_part(pieces->http->loop, "http");
	}
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n > max)
		n = max;
	memcpy(bytes, pieces->waiting.text + pieces->sent, n);
	pieces->sent += n;
	return (ssize_t)n;
}

static void
free_pieces(void *cls)
{
	struct pieces *pieces = cls;

	strbuf_free(&pieces->waiting);
	free(pieces);
}

static enum MHD_Result
send_pieces(struct http *http, struct MHD_Connection *connection, const char *path,
	    const struct http_page *page)
{
	const struct http_reply reply = { .content_type = page->content_type };
	struct pieces *pieces = xcalloc(1, sizeof *pieces);
	struct MHD_Response *response;
	enum MHD_Result result;

	pieces->http = http;
	pieces->page = page;
	pieces->waiting = (struct strbuf)STRBUF_EMPTY;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BLOCK,
						     read_pieces, pieces, free_pieces);
	if (!response) {
		free_pieces(pieces);
		return MHD_NO;
	}
	add_headers(http, connection, path, &reply, MHD_HTTP_OK, response);
	http_set_doing(connection, HTTP_ANSWERED);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

/* ---- The choice of the reply ----------------------------------------------------- */

uid_t
http_peer_user(const struct http_request *request)
{
	const struct http_connection *c =
		request->connection
			? http_connection_of(
				  (struct MHD_Connection *)request->connection)
			: NULL;

	return c ? peer_user_of(c->fd) : PEER_USER_UNKNOWN;
}

static enum MHD_Result
answer(struct http *http, struct MHD_Connection *connection, const char *path,
       const char *method, struct request *request)
{
	struct http_reply reply = { .body = STRBUF_EMPTY };
	const struct http_page *page = page_for(http, connection, path);
	struct http_stream *stream = http_find_stream(http, path);

	if (request->early.status)
		return send_reply(http, connection, path, request, &request->early);
	if (request->route) {
		const struct http_request asked = {
			.method = method,
			.path = path,
			.rest = request->rest,
			.body = request->body.text,
			.n_body = request->body.length,
			.connection = connection,
		};

		loop_part(http->loop, request->route->route.path);
		request->route->route.answer(request->route->ctx, &asked, &reply);
		loop_part(http->loop, "http");
	} else if (page && page->write_piece) {
		return send_pieces(http, connection, path, page);
	} else if (page) {
		reply.content_type = page->content_type;
		page->write(page->ctx, &reply.body);
	} else if (http->counts.listeners >= HTTP_MAX_STREAMS) {
		http_reply_error(&reply, MHD_HTTP_SERVICE_UNAVAILABLE,
				 "too_many_listeners", "ask again later",
				 "%d listen already", HTTP_MAX_STREAMS);
	} else if (strcmp(method, "HEAD") == 0) {
		reply.content_type = "text/event-stream";
	} else {
		return http_listen(stream, connection);
	}
	return send_reply(http, connection, path, request, &reply);
}

/* ---- libmicrohttpd's callbacks --------------------------------------------------- */

static enum MHD_Result
take_body(struct http *http, struct request *request, const char *bytes, size_t n)
{
	size_t max = request->route ? request->route->route.max_body : 0;

	if (!request->early.status && request->body.length + n > max)
		refuse_length(&request->early, max);
	if (!request->early.status && http->body_bytes + n > HTTP_MAX_BODIES)
		http_reply_error(&request->early, MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
				 "ask again in a moment",
				 "too many bodies are being received");
	if (!request->early.status) {
		strbuf_add(&request->body, bytes, n);
		request->n_counted += n;
		http->body_bytes += n;
		return MHD_YES;
	}
	request->n_discarded += n;
	if (request->n_discarded <= MAX_DISCARDED)
		return MHD_YES;
	http_refused(http, "connection closed: endless request body");
	return MHD_NO;
}

enum MHD_Result
http_on_request(void *cls, struct MHD_Connection *connection, const char *url,
		const char *method, const char *version, const char *upload,
		size_t *upload_bytes, void **state)
{
	struct http *http = cls;
	struct request *request = *state;

	(void)version;
	if (!request) {
		request = xcalloc(1, sizeof *request);
		request->body = (struct strbuf)STRBUF_EMPTY;
		request->early.body = (struct strbuf)STRBUF_EMPTY;
		*state = request;
		http->counts.requests++;
		look(http, connection, url, method, request);
		/* Does not wait for a long body that is refused. */
		if (request->early.status &&
		    announced_bytes(connection) > MAX_DISCARDED)
			return answer(http, connection, url, method, request);
		return MHD_YES;
	}
	if (*upload_bytes) {
		size_t n = *upload_bytes;

		*upload_bytes = 0;
		return take_body(http, request, upload, n);
	}
	return answer(http, connection, url, method, request);
}

void
http_on_completed(void *cls, struct MHD_Connection *connection, void **state,
		  enum MHD_RequestTerminationCode how)
{
	struct http *http = cls;
	struct request *request = *state;

	(void)how;
	http_set_doing(connection, HTTP_ASKING);
	if (!request)
		return;
	http->body_bytes -= request->n_counted;
	http->reply_bytes -= request->n_reply;
	strbuf_free(&request->body);
	strbuf_free(&request->early.body);
	free(request);
	*state = NULL;
}

/* ---- For the daemon -------------------------------------------------------------- */

const char *
http_query(const struct http_request *request, const char *name)
{
	const char *value = NULL;
	size_t n;

	if (MHD_lookup_connection_value_n((struct MHD_Connection *)request->connection,
					  MHD_GET_ARGUMENT_KIND, name, strlen(name),
					  &value, &n) != MHD_YES)
		return NULL;
	return value ? value : "";
}

const char *
http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value((struct MHD_Connection *)request->connection,
					   MHD_HEADER_KIND, name);
}

void
http_add_routes(struct http *http, const struct http_route *routes, size_t n, void *ctx)
{
	for (size_t i = 0; i < n; i++) {
		BUG_ON(routes[i].max_body > HTTP_MAX_BODY);
		vec_push(&http->routes, ((struct http_known_route){ routes[i], ctx }));
	}
}

void
http_set_token(struct http *http, const char *token)
{
	free(http->token);
	http->token = token ? xstrdup(token) : NULL;
}
