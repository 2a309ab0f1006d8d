/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_cassini.c - CASSINI (NSDI 2024) as a policy: its choice among ten
 * placements, its shifts, its agent.
 *
 * Where the paper leaves a choice open, the reading that favors CASSINI is taken, since
 * it is the baseline for antiphase:
 *
 *  - a loop removes the shifts of its component only, not of the whole cluster, and a
 *    placement is discarded only for a loop with the new job;
 *  - its ten candidates are ten different ones, if there are as many;
 *  - a job that contention makes late in every iteration can never keep its
 *    grid, and the agent of the paper (realign when late by more than 5 %)
 *    would make it wait for the next slot each time.  So per component the
 *    best of three is taken, by prediction (which CASSINI itself does not
 *    have): agents for all, agents for jobs whose links score at least 0.95,
 *    and one shift without corrections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/cassini/cassini.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* ---- Placement ------------------------------------------------------------------- */

/*
 * Makes the joint problem of all jobs with 'job' on 'hosts'.  Returns false if they
 * cannot reach each other.
 */
static bool
problem_with(struct plan *plan, const struct advise_ctx *ctx, uint32_t job,
	     const uint32_t *hosts, struct work_problem *ret_problem)
{
	const struct routed_job **routed;

	if (place_put(plan->place, job, hosts) < 0)
		return false;
	routed = xcalloc(ctx->workload->n + 1, sizeof *routed);
	for (uint32_t j = 0; j < ctx->workload->n; j++)
		routed[j] = place_routed_job(plan->place, j);
	work_problem_make(ctx->workload, routed, ctx->topo, ret_problem);
	free(routed);
	place_remove(plan->place, job);
	return true;
}

/* Placements that the cluster's scheduler would offer for one job. */
struct offers {
	uint32_t *hosts[CASSINI_MAX_CANDIDATES]; /* Owned. */
	struct work_problem problems[CASSINI_MAX_CANDIDATES];
	size_t n;
};

/* Packs the job, usually if 'i' is 0, else in an equivalent way; adds a new placement. */
static int
offer(struct offers *offers, struct plan *plan, const struct advise_ctx *ctx,
      uint32_t job, size_t i, struct rng *rng)
{
	uint32_t n_hosts = ctx->workload->jobs[job].n_hosts_wanted;
	uint32_t *hosts = xcalloc(n_hosts, sizeof *hosts);
	int r = i == 0 ? place_pack(plan->place, job, hosts)
		       : place_pack_varied(plan->place, job, rng, hosts);
	bool is_new = r == 0;

	for (size_t k = 0; is_new && k < offers->n; k++)
		is_new = memcmp(offers->hosts[k], hosts, n_hosts * sizeof *hosts) != 0;
	if (is_new && problem_with(plan, ctx, job, hosts, &offers->problems[offers->n]))
		offers->hosts[offers->n++] = hosts;
	else
		free(hosts);
	return r;
}

/*
 * Algorithm 2 for one waiting job: up to ten placements that are equivalent to packing
 * for the cluster's scheduler, ranked by their mean link score; those with a loop are
 * discarded.  If none is left, the scheduler's first choice stands.
 */
static void
cassini_one(struct plan *plan, const struct advise_ctx *ctx, uint32_t job)
{
	struct cassini_opts opts = { .seed = ctx->opts.seed,
				     .merge_twins = true,
				     .has_newcomer = true,
				     .newcomer = job };
	const struct joint_problem *candidates[CASSINI_MAX_CANDIDATES];
	struct cassini_choice choice = { .best = SIZE_MAX };
	struct offers offers = { .n = 0 };
	struct rng rng;

	rng_init_stream(&rng, ctx->opts.seed, job);
	for (size_t i = 0; i < PLACE_MAX_DRAWS && offers.n < CASSINI_MAX_CANDIDATES;
	     i++)
		if (offer(&offers, plan, ctx, job, i, &rng) == -ENOSPC)
			break;
	for (size_t i = 0; i < offers.n; i++)
		candidates[i] = &offers.problems[i].problem;
	if (offers.n > 0 && cassini_rank(candidates, offers.n, &opts, &choice) == 0)
		(void)place_put(
			plan->place, job,
			offers.hosts[choice.best == SIZE_MAX ? 0 : choice.best]);
	cassini_choice_fini(&choice);
	for (size_t i = 0; i < offers.n; i++) {
		work_problem_fini(&offers.problems[i]);
		free(offers.hosts[i]);
	}
}

void
place_waiting_cassini(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n;
	uint32_t *jobs = waiting_jobs(ctx, &n);

	for (size_t i = 0; i < n; i++)
		cassini_one(plan, ctx, jobs[i]);
	free(jobs);
}

/* ---- Shifts ---------------------------------------------------------------------- */

/* Mean goodput of a component under the current plan. */
static double
goodput_of(const struct plan *plan, const struct advise_ctx *ctx,
	   const struct component *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->n_jobs; i++)
		sum += ctx->workload->jobs[c->jobs[i]].weight /
		       plan_slowdown(plan, ctx, c->jobs[i]);
	return sum;
}

/* What CASSINI's agents do after the first shift. */
enum agent {
	AGENT_ALL,  /* Hold every job to its grid. */
	AGENT_SOME, /* Hold jobs whose links leave them within the deadband. */
	AGENT_NONE, /* Hold no job: one shift only. */
	N_AGENTS,
};

/* Whether a job's links leave it no more excess than the agent tolerates. */
static bool
can_keep_grid(const struct plan *plan, const struct advise_ctx *ctx, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);

	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;

		if (plan->excess_bps[link] >
		    ADVISE_DEADBAND_FRAC * topo_link(ctx->topo, link)->capacity_bps)
			return false;
	}
	return true;
}

static void
set_agent(struct plan *plan, const struct advise_ctx *ctx, const struct component *c,
	  enum agent agent)
{
	for (size_t i = 0; i < c->n_jobs; i++) {
		bool is_held =
			agent == AGENT_ALL ||
			(agent == AGENT_SOME && can_keep_grid(plan, ctx, c->jobs[i]));

		plan->pacing[c->jobs[i]] =
			is_held ? ENGINE_PACE_REALIGN : ENGINE_PACE_FREE;
	}
	plan_predict_component(plan, ctx, c);
}

/* Takes the best choice for CASSINI; the paper's agent unless another is better. */
static void
choose_agent(struct plan *plan, const struct advise_ctx *ctx, const struct component *c)
{
	enum agent best = AGENT_ALL;
	double best_goodput = 0;

	for (int agent = 0; agent < N_AGENTS; agent++) {
		double goodput;

		set_agent(plan, ctx, c, (enum agent)agent);
		goodput = goodput_of(plan, ctx, c);
		if (goodput > best_goodput * (1 + ADVISE_WORTH_FRAC)) {
			best = (enum agent)agent;
			best_goodput = goodput;
		}
	}
	if (best != N_AGENTS - 1)
		set_agent(plan, ctx, c, best);
}

static void
shift_component(struct plan *plan, const struct advise_ctx *ctx,
		const struct component *c)
{
	struct cassini_opts opts = { .seed = ctx->opts.seed, .merge_twins = true };
	struct component_problem problem;
	struct joint_result *result;

	component_problem_make(c, plan->place, ctx, &problem);
	result = cassini_solve(&problem.problem, &opts);
	BUG_ON(!result);
	plan->has_loop |= result->has_loop;
	for (size_t i = 0; i < c->n_jobs; i++) {
		if (result->gave_up) {
			plan->why[c->jobs[i]] = REASON_LOOP_GIVEN_UP;
			continue;
		}
		plan->is_phased[c->jobs[i]] = true;
		plan->phase_us[c->jobs[i]] = result->shift_us[i];
	}
	for (size_t i = 0; i < c->n_links && !result->gave_up; i++)
		plan->excess_bps[c->links[i]] = result->excess_after_bps[i];
	if (result->gave_up)
		plan_predict_component(plan, ctx, c);
	else
		choose_agent(plan, ctx, c);
	joint_result_free(result);
	component_problem_fini(&problem);
}

void
shift_by_cassini(struct plan *plan, const struct advise_ctx *ctx)
{
	plan_find_components(plan, ctx, TIE_SHARED);
	for (size_t i = 0; i < plan->components.n; i++)
		shift_component(plan, ctx, &plan->components.items[i]);
}
