/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_work_epochs.c - measured applications under elastic policies, against the
 * published times of Pollux's simulator
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "sim/apps/simplices.h"
#include "sim/apps/work_epochs.h"
#include "sim/trace/columns.h"
#include "sim/trace/lines.h"
#include "tests/unit/test.h"

#define ARCHIVE \
	"../shared/data/traces/pollux/pollux_osdi21_workloads_profiles_results.tar.xz"
#define GOLDEN  "../shared/data/golden/perjob/pollux_%s_jobload1.0_jcts.json"
#define N_NODES 16
#define N_JOBS  160

static uint32_t gpus[N_NODES], zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 64 };

struct lab {
	struct app *apps;
	size_t n_apps;
	struct epochs_job jobs[N_JOBS];
	char names[N_JOBS][40];
	size_t n;
	double took_s[N_JOBS];
};

static void
lab_init(struct lab *lab)
{
	struct lines *lines;
	struct err err = { 0 };
	char *line, *fields[COLUMNS_MAX];
	size_t length;

	for (int i = 0; i < N_NODES; i++)
		gpus[i] = 4;
	*lab = (struct lab){ 0 };
	if (access(ARCHIVE, R_OK) != 0) {
		print_message("no " ARCHIVE "\n");
		skip();
	}
	if (apps_read(ARCHIVE ":traces", NULL, &lab->apps, &lab->n_apps, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(lines_open(ARCHIVE ":workloads/workload-6.csv", &lines, &err),
			 0);
	while (lines_next(lines, &line, &length, &err) > 0) {
		struct epochs_job *job = &lab->jobs[lab->n];

		assert_int_equal(columns_split(line, ',', fields), 5);
		if (lines_number(lines) == 1)
			continue;
		assert_in_range(lab->n, 0, N_JOBS - 1);
		snprintf(lab->names[lab->n], sizeof *lab->names, "%s", fields[0]);
		job->submit_s = atof(fields[1]);
		job->app = apps_find(lab->apps, lab->n_apps, fields[2]);
		job->n_gpus = (uint32_t)atoi(fields[3]);
		job->batch = (uint32_t)atoi(fields[4]);
		assert_non_null(job->app);
		lab->n++;
	}
	lines_close(lines);
}

static void
lab_fini(struct lab *lab)
{
	apps_free(lab->apps, lab->n_apps);
}

/* Returns the mean. */
static double
run(struct lab *lab, const char *name)
{
	/* Short searches: their quality is not tested here. */
	static const char *const sets[] = { "goodput.max_generations=15" };
	const struct policy_spec *spec = policy_find(name);
	const struct policy_opts policy_opts = {
		.seed = 1, .round_s = NAN, .sets = sets, .n_sets = spec->adapts
	};
	const struct epochs_opts opts = { .tick_s = 60,
					  .restart_s = 30,
					  .adapts = spec->adapts };
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;
	struct cluster_opts cluster_opts = { .cluster = &cluster,
					     .until_s = INFINITY,
					     .check = true };
	struct cluster_work work;
	struct epochs *epochs;
	struct policy *policy;
	struct err err = { 0 };
	double sum = 0;
	size_t bad;

	assert_int_equal(epochs_new(lab->jobs, lab->n, &opts, &epochs, jobs, &bad), 0);
	work = epochs_work(epochs);
	cluster_opts.work = &work;
	assert_int_equal(policy_new(spec, &policy_opts, &cluster, &policy, &err), 0);
	assert_int_equal(cluster_run(jobs, lab->n, policy, &cluster_opts, results,
				     &counts, &bad),
			 0);
	policy_free(policy);
	epochs_free(epochs);
	for (size_t i = 0; i < lab->n; i++) {
		lab->took_s[i] = results[i].end_s - lab->jobs[i].submit_s;
		sum += lab->took_s[i];
	}
	return sum / (double)lab->n;
}

/* Number of jobs whose time differs from the published one. */
static size_t
count_others(const struct lab *lab, const char *name)
{
	char path[256], *text;
	const char *workload;
	struct err err = { 0 };
	size_t length, n = 0;

	snprintf(path, sizeof path, GOLDEN, name);
	assert_int_equal(file_read(path, 1 << 24, &text, &length, &err), 0);
	workload = strstr(text, "\"workload-6\"");
	assert_non_null(workload);
	for (size_t i = 0; i < lab->n; i++) {
		char key[64];
		const char *at;

		snprintf(key, sizeof key, "\"%s\": ", lab->names[i]);
		at = strstr(workload, key);
		assert_non_null(at);
		n += !(fabs(lab->took_s[i] - strtod(at + strlen(key), NULL)) < 1e-6);
	}
	free(text);
	return n;
}

static void
tiresias_is_as_published_to_the_second(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab);
	assert_near(run(&lab, "tiresias-rounds"), 3469.69375, 1e-6);
	assert_int_equal(count_others(&lab, "tiresias"), 0);
	lab_fini(&lab);
}

static void
optimus_is_as_published_to_the_second(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab);
	assert_near(run(&lab, "optimus"), 5301.875, 1e-6);
	assert_int_equal(count_others(&lab, "optimus"), 0);
	lab_fini(&lab);
}

/* Only the first jobs, to save time. */
static void
jobs_that_adapt_are_done_sooner(void **state)
{
	double tuned_s, mean_s;
	struct lab lab;

	(void)state;
	lab_init(&lab);
	lab.n = 12;
	tuned_s = run(&lab, "optimus");
	mean_s = run(&lab, "pollux");
	assert_true(mean_s < tuned_s);
	assert_near(run(&lab, "pollux"), mean_s, 0);
	lab_fini(&lab);
}

/* ---- Interpolation --------------------------------------------------------------- */

static double
plane(double x, double y, double z)
{
	return 3 + x - 2 * y + 0.5 * z;
}

/* Grid points lie on spheres; any simplices reproduce a linear function. */
static void
what_is_linear_is_interpolated_as_it_is(void **state)
{
	double points[27][3], values[27];
	struct simplices *s;

	(void)state;
	for (int i = 0; i < 27; i++) {
		points[i][0] = i % 3;
		points[i][1] = i / 3 % 3;
		points[i][2] = 7 * (i / 9);
		values[i] = plane(points[i][0], points[i][1], points[i][2]);
	}
	assert_int_equal(simplices_new(points[0], 27, &s), 0);
	for (int i = 0; i < 64; i++) {
		double at[3] = { i % 4 * 0.6, i / 4 % 4 * 0.5, i / 16 * 4.5 };
		double weights[4], sum = 0;
		uint32_t corners[4];

		assert_true(simplices_find(s, at, corners, weights));
		for (int k = 0; k < 4; k++)
			sum += weights[k] * values[corners[k]];
		assert_near(sum, plane(at[0], at[1], at[2]), 1e-9);
	}
	assert_false(simplices_find(s, (const double[]){ 1, 1, 14.5 },
				    (uint32_t[4]){ 0 }, (double[4]){ 0 }));
	simplices_free(s);
	for (int i = 0; i < 27; i++)
		points[i][2] = 1;
	assert_int_equal(simplices_new(points[0], 27, &s), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_linear_is_interpolated_as_it_is),
		cmocka_unit_test(tiresias_is_as_published_to_the_second),
		cmocka_unit_test(optimus_is_as_published_to_the_second),
		cmocka_unit_test(jobs_that_adapt_are_done_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
