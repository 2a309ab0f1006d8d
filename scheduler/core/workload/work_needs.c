/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/work_needs.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/workload/workload.h"

bool
work_job_overlaps(const struct work_job *job)
{
	for (size_t i = 1; i < job->n_segments; i++)
		if (job->segments[i].from_start)
			return true;
	for (size_t k = 0; k < job->n_needs; k++)
		if (job->needs[k].after + 1 != job->needs[k].segment)
			return true;
	return false;
}

uint32_t *
work_needs_fill(const struct work_job *job, struct engine_segment *segments)
{
	uint32_t *after = xcalloc(job->n_needs + 1, sizeof *after);

	for (size_t i = 0; i < job->n_segments; i++)
		segments[i].from_start = job->segments[i].from_start;
	for (size_t k = 0; k < job->n_needs; k++) {
		struct engine_segment *segment = &segments[job->needs[k].segment];

		after[k] = job->needs[k].after;
		if (!segment->n_after)
			segment->after = &after[k];
		segment->n_after++;
	}
	return after;
}
