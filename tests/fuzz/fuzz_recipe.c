/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_recipe.c - texts as recipes of jobs: those of an accepted one are in order, and
 * the same for the same seed
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/jobs/recipe.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

static void
check_jobs(const struct jobtrace_job *jobs, size_t n)
{
	BUG_ON(n > RECIPE_MAX_JOBS);
	for (size_t i = 0; i < n; i++) {
		BUG_ON(!isfinite(jobs[i].submit_s) || !(jobs[i].duration_s > 0) ||
		       !isfinite(jobs[i].duration_s));
		BUG_ON(i && jobs[i].submit_s < jobs[i - 1].submit_s);
		BUG_ON(!jobs[i].id[0] || !jobs[i].n_gpus);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file memory;
	struct recipe *recipe = NULL;
	struct jobtrace_job *jobs;
	struct err err = { 0 };
	double sum_s;
	size_t n, n_again;

	if (recipe_load(memory_file_set(&memory, data, size), &recipe, &err) < 0) {
		BUG_ON(recipe || !err.text[0]);
		return 0;
	}
	BUG_ON(!(recipe_mean_gpu_s(recipe) > 0));
	jobs = recipe_make(recipe, 1, &n);
	check_jobs(jobs, n);
	sum_s = n ? jobs[n - 1].submit_s : 0;
	free(jobs);
	jobs = recipe_make(recipe, 1, &n_again);
	BUG_ON(n_again != n || (n && fabs(jobs[n - 1].submit_s - sum_s) > 0));
	free(jobs);
	recipe_free(recipe);
	return 0;
}
