/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply.c - sends a reply, or a page in pieces. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/daemon/http_priv.h"
#include "lib/daemon/loop.h"

static void
add_headers(const struct http *http, const char *path, const struct http_reply *reply,
	    unsigned status, struct MHD_Response *response)
{
	struct strbuf methods = STRBUF_EMPTY;

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
	http_list_methods(http, path, &methods);
	MHD_add_response_header(response, "Allow",
				methods.length ? methods.text : "GET, HEAD");
	strbuf_free(&methods);
}

enum MHD_Result
http_send(struct http *http, struct MHD_Connection *connection, const char *path,
	  struct http_exchange *exchange, struct http_reply *reply)
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
	add_headers(http, path, reply, status, response);
	http_set_doing(connection, HTTP_ANSWERED);
	exchange->n_reply = length;
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

enum MHD_Result
http_send_pieces(struct http *http, struct MHD_Connection *connection, const char *path,
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
	add_headers(http, path, &reply, MHD_HTTP_OK, response);
	http_set_doing(connection, HTTP_ANSWERED);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}
