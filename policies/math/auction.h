/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auction.h - partial allocation: an auction without money (Cole, Gkatzelis, Goel, EC
 * 2013), as in Themis (NSDI 2020, section 3.3).
 *
 * Bidder i states the value v_i(k) of k units (Themis: 1 / rho_i). Then
 *
 *	x     = argmax prod_i v_i(x_i), sum_i x_i <= n_units    proportional fairness
 *	x^-i  = the same without i
 *	c_i   = prod_(j!=i) v_j(x_j) / prod_(j!=i) v_j(x^-i_j)
 *
 * and bidder i gets the share 0 < c_i <= 1 of x_i: it pays for what it takes from
 * others with the rest, which stays unused.  Where a share c of x_i has the value c
 * v_i(x_i), telling the truth is optimal for a bidder: it gets prod_j v_j(x_j) over a
 * number that it cannot influence.  Where it has not (gangs, a part of which is
 * worthless, and past time), a lie may pay.
 *
 * Units are interchangeable.  The optimum is exact, by dynamic programming: O(n_units
 * x rows of all bids) time, n_units x bidders numbers of memory.  Among equals, the
 * last bidders get the fewest units.  Pure.
 */
#ifndef POLICIES_MATH_AUCTION_H
#define POLICIES_MATH_AUCTION_H

#include <stdint.h>

/* The value of a number of units. */
struct auction_row {
	uint32_t n_units;
	double value; /* Above 0, finite. */
};

struct auction_bid {
	const struct auction_row *rows; /* [n_rows] The first: no units. */
	uint32_t n_rows;                /* Above 0. */
};

struct auction_prize {
	uint32_t n_units; /* x_i */
	double share;     /* c_i */
};

void auction_run(const struct auction_bid *bids, uint32_t n_bids, uint32_t n_units,
		 struct auction_prize *ret_prizes);

#endif
