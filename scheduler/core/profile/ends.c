/*
 * ends.c - from one quiet to the next, by the bytes between.
 */
#include "scheduler/core/profile/ends.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"

#define MAX_BYTES_OFF 0.2  /* Of one iteration's. */
#define QUIET_RATE    0.5  /* Of the mean rate: less is quiet, more is not. */
#define CLEAR_QUIET   0.25 /* Of the median quiet. */

/* A stretch of quiet; 'from' and 'to' are equal where there is none. */
struct quiet {
	size_t from, to;
};

/* The part of x[from, to) that falls furthest short of the rate 'low', in bytes. */
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

/* The first bucket after 'at' before which about 'bytes' have passed. */
static size_t
pass(const float *x, size_t n, size_t at, double bytes)
{
	while (at < n && bytes > 0)
		bytes -= x[at++];
	return at;
}

/* The quiet round bucket 'at', where the series may begin amid it. */
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

/* Where in the buckets round 'end' the traffic ends, if it is even until then. */
static double
between_buckets(const float *x, size_t n, size_t end)
{
	double full = end >= 2 ? x[end - 2] : 0;

	if (!(full > 0) || end >= n)
		return (double)end;
	return (double)end - 1 + fmin(x[end - 1] / full, 1) + fmin(x[end] / full, 1);
}

/* The share of 'lengths' that are not far below their median; sorts them. */
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
ends_init(const float *x, size_t n, size_t quiet, double bytes, struct ends *ret_ends)
{
	double *lengths = xcalloc(n + 1, sizeof *lengths), mean = 0, low;
	struct quiet q;

	*ret_ends = (struct ends){ .at = xcalloc(n + 1, sizeof *ret_ends->at) };
	for (size_t t = 0; t < n; t++)
		mean += x[t] / (double)n;
	low = QUIET_RATE * mean;
	q = first_quiet(x, n, quiet, bytes, low);
	while (bytes > 0 && q.from < n) {
		/* Of a quiet that the series begins with, it is not known when it did. */
		if (q.from > 0) {
			lengths[ret_ends->n] = (double)(q.to - q.from);
			ret_ends->at[ret_ends->n++] = between_buckets(x, n, q.from);
		}
		q = next_quiet(x, n, q.to, bytes, low);
	}
	/* What the end of the series cuts off may be a mere pause. */
	if (ret_ends->n > 1 &&
	    lengths[ret_ends->n - 1] < CLEAR_QUIET * lengths[ret_ends->n - 2])
		ret_ends->n--;
	ret_ends->clear = share_clear(lengths, ret_ends->n);
	free(lengths);
}

void
ends_fini(struct ends *ends)
{
	free(ends->at);
	*ends = (struct ends){ 0 };
}
