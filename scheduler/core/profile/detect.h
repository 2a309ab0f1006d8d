/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.h - profile of a job from its traffic, or the reason why there is none.
 *
 * spectrum.h and period.h estimate the period, align.h finds each iteration,
 * iteration_ends.h and iteration_times.h measure their times, phases.h splits the mean
 * iteration.  This module combines them and refuses traffic that does not repeat: it
 * never guesses.  detect_constants.h holds the thresholds.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_DETECT_H
#define SCHEDULER_CORE_PROFILE_DETECT_H

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/series.h"

struct detector;
struct err;

/* Fewer iterations do not predict the next one. */
#define DETECT_MIN_ITERATIONS 3

/*
 * The profile's confidence is the autocorrelation at the period, limited to the
 * probability that the period is within 2 % of the job's median iteration time, by the
 * period's standard error (iteration_times.h).  So a few irregular iterations give a
 * low confidence.
 */
struct detection {
	struct profile profile; /* Owned. */
	double mean_us;         /* Mean iteration time; the period is a median. */
	double explained; /* Share of variance that the mean iteration explains. */
	size_t n_fold;    /* Buckets of the mean iteration. */
	double *fold_bps; /* Owned.  [n_fold]: its rates, in steps of 1 ms, from
				 * where the first phase begins. */
};

/*
 * Finds the profile of 'job' in 'set'.  'source' names the file in messages.  Returns
 * 0, or -ENODATA if the traffic does not vary, does not repeat, or not often enough;
 * 'err' then has what was found and what may help.  Release with detection_fini().
 */
int detect_profile(const struct series_set *set, const char *source, const char *job,
		   struct detection *ret_detection, struct err *err);
void detection_fini(struct detection *detection); /* Accepts a zeroed one. */

/*
 * The same in steps of some milliseconds: detector_begin(), detector_step() until it
 * returns false, detector_end().  A detector keeps its tables from one detection to the
 * next.  'set' and 'source' are borrowed until detector_end() or the next
 * detector_begin().
 */
struct detector *detector_new(void);
void detector_free(struct detector *detector); /* Accepts NULL. */
void detector_begin(struct detector *detector, const struct series_set *set,
		    const char *source, const char *job);
bool detector_step(struct detector *detector);
int detector_end(struct detector *detector, struct detection *ret_detection,
		 struct err *err);

#endif
