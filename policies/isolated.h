/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolated.h - the time jobs would take on an isolated share of the cluster: 1/n of
 * its GPUs, while there are n jobs.  Finish-time fairness compares with it (Themis,
 * NSDI 2020).
 *
 * Updated as n changes: what a job did since the last update is charged at the share
 * of that time.
 */
#ifndef POLICIES_ISOLATED_H
#define POLICIES_ISOLATED_H

#include "lib/base/vec.h"
#include "policies/view.h"

struct isolated_job {
	double past_s; /* Time that its past work would have taken. */
	double left_s; /* Remaining time at the last update. */
	double share;  /* Of the job's request, at the last update; 0: none yet. */
};

struct isolated {
	bool is_whole; /* The share of the cluster is rounded up to whole GPUs. */
	VEC(struct isolated_job) jobs; /* By id. */
};

void isolated_fini(struct isolated *isolated);

/* Updates a job and returns its total isolated time; above 0.  'n': number of jobs. */
double isolated_s(struct isolated *isolated, const struct pol_view *view,
		  const struct pol_job *job, double speed, uint32_t n);

#endif
