/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.c - antiphase-topology: serves the fabric's plan and the nodes' reports.
 *
 * Reads the plan, queries this host's lldpd, watches the kernel's links, accepts the
 * reports of other hosts, answers requests and announces changes. service.h defines the
 * answers; this file has the sockets, files, signals and the loop.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/notify.h"
#include "lib/daemon/settings.h"
#include "lib/daemon/settings_opts.h"
#include "lib/wire/bus.h"
#include "topology/in_lldp.h"
#include "topology/links_netlink.h"
#include "topology/lldp_run.h"
#include "topology/observed.h"
#include "topology/read.h"
#include "topology/service.h"
#include "topology/settings.h"
#include "topology/topo.h"

#define SECOND_NS      ((int64_t)1000000000)
#define LLDP_TIMEOUT_S 5

struct daemon {
	struct settings *settings; /* Owned. */
	const char *config_file;   /* NULL: the usual one. */
	const char *plan;          /* Path. */
	struct loop *loop;
	struct loop_item *due; /* Calls on_due(). */
	int64_t due_s;         /* Its interval. */
	struct service *service;
	struct bus_keys *keys;     /* NULL: none. */
	struct bus_pub *announcer; /* NULL: none. */
	struct http *api;
	struct http *metrics; /* NULL: none. */
	struct links *links;
	struct lldp_run *lldp;
	char host[TOPO_MAX_NAME + 1];
	bool is_asked_soon; /* Query LLDP at the next tick. */
	bool lldp_worked;
	bool lldp_was_asked;
};

static const struct cli_verb verb_daemon;

/* ---- Settings -------------------------------------------------------------------- */

static const char *
text(const struct daemon *d, const char *key)
{
	return settings_text(d->settings, "topology", key);
}

static int64_t
seconds(const struct daemon *d, const char *key)
{
	return settings_integer(d->settings, "topology", key);
}

/* ---- The plan -------------------------------------------------------------------- */

static int
read_plan(const char *path, struct topo **ret_plan, struct err *err)
{
	char *text;
	size_t n;
	int r = file_read(path, TOPO_MAX_FILE_BYTES, &text, &n, err);

	if (r < 0)
		return r;
	r = topo_read(path, text, n, NULL, ret_plan, err);
	free(text);
	return r;
}

static void
tell_status(const struct daemon *d)
{
	const struct topo *plan = service_plan(d->service);

	notify_status("plan %s: %u hosts, %u links", d->plan, topo_n_hosts(plan),
		      topo_n_links(plan));
}

/* ---- This host ------------------------------------------------------------------- */

static void
on_lldp(void *ctx, const char *said, size_t n, const struct err *why)
{
	struct daemon *d = ctx;
	struct observed_node report;
	struct err err = { .line = 0 };
	bool is_ok;

	observed_node_init(&report, d->host);
	if (!said)
		err = *why;
	is_ok = said && lldp_read(text(d, "lldpcli"), said, n, &report, &err) == 0;
	if (is_ok)
		service_report(d->service, &report, clk_wall_us());
	observed_node_fini(&report);
	if (is_ok && (!d->lldp_worked || !d->lldp_was_asked))
		log_info("lldp", "lldpd answers");
	if (!is_ok && (d->lldp_worked || !d->lldp_was_asked))
		log_warn("lldp", "%s; continuing without this host's neighbors",
			 err.text);
	d->lldp_worked = is_ok;
	d->lldp_was_asked = true;
	service_set_lldp(d->service, is_ok ? SERVICE_LLDP_OK : SERVICE_LLDP_FAILED);
}

static void
report_links(struct daemon *d)
{
	struct observed_node report;

	if (!d->links)
		return;
	observed_node_init(&report, d->host);
	if (links_report(d->links, &report) == 0)
		service_report(d->service, &report, clk_wall_us());
	observed_node_fini(&report);
}

static void
on_links(void *ctx)
{
	struct daemon *d = ctx;

	if (!links_receive(d->links))
		return;
	report_links(d);
	d->is_asked_soon = true;
}

static void
on_due(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;

	(void)now_ns;
	(void)missed;
	report_links(d);
	if (d->lldp)
		lldp_run_start(d->lldp);
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct daemon *d = ctx;

	if (d->is_asked_soon) {
		d->is_asked_soon = false;
		on_due(d, now_ns, missed);
	}
	service_tick(d->service, clk_wall_us());
}

/* ---- SIGHUP ---------------------------------------------------------------------- */

/* Resets the timer if the interval has changed. */
static void
set_timer(struct daemon *d)
{
	int64_t every_s = seconds(d, "every_s");

	if (every_s == d->due_s)
		return;
	if (d->due)
		loop_remove(d->loop, d->due);
	d->due = loop_every(d->loop, every_s * SECOND_NS, on_due, d);
	d->due_s = every_s;
}

/* Applies the settings that settings_reload() has changed. */
static void
take_up(struct daemon *d)
{
	if (settings_has_changed(d->settings, "topology", "log"))
		log_set_level_word(text(d, "log"));
	service_set_max_age(d->service, seconds(d, "max_age_s") * 1000000);
	set_timer(d);
}

static void
on_hangup(void *ctx, int signal)
{
	struct daemon *d = ctx;
	struct err err = { .line = 0 };
	struct topo *plan;

	(void)signal;
	notify_send("RELOADING=1");
	if (settings_reload(d->settings, d->config_file, "topo") >= 0)
		take_up(d);
	if (read_plan(d->plan, &plan, &err) < 0) {
		char *line = err_line(&err);

		log_err("topo", "%s; the plan is unchanged", line);
		free(line);
	} else {
		service_set_plan(d->service, plan, d->plan, clk_wall_us());
		topo_unref(plan);
	}
	notify_send("READY=1");
	tell_status(d);
}

/* ---- Others ---------------------------------------------------------------------- */

static void
on_request(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct daemon *d = ctx;
	bool is_post = strcmp(request->method, "POST") == 0;

	reply->status = service_answer(d->service, strrchr(request->path, '/') + 1,
				       is_post ? request->body : NULL, request->n_body,
				       clk_wall_us(), &reply->body);
}

static void
on_index(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct daemon *d = ctx;

	(void)request;
	http_reply_index(d->api, reply);
}

static const struct http_route routes[] = {
	{ "GET", "/", false, 0, on_index, NULL },
	{ "GET", "/api/v1", false, 0, on_index, NULL },
	{ "GET", "/api/v1/health", false, 0, on_request, NULL },
	{ "GET", "/api/v1/snapshot", false, 0, on_request, NULL },
	{ "POST", "/api/v1/lookup", false, HTTP_MAX_BODY, on_request, NULL },
	{ "GET", "/api/v1/diff", false, 0, on_request, NULL },
	{ "GET", "/api/v1/seen", false, 0, on_request, NULL },
	{ "POST", "/api/v1/seen", false, HTTP_MAX_BODY, on_request, NULL },
};

static void
on_change(void *ctx, const char *topic, const char *text)
{
	struct daemon *d = ctx;

	if (d->announcer)
		bus_pub_text(d->announcer, topic, text);
}

static void
write_figures(struct daemon *d, enum metrics_format format, struct strbuf *out)
{
	struct metrics m;

	metrics_init_as(&m, out, format);
	metrics_process(&m, cli_version());
	service_metrics(d->service, clk_wall_us(), &m);
	metrics_finish(&m);
}

static void
write_metrics(void *ctx, struct strbuf *out)
{
	write_figures(ctx, METRICS_TEXT, out);
}

static void
write_openmetrics(void *ctx, struct strbuf *out)
{
	write_figures(ctx, METRICS_OPEN, out);
}

static void
on_stop(void *ctx, int signal)
{
	struct daemon *d = ctx;

	(void)signal;
	loop_stop(d->loop, CLI_OK);
}

/* ---- Start and end --------------------------------------------------------------- */

static int
open_sockets(struct daemon *d, struct err *err)
{
	const struct http_page pages[] = {
		{ "/metrics", METRICS_OPEN_TYPE, write_openmetrics, d,
		  METRICS_OPEN_NAME, NULL },
		{ "/metrics", METRICS_TEXT_TYPE, write_metrics, d, NULL, NULL },
	};
	const char *publish = text(d, "publish"), *metrics = text(d, "metrics");
	int r = descriptors_raise(err);

	if (r == 0 && *text(d, "keys"))
		r = bus_keys_load(text(d, "keys"), &d->keys, err);
	if (r == 0)
		r = http_open(d->loop, text(d, "listen"), NULL, 0, &d->api, err);
	if (r == 0)
		http_add_routes(d->api, routes, sizeof routes / sizeof *routes, d);
	if (r == 0 && !settings_is_none(publish))
		r = bus_pub_open_room(publish, true, d->keys, BUS_ROOM_TOPICS,
				      &d->announcer, err);
	if (r == 0 && !settings_is_none(metrics))
		r = http_open(d->loop, metrics, pages, 2, &d->metrics, err);
	if (r == 0 && d->announcer)
		bus_pub_join(d->announcer, d->loop);
	return r;
}

static void
open_host(struct daemon *d)
{
	const struct lldp_run_opts opts = {
		.program = text(d, "lldpcli"),
		.socket = *text(d, "lldp_socket") ? text(d, "lldp_socket") : NULL,
		.timeout_ns = LLDP_TIMEOUT_S * SECOND_NS,
		.done = on_lldp,
		.ctx = d,
	};
	struct err err;

	if (settings_is_on(d->settings, "topology", "lldp"))
		d->lldp = lldp_run_new(d->loop, &opts);
	if (settings_is_on(d->settings, "topology", "links")) {
		if (links_open(&d->links, &err) < 0)
			log_warn("links", "%s; continuing without", err.text);
		else
			loop_fd(d->loop, links_fd(d->links), on_links, d);
	}
	d->is_asked_soon = true;
	set_timer(d);
}

static void
catch_signals(struct daemon *d)
{
	signal(SIGPIPE, SIG_IGN);
	loop_signal(d->loop, SIGTERM, on_stop, d);
	loop_signal(d->loop, SIGINT, on_stop, d);
	loop_signal(d->loop, SIGHUP, on_hangup, d);
	notify_watchdog_join(d->loop);
}

static int
serve(struct daemon *d)
{
	const struct service_opts opts = {
		.max_age_us = seconds(d, "max_age_s") * 1000000,
		.announce = on_change,
		.ctx = d,
	};
	struct err err = { .line = 0 };
	struct topo *plan;
	int r = read_plan(d->plan, &plan, &err);

	if (r < 0)
		return cli_fail(r, &err);
	d->service = service_new(&opts);
	service_set_plan(d->service, plan, d->plan, clk_wall_us());
	topo_unref(plan);
	d->loop = loop_new();
	r = open_sockets(d, &err);
	if (r < 0) {
		cli_fail(r, &err);
		return r == -EACCES ? CLI_DENIED : CLI_UNREACHABLE;
	}
	catch_signals(d);
	open_host(d);
	loop_every(d->loop, SECOND_NS, on_tick, d);
	log_info("topo", "plan %s: %u hosts, %u links; answering at %s", d->plan,
		 topo_n_hosts(plan), topo_n_links(plan), text(d, "listen"));
	notify_send("READY=1");
	tell_status(d);
	r = loop_run(d->loop);
	notify_send("STOPPING=1");
	return r;
}

static void
daemon_fini(struct daemon *d)
{
	lldp_run_free(d->lldp);
	links_close(d->links);
	http_close(d->metrics);
	http_close(d->api);
	bus_pub_close(d->announcer);
	bus_keys_free(d->keys);
	service_free(d->service);
	loop_free(d->loop);
	settings_free(d->settings);
}

/* Loads the file, the environment, then the command line: 0 or -errno. */
static int
read_settings(struct daemon *d, const struct settings_said *said, bool is_verbose,
	      struct err *err)
{
	int r;

	d->settings = settings_new(&settings_topology);
	d->config_file = said->file;
	r = settings_load(d->settings, said->file, err);
	if (r == 0)
		r = settings_apply(d->settings, said, err);
	if (r == 0 && is_verbose)
		r = settings_set(d->settings, "topology", "log", "dbg", "--verbose", 0,
				 err);
	if (r == 0)
		log_set_level_word(text(d, "log"));
	return r;
}

static int
run_daemon(int argc, char **argv)
{
	char host[256] = "";
	struct daemon d = { .loop = NULL };
	struct cli_opt opts[SETTINGS_MAX_OPTS];
	struct settings_said said;
	struct err err = { .line = 0 };
	bool is_verbose = false;
	size_t n = settings_opts(&settings_topology, &said, opts);
	int first, status;

	opts[n] = (struct cli_opt){ "verbose",   'v',  CLI_FLAG,
				    &is_verbose, NULL, "say more on stderr: --log dbg",
				    0,           0,    NULL,
				    NULL };
	opts[n + 1] = (struct cli_opt)CLI_OPTS_END;
	first = cli_parse(&verb_daemon, opts, argc, argv);
	if (first < 0)
		return cli_status(first);
	if (read_settings(&d, &said, is_verbose, &err) < 0) {
		status = cli_fail(-EINVAL, &err);
		daemon_fini(&d);
		return status;
	}
	d.plan = first < argc ? argv[first] : text(&d, "plan");
	if (argc - first > 1 || !*d.plan) {
		daemon_fini(&d);
		return cli_usage_error(&verb_daemon, "expected one PLAN");
	}
	if (gethostname(host, sizeof host - 1) < 0 || !*host)
		strcpy(host, "localhost");
	observed_copy_name(d.host, *text(&d, "host") ? text(&d, "host") : host);
	status = serve(&d);
	daemon_fini(&d);
	return status;
}

static const struct cli_verb verb_daemon = {
	.name = "",
	.summary = "which links the fabric has, and what is seen of them",
	.usage = "[options] [PLAN]",
	.examples = "  antiphase-topology /etc/antiphase/topology.json\n"
		    "  antiphase-topology --listen /run/antiphase/topology.sock "
		    "lab.json\n"
		    "  antiphase topology diff --from http://127.0.0.1:7462\n",
	.run = run_daemon,
};

int
main(int argc, char **argv)
{
	return cli_main_single("antiphase-topology", &verb_daemon, argc, argv);
}
