/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.h - generated jobs: their kinds and their arrivals.
 *
 *	[jobs]
 *	arrivals = poisson       ; snapshot, burst
 *	gpus = 24                ; of the cluster, to which 'load' and 'burst' refer
 *	nic = 50 Gb/s            ; of a server with one GPU
 *	models = ../models       ; a folder (model_catalog.h), relative to the recipe
 *	names = vgg16 bert       ; of those models; default: all
 *	workers = 1..12
 *	iterations = 200..1000
 *	load = 90 %
 *	count = 60               ; poisson
 *	burst = 50 %             ; burst
 *	burst_at = 2 min         ; burst
 *
 * Models, workers and iterations are drawn uniformly, from one stream per job, so that
 * they do not depend on arrivals.  A job's duration is its iterations times the
 * isolated iteration time, with each worker on its own server under one switch.
 *
 *	poisson   'count' jobs with exponential gaps, so that they use 'load' of the GPU
 *	          time on average
 *	snapshot  all at once, until they request 'load' of the GPUs; the last gets the rest
 *	burst     as snapshot, but in the middle of their iterations; at 'burst_at', new jobs
 *	          that request 'burst' of the GPUs
 *
 * The same recipe and seed give the same jobs.
 */
#ifndef SIM_JOBS_RECIPE_H
#define SIM_JOBS_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/trace/jobtrace.h"

struct err;
struct recipe;

#define RECIPE_MAX_JOBS 1000000

/* Whether a file is a recipe, by its name: "*.ini". */
bool recipe_is(const char *path);

/* Returns 0 or -errno with 'err' filled. */
int recipe_load(const char *path, struct recipe **ret_recipe, struct err *err);
void recipe_free(struct recipe *recipe); /* Accepts NULL. */

/* Mean GPU seconds of a job. */
double recipe_mean_gpu_s(const struct recipe *recipe);

/*
 * Returns the jobs, in order of submission; free with free(). Their texts belong to
 * the recipe until the next call.
 */
struct jobtrace_job *recipe_make(struct recipe *recipe, uint64_t seed, size_t *ret_n);

#endif
