/*
 * telemetry.c - frames from the bus, what they add up to, and who is on which link.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strtab.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

/* Frames are taken for so long in a row, before others in the loop have their turn. */
#define TAKE_NS      (DAEMON_SECOND_NS / 200)
#define TAKE_AT_ONCE 8 /* Between two looks at the clock. */
/* Of looks at links, from the end of one to the begin of the next: so much longer. */
#define LOOK_REST      2
#define LINKS_A_STEP   1024 /* After it, where it is done with each. */
#define MAX_HISTORY_MS 5000
/* Clocks of hosts are told by the last one or two such spans. */
/* Between two looks; after a longer pause it is not known what was carried. */
#define MAX_CARRIED_MS 10000
#define MAX_CLOCKS     100000
#define CLOCK_NS       (60 * DAEMON_SECOND_NS)
/* Links that were not there for so long, or twice that, are forgotten. */
#define FORGET_NS (3600 * DAEMON_SECOND_NS)

/* The frame that came soonest tells most of the clock. */
static void
note_clock(struct telemetry *now, const struct tele_frame *frame)
{
	int64_t ahead_ns =
		frame->time_ns + frame->wall_offset_ns - clk_wall_us() * 1000;
	int64_t now_ns = clk_monotonic_ns();
	struct telemetry_clock *clock;
	uint32_t id;

	/* Anybody may call itself anything. */
	if (now->n_clocks >= MAX_CLOCKS &&
	    strtab_find(now->clock_names, frame->host) == STRTAB_NONE)
		return;
	id = strtab_intern(now->clock_names, frame->host);
	if (id == now->clocks.n)
		vec_push(&now->clocks, ((struct telemetry_clock){ .since_ns = 0 }));
	clock = &now->clocks.items[id];
	if (!clock->since_ns) {
		*clock = (struct telemetry_clock){ ahead_ns, ahead_ns, now_ns };
		now->n_clocks++;
	}
	if (now_ns - clock->since_ns >= CLOCK_NS) {
		clock->last_most_ns = clock->most_ns;
		/* After a long silence that says nothing, either. */
		if (now_ns - clock->since_ns >= 2 * CLOCK_NS)
			clock->last_most_ns = ahead_ns;
		clock->most_ns = ahead_ns;
		clock->since_ns = now_ns;
	}
	if (ahead_ns > clock->most_ns)
		clock->most_ns = ahead_ns;
}

bool
telemetry_clock_offset_ns(const struct daemon *d, const char *host, int64_t *ret_ns)
{
	uint32_t id = strtab_find(d->now.clock_names, host);
	const struct telemetry_clock *clock;

	if (id == STRTAB_NONE)
		return false;
	clock = &d->now.clocks.items[id];
	*ret_ns = clock->most_ns > clock->last_most_ns ? clock->most_ns
						       : clock->last_most_ns;
	return clk_monotonic_ns() - clock->since_ns < 2 * CLOCK_NS;
}

/* As feed_next(): what the last one of some frames said. */
static int
take_some(struct telemetry *now, struct err *err)
{
	const struct tele_frame *frame;
	int r = 0;

	for (int i = 0; i < TAKE_AT_ONCE; i++) {
		r = feed_next(now->feed, 0, &frame, err);
		if (r <= 0)
			break;
		live_frame(now->live, frame);
		note_clock(now, frame);
		if (live_now_ns(now->live) != now->newest_ns) {
			now->newest_ns = live_now_ns(now->live);
			now->newest_at_ns = clk_monotonic_ns();
		}
	}
	return r;
}

static void
on_frames(void *ctx)
{
	struct daemon *d = ctx;
	struct telemetry *now = &d->now;
	int64_t began_ns = clk_monotonic_ns();
	struct err err;
	int r;

	loop_part(d->loop, "frames");
	do
		r = take_some(now, &err);
	while (r > 0 && clk_monotonic_ns() - began_ns < TAKE_NS);
	if (r < 0 && r != -EINTR && r != -ENODATA)
		log_limited(&now->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus", "%s",
			    err.text);
}

int
telemetry_open(struct daemon *d, struct err *err)
{
	char *list = xstrdup(d->config.bus), *rest = NULL;
	const struct live_opts opts = {
		.max_bytes = (size_t)d->config.memory_mb << 20,
	};
	VEC(const char *) sources = VEC_EMPTY;
	int r;

	for (char *word = strtok_r(list, ", ", &rest); word;
	     word = strtok_r(NULL, ", ", &rest))
		vec_push(&sources, word);
	r = feed_open(sources.items, sources.n, d->config.keys, &d->now.feed, err);
	vec_free(&sources);
	free(list);
	if (r < 0)
		return r;
	if (!feed_is_live(d->now.feed)) {
		err_set(err, NULL, 0, 0,
			"bus = %s: the daemon listens to a bus, such as "
			"tcp://127.0.0.1:7461, and not to a file (antiphase replay "
			"publishes one)",
			d->config.bus);
		return -EINVAL;
	}
	d->now.live = live_new(&opts);
	d->now.online = job_profiler_new();
	d->now.since = since_new();
	if (d->config.link_jobs)
		d->now.carried = link_counters_new(d->config.link_jobs);
	d->now.clock_names = strtab_new();
	d->now.newest_ns = LIVE_NEVER;
	d->now.newest_at_ns = clk_monotonic_ns();
	feed_join(d->now.feed, d->loop, on_frames, d);
	return 0;
}

void
telemetry_close(struct daemon *d)
{
	feed_close(d->now.feed);
	telemetry_stop_scan(d);
	contention_fini(&d->now.found);
	vec_free(&d->now.places);
	since_free(d->now.since);
	link_counters_free(d->now.carried);
	strtab_free(d->now.clock_names);
	vec_free(&d->now.clocks);
	job_profiler_free(d->now.online);
	live_free(d->now.live);
}

/* Two iterations of the slowest job. */
static uint32_t
history_ms(const struct job_profiler *online)
{
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(online, &n);
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

/* What is no frame is dropped, and said, but not each. */
static void
tell_damage(struct telemetry *now)
{
	struct feed_counts counts = feed_counts(now->feed);
	uint64_t n = counts.damaged + counts.foreign;

	if (n == now->n_not_frames)
		return;
	log_limited(&now->damage_said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "%llu messages were no frames of ours: damaged, or of another "
		    "version",
		    (unsigned long long)(n - now->n_not_frames));
	now->n_not_frames = n;
}

/* Jobs of hosts without room for their raw frames have no profile by traffic. */
static void
tell_refused(struct daemon *d)
{
	struct telemetry *now = &d->now;
	uint64_t n = live_counts(now->live)->refused;

	if (n == now->n_refused)
		return;
	now->n_refused = n;
	log_limited(&now->memory_said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "there is no memory for all that frames tell: some hosts, jobs or "
		    "raw series are not looked at; memory_mb = %lld is the most",
		    (long long)d->config.memory_mb);
}

static uint64_t
bytes_in(double bps, int64_t span_ms)
{
	return bps > 0 ? (uint64_t)(bps / 8000 * (double)span_ms) : 0;
}

/* Of one link, what each job put on it since the last look, by its last second. */
static void
count_carried(struct telemetry *now, const struct contention_link *link)
{
	VEC(struct link_counters_job) jobs = VEC_EMPTY;

	for (size_t k = 0; k < link->n_jobs; k++) {
		const struct contention_job *job = &link->jobs[k];

		vec_push(&jobs, ((struct link_counters_job){
					live_job_name(now->live, job->job),
					bytes_in(job->now_bps, now->carried_span_ms),
					job->mean_bps }));
	}
	link_counters_add(now->carried, link->name, jobs.items, jobs.n,
			  bytes_in(link->other_bps, now->carried_span_ms));
	vec_free(&jobs);
}

/* How long ago it was counted last; 0: that is not known, and nothing is. */
static int64_t
begin_count(struct telemetry *now)
{
	const struct contention *coming = &now->coming;
	int64_t span_ms = coming->to_ms - now->carried_ms;

	if (!now->carried || !coming->has_raw || span_ms <= 0)
		return 0;
	now->carried_ms = coming->to_ms;
	return span_ms > MAX_CARRIED_MS ? 0 : span_ms;
}

void
telemetry_scan(struct daemon *d)
{
	struct telemetry *now = &d->now;
	int64_t began_ns = clk_monotonic_ns();
	const struct contention_opts opts = {
		.topo = fabric_source_topo(d->fabric),
		.routes = fabric_source_routes(d->fabric),
		.window_ms = (uint32_t)d->config.window_ms,
		.history_ms = history_ms(now->online),
	};

	tell_damage(now);
	tell_refused(d);
	if (now->stage != TELEMETRY_IDLE ||
	    began_ns - now->looked_ns < LOOK_REST * now->look_took_ns)
		return;
	now->looking = contention_begin(now->live, &opts);
	now->stage = TELEMETRY_FIND;
	now->look_began_ns = began_ns;
	now->look_cost_ns = 0;
	refresh_step(d);
}

static void
note_place(struct telemetry *now, size_t at)
{
	size_t number = now->coming.links[at].number;

	while (now->coming_places.n <= number)
		vec_push(&now->coming_places, 0);
	now->coming_places.items[number] = (uint32_t)at + 1;
}

size_t
telemetry_n_numbers(const struct daemon *d)
{
	return d->now.places.n;
}

const struct contention_link *
telemetry_link(const struct daemon *d, size_t number)
{
	uint32_t place = d->now.places.items[number];

	/* Of another fabric there are none yet. */
	return place && place <= d->now.found.n_links ? &d->now.found.links[place - 1]
						      : NULL;
}

/* The next links of a stage, up to '*ret_to'; true: these are the last ones. */
static bool
next_links(struct telemetry *now, size_t *ret_from, size_t *ret_to)
{
	size_t left = now->coming.n_links - now->next;

	*ret_from = now->next;
	now->next += left < LINKS_A_STEP ? left : LINKS_A_STEP;
	*ret_to = now->next;
	return left <= LINKS_A_STEP;
}

/* Those who are at work on what is shown, history and listeners, have been before us. */
static void
show(struct daemon *d)
{
	struct telemetry *now = &d->now;

	history_give_up(d);
	jobs_stop_taking(d);
	now->gone = now->found;
	now->found = now->coming;
	now->coming = (struct contention){ .n_links = 0 };
	vec_free(&now->places);
	now->places.items = now->coming_places.items;
	now->places.n = now->coming_places.n;
	now->places.capacity = now->coming_places.capacity;
	now->coming_places.items = NULL;
	now->coming_places.n = now->coming_places.capacity = 0;
	now->looked_ns = clk_monotonic_ns();
	now->look_took_ns = now->looked_ns - now->look_began_ns;
	now->last_cost_ns = now->look_cost_ns;
}

static void
step(struct daemon *d)
{
	struct telemetry *now = &d->now;
	size_t from, to;
	bool is_over = true;

	switch (now->stage) {
	case TELEMETRY_IDLE:
		return;
	case TELEMETRY_FIND:
		is_over = contention_step(now->looking);
		if (!is_over)
			break;
		contention_end(now->looking, &now->coming);
		now->looking = NULL;
		break;
	case TELEMETRY_REMEMBER:
		is_over = next_links(now, &from, &to);
		since_remember_some(now->since, &now->coming, from, to);
		break;
	case TELEMETRY_SORT:
		if (!now->sorting)
			now->sorting = contention_sort_begin(&now->coming,
							     CONTENTION_BY_CONTENTION);
		is_over = contention_sort_step(now->sorting);
		if (!is_over)
			break;
		contention_sort_end(now->sorting);
		now->sorting = NULL;
		now->carried_span_ms = begin_count(now);
		break;
	case TELEMETRY_COUNT:
		is_over = next_links(now, &from, &to);
		for (size_t i = from; i < to; i++) {
			note_place(now, i);
			if (now->carried_span_ms)
				count_carried(now, &now->coming.links[i]);
		}
		break;
	case TELEMETRY_SHOW:
		show(d);
		break;
	case TELEMETRY_DROP:
		is_over = contention_drop(&now->gone, LINKS_A_STEP);
		break;
	}
	if (!is_over)
		return;
	now->next = 0;
	now->stage = now->stage == TELEMETRY_DROP
			     ? TELEMETRY_IDLE
			     : (enum telemetry_stage)(now->stage + 1);
}

bool
telemetry_scan_step(struct daemon *d)
{
	int64_t began_ns = clk_monotonic_ns();

	if (d->now.stage == TELEMETRY_IDLE)
		return false;
	step(d);
	d->now.look_cost_ns += clk_monotonic_ns() - began_ns;
	return true;
}

void
telemetry_stop_scan(struct daemon *d)
{
	struct telemetry *now = &d->now;

	contention_end(now->looking, NULL);
	now->looking = NULL;
	contention_sort_end(now->sorting);
	now->sorting = NULL;
	contention_fini(&now->coming);
	contention_fini(&now->gone);
	vec_free(&now->coming_places);
	now->stage = TELEMETRY_IDLE;
	now->looked_ns = 0;
}

/* Clocks of hosts that say nothing are not told; links are, as long as frames come. */
void
telemetry_forget(struct daemon *d)
{
	struct telemetry *now = &d->now;
	int64_t now_ns = clk_monotonic_ns();

	for (uint32_t i = 0; i < now->clocks.n; i++) {
		struct telemetry_clock *clock = &now->clocks.items[i];

		if (!clock->since_ns || now_ns - clock->since_ns < 4 * CLOCK_NS)
			continue;
		*clock = (struct telemetry_clock){ .since_ns = 0 };
		now->n_clocks--;
		strtab_remove(now->clock_names, i);
	}
	if (now_ns - now->forgot_ns < FORGET_NS)
		return;
	now->forgot_ns = now_ns;
	since_forget(now->since);
	if (now->carried)
		link_counters_forget(now->carried);
	api_forget(d);
}

struct status
telemetry_status(const struct daemon *d)
{
	const struct telemetry *now = &d->now;

	return (struct status){
		.live = now->live,
		.online = now->online,
		.has_fabric = fabric_source_topo(d->fabric) != NULL,
		.idle_ns = clk_monotonic_ns() - now->newest_at_ns,
		/* Frames are always listened for: who says nothing is silent. */
		.heard_idle_ns = clk_monotonic_ns() - now->newest_at_ns,
	};
}
