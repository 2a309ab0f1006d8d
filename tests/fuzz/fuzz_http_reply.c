/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http_reply.c - bytes as all that an HTTP server sends: a call ends with a status
 * and a body within its limit, or with an error and a reason
 *
 * The server is a Unix socket in the same loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/daemon/http_call.h"
#include "lib/daemon/loop.h"
#include "tests/fuzz/fuzz.h"

#define MAX_REPLY  2000
#define MAX_BYTES  32768 /* The socket's buffer takes them at once. */
#define TIMEOUT_NS INT64_C(2000000000)

static char path[64];
static int listener = -1;
static struct http_client *kept;
static struct loop *kept_loop;

struct talk {
	struct loop *loop;
	const uint8_t *data;
	size_t size;
	int peer; /* -1: none. */
	unsigned n_done;
};

static void
end(void)
{
	http_client_free(kept);
	loop_free(kept_loop);
	unlink(path);
}

static void
listen_once(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (listener >= 0)
		return;
	/* While there is a client, libcurl does not begin anew for each call. */
	kept_loop = loop_new();
	kept = http_client_new(kept_loop);
	snprintf(path, sizeof path, "/tmp/ap-fuzz-http-%d.sock", (int)getpid());
	unlink(path);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	BUG_ON(listener < 0 ||
	       bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
	       listen(listener, 4) < 0);
	atexit(end);
}

/* Sends everything and ends; the request stays unread until then. */
static void
on_connection(void *ctx)
{
	struct talk *talk = ctx;
	int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer < 0)
		return;
	BUG_ON(talk->peer >= 0);
	talk->peer = peer;
	if (talk->size)
		BUG_ON(send(peer, talk->data, talk->size, MSG_NOSIGNAL) !=
		       (ssize_t)talk->size);
	shutdown(peer, SHUT_WR);
}

static void
on_done(void *ctx, int status, const char *body, size_t n)
{
	struct talk *talk = ctx;

	talk->n_done++;
	BUG_ON(!status || status > 999 || body[n] || strlen(body) > n);
	BUG_ON(status > 0 && n > MAX_REPLY);
	BUG_ON(status < 0 && !*body);
	BUG_ON(status == -ETIMEDOUT);
	loop_stop(talk->loop, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct http_call_opts opts = { .address = path,
					     .method = "GET",
					     .path = "/api/v1/advice",
					     .timeout_ns = TIMEOUT_NS,
					     .max_bytes = MAX_REPLY };
	struct talk talk = { .loop = loop_new(),
			     .data = data,
			     .size = size < MAX_BYTES ? size : MAX_BYTES,
			     .peer = -1 };
	struct http_call *call;
	struct err err = { 0 };

	listen_once();
	loop_fd(talk.loop, listener, on_connection, &talk);
	BUG_ON(http_call(talk.loop, &opts, on_done, &talk, &call, &err) < 0);
	loop_run(talk.loop);
	BUG_ON(talk.n_done != 1);
	if (talk.peer >= 0)
		close(talk.peer);
	loop_free(talk.loop);
	return 0;
}
