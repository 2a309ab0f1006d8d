/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation_watch.h - the fragmentation of the running jobs (core/advise/
 * fragmentation.h), kept up to date.
 *
 * A round adds the running jobs one by one, each in a step of a few milliseconds.  A
 * job's slowdown is that of its advice without shifts; a job without advice, or whose
 * advice is still being computed, counts as unknown.  After a round the watch rests, so
 * that it takes a twentieth of the time at most.
 */
#ifndef SCHEDULER_DAEMON_FRAGMENTATION_WATCH_H
#define SCHEDULER_DAEMON_FRAGMENTATION_WATCH_H

#include <stdbool.h>

struct fabric_source;
struct fragmentation;
struct fragmentation_watch;
struct jobs;

/* Borrows both. */
struct fragmentation_watch *fragmentation_watch_new(const struct fabric_source *fabric,
						    const struct jobs *jobs);
void fragmentation_watch_free(struct fragmentation_watch *watch); /* Accepts NULL. */

/* Adds the next job, or begins a round if one is due; false: nothing is left to do. */
bool fragmentation_watch_step(struct fragmentation_watch *watch);
/* The fabric was replaced: drops everything, and begins again. */
void fragmentation_watch_restart(struct fragmentation_watch *watch);

/* Of the last complete round; NULL: none yet.  Borrowed until the next step. */
const struct fragmentation *
fragmentation_watch_result(const struct fragmentation_watch *watch);

#endif
