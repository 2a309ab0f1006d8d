/*
 * policy_lab.h - a small cluster, a policy, and jobs whose plans are carried out by hand.
 */
#ifndef TESTS_UNIT_POLICY_LAB_H
#define TESTS_UNIT_POLICY_LAB_H

#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/policy/policy.h"
#include "tests/unit/test.h"

#define LAB_NODES 4
#define LAB_JOBS  16
#define LAB_PLANS 10

static const uint32_t lab_gpus[LAB_NODES] = { 4, 4, 4, 4 }, lab_zeros[LAB_NODES];
/* Four nodes of four GPUs. */
static const struct pol_cluster lab_cluster = { .n_nodes = LAB_NODES,
						.n_racks = 1,
						.n_types = 1,
						.n_gpus = lab_gpus,
						.rack_of = lab_zeros,
						.type_of = lab_zeros,
						.n_all_gpus = 16 };

struct policy_lab {
	struct pol_job jobs[LAB_JOBS];
	struct pol_piece pieces[LAB_JOBS][LAB_NODES];
	uint32_t ids[LAB_JOBS];
	struct pol_view view; /* Of the above: its clock, speeds are for the test. */
	struct policy *policy;
	struct pol_plan plans[LAB_PLANS];
	uint32_t n_plans;
};

/* Borrows itself: it stays where it is. */
static inline void
lab_init(struct policy_lab *lab, const char *policy, const struct policy_opts *opts)
{
	struct err err = { 0 };

	*lab = (struct policy_lab){ .view = { .cluster = &lab_cluster,
					      .ids = lab->ids,
					      .jobs = lab->jobs,
					      .n_ids = LAB_JOBS } };
	assert_int_equal(
		policy_new(policy_find(policy), opts, &lab_cluster, &lab->policy, &err),
		0);
}

static inline void
lab_fini(struct policy_lab *lab)
{
	policy_free(lab->policy);
	for (int i = 0; i < LAB_PLANS; i++)
		pol_plan_fini(&lab->plans[i]);
}

/* Now; returns its id. */
static inline uint32_t
lab_submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t max_gpus,
	   double duration_s)
{
	uint32_t id = lab->view.n_jobs++;

	lab->ids[id] = id;
	lab->jobs[id] = (struct pol_job){ .id = id,
					  .submit_s = lab->view.now_s,
					  .n_gpus = n_gpus,
					  .max_gpus = max_gpus,
					  .duration_s = duration_s,
					  .remaining_s = duration_s,
					  .first_s = NAN,
					  .group = id };
	policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->jobs[id]);
	return id;
}

/* Decides: up to 'n_max' plans, which all may be. */
static inline void
lab_plan(struct policy_lab *lab, uint32_t n_max)
{
	lab->n_plans = policy_decide(lab->policy, &lab->view, lab->plans, n_max);
	assert_in_range(lab->n_plans, 1, n_max);
	for (uint32_t i = 0; i < lab->n_plans; i++)
		assert_null(pol_plan_why_not(&lab->plans[i], &lab->view));
}

/* The first of them. */
static inline void
lab_carry_out(struct policy_lab *lab)
{
	const struct pol_plan *plan = &lab->plans[0];

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		lab->jobs[i].n_pieces = lab->jobs[i].n_held_gpus = 0;
	for (size_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];
		struct pol_job *job = &lab->jobs[grant->job];

		memcpy(lab->pieces[job->id], plan->pieces.items + grant->first_piece,
		       grant->n_pieces * sizeof(struct pol_piece));
		job->pieces = lab->pieces[job->id];
		job->n_pieces = grant->n_pieces;
		job->n_held_gpus = grant->n_gpus;
	}
	policy_taken(lab->policy, &lab->view, plan);
}

#endif
