/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded.h - minimum of a function of a few variables within bounds.
 *
 * Nelder and Mead's simplex search (1965); points outside are moved to the bounds, and
 * the search restarts from the best point until that gains nothing.  Finds a local
 * minimum; needs no derivatives.  Deterministic.
 */
#ifndef POLICIES_MATH_BOUNDED_H
#define POLICIES_MATH_BOUNDED_H

#define BOUNDED_MAX 12 /* Numbers. */

/* Starts from 'x', which becomes the best point found; returns its value. */
double bounded_minimise(double (*value)(void *ctx, const double *x), void *ctx,
			double *x, const double *low, const double *high, int n);

#endif
