/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_move.h - moving the jobs of a plan; used by augment.c alone.
 */
#ifndef POLICIES_AUGMENT_MOVE_H
#define POLICIES_AUGMENT_MOVE_H

#include "policies/augment.h"

const struct pol_piece *augment_pieces(const struct pol_plan *plan,
				       const struct pol_grant *grant);

/* Takes the GPUs of the pieces. */
void augment_take(uint32_t *n_free, const struct pol_piece *pieces, uint32_t n);

void augment_push(struct pol_plan *plan, const struct pol_piece *pieces, uint32_t n);

/*
 * Places each of room->movers, in 'plan', on nodes like those that it has in 'base'.
 * Returns false if that is impossible.
 */
bool augment_move_alike(struct augment_room *room, const struct pol_view *view,
			struct rng *rng, const struct pol_plan *base,
			struct pol_plan *plan);

/*
 * Places each mover as close together as there is room, largest first.  With 'stays',
 * jobs that run keep their place if possible.  Returns false if a job does not fit.
 */
bool augment_move_close(struct augment_room *room, const struct pol_view *view,
			struct rng *rng, bool stays, struct pol_plan *plan);

#endif
