#include "lib/daemon/http_call.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/loop.h"

struct http_call {
	struct loop *loop;
	int fd;
	struct loop_item *io, *timer;
	char *address;
	struct strbuf request, reply;
	size_t n_sent, max_bytes;
	void (*done)(void *ctx, int status, const char *body, size_t n);
	void *ctx;
};

/* ---- Addresses ---------------------------------------------------------------------- */

static bool
is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Its size, -EINVAL or -EACCES. */
static int
read_address(const char *text, struct sockaddr_storage *ret_address, struct err *err)
{
	struct sockaddr_un *local = (struct sockaddr_un *)ret_address;
	socklen_t size;

	if (*text == '/') {
		if (strlen(text) >= sizeof local->sun_path)
			return err_set(err, NULL, 0, 0,
				       "'%.40s...' is too long for a socket", text);
		memset(ret_address, 0, sizeof *ret_address);
		local->sun_family = AF_UNIX;
		memcpy(local->sun_path, text, strlen(text));
		return sizeof *local;
	}
	size = http_ask_address(text, ret_address);
	if (!size)
		return err_set(err, NULL, 0, 0,
			       "'%.64s' is neither ADDRESS:PORT nor a socket's path",
			       text);
	if (!is_loopback(ret_address)) {
		err_set(err, NULL, 0, 0,
			"%s is not of this host; only loopback is talked to", text);
		return -EACCES;
	}
	return (int)size;
}

int
http_call_check(const char *address, struct err *err)
{
	struct sockaddr_storage to;
	int r = read_address(address, &to, err);

	return r < 0 ? r : 0;
}

/* ---- The call ----------------------------------------------------------------------- */

void
http_call_cancel(struct http_call *call)
{
	if (!call)
		return;
	if (call->io)
		loop_remove(call->loop, call->io);
	if (call->timer)
		loop_remove(call->loop, call->timer);
	if (call->fd >= 0)
		close(call->fd);
	strbuf_free(&call->request);
	strbuf_free(&call->reply);
	free(call->address);
	free(call);
}

/* The call is gone before its caller hears of it, and may ask for the next one. */
static void
finish(struct http_call *call, int status)
{
	void (*done)(void *ctx, int status, const char *body, size_t n) = call->done;
	void *ctx = call->ctx;
	struct strbuf reply = call->reply;
	const char *body = "";
	char *why = NULL;

	call->reply = (struct strbuf)STRBUF_EMPTY;
	if (status == 0)
		status = http_ask_status(&reply, &body);
	if (status < 0)
		why = xasprintf("%s: %s", call->address,
				status == -EPROTO ? "this is no HTTP server"
						  : strerror(-status));
	http_call_cancel(call);
	if (why)
		done(ctx, status, why, strlen(why));
	else
		done(ctx, status, body, reply.length - (size_t)(body - reply.text));
	free(why);
	strbuf_free(&reply);
}

static void
on_late(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
	finish(ctx, -ETIMEDOUT);
}

static void
on_reply(void *ctx)
{
	struct http_call *call = ctx;
	char bytes[65536];
	ssize_t n = recv(call->fd, bytes, sizeof bytes, 0);

	if (n > 0 && call->reply.length + (size_t)n > call->max_bytes)
		finish(call, -EFBIG);
	else if (n > 0)
		strbuf_add(&call->reply, bytes, (size_t)n);
	else if (n == 0)
		finish(call, 0);
	else if (errno != EAGAIN && errno != EINTR)
		finish(call, -errno);
}

/* Connected, or not at all; and there is room to write. */
static void
on_writable(void *ctx)
{
	struct http_call *call = ctx;
	int error = 0;
	socklen_t size = sizeof error;
	ssize_t n;

	if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		finish(call, -error);
		return;
	}
	n = send(call->fd, call->request.text + call->n_sent,
		 call->request.length - call->n_sent, MSG_NOSIGNAL);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			finish(call, -errno);
		return;
	}
	call->n_sent += (size_t)n;
	if (call->n_sent < call->request.length)
		return;
	loop_remove(call->loop, call->io);
	call->io = loop_fd(call->loop, call->fd, on_reply, call);
}

/*
 * By HTTP/1.0 there are no chunks, and the end of the reply is that of the connection.
 */
static void
write_request(struct http_call *call, const struct http_call_opts *opts)
{
	strbuf_printf(&call->request, "%s %s HTTP/1.0\r\nHost: %s\r\n", opts->method,
		      opts->path, *opts->address == '/' ? "localhost" : opts->address);
	if (opts->accept)
		strbuf_printf(&call->request, "Accept: %s\r\n", opts->accept);
	if (opts->type)
		strbuf_printf(&call->request,
			      "Content-Type: %s\r\nContent-Length: %zu\r\n", opts->type,
			      strlen(opts->body));
	strbuf_puts(&call->request, "\r\n");
	if (opts->type)
		strbuf_puts(&call->request, opts->body);
}

int
http_call(struct loop *loop, const struct http_call_opts *opts,
	  void (*done)(void *ctx, int status, const char *body, size_t n), void *ctx,
	  struct http_call **ret_call, struct err *err)
{
	struct sockaddr_storage to;
	struct http_call *call;
	int size = read_address(opts->address, &to, err), error;

	if (size < 0)
		return size;
	call = xcalloc(1, sizeof *call);
	*call = (struct http_call){ .loop = loop,
				    .request = STRBUF_EMPTY,
				    .reply = STRBUF_EMPTY,
				    .address = xstrdup(opts->address),
				    .max_bytes = opts->max_bytes,
				    .done = done,
				    .ctx = ctx };
	write_request(call, opts);
	call->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (call->fd < 0 || call->request.length > HTTP_CALL_MAX_REQUEST ||
	    (connect(call->fd, (struct sockaddr *)&to, (socklen_t)size) < 0 &&
	     errno != EINPROGRESS)) {
		error = call->request.length > HTTP_CALL_MAX_REQUEST ? E2BIG : errno;
		http_call_cancel(call);
		return err_set_errno(err, opts->address, error, "cannot ask");
	}
	call->io = loop_fd_out(loop, call->fd, on_writable, call);
	call->timer = loop_every(loop, opts->timeout_ns, on_late, call);
	*ret_call = call;
	return 0;
}
