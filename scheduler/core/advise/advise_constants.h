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

/* A mean excess up to this share is none. */
#define ADVISE_NO_EXCESS_FRAC 0.01
/* A shift that leaves less than this share of the excess has reduced it. */
#define ADVISE_REDUCED_FRAC 0.9
/* Shifts that leave more than this share of the excess count as not possible, where turns
 * are taken instead. */
#define ADVISE_HALVED_FRAC 0.5
/* A shift whose bound (pair.h) is below this share is worthless. */
#define ADVISE_WORTHLESS_FRAC 0.01
/* antiphase compat: an excess below this share is "nearly none". */
#define ADVISE_NEARLY_NONE_FRAC 1e-3

/* ---- Weighing -------------------------------------------------------------------- */

/* Goodput that a more intrusive variant has to gain over a less intrusive one. */
#define ADVISE_WORTH_FRAC 1e-3
/* What a job may lose by rounding and random phases before it counts as harmed. */
#define ADVISE_HARM_FRAC 0.01
/* A difference of means counts above so many standard errors. */
#define ADVISE_SURE_SES 2
/* Iterations that advice is for, of a job without an end. */
#define ADVISE_HORIZON_ITERATIONS 1000

/* ---- Variants of a component ----------------------------------------------------- */

/* Loads (sum of duties of the jobs that wait for each other) up to which jobs are gated;
 * HUGE_VAL: all. */
#define ADVISE_GATE_LOADS HUGE_VAL, 1.2, 0.9, 0.6
/* Rounds of letting jobs out of the gate that lose by it. */
#define ADVISE_REPAIRS 3
/* Components of so many jobs get one short run first; a variant that is worse there by
 * this share is dropped. */
#define ADVISE_GLANCE_JOBS       8
#define ADVISE_GLANCE_ITERATIONS 30
#define ADVISE_GLANCE_FRAC       0.03
/* Lateness that CASSINI's agent corrects, of a period (NSDI 2024, section 4.3). */
#define ADVISE_DEADBAND_FRAC 0.05

/* ---- Effort ---------------------------------------------------------------------- */

#define ADVISE_EFFORT_FLOWS 8e6 /* Default, of all predictions that are kept. */
#define ADVISE_PREDICTIONS  12  /* Of a component, about: its variants and 'before'. */
#define ADVISE_SEEDS        12  /* Runs of each prediction, if the effort allows. */
#define ADVISE_MIN_SEEDS    2
/* Predictions that are kept have so many times the iterations: a shift without
 * corrections decays slowly. */
#define ADVISE_LONGER 4

#define ADVISE_MAX_SLOWDOWN 1.5 /* Defaults of struct advise_opts. */
#define ADVISE_CANDIDATES   20
#define ADVISE_ITERATIONS   50
#define ADVISE_RESTARTS     8

/* ---- Placement ------------------------------------------------------------------- */

/* In the bound of place.h: the share of the mean excess that shifts leave. */
#define PLACE_RESIDUE_FRAC 0.1
/* The local search: packings that it begins with, random hosts a move, equal losses. */
#define PLACE_STARTS     6
#define PLACE_TRIES_HOST 16
#define PLACE_LOSS_TIE   1e-9
/* Moves of the search for one job, in routed flows. */
#define PLACE_SEARCH_FLOWS 20000
/* The second stage, which predicts candidates: flows in all, the nearest neighbors that a
 * candidate is predicted with, runs, and what a job beyond the cap costs over its
 * weight. */
#define PLACE_JUDGE_FLOWS    3e6
#define PLACE_JUDGE_MAX_JOBS 24
#define PLACE_JUDGE_SEEDS    2
#define PLACE_BEYOND_CAP     100
/* Placements that CASSINI draws to find ten different ones. */
#define PLACE_MAX_DRAWS 40

/* ---- Prediction ------------------------------------------------------------------ */

#define PREDICT_WARM_UP_FRAC 0.25 /* Of a run, not counted. */
/* Periods may differ by so much in one run; slower jobs get at least so many iterations. */
#define PREDICT_MAX_SPREAD     4.0
#define PREDICT_MIN_ITERATIONS 4.0

#endif
