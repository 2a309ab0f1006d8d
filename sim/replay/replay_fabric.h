/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_fabric.h - the inputs of a replay on a fabric: fabric, models, and the model
 * of each job.
 */
#ifndef SIM_REPLAY_REPLAY_FABRIC_H
#define SIM_REPLAY_REPLAY_FABRIC_H

#include "sim/replay/replay.h"

struct replay_fabric {
	struct topo *topo;
	struct model_catalog catalog;
	uint32_t *model_of;
	uint64_t n_drawn; /* Jobs with a random model. */
};

/*
 * Loads them and points 'opts' to them; jobs with fewer than 'min_gpus' GPUs have no
 * model.  Returns 0 or -errno with 'err' filled.
 */
int replay_fabric_load(const char *fabric, const char *models, uint32_t min_gpus,
		       uint64_t seed, const struct joblist *list,
		       struct replay_opts *opts, struct replay_fabric *ret_fabric,
		       struct err *err);
void replay_fabric_fini(struct replay_fabric *fabric); /* Accepts a zeroed one. */

#endif
