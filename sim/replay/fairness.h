/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fairness.h - long-term fairness of GPU time, of users and of their jobs, as Astraea
 * (TPDS 2021) measures it.
 *
 * GPU time used over GPU time deserved; 1: what was deserved.  A user deserves at any
 * time the smaller of the GPUs that its jobs want and its quota, an equal part of the
 * cluster; a job the smaller of its GPUs and an equal part of its user's quota.  A job
 * wants GPUs from its submission to its end.
 *
 * Pure.  O(n log n), times the number of distinct sizes of jobs.
 */
#ifndef SIM_REPLAY_FAIRNESS_H
#define SIM_REPLAY_FAIRNESS_H

#include "sim/cluster/cluster.h"

struct fairness {
	uint32_t n_users; /* 0: no job has a user, and the rest is NAN. */
	double user_least, user_mean;
	double job_least, job_mean;
};

/* 'until_s' is the end of jobs that have not ended.  Jobs without a user are left out. */
struct fairness fairness_of(const struct cluster_job *jobs,
			    const struct cluster_result *results, size_t n,
			    uint32_t n_gpus, double until_s);

#endif
