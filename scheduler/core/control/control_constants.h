/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_constants.h - the numbers that steer the control loop, in one place.
 *
 * Where no other source is named, a number was chosen by hand on the simulated jobs of
 * tests/unit/steer_lab.h and settle_lab.h.  tests/unit/test_steer* hold the loop to its
 * slowdowns with these numbers, bench_steer to no harm on random mixes of 2 to 6 jobs,
 * and bench_settle to how soon jobs that have just begun get their turns.
 *
 * "SDS" are standard deviations of the job's iteration time, "FRAC" is a share.
 */
#ifndef SCHEDULER_CORE_CONTROL_CONTROL_CONSTANTS_H
#define SCHEDULER_CORE_CONTROL_CONTROL_CONSTANTS_H

#include <stdint.h>

/* ---- Reports and orders: steer.c, steer_node.c ----------------------------------- */

#define STEER_LATENCY_NS     20000000 /* Default: from a report to its order at the job. */
#define STEER_MAX_PER_MINUTE 60       /* Default: corrections of one job. */
#define STEER_MAX_TOKENS     5        /* Corrections in a row. */

/* Iterations without a report after which one was lost, and after which the job is
 * silent and nothing is steered by it. */
#define STEER_LOST_PERIODS   1.2
#define STEER_SILENT_PERIODS 4
#define STEER_LATE_SDS       4 /* A report later than that is taken for lost. */
#define STEER_ORDER_ROOM_SDS 4 /* An order may wait so much longer than it asks for. */

/* A job is settled after so many iterations that are within their windows, or outside
 * by less than that. */
#define STEER_SETTLED_ITERATIONS 8
#define STEER_SETTLED_SDS        2

/* A period that differs from the plan's by both has changed: profile it again. */
#define STEER_CHANGED_FRAC 0.1
#define STEER_CHANGED_SDS  3

/* A burst that others stretched by more than this tells nothing of its length alone. */
#define STEER_MAX_STRETCH_FRAC 0.25

/* Constraints that differ by less, of their modulus or in cost, are the same, refined. */
#define STEER_SAME_FRAC 0.1

/* ---- Windows: steer_shift.c ------------------------------------------------------ */

/* Corrections lead into windows by this share of the largest margin that there is room
 * for, which is searched for by bisection. */
#define SHIFT_MARGIN_FRAC   0.5
#define SHIFT_MARGIN_ROUNDS 6
/* A begin sooner than the latency by so much less cannot be reached by an order. */
#define SHIFT_GUARD_SDS 2
/* Where no delays lead into all windows, they are looked for again after the first of
 * these, then twice as long, up to the second. */
#define SHIFT_FIRST_UNFIT_NS   INT64_C(1000000000)
#define SHIFT_LONGEST_UNFIT_NS INT64_C(60000000000)
/* A lock that asks for less is left to corrections. */
#define SHIFT_MIN_LOCK_SDS 0.5
/* Newton's method for the lock point: rounds, and the smallest slope that is used. */
#define SHIFT_LOCK_ROUNDS 4
#define SHIFT_LOCK_SLOPE  0.05

/* ---- Turns: steer_send_schedule.c, steer_group.c --------------------------------- */

/* An order is sent for a turn that may be taken too early by so much. */
#define TURN_GUARD_SDS 2
/* Others wait for a burst that takes longer than its profile says, up to this. */
#define TURN_MAX_HOLD_FRAC 1.5
/* Turns are chosen again when the period has changed by so much, but not sooner. */
#define TURN_CHANGED_FRAC 0.02
#define TURN_EVERY_NS     INT64_C(1000000000)

/* A group forgets its costs when a member's period has changed by both: the mean of a
 * period wanders by a quarter of a standard deviation. */
#define GROUP_CHANGED_FRAC 0.05
#define GROUP_CHANGED_SDS  1.5
/* Blocks do not wait for a job whose period is longer than so many of the shortest. */
#define GROUP_SLOW_RATIO 4.0
/* An iteration that cost more periods than this is a checkpoint or the like. */
#define GROUP_MAX_COST 4

/* ---- Sharing or turns: regret.c -------------------------------------------------- */

/* Costs are in periods. */
#define REGRET_SURE_COST  0.005 /* Turns predicted to cost less are clear. */
#define REGRET_LEAST_COST 0.01  /* Turns are not given up for less. */
#define REGRET_MIN_GAIN   0.003 /* Of turns, to be tried. */
/* Turns that were taken because they were clear stay clear down to this share. */
#define REGRET_STILL_CLEAR_FRAC 0.35
/* Orders come late, so this share of the cost of sharing stays.  The prediction weighs as
 * much as so many blocks. */
#define REGRET_SLIP_FRAC   0.15
#define REGRET_PREDICTED_N 2
#define REGRET_MIN_BLOCKS  4    /* Of sharing, before its cost is known. */
#define REGRET_LOOK_BLOCKS 16   /* Of turns that are not surely better: share again. */
#define REGRET_MAX_REST    2048 /* Blocks. */
/* The standard deviation of blocks before it is seen, and its weight in blocks. */
#define REGRET_BLOCK_SD 0.04
#define REGRET_PRIOR_N  3
#define REGRET_SURE_SES 2.0 /* Standard errors of a difference that is sure. */

/* ---- Predicting turns: rollout.c ------------------------------------------------- */

#define ROLLOUT_DRAWS      6    /* Of random phases. */
#define ROLLOUT_ITERATIONS 40   /* Of the longest job; the first quarter is warm-up. */
#define ROLLOUT_MAX_EVENTS 4000 /* A draw. */
/* Gains of the mean slowdown below these are not worth an order; the second where only
 * some take turns, whose ends are predicted less well. */
#define ROLLOUT_MIN_GAIN  0.002
#define ROLLOUT_PART_GAIN 0.02
/* Harm in slowdown: to any one job, and to the worst one. */
#define ROLLOUT_MAX_HARM  0.05
#define ROLLOUT_MAX_WORST 0.03

/* ---- Iterations: onset_tracker.c ------------------------------------------------- */

#define ONSET_MAX_LOST 32 /* Iterations: else a report is doubted. */
#define ONSET_MAX_GAP_NS \
	INT64_C(3600000000000) /* No iteration is longer than an hour. */
#define ONSET_GAIN 16          /* Samples in the mean of the period. */
/* A sample that is off by both is odd. */
#define ONSET_ODD_SDS  5
#define ONSET_ODD_FRAC 0.03
/* The standard deviation over the period: until it is seen, and at least. */
#define ONSET_FIRST_SD_FRAC 0.02
#define ONSET_MIN_SD_FRAC   0.001
/* Page's CUSUM (Biometrika 1954): slack and alarm, in standard deviations. */
#define ONSET_CUSUM_SLACK_SDS 0.5
#define ONSET_CUSUM_ALARM_SDS 6
/* Collectives differ by this share by themselves; the mean of their length is over so
 * many iterations. */
#define ONSET_COMM_BAND_FRAC 0.15
#define ONSET_COMM_GAIN      8

/* ---- Constraints: phase_constraints.c, phase_correction.c, period_lock.c --------- */

#define CONSTRAINT_MAX_IDLE_FRAC   0.1  /* Of a burst that is sent in one go. */
#define CONSTRAINT_MIN_WINDOW_FRAC 0.02 /* Of the modulus: narrower cannot be kept. */
#define CONSTRAINT_STEPS           64 /* In which the end of a window is looked for. */
#define CONSTRAINT_FITS_REL_TOL    1e-9 /* Rounding of sums of rates. */
#define CORRECTION_TOLERANCE_NS    1.0  /* Rounding of phases. */
#define CORRECTION_PASSES          4    /* Over all constraints, one at a time. */
/* A multiple that misses by so little is one: periods are measured. */
#define PERIOD_LOCK_REL_TOL 1e-4

#endif
