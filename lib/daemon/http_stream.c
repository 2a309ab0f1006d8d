/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_stream.c - server-sent events: each listener has an endless response, which is
 * suspended while there is nothing to send.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/daemon/http_priv.h"

static void
add_event(struct strbuf *out, const char *event, const char *data)
{
	strbuf_printf(out, "event: %s\ndata: %s\n\n", event, data);
}

/* The next bytes for a listener; suspends it if there are none. */
static ssize_t
read_waiting(void *cls, uint64_t at, char *bytes, size_t max)
{
	struct http_listener *listener = cls;
	size_t n = listener->waiting.length - listener->sent;

	(void)at;
	if (listener->is_over)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n == 0) {
		MHD_suspend_connection(listener->connection);
		listener->is_suspended = true;
		return 0;
	}
	if (n > max)
		n = max;
	memcpy(bytes, listener->waiting.text + listener->sent, n);
	listener->sent += n;
	if (listener->sent == listener->waiting.length) {
		strbuf_clear(&listener->waiting);
		listener->sent = 0;
	}
	return (ssize_t)n;
}

static void
forget(void *cls)
{
	struct http_listener *listener = cls;
	struct http_stream *stream = listener->stream;

	for (size_t i = 0; i < stream->listeners.n; i++) {
		if (stream->listeners.items[i] != listener)
			continue;
		stream->listeners.items[i] =
			stream->listeners.items[--stream->listeners.n];
		break;
	}
	stream->http->counts.listeners--;
	strbuf_free(&listener->waiting);
	free(listener);
}

struct http_stream *
http_find_stream(const struct http *http, const char *path)
{
	for (size_t i = 0; i < http->streams.n; i++)
		if (strcmp(http->streams.items[i]->path, path) == 0)
			return http->streams.items[i];
	return NULL;
}

enum MHD_Result
http_listen(struct http_stream *stream, struct MHD_Connection *connection)
{
	struct http_listener *listener = xcalloc(1, sizeof *listener);
	struct strbuf first = STRBUF_EMPTY;
	struct MHD_Response *response;
	enum MHD_Result result;

	listener->stream = stream;
	listener->connection = connection;
	listener->waiting = (struct strbuf)STRBUF_EMPTY;
	/* Clients reconnect after this many milliseconds. */
	strbuf_puts(&listener->waiting, "retry: 2000\n");
	if (stream->opened)
		stream->opened(stream->ctx, &first);
	add_event(&listener->waiting, "hello", first.length ? first.text : "{}");
	strbuf_free(&first);
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384,
						     read_waiting, listener, forget);
	if (!response) {
		strbuf_free(&listener->waiting);
		free(listener);
		return MHD_NO;
	}
	vec_push(&stream->listeners, listener);
	stream->http->counts.listeners++;
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	http_set_doing(connection, HTTP_LISTENING);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

void
http_add_stream(struct http *http, const char *path,
		void (*opened)(void *ctx, struct strbuf *data), void *ctx)
{
	struct http_stream *stream = xcalloc(1, sizeof *stream);

	stream->http = http;
	stream->path = path;
	stream->opened = opened;
	stream->ctx = ctx;
	vec_push(&http->streams, stream);
}

static void
wake(struct http_listener *listener)
{
	if (!listener->is_suspended)
		return;
	listener->is_suspended = false;
	MHD_resume_connection(listener->connection);
	http_kick(listener->stream->http);
}

/* Ends a listener; closing the socket also stops a response that is not read. */
static void
end(struct http_listener *listener)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		listener->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	listener->is_over = true;
	wake(listener);
	shutdown(info->connect_fd, SHUT_RDWR);
}

void
http_stream_send(struct http *http, const char *path, const char *event,
		 const char *data)
{
	struct http_stream *stream = http_find_stream(http, path);
	struct strbuf text = STRBUF_EMPTY;

	BUG_ON(!stream);
	add_event(&text, event, data);
	for (size_t i = 0; i < stream->listeners.n; i++) {
		struct http_listener *listener = stream->listeners.items[i];

		if (listener->is_over)
			continue;
		if (listener->waiting.length - listener->sent + text.length >
		    HTTP_MAX_WAITING) {
			http_refused(http,
				     "a listener of %s does not read: disconnected",
				     path);
			end(listener);
			continue;
		}
		strbuf_add(&listener->waiting, text.text, text.length);
		wake(listener);
	}
	strbuf_free(&text);
}

unsigned
http_stream_listeners(const struct http *http, const char *path)
{
	const struct http_stream *stream = http_find_stream(http, path);

	return stream ? (unsigned)stream->listeners.n : 0;
}

void
http_streams_end(struct http *http)
{
	for (size_t i = 0; i < http->streams.n; i++) {
		struct http_stream *stream = http->streams.items[i];

		for (size_t k = 0; k < stream->listeners.n; k++)
			end(stream->listeners.items[k]);
	}
}

void
http_streams_free(struct http *http)
{
	for (size_t i = 0; i < http->streams.n; i++) {
		vec_free(&http->streams.items[i]->listeners);
		free(http->streams.items[i]);
	}
	vec_free(&http->streams);
}
