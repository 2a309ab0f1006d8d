/* SPDX-License-Identifier: Apache-2.0 */
/*
 * period.h - candidates for a job's period, from its spectrum.
 *
 * Autocorrelation alone takes two iterations for one; the harmonic sum of the spectrum
 * alone takes a burst inside the iteration for the iteration.  Their product seldom
 * does either, and has the true period among its highest peaks, within a few per cent.
 * align.h chooses among the candidates and makes the period exact.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_PERIOD_H
#define SCHEDULER_CORE_PROFILE_PERIOD_H

#include <stddef.h>

#include "scheduler/core/profile/spectrum.h"

/* The shortest period that is searched, in buckets. */
#define PERIOD_MIN_BUCKETS 40
/* A period longer than this share of the piece cannot be told from noise. */
#define PERIOD_MAX_SHARE 0.42

struct period {
	double buckets;         /* The period. */
	double autocorrelation; /* Smoothed, at the period; 0 to 1. */
	double dip;             /* How much lower it is on both sides of the period. */
	double score;           /* S of period.c. */
};

#define PERIOD_MAX_CANDIDATES 8

/*
 * Stores the likely periods in ret_periods[PERIOD_MAX_CANDIDATES], highest score first,
 * and returns their number: 0 if the piece is too short for the shortest period, or no
 * lag scores.
 */
size_t period_candidates(const struct spectrum *spectrum, struct period *ret_periods);

#endif
