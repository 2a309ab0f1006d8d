/* SPDX-License-Identifier: Apache-2.0 */
/* series_select.c - the busiest series of a job. */
#include "scheduler/live/series_select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/core/profile/series.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"

#define SERIES_A_STEP 16

struct candidate {
	uint32_t series;
	double bytes;
	uint32_t gaps;
};

struct series_select {
	const struct live *live; /* Borrowed. */
	int64_t to_ms;
	uint32_t span_ms;
	uint32_t *bins;   /* Owned.  Scratch, [span_ms]. */
	uint32_t *series; /* Owned.  Of the job. */
	size_t n_series, next;
	bool is_by_hosts, is_chosen;
	VEC(struct candidate) candidates;
	size_t n_of_job;            /* Series that count. */
	uint32_t first_ms, last_ms; /* Of the traffic in the span. */
};

static int
compare_candidates(const void *a, const void *b, void *ctx)
{
	const struct candidate *x = a, *y = b;
	const struct live_series *sx = live_series(ctx, x->series);
	const struct live_series *sy = live_series(ctx, y->series);
	const struct live_interface *ix = live_interface(ctx, sx->interface);
	const struct live_interface *iy = live_interface(ctx, sy->interface);
	int order =
		strcmp(live_host(ctx, ix->host)->name, live_host(ctx, iy->host)->name);

	if (!order)
		order = strcmp(ix->name, iy->name);
	return order ? order : (int)sx->direction - (int)sy->direction;
}

static void
consider(struct series_select *select, uint32_t series)
{
	struct candidate candidate = { .series = series };

	live_bins(select->live, series, select->to_ms - select->span_ms,
		  select->span_ms, select->bins);
	for (uint32_t t = 0; t < select->span_ms; t++) {
		if (select->bins[t] == TELE_GAP) {
			candidate.gaps++;
			continue;
		}
		if (!select->bins[t])
			continue;
		candidate.bytes += select->bins[t];
		if (t < select->first_ms)
			select->first_ms = t;
		if (t > select->last_ms)
			select->last_ms = t;
	}
	if (candidate.bytes > 0)
		vec_push(&select->candidates, candidate);
}

/*
 * Whether hosts have series of the job. Series of switches then repeat the same
 * traffic; they count only for a job without series of hosts.
 */
static bool
is_seen_by_hosts(const struct live *live, const uint32_t *series, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t interface = live_series(live, series[i])->interface;
		uint32_t host = live_interface(live, interface)->host;

		if (!(live_host(live, host)->flags & TELE_IMPORTED))
			return true;
	}
	return false;
}

struct series_select *
series_select_new(const struct live *live, const uint32_t *series, size_t n,
		  uint32_t max_ms)
{
	struct series_select *select = xcalloc(1, sizeof *select);

	select->live = live;
	select->to_ms = live_complete_ms(live);
	select->span_ms = live_span_ms(live);
	if (select->span_ms > max_ms)
		select->span_ms = max_ms;
	select->first_ms = select->span_ms;
	select->bins = xcalloc(select->span_ms + 1, sizeof *select->bins);
	select->series = xmemdup(series, n, sizeof *series);
	select->n_series = select->span_ms ? n : 0;
	select->is_by_hosts = is_seen_by_hosts(live, series, n);
	return select;
}

void
series_select_free(struct series_select *select)
{
	if (!select)
		return;
	vec_free(&select->candidates);
	free(select->series);
	free(select->bins);
	free(select);
}

/* Keeps those with at least SERIES_MIN_SHARE, in order. */
static void
choose(struct series_select *select)
{
	double most = 0;
	size_t n = 0;

	for (size_t i = 0; i < select->candidates.n; i++)
		most = fmax(most, select->candidates.items[i].bytes);
	for (size_t i = 0; i < select->candidates.n; i++)
		if (select->candidates.items[i].bytes >= SERIES_MIN_SHARE * most)
			select->candidates.items[n++] = select->candidates.items[i];
	select->candidates.n = n;
	if (n)
		qsort_r(select->candidates.items, n, sizeof *select->candidates.items,
			compare_candidates, (void *)select->live);
}

bool
series_select_step(struct series_select *select)
{
	for (int i = 0; i < SERIES_A_STEP && select->next < select->n_series; i++) {
		uint32_t series = select->series[select->next++];
		uint32_t interface = live_series(select->live, series)->interface;
		uint32_t host = live_interface(select->live, interface)->host;

		if (select->is_by_hosts &&
		    (live_host(select->live, host)->flags & TELE_IMPORTED))
			continue;
		select->n_of_job++;
		if (live_has_traffic(select->live, series) &&
		    !live_is_silent(select->live, host))
			consider(select, series);
	}
	if (select->next < select->n_series)
		return true;
	if (!select->is_chosen)
		choose(select);
	select->is_chosen = true;
	return false;
}

const struct live *
series_select_live(const struct series_select *select)
{
	return select->live;
}

int64_t
series_select_to_ms(const struct series_select *select)
{
	return select->to_ms;
}

size_t
series_select_n_of_job(const struct series_select *select)
{
	return select->n_of_job;
}

bool
series_select_is_empty(const struct series_select *select)
{
	return select->candidates.n == 0;
}

uint32_t
series_select_traffic_ms(const struct series_select *select)
{
	if (select->first_ms == select->span_ms)
		return select->span_ms;
	return select->span_ms - select->first_ms;
}

uint32_t
series_select_idle_ms(const struct series_select *select)
{
	return select->span_ms - select->last_ms;
}

/* Fills a row with known bins, and gaps with their mean; false: too many gaps. */
static bool
fill_row(struct series_select *select, uint32_t series, uint32_t window_ms, float *row,
	 uint64_t *gaps)
{
	uint32_t n_gaps = 0;
	double sum = 0;
	float mean;

	live_bins(select->live, series, select->to_ms - window_ms, window_ms,
		  select->bins);
	for (uint32_t t = 0; t < window_ms; t++) {
		if (select->bins[t] == TELE_GAP)
			n_gaps++;
		else
			sum += select->bins[t];
	}
	if (n_gaps > SERIES_MAX_GAPS * window_ms)
		return false;
	mean = (float)(sum / (window_ms - n_gaps));
	for (uint32_t t = 0; t < window_ms; t++)
		row[t] = select->bins[t] == TELE_GAP ? mean : (float)select->bins[t];
	*gaps += n_gaps;
	return true;
}

size_t
series_select_make_set(struct series_select *select, uint32_t window_ms,
		       struct series_set *ret_set, double *ret_gap_frac)
{
	size_t n = select->candidates.n, n_rows = 0;
	size_t n_picked = n > JOB_PROFILER_MAX_SERIES ? JOB_PROFILER_MAX_SERIES : n;
	uint64_t gaps = 0;

	series_init(ret_set, n_picked, window_ms);
	ret_set->start_ms = select->to_ms - window_ms;
	for (size_t i = 0; i < n_picked; i++) {
		uint32_t series = select->candidates.items[i * n / n_picked].series;
		const struct live_series *s = live_series(select->live, series);

		if (!fill_row(select, series, window_ms, series_row(ret_set, n_rows),
			      &gaps))
			continue;
		ret_set->ids[n_rows++] =
			(struct series_id){ s->interface, s->direction == TELE_RX };
	}
	ret_set->n_series = n_rows;
	*ret_gap_frac =
		n_rows ? (double)gaps / ((double)n_rows * (double)window_ms) : 0;
	return n_rows;
}
