/*
 * advise_ways.c - the ways to act on a component, and their prediction.
 *
 * A send gate lets jobs take turns.  It does wonders where turns are short, and
 * makes convoys where a job that waits for many links holds up others
 * (interleaving, on actuation: "baton only below a load threshold").  So it
 * is tried for subsets: with theta the threshold, the largest found in which
 * each job and those it has to wait for,
 *
 *	duty_j + sum over gated i that meet j of duty_i <= theta,
 *
 * and from the best of them on those are let out who lose by it.  A gate alone
 * finds an order by itself, but pays for it in waiting whenever jitter upsets
 * it; with shifts it seldom has to act, so of equals that is preferred.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/advise/advise_decision.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* Iterations that an advice is for, where the workload does not end a job. */
#define HORIZON_ITERATIONS 1000

/*
 * Components of so many jobs are glanced at first: one run of so many
 * iterations, which may look so much worse than doing nothing.
 */
#define GLANCE_JOBS       8
#define GLANCE_ITERATIONS 30
#define GLANCE_FRAC       0.03

/* Rounds of letting losers out of the gate. */
#define N_REPAIRS 3

static const double thetas[] = { HUGE_VAL, 1.2, 0.9, 0.6 };

#define N_THETAS (sizeof thetas / sizeof *thetas)

int64_t
advise_modulo(int64_t x, int64_t period)
{
	int64_t rest = x % period;

	return rest < 0 ? rest + period : rest;
}

int64_t
advise_delay_us(const struct work_job *job, int64_t phase_us)
{
	return advise_modulo(phase_us - job->arrival_ns / 1000, job->profile.period_us);
}

bool
way_is_phased(const struct decision *d, const struct way *way, size_t i)
{
	return way->is_shifted && d->is_movable[i];
}

/* ---- Prediction --------------------------------------------------------------------- */

static void
predict_way(const struct decision *d, uint32_t n_seeds, uint32_t n_iterations,
	    struct way *way)
{
	const struct component *c = d->component;
	struct predict_opts opts = { d->ctx->opts.seed, n_seeds, n_iterations };
	struct predict_job *jobs = component_predict_jobs(c, d->plan->place, d->ctx);

	for (size_t i = 0; i < c->n_jobs; i++) {
		bool is_phased = way_is_phased(d, way, i);

		jobs[i].shift_us = is_phased ? d->phase_us[i] : 0;
		jobs[i].is_left_to_chance = !is_phased;
		jobs[i].pacing = way->pacing[i];
	}
	predict(jobs, c->n_jobs, d->ctx->topo, &opts, &way->prediction);
	way->goodput = 0;
	for (size_t i = 0; i < c->n_jobs; i++)
		way->goodput +=
			jobs[i].job->weight / prediction_mean(&way->prediction, i);
	free(jobs);
}

/* Iterations that a job still has. */
static double
iterations_left(const struct work_job *job)
{
	double n = HORIZON_ITERATIONS;

	if (job->max_iterations)
		n = (double)job->max_iterations;
	if (job->stop_ns < ENGINE_NEVER && job->stop_ns > job->arrival_ns)
		n = fmin(n, (double)(job->stop_ns - job->arrival_ns) /
				    (1e3 * (double)job->profile.period_us));
	return n;
}

/*
 * Do no harm: what a way saves over the jobs' lives has to be more than the
 * delays by which it begins, and nobody may go beyond the cap who was not
 * there before.
 */
static void
weigh_way(const struct decision *d, struct way *way)
{
	const struct component *c = d->component;
	const struct prediction *base = &d->ways.items[0].prediction;
	double saved_us = 0, delayed_us = 0;

	way->harmed = TOPO_NONE;
	for (size_t i = 0; i < c->n_jobs; i++) {
		const struct work_job *job = &d->ctx->workload->jobs[c->jobs[i]];
		double before = prediction_mean(base, i);
		double after = prediction_mean(&way->prediction, i);

		saved_us += job->weight * (before - after) *
			    (double)job->profile.period_us * iterations_left(job);
		if (way_is_phased(d, way, i))
			delayed_us += job->weight *
				      (double)advise_delay_us(job, d->phase_us[i]);
		if (d->ctx->reference)
			before = plan_slowdown(d->ctx->reference, d->ctx, c->jobs[i]);
		if (after > plan_limit(d->ctx, before))
			way->harmed = c->jobs[i];
	}
	way->pays = saved_us > delayed_us;
}

/*
 * A glance at a way in one short run.  A convoy shows at once, and is also what
 * takes the engine longest.
 */
static bool
is_promising(const struct decision *d, bool is_shifted, enum engine_pacing *pacing)
{
	struct way way = { .is_shifted = is_shifted, .pacing = pacing };
	uint32_t n = d->ctx->n_iterations;

	if (d->component->n_jobs < GLANCE_JOBS)
		return true;
	predict_way(d, 1, n < GLANCE_ITERATIONS ? n : GLANCE_ITERATIONS, &way);
	prediction_fini(&way.prediction);
	return way.goodput > d->ways.items[0].goodput * (1 - GLANCE_FRAC);
}

/* Predicts and adds a way; takes 'pacing'. */
static struct way *
add_way(struct decision *d, bool is_shifted, enum engine_pacing *pacing)
{
	struct way way = { .is_shifted = is_shifted,
			   .pacing = pacing,
			   .harmed = TOPO_NONE };

	predict_way(d, d->ctx->n_seeds, d->ctx->n_iterations, &way);
	vec_push(&d->ways, way);
	weigh_way(d, &d->ways.items[d->ways.n - 1]);
	return &d->ways.items[d->ways.n - 1];
}

static enum engine_pacing *
all_paced(const struct decision *d, enum engine_pacing pacing)
{
	enum engine_pacing *all = xcalloc(d->component->n_jobs + 1, sizeof *all);

	for (size_t i = 0; i < d->component->n_jobs; i++)
		all[i] = pacing;
	return all;
}

/* ---- Who waits for whom ---------------------------------------------------------- */

/* Jobs that could have to wait for each other at the gate. */
struct meetings {
	size_t *first;    /* Owned.  Job i meets others[first[i] .. first[i + 1]). */
	uint32_t *others; /* Owned.  Numbers in the component. */
	double *duty;     /* Owned.  Share of its period that a job sends. */
};

static double
duty_of(const struct profile *profile)
{
	double on_us = 0;

	for (size_t i = 0; i < profile->n_phases; i++)
		on_us += (double)profile->phases[i].duration_us;
	return on_us / (double)profile->period_us;
}

/* Lists once each whom the jobs meet on links that the two can exceed. */
static void
meetings_init(struct meetings *m, const struct decision *d)
{
	const struct component *c = d->component;
	const struct work_job *jobs = d->ctx->workload->jobs;
	uint32_t *number = xcalloc(d->ctx->workload->n + 1, sizeof *number);
	uint32_t *seen_by = xcalloc(c->n_jobs + 1, sizeof *seen_by);
	VEC(uint32_t) others = VEC_EMPTY;

	m->first = xcalloc(c->n_jobs + 1, sizeof *m->first);
	m->duty = xcalloc(c->n_jobs + 1, sizeof *m->duty);
	for (size_t i = 0; i < c->n_jobs; i++)
		number[c->jobs[i]] = (uint32_t)i + 1;
	for (size_t i = 0; i < c->n_jobs; i++) {
		const struct routed_job *laid = place_laid(d->plan->place, c->jobs[i]);
		double peak_bps = profile_peak_bps(&jobs[c->jobs[i]].profile);

		m->duty[i] = duty_of(&jobs[c->jobs[i]].profile);
		for (size_t e = 0; e < laid->footprint.n; e++) {
			const struct footprint_entry *at = &laid->footprint.entries[e];
			double capacity_bps =
				topo_link(d->ctx->topo, at->link)->capacity_bps;
			const struct place_load *loads;
			size_t n;

			loads = place_loads(d->plan->place, at->link, &n);
			for (size_t k = 0; k < n; k++) {
				uint32_t other = number[loads[k].job];
				double both_bps =
					at->factor * peak_bps +
					loads[k].factor *
						profile_peak_bps(
							&jobs[loads[k].job].profile);

				if (other == 0 || other == i + 1 ||
				    seen_by[other - 1] == i + 1 ||
				    both_bps <= PLACE_FULL_FRAC * capacity_bps)
					continue;
				seen_by[other - 1] = (uint32_t)i + 1;
				vec_push(&others, other - 1);
			}
		}
		m->first[i + 1] = others.n;
	}
	m->others = others.items;
	free(number);
	free(seen_by);
}

static void
meetings_fini(struct meetings *m)
{
	free(m->first);
	free(m->others);
	free(m->duty);
}

/*
 * Gates all jobs and lets out the one with the heaviest company until all are
 * within 'theta'; a gated job that meets no other gated one waits for nobody
 * and may stay.  Returns the number gated.  O(n^2 + meetings).
 */
static size_t
gate_below(const struct meetings *m, size_t n, double theta, enum engine_pacing *pacing)
{
	double *load = xcalloc(n + 1, sizeof *load);
	size_t n_gated = n;

	for (size_t i = 0; i < n; i++) {
		load[i] = m->duty[i];
		for (size_t k = m->first[i]; k < m->first[i + 1]; k++)
			load[i] += m->duty[m->others[k]];
		pacing[i] = ENGINE_PACE_GATE;
	}
	while (n_gated > 0) {
		size_t worst = n;

		for (size_t i = 0; i < n; i++)
			if (pacing[i] == ENGINE_PACE_GATE &&
			    (worst == n || load[i] > load[worst]))
				worst = i;
		if (load[worst] <= theta)
			break;
		pacing[worst] = ENGINE_PACE_FREE;
		n_gated--;
		for (size_t k = m->first[worst]; k < m->first[worst + 1]; k++)
			load[m->others[k]] -= m->duty[worst];
	}
	free(load);
	return n_gated;
}

/* ---- The ways ------------------------------------------------------------------------ */

/* From the way number 'from' on, lets those out of the gate who lose by it. */
static void
repair(struct decision *d, size_t from)
{
	size_t n = d->component->n_jobs;

	for (int round = 0; round < N_REPAIRS; round++) {
		const struct prediction *base = &d->ways.items[0].prediction;
		const struct way *way = &d->ways.items[from];
		enum engine_pacing *pacing = xmemdup(way->pacing, n, sizeof *pacing);
		size_t n_out = 0, n_gated = 0;

		for (size_t i = 0; i < n; i++) {
			if (pacing[i] == ENGINE_PACE_GATE &&
			    prediction_mean(&way->prediction, i) >
				    prediction_mean(base, i)) {
				pacing[i] = ENGINE_PACE_FREE;
				n_out++;
			}
			n_gated += pacing[i] == ENGINE_PACE_GATE;
		}
		if (n_out == 0 || n_gated < 2) {
			free(pacing);
			return;
		}
		add_way(d, way->is_shifted, pacing);
		if (d->ways.items[d->ways.n - 1].goodput <=
			    d->ways.items[from].goodput &&
		    d->ways.items[d->ways.n - 1].harmed != TOPO_NONE)
			return;
		from = d->ways.n - 1;
	}
}

/* Jobs that nobody can delay take no turns.  Returns how many are let out. */
static size_t
let_fixed_out(const struct decision *d, enum engine_pacing *pacing)
{
	const bool *is_fixed = d->ctx->opts.is_fixed;
	size_t n_out = 0;

	for (size_t i = 0; is_fixed && i < d->component->n_jobs; i++)
		if (is_fixed[d->component->jobs[i]] && pacing[i] == ENGINE_PACE_GATE) {
			pacing[i] = ENGINE_PACE_FREE;
			n_out++;
		}
	return n_out;
}

/* Tries the gate at each threshold, and repairs the best. */
static void
add_gates(struct decision *d, const struct meetings *m, bool is_shifted)
{
	size_t n = d->component->n_jobs, n_last = SIZE_MAX, best = 0;

	for (size_t t = 0; t < N_THETAS; t++) {
		enum engine_pacing *pacing = all_paced(d, ENGINE_PACE_FREE);
		size_t n_gated = gate_below(m, n, thetas[t], pacing);

		n_gated -= let_fixed_out(d, pacing);
		if (n_gated == n_last || n_gated < 2) {
			free(pacing);
			continue;
		}
		n_last = n_gated;
		if (!is_promising(d, is_shifted, pacing)) {
			free(pacing);
			continue;
		}
		add_way(d, is_shifted, pacing);
		if (best == 0 ||
		    d->ways.items[d->ways.n - 1].goodput > d->ways.items[best].goodput)
			best = d->ways.n - 1;
	}
	if (best > 0)
		repair(d, best);
}

void
ways_predict(struct decision *d)
{
	struct meetings m;

	add_way(d, false, all_paced(d, ENGINE_PACE_FREE));
	if (d->component->n_jobs < 2)
		return;
	meetings_init(&m, d);
	if (d->has_movable) {
		add_way(d, true, all_paced(d, ENGINE_PACE_FREE));
		add_gates(d, &m, true);
	}
	add_gates(d, &m, false);
	if (d->has_movable) {
		enum engine_pacing *pacing = all_paced(d, ENGINE_PACE_REALIGN);

		for (size_t i = 0; i < d->component->n_jobs; i++)
			if (!d->is_movable[i])
				pacing[i] = ENGINE_PACE_FREE;
		add_way(d, true, pacing);
	}
	meetings_fini(&m);
}

void
ways_fini(struct decision *d)
{
	for (size_t i = 0; i < d->ways.n; i++) {
		free(d->ways.items[i].pacing);
		prediction_fini(&d->ways.items[i].prediction);
	}
	vec_free(&d->ways);
}

/*
 * Whether way 'a' gives more than way 'b' by what is worth it, and by more than
 * two standard errors of the difference over the runs: both saw the same phases
 * and jitter.
 */
static bool
is_better(const struct decision *d, const struct way *a, const struct way *b)
{
	size_t n_seeds = d->ctx->n_seeds;
	double *difference = xcalloc(n_seeds, sizeof *difference);
	double mean, error;

	for (size_t i = 0; i < d->component->n_jobs; i++) {
		double weight = d->ctx->workload->jobs[d->component->jobs[i]].weight;

		for (size_t s = 0; s < n_seeds; s++)
			difference[s] +=
				weight / a->prediction.slowdown[i * n_seeds + s] -
				weight / b->prediction.slowdown[i * n_seeds + s];
	}
	mean = stats_mean(difference, n_seeds);
	error = stats_sd(difference, n_seeds) / sqrt((double)n_seeds);
	free(difference);
	return a->goodput > b->goodput * (1 + WORTH_FRAC) && mean > 2 * error;
}

size_t
ways_choose(const struct decision *d)
{
	size_t best = 0;

	/* Other places may harm somebody all by themselves, and a way heal that. */
	for (size_t i = 1; d->ways.items[0].harmed != TOPO_NONE && i < d->ways.n; i++) {
		const struct way *way = &d->ways.items[i];

		if (way->harmed == TOPO_NONE &&
		    (best == 0 || way->goodput > d->ways.items[best].goodput))
			best = i;
	}
	for (size_t i = 1; i < d->ways.n; i++) {
		const struct way *way = &d->ways.items[i];

		if (way->harmed == TOPO_NONE && way->pays &&
		    is_better(d, way, &d->ways.items[best]))
			best = i;
	}
	return best;
}
