/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_lab.h - simulation of a list of jobs on a cluster under a named policy */
#ifndef TESTS_UNIT_CLUSTER_LAB_H
#define TESTS_UNIT_CLUSTER_LAB_H

#include <math.h>

#include "lib/base/err.h"
#include "policies/policy.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

/* A job of fixed size with default values for everything else. */
static inline struct cluster_job
cluster_lab_job(double submit_s, double duration_s, uint32_t n_gpus)
{
	return (struct cluster_job){ .submit_s = submit_s,
				     .duration_s = duration_s,
				     .n_gpus = n_gpus,
				     .max_gpus = n_gpus,
				     .user = POL_NONE,
				     .vc = POL_NONE,
				     .model = POL_NONE,
				     .predicted_s = NAN,
				     .iterations = NAN,
				     .iteration_s = NAN };
}

/*
 * Runs all jobs at fixed rates and checks the invariants.  'set' is one parameter of
 * the policy ("name=value"), or NULL.  Returns the counts of events.
 */
static inline struct cluster_counts
cluster_lab_run(const struct pol_cluster *cluster, const char *policy_name,
		const char *set, const struct cluster_job *jobs, size_t n,
		struct cluster_result *ret_results)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = {
		.cluster = cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	const struct policy_opts policy_opts = { .seed = 1,
						 .sets = &set,
						 .n_sets = set ? 1 : 0,
						 .round_s = NAN,
						 .restart_s = NAN };
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(policy_new(policy_find(policy_name), &policy_opts, cluster,
				    &policy, &err),
			 0);
	assert_int_equal(
		cluster_run(jobs, n, policy, &opts, ret_results, &counts, &bad), 0);
	policy_free(policy);
	return counts;
}

#endif
