/*
 * capture_csv.h - reads captured traffic: byte counts of 1 ms as CSV.
 *
 *	t_ms,rank,direction,job,bytes,packets,retransmits
 *	1860557,0,egress,1,74,1,0
 *
 * One row per bucket of 1 ms that saw traffic, per interface (rank) and
 * direction (egress or ingress).  The header must be exactly that.  Rows may
 * come in any order; two rows of the same bucket are added up, as collectors
 * with a counter per CPU write them; a bucket without a row had no traffic.
 * Lines that begin with '#' and empty lines are passed over.
 *
 * Parsing and picking are two steps, as one file may hold several jobs.
 */
#ifndef SCHEDULER_CORE_PROFILE_CAPTURE_CSV_H
#define SCHEDULER_CORE_PROFILE_CAPTURE_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/profile/series.h"

struct capture; /* The rows of one file. */
struct err;

/* A file of more bytes than this (decompressed) is to be cut first. */
#define CAPTURE_CSV_MAX_BYTES ((size_t)512 << 20)
/* A bucket of more bytes than this, 1e6 Gb/s, is an error of the source. */
#define CAPTURE_MAX_BUCKET_BYTES INT64_C(125000000000)
#define CAPTURE_MAX_RANK         1000000
#define CAPTURE_MAX_SERIES       100000

/*
 * Reads the terminated 'text'; 'file' is its name for messages.  Returns 0, or
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
 * Makes the series of one job from the part of the file that begins 'from_s'
 * seconds after its earliest row and lasts 'for_s' seconds; negative 'from_s':
 * from the job's first row; negative 'for_s': to the job's last.  All series of the
 * job are there, also those without traffic in that part.
 *
 * Returns 0; -ENODATA if the part holds no traffic of the job; -EINVAL if it
 * would need more than SERIES_MAX_BUCKETS.  Release with series_fini().
 */
int capture_series(const struct capture *capture, uint32_t job, double from_s,
		   double for_s, struct series_set *ret_set, struct err *err);

#endif
