#include "scheduler/live/link_stats.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"

void
link_stats_init(struct link_stats *look)
{
	size_t n = look->n + 1;

	look->n_words = look->n / 64 + 1;
	look->bins = xcalloc(n, sizeof *look->bins);
	look->total = xcalloc(n, sizeof *look->total);
	look->known = xcalloc(n, sizeof *look->known);
	look->n_active = xcalloc(n, sizeof *look->n_active);
	look->over = xcalloc(look->n_words, sizeof *look->over);
}

void
link_stats_drop_track(struct link_stats *look, size_t i)
{
	free(look->tracks.items[i].bytes);
	free(look->tracks.items[i].active);
	look->tracks.items[i] = look->tracks.items[--look->tracks.n];
}

static void
look_begin(struct link_stats *look, struct contention_link *link)
{
	look->link = link;
	while (look->tracks.n)
		link_stats_drop_track(look, look->tracks.n - 1);
	memset(look->total, 0, look->n * sizeof *look->total);
	memset(look->known, 1, look->n);
	memset(look->n_active, 0, look->n);
	memset(look->over, 0, look->n_words * sizeof *look->over);
}

void
link_stats_fini(struct link_stats *look)
{
	look_begin(look, NULL);
	vec_free(&look->tracks);
	free(look->bins);
	free(look->total);
	free(look->known);
	free(look->n_active);
	free(look->over);
}

/* Adds share times the series to bytes[n]; gaps make their time unknown. */
static void
add_series(struct link_stats *look, const struct traffic_map_part *part, double *total,
	   float *bytes)
{
	live_bins(look->live, part->series, look->from_ms, look->n, look->bins);
	for (size_t t = 0; t < look->n; t++) {
		double value = part->share * look->bins[t];

		if (look->bins[t] == TELE_GAP) {
			look->known[t] = 0;
			continue;
		}
		if (total)
			total[t] += value;
		if (bytes)
			bytes[t] += (float)value;
	}
}

/* Of too many jobs the one with the least traffic goes. */
static void
drop_least(struct link_stats *look)
{
	size_t least = 0;

	if (look->tracks.n <= CONTENTION_MAX_JOBS)
		return;
	for (size_t i = 1; i < look->tracks.n; i++)
		if (look->tracks.items[i].sum < look->tracks.items[least].sum)
			least = i;
	link_stats_drop_track(look, least);
}

/* parts[0 .. n) are of one job on one link. */
static void
add_job(struct link_stats *look, const struct traffic_map_part *parts, size_t n,
	double *total)
{
	struct track track = { .job = parts[0].job };
	bool is_job = parts[0].job < TELE_OTHER;

	if (is_job) {
		track.bytes = xcalloc(look->n + 1, sizeof *track.bytes);
		track.active = xcalloc(look->n_words, sizeof *track.active);
	}
	for (size_t i = 0; i < n; i++)
		add_series(look, &parts[i], total, track.bytes);
	if (!is_job)
		return;
	for (size_t t = 0; t < look->n; t++)
		track.sum += track.bytes[t];
	vec_push(&look->tracks, track);
	drop_least(look);
}

void
link_stats_read(struct link_stats *look, struct contention_link *link,
		const struct traffic_map_part *parts, size_t n)
{
	bool has_total = false;

	look_begin(look, link);
	for (size_t i = 0; i < n; i++)
		has_total |= parts[i].job == TELE_LINK;
	for (size_t first = 0, end; first < n; first = end) {
		bool is_total = parts[first].job == TELE_LINK;

		for (end = first + 1; end < n; end++)
			if (parts[end].job != parts[first].job)
				break;
		add_job(look, &parts[first], end - first,
			has_total == is_total ? look->total : NULL);
	}
}
