/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predicted.h - predicted durations of jobs, known when they arrive.
 *
 * The trace's prediction if there is one; else the mean duration of ended jobs of the
 * same user and number of GPUs, else of the same user, else of all; 0 while no job has
 * ended.  An oracle uses the actual duration.
 */
#ifndef POLICIES_PREDICTED_H
#define POLICIES_PREDICTED_H

#include "lib/base/vec.h"
#include "policies/view.h"

/* The parameter that sets 'by_oracle', for mechanisms that predict. */
#define PREDICTED_PARAM                                                               \
	{                                                                             \
		"predicted.oracle",                                                   \
			"0: the trace's prediction, or a mean of ended jobs; 1: the " \
			"actual duration",                                            \
			0, 0, 1, true                                                 \
	}

struct predicted_mean {
	uint32_t user, n_gpus; /* POL_NONE, 0: any. */
	double sum_s;
	uint32_t n;
};

struct predicted {
	VEC(struct predicted_mean) means; /* By user and GPUs. */
	bool by_oracle;
};

void predicted_fini(struct predicted *predicted); /* Accepts a zeroed one. */
void predicted_learn(struct predicted *predicted, const struct pol_job *done);
double predicted_duration_s(struct predicted *predicted, const struct pol_job *job);

#endif
