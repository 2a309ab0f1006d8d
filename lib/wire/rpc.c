/*
 * rpc.c - questions and answers, and announcements, over ZeroMQ.
 *
 * REQ and REP for the first: a client makes a socket for one question, so that a
 * reply that comes too late cannot be taken for that of the next one.
 */
#include "lib/wire/rpc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_socket.h"

#define MAX_AT_ONCE   64
#define SEND_QUEUE    10000 /* Announcements for one slow listener. */
#define CLOSE_WAIT_MS 200

#define MAX_SUBSCRIPTION_BYTES 4096

/* What tells that no reply can be hoped for. */
#define CONNECT_EVENTS                                                      \
	(ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | \
	 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

/* A socket with a context of its own: a program has few of them. */
struct endpoint {
	struct bus_context context; /* With a gatekeeper, if there are keys. */
	void *socket;               /* Owned. */
	struct loop *loop;          /* Borrowed; NULL: not joined. */
	struct loop_item *items[2];
};

struct rpc_server {
	struct endpoint at;
	rpc_answer_fn *answer;
	void *ctx;
};

struct rpc_announcer {
	struct endpoint at;
};

struct rpc_listener {
	struct endpoint at;
	rpc_heard_fn *heard;
	void *ctx;
};

static void
set_int(void *socket, int option, int value)
{
	BUG_ON(zmq_setsockopt(socket, option, &value, sizeof value) != 0);
}

static void
set_max(void *socket, int64_t max_bytes)
{
	BUG_ON(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes) !=
	       0);
}

static void
endpoint_close(struct endpoint *at)
{
	for (size_t i = 0; i < 2; i++) {
		if (at->items[i])
			loop_remove(at->loop, at->items[i]);
	}
	if (at->socket)
		zmq_close(at->socket);
	bus_context_fini(&at->context);
	*at = (struct endpoint){ .socket = NULL };
}

static int
fail(const char *endpoint, const char *what, struct err *err)
{
	int error = zmq_errno();

	err_set(err, NULL, 0, 0, "%s %s: %s", what, endpoint, zmq_strerror(error));
	if (error == EADDRINUSE)
		err_append(err, "; 'ss -ltnp' says who has it");
	if (error == EADDRNOTAVAIL)
		err_append(err, "; no interface of this host has it, or not yet");
	return -(error ? error : EIO);
}

static void
let_in(void *ctx)
{
	struct endpoint *at = ctx;

	bus_context_serve(&at->context);
}

/* To be closed in any case.  'gate_keys' are for a socket that is bound. */
static int
endpoint_open(struct endpoint *at, int type, const struct bus_keys *gate_keys,
	      struct err *err)
{
	int r;

	*at = (struct endpoint){ .socket = NULL };
	r = bus_context_init(&at->context, gate_keys, err);
	if (r < 0)
		return r;
	at->socket = zmq_socket(at->context.zmq, type);
	if (!at->socket)
		return fail("a socket", "cannot make", err);
	set_int(at->socket, ZMQ_LINGER, CLOSE_WAIT_MS);
	return 0;
}

static int
endpoint_attach(struct endpoint *at, const char *endpoint, const struct bus_keys *keys,
		bool is_bound, struct err *err)
{
	int r = bus_socket_secure(at->socket, keys, endpoint, is_bound, err);

	if (r < 0)
		return r;
	set_int(at->socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
	if ((is_bound ? zmq_bind : zmq_connect)(at->socket, endpoint) == 0)
		return 0;
	return fail(endpoint, is_bound ? "cannot bind to" : "cannot connect to", err);
}

static void
endpoint_join(struct endpoint *at, struct loop *loop, void (*serve)(void *ctx),
	      void *ctx)
{
	BUG_ON(at->loop);
	at->loop = loop;
	if (serve)
		at->items[0] = loop_socket(loop, at->socket, serve, ctx);
	if (at->context.gate)
		at->items[1] = loop_socket(loop, at->context.gate, let_in, at);
}

/*
 * Takes one message of one or more parts, without waiting; only the part of number
 * 'wanted' is kept, as a new terminated text.  1, 0 if there is none, or -errno.
 */
static int
receive(void *socket, int wanted, char **ret_text, size_t *ret_n)
{
	char *text = NULL;
	size_t n = 0;

	for (int part = 0;; part++) {
		zmq_msg_t message;
		int more;

		zmq_msg_init(&message);
		if (zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) < 0) {
			int error = zmq_errno();

			zmq_msg_close(&message);
			free(text);
			return error == EAGAIN ? 0 : -error;
		}
		if (part == wanted) {
			n = zmq_msg_size(&message);
			free(text);
			text = xreallocarray(NULL, n + 1, 1);
			memcpy(text, zmq_msg_data(&message), n);
			text[n] = '\0';
		}
		more = zmq_msg_more(&message);
		zmq_msg_close(&message);
		if (!more)
			break;
	}
	*ret_text = text ? text : xstrdup("");
	*ret_n = n;
	return 1;
}

/* Waits until something can be received: 1, 0 when time is up, or -errno. */
static int
wait_for(void *socket, int64_t timeout_ns)
{
	zmq_pollitem_t item = { .socket = socket, .events = ZMQ_POLLIN };
	int r = zmq_poll(&item, 1,
			 timeout_ns < 0 ? -1 : (long)((timeout_ns + 999999) / 1000000));

	return r < 0 ? -zmq_errno() : r > 0;
}

/* ---- Server ----------------------------------------------------------------------- */

int
rpc_server_open(const char *endpoint, const struct bus_keys *keys,
		rpc_answer_fn *answer, void *ctx, struct rpc_server **ret_server,
		struct err *err)
{
	struct rpc_server *server = xcalloc(1, sizeof *server);
	int r;

	server->answer = answer;
	server->ctx = ctx;
	r = endpoint_open(&server->at, ZMQ_REP, keys, err);
	if (r == 0) {
		set_max(server->at.socket, RPC_MAX_REQUEST_BYTES);
		r = endpoint_attach(&server->at, endpoint, keys, true, err);
	}
	if (r < 0)
		rpc_server_close(server);
	else
		*ret_server = server;
	return r;
}

void
rpc_server_close(struct rpc_server *server)
{
	if (!server)
		return;
	endpoint_close(&server->at);
	free(server);
}

void
rpc_server_serve(void *ctx)
{
	struct rpc_server *server = ctx;
	struct strbuf reply = STRBUF_EMPTY;

	bus_context_serve(&server->at.context);
	for (int i = 0; i < MAX_AT_ONCE; i++) {
		char *request;
		size_t n;

		if (receive(server->at.socket, 0, &request, &n) <= 0)
			break;
		strbuf_clear(&reply);
		server->answer(server->ctx, request, n, &reply);
		free(request);
		/* A client that is gone is no concern of ours. */
		zmq_send(server->at.socket, reply.text, reply.length, ZMQ_DONTWAIT);
	}
	strbuf_free(&reply);
}

void
rpc_server_join(struct rpc_server *server, struct loop *loop)
{
	endpoint_join(&server->at, loop, rpc_server_serve, server);
}

/* ---- Client ----------------------------------------------------------------------- */

/*
 * A monitor tells at once that a connection was refused, where the socket itself
 * would go on trying.  NULL if there can be none: then the time is waited for.
 */
static void *
watch_connecting(const struct endpoint *at)
{
	static const char address[] = "inproc://rpc-monitor";
	void *monitor;

	if (zmq_socket_monitor(at->socket, address, CONNECT_EVENTS) != 0)
		return NULL;
	monitor = zmq_socket(at->context.zmq, ZMQ_PAIR);
	if (monitor && zmq_connect(monitor, address) != 0) {
		zmq_close(monitor);
		monitor = NULL;
	}
	return monitor;
}

/* What the monitor has to say: nobody is there, or he does not like our key. */
static int
take_event(void *monitor)
{
	uint16_t event = 0;
	char bytes[256];

	/* A number of 16 bits and a value, and then the address. */
	if (zmq_recv(monitor, bytes, sizeof bytes, ZMQ_DONTWAIT) >= (int)sizeof event)
		memcpy(&event, bytes, sizeof event);
	zmq_recv(monitor, bytes, sizeof bytes, ZMQ_DONTWAIT);
	return event == ZMQ_EVENT_CONNECT_RETRIED ? -ECONNREFUSED : -EACCES;
}

/* Waits for the reply, a refusal or the end of the time: 1, -errno. */
static int
wait_for_reply(void *socket, void *monitor, int64_t until_ns)
{
	zmq_pollitem_t items[2] = {
		{ .socket = socket, .events = ZMQ_POLLIN },
		{ .socket = monitor, .events = ZMQ_POLLIN },
	};
	int64_t left_ns = until_ns - clk_monotonic_ns();
	int r;

	if (left_ns <= 0)
		return -ETIMEDOUT;
	r = zmq_poll(items, monitor ? 2 : 1, (long)((left_ns + 999999) / 1000000));
	if (r < 0)
		return -zmq_errno();
	if (items[0].revents & ZMQ_POLLIN)
		return 1;
	return r == 0 ? -ETIMEDOUT : take_event(monitor);
}

static int
ask(struct endpoint *at, void *monitor, const char *endpoint, const char *request,
    int64_t timeout_ns, char **ret_reply, size_t *ret_n, struct err *err)
{
	int64_t until_ns = clk_monotonic_ns() + timeout_ns;
	int r;

	if (zmq_send(at->socket, request, strlen(request), 0) < 0)
		return fail(endpoint, "cannot send to", err);
	do {
		r = wait_for_reply(at->socket, monitor, until_ns);
		if (r == 1)
			r = receive(at->socket, 0, ret_reply, ret_n);
	} while (r == 0);
	if (r == -ETIMEDOUT)
		err_set(err, NULL, 0, 0, "no answer from %s within %.3g s", endpoint,
			(double)timeout_ns / 1e9);
	else if (r == -EACCES)
		err_set(err, NULL, 0, 0,
			"%s does not allow our key, or has another one", endpoint);
	else if (r < 0)
		err_set(err, NULL, 0, 0, "nobody answers at %s: %s", endpoint,
			zmq_strerror(-r));
	return r < 0 ? r : 0;
}

int
rpc_call(const char *endpoint, const struct bus_keys *keys, const char *request,
	 int64_t timeout_ns, char **ret_reply, size_t *ret_n, struct err *err)
{
	struct endpoint at;
	void *monitor;
	int r = endpoint_open(&at, ZMQ_REQ, NULL, err);

	if (r < 0) {
		endpoint_close(&at);
		return r;
	}
	set_max(at.socket, RPC_MAX_REPLY_BYTES);
	set_int(at.socket, ZMQ_LINGER, 0);
	set_int(at.socket, ZMQ_SNDTIMEO, (int)(timeout_ns / 1000000));
	monitor = watch_connecting(&at);
	r = endpoint_attach(&at, endpoint, keys, false, err);
	if (r == 0)
		r = ask(&at, monitor, endpoint, request, timeout_ns, ret_reply, ret_n,
			err);
	if (monitor)
		zmq_close(monitor);
	endpoint_close(&at);
	return r;
}

/* ---- Client of a daemon ------------------------------------------------------------ */

struct rpc_question {
	struct endpoint at;
	struct loop_item *timer;
	int64_t timeout_ns;
	char *name; /* Owned: the endpoint, for messages. */
	void (*done)(void *ctx, const char *reply, size_t n, const struct err *why);
	void *ctx;
};

void
rpc_forget(struct rpc_question *question)
{
	if (!question)
		return;
	if (question->timer)
		loop_remove(question->at.loop, question->timer);
	endpoint_close(&question->at);
	free(question->name);
	free(question);
}

static void
finish(struct rpc_question *question, char *reply, size_t n, const struct err *why)
{
	void (*done)(void *ctx, const char *reply, size_t n, const struct err *why) =
		question->done;
	void *ctx = question->ctx;

	rpc_forget(question);
	done(ctx, reply, n, why);
	free(reply);
}

static void
on_reply(void *ctx)
{
	struct rpc_question *question = ctx;
	struct err err;
	char *reply;
	size_t n;
	int r = receive(question->at.socket, 0, &reply, &n);

	if (r == 0)
		return;
	if (r < 0)
		fail(question->name, "cannot receive from", &err);
	finish(question, r > 0 ? reply : NULL, r > 0 ? n : 0, r > 0 ? NULL : &err);
}

static void
on_too_late(void *ctx, int64_t now_ns, int64_t missed)
{
	struct rpc_question *question = ctx;
	struct err err;

	(void)now_ns;
	(void)missed;
	err_set(&err, NULL, 0, 0, "no answer from %s within %.3g s", question->name,
		(double)question->timeout_ns / 1e9);
	finish(question, NULL, 0, &err);
}

int
rpc_ask(struct loop *loop, const char *endpoint, const struct bus_keys *keys,
	const char *request, int64_t timeout_ns,
	void (*done)(void *ctx, const char *reply, size_t n, const struct err *why),
	void *ctx, struct rpc_question **ret_question, struct err *err)
{
	struct rpc_question *question = xcalloc(1, sizeof *question);
	int r;

	question->done = done;
	question->ctx = ctx;
	question->timeout_ns = timeout_ns;
	question->name = xstrdup(endpoint);
	r = endpoint_open(&question->at, ZMQ_REQ, NULL, err);
	if (r == 0) {
		set_int(question->at.socket, ZMQ_LINGER, 0);
		set_max(question->at.socket, RPC_MAX_REPLY_BYTES);
		r = endpoint_attach(&question->at, endpoint, keys, false, err);
	}
	if (r == 0 &&
	    zmq_send(question->at.socket, request, strlen(request), ZMQ_DONTWAIT) < 0)
		r = fail(endpoint, "cannot send to", err);
	if (r < 0) {
		rpc_forget(question);
		return r;
	}
	endpoint_join(&question->at, loop, on_reply, question);
	question->timer = loop_every(loop, timeout_ns, on_too_late, question);
	*ret_question = question;
	return 0;
}

/* ---- Announcements ---------------------------------------------------------------- */

int
rpc_announcer_open(const char *endpoint, const struct bus_keys *keys,
		   struct rpc_announcer **ret_announcer, struct err *err)
{
	struct rpc_announcer *announcer = xcalloc(1, sizeof *announcer);
	int r = endpoint_open(&announcer->at, ZMQ_PUB, keys, err);

	if (r == 0) {
		set_int(announcer->at.socket, ZMQ_SNDHWM, SEND_QUEUE);
		set_max(announcer->at.socket, MAX_SUBSCRIPTION_BYTES);
		r = endpoint_attach(&announcer->at, endpoint, keys, true, err);
	}
	if (r < 0)
		rpc_announcer_close(announcer);
	else
		*ret_announcer = announcer;
	return r;
}

void
rpc_announcer_close(struct rpc_announcer *announcer)
{
	if (!announcer)
		return;
	endpoint_close(&announcer->at);
	free(announcer);
}

void
rpc_announcer_join(struct rpc_announcer *announcer, struct loop *loop)
{
	endpoint_join(&announcer->at, loop, NULL, NULL);
}

void
rpc_announce(struct rpc_announcer *announcer, const char *topic, const char *text)
{
	void *socket = announcer->at.socket;

	if (zmq_send(socket, topic, strlen(topic), ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0)
		zmq_send(socket, text, strlen(text), ZMQ_DONTWAIT);
}

int
rpc_listener_open(const char *endpoint, const struct bus_keys *keys, const char *prefix,
		  struct rpc_listener **ret_listener, struct err *err)
{
	struct rpc_listener *listener = xcalloc(1, sizeof *listener);
	int r = endpoint_open(&listener->at, ZMQ_SUB, NULL, err);

	if (r == 0) {
		set_max(listener->at.socket, RPC_MAX_REQUEST_BYTES);
		set_int(listener->at.socket, ZMQ_LINGER, 0);
		BUG_ON(zmq_setsockopt(listener->at.socket, ZMQ_SUBSCRIBE, prefix,
				      strlen(prefix)) != 0);
		r = endpoint_attach(&listener->at, endpoint, keys, false, err);
	}
	if (r < 0)
		rpc_listener_close(listener);
	else
		*ret_listener = listener;
	return r;
}

void
rpc_listener_close(struct rpc_listener *listener)
{
	if (!listener)
		return;
	endpoint_close(&listener->at);
	free(listener);
}

static void
hear(void *ctx)
{
	struct rpc_listener *listener = ctx;

	for (int i = 0; i < MAX_AT_ONCE; i++) {
		char *text;
		size_t n;

		if (receive(listener->at.socket, 1, &text, &n) <= 0)
			return;
		listener->heard(listener->ctx, text, n);
		free(text);
	}
}

void
rpc_listener_join(struct rpc_listener *listener, struct loop *loop, rpc_heard_fn *heard,
		  void *ctx)
{
	listener->heard = heard;
	listener->ctx = ctx;
	endpoint_join(&listener->at, loop, hear, listener);
}

int
rpc_listen(struct rpc_listener *listener, int64_t timeout_ns, char **ret_text)
{
	int r = wait_for(listener->at.socket, timeout_ns);
	size_t n;

	return r == 1 ? receive(listener->at.socket, 1, ret_text, &n) : r;
}
