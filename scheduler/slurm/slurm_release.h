/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_release.h - release of waiting jobs: undoes antiphase's changes in Slurm
 * without the daemon.
 *
 * For use when the daemon is dead, so it needs neither daemon nor store: AdminComment,
 * which users cannot write, tells which pins and gates are antiphase's. Any user with
 * the right to change other users' jobs may run it, at any time and repeatedly.
 */
#ifndef SCHEDULER_SLURM_SLURM_RELEASE_H
#define SCHEDULER_SLURM_SLURM_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/slurm/slurm.h"

/* The record of a released job. */
#define SLURM_RELEASED_RECORD "antiphase:v1;released"

struct slurm_release_opts {
	struct slurm_opts slurm;
	bool is_dry;       /* Nothing is changed. */
	bool keeps_gates;  /* They open by themselves. */
	int64_t limit_ms;  /* In all; 0: 8000. */
	int64_t silent_ms; /* Without an answer from Slurm; 0: limit_ms. */
	/*
	 * Called after each snapshot, before any change; true: a daemon is now
	 * responsible, and this ends with -ECANCELED. NULL: never.
	 */
	bool (*is_taken_over)(void *ctx);
	void *ctx;
};

struct slurm_released {
	char *job;                   /* Owned, as 'why'. */
	enum sched_action_kind kind; /* SCHED_UNPIN or SCHED_LET_GO. */
	int rc;                      /* 0 or -errno. */
	char *why;                   /* Slurm's words; NULL: done. */
	uint64_t ticket;
	unsigned n_asked;
	bool is_under_way;
};

struct slurm_releases {
	VEC(struct slurm_released) items;
};

/*
 * Blocks until no change of ours is left, or the time is over. 'ret_releases' gets each
 * job that was tried, whatever is returned: 0, also if some jobs could not be changed;
 * -ETIMEDOUT; -ECANCELED: see above; or -errno: no squeue, slurmctld does not answer.
 * 'err' is filled then.
 */
int slurm_release(const struct slurm_release_opts *opts,
		  struct slurm_releases *ret_releases, struct err *err);
void slurm_releases_fini(struct slurm_releases *releases);

#endif
