/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - traffic of one job in buckets of 1 ms.
 *
 * One series per interface (rank) and direction; a bucket without traffic is 0.
 * capture_csv.h makes a set from a file, live/job_profiler.h from telemetry.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_SERIES_H
#define SCHEDULER_CORE_PROFILE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of all buckets of a set together; 256 MiB. */
#define SERIES_MAX_BUCKETS (INT64_C(1) << 26)

struct series_id {
	uint32_t rank;
	bool is_ingress;
};

struct series_set {
	int64_t start_ms; /* Time of bucket 0, on the clock of the source. */
	size_t n_buckets; /* Of each series. */
	size_t n_series;
	struct series_id *ids; /* Owned.  Ascending by rank, egress first. */
	float *bytes;          /* Owned.  Series s: [s * n_buckets, + n_buckets). */
};

/* Makes a set of zeros; n_series * n_buckets is at most SERIES_MAX_BUCKETS. */
void series_init(struct series_set *set, size_t n_series, size_t n_buckets);
void series_fini(struct series_set *set); /* Accepts a zeroed one. */

/* The buckets of series 's'; borrowed. */
float *series_row(const struct series_set *set, size_t s);

/* Stores the mean over all series in ret_mean[n_buckets]. */
void series_mean(const struct series_set *set, float *ret_mean);

/*
 * Stores in ret_smooth[n] the mean of the 'width' (odd) values around each of x[n], of
 * fewer at the ends.  O(n).
 */
void series_smooth(const float *x, size_t n, size_t width, float *ret_smooth);

#endif
