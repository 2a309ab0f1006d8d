/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - opening and closing of the collector's parts: first those that need root,
 * then, as the configured user and with the remaining capabilities, the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/daemon.h"
#include "collector/jobs/cgroup_path.h"
#include "collector/jobs/cgroups.h"
#include "collector/jobs/job_registry.h"
#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "collector/series/peak_rates.h"
#include "collector/series/saved_totals.h"
#include "collector/series/top_jobs.h"
#include "collector/sources/sources.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/descriptors.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/rng.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/control.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"

/* To write the maps of wire ports, and attach programs to interfaces that appear. */
#define CAPS_PATHS (CAPS(BPF) | CAPS(NET_ADMIN))

/* ---- As root --------------------------------------------------------------------- */

static int
no_runtime_dir(const struct config *config, int error, struct err *err)
{
	err_set_errno(err, config->runtime_dir, error,
		      "cannot make the runtime directory");
	if (error == EACCES || error == EPERM || error == EROFS)
		err_append(err, "; start as root or by systemd, or choose another by "
				"--runtime-dir");
	return -error;
}

/*
 * Makes the runtime directory, and in it that of the sockets for jobs, and gives them to
 * the configured user.
 */
static int
make_runtime_dirs(const struct config *config, struct err *err)
{
	char *sockets = config_runtime_path(config, COLLECTOR_SOCKETS_DIR);
	unsigned uid, gid;
	int rc = 0;

	if ((mkdir(config->runtime_dir, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(sockets, 0755) < 0 && errno != EEXIST))
		rc = no_runtime_dir(config, errno, err);
	if (rc == 0 && *config->user)
		rc = caps_find_user(config->user, &uid, &gid, err);
	/* The user may have put a link in place of the second. */
	if (rc == 0 && *config->user && geteuid() != uid &&
	    (chown(config->runtime_dir, uid, gid) < 0 || lchown(sockets, uid, gid) < 0))
		rc = err_set_errno(err, config->runtime_dir, errno,
				   "cannot give it to the user");
	free(sockets);
	return rc;
}

static int
open_totals(struct collector *c, struct err *err)
{
	char *path = config_runtime_path(&c->config, "totals");
	const struct saved_totals_row *rows;
	size_t n;
	int rc = saved_totals_open(path, c->boot_id, &c->saved_totals, err);

	if (rc == 0) {
		if (saved_totals_complaint(c->saved_totals))
			log_info("collector", "%s: totals start at zero: %s", path,
				 saved_totals_complaint(c->saved_totals));
		rows = saved_totals_found(c->saved_totals, &n);
		ingest_resume(c->ingest, rows, n);
	}
	free(path);
	return rc;
}

/* Without cgroup v2 the collector runs, but tells no jobs apart. */
static int
open_jobs(struct collector *c, struct err *err)
{
	struct err why = { 0 };
	const struct cgroup_rules rules = { c->config.services, c->config.job_roots };
	int rc = cgroup_check_roots(rules.roots, err);
	const char *root = *c->config.cgroup_root ? c->config.cgroup_root : NULL;

	if (rc == 0 && cgroups_open(root, &rules, &c->cgroups, &why) < 0)
		log_warn("collector", "no jobs: %s%s%s", why.file,
			 *why.file ? ": " : "", why.text);
	return rc;
}

/*
 * Loads the jobs added by hand.  Called after the change of user, because the file is
 * replaced by name in that user's directory, where symbolic links could mislead root.
 */
static int
open_registry(struct collector *c, struct err *err)
{
	char *path;
	int rc;

	if (!c->cgroups)
		return 0;
	path = config_runtime_path(&c->config, "jobs");
	rc = job_registry_open(path, c->cgroups, &c->registry, err);
	free(path);
	return rc;
}

/* Opens files that only root may read or write. */
static int
open_files(struct collector *c, struct err *err)
{
	int rc = 0;

	if (*c->config.keys)
		rc = bus_keys_load(c->config.keys, &c->keys, err);
	if (rc == 0 && *c->config.output)
		rc = rec_writer_open(c->config.output, &c->output, err);
	return rc;
}

/* Called after the drop of capabilities, because its threads inherit them. */
static int
open_bus(struct collector *c, struct err *err)
{
	int rc;

	if (settings_is_none(c->config.endpoint))
		return 0;
	rc = bus_pub_open(c->config.endpoint, !c->config.is_connect, c->keys, &c->bus,
			  err);
	if (rc == 0)
		bus_pub_join(c->bus, c->loop);
	return rc;
}

static uint64_t
draw_start_id(const struct collector *c)
{
	uint64_t id = rng_mix((uint64_t)clk_wall_us() ^ (uint64_t)getpid() << 40 ^
			      (uint64_t)clk_monotonic_ns());

	(void)c;
	return id ? id : 1;
}

static void
make_publisher(struct collector *c)
{
	bool is_file = sources_is_offline(c->sources);
	struct publish_options options = {
		.host = c->host,
		.start_id = draw_start_id(c),
		/* A capture at this host's own interface counts as local. */
		.flags = is_file && !*c->config.pcap_local ? TELE_IMPORTED : 0,
		.is_file = is_file,
		.raw_ms = c->config.raw_ms,
		.is_wanted = collector_is_wanted,
		.send = collector_send,
		.ctx = c,
	};

	memcpy(options.boot_id, c->boot_id, sizeof options.boot_id);
	c->publisher = publisher_new(&options, c->binner, c->ingest);
	c->peak_rates = peak_rates_new((unsigned)c->config.window_s);
	c->top = top_jobs_new((size_t)c->config.top_jobs);
}

static int
open_sources(struct collector *c, struct err *err)
{
	struct sources_options options = {
		.config = &c->config,
		.loop = c->loop,
		.ingest = c->ingest,
		.cgroups = c->cgroups,
		.polled = collector_polled,
		.ctx = c,
	};

	return sources_open(&options, &c->sources, err);
}

/* Called after the change of user. */
static int
open_sockets(struct collector *c, struct err *err)
{
	const struct http_page pages[] = {
		{ "/metrics", METRICS_OPEN_TYPE, collector_write_openmetrics, c,
		  METRICS_OPEN_NAME, NULL },
		{ "/metrics", METRICS_TEXT_TYPE, collector_write_metrics, c, NULL,
		  NULL },
		{ "/healthz", "text/plain; charset=utf-8", collector_write_health, c,
		  NULL, NULL },
	};
	int rc = open_bus(c, err);

	if (rc == 0)
		rc = collector_join_ports(c, err);
	if (rc == 0)
		rc = collector_open_control(c, err);
	if (rc == 0)
		rc = collector_open_inputs(c, err);
	if (rc == 0 && !settings_is_none(c->config.metrics))
		rc = http_open(c->loop, c->config.metrics, pages, 3, &c->http, err);
	return rc;
}

static int
drop(const struct collector *c, struct err *err)
{
	const char *user = *c->config.user ? c->config.user : NULL;
	uint64_t caps = sources_caps(c->sources);
	int rc = caps_drop(user, c->ports ? caps | CAPS_PATHS : caps, err);
	char text[512];

	if (rc == 0)
		log_info("collector", "user %u, capabilities: %s", (unsigned)geteuid(),
			 caps_text(caps_effective(), text, sizeof text));
	return rc;
}

int
collector_open(struct collector *c, struct err *err)
{
	int rc = descriptors_raise(err);

	if (rc == 0)
		rc = make_runtime_dirs(&c->config, err);
	if (rc == 0)
		rc = boot_read_id(NULL, c->boot_id, err);
	if (rc == 0)
		rc = open_totals(c, err);
	if (rc == 0)
		rc = open_jobs(c, err);
	if (rc < 0)
		return rc;
	rc = open_sources(c, err);
	if (rc < 0)
		return rc;
	make_publisher(c);
	rc = collector_open_ports(c, err);
	if (rc == 0)
		rc = open_files(c, err);
	if (rc == 0)
		rc = drop(c, err);
	if (rc == 0)
		rc = open_registry(c, err);
	if (rc == 0)
		rc = open_sockets(c, err);
	return rc;
}

void
collector_close(struct collector *c)
{
	struct err err = { 0 };

	http_close(c->http);
	control_close(c->control);
	collector_close_inputs(c);
	collector_close_ports(c);
	sources_close(c->sources);
	if (c->output && rec_writer_close(c->output, &err) < 0) {
		log_err("collector", "%s: %s", err.file, err.text);
		c->status = CLI_NO;
	}
	bus_pub_close(c->bus);
	bus_keys_free(c->keys);
	publisher_free(c->publisher);
	peak_rates_free(c->peak_rates);
	top_jobs_free(c->top);
	job_registry_close(c->registry);
	cgroups_close(c->cgroups);
	saved_totals_close(c->saved_totals);
	ingest_free(c->ingest);
	binner_free(c->binner);
	loop_free(c->loop);
}
