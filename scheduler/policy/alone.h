/*
 * alone.h - how long jobs would take on a cluster of their own, as large as their part of
 * this one: 1/n of its GPUs, while n are there.  What finish-time fairness compares with.
 *
 * Kept up as n changes: what a job did since it was looked at last would have taken
 * longer by the share it would have had then.
 */
#ifndef SCHEDULER_POLICY_ALONE_H
#define SCHEDULER_POLICY_ALONE_H

#include "lib/base/vec.h"
#include "scheduler/policy/view.h"

struct alone_job {
	double past_s; /* What it did would have taken that long. */
	double left_s; /* When it was looked at last, and its share alone. */
	double share;
};

struct alone {
	bool is_whole; /* The part of the cluster is whole GPUs, rounded up. */
	VEC(struct alone_job) jobs; /* By id; share 0: not looked at yet. */
};

void alone_fini(struct alone *alone);

/* In all, from its submission; above 0.  'n': how many jobs there are. */
double alone_s(struct alone *alone, const struct pol_view *view,
	       const struct pol_job *job, double speed, uint32_t n);

#endif
