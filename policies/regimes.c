/* SPDX-License-Identifier: Apache-2.0 */
/* regimes.c - remaining time of jobs whose batch size changes, by a Dirichlet posterior. */
#include "policies/regimes.h"

#include <math.h>

struct regimes
regimes_static(double duration_s, double left_s)
{
	return (struct regimes){
		.n = 1,
		.n_epochs = 1,
		.epoch_s = { duration_s },
		.n_done = { 1 - fmin(1, fmax(0, left_s / duration_s)) },
	};
}

static double
n_done_in_all(const struct regimes *regimes)
{
	double n = 0;

	for (uint32_t i = 0; i < regimes->n; i++)
		n += regimes->n_done[i];
	return n;
}

double
regimes_done(const struct regimes *regimes)
{
	return fmin(1, n_done_in_all(regimes) / regimes->n_epochs);
}

double
regimes_done_s(const struct regimes *regimes)
{
	double sum_s = 0;

	for (uint32_t i = 0; i < regimes->n; i++)
		sum_s += regimes->n_done[i] * regimes->epoch_s[i];
	return sum_s;
}

double
regimes_epoch_s(const struct regimes *regimes)
{
	return (regimes_done_s(regimes) + regimes->epoch_s[regimes->now]) /
	       (n_done_in_all(regimes) + 1);
}

double
regimes_left_s(const struct regimes *regimes)
{
	double n_done = n_done_in_all(regimes), n_left = regimes->n_epochs - n_done;
	double prior = regimes->n_epochs / regimes->n, n = 0, sum_s = 0;

	if (!(n_left > 0))
		return 0;
	for (uint32_t i = 0; i < regimes->n; i++) {
		double n_seen = regimes->n_done[i] + (i == regimes->now);
		double part = (prior + n_seen) / (regimes->n_epochs + n_done + 1);
		double more = fmax(0, part * regimes->n_epochs - regimes->n_done[i]);

		n += more;
		sum_s += more * regimes->epoch_s[i];
	}
	/* A regime may have lasted longer than predicted: the others share what is left. */
	return n > 0 ? sum_s / n * n_left : n_left * regimes->epoch_s[regimes->now];
}
