/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contention.c - the list of all links: names, bases and statistics.
 *
 * Statistics of raw series are in link_stats.h, those of summaries here.
 */
#include "scheduler/live/contention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/live/link_stats.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"
#include "topology/topo.h"

#define DEFAULT_WINDOW_MS  10000
#define DEFAULT_HISTORY_MS 1000
/* Work of one step: links, or bins of series. */
#define UNITS_A_STEP 256
#define BINS_A_UNIT  1024

const char *const contention_basis_names[] = { "measured", "computed", "summary",
					       NULL };

/* ---- From summaries ---------------------------------------------------------- */

/* Adds a series to its job; series of one job are adjacent. */
static void
add_summary(struct contention_link *link, uint32_t number, double now_bps,
	    double peak_bps)
{
	struct contention_job *job;

	if (link->n_jobs == 0 || link->jobs[link->n_jobs - 1].job != number) {
		if (link->n_jobs == CONTENTION_MAX_JOBS)
			return;
		link->jobs[link->n_jobs++] = (struct contention_job){
			.job = number,
			.mean_bps = -1,
		};
	}
	job = &link->jobs[link->n_jobs - 1];
	job->now_bps += now_bps;
	job->peak_bps = fmax(job->peak_bps, peak_bps);
}

/* Statistics from summaries only. */
static void
measure_summary(struct link_stats *stats, const struct traffic_map_part *parts,
		size_t n)
{
	struct contention_link *link = stats->link;
	bool has_total = false;
	bool is_whole = true; /* Else the sum would be of a part only. */
	double sum_now = 0, sum_peak = 0;

	link->basis = CONTENTION_SUMMARY;
	link->since_ms = INT64_MIN;
	link->jobs = xcalloc(n + 1, sizeof *link->jobs);
	for (size_t i = 0; i < n; i++) {
		const struct live_series *s = live_series(stats->live, parts[i].series);
		uint32_t host = live_interface(stats->live, s->interface)->host;
		uint64_t bytes = live_window_bytes(stats->live, parts[i].series);
		double now_bps, peak_bps;

		if (!s->has_summary || !live_has_summary(stats->live, host)) {
			is_whole = false;
			continue;
		}
		now_bps = parts[i].share * (double)bytes * 8e9 /
			  (double)live_host(stats->live, host)->summary_window_ns;
		peak_bps =
			bytes ? parts[i].share * s->peak_bytes * BITS_PER_BYTE_MS : 0;
		if (parts[i].job == TELE_LINK) {
			has_total = true;
			link->now_bps = now_bps;
			link->peak_bps = peak_bps;
			continue;
		}
		sum_now += now_bps;
		sum_peak = fmax(sum_peak, peak_bps);
		if (parts[i].job != TELE_OTHER && bytes)
			add_summary(link, parts[i].job, now_bps, peak_bps);
	}
	if (is_whole && !has_total) {
		link->now_bps = sum_now;
		link->peak_bps = sum_peak;
	}
	link->mean_bps = link->now_bps;
	/* There was room for each series, and there are fewer jobs. */
	link->jobs = xreallocarray(link->jobs, link->n_jobs + 1, sizeof *link->jobs);
}

/* ---- All links ------------------------------------------------------------------- */

static void
name_plain(const struct live *live, uint32_t id, struct contention_link *link)
{
	const struct live_interface *it = live_interface(live, id / 2);
	const char *host = live_host(live, it->host)->name;

	link->name = id % 2 ? xasprintf(">%s:%s", host, it->name)
			    : xasprintf("%s:%s>", host, it->name);
	link->link = TOPO_NONE;
	link->from_tier = id % 2;
	link->to_tier = 1 - id % 2;
	link->capacity_bps = it->capacity_bps;
	link->is_up = it->is_up;
}

static void
name_link(const struct topo *topo, uint32_t id, struct contention_link *link)
{
	const struct topo_link *told = topo_link(topo, id);
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(topo, id, &name);
	link->name = strbuf_steal(&name);
	link->link = id;
	link->from_tier = topo_node(topo, told->from)->tier;
	link->to_tier = topo_node(topo, told->to)->tier;
	link->capacity_bps = told->capacity_bps;
	link->is_up = true;
}

/* Whether raw frames came from all hosts of a link: else no time of it is known. */
static bool
is_told_raw(const struct live *live, const struct traffic_map_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t interface = live_series(live, parts[i].series)->interface;
		uint32_t host = live_interface(live, interface)->host;

		if (live_host(live, host)->raw_ns == LIVE_NEVER)
			return false;
	}
	return true;
}

/* A link with summaries only. */
static void
take_counts(const struct live *live, const struct live_series *s,
	    struct contention_link *link)
{
	uint32_t id = live_interface(live, s->interface)->host;
	const struct live_host *host = live_host(live, id);

	if (!live_has_summary(live, id) || !s->has_summary ||
	    s->summary_ns != host->summary_ns || (host->flags & TELE_IMPORTED))
		return;
	link->has_counts = true;
	link->total_ce = s->total_ce;
	link->total_retransmits = s->total_retransmits;
	link->queue_bytes = s->queue_bytes;
}

/* Makes one link from its parts[0 .. n). */
static void
find_link(struct link_stats *stats, const struct traffic_map_part *parts, size_t n,
	  struct contention_link *link)
{
	*link = (struct contention_link){ .basis = CONTENTION_COMPUTED,
					  .now_bps = -1,
					  .peak_bps = -1,
					  .mean_bps = -1 };
	if (stats->opts->topo)
		name_link(stats->opts->topo, parts[0].link, link);
	else
		name_plain(stats->live, parts[0].link, link);
	for (size_t i = 0; i < n; i++) {
		const struct live_series *s = live_series(stats->live, parts[i].series);

		if (!parts[i].is_measured)
			continue;
		link->basis = CONTENTION_MEASURED;
		if (parts[i].job != TELE_LINK)
			continue;
		link->is_up = live_interface(stats->live, s->interface)->is_up;
		take_counts(stats->live, s, link);
	}
	stats->link = link;
	if (stats->n && is_told_raw(stats->live, parts, n)) {
		link_stats_read(stats, link, parts, n);
		link_stats_measure_total(stats);
	}
	if (link->known_ms)
		link_stats_measure_jobs(stats);
	else
		measure_summary(stats, parts, n);
}

static void
set_window(struct link_stats *stats, struct contention_opts *opts)
{
	uint32_t span = live_span_ms(stats->live);
	int64_t to_ms = live_complete_ms(stats->live);

	if (!opts->window_ms)
		opts->window_ms = DEFAULT_WINDOW_MS;
	if (!opts->history_ms)
		opts->history_ms = DEFAULT_HISTORY_MS;
	if (!(opts->over_frac > 0))
		opts->over_frac = CONTENTION_OVER_FRAC;
	if (!(opts->active_frac > 0))
		opts->active_frac = CONTENTION_ACTIVE_FRAC;
	stats->n = to_ms == LIVE_NEVER      ? 0
		   : span < opts->window_ms ? span
					    : opts->window_ms;
	stats->from_ms = to_ms == LIVE_NEVER ? 0 : to_ms - (int64_t)stats->n;
}

struct contention_finder {
	struct contention_opts opts;
	struct link_stats stats;
	struct traffic_map_finder *ground; /* Owned. NULL: the map is complete. */
	struct traffic_map map;
	size_t next; /* The next part of it. */
	VEC(struct contention_link) links;
	uint32_t n_impossible, n_overfull;
};

struct contention_finder *
contention_begin(const struct live *live, const struct contention_opts *opts)
{
	struct contention_finder *f = xcalloc(1, sizeof *f);

	f->opts = *opts;
	f->stats = (struct link_stats){ .live = live,
					.opts = &f->opts,
					.tracks = VEC_EMPTY };
	set_window(&f->stats, &f->opts);
	link_stats_init(&f->stats);
	f->ground = traffic_map_begin(live, opts->topo, opts->routes, opts->paths);
	return f;
}

/* Makes the next link; returns about the cost of reading it. */
static size_t
find_next(struct contention_finder *f)
{
	struct traffic_map_part *parts = &f->map.parts.items[f->next];
	struct contention_link link;
	size_t first = f->next, n = 1, n_thin;

	while (f->next + n < f->map.parts.n && parts[n].link == parts[0].link)
		n++;
	f->next += n;
	n_thin = traffic_map_thin(f->stats.live, parts, n);
	find_link(&f->stats, parts, n_thin, &link);
	link.first_part = first;
	link.n_parts = n_thin;
	if (f->stats.n > 0 && link_stats_is_impossible(&f->stats)) {
		bool is_assumed = false;

		for (size_t i = 0; i < n_thin; i++)
			is_assumed |= parts[i].is_assumed;
		f->n_impossible += is_assumed;
		f->n_overfull += !is_assumed;
	}
	vec_push(&f->links, link);
	return link.known_ms ? 1 + f->stats.n * n / BINS_A_UNIT : 1;
}

bool
contention_step(struct contention_finder *f)
{
	if (f->ground) {
		if (!traffic_map_step(f->ground))
			return false;
		traffic_map_end(f->ground, &f->map);
		f->ground = NULL;
		return f->map.parts.n == 0;
	}
	for (size_t units = 0; units < UNITS_A_STEP && f->next < f->map.parts.n;)
		units += find_next(f);
	return f->next >= f->map.parts.n;
}

void
contention_end(struct contention_finder *f, struct contention *ret_contention)
{
	struct contention found;

	if (!f)
		return;
	found = (struct contention){
		.from_ms = f->stats.from_ms,
		.to_ms = f->stats.from_ms + (int64_t)f->stats.n,
		.has_raw = f->stats.n > 0,
		.history_ms = f->opts.history_ms,
		.links = f->links.items,
		.n_links = f->links.n,
		.n_unattached = f->map.n_unattached,
		.n_unplaced = f->map.n_unplaced,
		.first_unattached = f->map.first_unattached,
		.n_impossible = f->n_impossible,
		.n_overfull = f->n_overfull,
	};
	if (f->opts.keeps_parts) {
		found.parts = f->map.parts.items;
		f->map = (struct traffic_map){ .n_unplaced = 0 };
	}
	if (ret_contention)
		*ret_contention = found;
	else
		contention_fini(&found);
	traffic_map_end(f->ground, NULL);
	traffic_map_fini(&f->map);
	link_stats_fini(&f->stats);
	free(f);
}

void
contention_find(const struct live *live, const struct contention_opts *opts,
		struct contention *ret_contention)
{
	struct contention_finder *f = contention_begin(live, opts);

	while (!contention_step(f))
		continue;
	contention_end(f, ret_contention);
}

bool
contention_drop(struct contention *contention, size_t n_max)
{
	for (; contention->n_links && n_max; n_max--) {
		struct contention_link *link =
			&contention->links[--contention->n_links];

		free(link->name);
		free(link->jobs);
		free(link->pairs);
		free(link->history_bps);
	}
	if (contention->n_links)
		return false;
	free(contention->links);
	free(contention->parts);
	*contention = (struct contention){ 0 };
	return true;
}

void
contention_drop_parts(struct contention *contention)
{
	free(contention->parts);
	contention->parts = NULL;
}

void
contention_fini(struct contention *contention)
{
	contention_drop(contention, SIZE_MAX);
}
