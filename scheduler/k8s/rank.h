/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - places for the pods of a job, ranked by the advisor for the extender.
 *
 * The job may go to the offered Nodes that the fabric has, with one free slot each; it
 * is a waiting job of the advisor while it is ranked. Its earlier pods have their nodes
 * already: a place below their leaves is chosen if it is as good as the best. Traffic
 * between them and the new pods is not counted, nor is their own before it is seen.
 *
 * Pure; one advisor_rank(), two for a job with placed pods.
 */
#ifndef SCHEDULER_K8S_RANK_H
#define SCHEDULER_K8S_RANK_H

#include <stddef.h>

#include "scheduler/k8s/extender.h"

struct advisor;
struct profile;
struct topo;

/*
 * Makes the profile of one phase that annotations declare, at 'rate_bps' or the speed
 * of the hosts' links. Returns 0 and a profile to release with profile_fini(), or
 * -ENODATA if nothing valid is declared.
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
