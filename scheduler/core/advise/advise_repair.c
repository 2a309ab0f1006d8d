/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_repair.c - other paths where a plan slows jobs beyond the cap.
 *
 * Paths are chosen for a small sum of harm (link_loads.h), by a bound of slowdowns.  In
 * a large workload the prediction then nearly always finds some job that is better off
 * on hashed paths, and without it the plan could not be advised.  So the weights of such
 * jobs are raised, other flows leave their links, and all is predicted again.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/workload/workload.h"

/* Raises the weights of the jobs beyond the cap; returns their number. */
static size_t
spare_harmed(struct plan *plan, const struct advise_ctx *ctx, double *weight)
{
	double noise = cap_noise(ctx, plan->slowdown, ctx->workload->n);
	size_t n = 0;

	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		double before = plan_slowdown(ctx->reference, ctx, j);

		if (!cap_is_broken(ctx, before, plan_slowdown(plan, ctx, j), noise))
			continue;
		weight[j] *= ADVISE_SPARE_FACTOR;
		place_set_weight(plan->place, j, weight[j]);
		n++;
	}
	return n;
}

int
plan_repair(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n = ctx->workload->n;
	double *weight;
	int r = 0;

	if (ctx->paths != PLACE_CHOSEN)
		return 0;
	weight = xcalloc(n + 1, sizeof *weight);
	for (size_t j = 0; j < n; j++)
		weight[j] = ctx->workload->jobs[j].weight;
	for (int i = 0; i < ADVISE_REPAIRS && r == 0; i++) {
		if (!spare_harmed(plan, ctx, weight))
			break;
		plan_unshift(plan, ctx);
		r = plan_complete(plan, ctx);
	}
	free(weight);
	return r;
}
