/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect_constants.h - the numbers that steer period detection, and their sources.
 *
 * Unless a source is named, a value was chosen by experiment: on captures of MPI jobs
 * of 2 and 4 ranks with known iterations (tests/unit/test_detect_capture.c), on
 * generated traffic (test_detect.c, test_detect_ends.c), and, for what is refused, on
 * noise, constant rates and random bursts (test_detect_refuse.c).  Lengths are in
 * buckets of 1 ms; a "share" is a fraction of the quantity named.
 */
#ifndef SCHEDULER_CORE_PROFILE_DETECT_CONSTANTS_H
#define SCHEDULER_CORE_PROFILE_DETECT_CONSTANTS_H

/* ---- Period estimate (period.c) -------------------------------------------------- */

#define GRID_RATIO    1.004 /* From one lag of the grid to the next. */
#define N_HARMONICS   5     /* In the harmonic sum of the spectrum. */
#define LAG_SMOOTHING 0.03  /* Half width of the mean over lags, share of the lag. */
#define TWICE_WEIGHT  0.5   /* Of the autocorrelation at twice the lag. */
#define LONGEST_LAG   0.85  /* Share of the piece: beyond it too few products remain. */

/* A peak of the score is at least this many grid points wide on each side. */
#define PEAK_REACH 10
/* Buckets on each side of its centroid, and the share of the peak above which they count. */
#define CENTROID_REACH 8
#define CENTROID_FLOOR 0.85

/* The dip is searched between these multiples of the lag, in these steps. */
#define DIP_FROM 0.1
#define DIP_TO   1.9
#define DIP_STEP 0.02

/* ---- Choice among candidates (detect.c) ------------------------------------------ */

/* Added to the unexplained share of a period, so that perfect ones do not differ. */
#define RESIDUAL_FLOOR 0.1
/* A candidate with a lower score wins if it leaves less than this share unexplained. */
#define FAR_LESS 0.5

/* ---- What is refused (detect.c) -------------------------------------------------- */

#define MIN_AUTOCORRELATION 0.1 /* At the period. */
#define NOISE_SDS           4   /* 1 / sqrt(n) is the sd of white noise's (Bartlett). */
#define MIN_DIP             0.1 /* Of the autocorrelation, on both sides. */
#define MIN_EXPLAINED       0.1 /* Share of variance. */
#define MIN_EXPLAINED_FEW   2   /* The same, divided by the number of iterations. */
#define MIN_TOGETHER        0.5 /* Autocorrelation + explained - jitter / period. */
#define MAX_JITTER          0.2 /* Standard deviation, share of the period. */
#define MAX_DISAGREEMENT    0.1 /* Between estimate and iterations, share. */
#define MIN_CONTRAST        0.1 /* Sd of the mean iteration, share of its mean. */

/*
 * ALIKE_MIN_ITERATIONS or more are alike if the spread of their bytes is at most
 * ALIKE_BYTES of their median and ALIKE_SHARE of the spread of their times
 * (test_detect_contended.c).  Then the estimate may be further off.
 */
#define ALIKE_MIN_ITERATIONS   8
#define ALIKE_BYTES            0.1
#define ALIKE_SHARE            0.3
#define MAX_DISAGREEMENT_ALIKE 0.25

/* Contrast is that of the mean iteration smoothed over 1 / 16 of it on each side. */
#define CONTRAST_PART    16
#define CONTRAST_BUCKETS 5 /* At least. */

/* Required accuracy of a period: within this share of the median. */
#define PERIOD_BAR 0.02

/* ---- Iteration onsets (align.c) -------------------------------------------------- */

#define MAX_TEMPLATE 512 /* Cells of a template; longer periods are binned. */
#define MAX_SEED     96  /* The same while first templates are tried. */
#define N_SEEDS      8   /* First templates that are tried. */
#define N_ROUNDS     3   /* Of alignment and averaging. */
#define SMOOTHING    3   /* Cells, of the series. */

/*
 * Distances of onsets, in periods, and the cost of those that differ from one, as in
 * Ellis, "Beat Tracking by Dynamic Programming" (2007), but quadratic.
 */
#define MIN_DISTANCE   0.65
#define MAX_DISTANCE   1.6
#define DISTANCE_SCALE 0.25
#define DISTANCE_COST  0.15

#define FIT_CAP     1.2  /* A fit counts at most this. */
#define FIT_FLOOR   0.25 /* A fit counts only above this. */
#define END_FIT     0.4  /* Share of the median fit: less is cut by the series' end. */
#define QUIET_LEVEL 0.2  /* Share of the template's range: below it is quiet. */
#define QUIET_LEAD  0.75 /* Share of the longest quiet that leads the template. */
#define EDGE_REACH  0.35 /* Share of the period behind the edge that has weight. */

/* ---- Iteration ends and times (iteration_ends.c, iteration_times.c) -------------- */

#define MAX_BYTES_OFF 0.2  /* Share of an iteration's: its end is searched within. */
#define QUIET_RATE    0.5  /* Share of the mean rate: less is quiet. */
#define CLEAR_QUIET   0.25 /* Share of the median quiet: a shorter one is not clear. */
#define MIN_CLEAR     0.9  /* Least share of clear ends in a usable series. */
#define MAX_ENDS_OFF  0.2  /* Between period by ends and by onsets, share. */

/* ---- Phases (phases.c, detect.c) ------------------------------------------------- */

#define PIECE_PENALTY 0.02 /* Of each piece, share of the variance. */
#define IDLE_RATE     0.1  /* Share of the highest piece: less is idle. */
#define LINE_BUCKETS  5    /* Over which the line rate is the highest mean. */
#define MAX_CELLS     512  /* Most cells of a mean iteration. */

/* ---- Arithmetic ------------------------------------------------------------------ */

#define ROUNDING 1e-9 /* Share of the energy: what is left of a constant. */

#endif
