/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crux_jobs.h - Crux's paths and priorities of jobs on a fabric.
 *
 * Turns placed jobs into the arrays of crux.h, and their result into paths and
 * priorities.  W is the GPU seconds of an iteration: a simulated job has no count of
 * operations, and GPUs are alike.  An iteration of several bursts becomes one burst that
 * ends with the isolated iteration:
 *
 *	compute_s = sum of the computing of its segments
 *	offset_s  = isolated iteration time - bytes / rate of its interface
 *
 * A flow chooses among its present path and at most CRUX_MAX_PATHS others, evenly
 * numbered, and stays on its path unless another one is less congested.
 */
#ifndef SIM_BASELINES_CRUX_JOBS_H
#define SIM_BASELINES_CRUX_JOBS_H

#include "sim/baselines/baseline.h"

/* Chosen: leaf-spines and pods have fewer; each costs O(hops) a flow. */
#define CRUX_MAX_PATHS 64

/*
 * As baseline_route(); without 'has_priorities', priorities stay 0.
 * O(flows * paths * hops), and as crux_priorities() and crux_levels_find().
 */
int crux_choose(struct baseline_job *jobs, size_t n, const struct topo *topo,
		struct routes *routes, bool has_priorities, uint64_t seed);

#endif
