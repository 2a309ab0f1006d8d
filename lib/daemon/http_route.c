/* SPDX-License-Identifier: Apache-2.0 */
/* http_route.c - one request, from its first line to the end of its reply. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/daemon/http_priv.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/peer_users.h"

/* Bytes of a refused body that are read, so that the client gets the reply. */
#define MAX_DISCARDED (1u << 20)

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
       const char *method, struct http_exchange *exchange)
{
	struct http_reply reply = { .body = STRBUF_EMPTY };
	const struct http_page *page = http_page_for(http, connection, path);
	struct http_stream *stream = http_find_stream(http, path);

	if (exchange->early.status)
		return http_send(http, connection, path, exchange, &exchange->early);
	if (exchange->route) {
		const struct http_request asked = {
			.method = method,
			.path = path,
			.rest = exchange->rest,
			.body = exchange->body.text,
			.n_body = exchange->body.length,
			.connection = connection,
		};

		loop_part(http->loop, exchange->route->route.path);
		exchange->route->route.answer(exchange->route->ctx, &asked, &reply);
		loop_part(http->loop, "http");
	} else if (page && page->write_piece) {
		return http_send_pieces(http, connection, path, page);
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
	return http_send(http, connection, path, exchange, &reply);
}

/* ---- libmicrohttpd's callbacks --------------------------------------------------- */

static enum MHD_Result
take_body(struct http *http, struct http_exchange *exchange, const char *bytes,
	  size_t n)
{
	size_t max = exchange->route ? exchange->route->route.max_body : 0;

	if (!exchange->early.status && exchange->body.length + n > max)
		http_refuse_length(&exchange->early, max);
	if (!exchange->early.status)
		http_refuse_bodies(http, n, &exchange->early);
	if (!exchange->early.status) {
		strbuf_add(&exchange->body, bytes, n);
		exchange->n_counted += n;
		http->body_bytes += n;
		return MHD_YES;
	}
	exchange->n_discarded += n;
	if (exchange->n_discarded <= MAX_DISCARDED)
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
	struct http_exchange *exchange = *state;

	(void)version;
	if (!exchange) {
		exchange = xcalloc(1, sizeof *exchange);
		exchange->body = (struct strbuf)STRBUF_EMPTY;
		exchange->early.body = (struct strbuf)STRBUF_EMPTY;
		*state = exchange;
		http->counts.requests++;
		http_check(http, connection, url, method, exchange);
		/* Does not wait for a long body that is refused. */
		if (exchange->early.status &&
		    http_announced_bytes(connection) > MAX_DISCARDED)
			return answer(http, connection, url, method, exchange);
		return MHD_YES;
	}
	if (*upload_bytes) {
		size_t n = *upload_bytes;

		*upload_bytes = 0;
		return take_body(http, exchange, upload, n);
	}
	return answer(http, connection, url, method, exchange);
}

void
http_on_completed(void *cls, struct MHD_Connection *connection, void **state,
		  enum MHD_RequestTerminationCode how)
{
	struct http *http = cls;
	struct http_exchange *exchange = *state;

	(void)how;
	http_set_doing(connection, HTTP_ASKING);
	if (!exchange)
		return;
	http->body_bytes -= exchange->n_counted;
	http->reply_bytes -= exchange->n_reply;
	strbuf_free(&exchange->body);
	strbuf_free(&exchange->early.body);
	free(exchange);
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
