/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_shift.c - shifts and pacing of a component, chosen by prediction.
 *
 * The joint solver finds the shifts with the least excess.  The engine then predicts
 * whether they pay: a shift without corrections decays with jitter, a rigid grid makes
 * late jobs wait for their next slot, and a gate can make convoys where many links are
 * loaded.  So variants of advice are predicted (advise_variants.c); the best one that
 * pays for its own delay and harms no job beyond the cap is taken.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_decision.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/random_phase.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/pair.h"
#include "scheduler/core/solve/step_function.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* ---- Effects of shifts ----------------------------------------------------------- */

/*
 * True if no shift of the job against any peer can gain enough.  '*ret_unsure' (which may
 * be NULL) becomes true if one might, as the peer's period may be the job's.
 */
static bool
is_shift_worthless(const struct place *place, const struct advise_ctx *ctx,
		   uint32_t job, bool *ret_unsure)
{
	const struct routed_job *routed = place_routed_job(place, job);
	const struct work_job *jobs = ctx->workload->jobs;

	for (size_t i = 0; i < routed->footprint.n; i++) {
		const struct footprint_entry *e = &routed->footprint.entries[i];
		double capacity_bps = topo_link(ctx->topo, e->link)->capacity_bps;
		const struct link_load *loads;
		size_t n;

		if (!link_loads_is_exceedable(place_link_loads(place), e->link))
			continue;
		loads = link_loads_of(place_link_loads(place), e->link, &n);
		for (size_t k = 0; k < n; k++) {
			if (loads[k].job == job)
				continue;
			if (ret_unsure &&
			    same_period_is_unsure(&jobs[job].profile,
						  &jobs[loads[k].job].profile))
				*ret_unsure = true;
			if (pair_gain_bound_bps(
				    &(struct pair_job){ &jobs[job].profile, e->factor },
				    &(struct pair_job){ &jobs[loads[k].job].profile,
							loads[k].factor }) >
			    ADVISE_WORTHLESS_FRAC * capacity_bps)
				return false;
		}
	}
	return true;
}

/*
 * All shifts of a component may be moved together; among the moves that leave one job
 * undelayed, takes the one with the least weighted delay.
 */
static void
least_delay(const struct component *component, const struct advise_ctx *ctx,
	    const bool *is_movable, int64_t *phase_us)
{
	const struct work_job *jobs = ctx->workload->jobs;
	double least = HUGE_VAL;
	int64_t best_us = 0;

	for (size_t i = 0; i < component->n_jobs; i++) {
		const struct work_job *still = &jobs[component->jobs[i]];
		int64_t by_us = still->arrival_ns / 1000 - phase_us[i];
		double sum = 0;

		if (!is_movable[i])
			continue;
		for (size_t k = 0; k < component->n_jobs; k++) {
			const struct work_job *job = &jobs[component->jobs[k]];

			if (is_movable[k])
				sum += job->weight * (double)advise_delay_us(
							     job, phase_us[k] + by_us);
		}
		if (sum < least) {
			least = sum;
			best_us = by_us;
		}
	}
	for (size_t i = 0; i < component->n_jobs; i++)
		if (is_movable[i])
			phase_us[i] =
				period_mod(phase_us[i] + best_us,
					   jobs[component->jobs[i]].profile.period_us);
}

/* True if the job cannot be delayed, although a shift would have an effect. */
static bool
is_unpaced(const struct decision *d, size_t i)
{
	uint32_t job = d->component->jobs[i];

	return d->ctx->opts.is_fixed && d->ctx->opts.is_fixed[job] &&
	       !is_shift_worthless(d->plan->place, d->ctx, job, NULL);
}

/* True if a job stays where it is: shifts of the others are relative to it. */
static bool
has_unpaced(const struct decision *d)
{
	for (size_t i = 0; i < d->component->n_jobs; i++)
		if (is_unpaced(d, i))
			return true;
	return false;
}

static void
solve_shifts(struct decision *d)
{
	const struct component *c = d->component;
	struct joint_opts opts = { .seed = d->ctx->opts.seed,
				   .n_restarts = d->ctx->opts.n_restarts,
				   .movable = d->is_movable };
	const int64_t *start_us = d->ctx->opts.start_us;
	int64_t *mine_us = NULL;
	struct component_problem problem;
	struct joint_result *result;

	component_problem_make(c, d->plan->place, d->ctx, &problem);
	if (start_us) {
		mine_us = xcalloc(c->n_jobs + 1, sizeof *mine_us);
		for (size_t i = 0; i < c->n_jobs; i++)
			mine_us[i] = start_us[c->jobs[i]];
		opts.start_shifts_us = mine_us;
	}
	result = joint_solve(&problem.problem, &opts);
	free(mine_us);
	BUG_ON(!result);
	memcpy(d->phase_us, result->shift_us, c->n_jobs * sizeof *d->phase_us);
	memcpy(d->slack_us, result->slack_us, c->n_jobs * sizeof *d->slack_us);
	d->plan->has_loop |= result->has_loop;
	joint_result_free(result);
	if (!has_unpaced(d))
		least_delay(c, d->ctx, d->is_movable, d->phase_us);
	joint_excess(&problem.problem, d->phase_us, d->excess_bps);
	component_problem_fini(&problem);
}

/* ---- Reasons --------------------------------------------------------------------- */

/* The largest excess of the job's links, as a share of the capacity. */
static double
worst_excess_frac(const struct decision *d, uint32_t job, bool is_after)
{
	double worst = 0;

	for (size_t i = 0; i < d->component->n_links; i++) {
		uint32_t link = d->component->links[i];
		double capacity_bps = topo_link(d->ctx->topo, link)->capacity_bps;
		const struct link_load *loads;
		double excess_bps;
		size_t n;

		excess_bps = is_after ? d->excess_bps[i]
				      : link_loads_excess_bps(
						place_link_loads(d->plan->place), link);
		loads = link_loads_of(place_link_loads(d->plan->place), link, &n);
		for (size_t k = 0; k < n; k++)
			if (loads[k].job == job && excess_bps / capacity_bps > worst)
				worst = excess_bps / capacity_bps;
	}
	return worst;
}

/* The reason of a job that no shift can help. */
static enum reason
reason_worthless(const struct decision *d, size_t i)
{
	bool is_unsure = false;

	is_shift_worthless(d->plan->place, d->ctx, d->component->jobs[i], &is_unsure);
	return is_unsure ? REASON_PERIODS_UNSURE : REASON_PERIODS_UNRELATED;
}

/* The reason for not shifting a job of a component. */
static enum reason
reason_unshifted(const struct decision *d, const struct variant *chosen, size_t i)
{
	uint32_t job = d->component->jobs[i];

	if (!d->is_movable[i])
		return is_unpaced(d, i) ? REASON_NOT_PACED : reason_worthless(d, i);
	for (size_t w = 1; w < d->variants.n; w++)
		if (d->variants.items[w].harmed == job && d->variants.items[w].pays &&
		    d->variants.items[w].goodput >
			    chosen->goodput * (1 + ADVISE_WORTH_FRAC))
			return REASON_CAP;
	if (chosen->pacing[i] == ENGINE_PACE_GATE)
		return REASON_TAKES_TURNS;
	if (worst_excess_frac(d, job, true) >
	    ADVISE_HALVED_FRAC * worst_excess_frac(d, job, false))
		return REASON_NO_ROOM;
	return REASON_DOES_NOT_PAY;
}

static enum reason
reason_shifted(const struct decision *d, size_t i)
{
	uint32_t job = d->component->jobs[i];
	const struct work_job *wj = &d->ctx->workload->jobs[job];
	double before = worst_excess_frac(d, job, false);
	double after = worst_excess_frac(d, job, true);

	if (!d->is_movable[i])
		return is_unpaced(d, i) ? REASON_REFERENCE : reason_worthless(d, i);
	if (advise_delay_us(wj, d->phase_us[i]) == 0)
		return REASON_REFERENCE;
	if (after <= ADVISE_NO_EXCESS_FRAC)
		return REASON_INTERLEAVED;
	return after < ADVISE_REDUCED_FRAC * before ? REASON_REDUCED : REASON_NO_ROOM;
}

/* ---- Deciding -------------------------------------------------------------------- */

static void
carry_out(struct decision *d, const struct variant *variant)
{
	const struct component *c = d->component;
	struct plan *plan = d->plan;
	size_t n_seeds = d->ctx->n_seeds;

	for (size_t i = 0; i < c->n_jobs; i++) {
		uint32_t job = c->jobs[i];
		bool is_phased = variant_is_phased(d, variant, i);

		plan->is_phased[job] = is_phased;
		plan->phase_us[job] = is_phased ? d->phase_us[i] : 0;
		plan->slack_us[job] = is_phased ? d->slack_us[i] : 0;
		plan->pacing[job] = variant->pacing[i];
		plan->why[job] = variant->is_shifted ? reason_shifted(d, i)
						     : reason_unshifted(d, variant, i);
		memcpy(&plan->slowdown[job * n_seeds],
		       &variant->prediction.slowdown[i * n_seeds],
		       n_seeds * sizeof(double));
	}
	for (size_t i = 0; i < c->n_links && variant->is_shifted; i++)
		plan->excess_bps[c->links[i]] = d->excess_bps[i];
}

static void
decide(struct plan *plan, const struct advise_ctx *ctx, const struct component *c,
       bool is_predicted)
{
	struct decision d = {
		.component = c,
		.ctx = ctx,
		.plan = plan,
		.is_predicted = is_predicted,
		.is_movable = xcalloc(c->n_jobs + 1, sizeof(bool)),
		.phase_us = xcalloc(c->n_jobs + 1, sizeof(int64_t)),
		.slack_us = xcalloc(c->n_jobs + 1, sizeof(int64_t)),
		.excess_bps = xcalloc(c->n_links + 1, sizeof(double)),
	};

	for (size_t i = 0; i < c->n_jobs; i++) {
		d.is_movable[i] =
			!(ctx->opts.is_fixed && ctx->opts.is_fixed[c->jobs[i]]) &&
			!is_shift_worthless(plan->place, ctx, c->jobs[i], NULL);
		d.has_movable |= d.is_movable[i];
	}
	for (size_t i = 0; i < c->n_links; i++)
		d.excess_bps[i] = link_loads_excess_bps(place_link_loads(plan->place),
							c->links[i]);
	if (d.has_movable)
		solve_shifts(&d);
	variants_predict(&d);
	carry_out(&d, &d.variants.items[variants_choose(&d)]);
	variants_fini(&d);
	free(d.is_movable);
	free(d.phase_us);
	free(d.slack_us);
	free(d.excess_bps);
}

void
shift_by_prediction(struct plan *plan, const struct advise_ctx *ctx)
{
	plan_find_components(plan, ctx, TIE_EXCEEDABLE);
	for (size_t i = 0; i < plan->components.n; i++)
		decide(plan, ctx, &plan->components.items[i], false);
}

void
shift_predicted(struct plan *plan, const struct advise_ctx *ctx)
{
	for (size_t i = 0; i < plan->components.n; i++)
		decide(plan, ctx, &plan->components.items[i], true);
}
