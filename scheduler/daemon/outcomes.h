/*
 * outcomes.h - the outcomes (outcome.h) of all jobs: fed with what pacers and traffic
 * tell, told with each advice, and kept in the store whenever one is another than it was.
 *
 * A job's outlives what jobs.h knows of it, as a job that was placed is not heard of
 * before it runs; it is forgotten a minute after the job, and its history stays in the
 * store.  Over a restart all of it is kept but the iterations.
 */
#ifndef SCHEDULER_DAEMON_OUTCOMES_H
#define SCHEDULER_DAEMON_OUTCOMES_H

#include <stdint.h>

#include "scheduler/daemon/outcome.h"

struct daemon;
struct err;
struct job;
struct jsonw;
struct outcomes;

struct outcomes *outcomes_new(void);
void outcomes_free(struct outcomes *outcomes); /* Accepts NULL. */

/* Those of before a restart, from the store: 0, or -errno with 'err' filled. */
int outcomes_restore(struct daemon *d, struct err *err);
/* A pacer's iteration begins; wall clock nanoseconds. */
void outcomes_begin(struct daemon *d, const char *job, uint64_t number,
		    int64_t begin_ns);
/* A place is advised for a job that waits: the best one of its ranking. */
void outcomes_place(struct daemon *d, const struct job *job, double slowdown);
/* Once a second. */
void outcomes_tick(struct daemon *d);
/* Times that an advice was found to be followed. */
uint64_t outcomes_n_followed(const struct daemon *d);
/* "outcome": of this job, or null. */
void outcomes_put(const struct daemon *d, const char *job, struct jsonw *w);

/* By name and number, for /metrics; NULL at the end.  Where it has no pacer: left out. */
const struct outcome *outcomes_paced(const struct daemon *d, size_t *i,
				     const char **ret_job);

#endif
