/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c - the split that minimizes, over pieces P and with x_P the mean of x in P,
 *
 *	sum over P of sum over t in P of (x[t] - x_P)^2 + penalty * (pieces - 1)
 *
 * by dynamic programming: E(k, e), the least error of k pieces that end at e, is
 * the minimum over s < e of E(k - 1, s) + error(s, e), where error(s, e) comes
 * from prefix sums of x and x^2.
 */
#include "scheduler/core/profile/phases.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/profile/detect_constants.h"

struct piece {
	int64_t start_us, end_us;
	double rate_bps;
};

struct sums {
	double *x, *square; /* Owned.  [n + 1], prefix sums. */
};

static double
error_of(const struct sums *sums, size_t start, size_t end)
{
	double x = sums->x[end] - sums->x[start];
	double square = sums->square[end] - sums->square[start];

	return fmax(square - x * x / (double)(end - start), 0);
}

size_t
phases_split(const double *x, size_t n, size_t max_pieces, double penalty,
	     size_t *ret_ends)
{
	struct sums sums = { xcalloc(n + 1, sizeof(double)),
			     xcalloc(n + 1, sizeof(double)) };
	double *least = xcalloc(max_pieces * (n + 1), sizeof *least);
	size_t *from = xcalloc(max_pieces * (n + 1), sizeof *from), n_pieces = 1;

	for (size_t t = 0; t < n; t++) {
		sums.x[t + 1] = sums.x[t] + x[t];
		sums.square[t + 1] = sums.square[t] + x[t] * x[t];
	}
	for (size_t end = 1; end <= n; end++)
		least[end] = error_of(&sums, 0, end);
	for (size_t k = 1; k < max_pieces && k < n; k++) {
		double *here = least + k * (n + 1), *before = here - (n + 1);

		for (size_t end = k + 1; end <= n; end++) {
			here[end] = INFINITY;
			for (size_t start = k; start < end; start++) {
				double e = before[start] + error_of(&sums, start, end);

				if (e < here[end]) {
					here[end] = e;
					from[k * (n + 1) + end] = start;
				}
			}
		}
		if (here[n] + penalty * (double)k <
		    least[(n_pieces - 1) * (n + 1) + n] +
			    penalty * (double)(n_pieces - 1))
			n_pieces = k + 1;
	}

	for (size_t k = n_pieces, end = n; k > 0; k--) {
		ret_ends[k - 1] = end;
		end = from[(k - 1) * (n + 1) + end];
	}
	free(sums.x);
	free(sums.square);
	free(least);
	free(from);
	return n_pieces;
}

/* Splits the fold, in cells wide enough that there are at most MAX_CELLS. */
static size_t
split_fold(const double *fold_bps, size_t n, int64_t step_us, struct piece *ret_pieces)
{
	size_t width = n / MAX_CELLS + 1, n_cells = n / width, n_pieces;
	size_t ends[PHASES_MAX_PIECES];
	double *cells, mean = 0, variance = 0;

	/* The last cell takes the remainder. */
	cells = xcalloc(n_cells, sizeof *cells);
	for (size_t c = 0; c < n_cells; c++) {
		size_t end = c + 1 < n_cells ? (c + 1) * width : n;

		for (size_t t = c * width; t < end; t++)
			cells[c] += fold_bps[t] / (double)(end - c * width);
		mean += cells[c] / (double)n_cells;
	}
	for (size_t c = 0; c < n_cells; c++)
		variance += (cells[c] - mean) * (cells[c] - mean);
	n_pieces = phases_split(cells, n_cells, PHASES_MAX_PIECES,
				PIECE_PENALTY * variance, ends);
	free(cells);

	for (size_t k = 0; k < n_pieces; k++) {
		size_t start = k ? ends[k - 1] * width : 0;
		size_t end = k + 1 < n_pieces ? ends[k] * width : n;
		double sum = 0;

		for (size_t t = start; t < end; t++)
			sum += fold_bps[t];
		ret_pieces[k] = (struct piece){ (int64_t)start * step_us,
						(int64_t)end * step_us,
						sum / (double)(end - start) };
	}
	return n_pieces;
}

/* Drops idle pieces; returns the number of the others. */
static size_t
drop_idle(struct piece *pieces, size_t n)
{
	double peak_bps = 0;
	size_t kept = 0;

	for (size_t k = 0; k < n; k++)
		peak_bps = fmax(peak_bps, pieces[k].rate_bps);
	for (size_t k = 0; k < n; k++)
		if (pieces[k].rate_bps > IDLE_RATE * peak_bps)
			pieces[kept++] = pieces[k];
	return kept;
}

/* Idle time before piece 'k', across the end of the period. */
static int64_t
idle_before(const struct piece *pieces, size_t n, size_t k, int64_t period_us)
{
	if (k > 0)
		return pieces[k].start_us - pieces[k - 1].end_us;
	return pieces[0].start_us + period_us - pieces[n - 1].end_us;
}

/*
 * A sender's buckets hold bursts faster than the wire: stretches a piece above the line
 * rate into the idle time behind it.
 */
static void
stretch(struct piece *pieces, size_t n, size_t k, int64_t period_us, double line_bps)
{
	struct piece *piece = &pieces[k];
	double duration_us = (double)(piece->end_us - piece->start_us);
	double want_us = duration_us * piece->rate_bps / line_bps;
	int64_t room_us =
		(k + 1 < n ? pieces[k + 1].start_us : period_us) - piece->end_us;

	if (piece->rate_bps <= line_bps || duration_us < LINE_BUCKETS * 1e3)
		return;
	if (want_us - duration_us < (double)room_us)
		piece->end_us = piece->start_us + (int64_t)ceil(want_us);
	else
		piece->end_us += room_us;
	piece->rate_bps = line_bps;
}

size_t
phases_fill(const double *fold_bps, size_t n, int64_t step_us, double line_bps,
	    struct profile *profile)
{
	struct piece pieces[PHASES_MAX_PIECES], rotated[PHASES_MAX_PIECES];
	int64_t period_us = profile->period_us, origin_us;
	size_t n_pieces = drop_idle(pieces, split_fold(fold_bps, n, step_us, pieces));
	size_t first = 0;
	double bytes = 0, scale;

	free(profile->phases);
	profile->phases = NULL;
	profile->n_phases = 0;
	if (n_pieces == 0)
		return 0;

	/* The fold is a whole number of steps; the period need not be one. */
	pieces[n_pieces - 1].end_us = pieces[n_pieces - 1].end_us < period_us
					      ? pieces[n_pieces - 1].end_us
					      : period_us;
	for (size_t k = 1; k < n_pieces; k++)
		if (idle_before(pieces, n_pieces, k, period_us) >
		    idle_before(pieces, n_pieces, first, period_us))
			first = k;
	origin_us = pieces[first].start_us;
	for (size_t k = 0; k < n_pieces; k++) {
		size_t from = (first + k) % n_pieces;
		int64_t lap_us = from < first ? period_us : 0;

		rotated[k] = pieces[from];
		rotated[k].start_us += lap_us - origin_us;
		rotated[k].end_us += lap_us - origin_us;
	}
	for (size_t k = 0; k < n_pieces; k++) {
		stretch(rotated, n_pieces, k, period_us, line_bps);
		bytes += rotated[k].rate_bps *
			 (double)(rotated[k].end_us - rotated[k].start_us) / 8e6;
	}

	scale = bytes > 0 ? profile->bytes_per_iteration / bytes : 1;
	profile->phases = xcalloc(n_pieces, sizeof *profile->phases);
	profile->n_phases = n_pieces;
	for (size_t k = 0; k < n_pieces; k++)
		profile->phases[k] = (struct profile_phase){
			.start_us = rotated[k].start_us,
			.duration_us = rotated[k].end_us - rotated[k].start_us,
			.rate_bps =
				fmax(round(rotated[k].rate_bps * scale / 1e3), 1) * 1e3,
		};
	return (size_t)(origin_us / step_us);
}
