/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/fabric_heal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/moves.h"
#include "sim/cluster/fabric_priv.h"

/* Harm below this is rounding. */
#define NO_HARM 1e-9

/* A way to heal: what it changes in the plan. */
struct healing {
	uint32_t *n_left; /* Owned.  By grant: nodes that a running job leaves. */
	uint32_t n_moved; /* Nodes that all jobs leave. */
	uint32_t n_jobs;  /* Running jobs that move. */
	double cost;      /* Weight times seconds. */
	bool is_resting;  /* A moved job has yet to pay back. */
};

/* The harm of the plan, with the paths that its jobs would have. */
static double
find_harm(struct fabric *fabric, const struct pol_view *view,
	  const struct pol_plan *plan)
{
	fabric_place_plan(fabric, view, plan, false);
	fabric->counts.n_path_changes += fabric_paths_improve(fabric->paths);
	return fabric_paths_harm(fabric->paths);
}

static struct moves_job
moves_job_of_grant(const struct fabric *fabric, const struct pol_grant *grant)
{
	return (struct moves_job){
		.weight = grant->n_gpus,
		.cost_s = fabric->opts.move_cost_s > 0 ? fabric->opts.move_cost_s : NAN,
	};
}

/* Moves jobs in the plan, and lists what that changes. */
static struct healing
try_to_heal(struct fabric *fabric, const struct pol_view *view, struct pol_plan *plan)
{
	struct healing healing = { .n_left = xcalloc(plan->grants.n + 1,
						     sizeof *healing.n_left) };

	healing.n_moved =
		fabric_monkeytree_move(fabric->monkeytree, view, plan, healing.n_left);
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		struct moves_job job = moves_job_of_grant(fabric, grant);

		if (!healing.n_left[i])
			continue;
		healing.n_jobs++;
		healing.cost += job.weight * moves_lost_s(&job, healing.n_left[i]);
		healing.is_resting |= moves_is_resting(
			fabric->moves.items, fabric->moves.n, view->now_s, grant->job);
	}
	return healing;
}

static uint32_t
count_running(const struct pol_view *view, const struct pol_plan *plan)
{
	uint32_t n = 0;

	for (size_t i = 0; i < plan->grants.n; i++)
		n += view->jobs[plan->grants.items[i].job].n_pieces > 0;
	return n;
}

/* Records the moves, whose rate of gain is 'gain' a second. */
static void
note_moves(struct fabric *fabric, const struct pol_view *view,
	   const struct pol_plan *plan, const struct healing *healing, double gain,
	   double *ret_lost_s)
{
	fabric->counts.n_nodes_moved += healing->n_moved;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		struct moves_job job = moves_job_of_grant(fabric, grant);

		if (!healing->n_left[i])
			continue;
		ret_lost_s[i] = moves_lost_s(&job, healing->n_left[i]);
		fabric->counts.n_moves++;
		fabric->counts.moved_lost_s += ret_lost_s[i];
		vec_push(&fabric->moves, ((struct moves_past){ grant->job, view->now_s,
							       healing->cost / gain }));
	}
}

bool
fabric_heal(struct fabric *fabric, const struct pol_view *view, struct pol_plan *plan,
	    double *ret_lost_s)
{
	struct healing healing;
	struct pol_piece *kept;
	double before, gain = 0;
	bool pays = false;

	if (!fabric->monkeytree)
		return false;
	before = find_harm(fabric, view, plan);
	if (before < NO_HARM)
		return false;
	kept = xmemdup(plan->pieces.items, plan->pieces.n, sizeof *kept);
	healing = try_to_heal(fabric, view, plan);
	if (healing.n_moved > 0) {
		uint32_t n_running = count_running(view, plan);

		gain = before - find_harm(fabric, view, plan);
		pays = !healing.is_resting && gain > NO_HARM &&
		       healing.cost <= gain * FABRIC_HEAL_S &&
		       healing.n_jobs <=
			       fabric_moves_allowed(fabric, view->now_s, n_running);
		if (pays)
			note_moves(fabric, view, plan, &healing, gain, ret_lost_s);
		else
			memcpy(plan->pieces.items, kept, plan->pieces.n * sizeof *kept);
	}
	free(healing.n_left);
	free(kept);
	return pays;
}
