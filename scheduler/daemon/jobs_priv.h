/*
 * jobs_priv.h - what the files of jobs.h share.
 *
 *	jobs.c       the list, and who is on it
 *	jobs_solve.c what is advised for those that run
 *	jobs_run.c   jobs that run
 *	jobs_paced.c jobs that run, by what their pacers tell
 *	jobs_wait.c  jobs that wait
 *	jobs_doc.c   an advice as it is told
 */
#ifndef SCHEDULER_DAEMON_JOBS_PRIV_H
#define SCHEDULER_DAEMON_JOBS_PRIV_H

#include "scheduler/daemon/jobs.h"

struct running;

/* Hands it to the advisor, unless it is there already and the same. */
void jobs_put(struct daemon *d, struct job *job, const struct work_job *new,
	      bool is_by_pacer);
/* Nothing is advised for it. */
void jobs_refuse(struct daemon *d, struct job *job, enum jobs_refusal why);
bool jobs_has_silent(const struct jobs *jobs, const uint32_t *hosts, uint32_t n);

/* A ring on so many nodes that are not chosen yet. */
void jobs_make_work(const char *name, uint32_t n_nodes, const struct profile *profile,
		    struct work_job *ret_job);

/* Whether its pacer has said something lately. */
bool jobs_is_paced(const struct job *job);
/*
 * Makes the job as its pacer tells of it.  0; -EAGAIN: hosts have yet to tell what it
 * sent; or -errno: it is not known by that.
 */
int jobs_paced_work(const struct daemon *d, const struct running *running,
		    const struct job *job, struct work_job *ret_job);
/* Takes up what pacers have told, until then; true if there was any. */
bool jobs_take_told(struct daemon *d, int64_t until_ns);

#endif
