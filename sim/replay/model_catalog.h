/*
 * model_catalog.h - the models of a folder (antiphase.model/1), and which of them jobs train.
 */
#ifndef SIM_REPLAY_MODEL_CATALOG_H
#define SIM_REPLAY_MODEL_CATALOG_H

#include "scheduler/core/workload/model.h"
#include "sim/replay/joblist.h"

struct err;

struct model_catalog {
	struct work_model *models; /* Owned; in the order of their files' names. */
	size_t n;
};

/* All "*.json" of a folder.  0 or -errno with 'err' filled. */
int model_catalog_load(const char *folder, struct model_catalog *ret_zoo,
		       struct err *err);
void model_catalog_fini(struct model_catalog *zoo); /* Accepts a zeroed one. */

/*
 * Numbers in 'zoo' of the models of jobs; free with free().  A job whose trace names a model
 * that is there has that; another one's is drawn by its position and the seed, and counted.
 * Those of less than 'min_gpus' have none.
 */
uint32_t *model_catalog_models_of(const struct model_catalog *zoo,
				  const struct joblist *list, uint32_t min_gpus,
				  uint64_t seed, uint64_t *ret_n_drawn);

/* The share of its parameters that one tensor has; 0: not known, as of POL_NONE. */
double model_catalog_skew(const struct model_catalog *zoo, uint32_t model);

#endif
