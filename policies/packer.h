/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packer.h - plans in which jobs of one GPU share it, and larger jobs have theirs alone;
 * running jobs stay where they are.
 *
 * A planner begins with packer_begin(), gives GPUs to waiting jobs, and ends with
 * packer_end(). Nothing is remembered between plans but the order of arrival.
 */
#ifndef POLICIES_PACKER_H
#define POLICIES_PACKER_H

#include "policies/order_list.h"
#include "policies/places.h"

#define PACKER_MAX_JOBS 4 /* On a GPU: as many as the model of speeds knows. */

/* A GPU with jobs of one GPU. */
struct packer_slot {
	uint32_t node, n, ids[PACKER_MAX_JOBS];
};

struct packer {
	struct order_list list; /* By arrival. */
	VEC(struct packer_slot) slots;
	VEC(uint32_t) slot_of; /* By id of the group. */
	VEC(uint32_t) n_free;  /* By node. */
	struct pol_free free;
	void *place; /* State of the placement; owned. */
};

void packer_init(struct packer *packer, const struct pol_cluster *cluster);
void packer_fini(struct packer *packer);

void packer_begin(struct packer *packer, const struct pol_view *view,
		  struct pol_plan *plan);
/* Gives a job GPUs that no job has; false if there are too few. */
bool packer_place(struct packer *packer, const struct pol_view *view,
		  const struct pol_job *job, struct pol_plan *plan);
/* Lets a job of one GPU share that of a slot, which has room for it. */
void packer_join(struct packer *packer, uint32_t slot, const struct pol_job *job);
/* Appends the grants of the slots. */
void packer_end(struct packer *packer, struct pol_plan *plan);

#endif
