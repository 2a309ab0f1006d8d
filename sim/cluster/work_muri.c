/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/work_muri.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "policies/stages.h"

#define ITERATION_FACTOR 1.015
#define N_SIZES          6 /* 1, 2, 4 ... 32 GPUs. */

static const struct {
	const char *model;
	double s[N_SIZES];
} overheads[] = {
	{ "vgg16", { 7, 7, 8, 9, 9, 10 } },
	{ "vgg19", { 7, 7, 8, 9, 10, 10 } },
	{ "resnet18", { 4, 5, 5, 7, 7, 7 } },
	{ "shufflenet_v2_x1_0", { 4, 4, 5, 5, 7, 8 } },
	{ "bert", { 10, 10, 10, 10, 10, 10 } },
	{ "gpt2", { 10, 10, 10, 10, 10, 10 } },
	{ "a2c", { 38, 39, 39, 46, 46, 46 } },
	{ "dqn", { 5, 5, 6, 6, 8, 8 } },
};

double
work_muri_overhead_s(const char *model, uint32_t n_gpus)
{
	int size = 0;

	while (size < N_SIZES - 1 && (UINT32_C(1) << size) < n_gpus)
		size++;
	for (size_t i = 0; i < sizeof overheads / sizeof *overheads; i++)
		if (strcmp(overheads[i].model, model) == 0)
			return overheads[i].s[size];
	return 0;
}

/*
 * Computed from milliseconds, as in the simulator: the last digit of the product decides
 * between jobs that would end together.
 */
static double
simulated_iteration_s(double trace_s)
{
	double ms = trace_s * 1000;

	/* The trace has whole milliseconds. */
	if (fabs(ms - rint(ms)) < 1e-9 * ms)
		ms = rint(ms);
	return ms * ITERATION_FACTOR / 1000;
}

void
work_muri_init(struct work_muri *muri, struct cluster_job *jobs, size_t n,
	       const char *(*model)(const void *ctx, uint32_t number), const void *ctx)
{
	*muri = (struct work_muri){
		.n = n,
		.iteration_s = xcalloc(n + 1, sizeof(double)),
		.overhead_s = xcalloc(n + 1, sizeof(double)),
		.lost_s = xcalloc(n + 1, sizeof(double)),
		.left = xcalloc(n + 1, sizeof(double)),
	};
	for (size_t i = 0; i < n; i++) {
		muri->iteration_s[i] = simulated_iteration_s(jobs[i].iteration_s);
		muri->overhead_s[i] =
			work_muri_overhead_s(model(ctx, jobs[i].model), jobs[i].n_gpus);
		muri->left[i] = jobs[i].iterations;
		if (isnan(jobs[i].predicted_s))
			jobs[i].predicted_s = jobs[i].duration_s;
		jobs[i].duration_s = jobs[i].iterations * muri->iteration_s[i];
	}
}

/*
 * All of a group restart, but not a guest's hosts; what they have in a cycle is less.
 */
static double
speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
      uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	struct work_muri *muri = ctx;

	muri->lost_s[job->id] = muri->overhead_s[job->id];
	for (uint32_t i = 0; !job->is_opportunistic && i < n_mates; i++)
		muri->lost_s[job->id] += muri->overhead_s[mates[i]->id];
	return stages_speed(NULL, job, n_gpus, n_nodes, type, mates, n_mates);
}

static void
advance(void *ctx, struct pol_job *job, double speed, double from_s, double to_s)
{
	struct work_muri *muri = ctx;
	double iteration_s = muri->iteration_s[job->id];

	muri->left[job->id] -=
		fmax(to_s - from_s - muri->lost_s[job->id], 0) * speed / iteration_s;
	job->remaining_s = muri->left[job->id] * iteration_s;
	/* In this order: whether a limit is attained depends on the last digit. */
	job->executed_s = job->executed_s + to_s - from_s;
}

struct cluster_work
work_muri_work(struct work_muri *muri)
{
	return (struct cluster_work){ .ctx = muri,
				      .speed = { .ctx = muri, .speed = speed },
				      .advance = advance };
}

void
work_muri_fini(struct work_muri *muri)
{
	free(muri->iteration_s);
	free(muri->overhead_s);
	free(muri->lost_s);
	free(muri->left);
	*muri = (struct work_muri){ 0 };
}
