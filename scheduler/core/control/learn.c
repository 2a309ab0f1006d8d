#include "scheduler/core/control/learn.h"

#include <math.h>

/* Costs, over the period. */
#define SURE_COST  0.005 /* Turns that are to cost less are clear, */
#define LEAST_COST 0.01  /* and none is given up for less. */
#define MIN_GAIN   0.003 /* Of turns, to be tried. */

/* Turns that are taken as they are clear stay so, down to that. */
#define STILL_CLEAR_FRAC 0.35

/*
 * Orders are not as good as somebody who sees the link: so much of what sharing costs
 * is not taken away, of what the play says is.  That counts for so many blocks.
 */
#define SLIP_FRAC  0.15
#define FORETOLD_N 2

#define MIN_BLOCKS  4  /* Of sharing, before it is known; also at a time. */
#define LOOK_BLOCKS 16 /* Turns not better for sure: sharing is looked at. */
#define MAX_REST    2048

/* How much blocks differ, until that is seen; counts for so many of them. */
#define BLOCK_SD 0.04
#define PRIOR_N  3
#define SURE_SES 2.0

void
learn_init(struct learn *l)
{
	*l = (struct learn){ .foretold_turns = INFINITY };
}

static void
arm_take(struct learn_arm *arm, double cost)
{
	double off = cost - arm->mean;

	arm->n++;
	arm->mean += off / arm->n;
	arm->m2 += off * (cost - arm->mean);
}

/* Of the mean: its standard error. */
static double
arm_error(const struct learn_arm *arm)
{
	double variance =
		(arm->m2 + PRIOR_N * BLOCK_SD * BLOCK_SD) / (arm->n + PRIOR_N);

	return arm->n ? sqrt(variance / arm->n) : INFINITY;
}

static double
share_cost(const struct learn *l)
{
	if (l->share.n >= MIN_BLOCKS)
		return l->share.mean;
	return fmax(LEAST_COST, LEARN_DOUBT * l->foretold_share);
}

static double
turns_cost(const struct learn *l)
{
	double foretold = l->foretold_turns + SLIP_FRAC * l->foretold_share;

	return (l->turns.mean * l->turns.n + foretold * FORETOLD_N) /
	       (l->turns.n + FORETOLD_N);
}

/* Foretold to be so much better that it need not be seen first. */
static bool
is_clear(const struct learn *l, double clear_frac)
{
	return l->foretold_turns + MIN_GAIN <= l->foretold_share &&
	       l->foretold_turns <=
		       fmax(SURE_COST, (1 - clear_frac) * l->foretold_share);
}

/* By what was seen of both. */
static double
advantage_in_errors(const struct learn *l)
{
	double error = hypot(arm_error(&l->share), arm_error(&l->turns));

	if (l->share.n < MIN_BLOCKS || l->turns.n < MIN_BLOCKS)
		return 0;
	return (l->share.mean - l->turns.mean) / error;
}

static void
change_over(struct learn *l, bool is_turning)
{
	l->is_turning = is_turning;
	l->n_blocks = 0;
	l->regret = 0;
}

static void
give_up(struct learn *l)
{
	/* What nobody has seen is looked at first. */
	l->is_resting = l->share.n >= MIN_BLOCKS;
	if (l->is_resting)
		l->rest_blocks =
			l->rest_blocks ? l->rest_blocks * 2 : LEARN_REST_BLOCKS;
	if (l->rest_blocks > MAX_REST)
		l->rest_blocks = MAX_REST;
	change_over(l, false);
}

static void
consider_sharing(struct learn *l)
{
	bool is_known = l->share.n >= MIN_BLOCKS;

	if (l->regret > LEARN_MAX_REGRET - 1 ||
	    (l->regret > 1 && l->turns.mean > share_cost(l)))
		give_up(l);
	else if ((is_known || !is_clear(l, LEARN_CLEAR_FRAC)) &&
		 l->n_blocks >= LOOK_BLOCKS && advantage_in_errors(l) < SURE_SES)
		change_over(l, false);
}

/*
 * By what is known, or else by what is said.  What was seen of turns a long time ago may
 * have been bad luck: then by the better end of what they may cost.
 */
static bool
turns_pay(const struct learn *l, bool is_long_ago)
{
	double luck = is_long_ago && l->turns.n ? arm_error(&l->turns) : 0;

	if (l->share.n < MIN_BLOCKS)
		return is_clear(l, LEARN_CLEAR_FRAC) && !l->turns.n;
	return l->n_blocks >= MIN_BLOCKS &&
	       turns_cost(l) - luck + MIN_GAIN + arm_error(&l->share) < l->share.mean;
}

static void
consider_turns(struct learn *l)
{
	uint32_t rest_blocks = l->rest_blocks ? l->rest_blocks : LEARN_REST_BLOCKS;
	bool is_long_ago = l->n_blocks >= rest_blocks;
	bool has_rested =
		!l->is_resting || is_long_ago ||
		(l->n_blocks >= MIN_BLOCKS && advantage_in_errors(l) >= SURE_SES);

	if (!isfinite(l->foretold_turns) || !has_rested || !turns_pay(l, is_long_ago))
		return;
	l->is_resting = false;
	change_over(l, true);
}

void
learn_foretell(struct learn *l, double share, double turns)
{
	l->foretold_share = share;
	l->foretold_turns = turns;
	if (l->is_turning && (!isfinite(turns) || (l->share.n < MIN_BLOCKS &&
						   !is_clear(l, STILL_CLEAR_FRAC))))
		change_over(l, false);
	else if (!l->is_turning)
		consider_turns(l);
}

void
learn_take(struct learn *l, double cost)
{
	arm_take(l->is_turning ? &l->turns : &l->share, cost);
	l->n_blocks++;
	if (!l->is_turning) {
		consider_turns(l);
		return;
	}
	l->regret = fmax(0, l->regret + LEARN_BLOCK_PERIODS * (cost - share_cost(l)));
	consider_sharing(l);
}
