/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - places for the pods of a job: what the extender is told by the advisor.
 *
 * The offered Nodes that the fabric has are where the job may go, one slot of each being
 * free for it; it waits at the advisor for as long as it is ranked.  Pods that came
 * earlier have their nodes already: a place below their leaves is taken if it is as good
 * as the best.  What passes between them and the others is not counted, nor is what they
 * send before it is seen.
 *
 * Pure; one advisor_rank(), two for a job of which pods are placed.
 */
#ifndef SCHEDULER_K8S_RANK_H
#define SCHEDULER_K8S_RANK_H

#include <stddef.h>

#include "scheduler/k8s/extender.h"

struct advisor;
struct profile;
struct topo;

/*
 * The profile of one phase that annotations declare, at 'rate_bps' or as fast as the
 * hosts' links are.  Returns 0 and a profile to release with profile_fini(), or -ENODATA
 * if nothing (sensible) is declared.
 */
int k8s_declared(const struct topo *topo, const struct extender_job *job,
		 struct profile *ret_profile);

/*
 * Ranks places of a job with this profile, as an extender_rank_fn() does.  'topo' is the
 * advisor's.  0, -ENOSPC, -EHOSTUNREACH or another -errno with 'err' filled.
 */
int k8s_rank(struct advisor *advisor, const struct topo *topo,
	     const struct extender_job *job, const struct profile *profile,
	     const char *const *offered, size_t n_offered,
	     struct extender_choice *ret_choice, struct err *err);

#endif
