/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/host_clocks.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/daemon/link_scan.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define SECOND_NS INT64_C(1000000000)
/* Frames are processed for this long in a row; then other work has its turn. */
#define TAKE_NS      (SECOND_NS / 200)
#define TAKE_AT_ONCE 8 /* Between two readings of the clock. */

struct telemetry {
	struct telemetry_opts opts;
	struct feed *feed;             /* Owned. */
	struct live *live;             /* Owned. */
	struct job_profiler *profiler; /* Owned. */
	int64_t heard_at_ns;           /* Our time at the last frame. */

	struct link_scan *scan;         /* Owned. */
	struct link_counters *counters; /* Owned; NULL: none are configured. */
	struct host_clocks *clocks;     /* Owned. */

	uint64_t n_damaged, n_refused, n_steps, n_rebases; /* As last logged. */
	struct log_limit bus_limit, damaged_limit, refused_limit, step_limit,
		rebase_limit;
};

/* ---- Frames -------------------------------------------------------------------------- */

bool
telemetry_clock_offset_ns(const struct telemetry *t, const char *host, int64_t *ret_ns)
{
	return host_clocks_offset_ns(t->clocks, host, clk_monotonic_ns(), ret_ns);
}

void
telemetry_take_frame(struct telemetry *t, const struct tele_frame *frame)
{
	t->heard_at_ns = clk_monotonic_ns();
	live_receive(t->live, frame, t->heard_at_ns);
	host_clocks_note(t->clocks, frame, clk_wall_us() * 1000, t->heard_at_ns);
}

/* As feed_next(), for several frames: the result of the last one. */
static int
take_some(struct telemetry *t, struct err *err)
{
	const struct tele_frame *frame;
	int r = 0;

	for (int i = 0; i < TAKE_AT_ONCE; i++) {
		r = feed_next(t->feed, 0, &frame, err);
		if (r <= 0)
			break;
		telemetry_take_frame(t, frame);
	}
	return r;
}

static void
on_frames(void *ctx)
{
	struct telemetry *t = ctx;
	int64_t began_ns = clk_monotonic_ns();
	struct err err;
	int r;

	loop_part(t->opts.loop, "frames");
	do
		r = take_some(t, &err);
	while (r > 0 && clk_monotonic_ns() - began_ns < TAKE_NS);
	if (r < 0 && r != -EINTR && r != -ENODATA)
		log_limited(&t->bus_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
			    "%s", err.text);
}

static void
log_damaged(struct telemetry *t)
{
	struct feed_counts counts = feed_counts(t->feed);
	uint64_t n = counts.damaged + counts.foreign;

	if (n == t->n_damaged)
		return;
	log_limited(&t->damaged_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "%llu messages were no frames of ours: damaged, or of another "
		    "version",
		    (unsigned long long)(n - t->n_damaged));
	t->n_damaged = n;
}

/* Jobs of hosts without room for raw frames get no profile from traffic. */
static void
log_refused(struct telemetry *t)
{
	static const char *const why[LIVE_N_LIMITS] = {
		[LIVE_LIMIT_BYTES] = "memory_mb is too little",
		[LIVE_LIMIT_HOSTS] = "too many hosts report",
		[LIVE_LIMIT_JOBS] = "there are too many jobs",
		[LIVE_LIMIT_INTERFACES] = "there are too many interfaces",
		[LIVE_LIMIT_HOST_JOBS] = "the host names too many jobs",
		[LIVE_LIMIT_HOST_INTERFACES] = "the host names too many interfaces",
		[LIVE_LIMIT_HOST_BYTES] = "its series exceed its share of memory_mb",
		[LIVE_LIMIT_TIMES] = "the frame's times are none",
	};
	const struct live_counts *counts = live_counts(t->live);
	uint64_t n = counts->refused - t->n_refused;

	if (n == 0)
		return;
	t->n_refused = counts->refused;
	log_limited(&t->refused_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "%llu hosts, interfaces, jobs or series in frames are ignored, the "
		    "last one of host '%s': %s (memory_mb = %lld)",
		    (unsigned long long)n, counts->last_refused,
		    why[counts->last_limit], (long long)t->opts.config->memory_mb);
}

static void
log_steps(struct telemetry *t)
{
	const struct live_counts *counts = live_counts(t->live);
	int64_t now_ns = clk_monotonic_ns();

	if (counts->steps != t->n_steps)
		log_limited(&t->step_limit, now_ns, LOG_LEVEL_WARN, "clock",
			    "%llu steps of the wall clocks of hosts, the last one of "
			    "%s by %+.3f s; check its time synchronization",
			    (unsigned long long)(counts->steps - t->n_steps),
			    counts->last_stepped, (double)counts->last_step_ns / 1e9);
	t->n_steps = counts->steps;
	if (counts->rebases == t->n_rebases)
		return;
	t->n_rebases = counts->rebases;
	log_limited(
		&t->rebase_limit, now_ns, LOG_LEVEL_WARN, "clock",
		"the wall clocks of most hosts were stepped by %+.3f s; the time of "
		"the telemetry follows them",
		(double)counts->last_rebase_ns / 1e9);
}

/* ---- Opening and closing ------------------------------------------------------------- */

struct telemetry *
telemetry_new(const struct telemetry_opts *opts)
{
	struct telemetry *t = xcalloc(1, sizeof *t);
	const struct live_opts live_opts = {
		.max_bytes = (size_t)opts->config->memory_mb << 20,
	};

	t->opts = *opts;
	t->live = live_new(&live_opts);
	t->profiler = job_profiler_new();
	if (opts->config->link_jobs)
		t->counters = link_counters_new(opts->config->link_jobs);
	t->scan = link_scan_new(&(struct link_scan_opts){
		.live = t->live,
		.profiler = t->profiler,
		.fabric = opts->fabric,
		.counters = t->counters,
		.window_ms = (uint32_t)opts->config->window_ms,
		.on_replace = opts->on_replace,
		.ctx = opts->ctx,
	});
	t->heard_at_ns = clk_monotonic_ns();
	t->clocks = host_clocks_new(clk_wall_us() * 1000, t->heard_at_ns);
	return t;
}

int
telemetry_open(struct telemetry *t, struct err *err)
{
	const struct scheduler_config *config = t->opts.config;
	char *list = xstrdup(config->bus), *rest = NULL;
	VEC(const char *) sources = VEC_EMPTY;
	int r;

	for (char *word = strtok_r(list, ", ", &rest); word;
	     word = strtok_r(NULL, ", ", &rest))
		vec_push(&sources, word);
	r = feed_open(sources.items, sources.n, config->keys, &t->feed, err);
	vec_free(&sources);
	free(list);
	if (r < 0)
		return r;
	if (!feed_is_live(t->feed)) {
		err_set(err, NULL, 0, 0,
			"bus = %s: the daemon listens to a bus, such as "
			"tcp://127.0.0.1:7461, and not to a file (antiphase replay "
			"publishes one)",
			config->bus);
		return -EINVAL;
	}
	feed_join(t->feed, t->opts.loop, on_frames, t);
	return 0;
}

int
telemetry_on_texts(struct telemetry *t, const char *const *prefixes,
		   bus_text_fn *on_text, void *ctx)
{
	return feed_on_texts(t->feed, prefixes, on_text, ctx);
}

void
telemetry_free(struct telemetry *t)
{
	if (!t)
		return;
	feed_close(t->feed);
	link_scan_free(t->scan);
	link_counters_free(t->counters);
	host_clocks_free(t->clocks);
	job_profiler_free(t->profiler);
	live_free(t->live);
	free(t);
}

/* ---- Scans --------------------------------------------------------------------------- */

bool
telemetry_begin_scan(struct telemetry *t)
{
	if (t->feed)
		log_damaged(t);
	log_refused(t);
	log_steps(t);
	return link_scan_begin(t->scan);
}

bool
telemetry_step_scan(struct telemetry *t)
{
	return link_scan_step(t->scan);
}

bool
telemetry_is_scanning(const struct telemetry *t)
{
	return link_scan_is_under_way(t->scan);
}

void
telemetry_forget_links(struct telemetry *t)
{
	link_scan_drop(t->scan);
}

/* ---- Forgetting ---------------------------------------------------------------------- */

static bool
has_profile(const void *profiler, uint32_t job)
{
	return job_profiler_find(profiler, job) != NULL;
}

void
telemetry_forget_gone(struct telemetry *t)
{
	int64_t now_ns = clk_monotonic_ns();

	/* A round that ran out of time may hold some of them. */
	job_profiler_stop(t->profiler);
	/* No scan is under way; the next one finds the parts of links again. */
	if (live_forget(t->live, has_profile, t->profiler))
		link_scan_drop_parts(t->scan);
	host_clocks_forget(t->clocks, now_ns);
	link_scan_forget_gone(t->scan, now_ns);
}

/* ---- Queries ------------------------------------------------------------------------- */

struct status
telemetry_status(const struct telemetry *t)
{
	int64_t idle_ns = clk_monotonic_ns() - t->heard_at_ns;

	/* The daemon listens all the time: a host without frames is silent. */
	return (struct status){
		.live = t->live,
		.profiler = t->profiler,
		.has_fabric = fabric_source_topo(t->opts.fabric) != NULL,
		.idle_ns = idle_ns,
		.heard_idle_ns = idle_ns,
	};
}

struct live *
telemetry_live(const struct telemetry *t)
{
	return t->live;
}

struct job_profiler *
telemetry_profiler(const struct telemetry *t)
{
	return t->profiler;
}

const struct feed *
telemetry_feed(const struct telemetry *t)
{
	return t->feed;
}

const struct contention *
telemetry_links(const struct telemetry *t)
{
	return link_scan_links(t->scan);
}

int64_t
telemetry_scanned_ns(const struct telemetry *t)
{
	return link_scan_ended_ns(t->scan);
}

int64_t
telemetry_scan_cost_ns(const struct telemetry *t)
{
	return link_scan_cost_ns(t->scan);
}

size_t
telemetry_n_numbers(const struct telemetry *t)
{
	return link_scan_n_numbers(t->scan);
}

const struct contention_link *
telemetry_link(const struct telemetry *t, size_t number)
{
	return link_scan_link(t->scan, number);
}

uint64_t
telemetry_n_unclocked(const struct telemetry *t)
{
	return host_clocks_n_unfollowed(t->clocks);
}

const struct link_counters *
telemetry_counters(const struct telemetry *t)
{
	return t->counters;
}
