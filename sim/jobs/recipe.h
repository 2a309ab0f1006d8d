/*
 * recipe.h - jobs that are drawn instead of read: what kinds there are, and how they come.
 *
 *	[jobs]
 *	arrivals = poisson       ; snapshot, burst
 *	gpus = 24                ; of the cluster that 'load' and 'burst' are shares of
 *	nic = 50 Gb/s            ; of a server with one GPU
 *	models = ../models       ; a folder (catalog.h); begins where the recipe is
 *	names = vgg16 bert       ; of those; default: all
 *	workers = 1..12
 *	iterations = 200..1000
 *	load = 90 %
 *	count = 60               ; poisson
 *	burst = 50 %             ; burst, as the next
 *	burst_at = 2 min
 *
 * Models, workers and iterations are drawn evenly, each job's by its own stream, so that
 * they do not depend on how jobs come.  A job takes its iterations times what one takes
 * alone, with a worker on each of so many servers under one switch.
 *
 *	poisson   'count' jobs, the gaps exponential, so that they want 'load' of the GPUs'
 *	          time in the mean
 *	snapshot  all at once, until they want 'load' of the GPUs; the last has what is left
 *	burst     the same, but amid their iterations; 'burst_at' later, new ones that want
 *	          'burst' of the GPUs
 *
 * The same recipe and seed make the same jobs.
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

/* Whether a file is one by its name: "*.ini". */
bool recipe_is(const char *path);

/* 0 or -errno with 'err' filled. */
int recipe_load(const char *path, struct recipe **ret_recipe, struct err *err);
void recipe_free(struct recipe *recipe); /* Accepts NULL. */

/* The mean of GPUs times seconds that a job takes. */
double recipe_mean_gpu_s(const struct recipe *recipe);

/*
 * What jobs there are, in order of submission; free with free().  Their texts are the
 * recipe's, as long as nothing more is made of it.
 */
struct jobtrace_job *recipe_make(struct recipe *recipe, uint64_t seed, size_t *ret_n);

#endif
