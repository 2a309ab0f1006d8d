/* SPDX-License-Identifier: Apache-2.0 */
/* isolated.c - isolated times, updated as the number of jobs changes. */
#include "policies/isolated.h"

#include <math.h>

#define LEAST_S 1e-6 /* Least time, above 0. */

void
isolated_fini(struct isolated *isolated)
{
	vec_free(&isolated->jobs);
}

double
isolated_s(struct isolated *isolated, const struct pol_view *view,
	   const struct pol_job *job, double speed, uint32_t n)
{
	double part = (double)view->cluster->n_all_gpus / n;
	double share = fmin(1, (isolated->is_whole ? ceil(part) : part) / job->n_gpus);
	double left_s = fmax(0, job->remaining_s / speed);
	struct isolated_job *it;

	while (isolated->jobs.n <= job->id)
		vec_push(&isolated->jobs, ((struct isolated_job){ 0 }));
	it = &isolated->jobs.items[job->id];
	if (it->share > 0)
		it->past_s += (it->left_s - left_s) / it->share;
	it->left_s = left_s;
	it->share = share;
	return fmax(LEAST_S, it->past_s + left_s / share);
}
