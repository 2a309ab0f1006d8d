/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/auction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

/* Adds a bidder: ret_best[k], the best sum of log values with up to k units. */
static void
add_bid(const struct auction_bid *bid, const double *best, uint32_t n_units,
	double *ret_best)
{
	for (uint32_t k = 0; k <= n_units; k++)
		ret_best[k] = -INFINITY;
	for (uint32_t row = 0; row < bid->n_rows; row++) {
		double worth = log(bid->rows[row].value);

		for (uint32_t k = bid->rows[row].n_units; k <= n_units; k++)
			ret_best[k] = fmax(ret_best[k],
					   best[k - bid->rows[row].n_units] + worth);
	}
}

/* Of the bidder's rows that lead from 'best' to 'with', that with the fewest units. */
static uint32_t
find_units(const struct auction_bid *bid, const double *best, double with,
	   uint32_t n_units)
{
	uint32_t least = n_units;

	for (uint32_t row = 0; row < bid->n_rows; row++) {
		uint32_t n = bid->rows[row].n_units;

		if (n < least &&
		    !(best[n_units - n] + log(bid->rows[row].value) < with))
			least = n;
	}
	return least;
}

/* The best sum over all ways to divide the units between two groups of bidders. */
static double
best_of_both(const double *some, const double *others, uint32_t n_units)
{
	double best = -INFINITY;

	for (uint32_t k = 0; k <= n_units; k++)
		best = fmax(best, some[k] + others[n_units - k]);
	return best;
}

static double
worth_of(const struct auction_bid *bid, uint32_t n_units)
{
	uint32_t row = 0;

	while (bid->rows[row].n_units != n_units)
		row++;
	return log(bid->rows[row].value);
}

void
auction_run(const struct auction_bid *bids, uint32_t n_bids, uint32_t n_units,
	    struct auction_prize *ret_prizes)
{
	size_t width = (size_t)n_units + 1;
	/* Best sums by units: first i bidders; later ones; these and one more. */
	double *first = xcalloc((n_bids + 1) * width, sizeof *first);
	double *last = xcalloc(width, sizeof *last);
	double *more = xcalloc(width, sizeof *more);
	uint32_t left = n_units;

	for (uint32_t i = 0; i < n_bids; i++)
		add_bid(&bids[i], first + i * width, n_units, first + (i + 1) * width);
	for (uint32_t i = n_bids; i-- > 0;) {
		const double *before = first + i * width;
		double all = first[n_bids * width + n_units], others, without;

		ret_prizes[i].n_units =
			find_units(&bids[i], before, before[width + left], left);
		left -= ret_prizes[i].n_units;
		others = all - worth_of(&bids[i], ret_prizes[i].n_units);
		without = best_of_both(before, last, n_units);
		ret_prizes[i].share = fmin(1, exp(others - without));
		add_bid(&bids[i], last, n_units, more);
		memcpy(last, more, width * sizeof *last);
	}
	free(first);
	free(last);
	free(more);
}
