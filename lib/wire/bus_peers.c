/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_peers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/wire/bus_descriptors.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_subscriptions.h"
#include "lib/wire/bus_topic.h"

/* Ended connections are looked for this often. */
#define SWEEP_NS INT64_C(1000000000)

/*
 * A connection.  Descriptors are reused; the address of the metadata that ZeroMQ attaches
 * to all of its messages is not, as long as one of them is kept.
 */
struct peer {
	struct bus_part first; /* Its first message, which keeps the metadata. */
	const char *metadata;  /* In there. */
	int fd;
	ino_t inode; /* Of the socket; 0: it was closed already. */
	struct bus_subscriber *subscriber;
};

struct bus_peers {
	struct bus_socket *socket; /* Borrowed. */
	struct bus_subscriptions *subscriptions;
	VEC(struct peer *) by_fd; /* NULL: none. */
	int64_t swept_ns;
	uint64_t n_ended;
	struct log_limit said;
};

struct bus_peers *
bus_peers_new(struct bus_socket *s, size_t max_bytes)
{
	struct bus_peers *peers = xcalloc(1, sizeof *peers);

	peers->socket = s;
	peers->subscriptions = bus_subscriptions_new(max_bytes / 4, max_bytes);
	return peers;
}

/* ---- Connections ----------------------------------------------------------------- */

static void
forget(struct bus_peers *peers, struct peer *peer)
{
	peers->by_fd.items[peer->fd] = NULL;
	bus_subscriptions_disconnect(peers->subscriptions, peer->subscriber);
	bus_part_fini(&peer->first);
	free(peer);
}

void
bus_peers_free(struct bus_peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; i < peers->by_fd.n; i++)
		if (peers->by_fd.items[i])
			forget(peers, peers->by_fd.items[i]);
	vec_free(&peers->by_fd);
	bus_subscriptions_free(peers->subscriptions);
	free(peers);
}

static void
sweep(struct bus_peers *peers)
{
	for (size_t i = 0; i < peers->by_fd.n; i++) {
		struct peer *peer = peers->by_fd.items[i];

		if (peer && bus_descriptors_inode(peer->fd) != peer->inode)
			forget(peers, peer);
	}
}

/* The connection of a message; NULL: ZeroMQ itself sent it, at the end of one. */
static struct peer *
peer_of(struct bus_peers *peers, struct bus_part *part)
{
	const char *metadata = bus_part_metadata(part);
	int fd = bus_part_fd(part);
	struct peer *peer;

	if (!metadata || fd < 0)
		return NULL;
	while (peers->by_fd.n <= (size_t)fd)
		vec_push(&peers->by_fd, NULL);
	peer = peers->by_fd.items[fd];
	if (peer && peer->metadata == metadata)
		return peer;
	if (peer)
		forget(peers, peer);
	peer = xcalloc(1, sizeof *peer);
	bus_part_init(&peer->first);
	bus_part_copy(&peer->first, part);
	peer->metadata = metadata;
	peer->fd = fd;
	peer->inode = bus_descriptors_inode(fd);
	peer->subscriber = bus_subscriptions_connect(peers->subscriptions);
	peers->by_fd.items[fd] = peer;
	return peer;
}

/*
 * Shuts the connection down; ZeroMQ notices and closes it.  The inode shows that the
 * descriptor is still that of this connection.
 */
static void
end(struct bus_peers *peers, const struct bus_subscriber *subscriber, const char *why)
{
	for (size_t i = 0; i < peers->by_fd.n; i++) {
		struct peer *peer = peers->by_fd.items[i];

		if (!peer || peer->subscriber != subscriber)
			continue;
		if (!peer->inode || bus_descriptors_inode(peer->fd) != peer->inode)
			return;
		peers->n_ended++;
		log_limited(&peers->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
			    "%s: the connection of %s is ended: %s",
			    peers->socket->endpoint, peer->metadata, why);
		shutdown(peer->fd, SHUT_RDWR);
		return;
	}
}

void
bus_peers_serve(struct bus_peers *peers)
{
	int64_t now_ns = clk_monotonic_ns();
	const struct bus_subscriber *subscriber;
	const char *why;

	if (now_ns - peers->swept_ns >= SWEEP_NS) {
		peers->swept_ns = now_ns;
		sweep(peers);
		bus_subscriptions_second(peers->subscriptions);
	}
	while ((subscriber = bus_subscriptions_excess(peers->subscriptions, &why)))
		end(peers, subscriber, why);
}

/* ---- Subscriptions --------------------------------------------------------------- */

/* A subscription: a byte, 1 or 0, and the prefix. */
static bool
take(struct bus_peers *peers, struct bus_part *part)
{
	struct peer *peer = peer_of(peers, part);
	const char *bytes = (const char *)bus_part_bytes(part);
	size_t n = bus_part_size(part);
	bool is_ours = n && n - 1 <= BUS_MAX_SUBSCRIPTION && !(bytes[0] & ~1);

	if (!peer)
		return is_ours && !bytes[0] &&
		       bus_subscriptions_drop(peers->subscriptions, bytes + 1, n - 1);
	if (is_ours)
		return (bytes[0] ? bus_subscriptions_add : bus_subscriptions_remove)(
			peers->subscriptions, peer->subscriber, bytes + 1, n - 1);
	bus_subscriptions_misuse(peers->subscriptions, peer->subscriber);
	return false;
}

int
bus_peers_take(struct bus_peers *peers, struct bus_part *part)
{
	bool has_more, is_change;
	int r = bus_part_take(peers->socket, part, &has_more);

	if (r < 0)
		return r;
	is_change = take(peers, part);
	bus_peers_serve(peers);
	return is_change && !has_more;
}

bool
bus_peers_want(const struct bus_peers *peers, const char *topic, size_t n)
{
	return bus_subscriptions_match(peers->subscriptions, topic, n);
}

bool
bus_peers_want_any(const struct bus_peers *peers)
{
	return bus_subscriptions_any(peers->subscriptions);
}

uint64_t
bus_peers_ended(const struct bus_peers *peers)
{
	return peers->n_ended;
}
