/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_text_sort.c - sorting of jobs, and arrays as one job. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/slurm/slurm_fields.h"
#include "scheduler/slurm/slurm_text.h"

static int
compare_jobs(const void *a, const void *b)
{
	const struct sched_job *x = a, *y = b;

	return strcmp(x->id, y->id);
}

/* By local id; jobs that have nodes come first. */
static int
compare_local(const void *a, const void *b, void *ctx)
{
	const struct sched_job *jobs = ctx;
	const struct sched_job *x = &jobs[*(const uint32_t *)a];
	const struct sched_job *y = &jobs[*(const uint32_t *)b];
	int by_id = strcmp(x->local_id, y->local_id);

	if (by_id)
		return by_id;
	return (x->state == SCHED_WAITING) - (y->state == SCHED_WAITING);
}

static void
index_by_local_id(struct sched_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_jobs; i++)
		snapshot->by_local_id[i] = (uint32_t)i;
	qsort_r(snapshot->by_local_id, snapshot->n_jobs, sizeof *snapshot->by_local_id,
		compare_local, snapshot->jobs);
}

unsigned long
slurm_task_of(const struct sched_job *job)
{
	const char *line = strchr(job->id, '_');

	return line ? strtoul(line + 1, NULL, 10) : 0;
}

bool
slurm_is_same_array(const struct sched_job *a, const struct sched_job *b)
{
	return a->state == SCHED_WAITING && b->state == SCHED_WAITING &&
	       strchr(a->id, '_') && strchr(b->id, '_') &&
	       strcmp(a->local_id, b->local_id) == 0;
}

/* Keeps the first of the waiting tasks of each array; O(n log n). */
static void
merge_arrays(struct sched_snapshot *snapshot)
{
	uint32_t *order = snapshot->by_local_id, first = 0;
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		struct sched_job *job = &snapshot->jobs[order[i]];
		struct sched_job *kept = &snapshot->jobs[first];

		if (i == 0 || !slurm_is_same_array(kept, job)) {
			first = order[i];
			continue;
		}
		if (slurm_task_of(job) < slurm_task_of(kept)) {
			struct sched_job other = *kept;

			*kept = *job;
			*job = other;
		}
		free(job->id);
		job->id = NULL;
	}
	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		if (snapshot->jobs[i].id)
			snapshot->jobs[n++] = snapshot->jobs[i];
		else
			sched_job_fini(&snapshot->jobs[i]);
	}
	snapshot->n_jobs = n;
}

bool
slurm_sort_step(struct sched_snapshot *snapshot, enum slurm_sorting *stage)
{
	if (!snapshot->n_jobs)
		return false;
	switch (*stage) {
	case SLURM_SORT_BEGIN:
		snapshot->by_local_id =
			xcalloc(snapshot->n_jobs, sizeof *snapshot->by_local_id);
		index_by_local_id(snapshot);
		break;
	case SLURM_SORT_MERGE:
		merge_arrays(snapshot);
		break;
	case SLURM_SORT_JOBS:
		qsort(snapshot->jobs, snapshot->n_jobs, sizeof *snapshot->jobs,
		      compare_jobs);
		break;
	case SLURM_SORT_INDEX:
		index_by_local_id(snapshot);
		break;
	case SLURM_SORT_OVER:
		return false;
	}
	(*stage)++;
	return true;
}
