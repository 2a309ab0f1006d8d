/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.c - inputs of jobs and the scheduler: collective events and iterations of jobs
 * go into frames, orders go to pacers.  Iterations are published at once, because the
 * scheduler steers by them; events each second.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collector/daemon/daemon.h"
#include "collector/jobs/cgroups.h"
#include "collector/jobs/event_socket.h"
#include "collector/jobs/pacer_orders.h"
#include "collector/jobs/pacer_socket.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"

/* The job of the control group at 'path' in the tree. */
static bool
job_of_cgroup(void *ctx, const char *path, char ret_name[TELE_MAX_NAME + 1])
{
	const struct collector *c = ctx;

	return c->cgroups && cgroups_job_of_path(c->cgroups, path, ret_name);
}

/* ---- Up -------------------------------------------------------------------------- */

static bool
fill_events(void *ctx, struct tele_frame *frame)
{
	return event_socket_fill(ctx, frame);
}

static bool
fill_iterations(void *ctx, struct tele_frame *frame)
{
	return pacer_socket_fill(ctx, frame);
}

static void
on_events(void *ctx)
{
	event_socket_read(ctx);
}

static void
send_iterations(struct collector *c, int64_t now_ns)
{
	struct publish_state state = collector_state(c);

	publisher_rows(c->publisher, TELE_PACE, now_ns, &state, fill_iterations,
		       c->pacers);
}

static void
on_pacers(void *ctx)
{
	struct collector *c = ctx;
	int64_t now_ns = clk_monotonic_ns();

	pacer_socket_read(c->pacers, now_ns);
	send_iterations(c, now_ns);
}

/* Logs that limits of collective events were hit. */
static void
check_events(struct collector *c, int64_t now_ns)
{
	const struct event_socket_counts *now = event_socket_counts(c->events);
	uint64_t paused = now->paused - c->paused_events;
	uint64_t refused = now->refused - c->refused_events;

	/* What a sender has too much of waits in its own queue, or is lost there. */
	if (paused)
		log_limited(
			&c->events_log_limit, now_ns, LOG_LEVEL_WARN, "events",
			"%llu senders of collective events sent more than %d within a "
			"second, and had to wait",
			(unsigned long long)paused, EVENT_SOCKET_OF_SENDER);
	if (refused)
		log_limited(&c->events_log_limit, now_ns, LOG_LEVEL_WARN, "events",
			    "%llu connections to the socket of collective events were "
			    "refused or ended: too many of a job, or no events",
			    (unsigned long long)refused);
	c->paused_events = now->paused;
	c->refused_events = now->refused;
}

void
collector_inputs_second(struct collector *c, int64_t now_ns,
			const struct publish_state *state)
{
	if (c->events) {
		publisher_rows(c->publisher, TELE_EVENTS, now_ns, state, fill_events,
			       c->events);
		check_events(c, now_ns);
	}
	if (c->pacers) {
		pacer_socket_tick(c->pacers, now_ns);
		send_iterations(c, now_ns);
	}
}

/* ---- Down ------------------------------------------------------------------------ */

static void
take_orders(struct collector *c, const char *text, size_t n)
{
	struct orders orders = { 0 };
	struct err err = { 0 };

	if (orders_parse(&orders, text, n, c->wall.offset_ns, &err) < 0) {
		c->refused_orders++;
		log_limited(&c->orders_log_limit, clk_monotonic_ns(), LOG_LEVEL_WARN,
			    "pacer", "orders from %s refused: %s", c->config.orders,
			    err.text);
	}
	for (size_t i = 0; i < orders.rows.n; i++) {
		const struct orders_row *row = &orders.rows.items[i];

		(void)pacer_socket_order(c->pacers, row->job, row->pid, &row->order);
	}
	orders_fini(&orders);
}

static void
on_orders(void *ctx)
{
	struct collector *c = ctx;
	const char *topic;
	const uint8_t *bytes;
	size_t n;

	while (bus_sub_message(c->orders, &topic, &bytes, &n) == 1)
		take_orders(c, (const char *)bytes, n);
}

/* Connecting succeeds even if no scheduler announces there. */
static int
open_orders(struct collector *c, struct err *err)
{
	char topic[TELE_MAX_NAME + 8];
	int rc;

	if (settings_is_none(c->config.orders))
		return 0;
	snprintf(topic, sizeof topic, "pace/%s/", c->host);
	rc = bus_sub_open_texts(c->config.orders, c->keys, topic, &c->orders, err);
	if (rc == 0)
		bus_sub_join(c->orders, c->loop, on_orders, c);
	return rc;
}

/* ---- Both ------------------------------------------------------------------------ */

static int
open_events(struct collector *c, struct err *err)
{
	char *path =
		config_runtime_path(&c->config, COLLECTOR_SOCKETS_DIR "/events.sock");
	int rc = event_socket_open(path, NULL, job_of_cgroup, c, &c->events, err);

	if (rc == 0)
		loop_fd(c->loop, event_socket_fd(c->events), on_events, c->events);
	free(path);
	return rc;
}

static int
open_pacers(struct collector *c, struct err *err)
{
	const struct pacer_socket_options options = {
		.is_claim_believed = c->config.is_claim_believed,
		.job_of = job_of_cgroup,
		.ctx = c,
	};
	char *path;
	int rc;

	if (settings_is_none(c->config.pacer_socket))
		return 0;
	path = *c->config.pacer_socket
		       ? xstrdup(c->config.pacer_socket)
		       : config_runtime_path(&c->config,
					     COLLECTOR_SOCKETS_DIR "/pacer.sock");
	rc = pacer_socket_open(path, &options, &c->pacers, err);
	if (rc == 0) {
		loop_fd(c->loop, pacer_socket_fd(c->pacers), on_pacers, c);
		rc = open_orders(c, err);
	}
	free(path);
	return rc;
}

int
collector_open_inputs(struct collector *c, struct err *err)
{
	int rc = open_events(c, err);

	return rc < 0 ? rc : open_pacers(c, err);
}

void
collector_close_inputs(struct collector *c)
{
	bus_sub_close(c->orders);
	pacer_socket_close(c->pacers);
	event_socket_close(c->events);
}
