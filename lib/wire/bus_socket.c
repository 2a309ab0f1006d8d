#include "lib/wire/bus_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_DOMAIN   "antiphase"
#define ZAP_PARTS    7 /* Version, id, domain, address, identity, mechanism, key. */
#define ZAP_MAX_PART 256

/* A peer that went away without a word is noticed after so long. */
#define HEARTBEAT_MS         5000
#define HEARTBEAT_TIMEOUT_MS 15000
#define RECONNECT_MS         100
#define RECONNECT_MAX_MS     2000
#define LINGER_MS            200

#define SECOND_NS INT64_C(1000000000)

_Static_assert(sizeof(zmq_msg_t) == sizeof(struct bus_part), "a part is a zmq_msg_t");

/* ---- Endpoints ----------------------------------------------------------------------- */

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

static int
check_endpoint(const char *endpoint, struct err *err)
{
	if (strncmp(endpoint, "tcp://", 6) != 0 && strncmp(endpoint, "ipc://", 6) != 0)
		return err_set(err, NULL, 0, 0,
			       "'%s' is no endpoint: expected 'tcp://HOST:PORT' or "
			       "'ipc://PATH'",
			       endpoint);
	if (strlen(endpoint) > 200)
		return err_set(err, NULL, 0, 0, "'%.40s...' is too long", endpoint);
	return 0;
}

/* ---- The gate ------------------------------------------------------------------------- */

int
bus_context_init(struct bus_context *context, const struct bus_keys *keys,
		 struct err *err)
{
	*context = (struct bus_context){ .zmq = zmq_ctx_new() };
	if (!keys)
		return 0;
	if (!zmq_has("curve")) {
		err_set(err, NULL, 0, 0, "this libzmq was built without CURVE");
		return -ENOTSUP;
	}
	context->keys = bus_keys_copy(keys);
	context->keys_read_ns = clk_monotonic_ns();
	/* ROUTER in place of REP: a request that is no such stops nothing. */
	context->gate = zmq_socket(context->zmq, ZMQ_ROUTER);
	if (zmq_bind(context->gate, ZAP_ENDPOINT) < 0)
		BUG("the gate cannot be bound: %s", zmq_strerror(zmq_errno()));
	return 0;
}

void
bus_context_fini(struct bus_context *context)
{
	if (context->gate) {
		int linger_ms = 0;

		zmq_setsockopt(context->gate, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
		zmq_close(context->gate);
	}
	bus_keys_free(context->keys);
	if (context->zmq)
		zmq_ctx_term(context->zmq);
	*context = (struct bus_context){ 0 };
}

/* The keys as the directory has them, not older than a second. */
static const char *
name_of_key(struct bus_context *context, const char *z85)
{
	int64_t now_ns = clk_monotonic_ns();

	if (now_ns - context->keys_read_ns >= SECOND_NS) {
		context->keys_read_ns = now_ns;
		bus_keys_reload(context->keys);
	}
	return bus_keys_name(context->keys, z85);
}

static void
answer(struct bus_context *context, const uint8_t *peer, size_t peer_n,
       const uint8_t *id, size_t id_n, const char *name)
{
	const char *parts[] = { name ? "200" : "400", name ? "OK" : "not allowed",
				name ? name : "", "" };

	zmq_send(context->gate, peer, peer_n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, id, id_n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	for (size_t i = 0; i < 4; i++)
		zmq_send(context->gate, parts[i], strlen(parts[i]),
			 (i < 3 ? ZMQ_SNDMORE : 0) | ZMQ_DONTWAIT);
}

/* Takes one request of the parts peer, empty, and those of ZAP; false without one. */
static bool
serve_gate(struct bus_context *context)
{
	uint8_t parts[2 + ZAP_PARTS][ZAP_MAX_PART];
	size_t sizes[2 + ZAP_PARTS] = { 0 }, n = 0;
	char z85[BUS_Z85_CHARS + 1];
	const char *name = NULL;
	int more = 1;
	size_t more_size = sizeof more;

	while (more) {
		uint8_t rest[ZAP_MAX_PART];
		bool fits = n < 2 + ZAP_PARTS;
		int size = zmq_recv(context->gate, fits ? parts[n] : rest, ZAP_MAX_PART,
				    ZMQ_DONTWAIT);

		if (size < 0)
			return false;
		if (fits)
			sizes[n] = (size_t)size < ZAP_MAX_PART ? (size_t)size
							       : ZAP_MAX_PART;
		n++;
		zmq_getsockopt(context->gate, ZMQ_RCVMORE, &more, &more_size);
	}
	if (n < 4)
		return true;
	if (n == 2 + ZAP_PARTS && sizes[7] == 5 && memcmp(parts[7], "CURVE", 5) == 0 &&
	    sizes[8] == BUS_KEY_BYTES && zmq_z85_encode(z85, parts[8], BUS_KEY_BYTES))
		name = name_of_key(context, z85);
	context->turned_away += name == NULL;
	answer(context, parts[0], sizes[0], parts[3], sizes[3], name);
	return true;
}

void
bus_context_serve(struct bus_context *context)
{
	while (context->gate && serve_gate(context))
		continue;
}

/* ---- Sockets -------------------------------------------------------------------------- */

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
			       ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
				       ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) < 0)
		BUG("a socket cannot be watched: %s", zmq_strerror(zmq_errno()));
	s->monitor = zmq_socket(s->context->zmq, ZMQ_PAIR);
	if (zmq_connect(s->monitor, endpoint) < 0)
		BUG("a socket cannot be watched: %s", zmq_strerror(zmq_errno()));
}

int
bus_socket_init(struct bus_socket *s, struct bus_context *context, int type,
		unsigned room, struct err *err)
{
	int64_t max_bytes = type == ZMQ_XPUB ? 4096 : TELE_MAX_BYTES;

	*s = (struct bus_socket){ .context = context };
	s->zmq = zmq_socket(context->zmq, type);
	if (!s->zmq)
		return err_set_errno(err, NULL, zmq_errno(), "cannot make a socket");
	s->names = strtab_new();
	set_int(s->zmq, ZMQ_LINGER, LINGER_MS);
	set_int(s->zmq, ZMQ_SNDHWM, (int)room);
	set_int(s->zmq, ZMQ_RCVHWM, (int)room);
	set_int(s->zmq, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
	set_int(s->zmq, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
	set_int(s->zmq, ZMQ_RECONNECT_IVL, RECONNECT_MS);
	set_int(s->zmq, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
	set_int(s->zmq, ZMQ_BACKLOG, 4096);
	zmq_setsockopt(s->zmq, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
	open_monitor(s);
	return 0;
}

/* Keys: who is bound is the server, in CURVE's words, and asks the gate. */
static int
set_keys(struct bus_socket *s, const char *endpoint, bool is_bound, struct err *err)
{
	const struct bus_keys *keys = s->context->keys;

	if (!keys) {
		if (!is_bound || bus_endpoint_is_local(endpoint))
			return 0;
		err_set(err, NULL, 0, 0,
			"'%s' is beyond this host, where only a socket with keys may be "
			"bound; 'antiphase keys new' makes some",
			endpoint);
		return -EACCES;
	}
	zmq_setsockopt(s->zmq, ZMQ_CURVE_SECRETKEY, keys->secret, BUS_Z85_CHARS + 1);
	zmq_setsockopt(s->zmq, ZMQ_CURVE_PUBLICKEY, keys->public, BUS_Z85_CHARS + 1);
	if (is_bound) {
		set_int(s->zmq, ZMQ_CURVE_SERVER, 1);
		zmq_setsockopt(s->zmq, ZMQ_ZAP_DOMAIN, ZAP_DOMAIN, strlen(ZAP_DOMAIN));
		return 0;
	}
	if (!keys->server[0])
		return err_set(err, NULL, 0, 0,
			       "%s/server.pub is missing: the public key of '%s'; "
			       "'antiphase keys server' sets it",
			       keys->directory, endpoint);
	zmq_setsockopt(s->zmq, ZMQ_CURVE_SERVERKEY, keys->server, BUS_Z85_CHARS + 1);
	return 0;
}

int
bus_socket_attach(struct bus_socket *s, const char *endpoint, bool is_bound,
		  struct err *err)
{
	size_t size = sizeof s->endpoint;
	int error = check_endpoint(endpoint, err);

	if (!error)
		error = set_keys(s, endpoint, is_bound, err);
	if (error < 0)
		return error;
	set_int(s->zmq, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
	s->is_bound = is_bound;
	if ((is_bound ? zmq_bind : zmq_connect)(s->zmq, endpoint) < 0) {
		error = -zmq_errno();
		err_set(err, NULL, 0, 0, "cannot %s to '%s': %s",
			is_bound ? "bind" : "connect", endpoint, zmq_strerror(-error));
		return error;
	}
	zmq_getsockopt(s->zmq, ZMQ_LAST_ENDPOINT, s->endpoint, &size);
	if (!is_bound)
		vec_push(&s->peers, ((struct bus_peer){ xstrdup(endpoint), 0, 0 }));
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
	vec_free(&s->is_up);
	*s = (struct bus_socket){ 0 };
}

/* ---- Connections ---------------------------------------------------------------------- */

/*
 * A peer's name may change when it is connected to again, from "localhost" to its
 * address: so any that comes up makes good for any that was lost.
 */
static void
note_up(struct bus_socket *s, const char *name)
{
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
	for (size_t i = 0; i < s->peers.n; i++) {
		if (strcmp(s->peers.items[i].endpoint, name) == 0)
			s->peers.items[i].wait_ns = 0;
	}
}

static void
note_down(struct bus_socket *s, const char *name)
{
	uint32_t id = s->is_bound ? STRTAB_NONE : strtab_find(s->names, name);

	if (id == STRTAB_NONE || !s->is_up.items[id])
		return;
	s->is_up.items[id] = false;
	s->n_up--;
	s->n_lost++;
	log_info("bus", "%s: the connection was lost", name);
}

/*
 * Who was refused is not connected to again by ZeroMQ.  But he may be allowed later:
 * we do it, after a second, two, four, and so on up to half a minute.
 */
static void
retry_later(struct bus_socket *s, const char *name)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		struct bus_peer *peer = &s->peers.items[i];

		if (peer->retry_ns ||
		    (s->peers.n > 1 && strcmp(peer->endpoint, name) != 0))
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
		/* Otherwise it would think that it is connected. */
		zmq_disconnect(s->zmq, peer->endpoint);
		if (zmq_connect(s->zmq, peer->endpoint) < 0)
			log_err("bus", "cannot connect to '%s': %s", peer->endpoint,
				zmq_strerror(zmq_errno()));
	}
}

/* Tells of a refusal, not more than once in ten seconds. */
static void
note_refusal(struct bus_socket *s, const char *peer, unsigned event)
{
	int64_t now_ns = clk_monotonic_ns();

	s->refused++;
	if (s->told_ns && now_ns - s->told_ns < 10 * SECOND_NS)
		return;
	s->told_ns = now_ns;
	if (s->is_bound)
		log_warn("bus",
			 "%s: a connection was refused, as its key is not allowed",
			 peer);
	else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
		log_warn("bus",
			 "%s does not let us in: our key is not on its list "
			 "('antiphase keys allow', there)",
			 peer);
	else
		log_warn("bus",
			 "%s: no connection; only one side has keys, or its key "
			 "is not that of server.pub",
			 peer);
}

void
bus_socket_serve(struct bus_socket *s)
{
	uint8_t head[6];
	char peer[256];

	while (zmq_recv(s->monitor, head, sizeof head, ZMQ_DONTWAIT) ==
	       (int)sizeof head) {
		int n = zmq_recv(s->monitor, peer, sizeof peer - 1, ZMQ_DONTWAIT);
		uint16_t event;

		if (n < 0)
			break;
		peer[(size_t)n < sizeof peer ? (size_t)n : sizeof peer - 1] = '\0';
		memcpy(&event, head, sizeof event); /* In the host's order. */
		if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
			note_up(s, peer);
		else if (event == ZMQ_EVENT_DISCONNECTED)
			note_down(s, peer);
		else
			note_refusal(s, peer, event);
		if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
		    event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
			retry_later(s, peer);
	}
	retry_refused(s);
}

int
bus_socket_wait(struct bus_socket *s, int64_t timeout_ns)
{
	int64_t end_ns = clk_monotonic_ns() + timeout_ns;

	for (;;) {
		zmq_pollitem_t items[] = {
			{ .socket = s->zmq, .events = ZMQ_POLLIN },
			{ .socket = s->monitor, .events = ZMQ_POLLIN },
			{ .socket = s->context->gate, .events = ZMQ_POLLIN },
		};
		int64_t left_ns = end_ns - clk_monotonic_ns();
		bool is_last;
		int n;

		if (left_ns < 0)
			left_ns = 0;
		is_last = left_ns <= BUS_SERVE_NS;
		if (!is_last)
			left_ns = BUS_SERVE_NS;
		n = zmq_poll(items, s->context->gate ? 3 : 2,
			     (long)((left_ns + 999999) / 1000000));
		if (n < 0)
			return -zmq_errno();
		bus_context_serve(s->context);
		bus_socket_serve(s);
		if (items[0].revents)
			return 1;
		if (n == 0 && is_last)
			return 0;
	}
}

/* ---- Parts of messages ------------------------------------------------------------------ */

void
bus_part_init(struct bus_part *part)
{
	zmq_msg_init((zmq_msg_t *)part);
}

void
bus_part_fini(struct bus_part *part)
{
	zmq_msg_close((zmq_msg_t *)part);
}

int
bus_part_take(struct bus_socket *s, struct bus_part *part, bool *ret_has_more)
{
	zmq_msg_t *message = (zmq_msg_t *)part;

	if (zmq_msg_recv(message, s->zmq, ZMQ_DONTWAIT) < 0)
		return -zmq_errno();
	*ret_has_more = zmq_msg_more(message) != 0;
	return 0;
}

int
bus_part_pass(struct bus_socket *s, struct bus_part *part, bool has_more)
{
	int flags = ZMQ_DONTWAIT | (has_more ? ZMQ_SNDMORE : 0);

	return zmq_msg_send((zmq_msg_t *)part, s->zmq, flags) < 0 ? -zmq_errno() : 0;
}

const uint8_t *
bus_part_bytes(const struct bus_part *part)
{
	/* zmq_msg_data() changes nothing, and asks for more than it needs. */
	return zmq_msg_data((zmq_msg_t *)(uintptr_t)part);
}

size_t
bus_part_size(const struct bus_part *part)
{
	return zmq_msg_size((const zmq_msg_t *)part);
}
