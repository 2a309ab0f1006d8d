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
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/tele.h"

/* With more subscriptions than this, every topic counts as wanted. */
#define MAX_PREFIXES     16384
#define MAX_PREFIX_BYTES BUS_MAX_SUBSCRIPTION

/* At its end a lossless publisher waits this long to send the rest. */
#define LOSSLESS_LINGER_MS 5000

struct prefix {
	uint8_t n;
	char bytes[MAX_PREFIX_BYTES];
};

struct bus_pub {
	struct bus_context context;
	struct bus_socket socket;
	/* Subscribed prefixes, each once, as XPUB reports them; sorted. */
	VEC(struct prefix) prefixes;
	uint64_t n_untracked; /* Subscriptions beyond the limit. */
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
	bus_socket_fini(&pub->socket);
	bus_context_fini(&pub->context);
	vec_free(&pub->prefixes);
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
	return &pub->counts;
}

/* ---- Subscriptions --------------------------------------------------------------- */

static int
compare(const struct prefix *prefix, const char *bytes, size_t n)
{
	int order = memcmp(prefix->bytes, bytes, prefix->n < n ? prefix->n : n);

	return order ? order : (prefix->n > n) - (prefix->n < n);
}

/* The index of the prefix, or where to insert it. */
static size_t
find_prefix(const struct bus_pub *pub, const char *bytes, size_t n, bool *ret_found)
{
	size_t low = 0, high = pub->prefixes.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&pub->prefixes.items[middle], bytes, n) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = low < pub->prefixes.n &&
		     compare(&pub->prefixes.items[low], bytes, n) == 0;
	return low;
}

static void
add_prefix(struct bus_pub *pub, const char *bytes, size_t n)
{
	struct prefix prefix = { .n = (uint8_t)n };
	bool is_found;
	size_t at = find_prefix(pub, bytes, n, &is_found);

	if (is_found)
		return;
	if (pub->prefixes.n == MAX_PREFIXES) {
		pub->n_untracked++;
		return;
	}
	memcpy(prefix.bytes, bytes, n);
	vec_push(&pub->prefixes, prefix);
	memmove(pub->prefixes.items + at + 1, pub->prefixes.items + at,
		(pub->prefixes.n - 1 - at) * sizeof prefix);
	pub->prefixes.items[at] = prefix;
}

static void
remove_prefix(struct bus_pub *pub, const char *bytes, size_t n)
{
	bool is_found;
	size_t at = find_prefix(pub, bytes, n, &is_found);

	if (is_found) {
		pub->prefixes.n--;
		memmove(pub->prefixes.items + at, pub->prefixes.items + at + 1,
			(pub->prefixes.n - at) * sizeof pub->prefixes.items[0]);
	} else if (pub->n_untracked) {
		pub->n_untracked--;
	}
}

/* Handles a subscription: a byte, 1 or 0, and the prefix; ignores other messages. */
static void
take_subscription(struct bus_pub *pub, const uint8_t *bytes, size_t n)
{
	const char *text = (const char *)bytes + 1;

	/* No topic of ours is this long. */
	if (n < 1 || n - 1 > MAX_PREFIX_BYTES)
		return;
	if (bytes[0] == 1)
		add_prefix(pub, text, n - 1);
	else if (bytes[0] == 0)
		remove_prefix(pub, text, n - 1);
}

void
bus_pub_serve(struct bus_pub *pub)
{
	struct bus_part part;
	bool has_more, is_inside = false;

	bus_context_serve(&pub->context);
	bus_part_init(&part);
	while (bus_part_take(&pub->socket, &part, &has_more) == 0) {
		if (!is_inside)
			take_subscription(pub, bus_part_bytes(&part),
					  bus_part_size(&part));
		is_inside = has_more;
	}
	bus_part_fini(&part);
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
		int result = bus_socket_wait(&pub->socket, left_ns > 0 ? left_ns : 0);

		bus_pub_serve(pub);
		left_ns = end_ns - clk_monotonic_ns();
		if (result < 0 || left_ns <= 0)
			return result < 0 ? result : 0;
	}
}

static bool
is_topic_wanted(const struct bus_pub *pub, const char *topic, size_t n)
{
	if (pub->n_untracked)
		return true;
	for (size_t length = 0; length <= n && pub->prefixes.n; length++) {
		bool is_found;

		find_prefix(pub, topic, length, &is_found);
		if (is_found)
			return true;
	}
	return false;
}

bool
bus_pub_is_wanted(struct bus_pub *pub, uint8_t kind, const char *host)
{
	char topic[BUS_MAX_TOPIC];
	size_t n = bus_topic(topic, kind, host);

	bus_pub_serve(pub);
	return is_topic_wanted(pub, topic, n);
}

bool
bus_pub_is_heard(struct bus_pub *pub)
{
	bus_pub_serve(pub);
	return pub->prefixes.n || pub->n_untracked;
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
