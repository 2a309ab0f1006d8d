/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/fabric_source.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/http_call.h"
#include "lib/wire/bus.h"
#include "scheduler/daemon/config.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/service_reply.h"
#include "topology/topo.h"

#define SECOND_NS      INT64_C(1000000000)
#define ASK_TIMEOUT_NS (5 * SECOND_NS)
#define RETRY_NS       (10 * SECOND_NS)
#define REFRESH_NS     (300 * SECOND_NS) /* In case an announcement was missed. */

struct fabric_source {
	struct fabric_source_opts opts;
	struct topo *topo;     /* Owned reference; NULL: not known (yet). */
	struct routes *routes; /* Owned. */
	bool is_service;
	int64_t since_us;        /* When it was loaded, wall clock. */
	char *error;             /* Owned. Why there is none, or no newer one. */
	struct http_call *call;  /* Owned. */
	struct bus_sub *changes; /* Owned. */
	bool is_out_of_date;     /* A change was announced. */
	int64_t asked_ns;
	struct log_limit error_limit;
};

struct fabric_source *
fabric_source_new(const struct fabric_source_opts *opts)
{
	struct fabric_source *fabric = xcalloc(1, sizeof *fabric);

	fabric->opts = *opts;
	return fabric;
}

void
fabric_source_free(struct fabric_source *fabric)
{
	if (!fabric)
		return;
	http_call_cancel(fabric->call);
	bus_sub_close(fabric->changes);
	routes_free(fabric->routes);
	topo_unref(fabric->topo);
	free(fabric->error);
	free(fabric);
}

struct topo *
fabric_source_topo(const struct fabric_source *fabric)
{
	return fabric->topo;
}

struct routes *
fabric_source_routes(const struct fabric_source *fabric)
{
	return fabric->routes;
}

int64_t
fabric_source_since_us(const struct fabric_source *fabric)
{
	return fabric->since_us;
}

const char *
fabric_source_error(const struct fabric_source *fabric)
{
	return fabric->error;
}

void
fabric_source_replace(struct fabric_source *fabric, struct topo *topo)
{
	struct topo *last_topo = fabric->topo;
	struct routes *last_routes = fabric->routes;

	fabric->topo = topo;
	fabric->routes = routes_new(topo, fabric->opts.config->ecmp_seed);
	fabric->since_us = clk_wall_us();
	free(fabric->error);
	fabric->error = NULL;
	log_info("fabric", "%s: %u hosts, %u links", topo_name(topo),
		 topo_n_hosts(topo), topo_n_links(topo));
	if (fabric->opts.on_change)
		fabric->opts.on_change(fabric->opts.ctx);
	routes_free(last_routes);
	topo_unref(last_topo);
}

static void
note_error(struct fabric_source *fabric, const struct err *err)
{
	free(fabric->error);
	fabric->error = err_line(err);
	log_limited(&fabric->error_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "fabric",
		    "%s; going on with %s", fabric->error,
		    fabric->topo ? "the one before" : "the hosts' own links");
}

static int
read_file(struct fabric_source *fabric, struct err *err)
{
	const char *path = fabric->opts.config->topology;
	struct topo *topo;
	char *text;
	size_t n;
	int r = file_read(path, TOPO_MAX_FILE_BYTES, &text, &n, err);

	if (r < 0)
		return r;
	r = topo_read(path, text, n, NULL, &topo, err);
	free(text);
	if (r == 0)
		fabric_source_replace(fabric, topo);
	return r;
}

/* ---- The service -------------------------------------------------------------------- */

static void
on_plan(void *ctx, int status, const char *reply, size_t n)
{
	struct fabric_source *fabric = ctx;
	const char *service = fabric->opts.config->topology;
	struct topo *topo = NULL;
	struct err err = { .line = 0 };

	fabric->call = NULL;
	if (status < 0)
		err_set(&err, NULL, 0, 0, "%s", reply);
	else if (status != 200)
		http_ask_error(service, status, reply, n, &err);
	else
		(void)topo_reply_plan(service, reply, n, &topo, &err);
	if (topo)
		fabric_source_replace(fabric, topo);
	else
		note_error(fabric, &err);
}

static void
ask(struct fabric_source *fabric)
{
	const struct http_call_opts opts = {
		.address = http_ask_address(fabric->opts.config->topology),
		.method = "GET",
		.path = "/api/v1/snapshot",
		.timeout_ns = ASK_TIMEOUT_NS,
		.max_bytes = TOPO_MAX_REPLY_BYTES,
	};
	struct err err = { .line = 0 };

	fabric->is_out_of_date = false;
	fabric->asked_ns = clk_monotonic_ns();
	if (http_call(fabric->opts.loop, &opts, on_plan, fabric, &fabric->call, &err) <
	    0)
		note_error(fabric, &err);
}

static void
on_change(void *ctx)
{
	struct fabric_source *fabric = ctx;
	const char *topic;
	const uint8_t *text;
	size_t n;

	while (bus_sub_message(fabric->changes, &topic, &text, &n) == 1)
		fabric->is_out_of_date = true;
}

int
fabric_source_open(struct fabric_source *fabric, struct err *err)
{
	const char *source = fabric->opts.config->topology;
	const char *changes = fabric->opts.config->topology_changes;
	int r;

	if (!source)
		return 0;
	fabric->is_service = http_ask_address(source) != NULL;
	if (!fabric->is_service)
		return read_file(fabric, err);
	r = http_call_check(http_ask_address(source), err);
	if (r < 0)
		return r;
	if (changes) {
		r = bus_sub_open_texts(changes, fabric->opts.keys, "t/plan",
				       &fabric->changes, err);
		if (r < 0)
			return r;
		bus_sub_join(fabric->changes, fabric->opts.loop, on_change, fabric);
	}
	ask(fabric);
	return 0;
}

void
fabric_source_reload(struct fabric_source *fabric)
{
	struct err err;

	if (fabric->is_service)
		fabric->is_out_of_date = true;
	else if (fabric->opts.config->topology && read_file(fabric, &err) < 0)
		note_error(fabric, &err);
}

void
fabric_source_tick(struct fabric_source *fabric)
{
	int64_t age_ns = clk_monotonic_ns() - fabric->asked_ns;

	if (!fabric->is_service || fabric->call)
		return;
	if (fabric->is_out_of_date || (fabric->error && age_ns >= RETRY_NS) ||
	    age_ns >= REFRESH_NS)
		ask(fabric);
}
