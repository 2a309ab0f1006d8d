/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/regret.h"

#include <math.h>

#include "scheduler/core/control/control_constants.h"

void
regret_init(struct regret *l)
{
	*l = (struct regret){ .predicted_turns = INFINITY };
}

static void
arm_take(struct regret_arm *arm, double cost)
{
	double off = cost - arm->mean;

	arm->n++;
	arm->mean += off / arm->n;
	arm->m2 += off * (cost - arm->mean);
}

/* Standard error of the mean. */
static double
arm_error(const struct regret_arm *arm)
{
	double variance =
		(arm->m2 + REGRET_PRIOR_N * REGRET_BLOCK_SD * REGRET_BLOCK_SD) /
		(arm->n + REGRET_PRIOR_N);

	return arm->n ? sqrt(variance / arm->n) : INFINITY;
}

static double
share_cost(const struct regret *l)
{
	if (l->share.n >= REGRET_MIN_BLOCKS)
		return l->share.mean;
	return fmax(REGRET_LEAST_COST, REGRET_DOUBT * l->predicted_share);
}

static double
turns_cost(const struct regret *l)
{
	double predicted = l->predicted_turns + REGRET_SLIP_FRAC * l->predicted_share;

	return (l->turns.mean * l->turns.n + predicted * REGRET_PREDICTED_N) /
	       (l->turns.n + REGRET_PREDICTED_N);
}

/* True if turns are predicted to be so good that they need no measurement. */
static bool
is_clear(const struct regret *l, double clear_frac)
{
	return l->predicted_turns + REGRET_MIN_GAIN <= l->predicted_share &&
	       l->predicted_turns <=
		       fmax(REGRET_SURE_COST, (1 - clear_frac) * l->predicted_share);
}

/* The measured advantage of turns, in standard errors. */
static double
advantage_in_errors(const struct regret *l)
{
	double error = hypot(arm_error(&l->share), arm_error(&l->turns));

	if (l->share.n < REGRET_MIN_BLOCKS || l->turns.n < REGRET_MIN_BLOCKS)
		return 0;
	return (l->share.mean - l->turns.mean) / error;
}

static void
change_over(struct regret *l, bool is_turning)
{
	l->is_turning = is_turning;
	l->n_blocks = 0;
	l->regret = 0;
}

static void
give_up(struct regret *l)
{
	/* An option without measurements is measured first. */
	l->is_resting = l->share.n >= REGRET_MIN_BLOCKS;
	if (l->is_resting)
		l->rest_blocks =
			l->rest_blocks ? l->rest_blocks * 2 : REGRET_REST_BLOCKS;
	if (l->rest_blocks > REGRET_MAX_REST)
		l->rest_blocks = REGRET_MAX_REST;
	change_over(l, false);
}

static void
consider_sharing(struct regret *l)
{
	bool is_known = l->share.n >= REGRET_MIN_BLOCKS;

	if (l->regret > REGRET_MAX_REGRET - 1 ||
	    (l->regret > 1 && l->turns.mean > share_cost(l)))
		give_up(l);
	else if ((is_known || !is_clear(l, REGRET_CLEAR_FRAC)) &&
		 l->n_blocks >= REGRET_LOOK_BLOCKS &&
		 advantage_in_errors(l) < REGRET_SURE_SES)
		change_over(l, false);
}

/*
 * Decides by measurements, or else by the prediction.  An old measurement of turns may
 * have been bad luck: it counts at the better end of its error.
 */
static bool
turns_pay(const struct regret *l, bool is_long_ago)
{
	double luck = is_long_ago && l->turns.n ? arm_error(&l->turns) : 0;

	if (l->share.n < REGRET_MIN_BLOCKS)
		return is_clear(l, REGRET_CLEAR_FRAC) && !l->turns.n;
	return l->n_blocks >= REGRET_MIN_BLOCKS &&
	       turns_cost(l) - luck + REGRET_MIN_GAIN + arm_error(&l->share) <
		       l->share.mean;
}

static void
consider_turns(struct regret *l)
{
	uint32_t rest_blocks = l->rest_blocks ? l->rest_blocks : REGRET_REST_BLOCKS;
	bool is_long_ago = l->n_blocks >= rest_blocks;
	bool has_rested = !l->is_resting || is_long_ago ||
			  (l->n_blocks >= REGRET_MIN_BLOCKS &&
			   advantage_in_errors(l) >= REGRET_SURE_SES);

	if (!isfinite(l->predicted_turns) || !has_rested || !turns_pay(l, is_long_ago))
		return;
	l->is_resting = false;
	change_over(l, true);
}

void
regret_predict(struct regret *l, double share, double turns)
{
	l->predicted_share = share;
	l->predicted_turns = turns;
	if (l->is_turning &&
	    (!isfinite(turns) ||
	     (l->share.n < REGRET_MIN_BLOCKS && !is_clear(l, REGRET_STILL_CLEAR_FRAC))))
		change_over(l, false);
	else if (!l->is_turning)
		consider_turns(l);
}

void
regret_resume(struct regret *l, double share, double turns)
{
	regret_init(l);
	l->share = (struct regret_arm){ .mean = share, .n = REGRET_MIN_BLOCKS };
	l->turns = (struct regret_arm){ .mean = turns, .n = REGRET_MIN_BLOCKS };
	change_over(l, true);
}

void
regret_take(struct regret *l, double cost)
{
	arm_take(l->is_turning ? &l->turns : &l->share, cost);
	l->n_blocks++;
	if (!l->is_turning) {
		consider_turns(l);
		return;
	}
	l->regret = fmax(0, l->regret + REGRET_BLOCK_PERIODS * (cost - share_cost(l)));
	consider_sharing(l);
}
