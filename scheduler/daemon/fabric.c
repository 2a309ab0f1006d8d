/*
 * fabric.c - the fabric: read from a file, or asked of antiphase-topology, and asked again
 * when a change is announced.  Without one, links are those of the hosts alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/daemon/settings.h"
#include "lib/wire/rpc.h"
#include "scheduler/daemon/daemon.h"
#include "topology/read.h"
#include "topology/reply.h"
#include "topology/route.h"
#include "topology/topo.h"

#define ASK_TIMEOUT_NS (5 * DAEMON_SECOND_NS)
#define RETRY_NS       (10 * DAEMON_SECOND_NS)
/* Announced changes may be missed. */
#define REFRESH_NS (300 * DAEMON_SECOND_NS)

static void
take_up(struct daemon *d, struct topo *topo)
{
	struct fabric *fabric = &d->fabric;

	/* What was found speaks of links of the one before. */
	telemetry_stop_scan(d);
	history_give_up(d);
	contention_fini(&d->now.found);
	refresh_restart(d);
	routes_free(fabric->routes);
	topo_unref(fabric->topo);
	fabric->topo = topo;
	fabric->routes = routes_new(topo, (uint64_t)daemon_integer(d, "ecmp_seed"));
	fabric->since_us = clk_wall_us();
	free(fabric->why);
	fabric->why = NULL;
	log_info("fabric", "%s: %u hosts, %u links", topo_name(topo),
		 topo_n_hosts(topo), topo_n_links(topo));
	d->now.looked_ns = 0;
	jobs_set_fabric(d);
}

static void
pod_report_why(struct daemon *d, const struct err *err)
{
	struct fabric *fabric = &d->fabric;

	free(fabric->why);
	fabric->why = err->line
			      ? xasprintf("%s:%u: %s", err->file, err->line, err->text)
			      : xstrdup(err->text);
	log_limited(&fabric->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "fabric",
		    "%s; going on with %s", fabric->why,
		    fabric->topo ? "the one before" : "the hosts' own links");
}

static int
read_it(struct daemon *d, struct err *err)
{
	const char *path = daemon_text(d, "topology");
	struct topo *topo;
	char *text;
	size_t n;
	int r = file_read(path, TOPO_MAX_FILE_BYTES, &text, &n, err);

	if (r < 0)
		return r;
	r = topo_read(path, text, n, NULL, &topo, err);
	free(text);
	if (r == 0)
		take_up(d, topo);
	return r;
}

static void
on_plan(void *ctx, const char *reply, size_t n, const struct err *why)
{
	struct daemon *d = ctx;
	const char *endpoint = daemon_text(d, "topology");
	struct topo *topo;
	struct err err;

	d->fabric.question = NULL;
	if (!reply)
		pod_report_why(d, why);
	else if (topo_reply_plan(endpoint, reply, n, &topo, &err) < 0)
		pod_report_why(d, &err);
	else
		take_up(d, topo);
}

static void
ask(struct daemon *d)
{
	struct fabric *fabric = &d->fabric;
	struct err err;

	fabric->is_out_of_date = false;
	fabric->asked_ns = clk_monotonic_ns();
	if (rpc_ask(d->loop, daemon_text(d, "topology"), d->keys,
		    "{\"op\":\"snapshot\"}", ASK_TIMEOUT_NS, on_plan, d,
		    &fabric->question, &err) < 0)
		pod_report_why(d, &err);
}

static void
on_change(void *ctx, const char *text, size_t n)
{
	struct daemon *d = ctx;

	(void)text;
	(void)n;
	d->fabric.is_out_of_date = true;
}

int
fabric_open(struct daemon *d, struct err *err)
{
	const char *source = daemon_text(d, "topology");
	const char *changes = daemon_text(d, "topology_changes");
	int r;

	if (settings_is_none(source))
		return 0;
	d->fabric.is_service =
		strncmp(source, "tcp://", 6) == 0 || strncmp(source, "ipc://", 6) == 0;
	if (!d->fabric.is_service)
		return read_it(d, err);
	if (!settings_is_none(changes)) {
		r = rpc_listener_open(changes, d->keys, "t/plan", &d->fabric.listener,
				      err);
		if (r < 0)
			return r;
		rpc_listener_join(d->fabric.listener, d->loop, on_change, d);
	}
	ask(d);
	return 0;
}

void
fabric_reload(struct daemon *d)
{
	struct err err;

	if (d->fabric.is_service)
		d->fabric.is_out_of_date = true;
	else if (!settings_is_none(daemon_text(d, "topology")) && read_it(d, &err) < 0)
		pod_report_why(d, &err);
}

void
fabric_tick(struct daemon *d)
{
	struct fabric *fabric = &d->fabric;
	int64_t age_ns = clk_monotonic_ns() - fabric->asked_ns;

	if (!fabric->is_service || fabric->question)
		return;
	if (fabric->is_out_of_date || (fabric->why && age_ns >= RETRY_NS) ||
	    age_ns >= REFRESH_NS)
		ask(d);
}

void
fabric_close(struct daemon *d)
{
	struct fabric *fabric = &d->fabric;

	rpc_forget(fabric->question);
	rpc_listener_close(fabric->listener);
	routes_free(fabric->routes);
	topo_unref(fabric->topo);
	free(fabric->why);
}
