/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/phase_correction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/control/control_constants.h"

struct problem {
	const struct phase_correction_job *jobs;
	size_t n_jobs;
	const struct phase_correction_constraint *constraints;
	size_t n_constraints;
	double margin_frac;
	double *relative_ns; /* Owned.  By constraint: phi_b - phi_a, at wrap 0. */
	int *wraps;          /* Owned. */
	double *delay_ns;    /* Owned.  Scratch: present delays. */
	double cost;         /* Cost of these. */
	int32_t *because_of; /* Owned.  Constraint behind each delay, or -1. */
	uint32_t *seen_in;   /* Scratch.  Owned. */
	size_t n_left;       /* Constraints that may still be visited. */
	bool is_circle;      /* It failed because 'because_of' has a circle. */
	uint32_t on_circle;  /* A job on that circle. */
};

/* The phase of b against a in [lo, lo + modulus). */
static double
relative_ns(const struct phase_correction_job *jobs,
	    const struct phase_correction_constraint *e)
{
	double r = fmod(jobs[e->b].phase_ns - jobs[e->a].phase_ns - e->lo_ns,
			e->modulus_ns);

	return e->lo_ns + (r < 0 ? r + e->modulus_ns : r);
}

double
phase_correction_error_ns(const struct phase_correction_job *jobs,
			  const struct phase_correction_constraint *e)
{
	double r = relative_ns(jobs, e), late_ns = r - e->hi_ns;
	double early_ns = e->lo_ns + e->modulus_ns - r;

	if (late_ns <= 0)
		return 0;
	return late_ns <= early_ns ? late_ns : -early_ns;
}

static bool
raise(struct problem *p, size_t constraint, uint32_t to, double at_least_ns)
{
	if (p->delay_ns[to] >= at_least_ns - CORRECTION_TOLERANCE_NS / 16)
		return false;
	p->cost += p->jobs[to].weight * (at_least_ns - p->delay_ns[to]);
	p->delay_ns[to] = at_least_ns;
	p->because_of[to] = (int32_t)constraint;
	return true;
}

/* The job at the other end of the constraint that requires the delay of 'job'. */
static uint32_t
asked_by(const struct problem *p, uint32_t job)
{
	const struct phase_correction_constraint *e =
		&p->constraints[p->because_of[job]];

	return e->a == job ? e->b : e->a;
}

/* True if delays require each other in a circle, and so grow without bound. */
static bool
has_circle(struct problem *p)
{
	memset(p->seen_in, 0, p->n_jobs * sizeof *p->seen_in);
	for (uint32_t j = 0; j < p->n_jobs; j++) {
		uint32_t at = j;

		while (!p->seen_in[at] && p->because_of[at] >= 0) {
			p->seen_in[at] = j + 1;
			at = asked_by(p, at);
		}
		if (p->because_of[at] >= 0 && p->seen_in[at] == j + 1) {
			p->is_circle = true;
			p->on_circle = at;
			return true;
		}
	}
	return false;
}

static bool
is_within_reach(const struct problem *p)
{
	for (size_t j = 0; j < p->n_jobs; j++)
		if (p->jobs[j].is_fixed && p->delay_ns[j] > CORRECTION_TOLERANCE_NS)
			return false;
	return true;
}

/*
 * The least delays for the present wraps; returns their cost, or INFINITY if there are
 * none or they cost 'limit' or more.  Delays only grow, so this is known early.
 */
static double
solve_wraps(struct problem *p, double limit)
{
	bool has_moved = true;

	memset(p->delay_ns, 0, p->n_jobs * sizeof *p->delay_ns);
	memset(p->because_of, 0xff, p->n_jobs * sizeof *p->because_of);
	p->cost = 0;
	p->is_circle = false;
	for (size_t round = 0; has_moved; round++) {
		if (round > p->n_jobs || p->n_left < p->n_constraints)
			return INFINITY;
		p->n_left -= p->n_constraints;
		has_moved = false;
		for (size_t i = 0; i < p->n_constraints; i++) {
			const struct phase_correction_constraint *e =
				&p->constraints[i];
			double margin_ns = p->margin_frac * (e->hi_ns - e->lo_ns) / 2;
			double r = p->relative_ns[i] + p->wraps[i] * e->modulus_ns;

			has_moved |=
				raise(p, i, e->b,
				      p->delay_ns[e->a] + e->lo_ns + margin_ns - r);
			has_moved |=
				raise(p, i, e->a,
				      p->delay_ns[e->b] + r - e->hi_ns + margin_ns);
		}
		if (p->cost >= limit || !is_within_reach(p) ||
		    (has_moved && has_circle(p)))
			return INFINITY;
	}
	return p->cost;
}

/* All combinations of neighboring copies: 3^n. */
static double
search_all(struct problem *p, double *best_delay_ns)
{
	int *first = xmemdup(p->wraps, p->n_constraints, sizeof *first);
	size_t n_all = 1;
	double best = INFINITY;

	for (size_t i = 0; i < p->n_constraints; i++)
		n_all *= 3;
	for (size_t c = 0; c < n_all; c++) {
		size_t rest = c;
		double cost;

		for (size_t i = 0; i < p->n_constraints; i++, rest /= 3)
			p->wraps[i] = first[i] + (int)((rest + 1) % 3) - 1;
		cost = solve_wraps(p, best - CORRECTION_TOLERANCE_NS);
		if (cost < INFINITY) {
			best = cost;
			memcpy(best_delay_ns, p->delay_ns,
			       p->n_jobs * sizeof *best_delay_ns);
		}
	}
	free(first);
	return best;
}

/* Tries the next copies of a constraint's window; true if one is better. */
static bool
try_constraint(struct problem *p, size_t i, double *best, double *best_delay_ns)
{
	for (int step = -1; step <= 1; step += 2) {
		double cost;

		p->wraps[i] += step;
		cost = solve_wraps(p, *best - CORRECTION_TOLERANCE_NS);
		if (cost < INFINITY) {
			*best = cost;
			memcpy(best_delay_ns, p->delay_ns,
			       p->n_jobs * sizeof *best_delay_ns);
			return true;
		}
		p->wraps[i] -= step;
	}
	return false;
}

/* Resolves a circle: one of its constraints must change, and no other. */
static bool
break_circle(struct problem *p, double *best, double *best_delay_ns)
{
	size_t *circle = xcalloc(p->n_jobs, sizeof *circle), n = 0;
	uint32_t at = p->on_circle;
	bool is_broken = false;

	do {
		circle[n++] = (size_t)p->because_of[at];
		at = asked_by(p, at);
	} while (at != p->on_circle && n < p->n_jobs);
	for (size_t i = 0; i < n && !is_broken; i++)
		is_broken = try_constraint(p, circle[i], best, best_delay_ns);
	free(circle);
	return is_broken;
}

/* Changes one constraint at a time, as long as the cost falls. */
static double
search_one_by_one(struct problem *p, double *best_delay_ns)
{
	double best = solve_wraps(p, INFINITY);
	bool is_better = true;

	memcpy(best_delay_ns, p->delay_ns, p->n_jobs * sizeof *best_delay_ns);
	if (p->is_circle && !break_circle(p, &best, best_delay_ns))
		return INFINITY;
	for (int pass = 0; pass < CORRECTION_PASSES && is_better; pass++) {
		is_better = false;
		for (size_t i = 0; i < p->n_constraints; i++)
			is_better |= try_constraint(p, i, &best, best_delay_ns);
	}
	return best;
}

int
phase_correction_solve(const struct phase_correction_job *jobs, size_t n_jobs,
		       const struct phase_correction_constraint *constraints,
		       size_t n_constraints, double margin_frac, double *ret_delay_ns)
{
	struct problem p = {
		.jobs = jobs,
		.n_jobs = n_jobs,
		.constraints = constraints,
		.n_constraints = n_constraints,
		.margin_frac = margin_frac,
		.relative_ns = xcalloc(n_constraints + 1, sizeof(double)),
		.wraps = xcalloc(n_constraints + 1, sizeof(int)),
		.delay_ns = xcalloc(n_jobs + 1, sizeof(double)),
		.because_of = xcalloc(n_jobs + 1, sizeof(int32_t)),
		.seen_in = xcalloc(n_jobs + 1, sizeof(uint32_t)),
		.n_left = PHASE_CORRECTION_MAX_VISITS,
	};
	double *best_delay_ns = xcalloc(n_jobs + 1, sizeof *best_delay_ns), cost;

	for (size_t i = 0; i < n_constraints; i++) {
		const struct phase_correction_constraint *e = &constraints[i];
		double late_ns;

		p.relative_ns[i] = relative_ns(jobs, e);
		late_ns = p.relative_ns[i] - e->hi_ns;
		/* Before the next copy b waits, after this one a does. */
		if (late_ns > 0 &&
		    jobs[e->a].weight * late_ns >
			    jobs[e->b].weight *
				    (e->lo_ns + e->modulus_ns - p.relative_ns[i]))
			p.wraps[i] = -1;
	}
	cost = n_constraints <= PHASE_CORRECTION_MAX_EXACT
		       ? search_all(&p, best_delay_ns)
		       : search_one_by_one(&p, best_delay_ns);
	if (cost < INFINITY)
		memcpy(ret_delay_ns, best_delay_ns, n_jobs * sizeof *ret_delay_ns);
	free(p.relative_ns);
	free(p.wraps);
	free(p.delay_ns);
	free(p.because_of);
	free(p.seen_in);
	free(best_delay_ns);
	return cost < INFINITY ? 0 : -ERANGE;
}
