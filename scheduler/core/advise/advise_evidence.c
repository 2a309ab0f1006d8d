/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_evidence.c - from plans to advice: links, scores, expected gain, reason.
 *
 * A link's score is 1 - E / C, as in CASSINI's Table 1.  'Before' is the mean over all
 * phases, as they are random without advice (random_phase.h); 'after' is at the plan's
 * phases.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* ---- Links ----------------------------------------------------------------------- */

static int
compare_links(const void *a, const void *b)
{
	const struct advice_link *x = a, *y = b;

	if (x->score_before != y->score_before)
		return x->score_before < y->score_before ? -1 : 1;
	return (x->link > y->link) - (x->link < y->link);
}

/*
 * The links that 'job' shares in 'where' and that can be exceeded there, worst first:
 * random phases in 'where' against the phases of 'plan'.
 */
static void
contended_links(const struct plan *where, const struct plan *plan,
		const struct advise_ctx *ctx, uint32_t job, struct advice *advice)
{
	const struct routed_job *routed = place_routed_job(where->place, job);
	VEC(struct advice_link) links = VEC_EMPTY;

	for (size_t i = 0; routed && i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		double capacity_bps = topo_link(ctx->topo, link)->capacity_bps;
		double before_bps =
			link_loads_excess_bps(place_link_loads(where->place), link);
		double after_bps = plan->excess_bps[link];
		size_t n;

		(void)link_loads_of(place_link_loads(where->place), link, &n);
		if (n < 2 ||
		    !link_loads_is_exceedable(place_link_loads(where->place), link))
			continue;
		vec_push(&links, ((struct advice_link){
					 .link = link,
					 .n_jobs = (uint32_t)n,
					 .score_before = 1 - before_bps / capacity_bps,
					 .score_after = 1 - after_bps / capacity_bps,
					 .excess_before_bps = before_bps,
					 .excess_after_bps = after_bps,
				 }));
	}
	sort_items(links.items, links.n, compare_links);
	advice->links = links.items;
	advice->n_links = links.n;
}

/* The worst score of a job's links in a plan, at its phases or at random ones. */
static double
worst_score(const struct plan *plan, const struct advise_ctx *ctx, uint32_t job,
	    bool is_random)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);
	double worst = 1;

	for (size_t i = 0; routed && i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		double excess_bps =
			is_random ? link_loads_excess_bps(place_link_loads(plan->place),
							  link)
				  : plan->excess_bps[link];

		if (!link_loads_is_exceedable(place_link_loads(plan->place), link))
			continue;
		worst = fmin(worst,
			     1 - excess_bps / topo_link(ctx->topo, link)->capacity_bps);
	}
	return worst;
}

static bool
shares_any_link(const struct plan *plan, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);

	for (size_t i = 0; routed && i < routed->footprint.n; i++) {
		size_t n;

		(void)link_loads_of(place_link_loads(plan->place),
				    routed->footprint.entries[i].link, &n);
		if (n > 1)
			return true;
	}
	return false;
}

/* ---- Reason ---------------------------------------------------------------------- */

/* The reason for a job that was shifted without a choice by prediction. */
static enum reason
reason_of_shift(const struct advice *advice)
{
	if (advice->shift_us == 0)
		return REASON_REFERENCE;
	if (advice->score_after >= 1 - ADVISE_NO_EXCESS_FRAC)
		return REASON_INTERLEAVED;
	return 1 - advice->score_after <
			       ADVISE_REDUCED_FRAC * (1 - advice->score_before)
		       ? REASON_REDUCED
		       : REASON_NO_ROOM;
}

/* True if chosen paths took the job, or another one, off a link that they shared. */
static bool
is_routed_apart(const struct plan *before, const struct plan *plan, uint32_t job,
		const struct advice *packed)
{
	for (size_t i = 0; i < packed->n_links; i++) {
		size_t n;
		const struct link_load *loads = link_loads_of(
			place_link_loads(before->place), packed->links[i].link, &n);

		for (size_t k = 0; k < n; k++)
			if (advice_has_paths(plan, loads[k].job))
				return true;
	}
	return packed->n_links > 0 && advice_has_paths(plan, job);
}

static enum reason
reason_of(const struct plan *before, const struct plan *plan,
	  const struct advise_ctx *ctx, uint32_t job, const struct advice *advice)
{
	if (!advice->hosts)
		return REASON_NO_HOSTS;
	if (advice->move)
		return REASON_MOVED;
	if (advice->n_links == 0) {
		struct advice packed = { 0 };
		bool was_contended, was_routed;

		contended_links(before, plan, ctx, job, &packed);
		was_contended = packed.n_links > 0;
		was_routed = is_routed_apart(before, plan, job, &packed);
		free(packed.links);
		if (was_contended && advice->placed_by_us)
			return REASON_PLACED_APART;
		if (was_routed)
			return REASON_ROUTED_APART;
		return shares_any_link(plan, job) ? REASON_FITS : REASON_ISOLATED;
	}
	if (plan->why[job] != N_REASONS)
		return plan->why[job];
	return plan->is_phased[job] ? reason_of_shift(advice) : REASON_FAIR_SHARING;
}

/* ---- Advice ---------------------------------------------------------------------- */

/* Expected saving of iteration time: least and most over the runs. */
static void
fill_gain(const struct plan *before, const struct plan *plan,
	  const struct advise_ctx *ctx, struct advice *advice)
{
	size_t first = (size_t)advice->job * ctx->n_seeds;

	advice->slowdown_before = plan_slowdown(before, ctx, advice->job);
	advice->slowdown_after = plan_slowdown(plan, ctx, advice->job);
	if (!(advice->slowdown_before > 0) || !(advice->slowdown_after > 0))
		return;
	advice->gain_low = HUGE_VAL;
	advice->gain_high = -HUGE_VAL;
	for (uint32_t s = 0; s < ctx->n_seeds; s++) {
		double gain =
			1 - plan->slowdown[first + s] / before->slowdown[first + s];

		advice->gain_low = fmin(advice->gain_low, gain);
		advice->gain_high = fmax(advice->gain_high, gain);
	}
}

/* The move of a job, if it is moved. */
static void
fill_move(const struct plan *plan, const struct work_job *wj, struct advice *advice)
{
	const struct plan_move *move = &plan->moves[advice->job];

	if (move->n_workers == 0)
		return;
	advice->move = xcalloc(1, sizeof *advice->move);
	*advice->move = (struct advice_move){
		.from = xmemdup(wj->hosts, wj->n_hosts_wanted, sizeof *wj->hosts),
		.n_workers = move->n_workers,
		.with = move->with,
		.lost_s = move->lost_s,
		.gain = move->bill.gain,
		.cost = move->bill.cost,
		.payback_s = move->bill.payback_s,
	};
}

static void
fill_advice(const struct plan *before, const struct plan *plan,
	    const struct advise_ctx *ctx, uint32_t job, struct advice *ret_advice)
{
	const struct work_job *wj = &ctx->workload->jobs[job];
	const uint32_t *hosts = place_hosts(plan->place, job);
	struct advice advice = {
		.job = job,
		.placed_by_us = !wj->hosts && hosts,
		.score_before = 1,
		.score_after = 1,
	};

	if (hosts) {
		advice.hosts = xmemdup(hosts, wj->n_hosts_wanted, sizeof *hosts);
		advice.n_hosts = wj->n_hosts_wanted;
		advice.pacing = plan->pacing[job];
		advice_fill_paths(before, plan, ctx, job, &advice);
		fill_move(plan, wj, &advice);
		advice.score_before = worst_score(before, ctx, job, true);
		advice.score_after = worst_score(plan, ctx, job, false);
	}
	advice.is_phased = plan->is_phased[job];
	if (advice.is_phased) {
		advice.shift_us = advise_delay_us(wj, plan->phase_us[job]);
		advice.slack_us = plan->slack_us[job];
	}
	contended_links(plan, plan, ctx, job, &advice);
	advice.reason = reason_of(before, plan, ctx, job, &advice);
	if (reason_is_apart(advice.reason)) {
		/* Lists the links that the job was kept away from. */
		free(advice.links);
		contended_links(before, plan, ctx, job, &advice);
	}
	fill_gain(before, plan, ctx, &advice);
	*ret_advice = advice;
}

struct advice_set *
advice_from(const struct plan *before, const struct plan *plan,
	    const struct advise_ctx *ctx)
{
	struct advice_set *set = xcalloc(1, sizeof *set);

	set->n = ctx->workload->n;
	set->items = xcalloc(set->n + 1, sizeof *set->items);
	for (uint32_t j = 0; j < set->n; j++)
		fill_advice(before, plan, ctx, j, &set->items[j]);
	set->goodput_before = plan_goodput(before, ctx);
	set->goodput_after = plan_goodput(plan, ctx);
	set->has_loop = plan->has_loop;
	set->n_runs = ctx->n_seeds;
	set->n_iterations = ctx->n_iterations;
	return set;
}

void
advice_set_free(struct advice_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++) {
		free(set->items[i].hosts);
		advice_paths_free(set->items[i].paths, set->items[i].n_paths);
		free(set->items[i].links);
		if (set->items[i].move)
			free(set->items[i].move->from);
		free(set->items[i].move);
	}
	free(set->items);
	free(set);
}
