/*
 * work_muri.h - how jobs get on in Muri's simulator (SIGCOMM 2022), which its published
 * numbers depend on: an iteration takes 1.015 times what the trace says, and at every event
 * each running job loses the time of a restart, by its model and GPUs, whether it restarts
 * or not.
 */
#ifndef SIM_CLUSTER_WORK_MURI_H
#define SIM_CLUSTER_WORK_MURI_H

#include "sim/cluster/cluster.h"

struct work_muri {
	size_t n;
	/* Of each job; lost_s: at an event, with those it shares its GPUs with. */
	double *iteration_s, *overhead_s, *lost_s;
	double *left; /* Iterations. */
};

/* Seconds of a restart of a model ("vgg16") on so many GPUs; 0: not known. */
double work_muri_overhead_s(const char *model, uint32_t n_gpus);

/*
 * For one run of 'jobs', whose iterations and iteration_s are known; their duration_s
 * becomes what they are worth, and what it was their predicted_s if they have none.  'models' are the names of models, by number.
 */
void work_muri_init(struct work_muri *muri, struct cluster_job *jobs, size_t n,
		    const char *(*model)(const void *ctx, uint32_t number),
		    const void *ctx);
struct cluster_work work_muri_work(struct work_muri *muri);
void work_muri_fini(struct work_muri *muri);

#endif
