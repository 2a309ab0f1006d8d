/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves_search.h - which workers to move: the best steps by the bound of slowdowns.
 *
 * A step gives one job other hosts, or two jobs that make room for each other.  There are
 * three kinds:
 *
 *	two jobs that wait for their start exchange hosts, which is free
 *	a job that waits gets the hosts of a running one, which moves: the next start heals
 *	one or two running jobs move
 *
 * Only jobs that are movable get other hosts; a worker that may stay in its rack stays on
 * its host.  A step never spreads its jobs over more racks than before: what helps now
 * would leave jobs to come with scattered hosts.  A job that waits is not placed anew by
 * itself; that is place_search()'s task.  For each job that loses by the bound (place_bound()) and each rack, the
 * search gathers the job there, moves a fragment there, or exchanges it for the workers of
 * another job; and it tries the places of place_search().  Steps are ranked by gain minus
 * cost (moves.h), with the bounds as slowdowns.  The bound is not the slowdown, so the
 * caller predicts the best few and asks moves_bill() again.
 *
 * Limits: a step has two jobs.  Three jobs that could only move together stay.
 *
 * Pure and deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_ADVISE_MOVES_SEARCH_H
#define SCHEDULER_CORE_ADVISE_MOVES_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/moves.h"

struct place;

#define MOVES_STEP_JOBS 2

struct moves_step {
	uint32_t jobs[MOVES_STEP_JOBS];
	uint32_t *hosts[MOVES_STEP_JOBS];    /* Owned.  Ascending. */
	uint32_t n_workers[MOVES_STEP_JOBS]; /* That change hosts; above 0. */
	uint32_t n_jobs;
	struct moves_bill bill; /* By the bound. */
};

struct moves_steps {
	struct moves_step *items; /* Owned.  Best first. */
	size_t n;
};

struct moves_opts {
	uint64_t seed;
	uint32_t n_allowed; /* Running jobs that a step may move. */
	size_t n_tries;     /* 0: default. */
	size_t n_max;       /* Steps to return, each for another job; 0: one. */
	/* Borrowed: only steps for this job, with another one at most; NULL: for all. */
	const uint32_t *job;
};

/*
 * Finds steps that gain more by the bound than they cost.  'jobs' is by job of the
 * workload of 'place', in which jobs without hosts are ignored.  'place' is as before
 * afterwards.  O(n_tries * (links and neighbors of a job + jobs)).
 */
void moves_search(struct place *place, const struct moves_job *jobs,
		  const struct moves_opts *opts, struct moves_steps *ret_steps);
void moves_step_fini(struct moves_step *step);    /* Accepts zeros. */
void moves_steps_fini(struct moves_steps *steps); /* Accepts zeros. */

#endif
