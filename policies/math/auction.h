/*
 * auction.h - who gets how much where nobody pays with money: partial allocation (Cole,
 * Gkatzelis, Goel, EC 2013), as Themis has it in its auctions (NSDI 2020, 3.3).
 *
 * Bidder i says what it thinks of having k units, v_i(k) (Themis: 1 / rho_i).  Then
 *
 *	x     = argmax prod_i v_i(x_i), sum_i x_i <= n_units    the proportional-fair part
 *	x^-i  = the same without i
 *	c_i   = prod_(j!=i) v_j(x_j) / prod_(j!=i) v_j(x^-i_j)
 *
 * and bidder i is to have the share 0 < c_i <= 1 of x_i: what it takes from others, it
 * pays by the rest, which nobody of them has.  Where a share c of x_i is worth c v_i(x_i),
 * a bidder has the most by telling the truth: that is prod_j v_j(x_j) over something it
 * has no hand in.  Where it is not (gangs, of which a part is worth nothing, and time that
 * has passed already), a lie may pay.
 *
 * Units are alike.  The optimum is exact, by dynamic programming: O(n_units x rows of all
 * bids) time, n_units x bidders numbers of memory.  Of equals, the last bidders have as
 * few units as can be.  Pure.
 */
#ifndef POLICIES_MATH_AUCTION_H
#define POLICIES_MATH_AUCTION_H

#include <stdint.h>

/* So many units are worth so much. */
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
