/* SPDX-License-Identifier: Apache-2.0 */
/*
 * period.c - the score S over a grid of lags L, each 0.4 % longer than the one before:
 *
 *	R(L) = mean of r over [0.97 L, 1.03 L]
 *	H(L) = sum for h = 1..5 of A(m h / L) / sqrt(h), over its maximum
 *	S(L) = H(L) (R+(L) + 0.5 R+(2 L)),  R+ = max(R, 0)
 *
 * with r and A as in spectrum.h.  The candidates are the highest peaks of S, each the
 * centroid of S around it.
 */
#include "scheduler/core/profile/period.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/profile/detect_constants.h"

struct grid {
	size_t n;
	double *lag;   /* Owned. */
	double *score; /* Owned. */
};

/*
 * R of 'lag' from the prefix sums of r[n].  It is a mean since the jitter of a sum of
 * iterations grows with their number.
 */
static double
smoothed_acf(const double *prefix_sums, size_t n, double lag)
{
	size_t from = (size_t)ceil(lag * (1 - LAG_SMOOTHING));
	size_t to = (size_t)floor(lag * (1 + LAG_SMOOTHING)) + 1;

	if (to > n)
		to = n;
	if (from >= to)
		from = to - 1;
	return (prefix_sums[to] - prefix_sums[from]) / (double)(to - from);
}

static double
harmonic_sum(const struct spectrum *spectrum, double lag)
{
	double sum = 0;

	for (int h = 1; h <= N_HARMONICS; h++) {
		size_t k = (size_t)lround((double)spectrum->m * h / lag);

		if (k <= spectrum->m / 2)
			sum += spectrum->amplitude[k] / sqrt(h);
	}
	return sum;
}

static double
positive(double x)
{
	return x > 0 ? x : 0;
}

static void
fill_grid(const struct spectrum *spectrum, const double *prefix_sums, struct grid *grid)
{
	double longest = PERIOD_MAX_SHARE * (double)spectrum->n;
	double best_harmonics = 0;

	grid->n = (size_t)(log(longest / PERIOD_MIN_BUCKETS) / log(GRID_RATIO)) + 1;
	grid->lag = xcalloc(grid->n, sizeof *grid->lag);
	grid->score = xcalloc(grid->n, sizeof *grid->score);
	for (size_t i = 0; i < grid->n; i++) {
		double lag = PERIOD_MIN_BUCKETS * pow(GRID_RATIO, (double)i);
		double twice = fmin(2 * lag, LONGEST_LAG * (double)spectrum->n);
		double h = harmonic_sum(spectrum, lag);

		grid->lag[i] = lag;
		grid->score[i] =
			h * (positive(smoothed_acf(prefix_sums, spectrum->n, lag)) +
			     TWICE_WEIGHT * positive(smoothed_acf(prefix_sums,
								  spectrum->n, twice)));
		best_harmonics = fmax(best_harmonics, h);
	}
	for (size_t i = 0; best_harmonics > 0 && i < grid->n; i++)
		grid->score[i] /= best_harmonics;
}

/* The grid point with the highest score that is not 'taken'; grid->n if none. */
static size_t
best_peak(const struct grid *grid, const bool *taken)
{
	size_t best = grid->n;

	for (size_t i = 0; i < grid->n; i++)
		if (!taken[i] && grid->score[i] > 0 &&
		    (best == grid->n || grid->score[i] > grid->score[best]))
			best = i;
	return best;
}

/* Marks the peak and its slopes as taken. */
static void
take_peak(const struct grid *grid, size_t peak, bool *taken)
{
	size_t from = peak > PEAK_REACH ? peak - PEAK_REACH : 0;
	size_t to = peak + PEAK_REACH < grid->n ? peak + PEAK_REACH : grid->n - 1;

	while (from > 0 && grid->score[from - 1] < grid->score[from])
		from--;
	while (to + 1 < grid->n && grid->score[to + 1] < grid->score[to])
		to++;
	for (size_t i = from; i <= to; i++)
		taken[i] = true;
}

static double
centroid(const struct grid *grid, size_t best)
{
	size_t from = best > CENTROID_REACH ? best - CENTROID_REACH : 0;
	double sum = 0, weights = 0;

	for (size_t i = from; i < grid->n && i <= best + CENTROID_REACH; i++) {
		double weight =
			positive(grid->score[i] - CENTROID_FLOOR * grid->score[best]);

		sum += weight * grid->lag[i];
		weights += weight;
	}
	return sum / weights;
}

/*
 * How much lower the autocorrelation is on both sides of 'lag'.  For a single burst or
 * a drift it only falls, so there is no dip before any lag.
 */
static double
dip_around(const double *prefix_sums, size_t n, double lag)
{
	double before = INFINITY, after = INFINITY;
	double here = smoothed_acf(prefix_sums, n, lag);

	for (double l = lag * DIP_FROM; l < lag; l += lag * DIP_STEP)
		before = fmin(before, smoothed_acf(prefix_sums, n, fmax(l, 1)));
	for (double l = lag; l < lag * DIP_TO && l < LONGEST_LAG * (double)n;
	     l += lag * DIP_STEP)
		after = fmin(after, smoothed_acf(prefix_sums, n, l));
	return fmin(here - before, here - after);
}

size_t
period_candidates(const struct spectrum *spectrum, struct period *ret_periods)
{
	size_t n = spectrum->n, n_found = 0, peak;
	double *prefix_sums;
	struct grid grid;
	bool *taken;

	if (PERIOD_MAX_SHARE * (double)n <= PERIOD_MIN_BUCKETS)
		return 0;

	prefix_sums = xcalloc(n + 1, sizeof *prefix_sums);
	for (size_t lag = 0; lag < n; lag++)
		prefix_sums[lag + 1] = prefix_sums[lag] + spectrum->acf[lag];
	fill_grid(spectrum, prefix_sums, &grid);
	taken = xcalloc(grid.n, sizeof *taken);
	while (n_found < PERIOD_MAX_CANDIDATES &&
	       (peak = best_peak(&grid, taken)) < grid.n) {
		double lag = centroid(&grid, peak);
		double r = smoothed_acf(prefix_sums, n, lag);

		ret_periods[n_found++] = (struct period){
			.buckets = lag,
			.autocorrelation = fmin(positive(r), 1),
			.dip = dip_around(prefix_sums, n, lag),
			.score = grid.score[peak],
		};
		take_peak(&grid, peak, taken);
	}
	free(taken);
	free(grid.lag);
	free(grid.score);
	free(prefix_sums);
	return n_found;
}
