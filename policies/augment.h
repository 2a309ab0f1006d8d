/*
 * augment.h - the last step: one of several plans that a policy holds equally good.
 *
 * CASSINI and antiphase schedule nothing.  They are shown plans with the same jobs on as
 * many GPUs, and take one by what the jobs in it would do to each other on the network.
 * The first plan is the policy's own; a planner may have made more; the rest are made here
 * from the first, by placing some of its jobs elsewhere:
 *
 *	who goes on where it is, stays, and so do those that share its GPUs
 *	where the placement holds any GPUs to be as good as others (pol_place.scatters),
 *		all others are placed anew, the largest first, as close together as there
 *		is room, of equal nodes on a random one; in every other plan those that
 *		run stay where they run, if that can be.  Jobs that it binds
 *		(pol_place.is_bound) stay where the policy put them
 *	else	those on several nodes are placed anew: each piece on a random node with
 *		exactly as much room, of the same type and part (pol_planner.parts), as the
 *		one the policy chose had at that moment, and in no more racks.  That is the same rule with its ties
 *		broken otherwise; what is left is of the same sizes, so whoever comes next
 *		finds the same room
 *
 * Who is in the first plan is in all of them, on as many GPUs.  Random by the stream that
 * is given; plans that come out twice are dropped.
 */
#ifndef POLICIES_AUGMENT_H
#define POLICIES_AUGMENT_H

#include "policies/mechanism.h"

struct rng;

#define AUGMENT_MAX_PLANS 10 /* As CASSINI has it. */

/* Who chooses. */
struct augment {
	void *ctx;
	/* The index of one of 'n' plans; NULL: the first. */
	uint32_t (*choose)(void *ctx, const struct pol_view *view,
			   const struct pol_plan *plans, uint32_t n);
};

/* What making plans takes, from call to call; begins zeroed. */
struct augment_room {
	uint32_t number;      /* Of the first plan. */
	VEC(uint32_t) stays;  /* By id: the last plan in which its group stayed. */
	VEC(uint32_t) leader; /* By id: its grant. */
	VEC(uint32_t) movers; /* Grants that are placed anew. */
	/* By node: free but for movers; as the policy placed them; as we do. */
	VEC(uint32_t) room, theirs, ours;
	VEC(uint32_t) nodes, racks; /* At random; nodes of a rack are together. */
	VEC(uint32_t) scratch;
	const uint32_t *parts; /* By node, borrowed; NULL: all are of one. */
	void *place;           /* State of a placement; owned. */
};

void augment_room_fini(struct augment_room *room); /* Accepts a zeroed one. */

/*
 * Makes plans[n] and on, up to 'n_max' in all, from plans[0].  Returns how many there are,
 * then.  'scatters': the placement, with its state, if it is one of those; NULL: it is not.
 * 'parts': of pol_planner; NULL: nodes are of one.
 */
uint32_t augment_vary(struct augment_room *room, const struct pol_view *view,
		      const struct pol_place *scatters, const void *state,
		      const uint32_t *parts, struct rng *rng, struct pol_plan *plans,
		      uint32_t n, uint32_t n_max);

#endif
