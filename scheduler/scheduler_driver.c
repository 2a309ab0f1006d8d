/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/scheduler_driver.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

const char *const sched_action_names[] = {
	[SCHED_PLACE] = "place", [SCHED_PREFER] = "prefer", [SCHED_LET_GO] = "let_go",
	[SCHED_UNPIN] = "unpin", [SCHED_RECORD] = "record", [SCHED_REQUEUE] = "requeue",
};

/* ---- Drivers -------------------------------------------------------------------------- */

const char *
sched_kind(const struct sched_driver *driver)
{
	return driver ? driver->ops->kind : NULL;
}

void
sched_close(struct sched_driver *driver)
{
	if (driver)
		driver->ops->close(driver);
}

void
sched_poll(struct sched_driver *driver)
{
	driver->ops->poll(driver);
}

int
sched_act(struct sched_driver *driver, const struct sched_action *action,
	  uint64_t *ret_ticket, struct err *err)
{
	return driver->ops->act(driver, action, ret_ticket, err);
}

/* ---- Snapshots ------------------------------------------------------------------------ */

void
sched_job_fini(struct sched_job *job)
{
	free(job->id);
	free(job->local_id);
	free(job->name);
	free(job->user);
	free(job->partition);
	free(job->nodes);
	free(job->required);
	free(job->excluded);
	free(job->preferred);
	free(job->features);
	free(job->reason);
	free(job->comment);
	free(job->record);
}

void
sched_snapshot_fini(struct sched_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_jobs; i++)
		sched_job_fini(&snapshot->jobs[i]);
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		free(snapshot->nodes[i].name);
		free(snapshot->nodes[i].partitions);
		free(snapshot->nodes[i].features);
	}
	free(snapshot->jobs);
	free(snapshot->by_local_id);
	free(snapshot->nodes);
	*snapshot = (struct sched_snapshot){ .jobs = NULL };
}

static int
compare_id(const void *key, const void *item)
{
	const struct sched_job *job = item;

	return strcmp(key, job->id);
}

static int
compare_name(const void *key, const void *item)
{
	const struct sched_node *node = item;

	return strcmp(key, node->name);
}

const struct sched_job *
sched_find_job(const struct sched_snapshot *snapshot, const char *id)
{
	if (!snapshot->n_jobs)
		return NULL;
	return bsearch(id, snapshot->jobs, snapshot->n_jobs, sizeof *snapshot->jobs,
		       compare_id);
}

const struct sched_job *
sched_find_local(const struct sched_snapshot *snapshot, const char *local_id)
{
	size_t first = 0, n = snapshot->n_jobs;

	/* Finds the first that is not before it. */
	while (n > 0) {
		size_t half = n / 2;
		const struct sched_job *job =
			&snapshot->jobs[snapshot->by_local_id[first + half]];

		if (strcmp(job->local_id, local_id) < 0) {
			first += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (first < snapshot->n_jobs) {
		const struct sched_job *job =
			&snapshot->jobs[snapshot->by_local_id[first]];

		if (strcmp(job->local_id, local_id) == 0)
			return job;
	}
	return NULL;
}

const struct sched_node *
sched_find_node(const struct sched_snapshot *snapshot, const char *name)
{
	if (!snapshot->n_nodes)
		return NULL;
	return bsearch(name, snapshot->nodes, snapshot->n_nodes,
		       sizeof *snapshot->nodes, compare_name);
}
