/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/contention_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/link_stats.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"

static int
compare_names(const void *a, const void *b, void *live)
{
	const struct track *x = a, *y = b;

	return strcmp(live_job_name(live, x->job), live_job_name(live, y->job));
}

/* The means of the last 'series->n' steps, of the total or one job. */
static void
fill(const struct link_stats *stats, const struct contention_series *series,
     const float *bytes, float *ret_bps)
{
	size_t at = (size_t)(series->from_ms - stats->from_ms);

	for (size_t i = 0; i < series->n; i++) {
		double sum = 0;
		size_t n = 0;

		for (uint32_t k = 0; k < series->step_ms; k++, at++) {
			if (!stats->known[at])
				continue;
			sum += bytes ? (double)bytes[at] : stats->total[at];
			n++;
		}
		ret_bps[i] = n ? (float)(sum / (double)n * BITS_PER_BYTE_MS) : -1;
	}
}

static void
make(struct link_stats *stats, size_t max_values, struct contention_series *series)
{
	size_t n_rows;

	for (size_t i = stats->tracks.n; i-- > 0;)
		if (!(stats->tracks.items[i].sum > 0))
			link_stats_drop_track(stats, i);
	if (stats->tracks.n)
		qsort_r(stats->tracks.items, stats->tracks.n,
			sizeof *stats->tracks.items, compare_names,
			(void *)stats->live);
	n_rows = stats->tracks.n + 1;
	series->step_ms = (uint32_t)((stats->n * n_rows + max_values - 1) / max_values);
	series->n = stats->n / series->step_ms;
	series->from_ms =
		stats->from_ms + (int64_t)(stats->n - series->n * series->step_ms);
	series->n_jobs = stats->tracks.n;
	series->jobs = xcalloc(n_rows, sizeof *series->jobs);
	series->bps = xcalloc(n_rows * series->n + 1, sizeof *series->bps);
	series->job_bps = series->bps + series->n;
	fill(stats, series, NULL, series->bps);
	for (size_t i = 0; i < series->n_jobs; i++) {
		series->jobs[i] = stats->tracks.items[i].job;
		fill(stats, series, stats->tracks.items[i].bytes,
		     &series->job_bps[i * series->n]);
	}
}

int
contention_series_make(const struct live *live, const struct contention *found,
		       const struct contention_link *link, uint32_t span_ms,
		       size_t max_values, struct contention_series *ret_series)
{
	uint32_t kept_ms = live_span_ms(live);
	int64_t to_ms = live_complete_ms(live);
	struct contention_link scratch = *link;
	struct link_stats stats = { .live = live, .tracks = VEC_EMPTY };

	if (!found->parts)
		return -ESTALE;
	stats.n = kept_ms < span_ms ? kept_ms : span_ms;
	if (to_ms == LIVE_NEVER || !stats.n || !link->known_ms)
		return -ENODATA;
	stats.from_ms = to_ms - (int64_t)stats.n;
	link_stats_init(&stats);
	link_stats_read(&stats, &scratch, &found->parts[link->first_part],
			link->n_parts);
	*ret_series = (struct contention_series){ .n = 0 };
	make(&stats, max_values, ret_series);
	link_stats_fini(&stats);
	return 0;
}

void
contention_series_fini(struct contention_series *series)
{
	free(series->jobs);
	free(series->bps);
	*series = (struct contention_series){ .n = 0 };
}
