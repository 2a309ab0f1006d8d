/*
 * zoo.h - the models of a folder (antiphase.model/1), and which of them jobs train.
 */
#ifndef SIM_ZOO_H
#define SIM_ZOO_H

#include "scheduler/core/workload/model.h"
#include "sim/joblist.h"

struct err;

struct zoo {
	struct work_model *models; /* Owned; in the order of their files' names. */
	size_t n;
};

/* All "*.json" of a folder.  0 or -errno with 'err' filled. */
int zoo_load(const char *folder, struct zoo *ret_zoo, struct err *err);
void zoo_fini(struct zoo *zoo); /* Accepts a zeroed one. */

/*
 * Numbers in 'zoo' of the models of jobs; free with free().  A job whose trace names a model
 * that is there has that; another one's is drawn by its position and the seed, and counted.
 * Those of less than 'min_gpus' have none.
 */
uint32_t *zoo_models_of(const struct zoo *zoo, const struct joblist *list,
			uint32_t min_gpus, uint64_t seed, uint64_t *ret_n_drawn);

/* The share of its parameters that one tensor has; 0: not known, as of POL_NONE. */
double zoo_skew(const struct zoo *zoo, uint32_t model);

#endif
