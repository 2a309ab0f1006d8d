/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_iadeep.c - jobs of one GPU share it with the jobs that interfere least (IADeep, SC
 * 2023).
 *
 * By arrival, a job gets an idle GPU if there is one; else it joins the GPU with the
 * least predicted interference of those below the thresholds of utilization and memory
 * whose memory suffices.  The prediction is the sum over the jobs there: the measured
 * figure of the pair (interference.h), or else the slowdown of both by view->speed.
 */
#include <math.h>

#include "policies/interference.h"
#include "policies/packer.h"
#include "policies/planners.h"
#include "policies/stages.h"

enum {
	MAX_USED,
	MAX_MEMORY,
	MAX_JOBS,
	N_PARAMS,
};

struct state {
	struct packer packer; /* First: order_list_on_event(). */
	double params[N_PARAMS];
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	for (int i = 0; i < N_PARAMS; i++)
		s->params[i] = values[i];
	packer_init(&s->packer, cluster);
}

static void
fini(void *state)
{
	packer_fini(&((struct state *)state)->packer);
}

/* The share of its time that a job uses the GPU; 1 if unknown. */
static double
used(const struct pol_job *job)
{
	const double *stage_s = job->stage_s;

	if (!stages_are_known(job))
		return 1;
	return stage_s[1] / (stage_s[0] + stage_s[1] + stage_s[2]);
}

static double
slowdown(const struct pol_view *view, const struct pol_job *job,
	 const struct pol_job *mate, uint32_t type)
{
	const struct pol_speed *speed = &view->speed;

	return speed->speed(speed->ctx, job, 1, 1, type, NULL, 0) /
		       speed->speed(speed->ctx, job, 1, 1, type, &mate, 1) -
	       1;
}

static double
interference(const struct pol_view *view, const struct pol_job *a,
	     const struct pol_job *b, uint32_t type)
{
	double measured = interference_of_pair(a->measured_model, b->measured_model);

	return isnan(measured) ? slowdown(view, a, b, type) + slowdown(view, b, a, type)
			       : measured;
}

/* Whether a job may join a slot. */
static bool
is_open(const struct state *s, const struct pol_view *view,
	const struct packer_slot *slot, const struct pol_job *job)
{
	uint32_t type = view->cluster->type_of[slot->node];
	struct needs capacity = pol_cluster_capacity(view->cluster, type), sum = { 0 };
	double memory = capacity.of[NEED_GPU_MEMORY], busy = 0;

	for (uint32_t i = 0; i < slot->n; i++) {
		busy += used(&view->jobs[slot->ids[i]]);
		needs_add(&sum, &view->jobs[slot->ids[i]].needs, 1);
	}
	if (slot->n >= s->params[MAX_JOBS] || busy >= s->params[MAX_USED] ||
	    (memory > 0 && sum.of[NEED_GPU_MEMORY] >= s->params[MAX_MEMORY] * memory))
		return false;
	needs_add(&sum, &job->needs, 1);
	return needs_fit(&sum, &capacity, NEED_MEMORY, NEED_GPU_MEMORY);
}

static uint32_t
find_slot(const struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	uint32_t best = POL_NONE;
	double least = INFINITY;

	for (uint32_t i = 0; i < s->packer.slots.n; i++) {
		const struct packer_slot *slot = &s->packer.slots.items[i];
		double sum = 0;

		if (!is_open(s, view, slot, job))
			continue;
		for (uint32_t k = 0; k < slot->n; k++)
			sum += interference(view, job, &view->jobs[slot->ids[k]],
					    view->cluster->type_of[slot->node]);
		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	return best;
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	struct packer *packer = &s->packer;

	(void)n_max;
	packer_begin(packer, view, &plans[0]);
	for (size_t i = 0; i < packer->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[packer->list.ids.items[i]];
		uint32_t slot;

		if (job->n_pieces || packer_place(packer, view, job, &plans[0]) ||
		    job->n_gpus > 1)
			continue;
		slot = find_slot(s, view, job);
		if (slot != POL_NONE)
			packer_join(packer, slot, job);
	}
	packer_end(packer, &plans[0]);
	return 1;
}

static const struct pol_param params[] = {
	[MAX_USED] = { "iadeep.max_utilization",
		       "utilization of a GPU from which no job joins it (IADeep's code)",
		       0.99, 0, 1, false },
	[MAX_MEMORY] = { "iadeep.max_memory",
			 "used share of a GPU's memory from which no job joins it "
			 "(IADeep's code)",
			 0.99, 0, 1, false },
	[MAX_JOBS] = { "iadeep.max_jobs", "most jobs on a GPU", PACKER_MAX_JOBS, 1,
		       PACKER_MAX_JOBS, true },
	[N_PARAMS] = { 0 },
};

const struct pol_planner planner_iadeep = {
	.module = { .name = "iadeep",
		    .text = "an idle GPU, else the one with the least interference",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = order_list_on_event },
	.plan = plan,
};
