/* SPDX-License-Identifier: Apache-2.0 */
/* market.c - the rounds of a window: greedy for a bound of the makespan, then exchanges. */
#include "policies/math/market.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define N_PIECES   5   /* Of the piecewise linear logarithm. */
#define SCANNED    64  /* Bounds that are tried one by one. */
#define MAX_PASSES 8   /* Of exchanges. */
#define MEND_ALL   1e5 /* Jobs x steps up to which exchanges are tried for each bound. */
#define TINY       1e-9 /* Of rounds and GPUs: rounding errors. */

/* A further round of a job: the one after 'at' rounds. */
struct step {
	double gain, density; /* Of utility; for each GPU. */
	uint32_t job, at;
};

struct search {
	const struct market *market;
	struct step *steps; /* Largest density first. */
	size_t n_steps;
	uint32_t *least;              /* By job: rounds for the bound on hand. */
	uint32_t *best, *other, *now; /* Rounds by job. */
	double best_bound_s;          /* NAN: there is no best yet. */
};

/* ---- The objective --------------------------------------------------------------- */

static double
utility_of(double log_floor, double progress)
{
	double p = fmin(fmax(progress, 0), 1) * N_PIECES;
	int i = p < N_PIECES ? (int)p : N_PIECES - 1;
	double low = i ? log((double)i / N_PIECES) : log_floor;
	double high = log((double)(i + 1) / N_PIECES);

	return low + (p - i) * (high - low);
}

static double
utility(const struct market *m, const struct market_job *job, uint32_t n)
{
	return job->weight * utility_of(m->log_floor, job->progress + n * job->rate) /
	       ((double)m->n_jobs * m->n_rounds);
}

double
market_left_s(const struct market *m, const struct market_job *job, uint32_t n)
{
	double room_s = (1 - job->progress) / job->rate * m->round_s;

	return fmax(0, job->left_s - fmin(n * m->round_s, room_s));
}

static double
longest_s(const struct market *m, const uint32_t *x)
{
	double longest = 0;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		longest = fmax(longest, market_left_s(m, &m->jobs[j], x[j]));
	return longest;
}

double
market_value(const struct market *m, const uint32_t *x)
{
	double sum = 0;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		sum += utility(m, &m->jobs[j], x[j]);
	return sum - m->cost_per_s * longest_s(m, x);
}

/*
 * How much better x is than y.  Job by job: one job's weight may be 1e30, and would
 * swallow the others' differences in a sum of values.
 */
static double
advantage(const struct market *m, const uint32_t *x, const uint32_t *y)
{
	double sum = 0;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		if (x[j] != y[j])
			sum += utility(m, &m->jobs[j], x[j]) -
			       utility(m, &m->jobs[j], y[j]);
	return sum - m->cost_per_s * (longest_s(m, x) - longest_s(m, y));
}

/* ---- Greedy ---------------------------------------------------------------------- */

static int
densest_first(const void *a, const void *b)
{
	const struct step *p = a, *q = b;

	if (p->density > q->density || p->density < q->density)
		return p->density > q->density ? -1 : 1;
	if (p->job != q->job)
		return p->job < q->job ? -1 : 1;
	return p->at < q->at ? -1 : 1;
}

static void
list_steps(struct search *s)
{
	const struct market *m = s->market;

	for (uint32_t j = 0; j < m->n_jobs; j++) {
		const struct market_job *job = &m->jobs[j];
		double was = utility(m, job, 0), density = INFINITY;

		for (uint32_t n = 0; n < m->n_rounds; n++) {
			double is = utility(m, job, n + 1), gain = is - was;

			/* Concave, but for rounding. */
			density = fmin(density, gain / job->n_gpus);
			if (gain > 0)
				s->steps[s->n_steps++] =
					(struct step){ gain, density, j, n };
			was = is;
		}
	}
	qsort(s->steps, s->n_steps, sizeof *s->steps, densest_first);
}

static double
room_of(const struct market *m, const uint32_t *x)
{
	double room = m->capacity * m->n_rounds;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		room -= m->jobs[j].n_gpus * x[j];
	return room;
}

/* Adds rounds while there is room. */
static void
fill(const struct search *s, uint32_t *x)
{
	const struct market *m = s->market;
	double room = room_of(m, x);

	for (size_t i = 0; i < s->n_steps && room > 0; i++) {
		const struct step *step = &s->steps[i];
		double n_gpus = m->jobs[step->job].n_gpus;

		if (x[step->job] == step->at && n_gpus <= room + TINY) {
			x[step->job]++;
			room -= n_gpus;
		}
	}
}

/* Rounds after which no more than bound_s remains; n_rounds + 1: it cannot be. */
static uint32_t
rounds_for(const struct market *m, const struct market_job *job, double bound_s)
{
	double n = ceil((job->left_s - bound_s) / m->round_s - TINY);
	uint32_t x = job->n_least;

	if (n > x)
		x = n > m->n_rounds ? m->n_rounds + 1 : (uint32_t)n;
	/* A job whose work ends in the window may have time left: its estimate is off. */
	if (x <= m->n_rounds &&
	    market_left_s(m, job, x) > bound_s + TINY * (1 + bound_s))
		x = m->n_rounds + 1;
	return x;
}

/* The best rounds for a bound, in s->now; false if there are none. */
static bool
solve_for(struct search *s, double bound_s)
{
	const struct market *m = s->market;

	for (uint32_t j = 0; j < m->n_jobs; j++) {
		s->now[j] = rounds_for(m, &m->jobs[j], bound_s);
		if (s->now[j] > m->n_rounds)
			return false;
	}
	if (room_of(m, s->now) < -TINY)
		return false;
	fill(s, s->now);
	return true;
}

/* ---- Exchanges ------------------------------------------------------------------- */

/* Takes the least useful rounds of other jobs until 'job' has room for one more. */
static bool
make_room(struct search *s, uint32_t job, double room)
{
	const struct market *m = s->market;

	for (size_t i = s->n_steps; i && room < m->jobs[job].n_gpus - TINY; i--) {
		const struct step *step = &s->steps[i - 1];

		if (step->job == job || s->now[step->job] != step->at + 1 ||
		    s->now[step->job] <= s->least[step->job])
			continue;
		s->now[step->job]--;
		room += m->jobs[step->job].n_gpus;
	}
	return room >= m->jobs[job].n_gpus - TINY;
}

/* Fills s->now and keeps it if it is better than 'x'. */
static bool
keep(struct search *s, uint32_t *x)
{
	const struct market *m = s->market;

	fill(s, s->now);
	if (!(advantage(m, s->now, x) > 0))
		return false;
	memcpy(x, s->now, m->n_jobs * sizeof *x);
	return true;
}

/* In x, one round less of a job, or one more at the cost of others, if that is better. */
static bool
exchange(struct search *s, uint32_t *x, uint32_t job, bool takes)
{
	const struct market *m = s->market;

	memcpy(s->now, x, m->n_jobs * sizeof *s->now);
	if (takes) {
		if (s->now[job] >= m->n_rounds ||
		    !make_room(s, job, room_of(m, s->now)))
			return false;
		s->now[job]++;
		return keep(s, x);
	}
	if (s->now[job] <= s->least[job])
		return false;
	s->now[job]--;
	return keep(s, x);
}

/* Improves x, for a bound, by exchanges. */
static void
mend(struct search *s, double bound_s, uint32_t *x)
{
	const struct market *m = s->market;
	bool is_better = true;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		s->least[j] = rounds_for(m, &m->jobs[j], bound_s);
	for (int pass = 0; pass < MAX_PASSES && is_better; pass++) {
		is_better = false;
		for (uint32_t j = 0; j < m->n_jobs; j++) {
			is_better |= exchange(s, x, j, true);
			is_better |= exchange(s, x, j, false);
		}
	}
}

/* ---- The bound ------------------------------------------------------------------- */

static int
ascending(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return p < q ? -1 : p > q;
}

/* The values that the longest remaining time can have. */
static size_t
list_bounds(const struct market *m, double *ret_bounds)
{
	size_t n = 0, n_unique = 0;

	for (uint32_t j = 0; j < m->n_jobs; j++)
		for (uint32_t x = m->jobs[j].n_least; x <= m->n_rounds; x++)
			ret_bounds[n++] = market_left_s(m, &m->jobs[j], x);
	qsort(ret_bounds, n, sizeof *ret_bounds, ascending);
	for (size_t i = 0; i < n; i++)
		if (!n_unique || ret_bounds[i] > ret_bounds[n_unique - 1])
			ret_bounds[n_unique++] = ret_bounds[i];
	return n_unique;
}

/* The first bound that is possible; 'n' if none is. */
static size_t
first_possible(struct search *s, const double *bounds, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (solve_for(s, bounds[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Keeps the solution for a possible bound if it is the first, or better than the best. */
static void
consider(struct search *s, double bound_s, bool mends)
{
	const struct market *m = s->market;
	size_t n_bytes = m->n_jobs * sizeof *s->best;

	solve_for(s, bound_s);
	memcpy(s->other, s->now, n_bytes);
	if (mends)
		mend(s, bound_s, s->other);
	if (isnan(s->best_bound_s) || advantage(m, s->other, s->best) > 0) {
		memcpy(s->best, s->other, n_bytes);
		s->best_bound_s = bound_s;
	}
}

/* Whether a bound is at least as good as the next larger one. */
static bool
falls_after(struct search *s, const double *bound)
{
	const struct market *m = s->market;

	solve_for(s, bound[0]);
	memcpy(s->other, s->now, m->n_jobs * sizeof *s->other);
	solve_for(s, bound[1]);
	return advantage(m, s->other, s->now) >= 0;
}

/*
 * The objective is nearly concave in the bound: but for whole rounds, its slope changes
 * sign once.
 */
static bool
find_bound(struct search *s)
{
	const struct market *m = s->market;
	double *bounds =
		xcalloc((size_t)m->n_jobs * (m->n_rounds + 1) + 1, sizeof *bounds);
	size_t n = list_bounds(m, bounds), low = first_possible(s, bounds, n), high = n;
	bool is_possible = low < n;
	bool mends_all = (double)m->n_jobs * (double)s->n_steps < MEND_ALL;

	while (low + SCANNED < high) {
		size_t middle = low + (high - low) / 2 - 1;

		if (falls_after(s, bounds + middle))
			high = middle + 1;
		else
			low = middle + 1;
	}
	for (size_t i = low; i < high; i++)
		consider(s, bounds[i], mends_all);
	if (is_possible && !mends_all)
		mend(s, s->best_bound_s, s->best);
	free(bounds);
	return is_possible;
}

bool
market_solve(const struct market *market, uint32_t *ret_x)
{
	size_t n = market->n_jobs + 1;
	struct search s = {
		.market = market,
		.steps = xcalloc(n * market->n_rounds + 1, sizeof *s.steps),
		.least = xcalloc(n, sizeof *s.least),
		.best = xcalloc(n, sizeof *s.best),
		.other = xcalloc(n, sizeof *s.other),
		.best_bound_s = NAN,
		.now = xcalloc(n, sizeof *s.now),
	};
	bool is_possible;

	list_steps(&s);
	is_possible = find_bound(&s);
	if (is_possible)
		memcpy(ret_x, s.best, market->n_jobs * sizeof *ret_x);
	free(s.steps);
	free(s.least);
	free(s.best);
	free(s.other);
	free(s.now);
	return is_possible;
}
