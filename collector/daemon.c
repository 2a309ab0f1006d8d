/*
 * daemon.c - the collector's life, once all is open (open.c): runs its loop until it is
 * told to end, and says so.
 *
 * Every TICK_NS windows that are complete are published, and totals written to their
 * file; both also after each poll of a source that reads a file.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/binner.h"
#include "collector/cgroups.h"
#include "collector/collector.h"
#include "collector/feeds.h"
#include "collector/hub.h"
#include "collector/peaks.h"
#include "collector/registry.h"
#include "collector/src_bpf.h"
#include "collector/topjobs.h"
#include "collector/totals.h"
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

/* A source that says nothing holds up the others' windows for so long. */
#define MAX_LAG_MS 1000
/* Totals of many series are not written at every tick. */
#define MANY_SERIES 2048

/* ---- Frames go out --------------------------------------------------------------------- */

bool
collector_is_wanted(void *ctx, uint8_t kind)
{
	struct collector *c = ctx;

	return c->output || (c->bus && bus_pub_is_wanted(c->bus, kind, c->host));
}

static void
stop(struct collector *c, int status)
{
	c->status = status;
	loop_stop(c->loop, status);
}

static void
record(struct collector *c, const struct tele_buffer *bytes)
{
	struct err err = { 0 };
	int rc = rec_write(c->output, bytes->bytes, bytes->n, &err);

	if (rc >= 0)
		return;
	/* Who read it has had enough. */
	if (rc != -EPIPE)
		log_err("collector", "%s: %s; recording ends", err.file, err.text);
	rec_writer_close(c->output, NULL);
	c->output = NULL;
	if (!c->bus || rc == -EPIPE)
		stop(c, rc == -EPIPE ? CLI_OK : CLI_NO);
}

void
collector_send(void *ctx, const struct tele_frame *frame,
	       const struct tele_buffer *bytes)
{
	struct collector *c = ctx;

	if (frame->kind == TELE_SUMMARY) {
		peaks_update(c->peaks, frame);
		topjobs_update(c->top, frame);
	}
	if (c->bus)
		bus_pub_bytes(c->bus, frame->kind, frame->host, bytes->bytes, bytes->n);
	if (c->output)
		record(c, bytes);
}

/* ---- Ticks ------------------------------------------------------------------------------- */

struct publish_state
collector_state(struct collector *c)
{
	struct publish_state state = {
		.wall_offset_ns = feeds_is_offline(c->feeds) ? 0 : c->wall.offset_ns,
		.clock_error_ns = c->clock_error_ns,
		.lost_records = hub_counts(c->hub)->lost,
		.is_stepped = c->is_stepped,
		.unplaced_jobs = c->unplaced_jobs,
	};

	c->is_stepped = false;
	return state;
}

static void
save_totals(struct collector *c, int64_t now_ns)
{
	size_t n;

	if (binner_n_series(c->binner) > MANY_SERIES &&
	    now_ns - c->saved_ns < SECOND_NS)
		return;
	c->saved_ns = now_ns;
	n = hub_save(c->hub, c->totals);
	if (n && !c->unsaved_totals)
		log_warn("collector",
			 "the totals of %zu series will not go on after a restart: "
			 "there are more than %d",
			 n, TOTALS_MAX);
	c->unsaved_totals = n;
}

static int64_t
until_ms(const struct collector *c, int64_t now_ns)
{
	int64_t floor_ms = now_ns / 1000000 - MAX_LAG_MS;

	if (feeds_is_offline(c->feeds))
		return hub_complete_ms(c->hub, 0);
	if (floor_ms < c->started_ns / 1000000)
		floor_ms = c->started_ns / 1000000;
	return hub_complete_ms(c->hub, floor_ms);
}

static void
look_at_clock(struct collector *c)
{
	int64_t monotonic_ns = 0, wall_ns = 0;

	boot_read_clocks(&monotonic_ns, &wall_ns);
	if (!wall_update(&c->wall, monotonic_ns, wall_ns))
		return;
	c->is_stepped = true;
	log_warn("collector", "the wall clock was stepped by %+.3f s",
		 (double)c->wall.last_step_ns * 1e-9);
}

static void
publish(struct collector *c, int64_t now_ns)
{
	struct publish_state state;

	look_at_clock(c);
	state = collector_state(c);
	publisher_run(c->publisher, until_ms(c, now_ns), &state);
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct collector *c = ctx;

	(void)missed;
	publish(c, now_ns);
	save_totals(c, now_ns);
}

static void
on_cgroup_gone(void *ctx, const char *name, const char *path)
{
	struct collector *c = ctx;

	c->gone_cgroups++;
	/* Thousands may go at once. */
	if (c->gone_cgroups <= 10)
		log_info("collector", "control group %s of job %s is gone", path, name);
}

/* Says once that a table of the eBPF programs is full, as jobs go uncounted then. */
static void
look_at_tables(struct collector *c)
{
	struct source *source = feeds_source(c->feeds, "bpf");
	struct src_bpf_stats stats = { 0 };
	uint64_t unplaced;

	if (!source)
		return;
	src_bpf_stats(source, &stats);
	unplaced = stats.unplaced_jobs + stats.unplaced_cgroups;
	if (unplaced && !c->unplaced_jobs)
		log_warn(
			"collector",
			"tables are full (%u of %u slots are used): jobs that come now "
			"are counted as other",
			stats.n_slots_used, stats.n_slots);
	c->unplaced_jobs = unplaced;
}

static void
on_second(void *ctx, int64_t now_ns, int64_t missed)
{
	struct collector *c = ctx;
	struct publish_state state = collector_state(c);

	(void)missed;
	c->clock_error_ns = boot_clock_error_ns();
	look_at_tables(c);
	if (c->registry)
		registry_check(c->registry, on_cgroup_gone, c);
	collector_inputs_second(c, now_ns, &state);
	notify_status("%zu interfaces, %zu jobs", hub_n_interfaces(c->hub),
		      topjobs_n_seen(c->top));
}

void
collector_polled(void *ctx, bool is_end)
{
	struct collector *c = ctx;

	if (feeds_is_offline(c->feeds))
		publish(c, clk_monotonic_ns());
	if (is_end)
		stop(c, CLI_OK);
}

/* ---- Signals ------------------------------------------------------------------------------ */

static void
on_end_signal(void *ctx, int signal)
{
	stop(ctx, signal == SIGINT ? CLI_INTERRUPTED : CLI_OK);
}

/* Takes up the settings that settings_reload() has changed. */
static void
take_up(struct collector *c)
{
	int64_t window_s = c->config.window_s;

	config_follow(&c->config);
	log_set_level_word(c->config.log);
	publisher_set_raw_ms(c->publisher, c->config.raw_ms);
	if (c->config.window_s == window_s)
		return;
	peaks_free(c->peaks);
	c->peaks = peaks_new((unsigned)c->config.window_s);
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

/* ---- The whole ------------------------------------------------------------------------------ */

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
	look_at_clock(c);
	c->clock_error_ns = boot_clock_error_ns();
	c->started_ns = clk_monotonic_ns();
	feeds_start(c->feeds);
	notify_send("READY=1");
	log_info("collector", "%s started: host %s", cli_version(), c->host);
}

static void
finish(struct collector *c)
{
	int64_t now_ns;
	struct publish_state state;

	notify_send("STOPPING=1");
	feeds_poll(c->feeds);
	now_ns = clk_monotonic_ns();
	state = collector_state(c);
	publisher_flush(c->publisher, until_ms(c, now_ns), &state);
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
	c->hub = hub_new(c->binner);
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
