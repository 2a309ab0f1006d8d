/*
 * period.h - a first estimate of a job's period, from its spectrum.
 *
 * Autocorrelation alone takes two iterations for one, the harmonic sum of the
 * spectrum alone takes a burst inside the iteration for the iteration; their
 * product seldom does either, and has the right one among its highest peaks.
 * The estimates are good to some per cent; align.h tells which is right, and
 * makes it exact.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_PERIOD_H
#define SCHEDULER_CORE_PROFILE_PERIOD_H

#include <stdbool.h>

#include "scheduler/core/profile/spectrum.h"

/* Shorter periods than this many buckets are not looked for. */
#define PERIOD_MIN_BUCKETS 40
/* A period longer than this share of the piece cannot be told from chance. */
#define PERIOD_MAX_SHARE 0.42

struct period {
	double buckets;    /* The period. */
	double confidence; /* Smoothed autocorrelation there, at most 1. */
	double dip;        /* How far it dips before the period and after it. */
	double score;      /* Of the product. */
};

/* More candidates than this are not worth trying. */
#define PERIOD_MAX_CANDIDATES 8

/*
 * Stores the likely periods in ret_periods[PERIOD_MAX_CANDIDATES], by falling
 * score, and returns their number: 0 if the piece is too short for the shortest
 * period, or no lag scores at all.
 */
size_t period_candidates(const struct spectrum *spectrum, struct period *ret_periods);

#endif
