/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spectrum.c - for each piece x[0..n) of each series, with its mean removed:
 *
 *	r(L)  = (1 / (n - L)) sum_t x[t] x[t + L] / (1 / n) sum_t x[t]^2
 *	A(k)^2 = |sum_t w[t] x[t] exp(-2 pi i k t / m)|^2 / sum_t (w[t] x[t])^2
 *
 * w is Hann's window.  r comes from the inverse transform of |X|^2 (Wiener and
 * Khinchin), zero-padded to 2 n so that it does not wrap around.  The transform is
 * linear, so the |X|^2 of all pieces are added up before one inverse transform.  The
 * same holds for A, whose frequency grid is finer: back to lags in the short transform,
 * and from there, in one long transform for all pieces, to
 *
 *	A(k)^2 = q(0) + 2 sum_L q(L) cos(2 pi k L / m),  q(L) as r(L) of w x, unscaled.
 */
#include "scheduler/core/profile/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kissfft/kiss_fftr.h>

#include "lib/base/alloc.h"
#include "scheduler/core/profile/detect_constants.h"

/* More pieces than this add no information. */
#define MAX_PIECES 128

/* Zero-padding to this many times n makes the frequency grid finer. */
#define AMPLITUDE_PADDING 8

/* Of AMPLITUDE_PADDING * SPECTRUM_MAX_PIECE. */
#define MAX_LOG2 20

/* A real transform of one length and its buffers. */
struct transform {
	size_t length;         /* A power of two. */
	kiss_fftr_cfg cfg;     /* Owned.  NULL: not made yet, nor what follows. */
	kiss_fftr_cfg inverse; /* Owned.  NULL: not made yet. */
	float *in;             /* Owned.  [length]. */
	kiss_fft_cpx *out;     /* Owned.  [length / 2 + 1]. */
};

enum stage {
	TABLES,
	PIECES,
	LAGS,
	WIDE_TABLES,
	FREQUENCIES,
	OVER,
};

struct spectrum_maker {
	struct transform made_so_far[MAX_LOG2 + 1]; /* The one of length 1 << i. */
	struct transform *fine;                     /* At least 2 n long. */
	struct transform *wide;                     /* At least AMPLITUDE_PADDING n. */
	size_t n;                                   /* Length of 'x' and 'window'. */
	float *x;                                   /* Owned.  [n]: a piece. */
	float *window;                              /* Owned.  [n]: Hann's. */
	double *power;          /* Owned.  [fine.length / 2 + 1]: sum of |X|^2. */
	double *windowed_power; /* Owned.  Likewise, of w x. */

	/* The spectrum being made. */
	enum stage stage;
	const struct series_set *set; /* Borrowed. */
	size_t pieces_each, next_piece, n_used;
	struct spectrum made;
};

static kiss_fftr_cfg
make_cfg(size_t length, bool is_inverse)
{
	kiss_fftr_cfg cfg = kiss_fftr_alloc((int)length, is_inverse, NULL, NULL);

	BUG_ON(!cfg);
	return cfg;
}

/* The shortest transform of at least that length; its tables may not exist yet. */
static struct transform *
transform_of(struct spectrum_maker *maker, size_t at_least)
{
	size_t log2 = 1;

	while ((size_t)1 << log2 < at_least)
		log2++;
	BUG_ON(log2 > MAX_LOG2);
	maker->made_so_far[log2].length = (size_t)1 << log2;
	return &maker->made_so_far[log2];
}

static void
make_tables(struct transform *t)
{
	if (t->cfg)
		return;
	t->cfg = make_cfg(t->length, false);
	t->in = xcalloc(t->length, sizeof *t->in);
	t->out = xcalloc(t->length / 2 + 1, sizeof *t->out);
}

static void
transform_fini(struct transform *t)
{
	kiss_fftr_free(t->cfg);
	kiss_fftr_free(t->inverse);
	free(t->in);
	free(t->out);
}

/* Transforms t->in[0..n), padded with zeros. */
static void
transform(struct transform *t, size_t n)
{
	memset(t->in + n, 0, (t->length - n) * sizeof *t->in);
	kiss_fftr(t->cfg, t->in, t->out);
}

/* Adds the power spectrum of t->in[0..n), scaled to unit energy. */
static void
add_power(struct transform *t, size_t n, double *power)
{
	double energy = 0;

	for (size_t i = 0; i < n; i++)
		energy += (double)t->in[i] * t->in[i];
	transform(t, n);
	for (size_t k = 0; k <= t->length / 2; k++) {
		double re = t->out[k].r, im = t->out[k].i;

		power[k] += (re * re + im * im) / energy;
	}
}

/* From a sum of power spectra to lags, in fine.in. */
static void
to_lags(struct spectrum_maker *maker, const double *power)
{
	struct transform *t = maker->fine;

	for (size_t k = 0; k <= t->length / 2; k++)
		t->out[k] = (kiss_fft_cpx){ .r = (float)power[k] };
	if (!t->inverse)
		t->inverse = make_cfg(t->length, true);
	kiss_fftri(t->inverse, t->out, t->in);
}

/* r, scaled so that r(0) is 1. */
static void
make_acf(struct spectrum_maker *maker)
{
	size_t n = maker->n;
	const float *lags = maker->fine->in;
	double scale;

	to_lags(maker, maker->power);
	scale = (double)n / lags[0];
	maker->made.acf = xcalloc(n, sizeof *maker->made.acf);
	for (size_t lag = 0; lag < n; lag++)
		maker->made.acf[lag] = (float)(lags[lag] * scale / (double)(n - lag));
}

static void
make_amplitude(struct spectrum_maker *maker)
{
	struct transform *t = maker->wide;
	size_t n = maker->n, m = t->length;
	/* Neither transform is scaled by its length. */
	double scale = 1 / ((double)maker->fine->length * (double)maker->n_used);

	to_lags(maker, maker->windowed_power);
	memcpy(t->in, maker->fine->in, n * sizeof *t->in);
	transform(t, n);
	maker->made.m = m;
	maker->made.amplitude = xcalloc(m / 2 + 1, sizeof(float));
	for (size_t k = 0; k <= m / 2; k++) {
		double power = 2 * (double)t->out[k].r - t->in[0];

		maker->made.amplitude[k] = (float)sqrt(fmax(power, 0) * scale);
	}
}

/* Copies piece[n] to 'x' without its mean; false if it does not vary. */
static bool
load_piece(struct spectrum_maker *maker, const float *piece)
{
	size_t n = maker->n;
	double sum = 0, energy = 0;

	for (size_t i = 0; i < n; i++)
		sum += piece[i];
	for (size_t i = 0; i < n; i++) {
		maker->x[i] = (float)(piece[i] - sum / (double)n);
		energy += (double)maker->x[i] * maker->x[i];
	}
	return energy > ROUNDING * sum * sum / (double)n;
}

static void
add_piece(struct spectrum_maker *maker, const float *piece)
{
	size_t n = maker->n;
	float *in = maker->fine->in;

	if (!load_piece(maker, piece))
		return;
	memcpy(in, maker->x, n * sizeof *in);
	add_power(maker->fine, n, maker->power);
	for (size_t i = 0; i < n; i++)
		in[i] = maker->x[i] * maker->window[i];
	add_power(maker->fine, n, maker->windowed_power);
	maker->n_used++;
}

/* Makes room for pieces of length n, and the window. */
static void
resize(struct spectrum_maker *maker, size_t n)
{
	size_t n_power;

	maker->fine = transform_of(maker, 2 * n);
	maker->wide = transform_of(maker, AMPLITUDE_PADDING * n);
	n_power = maker->fine->length / 2 + 1;
	maker->power = xreallocarray(maker->power, n_power, sizeof *maker->power);
	maker->windowed_power = xreallocarray(maker->windowed_power, n_power,
					      sizeof *maker->windowed_power);
	memset(maker->power, 0, n_power * sizeof *maker->power);
	memset(maker->windowed_power, 0, n_power * sizeof *maker->windowed_power);
	if (n == maker->n)
		return;
	maker->n = n;
	maker->x = xreallocarray(maker->x, n, sizeof *maker->x);
	maker->window = xreallocarray(maker->window, n, sizeof *maker->window);
	for (size_t i = 0; i < n; i++)
		maker->window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i /
							   (double)(n - 1)));
}

struct spectrum_maker *
spectrum_maker_new(void)
{
	return xcalloc(1, sizeof(struct spectrum_maker));
}

void
spectrum_maker_free(struct spectrum_maker *maker)
{
	if (!maker)
		return;
	spectrum_fini(&maker->made);
	for (size_t i = 0; i <= MAX_LOG2; i++)
		transform_fini(&maker->made_so_far[i]);
	free(maker->x);
	free(maker->window);
	free(maker->power);
	free(maker->windowed_power);
	free(maker);
}

void
spectrum_begin(struct spectrum_maker *maker, const struct series_set *set)
{
	size_t pieces_each = set->n_buckets / SPECTRUM_MAX_PIECE + 1;
	size_t n = set->n_buckets / pieces_each;

	spectrum_fini(&maker->made);
	maker->set = set;
	maker->pieces_each = pieces_each;
	maker->next_piece = maker->n_used = 0;
	if (n < 2 || set->n_series == 0) {
		maker->stage = OVER;
		return;
	}
	resize(maker, n);
	maker->stage = TABLES;
}

/* Takes the next piece; false if there is none. */
static bool
take_piece(struct spectrum_maker *maker)
{
	size_t n_pieces = maker->set->n_series * maker->pieces_each;
	size_t p = maker->next_piece;

	if (p >= n_pieces)
		return false;
	maker->next_piece += n_pieces / MAX_PIECES + 1;
	add_piece(maker, series_row(maker->set, p / maker->pieces_each) +
				 p % maker->pieces_each * maker->n);
	return true;
}

bool
spectrum_step(struct spectrum_maker *maker)
{
	switch (maker->stage) {
	case TABLES:
		make_tables(maker->fine);
		maker->stage = PIECES;
		break;
	case PIECES:
		if (!take_piece(maker))
			maker->stage = maker->n_used ? LAGS : OVER;
		break;
	case LAGS:
		maker->made.n = maker->n;
		make_acf(maker);
		maker->stage = WIDE_TABLES;
		break;
	case WIDE_TABLES:
		make_tables(maker->wide);
		maker->stage = FREQUENCIES;
		break;
	case FREQUENCIES:
		make_amplitude(maker);
		maker->stage = OVER;
		break;
	case OVER:
		break;
	}
	return maker->stage != OVER;
}

bool
spectrum_end(struct spectrum_maker *maker, struct spectrum *ret_spectrum)
{
	bool is_there = maker->made.amplitude != NULL;

	BUG_ON(maker->stage != OVER);
	if (is_there)
		*ret_spectrum = maker->made;
	maker->made = (struct spectrum){ 0 };
	return is_there;
}

void
spectrum_fini(struct spectrum *spectrum)
{
	free(spectrum->acf);
	free(spectrum->amplitude);
	*spectrum = (struct spectrum){ 0 };
}
