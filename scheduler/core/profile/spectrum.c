/*
 * spectrum.c - for each piece x[0..n) of each series, with its mean removed:
 *
 *	r(L)  = (1 / (n - L)) sum_t x[t] x[t + L] / (1 / n) sum_t x[t]^2
 *	A(k)^2 = |sum_t w[t] x[t] exp(-2 pi i k t / m)|^2 / sum_t (w[t] x[t])^2
 *
 * w is Hann's window.  r comes from the inverse transform of |X|^2 (Wiener and
 * Khinchin), zero-padded to 2 n so that it does not wrap round.  As that is
 * linear, the |X|^2 of all pieces are added up before one inverse transform.
 */
#include "scheduler/core/profile/spectrum.h"

#include <math.h>
#include <stdlib.h>

#include <kissfft/kiss_fftr.h>

#include "lib/base/alloc.h"

/* Of a thousand interfaces, these many pieces tell as much as all of them. */
#define MAX_PIECES 128

/* The transform is zero-padded to this many times n: a finer grid of frequencies. */
#define AMPLITUDE_PADDING 8

/* A real transform of one length and its buffers. */
struct transform {
	size_t length;     /* A power of two. */
	kiss_fftr_cfg cfg; /* Owned. */
	float *in;         /* Owned.  [length]. */
	kiss_fft_cpx *out; /* Owned.  [length / 2 + 1]. */
	double *power;     /* Owned.  [length / 2 + 1]: sum of |out|^2. */
};

static size_t
power_of_two(size_t at_least)
{
	size_t p = 2;

	while (p < at_least)
		p *= 2;
	return p;
}

static void
transform_init(struct transform *t, size_t length)
{
	t->length = length;
	t->cfg = kiss_fftr_alloc((int)length, 0, NULL, NULL);
	BUG_ON(!t->cfg);
	t->in = xcalloc(length, sizeof *t->in);
	t->out = xcalloc(length / 2 + 1, sizeof *t->out);
	t->power = xcalloc(length / 2 + 1, sizeof *t->power);
}

static void
transform_fini(struct transform *t)
{
	kiss_fftr_free(t->cfg);
	free(t->in);
	free(t->out);
	free(t->power);
}

/* Adds the power spectrum of t->in[0..n), scaled to unit energy. */
static void
transform_add(struct transform *t, size_t n)
{
	double energy = 0;

	for (size_t i = 0; i < n; i++)
		energy += (double)t->in[i] * t->in[i];
	for (size_t i = n; i < t->length; i++)
		t->in[i] = 0;
	kiss_fftr(t->cfg, t->in, t->out);
	for (size_t k = 0; k <= t->length / 2; k++) {
		double re = t->out[k].r, im = t->out[k].i;

		t->power[k] += (re * re + im * im) / energy;
	}
}

/* r from the sum of the power spectra, scaled so that r(0) is 1. */
static void
acf_from_power(struct transform *t, struct spectrum *spectrum)
{
	kiss_fftr_cfg inverse = kiss_fftr_alloc((int)t->length, 1, NULL, NULL);
	size_t n = spectrum->n;
	double scale;

	BUG_ON(!inverse);
	for (size_t k = 0; k <= t->length / 2; k++) {
		t->out[k].r = (float)t->power[k];
		t->out[k].i = 0;
	}
	kiss_fftri(inverse, t->out, t->in);
	kiss_fftr_free(inverse);

	scale = (double)n / t->in[0];
	spectrum->acf = xcalloc(n, sizeof *spectrum->acf);
	for (size_t lag = 0; lag < n; lag++)
		spectrum->acf[lag] = (float)(t->in[lag] * scale / (double)(n - lag));
}

/* Copies piece[n] to t->in without its mean; false if it does not vary. */
static bool
load_piece(struct transform *t, const float *piece, size_t n)
{
	double sum = 0, energy = 0;

	for (size_t i = 0; i < n; i++)
		sum += piece[i];
	for (size_t i = 0; i < n; i++) {
		t->in[i] = (float)(piece[i] - sum / (double)n);
		energy += (double)t->in[i] * t->in[i];
	}
	/* What is left of a constant is rounding. */
	return energy > 1e-9 * sum * sum / (double)n;
}

bool
spectrum_init(const struct series_set *set, struct spectrum *ret_spectrum)
{
	size_t pieces_each = set->n_buckets / SPECTRUM_MAX_PIECE + 1;
	size_t n = set->n_buckets / pieces_each;
	size_t n_pieces = set->n_series * pieces_each, n_used = 0;
	size_t step = n_pieces / MAX_PIECES + 1;
	struct transform acf, amplitude;

	if (n < 2 || set->n_series == 0)
		return false;

	transform_init(&acf, power_of_two(2 * n));
	transform_init(&amplitude, power_of_two(AMPLITUDE_PADDING * n));
	for (size_t p = 0; p < n_pieces; p += step) {
		const float *piece =
			series_row(set, p / pieces_each) + p % pieces_each * n;

		if (!load_piece(&acf, piece, n))
			continue;
		for (size_t i = 0; i < n; i++)
			amplitude.in[i] = acf.in[i] *
					  (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i /
								  (double)(n - 1)));
		transform_add(&acf, n);
		transform_add(&amplitude, n);
		n_used++;
	}

	if (n_used > 0) {
		*ret_spectrum = (struct spectrum){ .n = n, .m = amplitude.length };
		acf_from_power(&acf, ret_spectrum);
		ret_spectrum->amplitude =
			xcalloc(amplitude.length / 2 + 1, sizeof(float));
		for (size_t k = 0; k <= amplitude.length / 2; k++)
			ret_spectrum->amplitude[k] =
				(float)sqrt(amplitude.power[k] / (double)n_used);
	}
	transform_fini(&acf);
	transform_fini(&amplitude);
	return n_used > 0;
}

void
spectrum_fini(struct spectrum *spectrum)
{
	free(spectrum->acf);
	free(spectrum->amplitude);
	*spectrum = (struct spectrum){ 0 };
}
