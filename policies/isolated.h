/*
 * isolated.h - how long jobs would take on a cluster of their own, as large as their part of
 * this one: 1/n of its GPUs, while n are there.  What finish-time fairness compares with.
 *
 * Kept up as n changes: what a job did since it was looked at last would have taken
 * longer by the share it would have had then.
 */
#ifndef POLICIES_ISOLATED_H
#define POLICIES_ISOLATED_H

#include "lib/base/vec.h"
#include "policies/view.h"

struct isolated_job {
	double past_s; /* What it did would have taken that long. */
	double left_s; /* When it was looked at last, and its share alone. */
	double share;
};

struct isolated {
	bool is_whole; /* The part of the cluster is whole GPUs, rounded up. */
	VEC(struct isolated_job) jobs; /* By id; share 0: not looked at yet. */
};

void isolated_fini(struct isolated *alone);

/* In all, from its submission; above 0.  'n': how many jobs there are. */
double isolated_s(struct isolated *alone, const struct pol_view *view,
		  const struct pol_job *job, double speed, uint32_t n);

#endif
