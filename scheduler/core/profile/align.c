/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.c - onsets by dynamic programming.
 *
 * For a template T[0..P) without its mean, the fit of an iteration with onset o is
 *
 *	c(o) = sum_t x[o + t] T[t] / sum_t T[t]^2,
 *
 * 1 where the series repeats the template and 0 where it is constant.  The onsets
 * o_1 < o_2 < ... maximize
 *
 *	sum_k (min(c(o_k), 1.2) - 0.25) - 0.15 sum_k ((o_k+1 - o_k - P) / (P / 4))^2
 *
 * with distances from 0.65 P to 1.6 P, all of them local maxima of c.  This is the
 * dynamic program that tracks beats in music (Ellis, "Beat Tracking by Dynamic
 * Programming", 2007), with a quadratic penalty.  Unlike a search from onset to onset,
 * it survives one odd iteration.
 */
#include "scheduler/core/profile/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/detect_constants.h"
#include "scheduler/core/profile/series.h"

/* The series in cells of 'width' buckets, and the state of refinement. */
struct work {
	size_t n;        /* Cells. */
	size_t width;    /* Buckets in a cell. */
	float *x;        /* Owned.  [n]. */
	size_t period;   /* Length of the template, cells. */
	size_t lead;     /* Cells of quiet before the template's traffic. */
	float *template; /* Owned.  [MAX_TEMPLATE * 2]. */
	float *weight;   /* Owned.  [MAX_TEMPLATE * 2]: of each cell in the fit. */
	float *fit;      /* Owned.  [n]: c(o). */
	size_t n_peaks;
	size_t *peaks;   /* Owned.  [n]: where the fit is locally highest. */
	double *best;    /* Owned.  [n]: best sum of onsets that end at a peak. */
	int32_t *before; /* Owned.  [n]: the peak before in that sum, or -1. */
	size_t n_onsets;
	size_t *onsets; /* Owned.  [n]. */
};

static void
work_init(struct work *w, const float *x, size_t n, double period, double max_cells)
{
	float *cells;

	w->width = (size_t)(period / max_cells) + 1;
	w->n = n / w->width;
	w->period = (size_t)lround(period / (double)w->width);
	cells = xcalloc(w->n, sizeof *cells);
	for (size_t i = 0; i < w->n * w->width; i++)
		cells[i / w->width] += x[i] / (float)w->width;
	w->x = xcalloc(w->n, sizeof *w->x);
	series_smooth(cells, w->n, SMOOTHING, w->x);
	free(cells);

	w->template = xcalloc(2 * MAX_TEMPLATE, sizeof *w->template);
	w->weight = xcalloc(2 * MAX_TEMPLATE, sizeof *w->weight);
	for (size_t t = 0; t < 2 * MAX_TEMPLATE; t++)
		w->weight[t] = 1;
	w->fit = xcalloc(w->n, sizeof *w->fit);
	w->peaks = xcalloc(w->n, sizeof *w->peaks);
	w->best = xcalloc(w->n, sizeof *w->best);
	w->before = xcalloc(w->n, sizeof *w->before);
	w->onsets = xcalloc(w->n, sizeof *w->onsets);
	w->n_onsets = 0;
}

static void
work_fini(struct work *w)
{
	free(w->x);
	free(w->template);
	free(w->weight);
	free(w->fit);
	free(w->peaks);
	free(w->best);
	free(w->before);
	free(w->onsets);
}

/* Four sums at once, so that the compiler can use vector registers. */
static float
dot(const float *a, const float *b, size_t n)
{
	float s[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t j = 0; j < 4; j++)
			s[j] += a[i + j] * b[i + j];
	for (; i < n; i++)
		s[0] += a[i] * b[i];
	return s[0] + s[1] + s[2] + s[3];
}

/* Fills 'fit' for all onsets; false if the template does not vary. */
static bool
correlate(struct work *w)
{
	double mean = 0, weights = 0, energy = 0, raw = 0;
	float kernel[2 * MAX_TEMPLATE];
	size_t length = w->period;

	while (length > 0 && w->weight[length - 1] == 0)
		length--;
	for (size_t t = 0; t < length; t++) {
		mean += (double)w->weight[t] * w->template[t];
		weights += w->weight[t];
	}
	mean /= weights;
	for (size_t t = 0; t < length; t++) {
		kernel[t] = (float)(w->weight[t] * (w->template[t] - mean));
		energy += (double)kernel[t] * w->template[t];
		raw += (double)w->weight[t] * w->template[t] * w -> template[t];
	}
	if (!(energy > ROUNDING * raw))
		return false;

	for (size_t o = 0; o + w->period <= w->n; o++)
		w->fit[o] = (float)(dot(w->x + o, kernel, length) / energy);
	return true;
}

/* Fills 'peaks' with the onsets at which the fit is not lower than beside them. */
static void
find_peaks(struct work *w)
{
	size_t n_fits = w->n - w->period + 1;

	w->n_peaks = 0;
	for (size_t o = 0; o < n_fits; o++)
		if ((o == 0 || w->fit[o] >= w->fit[o - 1]) &&
		    (o + 1 == n_fits || w->fit[o] >= w->fit[o + 1]))
			w->peaks[w->n_peaks++] = o;
}

/* Fills 'onsets' with the chain of peaks that ends at peak 'last'. */
static void
follow_chain(struct work *w, size_t last)
{
	size_t n = 0;

	for (int32_t i = (int32_t)last; i >= 0; i = w->before[i])
		n++;
	w->n_onsets = n;
	for (int32_t i = (int32_t)last; i >= 0; i = w->before[i])
		w->onsets[--n] = w->peaks[i];
}

/* Fills 'onsets' with the best sequence for 'fit'. */
static void
choose_onsets(struct work *w)
{
	double p = (double)w->period, cost[4 * MAX_TEMPLATE];
	size_t nearest = (size_t)ceil(MIN_DISTANCE * p);
	size_t farthest = (size_t)floor(MAX_DISTANCE * p);
	size_t first = 0, last = 0;

	for (size_t d = nearest; d <= farthest; d++)
		cost[d] =
			DISTANCE_COST * pow(((double)d - p) / (DISTANCE_SCALE * p), 2);
	find_peaks(w);
	for (size_t i = 0; i < w->n_peaks; i++) {
		size_t o = w->peaks[i];
		double chain = 0;

		w->before[i] = -1;
		while (w->peaks[first] + farthest < o)
			first++;
		for (size_t j = first; w->peaks[j] + nearest <= o; j++) {
			double through = w->best[j] - cost[o - w->peaks[j]];

			if (through > chain) {
				chain = through;
				w->before[i] = (int32_t)j;
			}
		}
		w->best[i] = fmin(w->fit[o], FIT_CAP) - FIT_FLOOR + chain;
		if (w->best[i] > w->best[last])
			last = i;
	}
	follow_chain(w, last);
}

/* Makes the template the mean of the aligned iterations. */
static void
average(struct work *w)
{
	for (size_t t = 0; t < w->period; t++) {
		double sum = 0;

		for (size_t k = 0; k < w->n_onsets; k++)
			sum += w->x[w->onsets[k] + t];
		w->template[t] = (float)(sum / (double)w->n_onsets);
	}
}

/* Share of variance that the template explains; see alignment.explained. */
static double
explained(const struct work *w)
{
	double sum = 0, squares = 0, outside = 0, outside_squares = 0, residual = 0;
	double leave_out = (double)w->n_onsets / ((double)w->n_onsets - 1);
	size_t n_outside = 0, at = 0;

	for (size_t k = 0; k <= w->n_onsets; k++) {
		size_t onset = k < w->n_onsets ? w->onsets[k] : w->n;
		size_t covered = k ? w->onsets[k - 1] + w->period : 0;

		for (; at < onset; at++) {
			double x = w->x[at];

			sum += x;
			squares += x * x;
			if (at < covered) {
				double r = x - w->template[at - w->onsets[k - 1]];

				residual += r * r * leave_out * leave_out;
			} else {
				outside += x;
				outside_squares += x * x;
				n_outside++;
			}
		}
	}
	/* Cells that no iteration covers are predicted by their own mean. */
	if (n_outside > 0)
		residual += outside_squares - outside * outside / (double)n_outside;
	return 1 - residual / (squares - sum * sum / (double)w->n);
}

/* The onsets of the best seed (first template) so far. */
struct seeds {
	size_t next;
	double most;
	size_t n_best;
	size_t *best; /* Owned. */
};

static void
seeds_init(struct seeds *seeds, const struct work *w)
{
	*seeds = (struct seeds){ .most = -INFINITY,
				 .best = xcalloc(w->n, sizeof *seeds->best) };
}

/*
 * Tries one of N_SEEDS templates spread over the series, in cells just fine enough to
 * compare them.  Returns false if all were tried.
 */
static bool
try_seed(struct work *w, struct seeds *seeds)
{
	size_t from;
	double share;

	if (seeds->next == N_SEEDS)
		return false;
	from = (size_t)((double)(w->n - w->period) * ((double)seeds->next++ + 0.5) /
			N_SEEDS);
	memcpy(w->template, w->x + from, w->period * sizeof *w->template);
	if (!correlate(w))
		return true;
	choose_onsets(w);
	if (w->n_onsets < 3)
		return true;
	average(w);
	share = explained(w);
	if (share > seeds->most) {
		seeds->most = share;
		seeds->n_best = w->n_onsets;
		memcpy(seeds->best, w->onsets, w->n_onsets * sizeof *seeds->best);
	}
	return true;
}

/* Takes the best seed's onsets; false if no seed repeats. */
static bool
take_best(struct work *w, const struct seeds *seeds)
{
	memcpy(w->onsets, seeds->best, seeds->n_best * sizeof *seeds->best);
	w->n_onsets = seeds->n_best;
	return seeds->n_best > 0;
}

/* Makes the first template of 'fine' at the onsets of 'coarse'. */
static void
take_over(struct work *fine, const struct work *coarse)
{
	for (size_t k = 0; k < coarse->n_onsets; k++) {
		size_t onset = coarse->onsets[k] * coarse->width / fine->width;

		if (onset + fine->period <= fine->n)
			fine->onsets[fine->n_onsets++] = onset;
	}
	average(fine);
}

/*
 * Rotates the template so that it begins in its longest quiet, where iterations of
 * different length differ least.
 */
static void
rotate_to_quiet(struct work *w)
{
	size_t p = w->period, run = 0, longest = 0, end = 0, start;
	float low = w->template[0], high = low, rotated[2 * MAX_TEMPLATE];

	for (size_t t = 0; t < p; t++) {
		low = fminf(low, w->template[t]);
		high = fmaxf(high, w->template[t]);
	}
	for (size_t t = 0; t < 2 * p; t++) {
		run = w->template[t % p] <= low + (float)QUIET_LEVEL * (high - low)
			      ? run + 1
			      : 0;
		if (run > longest && run <= p) {
			longest = run;
			end = t;
		}
	}
	w->lead = (size_t)(QUIET_LEAD * (double)longest);
	start = (end + 1 + 2 * p - w->lead) % p;
	for (size_t t = 0; t < p; t++)
		rotated[t] = w->template[(start + t) % p];
	memcpy(w->template, rotated, p * sizeof *rotated);
}

/*
 * Gives most weight to the template's edge, where its traffic begins: the edge marks
 * the onset, while later parts move by the jitter of the parts before them.
 */
static void
weigh_edge(struct work *w)
{
	double reach = EDGE_REACH * (double)w->period;

	for (size_t t = 0; t < 2 * MAX_TEMPLATE; t++)
		w->weight[t] =
			t < w->lead ? 1
				    : (float)fmax(0, 1 - (double)(t - w->lead) / reach);
}

/* Makes the middle of the distances the template's new length. */
static void
adapt_period(struct work *w)
{
	double *distances = xcalloc(w->n_onsets, sizeof *distances);
	size_t p;

	for (size_t k = 1; k < w->n_onsets; k++)
		distances[k - 1] = (double)(w->onsets[k] - w->onsets[k - 1]);
	p = (size_t)lround(stats_hodges_lehmann(distances, w->n_onsets - 1));
	free(distances);
	if (p >= 4 && p < 2 * MAX_TEMPLATE)
		w->period = p;
	/* Drops iterations that the series' end now cuts. */
	while (w->n_onsets > 0 && w->onsets[w->n_onsets - 1] + w->period > w->n)
		w->n_onsets--;
}

/* Offset from cell 'o' of the highest fit: the top of a parabola through three. */
static double
between_cells(const struct work *w, size_t o)
{
	double left, here, right, curvature;

	if (o == 0 || o + 1 + w->period > w->n)
		return 0;
	left = w->fit[o - 1];
	here = w->fit[o];
	right = w->fit[o + 1];
	curvature = left - 2 * here + right;
	if (curvature >= 0 || here < left || here < right)
		return 0;
	return 0.5 * (left - right) / curvature;
}

/*
 * Drops onsets at either end that fit far worse than the others: there the series cuts
 * an iteration, and a remainder fits anywhere.
 */
static void
trim_ends(struct work *w)
{
	double *fits = xcalloc(w->n_onsets, sizeof *fits), least;
	size_t from = 0;

	for (size_t k = 0; k < w->n_onsets; k++)
		fits[k] = w->fit[w->onsets[k]];
	stats_sort(fits, w->n_onsets);
	least = END_FIT * stats_quantile(fits, w->n_onsets, 0.5);
	free(fits);
	while (w->n_onsets > 0 && w->fit[w->onsets[w->n_onsets - 1]] < least)
		w->n_onsets--;
	while (from < w->n_onsets && w->fit[w->onsets[from]] < least)
		from++;
	w->n_onsets -= from;
	memmove(w->onsets, w->onsets + from, w->n_onsets * sizeof *w->onsets);
}

/* One round of aligning and averaging; false if the traffic does not repeat. */
static bool
refine(struct work *w, int round)
{
	if (round == 0)
		rotate_to_quiet(w);
	else
		weigh_edge(w);
	if (!correlate(w))
		return false;
	choose_onsets(w);
	trim_ends(w);
	if (w->n_onsets < 3)
		return false;
	if (round + 1 < N_ROUNDS)
		adapt_period(w);
	if (w->n_onsets < 3)
		return false;
	average(w);
	return true;
}

/* ---- In steps -------------------------------------------------------------------- */

struct aligner {
	struct work coarse, fine;
	struct seeds seeds;
	int round;
	bool is_over, is_found;
};

static bool
is_too_short(size_t n, double period)
{
	return period < 4 || (double)n < 3 * period;
}

struct aligner *
aligner_new(const float *x, size_t n, double period)
{
	struct aligner *aligner = xcalloc(1, sizeof *aligner);

	if (is_too_short(n, period)) {
		aligner->is_over = true;
		return aligner;
	}
	work_init(&aligner->coarse, x, n, period, MAX_SEED);
	work_init(&aligner->fine, x, n, period, MAX_TEMPLATE);
	seeds_init(&aligner->seeds, &aligner->coarse);
	return aligner;
}

void
aligner_free(struct aligner *aligner)
{
	if (!aligner)
		return;
	work_fini(&aligner->coarse);
	work_fini(&aligner->fine);
	free(aligner->seeds.best);
	free(aligner);
}

bool
aligner_step(struct aligner *aligner)
{
	struct work *coarse = &aligner->coarse, *fine = &aligner->fine;

	if (aligner->is_over)
		return false;
	if (try_seed(coarse, &aligner->seeds))
		return true;
	if (aligner->round == 0) {
		aligner->is_over = !take_best(coarse, &aligner->seeds);
		if (!aligner->is_over)
			take_over(fine, coarse);
		aligner->is_over |= fine->n_onsets < 3;
	}
	if (!aligner->is_over)
		aligner->is_over = !refine(fine, aligner->round++);
	if (!aligner->is_over && aligner->round == N_ROUNDS)
		aligner->is_over = aligner->is_found = true;
	return !aligner->is_over;
}

void
aligner_end(struct aligner *aligner, struct alignment *ret_alignment)
{
	const struct work *fine = &aligner->fine;

	*ret_alignment = (struct alignment){ 0 };
	if (aligner->is_found) {
		ret_alignment->explained = explained(fine);
		ret_alignment->n_onsets = fine->n_onsets;
		ret_alignment->onsets = xcalloc(fine->n_onsets, sizeof(double));
	}
	for (size_t k = 0; k < ret_alignment->n_onsets; k++)
		ret_alignment->onsets[k] = ((double)fine->onsets[k] +
					    between_cells(fine, fine->onsets[k])) *
					   (double)fine->width;
	aligner_free(aligner);
}

double
align_explained(const float *x, size_t n, double period)
{
	struct work coarse;
	struct seeds seeds;
	double share;

	if (is_too_short(n, period))
		return 0;

	work_init(&coarse, x, n, period, MAX_SEED);
	seeds_init(&seeds, &coarse);
	while (try_seed(&coarse, &seeds))
		continue;
	share = seeds.n_best > 0 ? seeds.most : 0;
	free(seeds.best);
	work_fini(&coarse);
	return share;
}

void
alignment_fini(struct alignment *alignment)
{
	free(alignment->onsets);
	*alignment = (struct alignment){ 0 };
}
