/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/shares.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

#define MAX_STEPS 200 /* Of a bisection: more than a double has bits. */

void
shares_spread(const double *gpus, uint32_t n, double capacity, double *x)
{
	double left = capacity, room = 0, part;

	for (uint32_t j = 0; j < n; j++) {
		left -= gpus[j] * x[j];
		room += gpus[j] * (1 - x[j]);
	}
	if (!(left > 0) || !(room > 0))
		return;
	part = fmin(1, left / room);
	for (uint32_t j = 0; j < n; j++)
		x[j] = fmin(1, x[j] + (1 - x[j]) * part);
}

void
shares_equal(uint32_t n, double capacity, double *ret_x)
{
	double share = capacity / n;

	for (uint32_t j = 0; j < n; j++)
		ret_x[j] = share / fmax(share, 1);
}

double
shares_max_min(const double *gpus, const double *weights, uint32_t n, double capacity,
	       double *ret_x)
{
	double sum = 0, level = INFINITY;

	for (uint32_t j = 0; j < n; j++) {
		double weight = weights ? weights[j] : 1;

		sum += weight;
		level = fmin(level, gpus[j] / weight);
	}
	level = fmin(level, capacity / sum);
	for (uint32_t j = 0; j < n; j++)
		ret_x[j] = fmin(1, level * (weights ? weights[j] : 1) / gpus[j]);
	return n ? level : 0;
}

double
shares_makespan(const double *gpus, const double *left_s, uint32_t n, double capacity,
		double *ret_x)
{
	double longest_s = 0, sum = 0, all_s;

	for (uint32_t j = 0; j < n; j++) {
		longest_s = fmax(longest_s, left_s[j]);
		sum += gpus[j] * left_s[j];
	}
	all_s = fmax(longest_s, sum / capacity);
	for (uint32_t j = 0; j < n; j++)
		ret_x[j] = all_s > 0 ? left_s[j] / all_s : 0;
	return all_s;
}

/* ---- Finish-time fairness -------------------------------------------------------- */

struct finish {
	const double *gpus, *elapsed_s, *left_s, *isolated_s;
	uint32_t n;
};

/* Computes the shares for a rho; returns the number of GPUs they take. */
static double
take(const struct finish *f, double rho, double *ret_x)
{
	double sum = 0;

	for (uint32_t j = 0; j < f->n; j++) {
		double time_s = rho * f->isolated_s[j] - f->elapsed_s[j];

		ret_x[j] = f->left_s[j] > 0
				   ? fmin(1, f->left_s[j] / fmax(time_s, f->left_s[j]))
				   : 0;
		sum += f->gpus[j] * ret_x[j];
	}
	return sum;
}

double
shares_finish_time(const double *gpus, const double *elapsed_s, const double *left_s,
		   const double *isolated_s, uint32_t n, double capacity, double *ret_x)
{
	const struct finish f = { gpus, elapsed_s, left_s, isolated_s, n };
	double low = 0, high;

	/* Below this rho a job would need more than all the time. */
	for (uint32_t j = 0; j < n; j++)
		low = fmax(low, (elapsed_s[j] + left_s[j]) / isolated_s[j]);
	if (take(&f, low, ret_x) <= capacity)
		return low;
	high = 2 * low;
	while (take(&f, high, ret_x) > capacity)
		high *= 2;
	for (int i = 0; i < MAX_STEPS; i++) {
		double middle = low + (high - low) / 2;

		if (!(middle > low && middle < high))
			break;
		if (take(&f, middle, ret_x) > capacity)
			low = middle;
		else
			high = middle;
	}
	take(&f, high, ret_x);
	return high;
}

/* ---- Throughput ------------------------------------------------------------------ */

struct item {
	double worth; /* Per GPU. */
	uint32_t index;
};

static int
compare(const void *a, const void *b)
{
	const struct item *p = a, *q = b;

	if (p->worth > q->worth || p->worth < q->worth)
		return p->worth > q->worth ? -1 : 1;
	return p->index < q->index ? -1 : 1;
}

void
shares_most(const double *gpus, const double *gains, uint32_t n, double capacity,
	    double *ret_x)
{
	struct item *items = xcalloc(n + 1, sizeof *items);

	for (uint32_t j = 0; j < n; j++)
		items[j] = (struct item){ gains[j] / gpus[j], j };
	qsort(items, n, sizeof *items, compare);
	for (uint32_t i = 0, end; i < n; i = end) {
		double wanted = 0, share;

		for (end = i; end < n && !(items[end].worth < items[i].worth); end++)
			wanted += gpus[items[end].index];
		share = fmin(1, capacity / wanted);
		for (uint32_t k = i; k < end; k++)
			ret_x[items[k].index] = share;
		capacity = fmax(0, capacity - share * wanted);
	}
	free(items);
}
