/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_muri.h - progress of jobs as in Muri's simulator (SIGCOMM 2022), on which its
 * published numbers depend.
 *
 * An iteration takes 1.015 of the trace's time.  At every event each running job loses
 * the restart time of its model and number of GPUs, whether it restarts or not.
 */
#ifndef SIM_CLUSTER_WORK_MURI_H
#define SIM_CLUSTER_WORK_MURI_H

#include "sim/cluster/cluster.h"

struct work_muri {
	size_t n;
	/* By job; lost_s: at an event, with the jobs on the same GPUs. */
	double *iteration_s, *overhead_s, *lost_s;
	double *left; /* Iterations. */
};

/* Restart time of a model ("vgg16") on n_gpus GPUs; 0: unknown. */
double work_muri_overhead_s(const char *model, uint32_t n_gpus);

/*
 * For one run of 'jobs', whose iterations and iteration_s are known.  Sets their
 * duration_s to the simulated one, and predicted_s, if unknown, to the trace's.
 * 'model' returns a model's name by number.
 */
void work_muri_init(struct work_muri *muri, struct cluster_job *jobs, size_t n,
		    const char *(*model)(const void *ctx, uint32_t number),
		    const void *ctx);
struct cluster_work work_muri_work(struct work_muri *muri);
void work_muri_fini(struct work_muri *muri);

#endif
