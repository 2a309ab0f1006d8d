/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/bounded.h"

#include <math.h>
#include <string.h>

#define N_BEGINS 8
#define N_STEPS  400  /* By number of dimensions. */
#define STEP     0.5  /* Of the first simplex. */
#define NEAR     1e-9 /* Relative difference of values: the simplex is flat. */

struct search {
	double (*value)(void *ctx, const double *x);
	void *ctx;
	const double *low, *high;
	int n;
	double points[BOUNDED_MAX + 1][BOUNDED_MAX], values[BOUNDED_MAX + 1];
};

static double
value_at(const struct search *s, double *x)
{
	double value;

	for (int i = 0; i < s->n; i++)
		x[i] = fmin(fmax(x[i], s->low[i]), s->high[i]);
	value = s->value(s->ctx, x);
	return isnan(value) ? INFINITY : value;
}

/* Sorts by value; there are few, and nearly in order. */
static void
sort(struct search *s)
{
	for (int i = 1; i <= s->n; i++) {
		double point[BOUNDED_MAX], value = s->values[i];
		int at = i;

		memcpy(point, s->points[i], sizeof point);
		for (; at && s->values[at - 1] > value; at--) {
			memcpy(s->points[at], s->points[at - 1], sizeof point);
			s->values[at] = s->values[at - 1];
		}
		memcpy(s->points[at], point, sizeof point);
		s->values[at] = value;
	}
}

/* Moves the worst point through the center of the others, 'by' times as far. */
static double
try_point(const struct search *s, double by, double *ret_x)
{
	for (int k = 0; k < s->n; k++) {
		double middle = 0;

		for (int i = 0; i < s->n; i++)
			middle += s->points[i][k] / s->n;
		ret_x[k] = middle + by * (middle - s->points[s->n][k]);
	}
	return value_at(s, ret_x);
}

static void
replace_worst(struct search *s, const double *x, double value)
{
	memcpy(s->points[s->n], x, s->n * sizeof *x);
	s->values[s->n] = value;
}

static void
shrink(struct search *s)
{
	for (int i = 1; i <= s->n; i++) {
		for (int k = 0; k < s->n; k++)
			s->points[i][k] = (s->points[i][k] + s->points[0][k]) / 2;
		s->values[i] = value_at(s, s->points[i]);
	}
}

static void
step(struct search *s)
{
	double x[BOUNDED_MAX] = { 0 }, y[BOUNDED_MAX] = { 0 };
	double at_x = try_point(s, 1, x), at_y;

	if (at_x < s->values[0]) {
		at_y = try_point(s, 2, y);
		if (at_y < at_x)
			replace_worst(s, y, at_y);
		else
			replace_worst(s, x, at_x);
	} else if (at_x < s->values[s->n - 1]) {
		replace_worst(s, x, at_x);
	} else {
		at_y = try_point(s, at_x < s->values[s->n] ? 0.5 : -0.5, y);
		if (at_y < fmin(at_x, s->values[s->n]))
			replace_worst(s, y, at_y);
		else
			shrink(s);
	}
	sort(s);
}

/* A simplex around 'x', on its other side where a bound is near. */
static void
begin(struct search *s, const double *x)
{
	for (int i = 0; i <= s->n; i++) {
		memcpy(s->points[i], x, s->n * sizeof *x);
		if (i) {
			double *p = &s->points[i][i - 1];

			*p += *p + STEP > s->high[i - 1] ? -STEP : STEP;
		}
		s->values[i] = value_at(s, s->points[i]);
	}
	sort(s);
}

double
bounded_minimise(double (*value)(void *ctx, const double *x), void *ctx, double *x,
		 const double *low, const double *high, int n)
{
	struct search s = {
		.value = value, .ctx = ctx, .low = low, .high = high, .n = n
	};
	double best = value_at(&s, x);

	for (int k = 0; n && k < N_BEGINS; k++) {
		double before = best;

		begin(&s, x);
		for (int i = 0; i < N_STEPS * n; i++) {
			if (s.values[n] - s.values[0] <= NEAR * fabs(s.values[0]))
				break;
			step(&s);
		}
		best = s.values[0];
		memcpy(x, s.points[0], n * sizeof *x);
		if (before - best <= NEAR * fabs(before))
			break;
	}
	return best;
}
