/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment.h - variants of a plan that are equally good to the policy.
 *
 * CASSINI and antiphase do not schedule.  They choose among plans with the same jobs
 * on the same numbers of GPUs, by how the jobs would share links.  The first plan is
 * the policy's own.  A planner may supply more; the others are made here from the
 * first plan, by placing some of its jobs elsewhere:
 *
 *   - A job that stays where it runs is not moved, nor are the jobs that share its GPUs.
 *   - If the placement treats any GPUs as equal (pol_place.scatters), all other jobs are
 *     placed anew, largest first, as close together as there is room, on a random one of
 *     equal nodes.  In every other plan, jobs that run stay where they run, if possible.
 *     Jobs that the placement binds (pol_place.is_bound) are not moved.
 *   - Jobs whose GPUs are named (pol_piece.gpus) are not moved, nor are those of a
 *     planner that accounts for GPUs beyond its plans (pol_planner.is_fixed).
 *   - Otherwise only jobs on several nodes are placed anew: each piece goes to a random
 *     node with exactly as much room, of the same type and part (pol_planner.parts), as
 *     the policy's node had at that moment, in no more racks.  This is the policy's own
 *     rule with ties broken differently: the remaining room has the same sizes, so the next
 *     job finds the same room.
 *
 * Every variant has the jobs of the first plan on as many GPUs.  The caller's random
 * stream is used; duplicates are dropped.
 */
#ifndef POLICIES_AUGMENT_H
#define POLICIES_AUGMENT_H

#include "policies/mechanism.h"

struct rng;

#define AUGMENT_MAX_PLANS 10 /* As in CASSINI (NSDI 2024). */

/* The choice among plans. */
struct augment {
	void *ctx;
	/* Returns the index of one of 'n' plans; NULL: the first plan is taken. */
	uint32_t (*choose)(void *ctx, const struct pol_view *view,
			   const struct pol_plan *plans, uint32_t n);
	/*
	 * The cost of a plan, quickly: 0 is the best there is.  Any value above
	 * 'at_most' will do for a cost above it.  From the chosen plan on, its jobs are
	 * placed anew one by one while that costs less.  NULL: they are not.
	 */
	double (*judge)(void *ctx, const struct pol_view *view,
			const struct pol_plan *plan, double at_most);
};

/* Memory kept from call to call; starts zeroed. */
struct augment_room {
	uint32_t number;      /* Of the first plan. */
	VEC(uint32_t) stays;  /* By id: the last plan in which its group stayed. */
	VEC(uint32_t) leader; /* By id: its grant. */
	VEC(uint32_t) movers; /* Grants that are placed anew. */
	/* By node: free without movers; as the policy placed them; as placed here. */
	VEC(uint32_t) room, theirs, ours;
	VEC(uint32_t) nodes, racks; /* In random order; nodes of a rack are adjacent. */
	VEC(uint32_t) rack_ends;    /* By rack: where its next node goes in 'nodes'. */
	VEC(uint32_t) scratch;
	const uint32_t *parts; /* By node, borrowed; NULL: there are no parts. */
	void *place;           /* State of a placement; owned. */
};

void augment_room_fini(struct augment_room *room); /* Accepts a zeroed one. */

/*
 * Makes plans[n] and on, up to 'n_max' in all, from plans[0]. Returns the number of
 * plans.  'scatters': the policy's placement and its state if it scatters, else NULL.
 * 'parts': as in pol_planner.
 */
uint32_t augment_vary(struct augment_room *room, const struct pol_view *view,
		      const struct pol_place *scatters, const void *state,
		      const uint32_t *parts, struct rng *rng, struct pol_plan *plans,
		      uint32_t n, uint32_t n_max);

/*
 * Fills 'plan' with 'base' but for one of the jobs that augment_vary() would place
 * anew, at random.  Returns false if there is no such plan.  O(nodes + pieces).
 */
bool augment_vary_one(struct augment_room *room, const struct pol_view *view,
		      const struct pol_place *scatters, const void *state,
		      const uint32_t *parts, struct rng *rng,
		      const struct pol_plan *base, struct pol_plan *plan);

#endif
