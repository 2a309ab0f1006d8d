/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regret.h - the choice between sharing links and taking turns, by measured cost.
 *
 * A rollout (rollout.h) predicts both costs, but real links share differently: a
 * running flow may keep its rate against a late one, and jobs drift apart by
 * themselves, so sharing may cost less than predicted.  So the prediction decides only
 * if it is clear: turns that should remove REGRET_CLEAR_FRAC of the cost of sharing are
 * taken at once.  Otherwise jobs share first, which costs nothing extra, and the cost
 * is measured; turns are tried if their predicted cost is lower by more than the error
 * of the measurement.
 *
 * While turns are taken, the module accumulates their regret: their cost minus the
 * measured cost of sharing, or, without a measurement, minus REGRET_DOUBT of the
 * predicted one.  The regret is never below 0.  Turns are given up before it exceeds
 * REGRET_MAX_REGRET iterations, and are not tried again for REGRET_REST_BLOCKS blocks,
 * then twice as many, and so on, unless measurements of both show that turns are
 * better.  So turns cost at most REGRET_MAX_REGRET iterations more than sharing in any
 * REGRET_REST_BLOCKS blocks, in the mean over jobs that share links: about one percent.
 * While the two options cannot be distinguished, they alternate; an old measurement of
 * turns counts at the better end of its error.
 *
 * Time is divided into blocks of REGRET_BLOCK_PERIODS of the longest period.  A cost is
 * the mean over jobs of what the iterations of a block cost, in periods; the spread of
 * blocks gives the error of their mean.  Pure, O(1).
 */
#ifndef SCHEDULER_CORE_CONTROL_LEARN_H
#define SCHEDULER_CORE_CONTROL_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#define REGRET_BLOCK_PERIODS 8
#define REGRET_CLEAR_FRAC    0.5
#define REGRET_DOUBT         0.25
#define REGRET_MAX_REGRET    3.0
#define REGRET_REST_BLOCKS   32

struct regret_arm {
	double mean, m2; /* Mean of blocks; sum of squared deviations. */
	uint32_t n;
};

struct regret {
	double predicted_share, predicted_turns; /* Costs; both 0: no turns possible. */
	struct regret_arm share, turns;
	bool is_turning, is_resting;
	uint32_t n_blocks; /* Since the last change of choice. */
	uint32_t rest_blocks;
	double regret;
};

/* Starts without knowledge. */
void regret_init(struct regret *learn);

/*
 * Takes the predicted costs beyond those of isolated jobs; INFINITY for turns that must
 * not be taken.
 */
void regret_predict(struct regret *learn, double share, double turns);

/*
 * Starts anew in turns, with costs that were measured otherwise; they weigh as the first
 * REGRET_MIN_BLOCKS blocks.
 */
void regret_resume(struct regret *learn, double share, double turns);

/* Takes the cost of a block with the choice in 'is_turning'. */
void regret_take(struct regret *learn, double cost);

#endif
