/*
 * period.c - over a grid of lags L that grows by 0.4 % a step:
 *
 *	R(L) = mean of r over [0.97 L, 1.03 L]
 *	H(L) = sum for h = 1..5 of A(m h / L) / sqrt(h), over its maximum
 *	S(L) = H(L) (R+(L) + 0.5 R+(2 L)),  R+ = max(R, 0)
 *
 * r and A as in spectrum.h.  The candidates are the highest peaks of S, each the
 * centroid of S round it.
 */
#include "scheduler/core/profile/period.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

#define GRID_RATIO     1.004
#define N_HARMONICS    5
#define SMOOTH_FRAC    0.03 /* Half width of the mean over lags. */
#define PEAK_NEAR      10   /* Grid points that belong to a peak at least. */
#define CENTROID_NEAR  8    /* Grid points round the winner. */
#define CENTROID_FLOOR 0.85

struct grid {
	size_t n;
	double *lag;   /* Owned. */
	double *score; /* Owned. */
};

static double
period_smoothed_acf(const double *prefix_sums, size_t n, double lag)
{
	size_t from = (size_t)ceil(lag * (1 - SMOOTH_FRAC));
	size_t to = (size_t)floor(lag * (1 + SMOOTH_FRAC)) + 1;

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
		double twice = fmin(2 * lag, 0.85 * (double)spectrum->n);
		double h = harmonic_sum(spectrum, lag);

		grid->lag[i] = lag;
		grid->score[i] =
			h *
			(positive(period_smoothed_acf(prefix_sums, spectrum->n, lag)) +
			 0.5 * positive(period_smoothed_acf(prefix_sums, spectrum->n,
							    twice)));
		best_harmonics = fmax(best_harmonics, h);
	}
	for (size_t i = 0; best_harmonics > 0 && i < grid->n; i++)
		grid->score[i] /= best_harmonics;
}

/*
 * The grid point of the highest score of those that are highest within 'NEAR'
 * points and not 'taken'; grid->n if there is none.
 */
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

/* Marks the slopes of the peak at 'peak', as far as they fall. */
static void
take_peak(const struct grid *grid, size_t peak, bool *taken)
{
	size_t from = peak > PEAK_NEAR ? peak - PEAK_NEAR : 0;
	size_t to = peak + PEAK_NEAR < grid->n ? peak + PEAK_NEAR : grid->n - 1;

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
	size_t from = best > CENTROID_NEAR ? best - CENTROID_NEAR : 0;
	double sum = 0, weights = 0;

	for (size_t i = from; i < grid->n && i <= best + CENTROID_NEAR; i++) {
		double weight =
			positive(grid->score[i] - CENTROID_FLOOR * grid->score[best]);

		sum += weight * grid->lag[i];
		weights += weight;
	}
	return sum / weights;
}

/*
 * How far the autocorrelation dips on both sides of 'lag': of a single burst or
 * a drift it only falls, so that there is no dip before any lag.
 */
static double
dip_round(const double *prefix_sums, size_t n, double lag)
{
	double before = INFINITY, after = INFINITY;
	double here = period_smoothed_acf(prefix_sums, n, lag);

	for (double l = lag * 0.1; l < lag; l += lag * 0.02)
		before = fmin(before, period_smoothed_acf(prefix_sums, n, fmax(l, 1)));
	for (double l = lag; l < lag * 1.9 && l < 0.85 * (double)n; l += lag * 0.02)
		after = fmin(after, period_smoothed_acf(prefix_sums, n, l));
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
		double r = period_smoothed_acf(prefix_sums, n, lag);

		ret_periods[n_found++] = (struct period){
			.buckets = lag,
			.confidence = fmin(positive(r), 1),
			.dip = dip_round(prefix_sums, n, lag),
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
