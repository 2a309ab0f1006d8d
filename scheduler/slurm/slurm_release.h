/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_release.h - release of waiting jobs: undoes antiphase's changes in Slurm without the
 * daemon.
 *
 * It is for when the daemon is dead, so it needs neither daemon nor store: AdminComment,
 * which users cannot write, says which pins and gates are antiphase's.  Any user that may
 * change other users' jobs may run it, at any time and repeatedly.
 */
#ifndef SCHEDULER_SLURM_SLURM_RELEASE_H
#define SCHEDULER_SLURM_SLURM_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/slurm/slurm.h"

/* What is written into the record of a job that was released. */
#define SLURM_RELEASED_RECORD "antiphase:v1;released"

struct slurm_release_opts {
	struct slurm_opts slurm;
	bool is_dry;       /* Nothing is changed. */
	bool keeps_gates;  /* They open by themselves. */
	int64_t limit_ms;  /* In all; 0: 8000. */
	int64_t silent_ms; /* While Slurm does not answer; 0: as in all. */
	/*
	 * Asked after each snapshot, before anything of it is changed; true: a daemon
	 * does it from now on, and this ends with -ECANCELED.  NULL: never.
	 */
	bool (*is_taken_over)(void *ctx);
	void *ctx;
};

struct slurm_released {
	char *job;                   /* Owned, as 'why'. */
	enum sched_action_kind kind; /* SCHED_UNPIN or SCHED_LET_GO. */
	int rc;                      /* 0 or -errno. */
	char *why;                   /* In Slurm's words; NULL: it is done. */
	uint64_t ticket;
	unsigned n_asked;
	bool is_under_way;
};

struct slurm_releases {
	VEC(struct slurm_released) items;
};

/*
 * Blocks until nothing of ours is left, or the limit.  Each job that was tried is in
 * 'ret_releases', whatever is returned: 0, also if some of them could not be changed;
 * -ETIMEDOUT if there was not time enough; -ECANCELED: see above; or -errno: no squeue,
 * slurmctld does not answer.  'err' is filled then.
 */
int slurm_release(const struct slurm_release_opts *opts,
		  struct slurm_releases *ret_releases, struct err *err);
void slurm_releases_fini(struct slurm_releases *releases);

#endif
