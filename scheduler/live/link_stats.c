/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/link_stats.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"

void
link_stats_init(struct link_stats *stats)
{
	size_t n = stats->n + 1;

	stats->n_words = stats->n / 64 + 1;
	stats->bins = xcalloc(n, sizeof *stats->bins);
	stats->total = xcalloc(n, sizeof *stats->total);
	stats->known = xcalloc(n, sizeof *stats->known);
	stats->n_active = xcalloc(n, sizeof *stats->n_active);
	stats->over = xcalloc(stats->n_words, sizeof *stats->over);
}

void
link_stats_drop_track(struct link_stats *stats, size_t i)
{
	free(stats->tracks.items[i].bytes);
	free(stats->tracks.items[i].active);
	stats->tracks.items[i] = stats->tracks.items[--stats->tracks.n];
}

static void
look_begin(struct link_stats *stats, struct contention_link *link)
{
	stats->link = link;
	while (stats->tracks.n)
		link_stats_drop_track(stats, stats->tracks.n - 1);
	memset(stats->total, 0, stats->n * sizeof *stats->total);
	memset(stats->known, 1, stats->n);
	memset(stats->n_active, 0, stats->n);
	memset(stats->over, 0, stats->n_words * sizeof *stats->over);
}

void
link_stats_fini(struct link_stats *stats)
{
	look_begin(stats, NULL);
	vec_free(&stats->tracks);
	free(stats->bins);
	free(stats->total);
	free(stats->known);
	free(stats->n_active);
	free(stats->over);
}

/* Adds the series times 'share' to bytes[n]; gaps make their time unknown. */
static void
add_series(struct link_stats *stats, const struct traffic_map_part *part, double *total,
	   float *bytes)
{
	live_bins(stats->live, part->series, stats->from_ms, stats->n, stats->bins);
	for (size_t t = 0; t < stats->n; t++) {
		double value = part->share * stats->bins[t];

		if (stats->bins[t] == TELE_GAP) {
			stats->known[t] = 0;
			continue;
		}
		if (total)
			total[t] += value;
		if (bytes)
			bytes[t] += (float)value;
	}
}

/* Drops the job with the least traffic if there are too many. */
static void
drop_least(struct link_stats *stats)
{
	size_t least = 0;

	if (stats->tracks.n <= CONTENTION_MAX_JOBS)
		return;
	for (size_t i = 1; i < stats->tracks.n; i++)
		if (stats->tracks.items[i].sum < stats->tracks.items[least].sum)
			least = i;
	link_stats_drop_track(stats, least);
}

/* Reads parts[0 .. n), which are of one job on one link. */
static void
add_job(struct link_stats *stats, const struct traffic_map_part *parts, size_t n,
	double *total)
{
	struct track track = { .job = parts[0].job };
	bool is_job = parts[0].job < TELE_OTHER;

	if (is_job) {
		track.bytes = xcalloc(stats->n + 1, sizeof *track.bytes);
		track.active = xcalloc(stats->n_words, sizeof *track.active);
	}
	for (size_t i = 0; i < n; i++)
		add_series(stats, &parts[i], total, track.bytes);
	if (!is_job)
		return;
	for (size_t t = 0; t < stats->n; t++)
		track.sum += track.bytes[t];
	vec_push(&stats->tracks, track);
	drop_least(stats);
}

void
link_stats_read(struct link_stats *stats, struct contention_link *link,
		const struct traffic_map_part *parts, size_t n)
{
	bool has_total = false;

	look_begin(stats, link);
	for (size_t i = 0; i < n; i++)
		has_total |= parts[i].job == TELE_LINK;
	for (size_t first = 0, end; first < n; first = end) {
		bool is_total = parts[first].job == TELE_LINK;

		for (end = first + 1; end < n; end++)
			if (parts[end].job != parts[first].job)
				break;
		add_job(stats, &parts[first], end - first,
			has_total == is_total ? stats->total : NULL);
	}
}
