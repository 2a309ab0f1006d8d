/* SPDX-License-Identifier: Apache-2.0 */
/* predicted.c - means of durations by user and size. */
#include "policies/predicted.h"

#include <math.h>

void
predicted_fini(struct predicted *predicted)
{
	vec_free(&predicted->means);
}

/* The mean of a user and a size, added if new; there are few. */
static struct predicted_mean *
mean_of(struct predicted *p, uint32_t user, uint32_t n_gpus)
{
	for (size_t i = 0; i < p->means.n; i++)
		if (p->means.items[i].user == user &&
		    p->means.items[i].n_gpus == n_gpus)
			return &p->means.items[i];
	vec_push(&p->means,
		 ((struct predicted_mean){ .user = user, .n_gpus = n_gpus }));
	return &p->means.items[p->means.n - 1];
}

static void
learn(struct predicted_mean *mean, const struct pol_job *job)
{
	mean->sum_s += job->duration_s;
	mean->n++;
}

void
predicted_learn(struct predicted *predicted, const struct pol_job *done)
{
	learn(mean_of(predicted, POL_NONE, 0), done);
	if (done->user != POL_NONE)
		learn(mean_of(predicted, done->user, 0), done);
	learn(mean_of(predicted, done->user, done->n_gpus), done);
}

double
predicted_duration_s(struct predicted *predicted, const struct pol_job *job)
{
	const struct predicted_mean *mean;

	if (predicted->by_oracle)
		return job->duration_s;
	if (!isnan(job->predicted_s))
		return job->predicted_s;
	mean = mean_of(predicted, job->user, job->n_gpus);
	if (!mean->n)
		mean = mean_of(predicted, job->user, 0);
	if (!mean->n)
		mean = mean_of(predicted, POL_NONE, 0);
	return mean->n ? mean->sum_s / mean->n : 0;
}
