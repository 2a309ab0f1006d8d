/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_constants.h - the numbers that decide advice, in one place.
 *
 * Shares are of a link's capacity, gains and losses relative.  Where no other source is
 * named, a number was chosen by hand; tests/unit/test_advise*, the golden tests
 * advise-* and compat-*, and bench_place and bench_advisor hold the advice to its
 * quality and cost with these numbers.  A cost is counted in flows that the engine
 * starts, not in time, so that the same question has the same answer on every machine.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVISE_CONSTANTS_H
#define SCHEDULER_CORE_ADVISE_ADVISE_CONSTANTS_H

/* ---- Reasons --------------------------------------------------------------------- */

/* Mean excess up to this share of the capacity counts as none. */
#define ADVISE_NO_EXCESS_FRAC 0.01
/* A shift counts as a reduction if it leaves less than this share of the excess. */
#define ADVISE_REDUCED_FRAC 0.9
/* If shifts leave more than this share of the excess, turns are considered instead. */
#define ADVISE_HALVED_FRAC 0.5
/* Below this bound (pair.h), a shift is worthless. */
#define ADVISE_WORTHLESS_FRAC 0.01
/* antiphase compat: excess below this share is reported as "nearly none". */
#define ADVISE_NEARLY_NONE_FRAC 1e-3

/* ---- Weighing -------------------------------------------------------------------- */

/* Least gain in goodput of a more intrusive variant over a less intrusive one. */
#define ADVISE_WORTH_FRAC 1e-3
/* Loss up to this share counts as rounding and random phases, not as harm. */
#define ADVISE_HARM_FRAC 0.01
/* A difference of means is significant above this number of standard errors. */
#define ADVISE_SURE_SES 2
/* Assumed remaining iterations of a job without an end. */
#define ADVISE_HORIZON_ITERATIONS 1000

/* ---- Variants of a component ----------------------------------------------------- */

/* Limits of load for gating: the sum of duties of jobs that wait for each other;
 * HUGE_VAL: no limit. */
#define ADVISE_GATE_LOADS 0.6, 0.9, 1.2, HUGE_VAL
/* Rounds of removing jobs from the gate that lose by it; and of choosing paths that spare
 * jobs beyond the cap, each with their weights raised by the next factor. */
#define ADVISE_REPAIRS      3
#define ADVISE_SPARE_FACTOR 4
/* Components with at least this many jobs get one short run first; variants that are
 * worse in it by the next share are dropped. */
#define ADVISE_GLANCE_JOBS       8
#define ADVISE_GLANCE_ITERATIONS 30
#define ADVISE_GLANCE_FRAC       0.03
/* Where the effort allows no more than the least number of runs, only the best plan is
 * shifted, and the baseline if it is worse by less than this share.  In scenarios of
 * 'make bench-harm' with 20 jobs or more, shifts gain up to 0.04. */
#define ADVISE_HOPELESS_FRAC 0.05
/* Deadband of CASSINI's agent, as a share of the period (NSDI 2024, section 4.3). */
#define ADVISE_DEADBAND_FRAC 0.05

/* Source ports that are tried for one of a given path. */
#define ADVISE_MAX_PORTS 4096

/* ---- Paths of running jobs (advisor/advisor_paths.c) ----------------------------- */

/*
 * A change of a flow's path counts as this much of its job's time, for the segments that
 * overtake others and are sent again.  Chosen, far above what was measured: 45 segments
 * in five changes of one TCP flow.
 */
#define ADVISE_CHANGE_S 1.0
/*
 * A change is made only if it pays for that within this time, so the least gain is
 * ADVISE_CHANGE_S / ADVISE_PAYBACK_S of the job's speed, well above the noise of
 * predictions; and not again within it.
 */
#define ADVISE_PAYBACK_S 50.0
/* Changes in any minute.  Chosen: a plan for 100 jobs of 6 flows takes one minute. */
#define ADVISE_CHANGES_A_MINUTE 600

/* ---- Effort ---------------------------------------------------------------------- */

#define ADVISE_EFFORT_FLOWS 8e6 /* Default, for all predictions that are kept. */
#define ADVISE_PREDICTIONS  12  /* Per component, about: its variants and 'before'. */
#define ADVISE_SEEDS        12  /* Runs per prediction, if the effort allows. */
#define ADVISE_MIN_SEEDS    2
/* Predictions that are kept run this many times longer, because a shift without
 * corrections decays slowly. */
#define ADVISE_LONGER 4

#define ADVISE_MAX_SLOWDOWN 1.5 /* Defaults of struct advise_opts. */
#define ADVISE_CANDIDATES   20
#define ADVISE_ITERATIONS   50
#define ADVISE_RESTARTS     8

/* ---- Placement ------------------------------------------------------------------- */

/* Local search: packings to start from, random hosts per move, tie of losses. */
#define PLACE_STARTS     6
#define PLACE_TRIES_HOST 16
#define PLACE_LOSS_TIE   1e-9
/* Moves of the search for one job, counted in routed flows. */
#define PLACE_SEARCH_FLOWS 20000
/* Second stage, which predicts candidates: limit of flows, nearest neighbors per
 * prediction, runs, least iterations, and the cost of exceeding the cap relative to the
 * weight. */
#define PLACE_JUDGE_FLOWS      3e6
#define PLACE_JUDGE_MAX_JOBS   24
#define PLACE_JUDGE_SEEDS      2
#define PLACE_JUDGE_ITERATIONS 20
#define PLACE_BEYOND_CAP       100
/* Redraws of paths (paths.h) of one plan. */
#define PLACE_REDRAWS 500
/* Placements that CASSINI draws to find ten different ones. */
#define PLACE_MAX_DRAWS 40

/* ---- Moves ----------------------------------------------------------------------- */

/* Steps tried by one search; jobs and racks that it considers; places tried a job. */
#define MOVES_TRIES       2000
#define MOVES_MAX_JOBS    64
#define MOVES_MAX_RACKS   16
#define MOVES_PLACES      4
#define MOVES_PLACE_TRIES 60
/* Steps tried for one job of the advisor, whose loop waits: at most, at least, and as many
 * as look at this number of loads of links. */
#define MOVES_ONLINE_TRIES     60
#define MOVES_ONLINE_MIN_TRIES 10
#define MOVES_ONLINE_LOADS     5000
/* Steps that are predicted before the best one is taken, and steps of one advice. */
#define MOVES_PREDICTED 3
#define MOVES_MAX_STEPS 8

/* ---- Fragmentation --------------------------------------------------------------- */

/* Flows of the simulation of one packed job, about: a few milliseconds. */
#define FRAGMENTATION_FLOWS 1e4

/* ---- Prediction ------------------------------------------------------------------ */

#define PREDICT_WARM_UP_FRAC 0.25 /* Share of a run before counting. */
/* Largest ratio of periods in one run, and least iterations of slower jobs. */
#define PREDICT_MAX_SPREAD     4.0
#define PREDICT_MIN_ITERATIONS 4.0

#endif
