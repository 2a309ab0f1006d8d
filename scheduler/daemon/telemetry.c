/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define SECOND_NS INT64_C(1000000000)
/* Frames are processed for this long in a row; then other work has its turn. */
#define TAKE_NS      (SECOND_NS / 200)
#define TAKE_AT_ONCE 8 /* Between two readings of the clock. */
/* The pause after a scan, as a multiple of its duration. */
#define SCAN_REST      2
#define LINKS_A_STEP   1024
#define MAX_HISTORY_MS 5000
/* After a longer pause between scans, the traffic in between is unknown. */
#define MAX_COUNTED_MS 10000
/* Any sender may invent hosts. Chosen: twice the hosts that live.h keeps. */
#define MAX_CLOCKS (2 * LIVE_MAX_HOSTS)
/* The offset of a host's clock comes from the last one or two such spans. */
#define CLOCK_NS (60 * SECOND_NS)
/*
 * Links that were gone for 1 to 2 times this long are forgotten; or at once, if there are
 * more than this: names that senders invent come and go.
 */
#define FORGET_NS     (3600 * SECOND_NS)
#define CROWDED_LINKS (2 * LIVE_MAX_INTERFACES)

/* A host's clock against ours: the most that a frame was ahead on arrival. */
struct host_clock {
	int64_t most_ns, last_most_ns; /* In this span, and in the one before. */
	int64_t offset_ns;             /* The frame's 'wall_offset_ns'. */
	int64_t since_ns;              /* Of this span; 0: the number is free. */
};

enum scan_stage {
	SCAN_IDLE,
	SCAN_FIND,
	SCAN_SINCE, /* Since when links are contended. */
	SCAN_SORT,
	SCAN_COUNT,   /* Adds the traffic of jobs on links to the counters. */
	SCAN_REPLACE, /* Makes it the last scan. */
	SCAN_DROP,    /* Releases the one before. */
};

typedef VEC(uint32_t) places_vec;

struct scan {
	enum scan_stage stage;
	struct contention_finder *finder; /* Owned. */
	struct contention_sorter *sorter; /* Owned. */
	struct contention found;          /* Owned. */
	struct contention dropped;        /* Owned.  Of the scan before. */
	places_vec places;  /* By number: 1 + index of the link in 'found'. */
	size_t next;        /* The next link of the stage. */
	int64_t counted_ms; /* The span of the counters; 0: not counted. */
	int64_t begun_ns, cost_ns;
};

struct telemetry {
	struct telemetry_opts opts;
	struct feed *feed;             /* Owned. */
	struct live *live;             /* Owned. */
	struct job_profiler *profiler; /* Owned. */
	int64_t heard_at_ns;           /* Our time at the last frame. */

	struct scan scan;
	struct contention links;         /* Owned. Of the last scan. */
	places_vec places;               /* As in struct scan. */
	int64_t scanned_ns;              /* When the last scan ended. */
	int64_t scan_took_ns;            /* Its duration. */
	int64_t scan_cost_ns;            /* The processor time of it. */
	struct contention_starts *since; /* Owned. */
	struct link_counters *counters;  /* Owned; NULL: none are configured. */
	int64_t counted_to_ms;           /* Frame time. */
	int64_t forgot_links_ns;

	struct strtab *clock_names;    /* Owned. Names of hosts. */
	VEC(struct host_clock) clocks; /* By number in 'clock_names'. */
	uint32_t n_clocks;
	uint64_t n_unclocked; /* Frames of hosts beyond MAX_CLOCKS. */

	int64_t own_offset_ns; /* Our wall clock against our CLOCK_MONOTONIC. */

	uint64_t n_damaged, n_refused, n_steps, n_rebases; /* As last logged. */
	int64_t rebased_ns;                                /* As last applied. */
	struct log_limit bus_limit, damaged_limit, refused_limit, step_limit,
		rebase_limit;
};

/* ---- Frames -------------------------------------------------------------------------- */

static bool
is_step(int64_t from_ns, int64_t to_ns)
{
	return to_ns - from_ns > LIVE_STEP_NS || from_ns - to_ns > LIVE_STEP_NS;
}

/* After a step of our own clock, what is known of the others is void. */
static void
note_own_clock(struct telemetry *t, int64_t wall_ns, int64_t now_ns)
{
	int64_t offset_ns = wall_ns - now_ns;

	if (is_step(t->own_offset_ns, offset_ns))
		for (size_t i = 0; i < t->clocks.n; i++)
			if (t->clocks.items[i].since_ns)
				t->clocks.items[i].offset_ns = INT64_MAX / 2;
	t->own_offset_ns = offset_ns;
}

/* The frame that came soonest shows the clock best, until the clock is stepped. */
static void
note_clock(struct telemetry *t, const struct tele_frame *frame, int64_t now_ns)
{
	int64_t wall_ns = clk_wall_us() * 1000;
	int64_t ahead_ns = frame->time_ns + frame->wall_offset_ns - wall_ns;
	struct host_clock *clock;
	uint32_t id;

	note_own_clock(t, wall_ns, now_ns);
	if (t->n_clocks >= MAX_CLOCKS &&
	    strtab_find(t->clock_names, frame->host) == STRTAB_NONE) {
		t->n_unclocked++;
		return;
	}
	id = strtab_intern(t->clock_names, frame->host);
	if (id == t->clocks.n)
		vec_push(&t->clocks, ((struct host_clock){ .since_ns = 0 }));
	clock = &t->clocks.items[id];
	t->n_clocks += !clock->since_ns;
	if (!clock->since_ns || is_step(clock->offset_ns, frame->wall_offset_ns))
		*clock = (struct host_clock){ ahead_ns, ahead_ns, 0, now_ns };
	clock->offset_ns = frame->wall_offset_ns;
	if (now_ns - clock->since_ns >= CLOCK_NS) {
		clock->last_most_ns = clock->most_ns;
		/* After a long silence the last span is out of date, too. */
		if (now_ns - clock->since_ns >= 2 * CLOCK_NS)
			clock->last_most_ns = ahead_ns;
		clock->most_ns = ahead_ns;
		clock->since_ns = now_ns;
	}
	if (ahead_ns > clock->most_ns)
		clock->most_ns = ahead_ns;
}

bool
telemetry_clock_offset_ns(const struct telemetry *t, const char *host, int64_t *ret_ns)
{
	uint32_t id = strtab_find(t->clock_names, host);
	const struct host_clock *clock;

	if (id == STRTAB_NONE)
		return false;
	clock = &t->clocks.items[id];
	*ret_ns = clock->most_ns > clock->last_most_ns ? clock->most_ns
						       : clock->last_most_ns;
	return clk_monotonic_ns() - clock->since_ns < 2 * CLOCK_NS;
}

void
telemetry_take_frame(struct telemetry *t, const struct tele_frame *frame)
{
	t->heard_at_ns = clk_monotonic_ns();
	live_receive(t->live, frame, t->heard_at_ns);
	note_clock(t, frame, t->heard_at_ns);
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

/* What is remembered of the time before "now" was moved is moved, too. */
static void
follow_rebase(struct telemetry *t)
{
	int64_t all_ns = live_counts(t->live)->rebased_ns;
	int64_t step_ms =
		(int64_t)((uint64_t)all_ns - (uint64_t)t->rebased_ns) / 1000000;

	if (step_ms)
		contention_starts_move(t->since, step_ms);
	t->rebased_ns = all_ns;
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
	t->since = contention_starts_new();
	if (opts->config->link_jobs)
		t->counters = link_counters_new(opts->config->link_jobs);
	t->clock_names = strtab_new();
	t->heard_at_ns = clk_monotonic_ns();
	t->own_offset_ns = clk_wall_us() * 1000 - t->heard_at_ns;
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

static void
stop_scan(struct telemetry *t)
{
	struct scan *scan = &t->scan;

	contention_end(scan->finder, NULL);
	contention_sort_end(scan->sorter);
	contention_fini(&scan->found);
	contention_fini(&scan->dropped);
	vec_free(&scan->places);
	*scan = (struct scan){ .stage = SCAN_IDLE };
}

void
telemetry_free(struct telemetry *t)
{
	if (!t)
		return;
	feed_close(t->feed);
	stop_scan(t);
	contention_fini(&t->links);
	vec_free(&t->places);
	contention_starts_free(t->since);
	link_counters_free(t->counters);
	strtab_free(t->clock_names);
	vec_free(&t->clocks);
	job_profiler_free(t->profiler);
	live_free(t->live);
	free(t);
}

/* ---- Scans --------------------------------------------------------------------------- */

/* Two iterations of the slowest job. */
static uint32_t
history_ms(const struct job_profiler *profiler)
{
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(profiler, &n);
	int64_t slowest_us = 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i]->has_estimate &&
		    jobs[i]->detection.profile.period_us > slowest_us)
			slowest_us = jobs[i]->detection.profile.period_us;
	if (!slowest_us)
		return 0;
	return slowest_us > MAX_HISTORY_MS * 500 ? MAX_HISTORY_MS
						 : (uint32_t)(slowest_us / 500 + 1);
}

bool
telemetry_begin_scan(struct telemetry *t)
{
	int64_t now_ns = clk_monotonic_ns();
	const struct contention_opts opts = {
		.topo = fabric_source_topo(t->opts.fabric),
		.routes = fabric_source_routes(t->opts.fabric),
		.window_ms = (uint32_t)t->opts.config->window_ms,
		.history_ms = history_ms(t->profiler),
	};

	if (t->feed)
		log_damaged(t);
	log_refused(t);
	log_steps(t);
	if (t->scan.stage != SCAN_IDLE ||
	    now_ns - t->scanned_ns < SCAN_REST * t->scan_took_ns)
		return false;
	follow_rebase(t);
	t->scan.finder = contention_begin(t->live, &opts);
	t->scan.stage = SCAN_FIND;
	t->scan.begun_ns = now_ns;
	t->scan.cost_ns = 0;
	return true;
}

/* The next links of a stage, up to '*ret_to'; true: no more are left. */
static bool
next_links(struct scan *scan, size_t *ret_from, size_t *ret_to)
{
	size_t left = scan->found.n_links - scan->next;

	*ret_from = scan->next;
	scan->next += left < LINKS_A_STEP ? left : LINKS_A_STEP;
	*ret_to = scan->next;
	return left <= LINKS_A_STEP;
}

static bool
step_sort(struct scan *scan)
{
	if (!scan->sorter)
		scan->sorter =
			contention_sort_begin(&scan->found, CONTENTION_BY_CONTENTION);
	if (!contention_sort_step(scan->sorter))
		return false;
	contention_sort_end(scan->sorter);
	scan->sorter = NULL;
	return true;
}

/* The time since links were last counted; 0: unknown, so they are not counted. */
static int64_t
span_to_count(struct telemetry *t)
{
	const struct contention *found = &t->scan.found;
	int64_t span_ms = found->to_ms - t->counted_to_ms;

	if (!t->counters || !found->has_raw || span_ms == 0)
		return 0;
	t->counted_to_ms = found->to_ms;
	/* Negative: the clocks were stepped back. */
	return span_ms < 0 || span_ms > MAX_COUNTED_MS ? 0 : span_ms;
}

static uint64_t
bytes_in(double bps, int64_t span_ms)
{
	return bps > 0 ? (uint64_t)(bps / 8000 * (double)span_ms) : 0;
}

/* The traffic of each job on a link since the last scan, at the last second's rates. */
static void
count_link(struct telemetry *t, const struct contention_link *link)
{
	int64_t span_ms = t->scan.counted_ms;
	VEC(struct link_counters_job) jobs = VEC_EMPTY;

	for (size_t k = 0; k < link->n_jobs; k++) {
		const struct contention_job *job = &link->jobs[k];

		vec_push(&jobs,
			 ((struct link_counters_job){ live_job_name(t->live, job->job),
						      bytes_in(job->now_bps, span_ms),
						      job->mean_bps }));
	}
	link_counters_add(t->counters, link->name, jobs.items, jobs.n,
			  bytes_in(link->other_bps, span_ms));
	vec_free(&jobs);
}

static void
note_place(struct scan *scan, size_t at)
{
	size_t number = scan->found.links[at].number;

	while (scan->places.n <= number)
		vec_push(&scan->places, 0);
	scan->places.items[number] = (uint32_t)at + 1;
}

static bool
step_count(struct telemetry *t)
{
	size_t from, to;
	bool is_over = next_links(&t->scan, &from, &to);

	for (size_t i = from; i < to; i++) {
		note_place(&t->scan, i);
		if (t->scan.counted_ms)
			count_link(t, &t->scan.found.links[i]);
	}
	return is_over;
}

static void
replace_links(struct telemetry *t)
{
	struct scan *scan = &t->scan;

	if (t->opts.on_replace)
		t->opts.on_replace(t->opts.ctx);
	scan->dropped = t->links;
	t->links = scan->found;
	scan->found = (struct contention){ .n_links = 0 };
	vec_free(&t->places);
	t->places = scan->places;
	scan->places = (places_vec)VEC_EMPTY;
	t->scanned_ns = clk_monotonic_ns();
	t->scan_took_ns = t->scanned_ns - scan->begun_ns;
	t->scan_cost_ns = scan->cost_ns;
}

/* True: the stage is over. */
static bool
step(struct telemetry *t)
{
	struct scan *scan = &t->scan;
	size_t from, to;
	bool is_over;

	switch (scan->stage) {
	case SCAN_FIND:
		if (!contention_step(scan->finder))
			return false;
		contention_end(scan->finder, &scan->found);
		scan->finder = NULL;
		return true;
	case SCAN_SINCE:
		is_over = next_links(scan, &from, &to);
		contention_starts_remember_some(t->since, &scan->found, from, to);
		return is_over;
	case SCAN_SORT:
		if (!step_sort(scan))
			return false;
		scan->counted_ms = span_to_count(t);
		return true;
	case SCAN_COUNT:
		return step_count(t);
	case SCAN_REPLACE:
		replace_links(t);
		return true;
	case SCAN_DROP:
		return contention_drop(&scan->dropped, LINKS_A_STEP);
	default:
		return true;
	}
}

bool
telemetry_step_scan(struct telemetry *t)
{
	struct scan *scan = &t->scan;
	int64_t began_ns = clk_monotonic_ns();

	if (scan->stage == SCAN_IDLE)
		return false;
	if (step(t)) {
		scan->next = 0;
		scan->stage = scan->stage == SCAN_DROP
				      ? SCAN_IDLE
				      : (enum scan_stage)(scan->stage + 1);
	}
	scan->cost_ns += clk_monotonic_ns() - began_ns;
	return true;
}

bool
telemetry_is_scanning(const struct telemetry *t)
{
	return t->scan.stage != SCAN_IDLE;
}

void
telemetry_forget_links(struct telemetry *t)
{
	stop_scan(t);
	contention_fini(&t->links);
	t->scanned_ns = 0;
}

/* ---- Forgetting ---------------------------------------------------------------------- */

static bool
has_profile(const void *profiler, uint32_t job)
{
	return job_profiler_find(profiler, job) != NULL;
}

static void
forget_clocks(struct telemetry *t, int64_t now_ns)
{
	for (uint32_t i = 0; i < t->clocks.n; i++) {
		struct host_clock *clock = &t->clocks.items[i];

		if (!clock->since_ns || now_ns - clock->since_ns < 4 * CLOCK_NS)
			continue;
		*clock = (struct host_clock){ .since_ns = 0 };
		t->n_clocks--;
		strtab_remove(t->clock_names, i);
	}
}

void
telemetry_forget_gone(struct telemetry *t)
{
	int64_t now_ns = clk_monotonic_ns();

	/* A round that ran out of time may hold some of them. */
	job_profiler_stop(t->profiler);
	live_forget(t->live, has_profile, t->profiler);
	forget_clocks(t, now_ns);
	if (now_ns - t->forgot_links_ns < FORGET_NS &&
	    contention_starts_n(t->since) <= CROWDED_LINKS)
		return;
	t->forgot_links_ns = now_ns;
	contention_starts_forget(t->since);
	if (t->counters)
		link_counters_forget(t->counters);
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
	return &t->links;
}

int64_t
telemetry_scanned_ns(const struct telemetry *t)
{
	return t->scanned_ns;
}

int64_t
telemetry_scan_cost_ns(const struct telemetry *t)
{
	return t->scan_cost_ns;
}

size_t
telemetry_n_numbers(const struct telemetry *t)
{
	return t->places.n;
}

const struct contention_link *
telemetry_link(const struct telemetry *t, size_t number)
{
	uint32_t place = t->places.items[number];

	/* There are no links of a new fabric yet. */
	return place && place <= t->links.n_links ? &t->links.links[place - 1] : NULL;
}

uint64_t
telemetry_n_unclocked(const struct telemetry *t)
{
	return t->n_unclocked;
}

const struct link_counters *
telemetry_counters(const struct telemetry *t)
{
	return t->counters;
}
