/*
 * link_subset.h - an engine of some jobs that knows no other links than theirs, so that it is small.
 */
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
 * All arrive at 0 and go on without end; the engine has them in the order of 'jobs'.  Of 'config'
 * all but what tells of links; hosts' own interfaces mark nothing.  0 and an engine for
 * engine_free(), or -EINVAL as engine_add_job().
 */
int link_subset_engine(const struct link_subset_job *jobs, size_t n,
		       const struct topo *topo, const struct engine_config *config,
		       struct engine **ret_engine);

#endif
