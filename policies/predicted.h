/*
 * predicted.h - how long a job will take, as far as that can be known when it comes: what
 * its trace foretells, or the mean of the jobs that are done of its user and number of
 * GPUs, else of its user, else of all; 0 for as long as none is.  Or what an oracle knows.
 */
#ifndef POLICIES_PREDICTED_H
#define POLICIES_PREDICTED_H

#include "lib/base/vec.h"
#include "policies/view.h"

/* A parameter that mechanisms which predict have; its value is 'by_oracle'. */
#define PREDICTED_PARAM                                                               \
	{                                                                             \
		"predicted.by",                                                       \
			"0: the trace's prediction, or a mean; 1: an oracle's", 0, 0, \
			1, true                                                       \
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
