#include "scheduler/core/control/correct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define TOLERANCE_NS 1.0 /* Rounding. */

struct problem {
	const struct correct_job *jobs;
	size_t n_jobs;
	const struct correct_edge *edges;
	size_t n_edges;
	double margin_frac;
	double *relative_ns; /* Owned.  An edge: phi_b - phi_a, at wrap 0. */
	int *wraps;          /* Owned. */
	double *delay_ns;    /* Owned.  Scratch. */
};

/* The phase of b against a in [lo, lo + modulus). */
static double
relative_ns(const struct correct_job *jobs, const struct correct_edge *e)
{
	double r = fmod(jobs[e->b].phase_ns - jobs[e->a].phase_ns - e->lo_ns,
			e->modulus_ns);

	return e->lo_ns + (r < 0 ? r + e->modulus_ns : r);
}

double
correct_error_ns(const struct correct_job *jobs, const struct correct_edge *e)
{
	double r = relative_ns(jobs, e), late_ns = r - e->hi_ns;
	double early_ns = e->lo_ns + e->modulus_ns - r;

	if (late_ns <= 0)
		return 0;
	return late_ns <= early_ns ? late_ns : -early_ns;
}

static bool
raise(double *delay_ns, uint32_t to, double at_least_ns)
{
	if (delay_ns[to] >= at_least_ns - TOLERANCE_NS / 16)
		return false;
	delay_ns[to] = at_least_ns;
	return true;
}

/* The least delays for the wraps as they are; returns their cost or INFINITY. */
static double
solve_wraps(struct problem *p)
{
	double cost = 0;
	bool has_moved = true;

	memset(p->delay_ns, 0, p->n_jobs * sizeof *p->delay_ns);
	for (size_t round = 0; has_moved; round++) {
		if (round > p->n_jobs)
			return INFINITY;
		has_moved = false;
		for (size_t i = 0; i < p->n_edges; i++) {
			const struct correct_edge *e = &p->edges[i];
			double margin_ns = p->margin_frac * (e->hi_ns - e->lo_ns) / 2;
			double r = p->relative_ns[i] + p->wraps[i] * e->modulus_ns;

			has_moved |=
				raise(p->delay_ns, e->b,
				      p->delay_ns[e->a] + e->lo_ns + margin_ns - r);
			has_moved |=
				raise(p->delay_ns, e->a,
				      p->delay_ns[e->b] + r - e->hi_ns + margin_ns);
		}
	}
	for (size_t j = 0; j < p->n_jobs; j++) {
		if (p->jobs[j].is_fixed && p->delay_ns[j] > TOLERANCE_NS)
			return INFINITY;
		cost += p->jobs[j].weight * p->delay_ns[j];
	}
	return cost;
}

/* All combinations of neighbouring copies: 3^n. */
static double
search_all(struct problem *p, double *best_delay_ns)
{
	int *first = xmemdup(p->wraps, p->n_edges, sizeof *first);
	size_t n_all = 1;
	double best = INFINITY;

	for (size_t i = 0; i < p->n_edges; i++)
		n_all *= 3;
	for (size_t c = 0; c < n_all; c++) {
		size_t rest = c;
		double cost;

		for (size_t i = 0; i < p->n_edges; i++, rest /= 3)
			p->wraps[i] = first[i] + (int)((rest + 1) % 3) - 1;
		cost = solve_wraps(p);
		if (cost < best - TOLERANCE_NS) {
			best = cost;
			memcpy(best_delay_ns, p->delay_ns,
			       p->n_jobs * sizeof *best_delay_ns);
		}
	}
	free(first);
	return best;
}

/* One edge at a time, as long as it helps. */
static double
search_one_by_one(struct problem *p, double *best_delay_ns)
{
	double best = solve_wraps(p);
	bool is_better = true;

	memcpy(best_delay_ns, p->delay_ns, p->n_jobs * sizeof *best_delay_ns);
	for (int pass = 0; pass < 4 && is_better; pass++) {
		is_better = false;
		for (size_t i = 0; i < p->n_edges; i++) {
			for (int step = -1; step <= 1; step += 2) {
				double cost;

				p->wraps[i] += step;
				cost = solve_wraps(p);
				if (!(cost < best - TOLERANCE_NS)) {
					p->wraps[i] -= step;
					continue;
				}
				best = cost;
				memcpy(best_delay_ns, p->delay_ns,
				       p->n_jobs * sizeof *best_delay_ns);
				is_better = true;
			}
		}
	}
	return best;
}

int
correct_solve(const struct correct_job *jobs, size_t n_jobs,
	      const struct correct_edge *edges, size_t n_edges, double margin_frac,
	      double *ret_delay_ns)
{
	struct problem p = {
		.jobs = jobs,
		.n_jobs = n_jobs,
		.edges = edges,
		.n_edges = n_edges,
		.margin_frac = margin_frac,
		.relative_ns = xcalloc(n_edges + 1, sizeof(double)),
		.wraps = xcalloc(n_edges + 1, sizeof(int)),
		.delay_ns = xcalloc(n_jobs + 1, sizeof(double)),
	};
	double *best_delay_ns = xcalloc(n_jobs + 1, sizeof *best_delay_ns), cost;

	for (size_t i = 0; i < n_edges; i++) {
		const struct correct_edge *e = &edges[i];
		double late_ns;

		p.relative_ns[i] = relative_ns(jobs, e);
		late_ns = p.relative_ns[i] - e->hi_ns;
		/* Before the next copy: b waits.  After this one: a does. */
		if (late_ns > 0 &&
		    jobs[e->a].weight * late_ns >
			    jobs[e->b].weight *
				    (e->lo_ns + e->modulus_ns - p.relative_ns[i]))
			p.wraps[i] = -1;
	}
	cost = n_edges <= CORRECT_MAX_EXACT ? search_all(&p, best_delay_ns)
					    : search_one_by_one(&p, best_delay_ns);
	if (cost < INFINITY)
		memcpy(ret_delay_ns, best_delay_ns, n_jobs * sizeof *ret_delay_ns);
	free(p.relative_ns);
	free(p.wraps);
	free(p.delay_ns);
	free(best_delay_ns);
	return cost < INFINITY ? 0 : -ERANGE;
}
