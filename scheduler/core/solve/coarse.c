#include "scheduler/core/solve/coarse.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"

#define SLOTS COARSE_SLOTS
/* The sum of all levels stays below; eight excesses of it fit into 16 bits. */
#define MAX_SUM    4095
#define MAX_RUINED 3
/* The first job of a round goes to one of so many of its best local minima. */
#define N_CHOICES 6

/* Loads of these may be unaligned. */
typedef int16_t lanes __attribute__((vector_size(16), aligned(2), may_alias));
typedef int32_t wide_lanes __attribute__((vector_size(32), aligned(4), may_alias));
#define N_LANES 8

struct coarse {
	size_t n_jobs;
	int16_t capacity;
	/* The level of job j in slot (i mod SLOTS), and in slot (-i mod SLOTS). */
	int16_t demand[COARSE_MAX_JOBS][2 * SLOTS];
	int16_t reversed[COARSE_MAX_JOBS][2 * SLOTS];
	int16_t total[SLOTS]; /* Of all jobs that are there. */
	uint8_t slot[COARSE_MAX_JOBS];
	int32_t cost[SLOTS]; /* Of the last line, for each position of the job. */
};

/* The integral of a step function from 0 to 't_us', at most its period. */
static __int128
integral(const struct step *step, int64_t t_us)
{
	__int128 sum = 0;
	int64_t at_us = 0, level = step->level[step->n - 1];

	for (size_t i = 0; i < step->n && step->from_us[i] < t_us; i++) {
		sum += (__int128)level * (step->from_us[i] - at_us);
		at_us = step->from_us[i];
		level = step->level[i];
	}
	return sum + (__int128)level * (t_us - at_us);
}

/* The same to any time, over as many periods as it takes. */
static double
long_integral(const struct step *step, int64_t t_us)
{
	int64_t n = t_us / step->period_us;

	return (double)n * (double)integral(step, step->period_us) +
	       (double)integral(step, t_us % step->period_us);
}

static void
add_job(struct coarse *coarse, const struct step *step, int64_t period_us, double scale)
{
	size_t j = coarse->n_jobs++;
	double before = 0;

	for (int i = 0; i < SLOTS; i++) {
		int64_t end_us = (int64_t)((__int128)period_us * (i + 1) / SLOTS);
		double to = long_integral(step, end_us);
		double mean = (to - before) * SLOTS / (double)period_us;
		int16_t level = (int16_t)(scale * mean + 0.5);
		int back = (SLOTS - i) % SLOTS;

		coarse->demand[j][i] = coarse->demand[j][i + SLOTS] = level;
		coarse->reversed[j][back] = coarse->reversed[j][back + SLOTS] = level;
		before = to;
	}
}

/* Adds a job's demand to the total, or takes it off. */
static void
put(struct coarse *coarse, size_t j, bool is_off)
{
	const int16_t *demand = coarse->demand[j] + SLOTS - coarse->slot[j];
	const int16_t sign = is_off ? -1 : 0;

	for (int t = 0; t < SLOTS; t += N_LANES) {
		lanes change = *(const lanes *)(demand + t);

		*(lanes *)(coarse->total + t) += (change ^ sign) - sign;
	}
}

/* max(0, demand + room), lane by lane. */
static lanes
over_at(const int16_t *demand, lanes room)
{
	lanes over = *(const lanes *)demand + room;

	return over & ~(over >> 15);
}

/* Fills 'cost' for job j, which is not in the total. */
static void
make_line(struct coarse *coarse, size_t j)
{
	const int16_t *reversed = coarse->reversed[j];

	memset(coarse->cost, 0, sizeof coarse->cost);
	for (int first = 0; first < SLOTS; first += N_LANES) {
		const int16_t *total = coarse->total + first;
		lanes room[N_LANES];

		for (int i = 0; i < N_LANES; i++)
			room[i] = (lanes){ 0 } + (int16_t)(total[i] - coarse->capacity);
		for (int s = 0; s < SLOTS; s += N_LANES) {
			/* Positions s to s + 7 at once; slots first to first + 7. */
			const int16_t *demand = reversed + ((s - first) & (SLOTS - 1)) +
						(s == first ? SLOTS : 0);
			lanes sum = over_at(demand, room[0]) +
				    over_at(demand - 1, room[1]) +
				    over_at(demand - 2, room[2]) +
				    over_at(demand - 3, room[3]) +
				    over_at(demand - 4, room[4]) +
				    over_at(demand - 5, room[5]) +
				    over_at(demand - 6, room[6]) +
				    over_at(demand - 7, room[7]);

			*(wide_lanes *)(coarse->cost + s) +=
				__builtin_convertvector(sum, wide_lanes);
		}
	}
}

static uint8_t
best_slot(const struct coarse *coarse)
{
	int best = 0;

	for (int s = 1; s < SLOTS; s++)
		if (coarse->cost[s] < coarse->cost[best])
			best = s;
	return (uint8_t)best;
}

/* One of the best few local minima of the last line. */
static uint8_t
some_good_slot(const struct coarse *coarse, struct rng *rng)
{
	int choice[N_CHOICES + 1], n = 0;

	for (int s = 0; s < SLOTS; s++) {
		int32_t cost = coarse->cost[s];
		int k;

		if (cost >= coarse->cost[(s - 1) & (SLOTS - 1)] ||
		    cost > coarse->cost[(s + 1) & (SLOTS - 1)])
			continue;
		for (k = n; k > 0 && coarse->cost[choice[k - 1]] > cost; k--)
			choice[k] = choice[k - 1];
		choice[k] = s;
		n += n < N_CHOICES;
	}
	if (n == 0) /* Flat. */
		return (uint8_t)rng_below(rng, SLOTS);
	return (uint8_t)choice[rng_below(rng, (uint64_t)n)];
}

/* Moves jobs one by one until none gains; returns the cost. */
static int32_t
descend(struct coarse *coarse, int32_t cost)
{
	size_t n_idle = 0;

	for (size_t j = 0; n_idle < coarse->n_jobs;
	     j = j + 1 < coarse->n_jobs ? j + 1 : 0) {
		uint8_t best;

		put(coarse, j, true);
		make_line(coarse, j);
		best = best_slot(coarse);
		n_idle++;
		if (coarse->cost[best] < coarse->cost[coarse->slot[j]]) {
			coarse->slot[j] = best;
			n_idle = 1;
		}
		cost = coarse->cost[coarse->slot[j]];
		put(coarse, j, false);
	}
	return cost;
}

/* Takes some jobs out and puts them back. */
static void
ruin_and_recreate(struct coarse *coarse, struct rng *rng)
{
	size_t n = MAX_RUINED - 1 + rng_below(rng, 2), jobs[COARSE_MAX_JOBS];

	if (n > coarse->n_jobs)
		n = coarse->n_jobs;
	for (size_t j = 0; j < coarse->n_jobs; j++)
		jobs[j] = j;
	for (size_t i = 0; i < n; i++) {
		size_t k = i + rng_below(rng, coarse->n_jobs - i), j = jobs[k];

		jobs[k] = jobs[i];
		jobs[i] = j;
		put(coarse, j, true);
	}
	for (size_t i = 0; i < n; i++) {
		make_line(coarse, jobs[i]);
		coarse->slot[jobs[i]] =
			i == 0 ? some_good_slot(coarse, rng) : best_slot(coarse);
		put(coarse, jobs[i], false);
	}
}

/* Keeps a solution among the best, once. */
static size_t
keep(const struct coarse *coarse, int32_t cost, struct coarse_solution *solutions,
     size_t n)
{
	size_t k;

	for (size_t i = 0; i < n; i++)
		if (memcmp(solutions[i].slot, coarse->slot, coarse->n_jobs) == 0)
			return n;
	if (n == COARSE_SOLUTIONS && cost >= solutions[n - 1].cost)
		return n;
	k = n < COARSE_SOLUTIONS ? n++ : n - 1;
	for (; k > 0 && solutions[k - 1].cost > cost; k--)
		solutions[k] = solutions[k - 1];
	solutions[k].cost = cost;
	memcpy(solutions[k].slot, coarse->slot, sizeof solutions[k].slot);
	return n;
}

size_t
coarse_solve(const struct step *const *steps, size_t n_jobs, int64_t period_us,
	     int64_t capacity, size_t n_rounds, struct rng *rng,
	     struct coarse_solution ret_solutions[COARSE_SOLUTIONS])
{
	struct coarse coarse = { 0 };
	uint8_t slot[COARSE_MAX_JOBS];
	size_t n_solutions = 0;
	int32_t cost = 0, now;
	int64_t sum = 0;
	double scale;

	BUG_ON(n_jobs < 1 || n_jobs > COARSE_MAX_JOBS);
	for (size_t j = 0; j < n_jobs; j++)
		sum += step_peak(steps[j]);
	/* Rounding may add a half a job. */
	scale = (double)(MAX_SUM - COARSE_MAX_JOBS) /
		(double)(sum > capacity ? sum : capacity);
	coarse.capacity = (int16_t)(scale * (double)capacity);
	for (size_t j = 0; j < n_jobs; j++) {
		add_job(&coarse, steps[j], period_us, scale);
		make_line(&coarse, j);
		coarse.slot[j] = best_slot(&coarse);
		put(&coarse, j, false);
	}
	cost = descend(&coarse, cost);
	n_solutions = keep(&coarse, cost, ret_solutions, n_solutions);
	for (size_t i = 0; i < n_rounds && cost > 0; i++) {
		memcpy(slot, coarse.slot, sizeof slot);
		ruin_and_recreate(&coarse, rng);
		now = descend(&coarse, cost);
		n_solutions = keep(&coarse, now, ret_solutions, n_solutions);
		if (now <= cost) {
			cost = now;
			continue;
		}
		for (size_t j = 0; j < n_jobs; j++) {
			if (slot[j] == coarse.slot[j])
				continue;
			put(&coarse, j, true);
			coarse.slot[j] = slot[j];
			put(&coarse, j, false);
		}
	}
	return n_solutions;
}
