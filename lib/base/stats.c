/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/stats.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"

#define MAX_PIVOTS 64 /* Tried before sorting. */

/* stats_hodges_lehmann(): more samples than this use pairs within a reach. */
#define ALL_PAIRS  512
#define PAIR_REACH 256

/* Quantile 0.975 of Student's t for 1 to 30 degrees of freedom. */
static const double t_table[] = {
	12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004,
	2.262157,  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
	2.109816,  2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
	2.059539,  2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
};

double
stats_mean(const double *x, size_t n)
{
	double sum = 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

double
stats_sd(const double *x, size_t n)
{
	double mean = stats_mean(x, n);
	double sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum / (double)(n - 1));
}

void
stats_sort(double *x, size_t n)
{
	sort_items(x, n, sort_by_double);
}

double
stats_quantile(const double *sorted, size_t n, double p)
{
	double rank, below;
	size_t i;

	if (!n)
		return 0;
	if (!(p > 0))
		return sorted[0];
	rank = p * (double)(n - 1);
	below = floor(rank);
	i = (size_t)below;
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (rank - below) * (sorted[i + 1] - sorted[i]);
}

static double
middle_of(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/*
 * Hoare's selection: x[k] gets the value that it has in sorted order, with no larger
 * value before it and no smaller one after it.  After MAX_PIVOTS bad pivots it sorts
 * the rest.
 */
static void
select_kth(double *x, size_t n, size_t k)
{
	size_t from = 0, to = n;

	for (int i = 0; to - from > 1; i++) {
		double pivot = middle_of(x[from], x[from + (to - from) / 2], x[to - 1]);
		size_t left = from, right = to - 1;

		if (i == MAX_PIVOTS) {
			stats_sort(x + from, to - from);
			return;
		}
		for (;;) {
			double swapped;

			while (x[left] < pivot)
				left++;
			while (x[right] > pivot)
				right--;
			if (left >= right)
				break;
			swapped = x[left];
			x[left++] = x[right];
			x[right--] = swapped;
		}
		/* [from, left) is at most the pivot, [left, to) at least. */
		if (k < left)
			to = left;
		else
			from = left;
	}
}

double
stats_median(double *x, size_t n)
{
	size_t k;
	double pair[2];

	if (!n)
		return 0;
	k = (n - 1) / 2;
	select_kth(x, n, k);
	if (n % 2)
		return x[k];
	pair[0] = x[k];
	pair[1] = x[k + 1];
	for (size_t i = k + 2; i < n; i++)
		pair[1] = fmin(pair[1], x[i]);
	return stats_quantile(pair, 2, 0.5);
}

double
stats_harrell_davis(const double *sorted, size_t n, size_t n_free, double *ret_se)
{
	/* Standard deviation of the beta distribution, both shapes (n_free + 1) / 2. */
	double sd = 0.5 / sqrt((double)n_free + 2), sum = 0, weights = 0;
	double median = sorted[n / 2], squares = 0;

	for (size_t k = 0; k < n; k++) {
		double off = (((double)k + 0.5) / (double)n - 0.5) / sd;
		double weight = exp(-0.5 * off * off);

		sum += weight * (sorted[k] - median);
		squares += weight * pow(sorted[k] - median, 2);
		weights += weight;
	}
	sum /= weights;
	*ret_se = sqrt(fmax(squares / weights - sum * sum, 0));
	return median + sum;
}

double
stats_hodges_lehmann(const double *x, size_t n)
{
	size_t reach = n <= ALL_PAIRS ? n : PAIR_REACH, n_pairs = 0;
	double *means = xcalloc(n * reach, sizeof *means), middle;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n && j - i < reach; j++)
			means[n_pairs++] = (x[i] + x[j]) / 2;
	middle = stats_median(means, n_pairs);
	free(means);
	return middle;
}

/*
 * Beyond the table: the Cornish-Fisher expansion around the normal quantile z
 * (Abramowitz and Stegun 26.7.5), within 2e-6 there.
 */
static double
t_quantile(size_t df)
{
	const double z = 1.959963984540054;
	double v = (double)df;

	if (df <= sizeof t_table / sizeof *t_table)
		return t_table[df - 1];
	return z + (pow(z, 3) + z) / (4 * v) +
	       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v) +
	       (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) /
		       (384 * v * v * v);
}

double
stats_ci95(const double *x, size_t n)
{
	if (n < 2)
		return 0;
	return t_quantile(n - 1) * stats_sd(x, n) / sqrt((double)n);
}
