/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_needs.h - which segments of a job wait for which, so that computing and traffic
 * of an iteration may overlap.
 *
 * A segment waits for those that job.needs names for it, all earlier ones; without any,
 * for the segment before it, or with 'from_start' for none.  An iteration ends when all
 * its segments have ended.
 *
 * Pure.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_WORK_NEEDS_H
#define SCHEDULER_CORE_WORKLOAD_WORK_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct engine_segment;
struct work_job;

/* Segment 'segment' starts when segment 'after', an earlier one, has ended. */
struct work_need {
	uint32_t segment, after;
};

/* Whether some segment does not follow the one before it.  O(segments + needs). */
bool work_job_overlaps(const struct work_job *job);

/*
 * Fills 'after', 'n_after' and 'from_start' of the job's segments for the engine.
 * Returns the memory that they point to; free with free().
 */
uint32_t *work_needs_fill(const struct work_job *job, struct engine_segment *segments);

#endif
