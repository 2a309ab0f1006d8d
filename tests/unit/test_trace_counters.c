/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_counters.c - counters of a trace of jobs, against a naive count */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"
#include "sim/jobs/trace_counters.h"
#include "sim/trace/jobtrace.h"
#include "tests/unit/test.h"

static struct jobtrace_job
job_of(uint32_t n_gpus, double submit_s, double duration_s)
{
	struct jobtrace_job job;

	jobtrace_clear(&job);
	job.id = "a";
	job.n_gpus = n_gpus;
	job.submit_s = submit_s;
	job.duration_s = duration_s;
	return job;
}

static void
nothing_is_known_of_no_jobs(void **state)
{
	struct trace_counters *counters = trace_counters_new();
	struct trace_counters_sums sums;

	(void)state;
	trace_counters_sum(counters, &sums);
	assert_int_equal(sums.n, 0);
	assert_int_equal(sums.n_known, 0);
	assert_true(isnan(sums.mean_s) && isnan(sums.median_s));
	assert_true(isnan(sums.p99_s) && isnan(sums.max_s));
	assert_near(sums.last_s - sums.first_s, 0, 0);
	trace_counters_free(counters);
	trace_counters_free(NULL);
}

static void
sizes_are_powers_of_two_and_what_is_between(void **state)
{
	static const struct {
		uint32_t n_gpus, min, max;
	} cases[] = {
		{ 1, 1, 1 }, { 2, 2, 2 },  { 3, 3, 4 },
		{ 4, 3, 4 }, { 5, 5, 8 },  { JOBTRACE_MAX_GPUS, 32769, 65536 },
		{ 8, 5, 8 }, { 9, 9, 16 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct jobtrace_job job = job_of(cases[i].n_gpus, 0, 3);
		struct trace_counters *counters = trace_counters_new();
		struct trace_counters_sums sums;
		size_t n = 0;

		trace_counters_add(counters, &job);
		trace_counters_sum(counters, &sums);
		for (size_t s = 0; s < TRACE_COUNTERS_N_SIZES; s++) {
			const struct trace_counters_size *size = &sums.sizes[s];

			n += size->n;
			if (!size->n) {
				assert_true(isnan(size->median_s));
				continue;
			}
			assert_int_equal(size->min_gpus, cases[i].min);
			assert_int_equal(size->max_gpus, cases[i].max);
			assert_near(size->gpu_s, 3.0 * cases[i].n_gpus, 0);
			assert_near(size->median_s, 3, 0);
		}
		assert_int_equal(n, 1);
		trace_counters_free(counters);
	}
}

/* A job without a known duration counts in all other respects. */
static void
jobs_of_no_known_duration_are_jobs(void **state)
{
	struct jobtrace_job jobs[] = { job_of(2, 50, NAN), job_of(2, -7, 0),
				       job_of(4, 10, NAN) };
	struct trace_counters *counters = trace_counters_new();
	struct trace_counters_sums sums;

	(void)state;
	jobs[2].iterations = 20;
	jobs[2].iteration_s = 0.5;
	for (size_t i = 0; i < 3; i++)
		trace_counters_add(counters, &jobs[i]);
	trace_counters_sum(counters, &sums);
	assert_int_equal(sums.n, 3);
	assert_int_equal(sums.n_known, 1);
	assert_int_equal(sums.sizes[1].n, 2);
	assert_int_equal(sums.sizes[1].n_known, 0);
	assert_near(sums.mean_s, 10, 0);
	assert_near(sums.max_s, 10, 0);
	assert_near(sums.gpu_s, 40, 0);
	assert_near(sums.first_s, -7, 0);
	assert_near(sums.last_s, 50, 0);
	trace_counters_free(counters);
}

static void
names_count_once(void **state)
{
	static const char *const users[] = { "ann", "bob", "ann", "" };
	struct trace_counters *counters = trace_counters_new();
	struct trace_counters_sums sums;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct jobtrace_job job = job_of(1, 0, 1);

		job.user = users[i];
		job.model = "ann";
		trace_counters_add(counters, &job);
	}
	trace_counters_sum(counters, &sums);
	assert_int_equal(sums.n_users, 2);
	assert_int_equal(sums.n_vcs, 0);
	assert_int_equal(sums.n_models, 1);
	trace_counters_free(counters);
}

typedef VEC(double) values;

static void
check_durations(const struct trace_counters_sums *sums, const values *all,
		const values *sizes)
{
	double *sorted = xcalloc(all->n, sizeof *sorted);

	assert_int_equal(sums->n_known, all->n);
	for (size_t i = 0; i < all->n; i++)
		sorted[i] = all->items[i];
	stats_sort(sorted, all->n);
	assert_near(sums->mean_s, stats_mean(sorted, all->n), 0);
	assert_near(sums->median_s, stats_quantile(sorted, all->n, 0.5), 0);
	assert_near(sums->p99_s, sorted[(size_t)(0.99 * (double)all->n)], 0);
	assert_near(sums->max_s, sorted[all->n - 1], 0);
	free(sorted);
	for (size_t s = 0; s < 3; s++) {
		assert_int_equal(sums->sizes[s].n_known, sizes[s].n);
		if (!sizes[s].n)
			continue;
		stats_sort(sizes[s].items, sizes[s].n);
		assert_near(sums->sizes[s].median_s,
			    stats_quantile(sizes[s].items, sizes[s].n, 0.5), 0);
	}
}

/* Exact to the bit after each job; durations are often equal. */
static void
sums_agree_with_those_of_all_jobs(void **state)
{
	struct trace_counters *counters = trace_counters_new();
	values all = VEC_EMPTY, sizes[3] = { VEC_EMPTY };
	double gpu_s[3] = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < 400; i++) {
		uint32_t n_gpus = (uint32_t)rng_below(&rng, 4) + 1;
		double duration_s = (double)rng_below(&rng, 50) / 7 + 0.1;
		struct jobtrace_job job = job_of(n_gpus, i, duration_s);
		size_t s = n_gpus > 2 ? 2 : n_gpus - 1;
		struct trace_counters_sums sums;

		vec_push(&all, duration_s);
		vec_push(&sizes[s], duration_s);
		gpu_s[s] += duration_s * n_gpus;
		trace_counters_add(counters, &job);
		trace_counters_sum(counters, &sums);
		check_durations(&sums, &all, sizes);
		assert_near(sums.gpu_s, gpu_s[0] + gpu_s[1] + gpu_s[2], 0);
	}
	for (size_t s = 0; s < 3; s++)
		vec_free(&sizes[s]);
	vec_free(&all);
	trace_counters_free(counters);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_of_no_jobs),
		cmocka_unit_test(sizes_are_powers_of_two_and_what_is_between),
		cmocka_unit_test(jobs_of_no_known_duration_are_jobs),
		cmocka_unit_test(names_count_once),
		cmocka_unit_test(sums_agree_with_those_of_all_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
