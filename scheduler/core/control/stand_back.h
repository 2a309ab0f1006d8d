/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_back.h - stops turns that do not help, for growing pauses.
 *
 * On busy hosts begins cannot be predicted, waits end late and reports are lost, so
 * turns may cost as much as the contention that they avoid.  regret.h compares the two
 * costs, but it discards them, as it must, whenever the period of a job changes, and
 * on busy hosts periods seem to change all the time.  This watch lasts, and it decides
 * by iterations, not by blocks of them.  It is for jobs whose iteration times vary by
 * more than STAND_BACK_NOISE_FRAC (control_constants.h); for others, regret.h decides.
 *
 * It takes the cost of every iteration: waits and time in collectives.  While
 * turns are taken it sums up how much more they cost than allowed, as a CUSUM (Page,
 * Biometrika 1954):
 *
 *	shortfall = max(0, shortfall + cost - allowed)
 *
 * Allowed is the measured cost of sharing.  Before there is one, it is half way between
 * the predicted costs: turns are to deliver half of what they promise.  A shortfall of
 * STAND_BACK_MAX iterations, in the mean over the jobs, ends the turns.  The first
 * STAND_BACK_SKIPPED iterations do not count, since in these jobs line up.
 *
 * Without a measured cost of sharing, the watch first looks: jobs share for
 * STAND_BACK_LOOK iterations, and if that costs more than turns did, turns go on.
 * Otherwise it stands back: no turns for STAND_BACK_FIRST_NS, and after each further
 * failure for twice as long, up to STAND_BACK_LONGEST_NS.  Turns that last for
 * STAND_BACK_TRUST_NS have succeeded; the next pause is the first again.  Pure, O(1).
 */
#ifndef SCHEDULER_CORE_CONTROL_STAND_BACK_H
#define SCHEDULER_CORE_CONTROL_STAND_BACK_H

#include <stdbool.h>
#include <stdint.h>

#define STAND_BACK_SKIPPED    2
#define STAND_BACK_MAX        0.75
#define STAND_BACK_LOOK       16
#define STAND_BACK_FIRST_NS   INT64_C(30000000000)
#define STAND_BACK_LONGEST_NS INT64_C(600000000000)
#define STAND_BACK_TRUST_NS   INT64_C(60000000000)

enum stand_back_state {
	STAND_BACK_NOT,   /* Turns may be taken. */
	STAND_BACK_LOOKS, /* Jobs share, to measure what that costs. */
	STAND_BACK_RESTS, /* Jobs share, because turns did not help. */
};

/* Recent costs: a moving mean.  Iterations of all jobs count as one. */
struct stand_back_costs {
	double mean, n;
};

struct stand_back {
	enum stand_back_state state;
	struct stand_back_costs share, turns;
	double predicted; /* Last predicted cost of turns; INFINITY: none. */
	double shortfall;
	double n_turning;         /* Iterations since turns began. */
	int64_t turning_since_ns; /* 0: no turns are taken. */
	int64_t until_ns;         /* End of the pause; 0: none. */
	int64_t pause_ns;         /* Length of the last pause; 0: none yet. */
	uint32_t n_failed;        /* Times that it stood back. */
};

/*
 * An iteration of one of the jobs, in periods.  Its cost includes the isolated one, which
 * is an estimate: so an error of that does not favor the choice that was measured later.
 */
struct stand_back_iteration {
	int64_t now_ns;
	bool is_turning;
	double cost;     /* Waits, and time in collectives. */
	double isolated; /* The time in collectives of an isolated iteration. */
	double weight;   /* One over the number of jobs. */
	/* Costs beyond the isolated one; INFINITY: not predicted. */
	double predicted_share, predicted_turns;
};

/* Starts without knowledge. */
void stand_back_init(struct stand_back *watch);

/*
 * Takes an iteration.  Returns true if 'state' has changed: then turns are to end, or
 * may be taken again.
 */
bool stand_back_take(struct stand_back *watch, const struct stand_back_iteration *it);

/* The cost of turns: measured, or near the prediction if that is from few iterations. */
double stand_back_turns_cost(const struct stand_back *watch);

#endif
