/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_batches.h - jobs of a replay whose batch size changes: how long their epochs
 * take, and what they report to the policy (policies/regimes.h).
 *
 * The duration of such a job is that of its epochs, each at the measured speed of its
 * batch size; the work that is left, in seconds, says in which epoch it is.
 */
#ifndef SIM_REPLAY_REPLAY_BATCHES_H
#define SIM_REPLAY_REPLAY_BATCHES_H

#include "lib/base/vec.h"
#include "policies/regimes.h"
#include "sim/cluster/cluster.h"
#include "sim/replay/throughputs.h"

/* Epochs of the same batch size; the last one of a job may be a part. */
struct batch_phase {
	uint32_t batch;
	double n_epochs, epoch_s;
};

struct replay_batches {
	VEC(struct batch_phase) phases; /* Of all jobs. */
	VEC(uint32_t) ends;             /* By job, in 'phases'. */
};

/*
 * Adds the next job and sets its duration, on GPUs of 'type'.  A job has no phases, and
 * keeps its duration, if its batch size stays, or its model, its number of steps or the
 * speed of one of its batch sizes is not known.
 */
void replay_batches_add(struct replay_batches *batches, const struct throughputs *table,
			uint32_t type, const char *model, struct cluster_job *job);
void replay_batches_fini(struct replay_batches *batches); /* Accepts a zeroed one. */

/* As struct pol_report; 'batches' is the context. */
bool replay_batches_report(void *batches, const struct pol_job *job,
			   struct regimes *ret_regimes);

#endif
