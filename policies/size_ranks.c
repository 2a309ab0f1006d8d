/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_ranks.c - several ranks of a job on each GPU, before another job has to wait
 * (Singularity, arXiv 2022).
 *
 * A job of n ranks may run on ceil(n / k) GPUs, with up to k ranks on each, at 1 / k of
 * its speed, as far as the GPUs' memory allows.  Premium jobs are never shrunk; the
 * others by up to a factor each.  In the order of service, each job gets its least number
 * of GPUs if there is room; then, in the same order, as many as there is room for.  So
 * the last ones are shrunk first, and a job waits only if all behind it do.
 */
#include "policies/order_list.h"
#include "policies/plan.h"
#include "policies/sizes.h"

enum {
	PREMIUM,
	STANDARD,
	MOST_STANDARD,
	MOST_BASIC,
	N_PARAMS,
};

struct state {
	double params[N_PARAMS];
	struct needs capacity; /* The least of all types. */
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	for (int i = 0; i < N_PARAMS; i++)
		s->params[i] = params[i];
	s->capacity = pol_cluster_capacity(cluster, 0);
	for (uint32_t type = 1; type < cluster->n_types; type++) {
		struct needs other = pol_cluster_capacity(cluster, type);
		double *least = &s->capacity.of[NEED_GPU_MEMORY];

		if (other.of[NEED_GPU_MEMORY] > 0 &&
		    (!(*least > 0) || other.of[NEED_GPU_MEMORY] < *least))
			*least = other.of[NEED_GPU_MEMORY];
	}
}

/* The most ranks on a GPU of the job. */
static uint32_t
most_ranks(const struct state *s, const struct pol_job *job)
{
	double memory = job->needs.of[NEED_GPU_MEMORY];
	double room = s->capacity.of[NEED_GPU_MEMORY], most;

	if (job->priority >= s->params[PREMIUM])
		return 1;
	most = job->priority >= s->params[STANDARD] ? s->params[MOST_STANDARD]
						    : s->params[MOST_BASIC];
	if (room > 0 && memory > 0 && memory * most > room)
		most = room / memory;
	return most >= 1 ? (uint32_t)most : 1;
}

static uint32_t
gpus_for(const struct pol_job *job, uint32_t n_ranks)
{
	return (job->n_gpus + n_ranks - 1) / n_ranks;
}

static void
size(void *state, const struct pol_view *view, struct pol_want *wants, uint32_t n)
{
	const struct state *s = state;
	uint32_t n_left = view->cluster->n_all_gpus;

	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[wants[i].job];
		uint32_t n_least = gpus_for(job, most_ranks(s, job));

		wants[i].n_gpus = n_least <= n_left ? n_least : 0;
		n_left -= wants[i].n_gpus;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[wants[i].job];
		uint32_t k = 1;

		if (!wants[i].n_gpus)
			continue;
		while (gpus_for(job, k) > wants[i].n_gpus + n_left)
			k++;
		n_left -= gpus_for(job, k) - wants[i].n_gpus;
		wants[i].n_gpus = gpus_for(job, k);
		wants[i].n_ranks = k;
	}
}

static const struct pol_param params[] = {
	[PREMIUM] = { "ranks.premium_priority",
		      "priority from which a job is premium: it is never shrunk", 2,
		      -1e6, 1e6, true },
	[STANDARD] = { "ranks.standard_priority",
		       "priority from which a job is standard; below it is basic", 1,
		       -1e6, 1e6, true },
	[MOST_STANDARD] = { "ranks.max_standard",
			    "most ranks of a standard job on a GPU", 2, 1, 1024, true },
	[MOST_BASIC] = { "ranks.max_basic", "most ranks of a basic job on a GPU", 4, 1,
			 1024, true },
	[N_PARAMS] = { 0 },
};

const struct pol_size size_ranks = {
	.module = { .name = "ranks",
		    .text = "several ranks of a job on a GPU, before another job has "
			    "to wait",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init },
	.size = size,
};
