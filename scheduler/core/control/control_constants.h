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
#define STEER_MAX_PER_MINUTE 60       /* Default: most corrections of one job. */
#define STEER_MAX_TOKENS     5        /* Most corrections in a row. */

/* After this many iterations without a report, a report was lost; after the second
 * number, the job is silent and no order depends on it. */
#define STEER_LOST_PERIODS   1.2
#define STEER_SILENT_PERIODS 4
#define STEER_LATE_SDS       4 /* A later report counts as lost. */
#define STEER_ORDER_ROOM_SDS 4 /* Longest wait of an order beyond its delay. */

/* A job is settled after this many iterations within their windows, or outside by fewer
* standard deviations than the second number. */
#define STEER_SETTLED_ITERATIONS 8
#define STEER_SETTLED_SDS        2

/* A period off the plan's by both limits has changed: profile it again. */
#define STEER_CHANGED_FRAC 0.1
#define STEER_CHANGED_SDS  3

/* A burst stretched by more than this says nothing about its isolated length. */
#define STEER_MAX_STRETCH_FRAC 0.25

/* Constraints that differ by less, in modulus or in cost, are refined, not new. */
#define STEER_SAME_FRAC 0.1

/* ---- Windows: steer_shift.c ------------------------------------------------------ */

/* Corrections target this share of the largest feasible margin within windows, which is
 * found by bisection. */
#define SHIFT_MARGIN_FRAC   0.5
#define SHIFT_MARGIN_ROUNDS 6
/* An order cannot reach a begin that comes sooner than the latency minus this. */
#define SHIFT_GUARD_SDS 2
/* After a search without feasible delays, the next one follows after the first time,
 * then after twice as long, up to the second time. */
#define SHIFT_FIRST_UNFIT_NS   INT64_C(1000000000)
#define SHIFT_LONGEST_UNFIT_NS INT64_C(60000000000)
/* A lock that needs less delay is left to corrections. */
#define SHIFT_MIN_LOCK_SDS 0.5
/* Newton's method for the lock point: rounds, and the smallest slope used. */
#define SHIFT_LOCK_ROUNDS 4
#define SHIFT_LOCK_SLOPE  0.05

/* ---- Turns: steer_send_schedule.c, steer_group.c --------------------------------- */

/* An order is sent if a turn may be taken too early by this much. */
#define TURN_GUARD_SDS 2
/* Others wait for a burst that exceeds its profile, up to this many lengths. */
#define TURN_MAX_HOLD_FRAC 1.5
/* A begin that is predicted wrong costs time, by idling or by overlap: in the mean over
 * the jobs, a quarter of a standard deviation an iteration. */
#define TURN_ERROR_SDS 0.25
/* Turns are chosen again after this change of the period, but at most this often. */
#define TURN_CHANGED_FRAC 0.02
#define TURN_EVERY_NS     INT64_C(1000000000)

/* A group discards its costs when a member's period has changed by both limits: the
 * mean of a period wanders by a quarter of a standard deviation. */
#define GROUP_CHANGED_FRAC 0.05
#define GROUP_CHANGED_SDS  1.5
/* Blocks ignore jobs with periods longer than this many of the shortest. */
#define GROUP_SLOW_RATIO 4.0
/* An iteration that cost more periods is an exception, such as a checkpoint. */
#define GROUP_MAX_COST 4

/* ---- Sharing or turns: regret.c -------------------------------------------------- */

/* Costs are in periods. */
#define REGRET_SURE_COST  0.005 /* Turns with a lower predicted cost are clear. */
#define REGRET_LEAST_COST 0.01  /* Turns with a lower cost are not given up. */
#define REGRET_MIN_GAIN   0.003 /* Least gain for trying turns. */
/* Turns taken because they were clear remain clear down to this share. */
#define REGRET_STILL_CLEAR_FRAC 0.35
/* Orders come late, so this share of the cost of sharing remains; and the weight of the
 * prediction, in blocks. */
#define REGRET_SLIP_FRAC   0.15
#define REGRET_PREDICTED_N 2
#define REGRET_MIN_BLOCKS  4    /* Of sharing, before its cost counts as known. */
#define REGRET_LOOK_BLOCKS 16   /* Of turns that are not surely better: share again. */
#define REGRET_MAX_REST    2048 /* Blocks. */
/* Standard deviation of blocks before any are seen, and its weight in blocks. */
#define REGRET_BLOCK_SD 0.04
#define REGRET_PRIOR_N  3
#define REGRET_SURE_SES 2.0 /* Standard errors of a significant difference. */

/* ---- Turns that do not help: stand_back.c ----------------------------------------- */

/* Jobs whose iteration times have a larger standard deviation, over the period, in the
 * mean: on busy hosts. */
#define STAND_BACK_NOISE_FRAC  0.04
#define STAND_BACK_KEPT        48 /* Iterations in the mean of a cost. */
#define STAND_BACK_MIN         8  /* Least iterations of turns that decide. */
#define STAND_BACK_PREDICTED_N 8  /* The weight of the prediction, in iterations. */

/* ---- Predicting turns: rollout.c ------------------------------------------------- */

#define ROLLOUT_DRAWS      6    /* Of random phases. */
#define ROLLOUT_ITERATIONS 40   /* Of the longest job; the first quarter is warm-up. */
#define ROLLOUT_MAX_EVENTS 4000 /* A draw. */
/* Lower gains of the mean slowdown do not justify orders; the second limit applies if
 * only some jobs take turns, because predictions are then less exact. */
#define ROLLOUT_MIN_GAIN  0.002
#define ROLLOUT_PART_GAIN 0.02
/* Largest acceptable harm in slowdown: to any job, and to the worst one. */
#define ROLLOUT_MAX_HARM  0.05
#define ROLLOUT_MAX_WORST 0.03

/* ---- Iterations: onset_tracker.c ------------------------------------------------- */

#define ONSET_MAX_LOST 32 /* Most lost iterations; with more, the report is doubted. */
#define ONSET_MAX_GAP_NS \
	INT64_C(3600000000000) /* No iteration is longer than an hour. */
#define ONSET_GAIN 16          /* Samples in the mean of the period. */
/* A sample that exceeds both limits is odd. */
#define ONSET_ODD_SDS  5
#define ONSET_ODD_FRAC 0.03
/* Standard deviation over the period: the initial one, and the least. */
#define ONSET_FIRST_SD_FRAC 0.02
#define ONSET_MIN_SD_FRAC   0.001
/* Page's CUSUM (Biometrika 1954): slack and alarm, in standard deviations. */
#define ONSET_CUSUM_SLACK_SDS 0.5
#define ONSET_CUSUM_ALARM_SDS 6
/* Normal variation of collectives, as a share; and iterations in the mean of their
 * length. */
#define ONSET_COMM_BAND_FRAC 0.15
#define ONSET_COMM_GAIN      8

/* ---- Constraints: phase_constraints.c, phase_correction.c, period_lock.c --------- */

#define CONSTRAINT_MAX_IDLE_FRAC   0.1  /* Of a contiguous burst. */
#define CONSTRAINT_MIN_WINDOW_FRAC 0.02 /* Of the modulus; least that can be kept. */
#define CONSTRAINT_STEPS           64 /* Steps in the search for the end of a window. */
#define CONSTRAINT_FITS_REL_TOL    1e-9 /* Rounding of sums of rates. */
#define CORRECTION_TOLERANCE_NS    1.0  /* Rounding of phases. */
#define CORRECTION_PASSES          4    /* Over all constraints, one by one. */
/* Tolerance of multiples, because periods are measured. */
#define PERIOD_LOCK_REL_TOL 1e-4

#endif
