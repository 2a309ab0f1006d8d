/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_app_types.c - applications measured on two types of GPUs, in files made up here:
 * type 'fast' is three times as fast as type 'slow'
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/apps/work_epochs.h"
#include "tests/unit/test.h"

#define N_EPOCHS 100 /* The most of an application. */
#define SLOW     0
#define FAST     1

static const struct {
	const char *name;
	unsigned first, n;
} names[] = { { "bert", 12, 6 },      { "cifar10", 128, 6 }, { "deepspeech2", 20, 6 },
	      { "imagenet", 200, 7 }, { "ncf", 256, 8 },     { "yolov3", 8, 7 } };

#define N_APPS (sizeof names / sizeof *names)

static FILE *
open_file(const char *folder, const char *app, const char *name)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s/%s", folder, app, name);
	file = fopen(path, "w");
	assert_non_null(file);
	return file;
}

/* A step takes 0.1 s and 1 ms a sample, whatever the number of GPUs, over 'speed'. */
static void
write_steps(const char *folder, const char *app, const char *type, double speed)
{
	static const int places[] = { 1, 2, 4, 22, 44 };
	char name[64];
	FILE *file;

	snprintf(name, sizeof name, "placements-%s.csv", type);
	file = open_file(folder, app, name);
	fprintf(file, "local_bsz,step_time,sync_time,placement\n");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		for (int local = 1; local <= 1024; local *= 2)
			fprintf(file, "%d,%.9g,%.9g,%d\n", local,
				(0.1 + 0.001 * local) / speed, 0.01 / speed, places[i]);
	fclose(file);
	snprintf(name, sizeof name, "scalability-%s.csv", type);
	file = open_file(folder, app, name);
	fprintf(file, "num_nodes,num_replicas,local_bsz,step_time,sync_time\n");
	for (int nodes = 1; nodes <= 4; nodes += 3)
		for (int gpus = nodes; gpus <= 16; gpus += 16 - nodes)
			for (int local = 1; local <= 512; local *= 8)
				fprintf(file, "%d,%d,%d,%.9g,%.9g\n", nodes, gpus,
					local, (0.1 + 0.001 * local) / speed,
					0.01 / speed);
	fclose(file);
}

/* Ten iterations an epoch, and so little noise that a batch is worth its size. */
static void
write_app(const char *folder, size_t which)
{
	char path[256], name[64];

	snprintf(path, sizeof path, "%s/%s", folder, names[which].name);
	assert_int_equal(mkdir(path, 0700), 0);
	write_steps(folder, names[which].name, "slow", 1);
	write_steps(folder, names[which].name, "fast", 3);
	for (unsigned i = 0; i < names[which].n; i++) {
		FILE *file;

		snprintf(name, sizeof name, "validation-%u.csv",
			 names[which].first << i);
		file = open_file(folder, names[which].name, name);
		fprintf(file, "progress,iteration,grad_sqr,grad_var\n");
		for (int epoch = 1; epoch <= N_EPOCHS; epoch++)
			fprintf(file, "%d,%d,1,1e6\n", 10 * epoch, 10 * epoch);
		fclose(file);
	}
}

struct lab {
	char folder[40];
	struct app apps[2 * N_APPS]; /* Slow, then fast. */
	uint32_t gpus[2], zeros[2], types[2];
	struct pol_cluster cluster; /* A node of each type. */
	const struct app *cifar;    /* On the first type. */
};

static void
lab_init(struct lab *lab)
{
	struct err err = { 0 };

	*lab = (struct lab){ .folder = "/tmp/antiphase-apps-XXXXXX",
			     .gpus = { 4, 4 },
			     .types = { SLOW, FAST } };
	lab->cluster = (struct pol_cluster){ .n_nodes = 2,
					     .n_racks = 1,
					     .n_types = 2,
					     .n_gpus = lab->gpus,
					     .rack_of = lab->zeros,
					     .type_of = lab->types,
					     .n_all_gpus = 8 };
	assert_non_null(mkdtemp(lab->folder));
	for (size_t i = 0; i < N_APPS; i++)
		write_app(lab->folder, i);
	for (int type = 0; type < 2; type++) {
		struct app *apps;
		size_t n;

		if (apps_read(lab->folder, type == SLOW ? "slow" : "fast", &apps, &n,
			      &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(n, N_APPS);
		memcpy(lab->apps + type * N_APPS, apps, sizeof *apps * N_APPS);
		free(apps);
	}
	lab->cifar = apps_find(lab->apps, N_APPS, "cifar10");
}

static void
lab_fini(struct lab *lab)
{
	char command[64];

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < N_APPS; k++) {
			/* The arrays are this lab's; what they own is freed. */
			struct app *one = xcalloc(1, sizeof *one);

			*one = lab->apps[i * N_APPS + k];
			apps_free(one, 1);
		}
	snprintf(command, sizeof command, "rm -r %s", lab->folder);
	assert_int_equal(system(command), 0);
}

/* Runs jobs of cifar10 under a policy; returns the time of the first. */
static double
run_jobs(struct lab *lab, const char *name, const struct epochs_job *in, size_t n,
	 double restart_s, bool moves_are_free)
{
	const struct policy_spec *spec = policy_find(name);
	const struct policy_opts policy_opts = { .seed = 1,
						 .round_s = 60,
						 .restart_s = 0 };
	const struct epochs_opts opts = { .tick_s = 60,
					  .restart_s = restart_s,
					  .adapts = spec->adapts,
					  .moves_are_free = moves_are_free,
					  .cluster = &lab->cluster,
					  .stride = N_APPS };
	struct cluster_job jobs[2];
	struct cluster_result results[2];
	struct cluster_counts counts;
	struct cluster_work work;
	const struct cluster_opts cluster_opts = { .cluster = &lab->cluster,
						   .work = &work,
						   .until_s = INFINITY,
						   .check = true };
	struct epochs *epochs;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(epochs_new(in, n, &opts, &epochs, jobs, &bad), 0);
	work = epochs_work(epochs);
	assert_int_equal(policy_new(spec, &policy_opts, &lab->cluster, &policy, &err),
			 0);
	assert_int_equal(
		cluster_run(jobs, n, policy, &cluster_opts, results, &counts, &bad), 0);
	policy_free(policy);
	epochs_free(epochs);
	return results[0].end_s - results[0].first_s;
}

static double
run(struct lab *lab, const char *name, uint32_t n_gpus, double restart_s)
{
	const struct epochs_job in = { .app = lab->cifar,
				       .n_gpus = n_gpus,
				       .batch = 512 };

	return run_jobs(lab, name, &in, 1, restart_s, false);
}

static void
a_job_is_as_fast_as_on_its_type(void **state)
{
	struct lab lab;
	double slow_s, fast_s;

	(void)state;
	lab_init(&lab);
	lab.types[1] = SLOW;
	slow_s = run(&lab, "tiresias-rounds", 4, 0);
	lab.cluster.n_types = 1;
	lab.cifar += N_APPS;
	fast_s = run(&lab, "tiresias-rounds", 4, 0);
	/* 1000 / 4 iterations of 0.1 s + 128 ms, with the slowdown of cifar10; epochs
	 * end at whole seconds. */
	assert_near(slow_s, 250 * 0.228 * 1.8, 50);
	assert_near(fast_s, slow_s / 3, 50);
	lab_fini(&lab);
}

static void
each_start_takes_what_the_application_takes(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab);
	assert_near(run(&lab, "tiresias-rounds", 4, NAN),
		    run(&lab, "tiresias-rounds", 4, 0) + 50, 10);
	lab_fini(&lab);
}

/* The second job is placed first, and takes the GPUs of the first one. */
static void
a_move_to_like_nodes_takes_a_restart_unless_it_is_free(void **state)
{
	struct epochs_job in[2];
	struct lab lab;
	double still_s, free_s, paid_s;

	(void)state;
	lab_init(&lab);
	lab.types[1] = SLOW;
	in[0] = (struct epochs_job){ .app = lab.cifar, .n_gpus = 2, .batch = 512 };
	in[1] = in[0];
	in[1].n_gpus = 4;
	in[1].submit_s = 100;
	still_s = run_jobs(&lab, "gavel-throughput", in, 1, NAN, false);
	free_s = run_jobs(&lab, "gavel-throughput", in, 2, NAN, true);
	paid_s = run_jobs(&lab, "gavel-throughput", in, 2, NAN, false);
	assert_near(free_s, still_s, 1);
	assert_near(paid_s, still_s + 50, 10);
	lab_fini(&lab);
}

/* Eight GPUs of two types: as fast as the four of the first type, no faster. */
static void
gpus_of_another_type_do_not_help(void **state)
{
	struct lab lab;
	double four_s, eight_s;

	(void)state;
	lab_init(&lab);
	lab.types[1] = SLOW;
	four_s = run(&lab, "tiresias-rounds", 4, 0);
	lab.types[1] = FAST;
	eight_s = run(&lab, "tiresias-rounds", 8, 0);
	assert_true(eight_s >= four_s - 1);
	lab_fini(&lab);
}

static void
sia_finds_the_faster_type(void **state)
{
	struct lab lab;
	double both_s, slow_s;

	(void)state;
	lab_init(&lab);
	both_s = run(&lab, "sia", 1, 0);
	lab.types[1] = SLOW;
	slow_s = run(&lab, "sia", 1, 0);
	assert_true(both_s < slow_s);
	lab_fini(&lab);
}

static void
the_batch_is_at_most_what_was_measured(void **state)
{
	static const uint32_t whole[] = { 4, 4 }, many[] = { 4, 4, 4, 4 };
	struct lab lab;

	(void)state;
	lab_init(&lab);
	assert_int_equal(app_max_local(lab.cifar, whole, 2), 1024);
	assert_int_equal(app_max_local(lab.cifar, many, 4), 512);
	lab_fini(&lab);
}

static void
a_type_that_was_not_measured_is_an_error(void **state)
{
	struct lab lab;
	struct err err = { 0 };
	struct app *apps;
	size_t n;

	(void)state;
	lab_init(&lab);
	assert_int_equal(apps_read(lab.folder, "other", &apps, &n, &err), -ENOENT);
	assert_non_null(strstr(err.file, "placements-other.csv"));
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_as_fast_as_on_its_type),
		cmocka_unit_test(each_start_takes_what_the_application_takes),
		cmocka_unit_test(
			a_move_to_like_nodes_takes_a_restart_unless_it_is_free),
		cmocka_unit_test(gpus_of_another_type_do_not_help),
		cmocka_unit_test(sia_finds_the_faster_type),
		cmocka_unit_test(the_batch_is_at_most_what_was_measured),
		cmocka_unit_test(a_type_that_was_not_measured_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
