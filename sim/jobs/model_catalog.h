/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_catalog.h - the models of a folder (files of schema antiphase.model/1).
 */
#ifndef SIM_JOBS_MODEL_CATALOG_H
#define SIM_JOBS_MODEL_CATALOG_H

#include "scheduler/core/workload/work_model.h"

struct err;

#define MODEL_NONE UINT32_MAX

struct model_catalog {
	struct work_model *models; /* Owned; in the order of their files' names. */
	size_t n;
};

/* Loads all "*.json" of a folder.  0 or -errno with 'err' filled. */
int model_catalog_load(const char *folder, struct model_catalog *ret_catalog,
		       struct err *err);
void model_catalog_fini(struct model_catalog *catalog); /* Accepts a zeroed one. */

/* The number of the model with that name, or MODEL_NONE. */
uint32_t model_catalog_find(const struct model_catalog *catalog, const char *name);
/* The largest tensor's share of the model's parameters; 0: not known, or MODEL_NONE. */
double model_catalog_skew(const struct model_catalog *catalog, uint32_t model);

#endif
