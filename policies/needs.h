/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - amounts of the resources beside whole GPUs: what jobs need, and what there
 * is of it.
 *
 * One vector for all resources, always for each GPU: a node has the amount times its
 * GPUs of what these share (CPUs, memory), and each GPU has its own memory and time.
 * An amount of 0 is unknown: a need without effect, a capacity without limit.
 *
 * pol_plan_why_not() (plan.h) checks the sums.
 */
#ifndef POLICIES_NEEDS_H
#define POLICIES_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

enum need {
	NEED_CPUS,       /* In even shares of a node's: 1 for each GPU. */
	NEED_MEMORY,     /* Of the node, GiB for each GPU. */
	NEED_GPU_MEMORY, /* GiB. */
	NEED_GPU_SHARE,  /* Of the time of a GPU; 1: all. */
	N_NEEDS,
};

struct needs {
	double of[N_NEEDS];
};

void needs_add(struct needs *sum, const struct needs *more, double times);
/* Whether the resources from 'first' to 'last' suffice, but for rounding. */
bool needs_fit(const struct needs *sum, const struct needs *capacity, enum need first,
	       enum need last);

/*
 * The least number of GPUs whose memory holds a job that needs 'needs' on each of
 * 'n_gpus': all of its memory is assumed to divide evenly.  At least 1.
 */
uint32_t needs_least_gpus(const struct needs *needs, uint32_t n_gpus,
			  const struct needs *capacity);

#endif
