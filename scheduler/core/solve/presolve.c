/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/presolve.h"

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/solve/joint_model.h"

/* Tolerance of equal relative loads. */
#define EQUAL_RATIO 1e-12

static const struct joint_model_load *
load_of(const struct joint_model *model, const struct joint_model_link *link,
	uint32_t j)
{
	for (uint32_t i = 0; i < link->n_loads; i++)
		if (model->loads[link->first_load + i].job == j)
			return &model->loads[link->first_load + i];
	return NULL;
}

/* Whether the shift of a job matters on the link of this load. */
static bool
matters(const struct joint_model *model, const struct joint_model_load *load)
{
	return model->groups[load->group].n_loads > 1;
}

/*
 * Whether 'b' has at least the relative loads of 'a', and connects all that 'a'
 * connects in the affinity graph.
 */
static bool
covers(const struct joint_model *model, const struct joint_model_link *b,
       const struct joint_model_link *a)
{
	/* Loads that were subtracted from the capacity can no longer be compared. */
	if (a->n_constant > 0 || b->n_constant > 0 || a->n_loads > b->n_loads)
		return false;
	for (uint32_t i = 0; i < a->n_loads; i++) {
		const struct joint_model_load *load_a =
			&model->loads[a->first_load + i];
		const struct joint_model_load *load_b = load_of(model, b, load_a->job);

		if (!load_b ||
		    load_a->factor / a->capacity_bps >
			    load_b->factor / b->capacity_bps * (1 + EQUAL_RATIO))
			return false;
		if (matters(model, load_a) && !matters(model, load_b))
			return false;
	}
	return true;
}

/* The job of a link, among those whose shifts matter, with the fewest links. */
static const struct joint_model_job *
rarest_job(const struct joint_model *model, const struct joint_model_link *link)
{
	const struct joint_model_job *rarest = NULL;

	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_model_load *load =
			&model->loads[link->first_load + i];
		const struct joint_model_job *job = &model->jobs[load->job];

		if (matters(model, load) && (!rarest || job->n_uses < rarest->n_uses))
			rarest = job;
	}
	return rarest;
}

void
presolve_links(struct joint_model *model)
{
	for (uint32_t l = 0; l < model->n_links; l++) {
		struct joint_model_link *a = &model->links[l];
		const struct joint_model_job *job = rarest_job(model, a);

		for (uint32_t i = 0; i < job->n_uses && !a->is_merged; i++) {
			uint32_t other = model->uses[job->first_use + i].link;
			struct joint_model_link *b = &model->links[other];

			if (other == l || b->is_merged || !covers(model, b, a))
				continue;
			if (!covers(model, a, b)) {
				a->is_dominated = true;
			} else if (other < l) {
				a->is_merged = true;
				/* Weights are per unit of each link's own. */
				b->weight += a->weight / a->unit_bps * a->capacity_bps /
					     b->capacity_bps * b->unit_bps;
			}
		}
	}
}
