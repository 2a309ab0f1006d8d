/*
 * cluster_lab.h - jobs on a cluster under a policy by its name, from the first to the last.
 */
#ifndef TESTS_UNIT_CLUSTER_LAB_H
#define TESTS_UNIT_CLUSTER_LAB_H

#include <math.h>

#include "lib/base/err.h"
#include "scheduler/policy/policy.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

/* With the parameter 'set' ("name=value"), or NULL; at fixed rates, invariants checked. */
static void
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
}

#endif
