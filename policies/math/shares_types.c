/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/shares_types.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "policies/math/shares.h"
#include "policies/math/simplex.h"

#define MOST_ROUNDS 100
#define NEAR        1e-7 /* Of rho: no further decrease. */
#define LEAST       1e-6 /* Lower bound of least / most, see fill_least(). */

static bool
can_run(const struct shares_types *in, uint32_t j)
{
	for (uint32_t t = 0; t < in->n_types; t++)
		if (in->values[(size_t)j * in->n_types + t] > 0)
			return true;
	return false;
}

/* A program on its way to simplex_solve(). */
struct program {
	struct simplex lp;
	uint32_t n_shares;
	double *rows, *limits, *gains, *second, *x;
};

static int
begin(struct program *p, const struct shares_types *in)
{
	uint64_t n_shares = (uint64_t)in->n_jobs * in->n_types;
	uint64_t n_columns = n_shares + 1;
	uint64_t n_rows = (uint64_t)in->n_jobs * 2 + in->n_types;

	if (n_columns > SIMPLEX_MOST_CELLS || n_rows > SIMPLEX_MOST_CELLS ||
	    n_rows * n_columns > SIMPLEX_MOST_CELLS)
		return -E2BIG;
	p->n_shares = (uint32_t)n_shares;
	p->rows = xcalloc(n_rows * n_columns + 1, sizeof *p->rows);
	p->limits = xcalloc(n_rows + 1, sizeof *p->limits);
	p->gains = xcalloc(n_columns + 1, sizeof *p->gains);
	p->second = xcalloc(n_columns + 1, sizeof *p->second);
	p->x = xcalloc(n_columns + 1, sizeof *p->x);
	p->lp = (struct simplex){ .n_rows = (uint32_t)n_rows,
				  .n_columns = (uint32_t)n_columns,
				  .rows = p->rows,
				  .limits = p->limits,
				  .gains = p->gains,
				  .second = p->second };
	return 0;
}

static void
end(struct program *p)
{
	free(p->rows);
	free(p->limits);
	free(p->gains);
	free(p->second);
	free(p->x);
}

/* Adds the limits: the time of each job, and the GPUs of each type. */
static void
fill_limits(struct program *p, const struct shares_types *in, const double *values)
{
	for (uint32_t i = 0; i < p->n_shares; i++) {
		uint32_t j = i / in->n_types, t = i % in->n_types;

		if (!(values[i] > 0))
			continue;
		p->rows[(size_t)j * p->lp.n_columns + i] = 1;
		p->rows[(size_t)(in->n_jobs + t) * p->lp.n_columns + i] = in->gpus[j];
		p->second[i] = values[i];
	}
	for (uint32_t j = 0; j < in->n_jobs; j++)
		p->limits[j] = 1;
	for (uint32_t t = 0; t < in->n_types; t++)
		p->limits[in->n_jobs + t] = in->capacity[t];
}

static double
most_of(const struct shares_types *in, const double *values, uint32_t j)
{
	double most = 0;

	for (uint32_t t = 0; t < in->n_types; t++)
		most = fmax(most, values[(size_t)j * in->n_types + t]);
	return most;
}

/*
 * Adds the row least / most of its values - sum values x / most of its values <= 0.
 * This keeps numbers at 1 and less, and not far below: a job with a most of a million
 * times the least needs next to nothing.
 */
static void
fill_least(struct program *p, const struct shares_types *in, const double *values)
{
	double least = INFINITY;

	for (uint32_t j = 0; j < in->n_jobs; j++)
		if (most_of(in, values, j) > 0)
			least = fmin(least, most_of(in, values, j));
	for (uint32_t j = 0; j < in->n_jobs; j++) {
		double most = most_of(in, values, j);
		double *row = p->rows +
			      (size_t)(in->n_jobs + in->n_types + j) * p->lp.n_columns;

		if (!(most > 0))
			continue;
		for (uint32_t t = 0; t < in->n_types; t++) {
			size_t i = (size_t)j * in->n_types + t;

			row[i] = -values[i] / most;
		}
		row[p->n_shares] = fmax(LEAST, least / most);
	}
	p->gains[p->n_shares] = isfinite(least);
}

/* Columns are shares, and the least of all jobs. */
static int
solve(const struct shares_types *in, const double *values, double *ret_x)
{
	struct program p = { 0 };
	int r = begin(&p, in);

	if (r < 0)
		return r;
	fill_limits(&p, in, values);
	fill_least(&p, in, values);
	r = simplex_solve(&p.lp, p.x, NULL);
	if (r == 0)
		memcpy(ret_x, p.x, p.n_shares * sizeof *p.x);
	end(&p);
	return r;
}

/* GPUs left of each type; jobs that cannot use a type have no room there. */
static void
spread(const struct shares_types *in, double *x)
{
	double *had = xcalloc((size_t)in->n_jobs + 1, sizeof *had);
	double *has = xcalloc((size_t)in->n_jobs + 1, sizeof *has);
	double *gpus = xcalloc((size_t)in->n_jobs + 1, sizeof *gpus);

	for (uint32_t t = 0; t < in->n_types; t++) {
		double left = in->capacity[t];
		uint32_t n = 0;

		for (uint32_t j = 0; j < in->n_jobs; j++) {
			const double *mine = x + (size_t)j * in->n_types;

			left -= in->gpus[j] * mine[t];
			if (!(in->values[(size_t)j * in->n_types + t] > 0))
				continue;
			had[n] = 0;
			for (uint32_t k = 0; k < in->n_types; k++)
				had[n] += mine[k];
			has[n] = had[n] = fmin(1, had[n]);
			gpus[n++] = in->gpus[j];
		}
		for (uint32_t i = 0; i < n; i++)
			left += gpus[i] * had[i];
		if (n)
			shares_spread(gpus, n, left, has);
		n = 0;
		for (uint32_t j = 0; j < in->n_jobs; j++)
			if (in->values[(size_t)j * in->n_types + t] > 0) {
				x[(size_t)j * in->n_types + t] +=
					fmax(0, has[n] - had[n]);
				n++;
			}
	}
	free(had);
	free(has);
	free(gpus);
}

int
shares_types_max_min(const struct shares_types *in, double *ret_x)
{
	int r = solve(in, in->values, ret_x);

	if (r == 0)
		spread(in, ret_x);
	return r;
}

/* ---- Finish-time fairness -------------------------------------------------------- */

struct times {
	const double *elapsed_s, *left_s, *isolated_s;
};

static double
rho_of(const struct shares_types *in, const struct times *times, const double *x)
{
	double rho = 0;

	for (uint32_t j = 0; j < in->n_jobs; j++) {
		double speed = 0;

		for (uint32_t t = 0; t < in->n_types; t++)
			speed += in->values[(size_t)j * in->n_types + t] *
				 x[(size_t)j * in->n_types + t];
		if (!can_run(in, j) || !(times->left_s[j] > 0))
			continue;
		rho = fmax(rho, (times->elapsed_s[j] + times->left_s[j] / speed) /
					times->isolated_s[j]);
	}
	return rho;
}

/* Values that each job needs to keep rho; a job that ended needs none. */
static void
set_needs(const struct shares_types *in, const struct times *times, double rho,
	  double *ret_values)
{
	for (uint32_t j = 0; j < in->n_jobs; j++) {
		double room_s = rho * times->isolated_s[j] - times->elapsed_s[j];
		double per = times->left_s[j] > 0 && room_s > 0
				     ? room_s / times->left_s[j]
				     : 0;

		for (uint32_t t = 0; t < in->n_types; t++)
			ret_values[(size_t)j * in->n_types + t] =
				in->values[(size_t)j * in->n_types + t] * per;
	}
}

int
shares_types_finish_time(const struct shares_types *in, const double *elapsed_s,
			 const double *left_s, const double *isolated_s, double *ret_x,
			 double *ret_rho)
{
	const struct times times = { elapsed_s, left_s, isolated_s };
	size_t n = (size_t)in->n_jobs * in->n_types;
	double *values = xcalloc(n + 1, sizeof *values), *x = xcalloc(n + 1, sizeof *x);
	double rho = INFINITY;
	int r = solve(in, in->values, ret_x);

	if (r == 0)
		rho = rho_of(in, &times, ret_x);
	for (int round = 0; r == 0 && isfinite(rho) && round < MOST_ROUNDS; round++) {
		double next;

		set_needs(in, &times, rho, values);
		r = solve(in, values, x);
		if (r < 0)
			break;
		next = rho_of(in, &times, x);
		if (!(next < rho))
			break;
		memcpy(ret_x, x, n * sizeof *x);
		if (!(next < rho * (1 - NEAR)))
			round = MOST_ROUNDS;
		rho = next;
	}
	if (r == 0) {
		spread(in, ret_x);
		if (ret_rho)
			*ret_rho = rho;
	}
	free(values);
	free(x);
	return r;
}
