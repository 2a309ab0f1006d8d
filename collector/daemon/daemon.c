/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.c - the run of the collector: opens its parts (open.c), runs the loop until a
 * signal or the end of the input, closes them.
 *
 * Every TICK_NS it publishes the windows that are complete and saves the totals.
 */
#include "collector/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/jobs/cgroups.h"
#include "collector/jobs/job_registry.h"
#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "collector/series/peak_rates.h"
#include "collector/series/saved_totals.h"
#include "collector/series/top_jobs.h"
#include "collector/sources/bpf/src_bpf.h"
#include "collector/sources/sources.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/rng.h"
#include "lib/base/words.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/notify.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"

#define TICK_NS   INT64_C(50000000)
#define SECOND_NS INT64_C(1000000000)

/* Totals of more series than this are written once a second, not at every tick. */
#define MANY_SERIES 2048

/* ---- Ticks ----------------------------------------------------------------------- */

static void
save_totals(struct collector *c, int64_t now_ns)
{
	size_t n;

	if (binner_n_series(c->binner) > MANY_SERIES &&
	    now_ns - c->saved_ns < SECOND_NS)
		return;
	c->saved_ns = now_ns;
	n = ingest_save(c->ingest, c->saved_totals);
	if (n && !c->unsaved_totals)
		log_warn("collector",
			 "the totals of %zu series will not continue after a restart: "
			 "the limit is %d",
			 n, SAVED_TOTALS_MAX);
	c->unsaved_totals = n;
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct collector *c = ctx;

	(void)missed;
	collector_publish(c, now_ns);
	save_totals(c, now_ns);
}

static void
on_cgroup_gone(void *ctx, const char *name, const char *path)
{
	struct collector *c = ctx;

	c->gone_cgroups++;
	/* Limits the log: thousands may disappear at once. */
	if (c->gone_cgroups <= 10)
		log_info("collector", "control group %s of job %s is gone", path, name);
}

/* Warns once that a table of the eBPF programs is full: new jobs count as other. */
static void
check_tables(struct collector *c)
{
	struct source *source = sources_source(c->sources, "bpf");
	struct src_bpf_stats stats = { 0 };
	uint64_t unplaced;

	if (!source)
		return;
	src_bpf_stats(source, &stats);
	unplaced = stats.unplaced_jobs + stats.unplaced_cgroups;
	if (unplaced && !c->unplaced_jobs)
		log_warn("collector",
			 "tables are full (%u of %u slots used): new jobs are "
			 "counted as other",
			 stats.n_slots_used, stats.n_slots);
	c->unplaced_jobs = unplaced;
}

/* A process may be posing as a job. */
static void
check_cgroups(struct collector *c, int64_t now_ns)
{
	uint64_t n = c->cgroups ? cgroups_n_refused(c->cgroups) : 0;

	if (n != c->refused_cgroups)
		log_limited(&c->cgroups_log_limit, now_ns, LOG_LEVEL_WARN, "collector",
			    "%llu control groups have the name of a job, but root did "
			    "not make them: they are no jobs",
			    (unsigned long long)(n - c->refused_cgroups));
	c->refused_cgroups = n;
}

static void
on_second(void *ctx, int64_t now_ns, int64_t missed)
{
	struct collector *c = ctx;
	struct publish_state state = collector_state(c);

	(void)missed;
	c->clock_error_ns = boot_clock_error_ns();
	check_tables(c);
	check_cgroups(c, now_ns);
	if (c->registry)
		job_registry_check(c->registry, on_cgroup_gone, c);
	collector_inputs_second(c, now_ns, &state);
	notify_status("%zu interface%s, %zu job%s", ingest_n_interfaces(c->ingest),
		      words_plural(ingest_n_interfaces(c->ingest)),
		      top_jobs_n_seen(c->top), words_plural(top_jobs_n_seen(c->top)));
}

/* ---- Signals --------------------------------------------------------------------- */

static void
on_end_signal(void *ctx, int signal)
{
	collector_stop(ctx, signal == SIGINT ? CLI_INTERRUPTED : CLI_OK);
}

/* Applies the settings that settings_reload() has changed. */
static void
take_up(struct collector *c)
{
	int64_t window_s = c->config.window_s;

	config_follow(&c->config);
	if (settings_has_changed(c->config.settings, "collector", "log"))
		log_set_level_word(c->config.log);
	publisher_set_raw_ms(c->publisher, c->config.raw_ms);
	if (c->config.window_s == window_s)
		return;
	peak_rates_free(c->peak_rates);
	c->peak_rates = peak_rates_new((unsigned)c->config.window_s);
}

static void
on_hangup(void *ctx, int signal)
{
	struct collector *c = ctx;

	(void)signal;
	notify_send("RELOADING=1");
	if (settings_reload(c->config.settings, c->config_file, "collector") >= 0)
		take_up(c);
	notify_send("READY=1");
}

/* ---- The whole ------------------------------------------------------------------- */

static void
start(struct collector *c)
{
	signal(SIGPIPE, SIG_IGN);
	loop_signal(c->loop, SIGTERM, on_end_signal, c);
	loop_signal(c->loop, SIGINT, on_end_signal, c);
	loop_signal(c->loop, SIGHUP, on_hangup, c);
	loop_every(c->loop, TICK_NS, on_tick, c);
	loop_every(c->loop, SECOND_NS, on_second, c);
	notify_watchdog_join(c->loop);
	collector_check_clock(c);
	c->clock_error_ns = boot_clock_error_ns();
	c->started_ns = clk_monotonic_ns();
	sources_start(c->sources);
	notify_send("READY=1");
	log_info("collector", "%s started: host %s", cli_version(), c->host);
}

static void
finish(struct collector *c)
{
	int64_t now_ns;
	struct publish_state state;

	notify_send("STOPPING=1");
	sources_poll(c->sources);
	now_ns = clk_monotonic_ns();
	state = collector_state(c);
	publisher_flush(c->publisher, collector_complete_ms(c, now_ns), &state);
	c->saved_ns = 0;
	save_totals(c, now_ns);
}

static int
exit_status(int error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
		return CLI_DENIED;
	case -ENOSPC:
		return CLI_NO;
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return CLI_UNREACHABLE;
	default:
		return CLI_USAGE;
	}
}

int
collector_run(struct collector *c)
{
	struct err err = { 0 };
	char host[256] = "";
	int rc;

	log_set_level_word(c->config.log);
	gethostname(host, sizeof host - 1);
	tele_set_name(c->host, *c->config.host ? c->config.host : host);
	c->loop = loop_new();
	c->binner = binner_new();
	c->ingest = ingest_new(c->binner);
	rc = collector_open(c, &err);
	if (rc < 0) {
		err_print(&err, stderr);
		c->status = exit_status(rc);
	} else {
		start(c);
		loop_run(c->loop);
		finish(c);
	}
	collector_close(c);
	return c->status;
}
