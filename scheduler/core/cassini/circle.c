/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/cassini/circle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/step_function.h"

/* Scores closer than this are equal: sums of 72 terms round. */
#define SCORE_EPSILON 1e-12

/* Limit of exhaustive search: three jobs at most, each over a full turn. */
#define MAX_COMBINATIONS ((CIRCLE_N_ANGLES + 1) * (CIRCLE_N_ANGLES + 1))

#define MAX_ROUNDS 10

static int64_t
round_to_ms(int64_t us)
{
	int64_t ms = (us + 500) / 1000;

	return ms > 0 ? ms : 1;
}

/*
 * The common multiple is the product of one factor a job: what its iteration
 * time adds to those before it.  Left as factors, it is known modulo anything
 * however large it is.  'm' stays below 72 * PROFILE_MAX_PERIOD_US / 1000, so
 * no product here passes 64 bits.
 */
static int64_t
product_mod(const int64_t *factors, size_t n, int64_t m)
{
	int64_t product = 1 % m;

	for (size_t i = 0; i < n; i++)
		product = product * (factors[i] % m) % m;
	return product;
}

/* The product, or INT64_MAX if it is larger. */
static int64_t
product_saturated(const int64_t *factors, size_t n)
{
	int64_t product = 1;

	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(product, factors[i], &product))
			return INT64_MAX;
	return product;
}

/* Rate of a job at 'position' / 72 of its iteration; phases are half-open. */
static double
rate_at(const struct profile *profile, unsigned position)
{
	int64_t t = profile->period_us * position; /* In 1/72 us. */

	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];

		if (t >= phase->start_us * CIRCLE_N_ANGLES &&
		    t < (phase->start_us + phase->duration_us) * CIRCLE_N_ANGLES)
			return phase->rate_bps;
	}
	return 0;
}

static void
fill_ring(struct circle_ring *ring, const struct circle_job *job,
	  const int64_t *factors, size_t n_factors, int64_t period_ms)
{
	int64_t iteration = ring->iteration_ms;

	/* (p mod 72 T) / T = r mod 72, as T divides p. */
	ring->copies_mod = (unsigned)(product_mod(factors, n_factors,
						  CIRCLE_N_ANGLES * iteration) /
				      iteration);
	ring->copies = period_ms == INT64_MAX ? INT64_MAX : period_ms / iteration;
	ring->n_turns = ring->copies > CIRCLE_N_ANGLES
				? 1
				: (unsigned)(CIRCLE_N_ANGLES / ring->copies) + 1;

	/* Angle i of 72 is r i / 72 iterations into the circle. */
	for (unsigned i = 0; i < CIRCLE_N_ANGLES; i++) {
		unsigned position = i * ring->copies_mod % CIRCLE_N_ANGLES;

		ring->demand_bps[i] = rate_at(job->profile, position) * job->factor;
	}
}

void
circle_init(struct circle *circle, const struct circle_job *jobs, size_t n_jobs,
	    double capacity_bps)
{
	int64_t *factors = xcalloc(n_jobs, sizeof *factors);

	circle->n_jobs = n_jobs;
	circle->capacity_bps = capacity_bps;
	circle->rings = xcalloc(n_jobs, sizeof *circle->rings);

	for (size_t j = 0; j < n_jobs; j++) {
		int64_t iteration = round_to_ms(jobs[j].profile->period_us);

		circle->rings[j].iteration_ms = iteration;
		factors[j] = iteration /
			     period_gcd(iteration, product_mod(factors, j, iteration));
	}
	circle->period_ms = product_saturated(factors, n_jobs);

	circle->is_degenerate = true;
	for (size_t j = 0; j < n_jobs; j++) {
		fill_ring(&circle->rings[j], &jobs[j], factors, n_jobs,
			  circle->period_ms);
		if (circle->rings[j].n_turns > 1)
			circle->is_degenerate = false;
	}
	free(factors);
}

void
circle_fini(struct circle *circle)
{
	free(circle->rings);
	memset(circle, 0, sizeof *circle);
}

/* Adds ring 'ring', rotated by 'turn', to the demands in 'sum_bps'. */
static void
add_ring(const struct circle_ring *ring, unsigned turn, double *sum_bps)
{
	unsigned from = CIRCLE_N_ANGLES - turn % CIRCLE_N_ANGLES;

	for (unsigned i = 0; i < CIRCLE_N_ANGLES; i++)
		sum_bps[i] += ring->demand_bps[(i + from) % CIRCLE_N_ANGLES];
}

static double
score_of_demand(const double *demand_bps, double capacity_bps)
{
	double excess_bps = 0;

	for (unsigned i = 0; i < CIRCLE_N_ANGLES; i++)
		if (demand_bps[i] > capacity_bps)
			excess_bps += demand_bps[i] - capacity_bps;
	return 1 - excess_bps / (CIRCLE_N_ANGLES * capacity_bps);
}

double
circle_score(const struct circle *circle, const unsigned *turns)
{
	double demand_bps[CIRCLE_N_ANGLES] = { 0 };

	for (size_t j = 0; j < circle->n_jobs; j++)
		add_ring(&circle->rings[j], turns[j], demand_bps);
	return score_of_demand(demand_bps, circle->capacity_bps);
}

/* The job held still: the first one with the most copies. */
static size_t
find_reference(const struct circle *circle)
{
	size_t reference = 0;

	for (size_t j = 1; j < circle->n_jobs; j++)
		if (circle->rings[j].copies > circle->rings[reference].copies)
			reference = j;
	return reference;
}

/* True if all combinations of rotations can be tried. */
static bool
are_few(const struct circle *circle, size_t reference)
{
	size_t n = 1;

	for (size_t j = 0; j < circle->n_jobs; j++) {
		if (j == reference)
			continue;
		n *= circle->rings[j].n_turns;
		if (n > MAX_COMBINATIONS)
			return false;
	}
	return true;
}

/* Counts 'turns' up like digits, the last job fastest; false after the last. */
static bool
next_combination(const struct circle *circle, size_t reference, unsigned *turns)
{
	for (size_t j = circle->n_jobs; j-- > 0;) {
		if (j == reference)
			continue;
		if (++turns[j] < circle->rings[j].n_turns)
			return true;
		turns[j] = 0;
	}
	return false;
}

static double
solve_exhaustively(const struct circle *circle, size_t reference, unsigned *ret_turns)
{
	size_t size = circle->n_jobs * sizeof *ret_turns;
	unsigned *turns = xcalloc(circle->n_jobs, sizeof *turns);
	double best = circle_score(circle, turns);

	memcpy(ret_turns, turns, size);
	while (best < 1 && next_combination(circle, reference, turns)) {
		double score = circle_score(circle, turns);

		if (score > best + SCORE_EPSILON) {
			best = score;
			memcpy(ret_turns, turns, size);
		}
	}
	free(turns);
	return best;
}

/* Turns job 'job' to the first of its best angles; the others stay. */
static double
turn_one(const struct circle *circle, size_t job, unsigned *turns, double score)
{
	const struct circle_ring *ring = &circle->rings[job];
	double others_bps[CIRCLE_N_ANGLES] = { 0 };

	for (size_t j = 0; j < circle->n_jobs; j++)
		if (j != job)
			add_ring(&circle->rings[j], turns[j], others_bps);

	for (unsigned turn = 0; turn < ring->n_turns; turn++) {
		double demand_bps[CIRCLE_N_ANGLES];
		double turned;

		memcpy(demand_bps, others_bps, sizeof demand_bps);
		add_ring(ring, turn, demand_bps);
		turned = score_of_demand(demand_bps, circle->capacity_bps);
		if (turned > score + SCORE_EPSILON) {
			score = turned;
			turns[job] = turn;
		}
	}
	return score;
}

static double
climb(const struct circle *circle, size_t reference, unsigned *turns)
{
	double score = circle_score(circle, turns);

	for (int round = 0; round < MAX_ROUNDS && score < 1; round++) {
		double before = score;

		for (size_t j = 0; j < circle->n_jobs; j++)
			if (j != reference)
				score = turn_one(circle, j, turns, score);
		if (!(score > before))
			break;
	}
	return score;
}

double
circle_solve(const struct circle *circle, uint64_t seed, unsigned n_restarts,
	     unsigned *ret_turns)
{
	size_t reference = find_reference(circle);
	unsigned *turns;
	struct rng rng;
	double best;

	if (are_few(circle, reference))
		return solve_exhaustively(circle, reference, ret_turns);

	memset(ret_turns, 0, circle->n_jobs * sizeof *ret_turns);
	best = climb(circle, reference, ret_turns);
	turns = xcalloc(circle->n_jobs, sizeof *turns);
	rng_init(&rng, seed);
	for (unsigned i = 0; i < n_restarts && best < 1; i++) {
		double score;

		for (size_t j = 0; j < circle->n_jobs; j++)
			turns[j] = j == reference
					   ? 0
					   : (unsigned)rng_below(
						     &rng, circle->rings[j].n_turns);
		score = climb(circle, reference, turns);
		if (score > best + SCORE_EPSILON) {
			best = score;
			memcpy(ret_turns, turns, circle->n_jobs * sizeof *turns);
		}
	}
	free(turns);
	return best;
}

int64_t
circle_shift_ticks(const struct circle_ring *ring, unsigned turn)
{
	/* D/(2 pi) p mod T, where p = r T and D/(2 pi) = turn / 72. */
	return ring->iteration_ms * (turn * ring->copies_mod % CIRCLE_N_ANGLES);
}

int64_t
circle_period_ticks(int64_t period_us)
{
	return CIRCLE_TICKS_PER_MS * round_to_ms(period_us);
}

int64_t
circle_ticks_to_us(int64_t ticks, int64_t period_us)
{
	double share = (double)ticks / (double)circle_period_ticks(period_us);
	int64_t us = llround(share * (double)period_us);

	return us < period_us ? us : 0;
}
