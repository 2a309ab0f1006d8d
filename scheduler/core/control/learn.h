/*
 * learn.h - whether jobs that meet take turns or share, by what either has cost them.
 *
 * A play (regime.h) foretells both, but real links share otherwise than it does: who
 * sends already may hold its own against who comes late, and jobs drift apart by
 * themselves, so that sharing costs less than foretold.  So the play is believed only
 * where it is clear: turns that are to take away LEARN_CLEAR_FRAC of what sharing
 * costs are taken at once.  Otherwise jobs share first, which costs nothing that they
 * would not pay without us, and what they pay is noted; turns are tried if they are
 * foretold to cost less than that, by more than it may be off.
 *
 * While turns are taken it is added up what they cost more than sharing: as seen, or,
 * where that was not, as LEARN_DOUBT of what was foretold.  The sum is the regret, not
 * below 0; turns are given up before it exceeds LEARN_MAX_REGRET iterations, and not
 * tried again for LEARN_REST_BLOCKS blocks, then twice as many, and so on, unless
 * what was seen of both by then says clearly that they are better.  So in the mean over
 * jobs that meet, turns cost at most LEARN_MAX_REGRET iterations more than what sharing
 * is believed to cost, in any LEARN_REST_BLOCKS blocks: about a hundredth.  That belief is
 * looked after: as long as the two are not told apart, they take each other's place, and
 * turns of which little was seen, as long ago, are taken for what they may be at best.
 *
 * Time comes in blocks of LEARN_BLOCK_PERIODS of the longest period, costs as the mean
 * over jobs of what a block's iterations have cost, in periods; by how much blocks
 * differ says how much their mean is worth.  Pure, O(1).
 */
#ifndef SCHEDULER_CORE_CONTROL_LEARN_H
#define SCHEDULER_CORE_CONTROL_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#define LEARN_BLOCK_PERIODS 8
#define LEARN_CLEAR_FRAC    0.5
#define LEARN_DOUBT         0.25
#define LEARN_MAX_REGRET    3.0
#define LEARN_REST_BLOCKS   32

struct learn_arm {
	double mean, m2; /* Of blocks; sum of squares about it. */
	uint32_t n;
};

struct learn {
	double foretold_share, foretold_turns; /* Costs; both 0: no turns to take. */
	struct learn_arm share, turns;
	bool is_turning, is_resting;
	uint32_t n_blocks; /* Since it last changed over. */
	uint32_t rest_blocks;
	double regret;
};

/* Nothing is known. */
void learn_init(struct learn *learn);

/*
 * What the play says, over having the link alone; turns that are not to be taken at
 * all: INFINITY.
 */
void learn_foretell(struct learn *learn, double share, double turns);

/* What a block has cost, by what it did. */
void learn_take(struct learn *learn, double cost);

#endif
