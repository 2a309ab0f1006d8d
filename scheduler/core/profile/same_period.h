/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_period.h - which periods are one, but for the error of their measurement.
 *
 * The phases of two jobs repeat with the greatest common divisor of their periods.  That
 * of 45013 and 45026 us is 1 us: nothing to shift.  But if the jobs run the same program
 * and each period was measured with an error of 10 us, then they have one period, and
 * need a shift.  All code that compares periods of different jobs asks here, but for
 * CASSINI's circle, which rounds them to milliseconds, as published.
 *
 * Two periods are one if they differ by at most SAME_PERIOD_SES standard errors of their
 * difference, and at most by SAME_PERIOD_MAX_FRAC of the longer one.  A period without an
 * error (declared, or of an older file) is exact: it is the same as an equal one only.
 *
 * What is lost where two periods really differ, by at most d = SAME_PERIOD_MAX_FRAC:
 *
 *  - jobs that are kept in phase (control/): the faster one waits d of its time, which is
 *    half of what counts as a gain at all (ADVISE_WORTH_FRAC);
 *  - jobs that are shifted once: their relative phase drifts by d in an iteration, so by
 *    half a period in ADVISE_HORIZON_ITERATIONS.  From the best phase to the opposite one
 *    every phase occurs, so that on average it is as if nothing had been shifted.
 *
 * Predictions (advise/predict.h) run each job with the period that was measured, so a
 * shift is advised only if it pays with this drift, too.
 *
 * Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_SAME_PERIOD_H
#define SCHEDULER_CORE_PROFILE_SAME_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define SAME_PERIOD_SES      3.0
#define SAME_PERIOD_MAX_FRAC 5e-4

/* The one period of two jobs, which is the longer one; 0 if they have two. */
int64_t same_period(const struct profile *a, const struct profile *b);

/*
 * True if same_period() has two, but only as their errors are too large: they differ by
 * more than SAME_PERIOD_MAX_FRAC, and by at most SAME_PERIOD_SES standard errors of their
 * difference.  So they need not be unrelated; a longer measurement tells.
 */
bool same_period_is_unsure(const struct profile *a, const struct profile *b);

/*
 * Sorts 'n' jobs into groups of one period, in which each is the same as all others; a
 * group takes its longest.  Returns copies of the profiles with these periods, which
 * borrow names and phases; free with free().  NULL if each job keeps its own period.
 * Does not depend on the order of the jobs.  O(n log n), O(n) without errors.
 */
struct profile *same_period_join(const struct profile *const *profiles, size_t n);

#endif
