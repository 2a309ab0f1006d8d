/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.h - the driver for Slurm, by its command line: squeue, scontrol and sinfo.
 *
 * Their text was stable from 22.05 to 26.05; the library's interface was not. Commands
 * run as children with a time limit each, only a few at once, and their output is
 * hostile until parsed (slurm_text.h).
 */
#ifndef SCHEDULER_SLURM_SLURM_H
#define SCHEDULER_SLURM_SLURM_H

#include "scheduler/scheduler_driver.h"

struct slurm_opts {
	const char *bindir; /* Where squeue is; NULL: by $PATH. */
	int64_t poll_ms;    /* 0: 1000. */
	int64_t timeout_ms; /* Of one command; 0: 5000. */
};

/* Opens the driver in 'loop'. 0, or -errno with 'err' filled, e.g. without squeue. */
int slurm_open(struct loop *loop, const struct slurm_opts *opts,
	       const struct sched_observer *observer, struct sched_driver **ret_driver,
	       struct err *err);

/* The next functions accept only drivers that slurm_open() made. */

/* The version of Slurm: 2205 for 22.05.8; 0 if unknown. */
unsigned slurm_driver_version(const struct sched_driver *driver);
/* Whether a change is under way, or features of nodes are being removed. */
bool slurm_is_changing(const struct sched_driver *driver);
/*
 * Requests the fabric that Slurm is configured with, as text that topology/read.h
 * reads; 0, or -errno. 'done' is called from the loop; on failure 'text' is NULL and
 * 'why' says why.
 */
int slurm_topology(struct sched_driver *driver,
		   void (*done)(void *ctx, const char *text, const char *why),
		   void *ctx);

#endif
