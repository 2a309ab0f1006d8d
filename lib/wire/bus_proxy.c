/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_proxy.c - the proxy: XSUB towards publishers, XPUB towards subscribers; each
 * socket forwards what the other receives.  Frames are not parsed, so later versions
 * pass.
 */
#include <errno.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_peers.h"
#include "lib/wire/bus_socket.h"

/* Messages in a row of one direction, before the other direction is served. */
#define BURST 1000

struct bus_proxy {
	struct bus_context context;
	struct bus_socket from, to;
	struct bus_peers *peers; /* Of 'to'.  Owned. */
	struct bus_part part;
	struct bus_proxy_counts counts;
	struct bus_watch watch;
};

int
bus_proxy_open(const char *const *from, size_t n, bool is_from_bound, const char *to,
	       const struct bus_keys *keys, struct bus_proxy **ret_proxy,
	       struct err *err)
{
	struct bus_proxy *proxy = xcalloc(1, sizeof *proxy);
	int error = bus_context_init(&proxy->context, keys, err);

	bus_part_init(&proxy->part);
	if (!error)
		error = bus_socket_init(&proxy->from, &proxy->context, ZMQ_XSUB,
					BUS_ROOM_CLUSTER, err);
	if (!error)
		error = bus_socket_init(&proxy->to, &proxy->context, ZMQ_XPUB,
					BUS_ROOM_CLUSTER, err);
	proxy->peers = bus_peers_new(&proxy->to, BUS_PEERS_CLUSTER_BYTES);
	if (!error)
		error = bus_socket_attach(&proxy->to, to, true, err);
	for (size_t i = 0; i < n && !error; i++)
		error = bus_socket_attach(&proxy->from, from[i], is_from_bound, err);
	if (error < 0)
		bus_proxy_close(proxy);
	else
		*ret_proxy = proxy;
	return error;
}

void
bus_proxy_close(struct bus_proxy *proxy)
{
	if (!proxy)
		return;
	bus_watch_leave(&proxy->watch);
	bus_part_fini(&proxy->part);
	bus_peers_free(proxy->peers);
	bus_socket_fini(&proxy->from);
	bus_socket_fini(&proxy->to);
	bus_context_fini(&proxy->context);
	free(proxy);
}

const char *
bus_proxy_endpoint(const struct bus_proxy *proxy)
{
	return proxy->to.endpoint;
}

const struct bus_proxy_counts *
bus_proxy_counts(struct bus_proxy *proxy)
{
	bus_socket_serve(&proxy->from);
	bus_socket_serve(&proxy->to);
	proxy->counts.ended =
		bus_peers_ended(proxy->peers) + proxy->from.crowded + proxy->to.crowded;
	proxy->counts.refused = proxy->from.refused + proxy->to.refused;
	return &proxy->counts;
}

/* Forwards frames until there are none, but no more than a burst. */
static void
pass_frames(void *ctx)
{
	struct bus_proxy *proxy = ctx;
	bool has_more = false;

	for (unsigned n = 0; n < BURST || has_more; n += !has_more) {
		size_t size;

		if (bus_part_take(&proxy->from, &proxy->part, &has_more) < 0)
			break;
		size = bus_part_size(&proxy->part);
		/* At its high-water mark XPUB drops messages and reports success. */
		if (bus_part_pass(&proxy->to, &proxy->part, has_more) < 0)
			continue;
		proxy->counts.frames += !has_more;
		proxy->counts.bytes += size;
	}
}

/* Publishers get the first subscription to each prefix, and the end of the last. */
static void
pass_subscriptions(void *ctx)
{
	struct bus_proxy *proxy = ctx;

	for (unsigned n = 0; n < BURST; n++) {
		int r = bus_peers_take(proxy->peers, &proxy->part);

		if (r < 0)
			break;
		if (r)
			bus_part_pass(&proxy->from, &proxy->part, false);
	}
}

static void
serve_others(void *ctx)
{
	struct bus_proxy *proxy = ctx;

	bus_context_serve(&proxy->context);
	bus_peers_serve(proxy->peers);
	bus_socket_serve(&proxy->from);
	bus_socket_serve(&proxy->to);
}

void
bus_proxy_join(struct bus_proxy *proxy, struct loop *loop)
{
	bus_watch_join(&proxy->watch, loop, &proxy->context, serve_others, proxy);
	bus_watch_socket(&proxy->watch, &proxy->from, pass_frames, proxy);
	bus_watch_socket(&proxy->watch, &proxy->to, pass_subscriptions, proxy);
}
