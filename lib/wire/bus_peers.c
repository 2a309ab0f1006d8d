/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_peers.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/wire/bus_connections.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_speakers.h"
#include "lib/wire/bus_subscriptions.h"
#include "lib/wire/bus_topic.h"

struct bus_peers {
	struct bus_socket *socket; /* Borrowed. */
	struct bus_subscriptions *subscriptions;
	struct bus_connections connections; /* 'of': their bus_subscriber. */
	bool is_strict;
	uint64_t n_ended;
	struct log_limit said, strange_said;
};

/* ---- Connections ----------------------------------------------------------------- */

static void
forget(void *ctx, struct bus_connection *connection)
{
	struct bus_peers *peers = ctx;

	if (connection->of)
		bus_subscriptions_disconnect(peers->subscriptions, connection->of);
}

struct bus_peers *
bus_peers_new(struct bus_socket *s, size_t max_bytes)
{
	struct bus_peers *peers = xcalloc(1, sizeof *peers);

	peers->socket = s;
	peers->subscriptions = bus_subscriptions_new(max_bytes / 4, max_bytes);
	bus_connections_init(&peers->connections, forget, peers);
	return peers;
}

void
bus_peers_be_strict(struct bus_peers *peers)
{
	peers->is_strict = true;
}

void
bus_peers_free(struct bus_peers *peers)
{
	if (!peers)
		return;
	bus_connections_fini(&peers->connections);
	bus_subscriptions_free(peers->subscriptions);
	free(peers);
}

/* The connection of a message; NULL: ZeroMQ itself sent it, at the end of one. */
static struct bus_connection *
peer_of(struct bus_peers *peers, struct bus_part *part)
{
	struct bus_connection *peer =
		bus_connections_of(&peers->connections, part, peers->socket->is_bound);

	if (peer && !peer->of)
		peer->of = bus_subscriptions_connect(peers->subscriptions);
	return peer;
}

static void
end(struct bus_peers *peers, const struct bus_subscriber *subscriber, const char *why)
{
	for (size_t i = 0; i < peers->connections.by_fd.n; i++) {
		struct bus_connection *peer = peers->connections.by_fd.items[i];

		if (!peer || peer->of != subscriber)
			continue;
		if (!bus_connection_end(peer))
			return;
		peers->n_ended++;
		log_limited(&peers->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
			    "%s: the connection of %s is ended: %s",
			    peers->socket->endpoint, peer->metadata, why);
		return;
	}
}

/*
 * Ends the connection of a client that subscribes to what is for other hosts.  ZeroMQ has
 * added the subscription, so a message that was being sent may still reach it.
 */
static void
check_names(struct bus_peers *peers, const struct bus_connection *peer,
	    const char *prefix, size_t n)
{
	const struct bus_keys *keys = peers->socket->context->keys;
	const struct bus_known *known =
		keys && peer->key[0] ? bus_keys_client(keys, peer->key) : NULL;
	char shown[BUS_MAX_SUBSCRIPTION + 1];

	if (keys && peer->key[0] && !known) /* Its key was taken off the list. */
		bus_connection_end(peer);
	if (!known || bus_may_hear(known, prefix, n, peers->is_strict) ||
	    !bus_connection_end(peer))
		return;
	memcpy(shown, prefix, n);
	shown[n] = '\0';
	utf8_disarm(shown, 0);
	peers->n_ended++;
	log_limited(&peers->strange_said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "%s: the connection of %s is ended: it subscribes to '%s', and its "
		    "key '%s' does not speak for that host; if it should, list it in "
		    "allow/%s.hosts",
		    peers->socket->endpoint, peer->metadata, shown, known->name,
		    known->name);
}

void
bus_peers_serve(struct bus_peers *peers)
{
	const struct bus_subscriber *subscriber;
	const char *why;

	if (bus_connections_serve(&peers->connections, peers->socket->context->keys,
				  clk_monotonic_ns()))
		bus_subscriptions_second(peers->subscriptions);
	while ((subscriber = bus_subscriptions_excess(peers->subscriptions, &why)))
		end(peers, subscriber, why);
}

/* ---- Subscriptions --------------------------------------------------------------- */

/* A subscription: a byte, 1 or 0, and the prefix. */
static bool
take(struct bus_peers *peers, struct bus_part *part)
{
	struct bus_connection *peer = peer_of(peers, part);
	const char *bytes = (const char *)bus_part_bytes(part);
	size_t n = bus_part_size(part);
	bool is_ours = n && n - 1 <= BUS_MAX_SUBSCRIPTION && !(bytes[0] & ~1);

	if (!peer)
		return is_ours && !bytes[0] &&
		       bus_subscriptions_drop(peers->subscriptions, bytes + 1, n - 1);
	if (is_ours && bytes[0])
		check_names(peers, peer, bytes + 1, n - 1);
	if (is_ours)
		return (bytes[0] ? bus_subscriptions_add : bus_subscriptions_remove)(
			peers->subscriptions, peer->of, bytes + 1, n - 1);
	bus_subscriptions_misuse(peers->subscriptions, peer->of);
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
