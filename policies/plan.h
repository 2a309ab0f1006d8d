/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - the plan of a policy: the running jobs and their GPUs.
 *
 * A plan is complete: a job that is not in it does not run.  The simulator
 * (sim/cluster) computes the difference to what runs now, and charges the cost of
 * stopping, moving and starting.
 */
#ifndef POLICIES_PLAN_H
#define POLICIES_PLAN_H

#include "lib/base/vec.h"
#include "policies/view.h"

struct pol_grant {
	uint32_t job;    /* Its id. */
	uint32_t n_gpus; /* Above 0. */
	uint32_t
		group; /* The first job of those on the same GPUs, itself or another. */
	uint32_t first_piece,
		n_pieces; /* In plan.pieces; the jobs of a group have equal pieces. */
	uint32_t first_owner, n_owners; /* Of plan.owners; n_owners 0: guaranteed. */
	struct needs given; /* Other than what it needs; 0: that, or an even share. */
	/*
	 * Ranks on a GPU; above 1: it has n_gpus / n_ranks GPUs, rounded up, and runs at
	 * 1 / n_ranks of its speed.
	 */
	uint32_t n_ranks;
};

/*
 * An opportunistic job uses n_gpus of the GPUs that the guaranteed job 'job' owns on a
 * node.  The owner is not slowed down.  A GPU has at most one opportunistic job.
 */
struct pol_owner {
	uint32_t job, node, n_gpus;
};

struct pol_plan {
	VEC(struct pol_grant) grants; /* In the order of service. */
	VEC(struct pol_piece) pieces;
	VEC(struct pol_owner) owners;
	double score; /* The policy's own measure; higher is better. */
};

/* GPUs of a type, also of nodes that are away. */
uint32_t pol_cluster_gpus(const struct pol_cluster *cluster, uint32_t type);
/* GPUs that jobs may use now. */
uint32_t pol_cluster_usable(const struct pol_cluster *cluster);

/* Of each GPU; at least CPUs and time are known. */
struct needs pol_cluster_capacity(const struct pol_cluster *cluster, uint32_t type);

void pol_plan_clear(struct pol_plan *plan); /* Keeps its memory. */
void pol_plan_fini(struct pol_plan *plan);  /* Accepts a zeroed one. */
/* Grants a job the pieces from 'first_piece' on. */
void pol_plan_grant(struct pol_plan *plan, uint32_t job, uint32_t n_gpus,
		    uint32_t group, size_t first_piece);
const struct pol_grant *pol_plan_find(const struct pol_plan *plan, uint32_t job);

/* Whether the policy chose single GPUs for it: then nothing else moves it. */
bool pol_plan_names_gpus(const struct pol_plan *plan, const struct pol_grant *grant);

/*
 * Checks a plan: every job exists and is in it once; gangs are whole (the pieces sum
 * to the grant, which is the job's n_gpus unless it is elastic or has n_ranks); the
 * jobs of a group have the same pieces; opportunistic jobs are on GPUs of their owners;
 * no GPU is granted twice, other than to an owner and an opportunistic job; no resource
 * of a node or of a GPU is (needs.h); pieces that name GPUs name as many as they have;
 * no node is away.  Returns NULL, or a static text that says what is wrong.
 * O(grants log jobs + pieces).
 */
const char *pol_plan_why_not(const struct pol_plan *plan, const struct pol_view *view);

#endif
