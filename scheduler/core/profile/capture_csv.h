/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_csv.h - captured traffic: byte counts of 1 ms buckets as CSV.
 *
 *	t_ms,rank,direction,job,bytes,packets,retransmits
 *	1860557,0,egress,1,74,1,0
 *
 * One row per bucket with traffic, interface (rank) and direction (egress or ingress).
 * The header must be exactly as above.  Rows may come in any order.  Rows of the same
 * bucket are added up, since collectors with a counter per CPU write several.  A bucket
 * without a row had no traffic.  Empty lines and lines that begin with '#' are skipped.
 *
 * One file may hold several jobs: capture_csv_parse() reads it, capture_series()
 * selects a job and a part.
 */
#ifndef SCHEDULER_CORE_PROFILE_CAPTURE_CSV_H
#define SCHEDULER_CORE_PROFILE_CAPTURE_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/profile/series.h"

struct capture; /* The rows of one file. */
struct err;

/* Size limit of a file, decompressed. */
#define CAPTURE_CSV_MAX_BYTES ((size_t)512 << 20)
/* 1e6 Gb/s: a bucket of more bytes is an error of the source. */
#define CAPTURE_MAX_BUCKET_BYTES INT64_C(125000000000)
#define CAPTURE_MAX_RANK         1000000
#define CAPTURE_MAX_SERIES       100000

/*
 * Parses the NUL-terminated 'text'; 'file' is its name for messages.  Returns 0, or
 * -EINVAL with 'err' filled.  Free with capture_free().
 */
int capture_csv_parse(const char *file, const char *text, size_t length,
		      struct capture **ret_capture, struct err *err);
void capture_free(struct capture *capture); /* Accepts NULL. */

/* Jobs are numbered in the order of their first rows. */
uint32_t capture_n_jobs(const struct capture *capture);
const char *capture_job(const struct capture *capture, uint32_t job); /* Borrowed. */
uint32_t capture_find_job(const struct capture *capture, const char *name);
#define CAPTURE_NO_JOB UINT32_MAX

/*
 * Makes the series of one job from the part of the file that begins 'from_s' seconds
 * after its earliest row and lasts 'for_s' seconds.  A negative 'from_s' begins at the
 * job's first row, a negative 'for_s' ends at its last.  The set has all series of the
 * job, including those without traffic in that part.
 *
 * Returns 0; -ENODATA if the part has no traffic of the job; -EINVAL if it would need
 * more than SERIES_MAX_BUCKETS.  Release with series_fini().
 */
int capture_series(const struct capture *capture, uint32_t job, double from_s,
		   double for_s, struct series_set *ret_set, struct err *err);

#endif
