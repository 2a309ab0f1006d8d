/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jobs/trace_counters.h"

#include <math.h>
#include <stdbool.h>

#include "lib/base/stats.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "sim/jobs/joblist.h"

struct size {
	uint64_t n;
	double gpu_s;
	VEC(double) durations_s; /* Above 0; sorted by trace_counters_sum(). */
};

struct trace_counters {
	struct size sizes[TRACE_COUNTERS_N_SIZES];
	struct strtab *users, *vcs, *models; /* Owned. */
	double first_s, last_s;
	bool has_jobs;
};

struct trace_counters *
trace_counters_new(void)
{
	struct trace_counters *counters = xcalloc(1, sizeof *counters);

	counters->users = strtab_new();
	counters->vcs = strtab_new();
	counters->models = strtab_new();
	return counters;
}

void
trace_counters_free(struct trace_counters *counters)
{
	if (!counters)
		return;
	for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++)
		vec_free(&counters->sizes[s].durations_s);
	strtab_free(counters->users);
	strtab_free(counters->vcs);
	strtab_free(counters->models);
	free(counters);
}

static size_t
size_of(uint32_t n_gpus)
{
	size_t i = 0;

	while (i < TRACE_COUNTERS_N_SIZES - 1 && (UINT32_C(1) << i) < n_gpus)
		i++;
	return i;
}

static void
note_name(struct strtab *names, const char *name)
{
	if (*name)
		strtab_intern(names, name);
}

void
trace_counters_add(struct trace_counters *counters, const struct jobtrace_job *job)
{
	struct size *size = &counters->sizes[size_of(job->n_gpus)];
	double duration_s = joblist_duration_s(job);

	size->n++;
	if (duration_s > 0) {
		size->gpu_s += duration_s * job->n_gpus;
		vec_push(&size->durations_s, duration_s);
	}
	note_name(counters->users, job->user);
	note_name(counters->vcs, job->vc);
	note_name(counters->models, job->model);
	if (!counters->has_jobs || job->submit_s < counters->first_s)
		counters->first_s = job->submit_s;
	if (!counters->has_jobs || job->submit_s > counters->last_s)
		counters->last_s = job->submit_s;
	counters->has_jobs = true;
}

/* The smallest remaining duration of any size; there is one. */
static double
take_next(const struct trace_counters *counters, size_t *taken)
{
	size_t from = TRACE_COUNTERS_N_SIZES;
	double next_s = INFINITY;

	for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++) {
		const struct size *size = &counters->sizes[s];

		if (taken[s] == size->durations_s.n ||
		    (from < TRACE_COUNTERS_N_SIZES &&
		     size->durations_s.items[taken[s]] >= next_s))
			continue;
		next_s = size->durations_s.items[taken[s]];
		from = s;
	}
	taken[from]++;
	return next_s;
}

/* Merges the sorted durations of all sizes, without an array for the result. */
static void
sum_durations(const struct trace_counters *counters, struct trace_counters_sums *sums)
{
	size_t taken[TRACE_COUNTERS_N_SIZES] = { 0 };
	uint64_t n = sums->n_known;
	uint64_t middle = n ? (n - 1) / 2 : 0, p99 = (uint64_t)(0.99 * (double)n);
	double sum_s = 0, pair_s[2] = { 0 };

	sums->mean_s = sums->median_s = sums->p99_s = sums->max_s = NAN;
	for (uint64_t i = 0; i < n; i++) {
		double duration_s = take_next(counters, taken);

		sum_s += duration_s;
		if (i == middle || i == middle + 1)
			pair_s[i - middle] = duration_s;
		if (i == p99)
			sums->p99_s = duration_s;
		sums->max_s = duration_s;
	}
	if (!n)
		return;
	sums->mean_s = sum_s / (double)n;
	sums->median_s = stats_quantile(pair_s, n % 2 ? 1 : 2, 0.5);
}

void
trace_counters_sum(struct trace_counters *counters,
		   struct trace_counters_sums *ret_sums)
{
	struct trace_counters_sums sums = { .first_s = counters->first_s,
					    .last_s = counters->last_s,
					    .n_users = strtab_n(counters->users),
					    .n_vcs = strtab_n(counters->vcs),
					    .n_models = strtab_n(counters->models) };

	for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++) {
		struct size *in = &counters->sizes[s];
		size_t n_known = in->durations_s.n;

		stats_sort(in->durations_s.items, n_known);
		sums.sizes[s] = (struct trace_counters_size){
			.min_gpus = s ? (UINT32_C(1) << (s - 1)) + 1 : 1,
			.max_gpus = UINT32_C(1) << s,
			.n = in->n,
			.n_known = n_known,
			.gpu_s = in->gpu_s,
			.median_s = n_known ? stats_quantile(in->durations_s.items,
							     n_known, 0.5)
					    : NAN,
		};
		sums.n += in->n;
		sums.n_known += n_known;
		sums.gpu_s += in->gpu_s;
	}
	sum_durations(counters, &sums);
	*ret_sums = sums;
}
