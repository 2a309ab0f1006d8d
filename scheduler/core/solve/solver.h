/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solver.h - shifts from a joint model: components, trees, cores.
 *
 * Redundant links are left out (presolve.h).  Then each component of
 * the affinity graph (core_decomposition.h) is solved by itself:
 *
 *  - the links of its core by insertion in order, descent and rounds of ruin and
 *    recreate (search.h, ruin_recreate.h), within a budget of work that does not
 *    depend on the clock;
 *  - the links outside the core one by one (link.h), stitched together.
 *
 * If a link that was left out is exceeded after all, its component is solved
 * again with it.  At last every job goes to the middle of its plateau.
 */
#ifndef SCHEDULER_CORE_SOLVE_SOLVER_H
#define SCHEDULER_CORE_SOLVE_SOLVER_H

#include "scheduler/core/solve/core_decomposition.h"
#include "scheduler/core/solve/joint_model.h"
#include "scheduler/core/solve/search.h"

struct solver {
	struct joint_model *model; /* Borrowed. */
	const int64_t *start_us;   /* Borrowed.  One a model job. */
	const uint64_t *hash;      /* Borrowed.  By model job, see canonical_order.h. */
	uint64_t seed;
	size_t effort;        /* joint_opts.n_restarts */
	bool is_warm;         /* Jobs are running: move them only for a gain. */
	bool is_part;         /* Some jobs must stay. */
	struct search search; /* Owned.  Has the shifts. */
	struct core_decomposition
		peeled;    /* Owned.  Without the links still left out. */
	bool *is_left_out; /* Owned.  Links. */
	bool *is_placed;   /* Owned.  Jobs that the trees have reached. */
	bool *is_done;     /* Owned.  Links reached likewise. */
	int64_t *slack_us; /* Owned.  Of movable jobs, if 'has_slack'. */
	bool has_slack;    /* Set at the end of the search. */
};

void solver_init(struct solver *solver, struct joint_model *model,
		 const int64_t *start_us);
void solver_fini(struct solver *solver);

/* Finds shifts that cost no more than 'start_us'. */
void solver_run(struct solver *solver);

#endif
