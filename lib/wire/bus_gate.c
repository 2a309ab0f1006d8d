/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_gate.c - the check whether a bound socket accepts a public key (ZAP, RFC 27).
 *
 * ZeroMQ's thread asks through a socket of this context.  Only the one connection waits
 * for the reply, so the loop may send it later.
 */
#include <errno.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/clk.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_socket.h"

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_PARTS    7 /* Version, id, domain, address, identity, mechanism, key. */
#define ZAP_MAX_PART 256

/* The allow list is not read more often. */
#define READ_AGAIN_NS INT64_C(1000000000)

#define MAX_SOCKETS 8192

int
bus_context_init(struct bus_context *context, const struct bus_keys *keys,
		 struct err *err)
{
	int r = descriptors_raise(err);

	if (r < 0)
		return r;
	*context = (struct bus_context){ .zmq = zmq_ctx_new() };
	if (!keys)
		return 0;
	if (!zmq_has("curve")) {
		err_set(err, NULL, 0, 0, "this libzmq was built without CURVE");
		return -ENOTSUP;
	}
	/* One for each key of a server (bus_inputs.h), each with two for its events. */
	zmq_ctx_set(context->zmq, ZMQ_MAX_SOCKETS, MAX_SOCKETS);
	context->keys = bus_keys_copy(keys);
	context->keys_read_ns = clk_monotonic_ns();
	/* ROUTER instead of REP: an invalid request blocks nothing. */
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

/* By the keys of the directory, at most a second old. */
static bool
is_allowed(struct bus_context *context, const char *z85)
{
	int64_t now_ns = clk_monotonic_ns();
	struct err err;

	if (now_ns - context->keys_read_ns >= READ_AGAIN_NS) {
		context->keys_read_ns = now_ns;
		if (bus_keys_reload(context->keys, &err) < 0)
			log_limited(&context->keys->said, now_ns, LOG_LEVEL_ERR, "bus",
				    "%s: %s; keys stay as they were", err.file,
				    err.text);
	}
	if (!bus_keys_client(context->keys, z85))
		bus_keys_refresh(context->keys); /* It may just have been added. */
	return bus_keys_client(context->keys, z85) != NULL;
}

/*
 * 'z85' goes into the metadata of all messages of the connection (User-Id, see
 * bus_connections.h); NULL: it is refused.
 */
static void
answer(struct bus_context *context, const uint8_t *peer, size_t peer_n,
       const uint8_t *id, size_t id_n, const char *z85)
{
	const char *parts[] = { z85 ? "200" : "400", z85 ? "OK" : "not allowed",
				z85 ? z85 : "", "" };

	zmq_send(context->gate, peer, peer_n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(context->gate, id, id_n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	for (size_t i = 0; i < 4; i++)
		zmq_send(context->gate, parts[i], strlen(parts[i]),
			 (i < 3 ? ZMQ_SNDMORE : 0) | ZMQ_DONTWAIT);
}

/* Receives a request: the parts peer, empty, and those of ZAP; false without one. */
static bool
serve_gate(struct bus_context *context)
{
	uint8_t parts[2 + ZAP_PARTS][ZAP_MAX_PART] = { 0 };
	size_t sizes[2 + ZAP_PARTS] = { 0 }, n = 0;
	char z85[BUS_Z85_CHARS + 1];
	bool is_in = false;
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
		is_in = is_allowed(context, z85);
	context->turned_away += !is_in;
	answer(context, parts[0], sizes[0], parts[3], sizes[3], is_in ? z85 : NULL);
	return true;
}

void
bus_context_serve(struct bus_context *context)
{
	int64_t now_ns = clk_monotonic_ns();

	if (context->keys && now_ns - context->keys_refreshed_ns >= READ_AGAIN_NS) {
		context->keys_refreshed_ns = now_ns;
		bus_keys_refresh(context->keys);
	}
	while (context->gate && serve_gate(context))
		continue;
}
