/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_lab.h - a small cluster, a policy, and jobs whose plans the test carries out
 */
#ifndef TESTS_UNIT_POLICY_LAB_H
#define TESTS_UNIT_POLICY_LAB_H

#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "policies/policy.h"
#include "tests/unit/plan_text.h"
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
	struct pol_cluster cluster;
	struct pol_job jobs[LAB_JOBS]; /* By id, which is the order of arrival. */
	struct pol_piece pieces[LAB_JOBS][LAB_NODES];
	uint32_t ids[LAB_JOBS], n; /* Present jobs; 'n' jobs arrived so far. */
	struct pol_view view;      /* Of the above; the test sets clock and speeds. */
	struct policy *policy;
	struct pol_plan plans[LAB_PLANS];
	uint32_t n_plans;
};

/* A cluster of one rack, one GPU type, up to LAB_NODES nodes.  Borrows 'n_gpus'. */
static inline struct pol_cluster
lab_cluster_of(const uint32_t *n_gpus, uint32_t n_nodes)
{
	struct pol_cluster cluster = lab_cluster;

	cluster.n_nodes = n_nodes;
	cluster.n_gpus = n_gpus;
	cluster.n_all_gpus = 0;
	for (uint32_t i = 0; i < n_nodes; i++)
		cluster.n_all_gpus += n_gpus[i];
	return cluster;
}

/* The lab must not move: its view points into it. */
static inline void
lab_init_on(struct policy_lab *lab, struct pol_cluster cluster, const char *policy,
	    const struct policy_opts *opts)
{
	struct err err = { 0 };

	*lab = (struct policy_lab){ .cluster = cluster,
				    .view = { .cluster = &lab->cluster,
					      .ids = lab->ids,
					      .jobs = lab->jobs,
					      .n_ids = LAB_JOBS } };
	assert_int_equal(policy_new(policy_find(policy), opts, &lab->cluster,
				    &lab->policy, &err),
			 0);
}

static inline void
lab_init(struct policy_lab *lab, const char *policy, const struct policy_opts *opts)
{
	lab_init_on(lab, lab_cluster, policy, opts);
}

static inline void
lab_fini(struct policy_lab *lab)
{
	policy_free(lab->policy);
	for (int i = 0; i < LAB_PLANS; i++)
		pol_plan_fini(&lab->plans[i]);
}

/* Lets 'job' arrive, in a group of its own; assigns and returns its id. */
static inline uint32_t
lab_add(struct policy_lab *lab, struct pol_job job)
{
	uint32_t id = lab->n++;

	assert_true(id < LAB_JOBS);
	job.id = job.group = id;
	lab->ids[lab->view.n_jobs++] = id;
	lab->jobs[id] = job;
	policy_event(lab->policy, &lab->view, POL_ARRIVED, &lab->jobs[id]);
	return id;
}

/* Submits a job now; returns its id. */
static inline uint32_t
lab_submit(struct policy_lab *lab, uint32_t n_gpus, uint32_t max_gpus,
	   double duration_s)
{
	return lab_add(lab, (struct pol_job){ .submit_s = lab->view.now_s,
					      .n_gpus = n_gpus,
					      .max_gpus = max_gpus,
					      .duration_s = duration_s,
					      .remaining_s = duration_s,
					      .first_s = NAN });
}

/* Ends and removes a job. */
static inline void
lab_finish(struct policy_lab *lab, uint32_t id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lab->view.n_jobs; i++)
		if (lab->ids[i] != id)
			lab->ids[n++] = lab->ids[i];
	lab->view.n_jobs = n;
	policy_event(lab->policy, &lab->view, POL_DONE, &lab->jobs[id]);
}

/* Lets the policy make up to 'n_max' plans, and checks each of them. */
static inline void
lab_plan(struct policy_lab *lab, uint32_t n_max)
{
	lab->n_plans = policy_decide(lab->policy, &lab->view, lab->plans, n_max);
	assert_in_range(lab->n_plans, 1, n_max);
	for (uint32_t i = 0; i < lab->n_plans; i++)
		assert_null(pol_plan_why_not(&lab->plans[i], &lab->view));
}

/*
 * Decides; returns the grants by plan_text.h in the plan's order.  'put_more' appends
 * other parts of a grant.  Valid until the next call.
 */
static inline const char *
lab_decide(struct policy_lab *lab,
	   void (*put_more)(struct strbuf *text, const struct pol_plan *plan,
			    const struct pol_grant *grant))
{
	static struct strbuf text = STRBUF_EMPTY;
	const struct pol_plan *plan = &lab->plans[0];

	lab_plan(lab, 1);
	strbuf_clear(&text);
	for (size_t i = 0; i < plan->grants.n; i++) {
		plan_text_add(&text, plan, &plan->grants.items[i]);
		put_more(&text, plan, &plan->grants.items[i]);
	}
	return text.text;
}

/* Carries out the first plan. */
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
