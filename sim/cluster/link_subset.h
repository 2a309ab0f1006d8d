/* SPDX-License-Identifier: Apache-2.0 */
/* link_subset.h - a small engine: only the links of some jobs. */
#ifndef SIM_CLUSTER_LINK_SUBSET_H
#define SIM_CLUSTER_LINK_SUBSET_H

#include "scheduler/core/workload/workload.h"

struct link_subset_job {
	const struct work_job *job; /* Borrowed, as the next. */
	const struct routed_job *routed;
	int64_t shift_ns;
	enum engine_pacing pacing;
};

/*
 * Makes an engine with the jobs in the order of 'jobs'; all arrive at 0 and never end.
 * Uses 'config' except for its links; host interfaces mark nothing.  Returns 0 and an
 * engine for engine_free(), or -EINVAL as engine_add_job().
 */
int link_subset_engine(const struct link_subset_job *jobs, size_t n,
		       const struct topo *topo, const struct engine_config *config,
		       struct engine **ret_engine);

#endif
