/*
 * augment_move.h - how augment.c has jobs of a plan elsewhere.  For it alone.
 */
#ifndef POLICIES_AUGMENT_MOVE_H
#define POLICIES_AUGMENT_MOVE_H

#include "policies/augment.h"

const struct pol_piece *augment_pieces(const struct pol_plan *plan,
				       const struct pol_grant *grant);

/* What pieces need is no longer free. */
void augment_take(uint32_t *n_free, const struct pol_piece *pieces, uint32_t n);

void augment_push(struct pol_plan *plan, const struct pol_piece *pieces, uint32_t n);

/*
 * Each of room->movers on nodes like those that it has in 'base', into 'plan', whose
 * grants are there; false if that cannot be.
 */
bool augment_move_alike(struct augment_room *room, const struct pol_view *view,
			struct rng *rng, const struct pol_plan *base,
			struct pol_plan *plan);

/*
 * Each as close together as there is room, the largest first; where 'stays', those that
 * run where they run, if that can be.  False if the placement finds no room for one.
 */
bool augment_move_close(struct augment_room *room, const struct pol_view *view,
			struct rng *rng, bool stays, struct pol_plan *plan);

#endif
