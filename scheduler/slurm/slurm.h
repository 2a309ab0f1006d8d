/*
 * slurm.h - the driver for Slurm, by its command line: squeue, scontrol and sinfo.
 *
 * Their text has been stable from 22.05 to 26.05, which the library's interface was
 * not. Commands run as children with a time limit each, never more than a few at once,
 * and their output is hostile until parsed (slurm_text.h).
 */
#ifndef SCHEDULER_SLURM_SLURM_H
#define SCHEDULER_SLURM_SLURM_H

#include "scheduler/scheduler_driver.h"

struct slurm_opts {
	const char *bindir; /* Where squeue is; NULL: by $PATH. */
	int64_t poll_ms;    /* 0: 1000. */
	int64_t timeout_ms; /* Of one command; 0: 5000. */
};

/*
 * Opens the driver in 'loop'.  0, or -errno with 'err' filled: no squeue, for example.
 */
int slurm_open(struct loop *loop, const struct slurm_opts *opts,
	       const struct sched_observer *observer, struct sched_driver **ret_host,
	       struct err *err);

/*
 * Its version: 2205 for 22.05.8; 0 if it is not known.  Of slurm_open()'s hosts only.
 */
unsigned slurm_host_version(const struct sched_driver *host);

#endif
