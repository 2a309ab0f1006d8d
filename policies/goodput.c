/* SPDX-License-Identifier: Apache-2.0 */
/* goodput.c - the model of goodput and its fit. */
#include "policies/goodput.h"

#include <math.h>
#include <stdbool.h>

#include "policies/math/bounded.h"

#define LEAST     1e-8 /* Least time in seconds, so that logarithms exist. */
#define MOST      1e6
#define N_BATCHES 50
#define ROUND_UP  1e-8 /* Tolerance of whole numbers. */
#define PRIOR     1.1  /* Least slowdown of synchronization between nodes. */

/* ---- The model ------------------------------------------------------------------- */

static double
sync_s(const double *p, uint32_t n_nodes, uint32_t n_gpus)
{
	double more = n_gpus > 2 ? n_gpus - 2.0 : 0;

	if (n_nodes > 1)
		return p[GOODPUT_A_N] + p[GOODPUT_B_N] * more;
	return n_gpus > 1 ? p[GOODPUT_A_R] + p[GOODPUT_B_R] * more : 0;
}

/* (a^g + b^g)^(1/g), without leaving the range of numbers; not both are 0. */
static double
join(double a, double b, double gamma)
{
	double large = fmax(a, b), small = fmin(a, b);

	return large * pow(1 + pow(small / large, gamma), 1 / gamma);
}

/* The logarithm of join(), which is faster to compute directly. */
static double
log_join(double a, double b, double gamma)
{
	double large = fmax(a, b), small = fmin(a, b);

	if (!(small > 0))
		return log(large);
	return log(large) + log1p(pow(small / large, gamma)) / gamma;
}

double
goodput_iteration_s(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
		    struct goodput_batch batch)
{
	const double *p = goodput->params;
	double grad_s = p[GOODPUT_A_C] + p[GOODPUT_B_C] * batch.local;

	return batch.n_more * grad_s +
	       join(grad_s, sync_s(p, n_nodes, n_gpus), p[GOODPUT_GAMMA]);
}

double
goodput_efficiency(const struct goodput *goodput, double batch)
{
	double scale = batch / goodput->first_batch;
	double noise = goodput->grad_var / scale + goodput->grad_sqr;

	return (noise > 0 ? (goodput->grad_var + goodput->grad_sqr) / noise : 1) /
	       scale;
}

double
goodput_at(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
	   struct goodput_batch batch)
{
	double size = (double)n_gpus * batch.local * (batch.n_more + 1);

	return size / goodput_iteration_s(goodput, n_nodes, n_gpus, batch) *
	       goodput_efficiency(goodput, size);
}

double
goodput_best(const struct goodput *goodput, uint32_t n_nodes, uint32_t n_gpus,
	     struct goodput_batch *ret_batch)
{
	double least = fmax(goodput->first_batch, (double)goodput->min_local * n_gpus);
	double ratio = pow(goodput->max_batch / least, 1.0 / (N_BATCHES - 1));
	double size = least, best = 0;

	*ret_batch = (struct goodput_batch){ 0 };
	if (least > goodput->max_batch)
		return 0;
	for (int i = 0; i < N_BATCHES; i++, size *= ratio) {
		double local = size / n_gpus, value;
		double more = fmax(0, ceil(local / goodput->max_local - ROUND_UP) - 1);
		struct goodput_batch batch;

		/* On one GPU, two accumulation steps are needed to measure noise. */
		if (n_gpus == 1 && local > goodput->first_batch + ROUND_UP)
			more = fmax(more, 1);
		batch.n_more = (uint32_t)more;
		batch.local = (uint32_t)ceil(local / (more + 1) - ROUND_UP);
		if (batch.local < goodput->min_local ||
		    batch.local > goodput->max_local)
			continue;
		value = goodput_at(goodput, n_nodes, n_gpus, batch);
		if (value > best) {
			best = value;
			*ret_batch = batch;
		}
	}
	return best;
}

/* ---- The fit --------------------------------------------------------------------- */

struct fit {
	const struct goodput_sample *samples;
	size_t n;
	int free[GOODPUT_N_PARAMS]; /* Parameters to be fitted. */
	int n_free;
	double *params;
};

/* Times are fitted by their logarithms, since they are above 0 and of any size. */
static void
set_params(const struct fit *fit, const double *x)
{
	for (int i = 0; i < fit->n_free; i++)
		fit->params[fit->free[i]] =
			fit->free[i] == GOODPUT_GAMMA ? x[i] : exp(x[i]);
}

static double
error_of(void *ctx, const double *x)
{
	struct fit *fit = ctx;
	const double *p = fit->params;
	double grad = 0, iter = 0, n_by, r_by, gamma;

	set_params(fit, x);
	gamma = p[GOODPUT_GAMMA];
	n_by = p[GOODPUT_B_N] / p[GOODPUT_A_N];
	r_by = p[GOODPUT_B_R] / p[GOODPUT_A_R];
	for (size_t i = 0; i < fit->n; i++) {
		const struct goodput_sample *s = &fit->samples[i];
		double grad_s = p[GOODPUT_A_C] + p[GOODPUT_B_C] * s->local, by;

		by = log(grad_s / s->grad_s);
		grad += by * by;
		by = log_join(grad_s / s->iter_s,
			      sync_s(p, s->n_nodes, s->n_gpus) / s->iter_s, gamma);
		iter += by * by;
	}
	return sqrt(grad / (double)fit->n) + sqrt(iter / (double)fit->n) +
	       1e-3 * (gamma - 1) * (gamma - 1) + 1e-2 * (n_by * n_by + r_by * r_by);
}

/* Marks the parameters that the samples say nothing about. */
static void
fix(const struct goodput_sample *samples, size_t n, bool *ret_fixed)
{
	bool locals = false, nodes = false, within = false, many = false;

	for (size_t i = 0; i < n; i++) {
		locals |= samples[i].local != samples[0].local;
		nodes |= samples[i].n_nodes > 1;
		within |= samples[i].n_nodes == 1 && samples[i].n_gpus > 1;
		many |= samples[i].n_gpus > 2;
	}
	ret_fixed[GOODPUT_A_C] = !locals;
	ret_fixed[GOODPUT_A_N] = !nodes;
	ret_fixed[GOODPUT_B_N] = !nodes || !many;
	ret_fixed[GOODPUT_A_R] = !within;
	ret_fixed[GOODPUT_B_R] = !within || !many;
}

void
goodput_fit(const struct goodput_sample *samples, size_t n,
	    double ret_params[GOODPUT_N_PARAMS])
{
	static const double first[GOODPUT_N_PARAMS] = { 1e-1, 1e-2, 1e-1,    1e-2,
							1e-1, 1e-2, 1 + 1e-3 };
	bool fixed[GOODPUT_N_PARAMS] = { 0 };
	double x[GOODPUT_N_PARAMS], low[GOODPUT_N_PARAMS], high[GOODPUT_N_PARAMS];
	double mean = 0;
	struct fit fit = { .samples = samples, .n = n, .params = ret_params };

	fix(samples, n, fixed);
	for (size_t i = 0; i < n; i++)
		mean += samples[i].grad_s / (double)n;
	for (int i = 0; i < GOODPUT_N_PARAMS; i++) {
		bool is_gamma = i == GOODPUT_GAMMA;
		int at = fit.n_free;

		ret_params[i] = LEAST;
		if (fixed[i])
			continue;
		x[at] = is_gamma ? first[i] : log(first[i]);
		low[at] = is_gamma ? 1 : log(LEAST);
		high[at] = is_gamma ? 10 : log(MOST);
		fit.free[fit.n_free++] = i;
	}
	/* With one batch size only, half of the time is assumed independent of it. */
	if (fixed[GOODPUT_A_C])
		ret_params[GOODPUT_A_C] = fmax(LEAST, mean / 2);
	bounded_minimise(error_of, &fit, x, low, high, fit.n_free);
	set_params(&fit, x);
	if (fixed[GOODPUT_A_N]) {
		ret_params[GOODPUT_A_N] =
			fmax(ret_params[GOODPUT_A_N], ret_params[GOODPUT_A_R] * PRIOR);
		ret_params[GOODPUT_B_N] =
			fmax(ret_params[GOODPUT_B_N], ret_params[GOODPUT_B_R] * PRIOR);
	}
}
