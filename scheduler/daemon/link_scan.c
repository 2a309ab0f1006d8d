/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/link_scan.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/link_counters.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/status.h"

/* The pause after a scan, as a multiple of its duration. */
#define SCAN_REST      2
#define LINKS_A_STEP   1024
#define MAX_HISTORY_MS 5000
/* After a longer pause between scans, the traffic in between is unknown. */
#define MAX_COUNTED_MS 10000
/*
 * Links that were gone for 1 to 2 times this long are forgotten; or at once, if there are
 * more than this: names that senders invent come and go.
 */
#define FORGET_NS     INT64_C(3600000000000)
#define CROWDED_LINKS (2 * LIVE_MAX_INTERFACES)

enum stage {
	IDLE,
	FIND,
	SINCE, /* Since when links are contended. */
	SORT,
	COUNT,   /* Adds the traffic of jobs on links to the counters. */
	REPLACE, /* Makes it the result. */
	DROP,    /* Releases the one before. */
};

typedef VEC(uint32_t) places_vec;

struct link_scan {
	struct link_scan_opts opts;
	struct contention_starts *since; /* Owned. */

	/* The scan that is under way. */
	enum stage stage;
	struct contention_finder *finder; /* Owned. */
	struct contention_sorter *sorter; /* Owned. */
	struct contention found;          /* Owned. */
	struct contention dropped;        /* Owned.  Of the scan before. */
	places_vec found_places; /* By number: 1 + index of the link in 'found'. */
	size_t next;             /* The next link of the stage. */
	int64_t counted_ms;      /* The span of the counters; 0: not counted. */
	int64_t begun_ns, spent_ns;

	/* The last result. */
	struct contention links; /* Owned. */
	places_vec places;       /* As above. */
	int64_t ended_ns, took_ns, cost_ns;

	int64_t counted_to_ms; /* Frame time. */
	int64_t rebased_ns;    /* As last applied. */
	int64_t forgot_ns;
};

/* ---- Opening and closing ------------------------------------------------------------- */

struct link_scan *
link_scan_new(const struct link_scan_opts *opts)
{
	struct link_scan *scan = xcalloc(1, sizeof *scan);

	scan->opts = *opts;
	scan->since = contention_starts_new();
	return scan;
}

static void
stop(struct link_scan *scan)
{
	contention_end(scan->finder, NULL);
	contention_sort_end(scan->sorter);
	contention_fini(&scan->found);
	contention_fini(&scan->dropped);
	vec_free(&scan->found_places);
	scan->finder = NULL;
	scan->sorter = NULL;
	scan->found = scan->dropped = (struct contention){ .n_links = 0 };
	scan->found_places = (places_vec)VEC_EMPTY;
	scan->next = 0;
	scan->stage = IDLE;
}

void
link_scan_free(struct link_scan *scan)
{
	if (!scan)
		return;
	stop(scan);
	contention_fini(&scan->links);
	vec_free(&scan->places);
	contention_starts_free(scan->since);
	free(scan);
}

/* ---- A scan -------------------------------------------------------------------------- */

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

/* What is remembered of the time before "now" was moved is moved, too. */
static void
follow_rebase(struct link_scan *scan)
{
	int64_t all_ns = live_counts(scan->opts.live)->rebased_ns;
	int64_t step_ms =
		(int64_t)((uint64_t)all_ns - (uint64_t)scan->rebased_ns) / 1000000;

	if (step_ms)
		contention_starts_move(scan->since, step_ms);
	scan->rebased_ns = all_ns;
}

bool
link_scan_begin(struct link_scan *scan)
{
	int64_t now_ns = clk_monotonic_ns();
	const struct contention_opts opts = {
		.topo = fabric_source_topo(scan->opts.fabric),
		.routes = fabric_source_routes(scan->opts.fabric),
		.window_ms = scan->opts.window_ms,
		.history_ms = history_ms(scan->opts.profiler),
		.keeps_parts = true,
	};

	if (scan->stage != IDLE || now_ns - scan->ended_ns < SCAN_REST * scan->took_ns)
		return false;
	follow_rebase(scan);
	scan->finder = contention_begin(scan->opts.live, &opts);
	scan->stage = FIND;
	scan->begun_ns = now_ns;
	scan->spent_ns = 0;
	return true;
}

/* The next links of a stage, up to '*ret_to'; true: no more are left. */
static bool
next_links(struct link_scan *scan, size_t *ret_from, size_t *ret_to)
{
	size_t left = scan->found.n_links - scan->next;

	*ret_from = scan->next;
	scan->next += left < LINKS_A_STEP ? left : LINKS_A_STEP;
	*ret_to = scan->next;
	return left <= LINKS_A_STEP;
}

static bool
step_sort(struct link_scan *scan)
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
span_to_count(struct link_scan *scan)
{
	const struct contention *found = &scan->found;
	int64_t span_ms = found->to_ms - scan->counted_to_ms;

	if (!scan->opts.counters || !found->has_raw || span_ms == 0)
		return 0;
	scan->counted_to_ms = found->to_ms;
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
count_link(struct link_scan *scan, const struct contention_link *link)
{
	int64_t span_ms = scan->counted_ms;
	VEC(struct link_counters_job) jobs = VEC_EMPTY;

	for (size_t k = 0; k < link->n_jobs; k++) {
		const struct contention_job *job = &link->jobs[k];

		vec_push(&jobs,
			 ((struct link_counters_job){
				 live_job_name(scan->opts.live, job->job),
				 bytes_in(job->now_bps, span_ms), job->mean_bps }));
	}
	link_counters_add(scan->opts.counters, link->name, jobs.items, jobs.n,
			  bytes_in(link->other_bps, span_ms));
	vec_free(&jobs);
}

static void
note_place(struct link_scan *scan, size_t at)
{
	size_t number = scan->found.links[at].number;

	while (scan->found_places.n <= number)
		vec_push(&scan->found_places, 0);
	scan->found_places.items[number] = (uint32_t)at + 1;
}

static bool
step_count(struct link_scan *scan)
{
	size_t from, to;
	bool is_over = next_links(scan, &from, &to);

	for (size_t i = from; i < to; i++) {
		note_place(scan, i);
		if (scan->counted_ms)
			count_link(scan, &scan->found.links[i]);
	}
	return is_over;
}

static void
replace_links(struct link_scan *scan)
{
	if (scan->opts.on_replace)
		scan->opts.on_replace(scan->opts.ctx);
	scan->dropped = scan->links;
	scan->links = scan->found;
	scan->found = (struct contention){ .n_links = 0 };
	vec_free(&scan->places);
	scan->places = scan->found_places;
	scan->found_places = (places_vec)VEC_EMPTY;
	scan->ended_ns = clk_monotonic_ns();
	scan->took_ns = scan->ended_ns - scan->begun_ns;
	scan->cost_ns = scan->spent_ns;
}

/* True: the stage is over. */
static bool
step(struct link_scan *scan)
{
	size_t from, to;
	bool is_over;

	switch (scan->stage) {
	case FIND:
		if (!contention_step(scan->finder))
			return false;
		contention_end(scan->finder, &scan->found);
		scan->finder = NULL;
		return true;
	case SINCE:
		is_over = next_links(scan, &from, &to);
		contention_starts_remember_some(scan->since, &scan->found, from, to);
		return is_over;
	case SORT:
		if (!step_sort(scan))
			return false;
		scan->counted_ms = span_to_count(scan);
		return true;
	case COUNT:
		return step_count(scan);
	case REPLACE:
		replace_links(scan);
		return true;
	case DROP:
		return contention_drop(&scan->dropped, LINKS_A_STEP);
	default:
		return true;
	}
}

bool
link_scan_step(struct link_scan *scan)
{
	int64_t began_ns = clk_monotonic_ns();

	if (scan->stage == IDLE)
		return false;
	if (step(scan)) {
		scan->next = 0;
		scan->stage =
			scan->stage == DROP ? IDLE : (enum stage)(scan->stage + 1);
	}
	scan->spent_ns += clk_monotonic_ns() - began_ns;
	return true;
}

bool
link_scan_is_under_way(const struct link_scan *scan)
{
	return scan->stage != IDLE;
}

void
link_scan_drop(struct link_scan *scan)
{
	stop(scan);
	contention_fini(&scan->links);
	scan->ended_ns = 0;
}

void
link_scan_drop_parts(struct link_scan *scan)
{
	contention_drop_parts(&scan->links);
}

void
link_scan_forget_gone(struct link_scan *scan, int64_t now_ns)
{
	if (now_ns - scan->forgot_ns < FORGET_NS &&
	    contention_starts_n(scan->since) <= CROWDED_LINKS)
		return;
	scan->forgot_ns = now_ns;
	contention_starts_forget(scan->since);
	if (scan->opts.counters)
		link_counters_forget(scan->opts.counters);
}

/* ---- The result ---------------------------------------------------------------------- */

const struct contention *
link_scan_links(const struct link_scan *scan)
{
	return &scan->links;
}

int64_t
link_scan_ended_ns(const struct link_scan *scan)
{
	return scan->ended_ns;
}

int64_t
link_scan_cost_ns(const struct link_scan *scan)
{
	return scan->cost_ns;
}

size_t
link_scan_n_numbers(const struct link_scan *scan)
{
	return scan->places.n;
}

const struct contention_link *
link_scan_link(const struct link_scan *scan, size_t number)
{
	uint32_t place = scan->places.items[number];

	/* There are no links of a new fabric yet. */
	return place && place <= scan->links.n_links ? &scan->links.links[place - 1]
						     : NULL;
}
