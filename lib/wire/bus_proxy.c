/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_proxy.c - the proxy: XSUB towards publishers, XPUB towards subscribers; each
 * socket forwards what the other receives.  Frames are not parsed, so later versions
 * pass; with keys, topics are.
 */
#include <errno.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_inputs.h"
#include "lib/wire/bus_peers.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_speakers.h"
#include "lib/wire/bus_topic.h"

/* Messages in a row of one direction, before the other direction is served. */
#define BURST 1000

struct bus_proxy {
	struct bus_context context;
	struct bus_inputs from;
	struct bus_socket to;
	struct bus_peers *peers; /* Of 'to'.  Owned. */
	struct bus_part part;
	bool is_passing; /* The message whose parts are being read. */
	struct bus_proxy_counts counts;
	struct bus_watch watch;
};

int
bus_proxy_open(const char *const *from, size_t n, bool is_from_bound, const char *to,
	       const struct bus_keys *keys, struct bus_proxy **ret_proxy,
	       struct err *err)
{
	const struct bus_inputs_opts opts = {
		.type = ZMQ_XSUB,
		.room = BUS_ROOM_CLUSTER,
		.is_bound = is_from_bound,
		.has_frames = true,
	};
	struct bus_proxy *proxy = xcalloc(1, sizeof *proxy);
	int error = bus_context_init(&proxy->context, keys, err);

	bus_part_init(&proxy->part);
	if (!error)
		error = bus_socket_init(&proxy->to, &proxy->context, ZMQ_XPUB,
					BUS_ROOM_CLUSTER, err);
	proxy->peers = bus_peers_new(&proxy->to, BUS_PEERS_CLUSTER_BYTES);
	if (!error)
		error = bus_socket_attach(&proxy->to, to, true, err);
	if (is_from_bound)
		bus_peers_be_strict(proxy->peers);
	if (!error)
		error = bus_inputs_open(&proxy->from, &proxy->context, &opts, from, n,
					err);
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
	bus_inputs_close(&proxy->from);
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
	struct bus_inputs_counts from;

	bus_inputs_serve(&proxy->from);
	bus_socket_serve(&proxy->to);
	from = bus_inputs_counts(&proxy->from);
	proxy->counts.ended =
		bus_peers_ended(proxy->peers) + from.crowded + proxy->to.crowded;
	proxy->counts.refused = from.refused + proxy->to.refused;
	proxy->counts.misnamed = from.misnamed;
	proxy->counts.duplicates = from.duplicates;
	return &proxy->counts;
}

/* True if the message with this topic is to be passed on. */
static bool
may_pass(struct bus_proxy *proxy)
{
	const char *topic = (const char *)bus_part_bytes(&proxy->part);
	const char *server = bus_inputs_server(&proxy->from);
	struct bus_speakers *speakers = proxy->from.speakers;
	size_t n = bus_part_size(&proxy->part);
	char host[TELE_MAX_NAME + 1];

	if (!speakers)
		return true;
	if (!bus_speakers_may_send(speakers, &proxy->part, server, topic, n))
		return false;
	return !bus_topic_frame_host(topic, n, host) ||
	       bus_speakers_claim(speakers, &proxy->part, server, host, 0);
}

/* Forwards frames until there are none, but no more than a burst. */
static void
pass_frames(void *ctx)
{
	struct bus_proxy *proxy = ctx;
	bool has_more = false;

	for (unsigned n = 0; n < BURST || has_more; n += !has_more) {
		bool is_topic = !has_more;
		size_t size;

		if (bus_inputs_take(&proxy->from, &proxy->part, &has_more) < 0)
			break;
		if (is_topic)
			proxy->is_passing = may_pass(proxy);
		if (!proxy->is_passing)
			continue;
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
			bus_inputs_pass(&proxy->from, &proxy->part);
	}
}

static void
serve_others(void *ctx)
{
	struct bus_proxy *proxy = ctx;

	bus_context_serve(&proxy->context);
	bus_peers_serve(proxy->peers);
	bus_inputs_serve(&proxy->from);
	bus_socket_serve(&proxy->to);
}

void
bus_proxy_join(struct bus_proxy *proxy, struct loop *loop)
{
	bus_watch_join(&proxy->watch, loop, &proxy->context, serve_others, proxy);
	bus_inputs_watch(&proxy->from, &proxy->watch, pass_frames, proxy);
	bus_watch_socket(&proxy->watch, &proxy->to, pass_subscriptions, proxy);
}
