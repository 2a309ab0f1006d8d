/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcomes.h - the outcomes (outcome.h) of all jobs: fed by pacers and traffic, part of
 * each advice, and stored whenever one changes.
 *
 * An outcome outlives its job in jobs.h, which does not know a placed job again before
 * it runs. It is forgotten a minute after the job; its history stays in the store. A
 * restart loses only the iterations.
 */
#ifndef SCHEDULER_DAEMON_OUTCOMES_H
#define SCHEDULER_DAEMON_OUTCOMES_H

#include <stdint.h>

#include "scheduler/daemon/outcome.h"

struct err;
struct jobs;
struct outcomes;
struct pace;
struct sched_snapshot;
struct store;
struct telemetry;

/* Jobs whose iterations are kept: as many as there can be in live.h. */
#define OUTCOMES_MAX_PACED 20000

struct outcomes_opts {
	const struct telemetry *telemetry; /* Borrowed, as all here. */
	struct jobs *jobs;
	struct pace *pace;
	const struct sched_snapshot *snapshot; /* at_us 0 while there is none. */
	struct store *store;                   /* NULL: none. */
};

/* Registers itself at 'jobs' and 'pace'. */
struct outcomes *outcomes_new(const struct outcomes_opts *opts);
void outcomes_free(struct outcomes *outcomes); /* Accepts NULL. */
/* Reads those of the last run from the store: 0, or -errno with 'err' filled. */
int outcomes_restore(struct outcomes *outcomes, struct err *err);

/* Once a second. */
void outcomes_tick(struct outcomes *outcomes);

/* Of one job, or NULL. */
const struct outcome *outcomes_find(const struct outcomes *outcomes, const char *job);
/* Reports and orders of jobs that had none before, when OUTCOMES_MAX_PACED jobs had. */
uint64_t outcomes_n_full(const struct outcomes *outcomes);
/* How many times an advice was found to be followed. */
uint64_t outcomes_n_followed(const struct outcomes *outcomes);
/* Of jobs with a pacer, the next one from '*i' (0 at first) on; NULL at the end. */
const struct outcome *outcomes_paced(const struct outcomes *outcomes, size_t *i,
				     const char **ret_job);

#endif
