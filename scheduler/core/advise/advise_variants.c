/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_variants.c - variants of advice for a component, and their prediction.
 *
 * A send gate makes jobs take turns.  It helps most where turns are short, and makes
 * convoys where a job that waits for many links delays others.  So it is tried for
 * subsets: the largest one in which for each job j and the jobs that it waits for, with
 * a threshold theta,
 *
 *	duty_j + sum of duty_i over gated i that share a link with j <= theta,
 *
 * and from the best subset, jobs that lose by it are removed.  A gate alone finds an
 * order, but costs waiting time whenever jitter changes it; with shifts it seldom has
 * to act, so that is preferred among equal variants.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_decision.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/solve/step_function.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

static const double thetas[] = { ADVISE_GATE_LOADS };

#define N_THETAS (sizeof thetas / sizeof *thetas)

int64_t
advise_delay_us(const struct work_job *job, int64_t phase_us)
{
	return period_mod(phase_us - job->arrival_ns / 1000, job->profile.period_us);
}

bool
variant_is_phased(const struct decision *d, const struct variant *variant, size_t i)
{
	return variant->is_shifted && d->is_movable[i];
}

/* ---- Prediction ------------------------------------------------------------------ */

/* The goodput of a variant that is predicted. */
static void
sum_goodput(const struct decision *d, struct variant *variant)
{
	const struct component *c = d->component;

	variant->goodput = 0;
	for (size_t i = 0; i < c->n_jobs; i++)
		variant->goodput += d->ctx->workload->jobs[c->jobs[i]].weight /
				    prediction_mean(&variant->prediction, i);
}

static void
predict_variant(const struct decision *d, uint32_t n_seeds, uint32_t n_iterations,
		struct variant *variant)
{
	const struct component *c = d->component;
	struct predict_opts opts = { d->ctx->opts.seed, n_seeds, n_iterations };
	struct predict_job *jobs = component_predict_jobs(c, d->plan->place, d->ctx);

	for (size_t i = 0; i < c->n_jobs; i++) {
		bool is_phased = variant_is_phased(d, variant, i);

		jobs[i].shift_us = is_phased ? d->phase_us[i] : 0;
		jobs[i].has_random_phase = !is_phased;
		jobs[i].pacing = variant->pacing[i];
	}
	predict(jobs, c->n_jobs, d->ctx->topo, &opts, &variant->prediction);
	sum_goodput(d, variant);
	free(jobs);
}

/* The prediction of the plan, which changes nothing. */
static void
take_prediction(const struct decision *d, struct variant *variant)
{
	const struct component *c = d->component;
	size_t n_seeds = d->ctx->n_seeds;

	variant->prediction = (struct prediction){
		.n_jobs = c->n_jobs,
		.n_seeds = n_seeds,
		.slowdown = xcalloc(c->n_jobs * n_seeds + 1, sizeof(double)),
	};
	for (size_t i = 0; i < c->n_jobs; i++)
		memcpy(&variant->prediction.slowdown[i * n_seeds],
		       &d->plan->slowdown[c->jobs[i] * n_seeds],
		       n_seeds * sizeof(double));
	sum_goodput(d, variant);
}

/* The remaining iterations of a job. */
static double
iterations_left(const struct work_job *job)
{
	double n = ADVISE_HORIZON_ITERATIONS;

	if (job->max_iterations)
		n = (double)job->max_iterations;
	if (job->stop_ns < ENGINE_NEVER && job->stop_ns > job->arrival_ns)
		n = fmin(n, (double)(job->stop_ns - job->arrival_ns) /
				    (1e3 * (double)job->profile.period_us));
	return n;
}

/*
 * Do no harm: what a variant saves over the jobs' lives has to be more than its initial
 * delays, and no job may surely exceed the cap that did not exceed it before.
 */
static void
weigh_variant(const struct decision *d, struct variant *variant)
{
	const struct component *c = d->component;
	const struct prediction *base = &d->variants.items[0].prediction;
	double saved_us = 0, delayed_us = 0;
	double noise = cap_noise(d->ctx, variant->prediction.slowdown, c->n_jobs);

	variant->harmed = TOPO_NONE;
	for (size_t i = 0; i < c->n_jobs; i++) {
		const struct work_job *job = &d->ctx->workload->jobs[c->jobs[i]];
		double before = prediction_mean(base, i);
		double after = prediction_mean(&variant->prediction, i);

		saved_us += job->weight * (before - after) *
			    (double)job->profile.period_us * iterations_left(job);
		if (variant_is_phased(d, variant, i))
			delayed_us += job->weight *
				      (double)advise_delay_us(job, d->phase_us[i]);
		if (d->ctx->reference)
			before = plan_slowdown(d->ctx->reference, d->ctx, c->jobs[i]);
		if (cap_is_broken(d->ctx, before, after, noise))
			variant->harmed = c->jobs[i];
	}
	variant->pays = saved_us > delayed_us;
}

/*
 * The goodput of a variant in one short run; HUGE_VAL without one, in small components.
 * It shows a convoy, which is also what the engine simulates most slowly.
 */
static double
glance(const struct decision *d, bool is_shifted, enum engine_pacing *pacing)
{
	struct variant variant = { .is_shifted = is_shifted, .pacing = pacing };
	uint32_t n = d->ctx->n_iterations;

	if (d->component->n_jobs < ADVISE_GLANCE_JOBS)
		return HUGE_VAL;
	predict_variant(d, 1,
			n < ADVISE_GLANCE_ITERATIONS ? n : ADVISE_GLANCE_ITERATIONS,
			&variant);
	prediction_fini(&variant.prediction);
	return variant.goodput;
}

/* Adds the variant that changes nothing. */
static void
add_unchanged(struct decision *d, enum engine_pacing *pacing)
{
	struct variant variant = { .pacing = pacing, .harmed = TOPO_NONE };

	if (d->is_predicted)
		take_prediction(d, &variant);
	else
		predict_variant(d, d->ctx->n_seeds, d->ctx->n_iterations, &variant);
	vec_push(&d->variants, variant);
	weigh_variant(d, &d->variants.items[0]);
}

/* Predicts and adds a variant; takes 'pacing'. */
static struct variant *
add_variant(struct decision *d, bool is_shifted, enum engine_pacing *pacing)
{
	struct variant variant = { .is_shifted = is_shifted,
				   .pacing = pacing,
				   .harmed = TOPO_NONE };

	predict_variant(d, d->ctx->n_seeds, d->ctx->n_iterations, &variant);
	vec_push(&d->variants, variant);
	weigh_variant(d, &d->variants.items[d->variants.n - 1]);
	return &d->variants.items[d->variants.n - 1];
}

static enum engine_pacing *
all_paced(const struct decision *d, enum engine_pacing pacing)
{
	enum engine_pacing *all = xcalloc(d->component->n_jobs + 1, sizeof *all);

	for (size_t i = 0; i < d->component->n_jobs; i++)
		all[i] = pacing;
	return all;
}

/* ---- Contacts -------------------------------------------------------------------- */

/* Jobs that may have to wait for each other at the gate. */
struct contacts {
	size_t *first;    /* Owned.  Of job i: others[first[i] .. first[i + 1]). */
	uint32_t *others; /* Owned.  By number in the component. */
	double *duty;     /* Owned.  Share of the period in which a job sends. */
};

/* Lists for each job the other jobs with which it can exceed a link, once each. */
static void
contacts_init(struct contacts *m, const struct decision *d)
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
		const struct routed_job *routed =
			place_routed_job(d->plan->place, c->jobs[i]);
		double peak_bps = profile_peak_bps(&jobs[c->jobs[i]].profile);

		m->duty[i] = profile_duty(&jobs[c->jobs[i]].profile);
		for (size_t e = 0; e < routed->footprint.n; e++) {
			const struct footprint_entry *at =
				&routed->footprint.entries[e];
			double capacity_bps =
				topo_link(d->ctx->topo, at->link)->capacity_bps;
			const struct link_load *loads;
			size_t n;

			loads = link_loads_of(place_link_loads(d->plan->place),
					      at->link, &n);
			for (size_t k = 0; k < n; k++) {
				uint32_t other = number[loads[k].job];
				double both_bps =
					at->factor * peak_bps +
					loads[k].factor *
						profile_peak_bps(
							&jobs[loads[k].job].profile);

				if (other == 0 || other == i + 1 ||
				    seen_by[other - 1] == i + 1 ||
				    both_bps <= LINK_FULL_FRAC * capacity_bps)
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
contacts_fini(struct contacts *m)
{
	free(m->first);
	free(m->others);
	free(m->duty);
}

/*
 * Gates all jobs, then removes the one with the largest load until all are within
 * 'theta'; a gated job that shares no link with another gated one never waits and may
 * stay.  Returns the number of gated jobs.  O(n^2 + contacts).
 */
static size_t
gate_below(const struct contacts *m, size_t n, double theta, enum engine_pacing *pacing)
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

/* ---- Variants -------------------------------------------------------------------- */

/* From variant 'from' on, removes jobs from the gate that lose by it. */
static void
repair(struct decision *d, size_t from)
{
	size_t n = d->component->n_jobs;

	for (int round = 0; round < ADVISE_REPAIRS; round++) {
		const struct prediction *base = &d->variants.items[0].prediction;
		const struct variant *variant = &d->variants.items[from];
		enum engine_pacing *pacing =
			xmemdup(variant->pacing, n, sizeof *pacing);
		size_t n_out = 0, n_gated = 0;

		for (size_t i = 0; i < n; i++) {
			if (pacing[i] == ENGINE_PACE_GATE &&
			    prediction_mean(&variant->prediction, i) >
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
		add_variant(d, variant->is_shifted, pacing);
		if (d->variants.items[d->variants.n - 1].goodput <=
			    d->variants.items[from].goodput &&
		    d->variants.items[d->variants.n - 1].harmed != TOPO_NONE)
			return;
		from = d->variants.n - 1;
	}
}

/* Removes jobs that cannot be delayed from the gate.  Returns their number. */
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

/* Whether the effort allows no more than one variant with a gate. */
static bool
is_one_gate(const struct decision *d)
{
	return d->component->n_jobs >= ADVISE_GLANCE_JOBS &&
	       d->ctx->n_seeds == ADVISE_MIN_SEEDS;
}

/* Jobs to gate, and their goodput in a short run. */
struct gate {
	enum engine_pacing *pacing; /* Owned. */
	double goodput;
};

/*
 * Lists the gates of all thresholds, fewest jobs first, until more jobs lose goodput; a
 * gate of all jobs of a large component is simulated slowest, and helps least.  Returns
 * their number, at most N_THETAS.
 */
static size_t
list_gates(const struct decision *d, const struct contacts *m, bool is_shifted,
	   struct gate *ret_gates)
{
	size_t n_last = SIZE_MAX, n = 0;
	double last = -HUGE_VAL;

	for (size_t t = 0; t < N_THETAS; t++) {
		struct gate gate = { .pacing = all_paced(d, ENGINE_PACE_FREE) };
		size_t n_gated =
			gate_below(m, d->component->n_jobs, thetas[t], gate.pacing);

		n_gated -= let_fixed_out(d, gate.pacing);
		if (n_gated == n_last || n_gated < 2) {
			free(gate.pacing);
			continue;
		}
		gate.goodput = glance(d, is_shifted, gate.pacing);
		if (gate.goodput < last) {
			free(gate.pacing);
			break;
		}
		n_last = n_gated;
		last = gate.goodput;
		ret_gates[n++] = gate;
	}
	return n;
}

/*
 * Predicts the gate at each threshold, most jobs first, unless a short run shows that it
 * loses; then repairs the best.  Where the effort allows no more than one, takes the one
 * that is best in the short run.
 */
static void
add_gates(struct decision *d, const struct contacts *m, bool is_shifted)
{
	double least = d->variants.items[0].goodput * (1 - ADVISE_GLANCE_FRAC);
	struct gate gates[N_THETAS];
	size_t n = list_gates(d, m, is_shifted, gates), best = 0;

	/* Goodput rises with the jobs that are gated: the last is the best. */
	for (size_t i = n; i-- > 0;) {
		if (gates[i].goodput <= least || (is_one_gate(d) && i + 1 < n)) {
			free(gates[i].pacing);
			continue;
		}
		add_variant(d, is_shifted, gates[i].pacing);
		if (best == 0 || d->variants.items[d->variants.n - 1].goodput >
					 d->variants.items[best].goodput)
			best = d->variants.n - 1;
	}
	if (best > 0)
		repair(d, best);
}

void
variants_predict(struct decision *d)
{
	bool is_better_shifted = false;
	struct contacts m;

	add_unchanged(d, all_paced(d, ENGINE_PACE_FREE));
	if (d->component->n_jobs < 2)
		return;
	contacts_init(&m, d);
	if (d->has_movable) {
		const struct variant *shifted =
			add_variant(d, true, all_paced(d, ENGINE_PACE_FREE));

		is_better_shifted = shifted->goodput > d->variants.items[0].goodput;
	}
	if (is_better_shifted || (d->has_movable && !is_one_gate(d)))
		add_gates(d, &m, true);
	if (!is_better_shifted || !is_one_gate(d))
		add_gates(d, &m, false);
	if (d->has_movable) {
		enum engine_pacing *pacing = all_paced(d, ENGINE_PACE_REALIGN);

		for (size_t i = 0; i < d->component->n_jobs; i++)
			if (!d->is_movable[i])
				pacing[i] = ENGINE_PACE_FREE;
		add_variant(d, true, pacing);
	}
	contacts_fini(&m);
}

void
variants_fini(struct decision *d)
{
	for (size_t i = 0; i < d->variants.n; i++) {
		free(d->variants.items[i].pacing);
		prediction_fini(&d->variants.items[i].prediction);
	}
	vec_free(&d->variants);
}

/*
 * True if variant 'a' gains enough over variant 'b', and more than ADVISE_SURE_SES
 * standard errors of the difference over the runs, in which both had the same phases
 * and jitter.
 */
static bool
is_better(const struct decision *d, const struct variant *a, const struct variant *b)
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
	return a->goodput > b->goodput * (1 + ADVISE_WORTH_FRAC) &&
	       mean > ADVISE_SURE_SES * error;
}

size_t
variants_choose(const struct decision *d)
{
	size_t best = 0;

	/* Other places alone may harm a job, and a variant may undo that. */
	for (size_t i = 1;
	     d->variants.items[0].harmed != TOPO_NONE && i < d->variants.n; i++) {
		const struct variant *variant = &d->variants.items[i];

		if (variant->harmed == TOPO_NONE &&
		    (best == 0 || variant->goodput > d->variants.items[best].goodput))
			best = i;
	}
	for (size_t i = 1; i < d->variants.n; i++) {
		const struct variant *variant = &d->variants.items[i];

		if (variant->harmed == TOPO_NONE && variant->pays &&
		    is_better(d, variant, &d->variants.items[best]))
			best = i;
	}
	return best;
}
