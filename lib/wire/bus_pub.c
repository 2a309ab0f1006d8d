/* SPDX-License-Identifier: Apache-2.0 */
/* bus_pub.c - publisher: an XPUB socket that tracks subscriptions. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_peers.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/tele.h"

/* Subscriptions handled before the rest of the program has its turn again. */
#define BURST 256

/* At its end a lossless publisher waits this long to send the rest. */
#define LOSSLESS_LINGER_MS 5000

struct bus_pub {
	struct bus_context context;
	struct bus_socket socket;
	struct bus_peers *peers; /* Owned. */
	struct tele_buffer encoded;
	struct bus_pub_counts counts;
	struct bus_watch watch;
};

int
bus_pub_open_room(const char *endpoint, bool is_bound, const struct bus_keys *keys,
		  unsigned room_frames, struct bus_pub **ret_pub, struct err *err)
{
	struct bus_pub *pub = xcalloc(1, sizeof *pub);
	int error = bus_context_init(&pub->context, keys, err);

	if (!error)
		error = bus_socket_init(&pub->socket, &pub->context, ZMQ_XPUB,
					room_frames, err);
	pub->peers = bus_peers_new(&pub->socket, room_frames > BUS_ROOM_HOST
							 ? BUS_PEERS_CLUSTER_BYTES
							 : BUS_PEERS_HOST_BYTES);
	if (!error)
		error = bus_socket_attach(&pub->socket, endpoint, is_bound, err);
	if (error < 0)
		bus_pub_close(pub);
	else
		*ret_pub = pub;
	return error;
}

int
bus_pub_open(const char *endpoint, bool is_bound, const struct bus_keys *keys,
	     struct bus_pub **ret_pub, struct err *err)
{
	return bus_pub_open_room(endpoint, is_bound, keys, BUS_ROOM_HOST, ret_pub, err);
}

void
bus_pub_set_lossless(struct bus_pub *pub)
{
	int linger_ms = LOSSLESS_LINGER_MS, is_on = 1;

	zmq_setsockopt(pub->socket.zmq, ZMQ_XPUB_NODROP, &is_on, sizeof is_on);
	zmq_setsockopt(pub->socket.zmq, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
}

void
bus_pub_close(struct bus_pub *pub)
{
	if (!pub)
		return;
	bus_watch_leave(&pub->watch);
	bus_peers_free(pub->peers);
	bus_socket_fini(&pub->socket);
	bus_context_fini(&pub->context);
	tele_buffer_fini(&pub->encoded);
	free(pub);
}

const char *
bus_pub_endpoint(const struct bus_pub *pub)
{
	return pub->socket.endpoint;
}

const struct bus_pub_counts *
bus_pub_counts(struct bus_pub *pub)
{
	pub->counts.refused = pub->socket.refused;
	pub->counts.ended = bus_peers_ended(pub->peers) + pub->socket.crowded;
	return &pub->counts;
}

/* ---- Subscriptions --------------------------------------------------------------- */

void
bus_pub_serve(struct bus_pub *pub)
{
	struct bus_part part;

	bus_context_serve(&pub->context);
	bus_part_init(&part);
	for (unsigned n = 0; n < BURST; n++)
		if (bus_peers_take(pub->peers, &part) < 0)
			break;
	bus_part_fini(&part);
	bus_peers_serve(pub->peers);
	bus_socket_serve(&pub->socket);
}

static void
serve(void *ctx)
{
	bus_pub_serve(ctx);
}

void
bus_pub_join(struct bus_pub *pub, struct loop *loop)
{
	bus_watch_join(&pub->watch, loop, &pub->context, serve, pub);
	bus_watch_socket(&pub->watch, &pub->socket, serve, pub);
}

int
bus_pub_wait(struct bus_pub *pub, int64_t timeout_ns)
{
	int64_t end_ns = clk_monotonic_ns() + timeout_ns, left_ns = timeout_ns;

	for (;;) {
		struct bus_socket *socket = &pub->socket;
		int result = bus_sockets_wait(&socket, 1, left_ns > 0 ? left_ns : 0);

		bus_pub_serve(pub);
		left_ns = end_ns - clk_monotonic_ns();
		if (result < 0 || left_ns <= 0)
			return result < 0 ? result : 0;
	}
}

bool
bus_pub_is_wanted(struct bus_pub *pub, uint8_t kind, const char *host)
{
	char topic[BUS_MAX_TOPIC];
	size_t n = bus_topic(topic, kind, host);

	bus_pub_serve(pub);
	return bus_peers_want(pub->peers, topic, n);
}

bool
bus_pub_is_heard(struct bus_pub *pub)
{
	bus_pub_serve(pub);
	return bus_peers_want_any(pub->peers);
}

/* ---- Frames ---------------------------------------------------------------------- */

static int
publish(struct bus_pub *pub, const char *topic, size_t topic_n, const void *bytes,
	size_t n)
{
	if (zmq_send(pub->socket.zmq, topic, topic_n, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
	    zmq_send(pub->socket.zmq, bytes, n, ZMQ_DONTWAIT) < 0)
		return -zmq_errno();
	pub->counts.frames++;
	pub->counts.bytes += n;
	return 0;
}

void
bus_pub_text(struct bus_pub *pub, const char *topic, const char *text)
{
	bus_pub_serve(pub);
	(void)publish(pub, topic, strlen(topic), text, strlen(text));
}

int
bus_pub_bytes(struct bus_pub *pub, uint8_t kind, const char *host, const uint8_t *bytes,
	      size_t n)
{
	char topic[BUS_MAX_TOPIC];
	size_t topic_n = bus_topic(topic, kind, host);

	bus_pub_serve(pub);
	return publish(pub, topic, topic_n, bytes, n);
}

int
bus_pub_frame(struct bus_pub *pub, const struct tele_frame *frame)
{
	pub->encoded.n = 0;
	tele_encode(frame, &pub->encoded);
	return bus_pub_bytes(pub, frame->kind, frame->host, pub->encoded.bytes,
			     pub->encoded.n);
}
