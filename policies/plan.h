/*
 * plan.h - what a policy wants: which jobs run, on which GPUs.
 *
 * Complete: who is not in it does not run.  The one who carries it out (sim/cluster) takes
 * the difference to what runs now, and charges what stopping, moving and starting cost.
 */
#ifndef POLICIES_PLAN_H
#define POLICIES_PLAN_H

#include "lib/base/vec.h"
#include "policies/view.h"

struct pol_grant {
	uint32_t job;    /* Its id. */
	uint32_t n_gpus; /* Above 0. */
	uint32_t group;  /* Id of the first of those on the same GPUs. */
	uint32_t first_piece,
		n_pieces; /* Of plan.pieces; those of a group are equal. */
	double share;     /* Of the time until the next plan, above 0: 1 all of it. */
	uint32_t first_host,
		n_hosts; /* Of plan.hosts; n_hosts 0: it is nobody's guest. */
	double cpus;     /* As in a job; 0: an even share. */
};

/*
 * So many of a guest's GPUs of a node are those of 'job', which has them as if alone; the
 * guest has what that leaves.  A GPU has one guest at most.
 */
struct pol_host {
	uint32_t job, node, n_gpus;
};

struct pol_plan {
	VEC(struct pol_grant) grants; /* In the order in which they were served. */
	VEC(struct pol_piece) pieces;
	VEC(struct pol_host) hosts;
	double score; /* By the policy's own measure, higher is better; for candidates. */
};

void pol_plan_clear(struct pol_plan *plan); /* Keeps its memory. */
void pol_plan_fini(struct pol_plan *plan);  /* Accepts a zeroed one. */
const struct pol_grant *pol_plan_find(const struct pol_plan *plan, uint32_t job);

/*
 * Whether a plan can be: every job there is and is in it once, gangs are whole (what a
 * grant has is what its pieces have, at least the job's n_gpus unless it is elastic),
 * groups share the same pieces, guests are where their hosts are, and no GPU is given
 * twice but to a host and its guest, nor CPUs.  NULL, or what is wrong, as a static text.  Tests and
 * debug builds check each plan.  O(grants log jobs + pieces).
 */
const char *pol_plan_why_not(const struct pol_plan *plan, const struct pol_view *view);

#endif
