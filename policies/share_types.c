/* SPDX-License-Identifier: Apache-2.0 */
/* share_types.c - the input of a linear program, from a view. */
#include "policies/share_types.h"

#include <math.h>

#include "policies/plan.h"

void
share_types_fini(struct share_types *s)
{
	vec_free(&s->gpus);
	vec_free(&s->capacity);
	vec_free(&s->values);
}

double
share_speed(const struct pol_view *view, const struct pol_job *job, uint32_t type)
{
	double speed = 1;

	if (view->speed.speed)
		speed = view->speed.speed(view->speed.ctx, job, job->n_gpus, 1, type,
					  NULL, 0);
	if (view->cluster->n_types == 1)
		return speed > 0 ? speed : 1;
	if (pol_cluster_gpus(view->cluster, type) < job->n_gpus)
		return 0;
	return fmax(0, speed);
}

double
share_speed_most(const struct pol_view *view, const struct pol_job *job)
{
	double most = 0;

	for (uint32_t type = 0; type < view->cluster->n_types; type++)
		most = fmax(most, share_speed(view, job, type));
	return most > 0 ? most : 1;
}

void
share_types_read(struct share_types *s, const struct pol_view *view,
		 const uint32_t *ids, uint32_t n)
{
	const struct pol_cluster *cluster = view->cluster;

	n = n < SHARE_TYPES_MAX_JOBS ? n : SHARE_TYPES_MAX_JOBS;
	s->gpus.n = s->capacity.n = s->values.n = 0;
	for (uint32_t type = 0; type < cluster->n_types; type++)
		vec_push(&s->capacity, pol_cluster_gpus(cluster, type));
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->gpus, job->n_gpus);
		for (uint32_t type = 0; type < cluster->n_types; type++)
			vec_push(&s->values, share_speed(view, job, type));
	}
	s->in = (struct shares_types){ .n_jobs = n,
				       .n_types = cluster->n_types,
				       .gpus = s->gpus.items,
				       .capacity = s->capacity.items,
				       .values = s->values.items };
}

double
share_types_mean(const struct share_types *s, uint32_t job)
{
	const double *speeds = s->values.items + (size_t)job * s->in.n_types;
	double sum = 0, n_gpus = 0;

	for (uint32_t type = 0; type < s->in.n_types; type++) {
		sum += speeds[type] * s->capacity.items[type];
		n_gpus += s->capacity.items[type];
	}
	return sum > 0 ? sum / n_gpus : 1;
}

void
share_types_equal(const struct share_types *s, double *ret_shares)
{
	uint32_t n = s->in.n_jobs;
	double n_gpus = 0;

	for (uint32_t type = 0; type < s->in.n_types; type++)
		n_gpus += s->capacity.items[type];
	for (uint32_t i = 0; i < n * s->in.n_types; i++)
		ret_shares[i] =
			s->values.items[i] > 0
				? s->capacity.items[i % s->in.n_types] / fmax(n, n_gpus)
				: 0;
}

void
share_types_end(const struct share_types *s, int r, uint32_t n, double *ret_shares)
{
	if (r < 0)
		share_types_equal(s, ret_shares);
	for (size_t i = (size_t)s->in.n_jobs * s->in.n_types;
	     i < (size_t)n * s->in.n_types; i++)
		ret_shares[i] = 0;
}
