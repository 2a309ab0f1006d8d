/* SPDX-License-Identifier: Apache-2.0 */
/* test_auction.c - an auction of shares without money, against all allocations */
#include <math.h>

#include "lib/base/rng.h"
#include "policies/math/auction.h"
#include "tests/unit/test.h"

#define MAX_BIDS  4
#define MAX_UNITS 6
#define NOTHING   1e-9 /* Value of no units to a job that needs some. */

struct lab {
	struct auction_row rows[MAX_BIDS][MAX_UNITS + 1];
	struct auction_bid bids[MAX_BIDS];
	uint32_t n_bids, n_units;
	struct auction_prize prizes[MAX_BIDS];
};

static void
bid(struct lab *lab, uint32_t i, uint32_t n_rows)
{
	lab->bids[i] = (struct auction_bid){ .rows = lab->rows[i], .n_rows = n_rows };
}

/* Any values for any numbers of units. */
static void
draw(struct lab *lab, struct rng *rng)
{
	lab->n_bids = 1 + (uint32_t)rng_below(rng, MAX_BIDS);
	lab->n_units = (uint32_t)rng_below(rng, MAX_UNITS + 1);
	for (uint32_t i = 0; i < lab->n_bids; i++) {
		uint32_t n_rows = 1 + (uint32_t)rng_below(rng, MAX_UNITS);

		for (uint32_t row = 0; row < n_rows; row++)
			lab->rows[i][row] =
				(struct auction_row){ row * (1 + (uint32_t)i % 2),
						      0.1 + rng_uniform(rng) };
		bid(lab, i, n_rows);
	}
}

/* A gang needs all of its units or none. */
static void
draw_gangs(struct lab *lab, struct rng *rng)
{
	lab->n_bids = MAX_BIDS;
	lab->n_units = MAX_UNITS;
	for (uint32_t i = 0; i < lab->n_bids; i++) {
		double value = 0.1 + rng_uniform(rng);

		lab->rows[i][0] = (struct auction_row){ 0, value };
		lab->rows[i][1] =
			(struct auction_row){ 1 + (uint32_t)rng_below(rng, 5),
					      value * (1 + rng_uniform(rng)) };
		bid(lab, i, 2);
	}
}

/* The largest product over all bidders except 'left_out', by enumeration. */
static double
best_of_all(const struct lab *lab, uint32_t left_out, uint32_t i, uint32_t n_units)
{
	double best = 0;

	if (i == lab->n_bids)
		return 1;
	if (i == left_out)
		return best_of_all(lab, left_out, i + 1, n_units);
	for (uint32_t row = 0; row < lab->bids[i].n_rows; row++) {
		const struct auction_row *it = &lab->rows[i][row];

		if (it->n_units <= n_units)
			best = fmax(best,
				    it->value * best_of_all(lab, left_out, i + 1,
							    n_units - it->n_units));
	}
	return best;
}

static double
value_of(const struct lab *lab, uint32_t i, uint32_t n_units)
{
	for (uint32_t row = 0; row < lab->bids[i].n_rows; row++)
		if (lab->rows[i][row].n_units == n_units)
			return lab->rows[i][row].value;
	fail_msg("bidder %u has %u units, which it did not bid for", i, n_units);
	return 0;
}

static void
check(const struct lab *lab)
{
	double all = 1;
	uint32_t n_units = 0;

	for (uint32_t i = 0; i < lab->n_bids; i++) {
		n_units += lab->prizes[i].n_units;
		all *= value_of(lab, i, lab->prizes[i].n_units);
	}
	assert_in_range(n_units, 0, lab->n_units);
	assert_near(all / best_of_all(lab, MAX_BIDS, 0, lab->n_units), 1, 1e-12);
	for (uint32_t i = 0; i < lab->n_bids; i++) {
		double others = all / value_of(lab, i, lab->prizes[i].n_units);
		double share = lab->prizes[i].share;

		assert_true(share > 0 && share <= 1);
		assert_near(share, others / best_of_all(lab, i, 0, lab->n_units),
			    1e-12);
		/* A bidder without units takes nothing from the others. */
		if (!lab->prizes[i].n_units)
			assert_near(share, 1, 1e-12);
	}
}

static void
parts_and_shares_are_those_of_trying_everything(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int k = 0; k < 2000; k++) {
		struct lab lab;

		if (k % 2)
			draw(&lab, &rng);
		else
			draw_gangs(&lab, &rng);
		auction_run(lab.bids, lab.n_bids, lab.n_units, lab.prizes);
		check(&lab);
	}
}

/* By hand: one unit, worth 4 / 1 to one bidder and 3 / 1 to the other. */
static void
the_winner_pays_by_what_the_other_would_have_had(void **state)
{
	struct lab lab = { .n_bids = 2, .n_units = 1 };

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		lab.rows[i][0] = (struct auction_row){ 0, 1 };
		lab.rows[i][1] = (struct auction_row){ 1, 4 - i };
		bid(&lab, i, 2);
	}
	auction_run(lab.bids, lab.n_bids, lab.n_units, lab.prizes);
	assert_int_equal(lab.prizes[0].n_units, 1);
	assert_int_equal(lab.prizes[1].n_units, 0);
	assert_near(lab.prizes[0].share, 1.0 / 3, 1e-12);
	assert_near(lab.prizes[1].share, 1, 1e-12);
}

static void
of_equals_the_first_win(void **state)
{
	struct lab lab = { .n_bids = 3, .n_units = 2 };

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		lab.rows[i][0] = (struct auction_row){ 0, 1 };
		lab.rows[i][1] = (struct auction_row){ 1, 2 };
		bid(&lab, i, 2);
	}
	auction_run(lab.bids, lab.n_bids, lab.n_units, lab.prizes);
	assert_int_equal(lab.prizes[0].n_units, 1);
	assert_int_equal(lab.prizes[1].n_units, 1);
	assert_int_equal(lab.prizes[2].n_units, 0);
}

/* True utility of a share: 'value' per unit up to a limit. */
static double
gain(struct lab *lab, double value, uint32_t most)
{
	auction_run(lab->bids, lab->n_bids, lab->n_units, lab->prizes);
	return lab->prizes[0].share * value * fmin(most, lab->prizes[0].n_units);
}

static void
say(struct lab *lab, uint32_t i, double value, uint32_t most, double bend)
{
	lab->rows[i][0] = (struct auction_row){ 0, NOTHING };
	for (uint32_t k = 1; k <= MAX_UNITS; k++)
		lab->rows[i][k] =
			(struct auction_row){ k,
					      value * pow(k < most ? k : most, bend) };
	bid(lab, i, MAX_UNITS + 1);
}

/*
 * False reports of the value of a unit, of the useful number, and of the curve.
 * Partial shares are worth their part here, and all bidders hold some.
 */
static void
who_tells_the_truth_has_the_most_where_parts_are_worth_their_part(void **state)
{
	struct rng rng;
	int n_worse = 0;

	(void)state;
	rng_init(&rng, 2);
	for (int k = 0; k < 60; k++) {
		struct lab lab = { .n_bids = 2 + k % 2, .n_units = MAX_UNITS };
		double value = 0.1 + rng_uniform(&rng), truth;
		uint32_t most = 1 + (uint32_t)rng_below(&rng, MAX_UNITS);

		for (uint32_t i = 1; i < lab.n_bids; i++)
			say(&lab, i, 0.1 + rng_uniform(&rng),
			    1 + (uint32_t)rng_below(&rng, MAX_UNITS), 1);
		say(&lab, 0, value, most, 1);
		truth = gain(&lab, value, most);
		for (uint32_t lie = 0; lie < 3 * MAX_UNITS * 5; lie++) {
			double lied;

			say(&lab, 0, value * pow(10, lie % 3 - 1.0),
			    1 + lie / 3 % MAX_UNITS,
			    0.25 + 0.5 * (lie / 3 / MAX_UNITS));
			lied = gain(&lab, value, most);
			assert_true(lied <= truth + 1e-12);
			n_worse += lied < truth - 1e-6;
		}
	}
	assert_true(n_worse > 100);
}

/* As the header says, a gang is kept truthful only by its worth to others. */
static void
a_gang_has_more_by_a_lie(void **state)
{
	struct lab lab = { .n_bids = 2, .n_units = 1 };

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		lab.rows[i][0] = (struct auction_row){ 0, 1 };
		lab.rows[i][1] = (struct auction_row){ 1, i ? 1.5 : 1.2 };
		bid(&lab, i, 2);
	}
	auction_run(lab.bids, lab.n_bids, lab.n_units, lab.prizes);
	assert_int_equal(lab.prizes[0].n_units, 0);
	lab.rows[0][1].value = 100;
	auction_run(lab.bids, lab.n_bids, lab.n_units, lab.prizes);
	assert_int_equal(lab.prizes[0].n_units, 1);
	assert_near(lab.prizes[0].share, 1 / 1.5, 1e-12);
}

static void
without_bids_or_units_nobody_has_anything(void **state)
{
	struct lab lab = { .n_bids = 2 };

	(void)state;
	auction_run(NULL, 0, 5, NULL);
	say(&lab, 0, 1, 3, 1);
	say(&lab, 1, 1, 3, 1);
	auction_run(lab.bids, 2, 0, lab.prizes);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(lab.prizes[i].n_units, 0);
		assert_near(lab.prizes[i].share, 1, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_shares_are_those_of_trying_everything),
		cmocka_unit_test(the_winner_pays_by_what_the_other_would_have_had),
		cmocka_unit_test(of_equals_the_first_win),
		cmocka_unit_test(
			who_tells_the_truth_has_the_most_where_parts_are_worth_their_part),
		cmocka_unit_test(a_gang_has_more_by_a_lie),
		cmocka_unit_test(without_bids_or_units_nobody_has_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
