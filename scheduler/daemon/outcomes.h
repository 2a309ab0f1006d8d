/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcomes.h - the outcomes (outcome.h) of all jobs: fed with what pacers and traffic
 * show, part of each advice, and kept in the store whenever one changes.
 *
 * The outcome of a job outlives what jobs.h knows of the job, as a job that was placed is
 * not known again before it runs; it is forgotten a minute after the job, and its history
 * stays in the store.  Over a restart all of it is kept but the iterations.
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
/* Those of the last run, from the store: 0, or -errno with 'err' filled. */
int outcomes_restore(struct outcomes *outcomes, struct err *err);

/* Once a second. */
void outcomes_tick(struct outcomes *outcomes);

/* Times that an advice was found to be followed. */
uint64_t outcomes_n_followed(const struct outcomes *outcomes);
/* Of jobs with a pacer, one after another from '*i' (0 at first) on; NULL at the end. */
const struct outcome *outcomes_paced(const struct outcomes *outcomes, size_t *i,
				     const char **ret_job);

#endif
