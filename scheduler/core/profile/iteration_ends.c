/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/iteration_ends.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/detect_constants.h"

/* A stretch of quiet; empty where there is none. */
struct quiet {
	size_t from, to;
};

/* The part of x[from, to) with the largest deficit from the rate 'low', in bytes. */
static struct quiet
deepest_quiet(const float *x, size_t from, size_t to, double low)
{
	struct quiet deepest = { to, to };
	double depth = 0, most = 0;
	size_t start = from;

	for (size_t t = from; t < to; t++) {
		if (depth <= 0) {
			depth = 0;
			start = t;
		}
		depth += low - x[t];
		if (depth > most) {
			most = depth;
			deepest = (struct quiet){ start, t + 1 };
		}
	}
	return deepest;
}

/* The first bucket after 'at' by which about 'bytes' have passed. */
static size_t
pass(const float *x, size_t n, size_t at, double bytes)
{
	while (at < n && bytes > 0)
		bytes -= x[at++];
	return at;
}

/* The quiet around bucket 'at'; the series may begin inside it. */
static struct quiet
first_quiet(const float *x, size_t n, size_t at, double bytes, double low)
{
	size_t to = pass(x, n, at, MAX_BYTES_OFF * bytes), from = at;

	for (double sum = 0; from > 0 && sum < MAX_BYTES_OFF * bytes; from--)
		sum += x[from - 1];
	return deepest_quiet(x, from, to, low);
}

/* The quiet that ends an iteration of about 'bytes' that begins at 'at'. */
static struct quiet
next_quiet(const float *x, size_t n, size_t at, double bytes, double low)
{
	size_t from = pass(x, n, at, (1 - MAX_BYTES_OFF) * bytes);
	size_t to = pass(x, n, from, 2 * MAX_BYTES_OFF * bytes);

	return deepest_quiet(x, from, to, low);
}

/* The end of the traffic around bucket 'end', assuming a constant rate until then. */
static double
between_buckets(const float *x, size_t n, size_t end)
{
	double full = end >= 2 ? x[end - 2] : 0;

	if (!(full > 0) || end >= n)
		return (double)end;
	return (double)end - 1 + fmin(x[end - 1] / full, 1) + fmin(x[end] / full, 1);
}

/* The share of 'lengths' not far below their median; sorts them. */
static double
share_clear(double *lengths, size_t n)
{
	size_t n_clear = 0;

	stats_sort(lengths, n);
	for (size_t k = 0; k < n; k++)
		n_clear += lengths[k] > CLEAR_QUIET * stats_quantile(lengths, n, 0.5);
	return n > 0 ? (double)n_clear / (double)n : 0;
}

void
iteration_ends_init(const float *x, size_t n, size_t quiet, double bytes,
		    struct iteration_ends *ret_ends)
{
	double *lengths = xcalloc(n + 1, sizeof *lengths), mean = 0, low;
	struct quiet q;

	*ret_ends =
		(struct iteration_ends){ .at = xcalloc(n + 1, sizeof *ret_ends->at) };
	for (size_t t = 0; t < n; t++)
		mean += x[t] / (double)n;
	low = QUIET_RATE * mean;
	q = first_quiet(x, n, quiet, bytes, low);
	while (bytes > 0 && q.from < n) {
		/* A quiet at the start of the series may have begun before it. */
		if (q.from > 0) {
			lengths[ret_ends->n] = (double)(q.to - q.from);
			ret_ends->at[ret_ends->n++] = between_buckets(x, n, q.from);
		}
		q = next_quiet(x, n, q.to, bytes, low);
	}
	/* A quiet that the series' end cuts may be a pause within an iteration. */
	if (ret_ends->n > 1 &&
	    lengths[ret_ends->n - 1] < CLEAR_QUIET * lengths[ret_ends->n - 2])
		ret_ends->n--;
	ret_ends->clear = share_clear(lengths, ret_ends->n);
	free(lengths);
}

void
iteration_ends_fini(struct iteration_ends *ends)
{
	free(ends->at);
	*ends = (struct iteration_ends){ 0 };
}
