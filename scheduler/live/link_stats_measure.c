/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_stats_measure.c - statistics from the series of one link: when jobs were active,
 * when they overlapped, when the link was over, and the rate of each job.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/live/link_stats.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"

void
link_stats_measure_total(struct link_stats *stats)
{
	struct contention_link *link = stats->link;
	size_t now_from =
		stats->n > CONTENTION_NOW_MS ? stats->n - CONTENTION_NOW_MS : 0;
	double sum = 0, now = 0, peak = 0;
	size_t n_now = 0;

	for (size_t t = 0; t < stats->n; t++) {
		if (!stats->known[t])
			continue;
		link->known_ms++;
		sum += stats->total[t];
		peak = fmax(peak, stats->total[t]);
		if (t >= now_from) {
			now += stats->total[t];
			n_now++;
		}
	}
	if (!link->known_ms)
		return;
	link->peak_bps = peak * BITS_PER_BYTE_MS;
	link->mean_bps = sum / link->known_ms * BITS_PER_BYTE_MS;
	if (n_now)
		link->now_bps = now / (double)n_now * BITS_PER_BYTE_MS;
}

static bool
bit(const uint64_t *bits, size_t t)
{
	return bits[t / 64] >> (t % 64) & 1;
}

static void
set_bit(uint64_t *bits, size_t t)
{
	bits[t / 64] |= UINT64_C(1) << (t % 64);
}

/* Fills the tracks' bits and n_active; drops jobs that were never active. */
static void
find_active(struct link_stats *stats)
{
	const struct contention_link *link = stats->link;
	double reference_bps =
		link->capacity_bps > 0 ? link->capacity_bps : link->peak_bps;
	double least = stats->opts->active_frac * reference_bps / BITS_PER_BYTE_MS;

	for (size_t i = stats->tracks.n; i-- > 0;) {
		struct track *track = &stats->tracks.items[i];
		bool was_active = false;

		for (size_t t = 0; t < stats->n; t++) {
			if (!stats->known[t] || !(track->bytes[t] > 0) ||
			    track->bytes[t] < least)
				continue;
			set_bit(track->active, t);
			was_active = true;
			if (stats->n_active[t] < UINT8_MAX)
				stats->n_active[t]++;
		}
		if (!was_active)
			link_stats_drop_track(stats, i);
	}
}

/* Fills the bits of 'over', their number, and the start of contention. */
static void
find_over(struct link_stats *stats)
{
	struct contention_link *link = stats->link;
	double least = stats->opts->over_frac * link->capacity_bps / BITS_PER_BYTE_MS;
	int64_t first = -1, last = -1;

	link->since_ms = INT64_MIN;
	if (!(link->capacity_bps > 0))
		return;
	for (size_t t = 0; t < stats->n; t++) {
		/* Bins are whole bytes: less than half a byte is rounding. */
		if (!stats->known[t] || stats->n_active[t] < 2 ||
		    stats->total[t] + 0.5 < least)
			continue;
		set_bit(stats->over, t);
		link->over_ms++;
		if (first < 0 || (int64_t)t - last > CONTENTION_PAUSE_MS)
			first = (int64_t)t;
		last = (int64_t)t;
	}
	if (first < 0 || (int64_t)stats->n - last > CONTENTION_PAUSE_MS)
		return;
	link->since_ms = stats->from_ms + first;
	link->is_since_older =
		first < CONTENTION_PAUSE_MS && stats->n >= CONTENTION_PAUSE_MS;
}

/* The means of [c, c + 1) columns of the history, of total or one job. */
static void
fill_history(const struct link_stats *stats, const float *bytes, float *ret_bps)
{
	int64_t span = stats->opts->history_ms;
	int64_t begin = (int64_t)stats->n - span;

	for (int64_t c = 0; c < CONTENTION_COLUMNS; c++) {
		int64_t from = begin + c * span / CONTENTION_COLUMNS;
		int64_t to = begin + (c + 1) * span / CONTENTION_COLUMNS;
		double sum = 0;
		size_t n = 0;

		for (int64_t t = from < 0 ? 0 : from; t < to; t++) {
			if (!stats->known[t])
				continue;
			sum += bytes ? (double)bytes[t] : stats->total[t];
			n++;
		}
		ret_bps[c] = n ? (float)(sum / (double)n * BITS_PER_BYTE_MS) : -1;
	}
}

/* The statistics of one job. */
static void
measure_job(const struct link_stats *stats, const struct track *track,
	    float *history_bps, struct contention_job *job)
{
	size_t now_from =
		stats->n > CONTENTION_NOW_MS ? stats->n - CONTENTION_NOW_MS : 0;
	double sum = 0, alone = 0, overlap = 0, over = 0, now = 0, peak = 0;
	size_t n_now = 0;

	job->job = track->job;
	for (size_t t = 0; t < stats->n; t++) {
		double bytes = track->bytes[t];

		if (!stats->known[t])
			continue;
		sum += bytes;
		peak = fmax(peak, bytes);
		now += t >= now_from ? bytes : 0;
		n_now += t >= now_from;
		if (!bit(track->active, t))
			continue;
		job->active_ms++;
		job->overlap_ms += stats->n_active[t] > 1;
		*(stats->n_active[t] > 1 ? &overlap : &alone) += bytes;
		job->over_ms += bit(stats->over, t);
		over += bit(stats->over, t) ? bytes : 0;
	}
	job->peak_bps = peak * BITS_PER_BYTE_MS;
	job->mean_bps = sum / stats->link->known_ms * BITS_PER_BYTE_MS;
	job->now_bps = n_now ? now / (double)n_now * BITS_PER_BYTE_MS : -1;
	if (job->active_ms > job->overlap_ms)
		job->isolated_bps =
			alone / (job->active_ms - job->overlap_ms) * BITS_PER_BYTE_MS;
	if (job->overlap_ms)
		job->overlap_bps = overlap / job->overlap_ms * BITS_PER_BYTE_MS;
	if (job->over_ms)
		job->over_bps = over / job->over_ms * BITS_PER_BYTE_MS;
	fill_history(stats, track->bytes, history_bps);
	job->history_bps = history_bps;
}

static int
compare_tracks(const void *a, const void *b, void *live)
{
	const struct track *x = a, *y = b;

	return strcmp(live_job_name(live, x->job), live_job_name(live, y->job));
}

static int
compare_pairs(const void *a, const void *b, void *live)
{
	const struct contention_pair *x = a, *y = b;
	int order;

	if (x->over_ms != y->over_ms)
		return x->over_ms > y->over_ms ? -1 : 1;
	if (x->overlap_ms != y->overlap_ms)
		return x->overlap_ms > y->overlap_ms ? -1 : 1;
	order = strcmp(live_job_name(live, x->a), live_job_name(live, y->a));
	return order ? order
		     : strcmp(live_job_name(live, x->b), live_job_name(live, y->b));
}

static void
measure_jobs_and_pairs(struct link_stats *stats)
{
	struct contention_link *link = stats->link;
	VEC(struct contention_pair) pairs = VEC_EMPTY;

	if (stats->tracks.n)
		qsort_r(stats->tracks.items, stats->tracks.n,
			sizeof *stats->tracks.items, compare_tracks,
			(void *)stats->live);
	link->n_jobs = stats->tracks.n;
	link->jobs = xcalloc(link->n_jobs + 1, sizeof *link->jobs);
	link->history_bps = xcalloc((link->n_jobs + 1) * CONTENTION_COLUMNS,
				    sizeof *link->history_bps);
	for (size_t i = 0; i < link->n_jobs; i++)
		measure_job(stats, &stats->tracks.items[i],
			    &link->history_bps[(i + 1) * CONTENTION_COLUMNS],
			    &link->jobs[i]);
	for (size_t i = 0; i < link->n_jobs; i++) {
		for (size_t k = i + 1; k < link->n_jobs; k++) {
			const struct track *a = &stats->tracks.items[i];
			const struct track *b = &stats->tracks.items[k];
			struct contention_pair pair = { .a = a->job, .b = b->job };

			for (size_t w = 0; w < stats->n_words; w++) {
				uint64_t both = a->active[w] & b->active[w];

				pair.overlap_ms += (uint32_t)__builtin_popcountll(both);
				pair.over_ms += (uint32_t)__builtin_popcountll(
					both & stats->over[w]);
			}
			if (pair.overlap_ms)
				vec_push(&pairs, pair);
		}
	}
	if (pairs.n)
		qsort_r(pairs.items, pairs.n, sizeof *pairs.items, compare_pairs,
			(void *)stats->live);
	link->pairs = pairs.items;
	link->n_pairs = pairs.n;
}

bool
link_stats_is_impossible(const struct link_stats *stats)
{
	const struct contention_link *link = stats->link;
	double most = LINK_IMPOSSIBLE_FRAC * link->capacity_bps / BITS_PER_BYTE_MS *
		      LINK_IMPOSSIBLE_MS;
	double sum = 0;

	if (link->basis != CONTENTION_COMPUTED || !link->known_ms)
		return false;
	for (size_t t = 0; t < stats->n; t++) {
		sum += stats->known[t] ? stats->total[t] : 0;
		if (t % LINK_IMPOSSIBLE_MS != LINK_IMPOSSIBLE_MS - 1)
			continue;
		if (sum > most)
			return true;
		sum = 0;
	}
	return false;
}

void
link_stats_measure_jobs(struct link_stats *stats)
{
	struct contention_link *link = stats->link;
	double of_jobs = 0;

	find_active(stats);
	find_over(stats);
	measure_jobs_and_pairs(stats);
	for (size_t i = 0; i < link->n_jobs; i++)
		of_jobs += link->jobs[i].mean_bps;
	link->other_bps = fmax(link->mean_bps - of_jobs, 0);
	fill_history(stats, NULL, link->history_bps);
}
