/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_ports.c - the modules that move flows to chosen paths, connected:
 *
 *	reports of hosts -> flow_table --+
 *	advice of jobs ------------------+-> path_orders -> port_relay -> collectors
 *	answers of probes -> path_ports -+-> connect_offers -----------> collectors
 */
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/wire/bus.h"
#include "lib/wire/port_text.h"
#include "lib/wire/probe_text.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/connect_offers.h"
#include "scheduler/daemon/daemon_priv.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/path_orders.h"
#include "scheduler/daemon/path_ports.h"
#include "scheduler/daemon/port_relay.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/store/store.h"

void
daemon_announce(void *ctx, const char *topic, const char *text)
{
	struct daemon *d = ctx;

	if (d->announcer)
		bus_pub_text(d->announcer, topic, text);
}

bool
daemon_is_movable(void *ctx, const char *host)
{
	const struct daemon *d = ctx;

	return flow_table_has_host(d->flows, host);
}

void
daemon_add_split(void *ctx, const char *host, const char *job, struct flow_split *split)
{
	const struct daemon *d = ctx;

	flow_table_add_split(d->flows, host, job, split);
}

/* ---- Callbacks ------------------------------------------------------------------- */

/* Of the relay: as for orders to pacers. */
static bool
is_enforced(void *ctx, const char *job)
{
	const struct daemon *d = ctx;
	const struct sched_job *known =
		sched_find_local(actions_snapshot(d->actions), job);

	return *job && modes_now(actions_modes(d->actions),
				 known ? known->partition : "") == MODE_ENFORCE;
}

/* Of path_orders. */
static struct path_wishes
wishes(void *ctx, const char *name)
{
	struct daemon *d = ctx;
	const struct job *job = jobs_find(d->jobs, name);
	struct advisor_view view;

	if (!is_enforced(d, name))
		return (struct path_wishes){ .wish = PATH_WISH_OFF };
	if (!job)
		return (struct path_wishes){ .wish = PATH_WISH_WAIT };
	if (job->number == UINT32_MAX || job->is_waiting)
		return (struct path_wishes){ .wish = PATH_WISH_NONE };
	if (!jobs_view(d->jobs, job, &view))
		return (struct path_wishes){ .wish = PATH_WISH_WAIT };
	if (!view.paths)
		return (struct path_wishes){ .wish = PATH_WISH_NONE };
	/* They are stored first. */
	if (view.paths_revision != job->paths_revision)
		return (struct path_wishes){ .wish = PATH_WISH_WAIT };
	return (struct path_wishes){ PATH_WISH_CHOSEN, view.paths, view.n_paths,
				     view.paths_revision };
}

static int
takes_wire(void *ctx, int64_t now_ns, const struct port_flow *flow,
	   const uint32_t *switches, size_t n_switches)
{
	struct daemon *d = ctx;

	return path_ports_takes_wire(d->path_ports, now_ns, flow, switches, n_switches);
}

static int
find_port(void *ctx, int64_t now_ns, const struct port_flow *flow,
	  const uint32_t *switches, size_t n_switches, uint16_t *ret_port)
{
	struct daemon *d = ctx;

	return path_ports_find(d->path_ports, now_ns, flow, switches, n_switches,
			       ret_port);
}

static void
give_port(void *ctx, const struct port_flow *flow, uint16_t port)
{
	struct daemon *d = ctx;

	path_ports_give(d->path_ports, flow, port);
}

static void
release_port(void *ctx, const struct port_flow *flow)
{
	struct daemon *d = ctx;

	path_ports_release(d->path_ports, flow);
}

static int
move(void *ctx, int64_t now_ns, const char *job, const struct port_flow *flow,
     uint16_t port)
{
	struct daemon *d = ctx;

	return port_relay_move(d->port_relay, now_ns, job, flow, port);
}

static bool
takes_own(void *ctx, const struct port_flow *flow, const uint32_t *switches,
	  size_t n_switches)
{
	const struct daemon *d = ctx;

	return path_ports_takes_own(d->path_ports, flow, switches, n_switches);
}

/* Of connect_offers. */
static bool
is_settled(void *ctx, const struct port_flow *flow)
{
	const struct daemon *d = ctx;

	return path_orders_is_settled(d->path_orders, flow);
}

static size_t
paths_of(void *ctx, int64_t now_ns, const char *host, const struct flow_row *row,
	 struct path_switches *ret_paths, size_t max)
{
	struct daemon *d = ctx;

	return path_orders_paths(d->path_orders, now_ns, d->flows, host, row, ret_paths,
				 max);
}

static size_t
find_connect_ports(void *ctx, int64_t now_ns, const struct port_flow *flow,
		   const struct path_switches *path, uint16_t *ret_ports, size_t max)
{
	struct daemon *d = ctx;

	return path_ports_connect(d->path_ports, now_ns, flow, path->switches, path->n,
				  ret_ports, max);
}

/* Of path_ports. */
static bool
range_of(void *ctx, const uint8_t address[16], struct port_range *ret_range)
{
	const struct daemon *d = ctx;

	return flow_table_range(d->flows, address, ret_range);
}

static bool
has_topic(const char *topic, const char *prefix)
{
	return strncmp(topic, prefix, strlen(prefix)) == 0;
}

/* Of collectors that may move flows. */
static void
on_text(void *ctx, const char *topic, const char *text, size_t n)
{
	struct daemon *d = ctx;
	int64_t now_ns = clk_monotonic_ns();
	struct err err = { 0 };
	int r;

	if (has_topic(topic, PORT_TOPIC))
		r = port_relay_take(d->port_relay, now_ns, text, n, &err);
	else if (has_topic(topic, PROBE_TOPIC))
		r = path_ports_take(d->path_ports, now_ns, text, n, &err);
	else
		r = flow_table_take(d->flows, now_ns, text, n, &err);
	if (r < 0)
		log_limited(&d->text_limit, now_ns, LOG_LEVEL_WARN, "ports",
			    "message of a collector refused: %s", err.text);
}

/* ---- The modules ----------------------------------------------------------------- */

void
daemon_make_ports(struct daemon *d)
{
	d->flows = flow_table_new();
	d->port_relay = port_relay_new(&(struct port_relay_opts){
		.is_enforced = is_enforced, .announce = daemon_announce, .ctx = d });
	d->path_ports = path_ports_new(&(struct path_ports_options){
		.range_of = range_of, .announce = daemon_announce, .ctx = d });
	d->path_orders = path_orders_new(
		&(struct path_orders_opts){ .wishes = wishes,
					    .takes_wire = takes_wire,
					    .find_port = find_port,
					    .give_port = give_port,
					    .release_port = release_port,
					    .takes_own = takes_own,
					    .move = move,
					    .ctx = d });
	d->connect_offers = connect_offers_new(
		&(struct connect_offers_opts){ .wishes = wishes,
					       .is_settled = is_settled,
					       .paths = paths_of,
					       .find_ports = find_connect_ports,
					       .announce = daemon_announce,
					       .ctx = d });
}

int
daemon_open_ports(struct daemon *d, struct err *err)
{
	static const char *const prefixes[] = { PORT_TOPIC, FLOW_TOPIC, PROBE_TOPIC,
						NULL };
	int r;

	/* Flows are moved by announcements. */
	if (!d->announcer)
		return 0;
	r = telemetry_on_texts(d->telemetry, prefixes, on_text, d);
	return r < 0 ? err_set_errno(err, NULL, r, "cannot subscribe to flows") : 0;
}

void
daemon_ports_on_fabric(struct daemon *d)
{
	struct topo *topo = fabric_source_topo(d->fabric);

	path_ports_forget(d->path_ports, topo);
	path_orders_set_fabric(d->path_orders, topo);
}

void
daemon_tick_ports(struct daemon *d)
{
	int64_t now_ns = clk_monotonic_ns();
	struct err err;

	port_relay_tick(d->port_relay, now_ns);
	flow_table_tick(d->flows, now_ns);
	path_ports_tick(d->path_ports, now_ns);
	if (!d->announcer)
		return;
	/* After a kill -9 the next start knows all paths that flows were ordered to take. */
	if (d->store && store_commit(d->store, &err) < 0)
		log_limited(&d->store_limit, now_ns, LOG_LEVEL_ERR, "store",
			    "%s; the last second is lost", err.text);
	path_orders_tick(d->path_orders, now_ns, d->flows);
	connect_offers_tick(d->connect_offers, now_ns, d->flows);
}

void
daemon_free_ports(struct daemon *d)
{
	connect_offers_free(d->connect_offers);
	path_orders_free(d->path_orders);
	path_ports_free(d->path_ports);
	port_relay_free(d->port_relay);
	flow_table_free(d->flows);
}
