/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_growth.h - batch sizes of jobs that change them while they train, epoch by
 * epoch.
 *
 * Two modes of the traces of Shockwave (NSDI 2023): "gns" doubles the batch size as the
 * gradient noise grows; "accordion" uses the largest one outside of critical regimes,
 * the epochs in which gradients change much.  When this happens was measured there for
 * five models; the figures are those of its public simulator (uw-mad-dash/shockwave
 * 8a44f4a, MIT).  Jobs of other models keep their batch size.
 */
#ifndef SIM_CLUSTER_BATCH_GROWTH_H
#define SIM_CLUSTER_BATCH_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum batch_mode {
	BATCH_STATIC,
	BATCH_ACCORDION,
	BATCH_GNS,
};

struct batch_model {
	const char *name;
	uint32_t n_samples; /* Of an epoch. */
	uint32_t max_batch, min_batch;
};

/* "accordion", "gns"; others are static. */
enum batch_mode batch_mode_of(const char *name);

const struct batch_model *batch_model_find(const char *name); /* Or NULL. */
/* Steps of an epoch. */
int64_t batch_steps(const struct batch_model *model, uint32_t batch);

/*
 * Whether gradients change so much in an epoch that batches must be small, as a running
 * job decides.
 */
bool batch_is_critical(const struct batch_model *model, uint32_t first_batch,
		       int64_t epoch);
/*
 * The batch size in an epoch, of 'n_epochs', as a job's profile says: with a few more
 * critical epochs, and small batches in the first 30 % of an accordion job.
 */
uint32_t batch_of_epoch(const struct batch_model *model, enum batch_mode mode,
			uint32_t first_batch, uint32_t n_gpus, int64_t epoch,
			int64_t n_epochs);

#endif
