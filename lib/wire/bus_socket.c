/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_descriptors.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/tele.h"

#define ZAP_DOMAIN "antiphase"

/*
 * TCP keep-alive detects a dead peer after 15 s.  ZeroMQ's own heartbeats are not used:
 * they abort the process (libzmq 4.3.4, assertion "!_io_error") if a peer disappears
 * while its messages wait for room.
 */
#define KEEPALIVE_S      5
#define KEEPALIVE_PROBES 2
#define UNSENT_MS        15000
#define RECONNECT_MS     100
#define RECONNECT_MAX_MS 2000
#define LINGER_MS        200

/*
 * A peer that says nothing is let go after this; ZeroMQ's default, 30 s, lets fewer silent
 * peers hold all descriptors.  More than the longest pass of a daemon's loop, which has to
 * answer for the key.
 */
#define HANDSHAKE_MS 3000

/* Subscriptions of a connection that wait, in messages and in bytes of the kernel. */
#define SUBSCRIPTION_ROOM   2
#define SUBSCRIPTION_BUFFER 16384

#define SECOND_NS INT64_C(1000000000)

/* ---- Endpoints ------------------------------------------------------------------- */

bool
bus_endpoint_is_local(const char *endpoint)
{
	char host[64];
	const char *colon;
	struct in_addr address;
	struct in6_addr address6;

	if (strncmp(endpoint, "ipc://", 6) == 0)
		return true;
	if (strncmp(endpoint, "tcp://", 6) != 0)
		return false;
	endpoint += 6;
	colon = strrchr(endpoint, ':');
	if (!colon || (size_t)(colon - endpoint) >= sizeof host)
		return false;
	memcpy(host, endpoint, (size_t)(colon - endpoint));
	host[colon - endpoint] = '\0';
	if (strcmp(host, "localhost") == 0 || strcmp(host, "lo") == 0)
		return true;
	if (inet_pton(AF_INET, host, &address) == 1)
		return ntohl(address.s_addr) >> 24 == 127;
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, &address6) == 1 &&
		       IN6_IS_ADDR_LOOPBACK(&address6);
	}
	return false;
}

int
bus_endpoint_resolve(const char *endpoint, struct err *err)
{
	const char *colon = strrchr(endpoint, ':');
	struct addrinfo *found = NULL;
	char *host;
	int fault;

	if (strncmp(endpoint, "tcp://", 6) != 0 || colon < endpoint + 6)
		return 0;
	endpoint += 6;
	if (*endpoint == '[' && colon[-1] == ']') {
		endpoint++;
		colon--;
	}
	host = xstrndup(endpoint, (size_t)(colon - endpoint));
	fault = getaddrinfo(host, NULL, NULL, &found);
	if (fault)
		err_set(err, NULL, 0, 0, "the host '%s' is not found: %s", host,
			gai_strerror(fault));
	else
		freeaddrinfo(found);
	free(host);
	return fault ? -EHOSTUNREACH : 0;
}

static int
check_endpoint(const char *endpoint, struct err *err)
{
	if (strncmp(endpoint, "tcp://", 6) != 0 && strncmp(endpoint, "ipc://", 6) != 0)
		return err_set(err, NULL, 0, 0,
			       "'%s' is not an endpoint: expected 'tcp://HOST:PORT' or "
			       "'ipc://PATH'",
			       endpoint);
	if (strlen(endpoint) > 200)
		return err_set(err, NULL, 0, 0, "'%.40s...' is too long", endpoint);
	return 0;
}

/* ---- Sockets --------------------------------------------------------------------- */

static void
set_int(void *socket, int option, int value)
{
	if (zmq_setsockopt(socket, option, &value, sizeof value) < 0)
		BUG("option %d of a socket: %s", option, zmq_strerror(zmq_errno()));
}

static void
open_monitor(struct bus_socket *s)
{
	char endpoint[64];

	snprintf(endpoint, sizeof endpoint, "inproc://monitor-%p", s->zmq);
	if (zmq_socket_monitor(s->zmq, endpoint,
			       ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
				       ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
				       ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) < 0)
		BUG("a socket cannot be watched: %s", zmq_strerror(zmq_errno()));
	s->monitor = zmq_socket(s->context->zmq, ZMQ_PAIR);
	set_int(s->monitor, ZMQ_RCVHWM, 1);
	if (zmq_connect(s->monitor, endpoint) < 0)
		BUG("a socket cannot be watched: %s", zmq_strerror(zmq_errno()));
}

/*
 * Reports every subscription (bus_peers.h), and takes few before they are handled: ZeroMQ
 * moves subscriptions from a pipe to its trie until the pipe is empty, so that a peer that
 * sends faster than that would hold the calling thread for as long as it likes.  A pipe
 * with little room runs empty while ZeroMQ's thread is woken.
 */
static void
limit_subscribers(void *zmq)
{
	set_int(zmq, ZMQ_XPUB_VERBOSER, 1);
	set_int(zmq, ZMQ_RCVHWM, SUBSCRIPTION_ROOM);
	set_int(zmq, ZMQ_RCVBUF, SUBSCRIPTION_BUFFER);
}

int
bus_socket_init(struct bus_socket *s, struct bus_context *context, int type,
		unsigned room, struct err *err)
{
	/* ZeroMQ uses 30 bytes per byte of a subscription.  With keys, frames of the
	 * handshake are longer, and peers are known. */
	int64_t max_bytes = type != ZMQ_XPUB ? TELE_MAX_BYTES
			    : context->keys  ? 4096
					     : BUS_MAX_SUBSCRIPTION + 16;

	*s = (struct bus_socket){ .context = context };
	s->zmq = zmq_socket(context->zmq, type);
	if (!s->zmq)
		return err_set_errno(err, NULL, zmq_errno(), "cannot make a socket");
	s->names = strtab_new();
	s->descriptors = bus_descriptors_new(context->keys != NULL);
	set_int(s->zmq, ZMQ_LINGER, LINGER_MS);
	set_int(s->zmq, ZMQ_SNDHWM, (int)room);
	set_int(s->zmq, ZMQ_RCVHWM, (int)room);
	set_int(s->zmq, ZMQ_TCP_KEEPALIVE, 1);
	set_int(s->zmq, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S);
	set_int(s->zmq, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_S);
	set_int(s->zmq, ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_PROBES);
	set_int(s->zmq, ZMQ_TCP_MAXRT, UNSENT_MS);
	set_int(s->zmq, ZMQ_RECONNECT_IVL, RECONNECT_MS);
	set_int(s->zmq, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
	set_int(s->zmq, ZMQ_BACKLOG, 4096);
	set_int(s->zmq, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
	zmq_setsockopt(s->zmq, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
	if (type == ZMQ_XPUB)
		limit_subscribers(s->zmq);
	open_monitor(s);
	return 0;
}

/* The next connection has to be to a server with this key; false: there is none. */
static bool
expect_server(void *zmq, const struct bus_keys *keys, const char *name, unsigned number)
{
	const struct bus_known *server = bus_keys_server_key(keys, name, number);

	if (!server)
		return false;
	zmq_setsockopt(zmq, ZMQ_CURVE_SERVERKEY, server->z85, BUS_Z85_CHARS + 1);
	return true;
}

/* Keys: the bound side is the CURVE server and asks the gate. */
static int
secure(void *zmq, const struct bus_keys *keys, const char *endpoint, bool is_bound,
       const char *server, struct err *err)
{
	if (!keys) {
		if (bus_endpoint_is_local(endpoint))
			return 0;
		if (is_bound)
			err_set(err, NULL, 0, 0,
				"'%s' is beyond this host, where only a socket with keys "
				"may be bound; 'antiphase keys new' makes some",
				endpoint);
		else
			err_set(err, NULL, 0, 0,
				"'%s' is beyond this host, and is connected to only with "
				"keys: set --keys, or 'keys' of a daemon; 'antiphase keys "
				"new' and 'antiphase keys server' make them",
				endpoint);
		return -EACCES;
	}
	zmq_setsockopt(zmq, ZMQ_CURVE_SECRETKEY, keys->secret, BUS_Z85_CHARS + 1);
	zmq_setsockopt(zmq, ZMQ_CURVE_PUBLICKEY, keys->public, BUS_Z85_CHARS + 1);
	if (is_bound) {
		set_int(zmq, ZMQ_CURVE_SERVER, 1);
		zmq_setsockopt(zmq, ZMQ_ZAP_DOMAIN, ZAP_DOMAIN, strlen(ZAP_DOMAIN));
		return 0;
	}
	if (!expect_server(zmq, keys, server, 0))
		return err_set(err, NULL, 0, 0,
			       "%s/server.pub is missing: the public key of '%s'; "
			       "'antiphase keys server' sets it",
			       keys->directory, endpoint);
	return 0;
}

int
bus_socket_attach(struct bus_socket *s, const char *endpoint, bool is_bound,
		  struct err *err)
{
	size_t size = sizeof s->endpoint;
	struct bus_peer peer = { .endpoint = NULL };
	int error = check_endpoint(endpoint, err);

	if (!error && !is_bound && s->context->keys)
		bus_keys_server_name(s->context->keys, endpoint, peer.server);
	if (!error)
		error = secure(s->zmq, s->context->keys, endpoint, is_bound,
			       peer.server, err);
	if (error < 0)
		return error;
	set_int(s->zmq, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
	s->is_bound = is_bound;
	if ((is_bound ? zmq_bind : zmq_connect)(s->zmq, endpoint) < 0) {
		error = -zmq_errno();
		err_set(err, NULL, 0, 0, "cannot %s to '%s': %s",
			is_bound ? "bind" : "connect", endpoint, zmq_strerror(-error));
		if (error == -EADDRINUSE)
			err_append(err,
				   "; run 'ss -ltnp' to see which program uses it");
		if (error == -EADDRNOTAVAIL)
			err_append(err,
				   "; no interface of this host has it, or not yet");
		return error;
	}
	zmq_getsockopt(s->zmq, ZMQ_LAST_ENDPOINT, s->endpoint, &size);
	if (is_bound)
		return 0;
	peer.endpoint = xstrdup(endpoint);
	vec_push(&s->peers, peer);
	return 0;
}

void
bus_socket_fini(struct bus_socket *s)
{
	if (s->monitor) {
		zmq_socket_monitor(s->zmq, NULL, 0);
		set_int(s->monitor, ZMQ_LINGER, 0);
		zmq_close(s->monitor);
	}
	if (s->zmq)
		zmq_close(s->zmq);
	for (size_t i = 0; i < s->peers.n; i++)
		free(s->peers.items[i].endpoint);
	vec_free(&s->peers);
	strtab_free(s->names);
	bus_descriptors_free(s->descriptors);
	vec_free(&s->is_up);
	*s = (struct bus_socket){ 0 };
}

/* ---- Connections ----------------------------------------------------------------- */

/* The peer that was given by that name; NULL if it is another spelling, or not ours. */
static struct bus_peer *
find_peer(struct bus_socket *s, const char *name)
{
	for (size_t i = 0; i < s->peers.n; i++)
		if (strcmp(s->peers.items[i].endpoint, name) == 0)
			return &s->peers.items[i];
	return NULL;
}

/*
 * A peer's name may change on reconnection, from "localhost" to its address, so any new
 * connection replaces any lost one.
 */
static void
note_up(struct bus_socket *s, const char *name)
{
	struct bus_peer *peer;
	uint32_t id;

	if (s->is_bound) {
		s->n_up++;
		return;
	}
	id = strtab_intern(s->names, name);
	if (id == s->is_up.n)
		vec_push(&s->is_up, false);
	if (s->is_up.items[id])
		return;
	s->is_up.items[id] = true;
	s->n_up++;
	if (s->n_lost) {
		s->n_lost--;
		s->reconnects++;
		log_info("bus", "%s is connected again", name);
	}
	peer = find_peer(s, name);
	if (peer) {
		peer->wait_ns = 0;
		peer->refusal_said.said_hash = 0; /* The next one is news. */
	}
}

static void
note_down(struct bus_socket *s, const char *name)
{
	uint32_t id = strtab_find(s->names, name);

	if (id == STRTAB_NONE || !s->is_up.items[id])
		return;
	s->is_up.items[id] = false;
	s->n_up--;
	s->n_lost++;
	log_info("bus", "%s: the connection was lost", name);
}

/* A server that changes its key is known by the old one and by the new one. */
static bool
has_other_key(const struct bus_socket *s, const struct bus_peer *peer)
{
	const struct bus_keys *keys = s->context->keys;

	return keys && bus_keys_server_key(keys, peer->server, peer->key) !=
			       bus_keys_server_key(keys, peer->server, peer->key + 1);
}

/*
 * ZeroMQ does not reconnect after a refusal, but the key may be allowed later.  So we
 * reconnect after 1, 2, 4 s and so on up to half a minute.  It does reconnect after a
 * failure without a reason, with the same key.
 */
static void
retry_later(struct bus_socket *s, const char *name, unsigned event)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		struct bus_peer *peer = &s->peers.items[i];

		if (peer->retry_ns ||
		    (s->peers.n > 1 && strcmp(peer->endpoint, name) != 0) ||
		    (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL &&
		     !has_other_key(s, peer)))
			continue;
		peer->wait_ns = peer->wait_ns ? 2 * peer->wait_ns : SECOND_NS;
		if (peer->wait_ns > 30 * SECOND_NS)
			peer->wait_ns = 30 * SECOND_NS;
		peer->retry_ns = clk_monotonic_ns() + peer->wait_ns;
	}
}

static void
retry_refused(struct bus_socket *s)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		struct bus_peer *peer = &s->peers.items[i];

		if (!peer->retry_ns || clk_monotonic_ns() < peer->retry_ns)
			continue;
		peer->retry_ns = 0;
		/* Otherwise it would count as connected. */
		zmq_disconnect(s->zmq, peer->endpoint);
		if (s->context->keys)
			expect_server(s->zmq, s->context->keys, peer->server,
				      ++peer->key);
		if (zmq_connect(s->zmq, peer->endpoint) < 0)
			log_err("bus", "cannot connect to '%s': %s", peer->endpoint,
				zmq_strerror(zmq_errno()));
	}
}

/* Of a connection to a bound socket. */
static const char *
why_refused(const struct bus_socket *s, unsigned event)
{
	switch (event) {
	case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
		return "its key is not allowed ('antiphase keys allow')";
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		return s->context->keys ? "it has no key, and this host asks for one"
					: "it has keys, and this host has none";
	default:
		return "it does not speak the protocol of the bus; it may be another "
		       "program's, or a scan";
	}
}

/* Logs a refusal: rarer and rarer, and for each peer. */
static void
note_refusal(struct bus_socket *s, const char *name, unsigned event)
{
	int64_t now_ns = clk_monotonic_ns();
	struct bus_peer *peer = find_peer(s, name);
	struct log_limit *limit = peer ? &peer->refusal_said : &s->refusal_said;

	s->refused++;
	if (s->is_bound)
		log_limited(limit, now_ns, LOG_LEVEL_WARN, "bus",
			    "%s: a connection was refused: %s", name,
			    why_refused(s, event));
	else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
		log_limited(limit, now_ns, LOG_LEVEL_WARN, "bus",
			    "%s does not let us in: our key is not on its list "
			    "('antiphase keys allow', there)",
			    name);
	else
		log_limited(limit, now_ns, LOG_LEVEL_WARN, "bus",
			    "%s: no connection; it hangs, only one side has keys, or "
			    "its key is not that of server.pub",
			    name);
}

static void
note_accepted(struct bus_socket *s, const uint8_t *head)
{
	int64_t now_ns = clk_monotonic_ns();
	uint32_t fd;

	memcpy(&fd, head + sizeof(uint16_t), sizeof fd); /* In the host's order. */
	if (!bus_descriptors_opened(s->descriptors, (int)fd, now_ns))
		return;
	s->crowded++;
	log_limited(&s->crowd_said, now_ns, LOG_LEVEL_WARN, "bus",
		    "%s: descriptors are short, and a connection was ended; raise "
		    "LimitNOFILE if these are subscribers of yours",
		    s->endpoint);
}

void
bus_socket_serve(struct bus_socket *s)
{
	uint8_t head[6];
	char peer[256];

	/* At its high-water mark ZeroMQ's thread waits, and accepts nothing more. */
	while (zmq_recv(s->monitor, head, sizeof head, ZMQ_DONTWAIT) ==
	       (int)sizeof head) {
		int n = zmq_recv(s->monitor, peer, sizeof peer - 1, ZMQ_DONTWAIT);
		uint16_t event;

		if (n < 0)
			break;
		peer[(size_t)n < sizeof peer ? (size_t)n : sizeof peer - 1] = '\0';
		memcpy(&event, head, sizeof event); /* In the host's order. */
		if (event == ZMQ_EVENT_ACCEPTED)
			note_accepted(s, head);
		else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
			note_up(s, peer);
		else if (event == ZMQ_EVENT_DISCONNECTED && s->is_bound)
			bus_descriptors_closed(s->descriptors);
		else if (event == ZMQ_EVENT_DISCONNECTED)
			note_down(s, peer);
		else
			note_refusal(s, peer, event);
		if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
		    event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
		    event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
			retry_later(s, peer, event);
	}
	retry_refused(s);
}

static int
poll_all(struct bus_socket *const *sockets, size_t n, int64_t timeout_ns)
{
	VEC(zmq_pollitem_t) items = VEC_EMPTY;
	void *gate = sockets[0]->context->gate;
	bool is_there = false;
	int r;

	for (size_t i = 0; i < n; i++) {
		vec_push(&items, ((zmq_pollitem_t){ .socket = sockets[i]->zmq,
						    .events = ZMQ_POLLIN }));
		vec_push(&items, ((zmq_pollitem_t){ .socket = sockets[i]->monitor,
						    .events = ZMQ_POLLIN }));
	}
	if (gate)
		vec_push(&items,
			 ((zmq_pollitem_t){ .socket = gate, .events = ZMQ_POLLIN }));
	r = zmq_poll(items.items, (int)items.n,
		     (long)((timeout_ns + 999999) / 1000000));
	for (size_t i = 0; i < n && r >= 0; i++)
		is_there |= items.items[2 * i].revents != 0;
	vec_free(&items);
	return r < 0 ? -zmq_errno() : is_there;
}

int
bus_sockets_wait(struct bus_socket *const *sockets, size_t n, int64_t timeout_ns)
{
	int64_t end_ns = clk_monotonic_ns() + timeout_ns;

	for (;;) {
		int64_t left_ns = end_ns - clk_monotonic_ns();
		int r;

		left_ns = left_ns < 0 ? 0 : left_ns;
		r = poll_all(sockets, n,
			     left_ns < BUS_SERVE_NS ? left_ns : BUS_SERVE_NS);
		if (r < 0)
			return r;
		bus_context_serve(sockets[0]->context);
		for (size_t i = 0; i < n; i++)
			bus_socket_serve(sockets[i]);
		if (r || clk_monotonic_ns() >= end_ns)
			return r;
	}
}

/* ---- In a loop ------------------------------------------------------------------- */

static void
watch_add(struct bus_watch *watch, struct loop_item *item)
{
	vec_push(&watch->items, item);
}

static void
serve_now_and_then(void *ctx, int64_t now_ns, int64_t missed)
{
	struct bus_watch *watch = ctx;

	(void)now_ns;
	(void)missed;
	watch->serve(watch->ctx);
}

void
bus_watch_join(struct bus_watch *watch, struct loop *loop, struct bus_context *context,
	       void (*serve)(void *ctx), void *ctx)
{
	BUG_ON(watch->loop);
	*watch = (struct bus_watch){ .loop = loop, .serve = serve, .ctx = ctx };
	watch_add(watch, loop_every(loop, BUS_SERVE_NS, serve_now_and_then, watch));
	if (context->gate)
		watch_add(watch, loop_socket(loop, context->gate, serve, ctx));
}

void
bus_watch_socket(struct bus_watch *watch, struct bus_socket *s,
		 void (*ready)(void *ctx), void *ctx)
{
	watch_add(watch, loop_socket(watch->loop, s->zmq, ready, ctx));
	watch_add(watch,
		  loop_socket(watch->loop, s->monitor, watch->serve, watch->ctx));
}

void
bus_watch_leave(struct bus_watch *watch)
{
	for (size_t i = 0; i < watch->items.n; i++)
		loop_remove(watch->loop, watch->items.items[i]);
	vec_free(&watch->items);
	*watch = (struct bus_watch){ .loop = NULL };
}
