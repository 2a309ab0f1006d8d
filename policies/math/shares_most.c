/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares_most.c - the largest sum of values: an interior-point method, by Mehrotra's
 * predictor and corrector (SIAM Journal on Optimization 2, 1992) from a feasible start.
 *
 * It ends on the central path, near the analytic centre of all optima.  The normal
 * equations have a diagonal for jobs, and couple types; eliminating the jobs leaves an
 * M-matrix of types, which is stored by its off-diagonal elements and the excess of its
 * diagonal over them. So no digits are lost to cancellation, however close to the end.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "policies/math/shares_types.h"

#define MOST_STEPS   200
#define END          1e-10 /* Mean complementarity, of the largest value. */
#define N_CENTERINGS 3     /* Steps at the end that only center. */
#define BACK         0.9   /* Of the way to the boundary. */

/* Variables with a dual each: shares, the slack of jobs, and the slack of types. */
struct pairs {
	double *x, *z, *dx, *dz, *target; /* target: x z after the step. */
	uint32_t n;
};

struct point {
	uint32_t n_jobs, n_types;
	const struct shares_types *in;
	double scale; /* Of values. */
	struct pairs shares, jobs, types;
	double *diagonal, *links, *excess, *right; /* jobs; types x types; types. */
	double *all;
};

static double *
carve(double **at, size_t n)
{
	double *it = *at;

	*at += n;
	return it;
}

static struct pairs
carve_pairs(double **at, uint32_t n)
{
	struct pairs it = { .n = n };

	it.x = carve(at, n);
	it.z = carve(at, n);
	it.dx = carve(at, n);
	it.dz = carve(at, n);
	it.target = carve(at, n);
	return it;
}

static bool
can_use(const struct point *p, size_t i)
{
	return p->in->values[i] > 0 && p->in->capacity[i % p->n_types] > 0;
}

/* Of a type; one without GPUs is of no use (can_use()). */
static double
room(const struct point *p, uint32_t t)
{
	return p->in->capacity[t] > 0 ? p->in->capacity[t] : 1;
}

/* A feasible point inside: half of the time and GPUs, and prices above all values. */
static void
start(struct point *p)
{
	double n_gpus = 0;

	for (uint32_t j = 0; j < p->n_jobs; j++) {
		p->jobs.x[j] = 1;
		p->jobs.z[j] = 2;
		n_gpus += p->in->gpus[j];
	}
	for (uint32_t t = 0; t < p->n_types; t++) {
		p->types.x[t] = room(p, t);
		p->types.z[t] = 1 / room(p, t);
	}
	for (uint32_t i = 0; i < p->shares.n; i++) {
		uint32_t j = i / p->n_types, t = i % p->n_types;
		double x = fmin(1.0 / p->n_types, p->in->capacity[t] / n_gpus) / 2;

		if (!can_use(p, i))
			continue;
		p->shares.x[i] = x;
		p->jobs.x[j] -= x;
		p->types.x[t] -= p->in->gpus[j] * x;
		p->shares.z[i] = p->jobs.z[j] + p->in->gpus[j] * p->types.z[t] -
				 p->in->values[i] / p->scale;
	}
}

static int
begin(struct point *p, const struct shares_types *in)
{
	size_t n = (size_t)in->n_jobs * in->n_types;
	double *at;

	*p = (struct point){ .n_jobs = in->n_jobs, .n_types = in->n_types, .in = in };
	if (n > SHARES_MOST_CELLS ||
	    (size_t)in->n_types * in->n_types > SHARES_MOST_CELLS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(in->values[i]))
			return -EINVAL;
		if (can_use(p, i))
			p->scale = fmax(p->scale, in->values[i]);
	}
	at = p->all = xcalloc(5 * (n + in->n_jobs + in->n_types) + in->n_jobs +
				      (size_t)in->n_types * (in->n_types + 2) + 1,
			      sizeof *p->all);
	p->shares = carve_pairs(&at, (uint32_t)n);
	p->jobs = carve_pairs(&at, in->n_jobs);
	p->types = carve_pairs(&at, in->n_types);
	p->diagonal = carve(&at, in->n_jobs);
	p->links = carve(&at, (size_t)in->n_types * in->n_types);
	p->excess = carve(&at, in->n_types);
	p->right = carve(&at, in->n_types);
	return 0;
}

static double
theta(const struct pairs *pairs, size_t i)
{
	return pairs->x[i] / pairs->z[i];
}

/* Fills the diagonal of jobs, and the matrix that is left for types. */
static void
factor(struct point *p)
{
	uint32_t n = p->n_types;

	for (uint32_t t = 0; t < n; t++)
		p->excess[t] = theta(&p->types, t);
	for (uint32_t i = 0; i < n * n; i++)
		p->links[i] = 0;
	for (uint32_t j = 0; j < p->n_jobs; j++) {
		size_t first = (size_t)j * n;
		double phi = theta(&p->jobs, j), g2 = p->in->gpus[j] * p->in->gpus[j];

		p->diagonal[j] = phi;
		for (uint32_t t = 0; t < n; t++)
			if (can_use(p, first + t))
				p->diagonal[j] += theta(&p->shares, first + t);
		for (uint32_t t = 0; t < n; t++) {
			double part;

			if (!can_use(p, first + t))
				continue;
			part = g2 * theta(&p->shares, first + t) / p->diagonal[j];
			p->excess[t] += part * phi;
			for (uint32_t u = 0; u < n; u++)
				if (u != t && can_use(p, first + u))
					p->links[t * n + u] +=
						part * theta(&p->shares, first + u);
		}
	}
}

/* Solves for the duals of types, from 'right' into types.dz; overwrites the matrix. */
static void
solve_types(struct point *p)
{
	uint32_t n = p->n_types;
	double *w = p->links;

	for (uint32_t c = 0; c < n; c++) {
		double d = p->excess[c];

		for (uint32_t a = c + 1; a < n; a++)
			d += w[c * n + a];
		for (uint32_t a = c + 1; a < n; a++) {
			double part = w[a * n + c] / d;

			p->right[a] += part * p->right[c];
			p->excess[a] += part * p->excess[c];
			for (uint32_t b = c + 1; b < n; b++)
				if (b != a)
					w[a * n + b] += part * w[c * n + b];
		}
		p->excess[c] = d; /* From now on the whole diagonal. */
	}
	for (uint32_t c = n; c-- > 0;) {
		double sum = p->right[c];

		for (uint32_t a = c + 1; a < n; a++)
			sum += w[c * n + a] * p->types.dz[a];
		p->types.dz[c] = sum / p->excess[c];
	}
}

/* The step to x z = target. */
static double
aim(const struct pairs *pairs, size_t i)
{
	return pairs->target[i] / pairs->z[i] - pairs->x[i];
}

static void
set_dx(const struct pairs *pairs, size_t i)
{
	pairs->dx[i] = aim(pairs, i) - theta(pairs, i) * pairs->dz[i];
}

/*
 * The rest of the step for a job, of which jobs.dz has the part without prices of types.
 * Differences of prices are taken before they count: prices may be large and nearly the
 * same.
 */
static void
end_job(struct point *p, uint32_t j)
{
	const double *prices = p->types.dz;
	size_t first = (size_t)j * p->n_types;
	double per = p->in->gpus[j] / p->diagonal[j], own = p->jobs.dz[j];

	for (uint32_t t = 0; t < p->n_types; t++) {
		double sum = theta(&p->jobs, j) * prices[t];

		if (!can_use(p, first + t))
			continue;
		for (uint32_t u = 0; u < p->n_types; u++)
			if (can_use(p, first + u))
				sum += theta(&p->shares, first + u) *
				       (prices[t] - prices[u]);
		p->shares.dz[first + t] = own + per * sum;
		set_dx(&p->shares, first + t);
		p->jobs.dz[j] -= per * theta(&p->shares, first + t) * prices[t];
	}
	set_dx(&p->jobs, j);
}

/* A step along which points stay feasible; takes back what rounding has added. */
static void
find_step(struct point *p)
{
	uint32_t n = p->n_types;

	factor(p);
	for (uint32_t t = 0; t < n; t++)
		p->right[t] = aim(&p->types, t) + p->types.x[t] - room(p, t);
	for (uint32_t j = 0; j < p->n_jobs; j++) {
		size_t first = (size_t)j * n;
		double g = p->in->gpus[j];
		double right = aim(&p->jobs, j) + p->jobs.x[j] - 1;

		for (uint32_t t = 0; t < n; t++) {
			if (!can_use(p, first + t))
				continue;
			right += aim(&p->shares, first + t) + p->shares.x[first + t];
			p->right[t] += g * p->shares.x[first + t];
		}
		p->jobs.dz[j] = right / p->diagonal[j];
		for (uint32_t t = 0; t < n; t++)
			if (can_use(p, first + t))
				p->right[t] += g * (aim(&p->shares, first + t) -
						    theta(&p->shares, first + t) *
							    p->jobs.dz[j]);
	}
	solve_types(p);
	for (uint32_t j = 0; j < p->n_jobs; j++)
		end_job(p, j);
	for (uint32_t t = 0; t < n; t++)
		set_dx(&p->types, t);
}

/* ---- Over all variables ---------------------------------------------------------- */

enum {
	N_KINDS = 3
};

static const struct pairs *
kind_of(const struct point *p, int kind)
{
	return kind == 0 ? &p->shares : kind == 1 ? &p->jobs : &p->types;
}

static bool
counts(const struct point *p, int kind, uint32_t i)
{
	return kind != 0 || can_use(p, i);
}

/* Mean x z after a step of that length. */
static double
gap_after(const struct point *p, double length)
{
	double sum = 0, n = 0;

	for (int kind = 0; kind < N_KINDS; kind++) {
		const struct pairs *it = kind_of(p, kind);

		for (uint32_t i = 0; i < it->n; i++) {
			if (!counts(p, kind, i))
				continue;
			sum += (it->x[i] + length * it->dx[i]) *
			       (it->z[i] + length * it->dz[i]);
			n++;
		}
	}
	return n > 0 ? sum / n : 0;
}

/* Aims at 'gap', or 'corrects' for the last step's product too. */
static void
set_targets(struct point *p, double gap, bool corrects)
{
	for (int kind = 0; kind < N_KINDS; kind++) {
		const struct pairs *it = kind_of(p, kind);

		for (uint32_t i = 0; i < it->n; i++)
			it->target[i] = gap - (corrects ? it->dx[i] * it->dz[i] : 0);
	}
}

/* The longest step, up to 1, that leaves all at least a part of themselves. */
static double
longest(const struct point *p, double back)
{
	double length = 1;

	for (int kind = 0; kind < N_KINDS; kind++) {
		const struct pairs *it = kind_of(p, kind);

		for (uint32_t i = 0; i < it->n; i++) {
			if (!counts(p, kind, i))
				continue;
			if (it->dx[i] < 0)
				length = fmin(length, -back * it->x[i] / it->dx[i]);
			if (it->dz[i] < 0)
				length = fmin(length, -back * it->z[i] / it->dz[i]);
		}
	}
	return length;
}

static void
go(struct point *p, double length)
{
	for (int kind = 0; kind < N_KINDS; kind++) {
		const struct pairs *it = kind_of(p, kind);

		for (uint32_t i = 0; i < it->n; i++) {
			if (!counts(p, kind, i))
				continue;
			it->x[i] += length * it->dx[i];
			it->z[i] += length * it->dz[i];
		}
	}
}

/* Steps until the gap is small, then to the central path. */
static int
approach(struct point *p)
{
	int left = N_CENTERINGS;

	for (int step = 0; step < MOST_STEPS; step++) {
		double gap = gap_after(p, 0), share = 1;

		if (!isfinite(gap))
			return -ERANGE;
		if (gap > END) {
			set_targets(p, 0, false);
			find_step(p);
			share = pow(gap_after(p, longest(p, 1)) / gap, 3);
			set_targets(p, share * gap, true);
		} else if (left-- > 0) {
			set_targets(p, gap, false);
		} else {
			return 0;
		}
		find_step(p);
		go(p, longest(p, BACK));
	}
	return -ELOOP;
}

int
shares_types_most(const struct shares_types *in, double *ret_x)
{
	struct point p;
	int r = begin(&p, in);

	if (r == 0 && p.scale > 0) {
		start(&p);
		r = approach(&p);
	}
	for (uint32_t i = 0; r == 0 && i < p.shares.n; i++)
		ret_x[i] = p.shares.x[i];
	free(p.all);
	return r;
}
