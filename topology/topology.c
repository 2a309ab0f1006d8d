/*
 * topology.c - antiphase-topology: which links the fabric has, and what is seen of them.
 *
 * Reads the plan, listens to this host's lldpd and to the kernel's links, takes the
 * reports of other hosts, answers requests and announces changes.  What all that means is
 * service.h's; here are files, sockets, signals and the loop.
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
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/notify.h"
#include "lib/wire/bus.h"
#include "lib/wire/rpc.h"
#include "topology/in_lldp.h"
#include "topology/links_netlink.h"
#include "topology/lldp_run.h"
#include "topology/read.h"
#include "topology/seen.h"
#include "topology/service.h"
#include "topology/topo.h"

#define SECOND_NS      ((int64_t)1000000000)
#define DEFAULT_HOST_S 30  /* lldpd itself sends that often. */
#define DEFAULT_AGE_S  300 /* 2.5 times the usual time to live of what LLDP says. */
#define LLDP_TIMEOUT_S 5

struct settings {
	const char *plan; /* Path. */
	const char *listen, *publish, *metrics;
	const char *keys; /* Directory; NULL: none. */
	const char *host;
	const char *lldpcli, *lldp_socket;
	int64_t every_s, max_age_s;
	bool no_lldp, no_links, verbose;
};

struct daemon {
	struct settings set;
	struct loop *loop;
	struct service *service;
	struct bus_keys *keys; /* NULL: none. */
	struct rpc_server *server;
	struct rpc_announcer *announcer;
	struct http *http;
	struct links *links;
	struct lldp_run *lldp;
	char host[TOPO_MAX_NAME + 1];
	bool is_asked_soon; /* LLDP is to be asked at the next tick. */
	bool lldp_worked;
	bool lldp_was_asked;
};

static const struct cli_verb verb_daemon;

/* ---- The plan --------------------------------------------------------------------- */

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

	notify_status("plan %s: %u hosts, %u links", d->set.plan, topo_n_hosts(plan),
		      topo_n_links(plan));
}

static void
on_hangup(void *ctx, int signal)
{
	struct daemon *d = ctx;
	struct err err = { .line = 0 };
	struct topo *plan;

	(void)signal;
	notify_send("RELOADING=1");
	if (read_plan(d->set.plan, &plan, &err) < 0) {
		log_err("topo", "%s:%u: %s; the plan stays as it was", err.file,
			err.line, err.text);
	} else {
		service_set_plan(d->service, plan, d->set.plan, clk_wall_us());
		topo_unref(plan);
	}
	notify_send("READY=1");
	tell_status(d);
}

/* ---- This host -------------------------------------------------------------------- */

static void
on_lldp(void *ctx, const char *text, size_t n, const struct err *why)
{
	struct daemon *d = ctx;
	struct seen_node report;
	struct err err = { .line = 0 };
	bool is_ok;

	seen_node_init(&report, d->host);
	if (!text)
		err = *why;
	is_ok = text && lldp_read(d->set.lldpcli, text, n, &report, &err) == 0;
	if (is_ok)
		service_report(d->service, &report, clk_wall_us());
	seen_node_fini(&report);
	if (is_ok && (!d->lldp_worked || !d->lldp_was_asked))
		log_info("lldp", "lldpd answers");
	if (!is_ok && (d->lldp_worked || !d->lldp_was_asked))
		log_warn("lldp", "%s; going on without this host's neighbours",
			 err.text);
	d->lldp_worked = is_ok;
	d->lldp_was_asked = true;
	service_set_lldp(d->service, is_ok ? SERVICE_LLDP_OK : SERVICE_LLDP_FAILED);
}

static void
report_links(struct daemon *d)
{
	struct seen_node report;

	if (!d->links)
		return;
	seen_node_init(&report, d->host);
	if (links_report(d->links, &report) == 0)
		service_report(d->service, &report, clk_wall_us());
	seen_node_fini(&report);
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

/* ---- Others ------------------------------------------------------------------------ */

static void
on_request(void *ctx, const char *request, size_t n, struct strbuf *reply)
{
	struct daemon *d = ctx;

	service_answer(d->service, request, n, clk_wall_us(), reply);
}

static void
on_change(void *ctx, const char *topic, const char *text)
{
	struct daemon *d = ctx;

	if (d->announcer)
		rpc_announce(d->announcer, topic, text);
}

static void
write_metrics(void *ctx, struct strbuf *out)
{
	struct daemon *d = ctx;
	struct metrics m;

	metrics_init(&m, out);
	metrics_process(&m, cli_version());
	service_metrics(d->service, clk_wall_us(), &m);
}

static void
on_stop(void *ctx, int signal)
{
	struct daemon *d = ctx;

	(void)signal;
	loop_stop(d->loop, CLI_OK);
}

static void
on_watchdog(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)ctx;
	(void)now_ns;
	(void)missed;
	notify_send("WATCHDOG=1");
}

/* ---- Start and end ------------------------------------------------------------------ */

static bool
is_off(const char *setting)
{
	/* The collector's word serves as well. */
	return strcmp(setting, "off") == 0 || strcmp(setting, "none") == 0;
}

static int
open_sockets(struct daemon *d, struct err *err)
{
	const struct http_page pages[] = {
		{ "/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics,
		  d },
	};
	int r = 0;

	if (d->set.keys)
		r = bus_keys_load(d->set.keys, &d->keys, err);
	if (r == 0)
		r = rpc_server_open(d->set.listen, d->keys, on_request, d, &d->server,
				    err);
	if (r == 0 && !is_off(d->set.publish))
		r = rpc_announcer_open(d->set.publish, d->keys, &d->announcer, err);
	if (r == 0 && !is_off(d->set.metrics))
		r = http_open(d->loop, d->set.metrics, pages, 1, &d->http, err);
	if (r < 0)
		return r;
	rpc_server_join(d->server, d->loop);
	if (d->announcer)
		rpc_announcer_join(d->announcer, d->loop);
	return 0;
}

static void
open_host(struct daemon *d)
{
	const struct lldp_run_opts opts = {
		.program = d->set.lldpcli,
		.socket = d->set.lldp_socket,
		.timeout_ns = LLDP_TIMEOUT_S * SECOND_NS,
		.done = on_lldp,
		.ctx = d,
	};
	struct err err;

	if (!d->set.no_lldp)
		d->lldp = lldp_run_new(d->loop, &opts);
	if (!d->set.no_links) {
		if (links_open(&d->links, &err) < 0)
			log_warn("links", "%s; going on without", err.text);
		else
			loop_fd(d->loop, links_fd(d->links), on_links, d);
	}
	d->is_asked_soon = true;
	loop_every(d->loop, d->set.every_s * SECOND_NS, on_due, d);
}

static void
catch_signals(struct daemon *d)
{
	int64_t watchdog_ns = notify_watchdog_ns();

	signal(SIGPIPE, SIG_IGN);
	loop_signal(d->loop, SIGTERM, on_stop, d);
	loop_signal(d->loop, SIGINT, on_stop, d);
	loop_signal(d->loop, SIGHUP, on_hangup, d);
	if (watchdog_ns > 0)
		loop_every(d->loop, watchdog_ns, on_watchdog, d);
}

static int
serve(struct daemon *d)
{
	const struct service_opts opts = {
		.max_age_us = d->set.max_age_s * 1000000,
		.announce = on_change,
		.ctx = d,
	};
	struct err err = { .line = 0 };
	struct topo *plan;
	int r = read_plan(d->set.plan, &plan, &err);

	if (r < 0)
		return cli_fail(r, &err);
	d->service = service_new(&opts);
	service_set_plan(d->service, plan, d->set.plan, clk_wall_us());
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
	log_info("topo", "plan %s: %u hosts, %u links; answering at %s", d->set.plan,
		 topo_n_hosts(plan), topo_n_links(plan), d->set.listen);
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
	http_close(d->http);
	rpc_server_close(d->server);
	rpc_announcer_close(d->announcer);
	bus_keys_free(d->keys);
	service_free(d->service);
	loop_free(d->loop);
}

static int
run_daemon(int argc, char **argv)
{
	char host[256] = "";
	struct daemon d = { .set = {
				    .listen = "tcp://127.0.0.1:7462",
				    .publish = "tcp://127.0.0.1:7463",
				    .metrics = "127.0.0.1:9472",
				    .lldpcli = "lldpcli",
				    .every_s = DEFAULT_HOST_S,
				    .max_age_s = DEFAULT_AGE_S,
			    } };
	struct settings *set = &d.set;
	const struct cli_opt opts[] = {
		{ "listen", 'l', CLI_STR, &set->listen, "ENDPOINT",
		  "answer requests here (tcp://127.0.0.1:7462)", 0, 0, NULL, NULL },
		{ "publish", 'p', CLI_STR, &set->publish, "ENDPOINT",
		  "announce changes here, or 'off' (tcp://127.0.0.1:7463)", 0, 0, NULL,
		  NULL },
		{ "metrics", 'm', CLI_STR, &set->metrics, "ADDRESS",
		  "for Prometheus, or 'off' (127.0.0.1:9472)", 0, 0, NULL, NULL },
		{ "keys", 'k', CLI_STR, &set->keys, "DIR",
		  "let in only who has a key that is allowed there", 0, 0, NULL, NULL },
		{ "host", 0, CLI_STR, &set->host, "NAME",
		  "this host's name in the plan (its hostname)", 0, 0, NULL, NULL },
		{ "no-lldp", 0, CLI_FLAG, &set->no_lldp, NULL,
		  "do not ask this host's lldpd", 0, 0, NULL, NULL },
		{ "no-links", 0, CLI_FLAG, &set->no_links, NULL,
		  "do not follow this host's interfaces", 0, 0, NULL, NULL },
		{ "lldp-socket", 0, CLI_STR, &set->lldp_socket, "PATH",
		  "lldpd's socket, if not its usual one", 0, 0, NULL, NULL },
		{ "lldpcli", 0, CLI_STR, &set->lldpcli, "PROGRAM",
		  "run this to ask lldpd (lldpcli)", 0, 0, NULL, NULL },
		{ "every", 0, CLI_INT, &set->every_s, "SECONDS",
		  "ask lldpd so often (30)", 1, 3600, NULL, NULL },
		{ "max-age", 0, CLI_INT, &set->max_age_s, "SECONDS",
		  "forget reports in the comparison that are older (300); 0: never", 0,
		  86400, NULL, NULL },
		{ "verbose", 'v', CLI_FLAG, &set->verbose, NULL, "say more on stderr",
		  0, 0, NULL, NULL },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_daemon, opts, argc, argv);
	int status;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_daemon, "expected one PLAN");
	set->plan = argv[first];
	log_set_level(set->verbose ? LOG_LEVEL_DBG : LOG_LEVEL_INFO);
	if (!set->host && gethostname(host, sizeof host - 1) == 0)
		set->host = host;
	seen_copy_name(d.host, set->host && *set->host ? set->host : "localhost");
	status = serve(&d);
	daemon_fini(&d);
	return status;
}

static const struct cli_verb verb_daemon = {
	.name = "",
	.summary = "which links the fabric has, and what is seen of them",
	.usage = "[options] PLAN",
	.examples = "  antiphase-topology /etc/antiphase/topology.json\n"
		    "  antiphase-topology --listen ipc:///run/antiphase/topology.rpc "
		    "lab.json\n"
		    "  antiphase topology diff --from tcp://127.0.0.1:7462\n",
	.run = run_daemon,
};

int
main(int argc, char **argv)
{
	return cli_main_single("antiphase-topology", &verb_daemon, argc, argv);
}
