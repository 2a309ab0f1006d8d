/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup_path.c - the job of a control group, by path or by registration */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/jobs/cgroup_path.h"
#include "collector/jobs/cgroups.h"
#include "lib/base/err.h"
#include "tests/unit/test.h"

static const char *
job(const char *path, const char *services)
{
	const struct cgroup_rules rules = { services, NULL };
	static char name[TELE_MAX_NAME + 1];

	return cgroup_job_name(path, CGROUP_ALL_ROOTED, &rules, name) ? name : "(none)";
}

static const char *
job_below(const char *path, const char *roots)
{
	const struct cgroup_rules rules = { NULL, roots };
	static char name[TELE_MAX_NAME + 1];

	return cgroup_job_name(path, CGROUP_ALL_ROOTED, &rules, name) ? name : "(none)";
}

static void
slurm_jobs_have_their_number(void **state)
{
	(void)state;
	assert_string_equal(job("/system.slice/slurmstepd.scope/job_4711/step_0/user/"
				"task_0",
				NULL),
			    "4711");
	assert_string_equal(job("/system.slice/gpu07_slurmstepd.scope/job_12", NULL),
			    "12");
	assert_string_equal(job("/slurm/uid_1000/job_4711/step_batch", NULL), "4711");
	assert_string_equal(job("/slurm_gpu07/uid_1000/job_8/step_extern", NULL), "8");
	assert_string_equal(job("/slurm_antiphase/job_9", NULL), "9");
}

static void
pods_have_their_uid(void **state)
{
	(void)state;
	assert_string_equal(
		job("/kubepods/burstable/pod6e1a2b3c-0001-0002-0003-0123456789ab/3f0c",
		    NULL),
		"pod-6e1a2b3c-0001-0002-0003-0123456789ab");
	assert_string_equal(
		job("/kubepods/pod6e1a2b3c-0001-0002-0003-0123456789ab", NULL),
		"pod-6e1a2b3c-0001-0002-0003-0123456789ab");
	assert_string_equal(
		job("/kubepods.slice/kubepods-burstable.slice/"
		    "kubepods-burstable-pod6e1a2b3c_0001_0002_0003_0123456789ab.slice/"
		    "cri-containerd-3f0c.scope",
		    NULL),
		"pod-6e1a2b3c-0001-0002-0003-0123456789ab");
	assert_string_equal(
		job("/kubelet.slice/kubelet-kubepods.slice/"
		    "kubelet-kubepods-pod0123456789abcdef0123456789abcdef.slice",
		    NULL),
		"pod-0123456789abcdef0123456789abcdef");
}

static void
nothing_is_guessed(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/job_4711",
		"/user.slice/user-1000.slice/job_4711",
		"/slurm/uid_1000",
		"/slurm/uid_1000/job_",
		"/slurm/uid_1000/job_12a",
		"/slurm/uid_1000/job_123456789012345678901",
		"/notslurm/uid_1000/job_5",
		"/pod6e1a2b3c-0001-0002-0003-0123456789ab",
		"/kubepods/burstable",
		"/kubepods/burstable/podxyz",
		"/kubepods/pod",
		"/kubepods.slice/kubepods-pod.slice",
		"/kubepods.slice/kubepods-burstable-pod%s%n%s%n%s.slice",
		"/system.slice/train.service",
	};

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		assert_string_equal(job(paths[i], NULL), "(none)");
}

/* A user with a subtree of his own has all names in it: 28 places, no job in any. */
static void
only_the_schedulers_own_groups_are_jobs(void **state)
{
	static const char *const subtrees[] = {
		"/user.slice",
		"/user.slice/user-1000.slice/user@1000.service/app.slice",
		"/system.slice/theirs.service",
		"/docker/3f0c",
	};
	static const char *const jobs[] = {
		"/slurm_x/job_4711",
		"/slurm/uid_1000/job_4711",
		"/slurmstepd.scope/job_4711",
		"/system.slice/slurmstepd.scope/job_4711",
		"/x_slurmstepd.scope/job_4711/step_0",
		"/kubepods/pod6e1a2b3c-0001-0002-0003-0123456789ab",
		("/kubepods.slice/"
		 "kubepods-pod6e1a2b3c_0001_0002_0003_0123456789ab.slice"),
	};
	static const char *const inner[] = {
		"/slurm/uid_1000/x/job_4711",
		"/slurm/uid_1000/uid_1/job_4711",
		"/system.slice/slurm/job_4711",
		"/system.slice/slurmstepd.scope/system/job_4711",
		"/system.slice/slurmstepd.scope/uid_0/job_4711",
		"/kubepods/x/pod6e1a2b3c-0001-0002-0003-0123456789ab",
		"/kubepods.slice/x.slice/x-pod6e1a2b3c.slice",
		("/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-pod6e1a2b3c.slice"),
		"/x.slice/x-kubepods.slice/x-kubepods-pod6e1a2b3c.slice",
		"/../slurm/job_4711",
	};
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof subtrees / sizeof subtrees[0]; i++) {
		for (size_t k = 0; k < sizeof jobs / sizeof jobs[0]; k++) {
			assert_string_not_equal(job(jobs[k], NULL), "(none)");
			snprintf(path, sizeof path, "%s%s", subtrees[i], jobs[k]);
			assert_string_equal(job(path, NULL), "(none)");
			assert_string_equal(job_below(path, subtrees[i]),
					    job(jobs[k], NULL));
		}
	}
	for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
		assert_string_equal(job(inner[i], NULL), "(none)");
}

static void
only_named_roots_have_layouts_too(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_string_equal(job_below("/lab/slurm_x/job_1", "/a, /lab/"), "1");
	assert_string_equal(job_below("/slurm_x/job_1", "/a"), "1");
	assert_string_equal(job_below("/labs/slurm_x/job_1", "/lab"), "(none)");
	assert_string_equal(job_below("/lab/x/slurm_x/job_1", "/lab"), "(none)");
	assert_int_equal(cgroup_check_roots(NULL, &err), 0);
	assert_int_equal(cgroup_check_roots("", &err), 0);
	assert_int_equal(cgroup_check_roots("/a,/b/c/", &err), 0);
	assert_int_equal(cgroup_check_roots("a", &err), -EINVAL);
	assert_int_equal(cgroup_check_roots("/a,/../b", &err), -EINVAL);
	assert_int_equal(cgroup_check_roots("/a,/user.slice/user-1.slice", &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "/user.slice/user-1.slice"));
}

static void
directories_of_others_name_nothing(void **state)
{
	static const char slurm[] = "/slurm/uid_0/job_17/step_0";
	static const char unit[] = "/system.slice/a.service/b.scope";
	const struct cgroup_rules rules = { "*.service,*.scope", NULL };
	char name[TELE_MAX_NAME + 1];

	(void)state;
	/* The step is the user's, the job must be root's. */
	assert_true(cgroup_job_name(slurm, strlen("/slurm/uid_0/job_17"), NULL, name));
	assert_string_equal(name, "17");
	assert_false(cgroup_job_name(slurm, strlen("/slurm/uid_0"), NULL, name));
	assert_false(cgroup_job_name(slurm, 0, NULL, name));
	/* A unit's directory may be given away, but not what is above it. */
	assert_true(cgroup_job_name(unit, CGROUP_ALL_ROOTED, &rules, name));
	assert_string_equal(name, "b.scope");
	assert_true(cgroup_job_name(unit, strlen("/system.slice"), &rules, name));
	assert_string_equal(name, "a.service");
	assert_false(cgroup_job_name(unit, 0, &rules, name));
}

static void
services_are_jobs_when_asked_for(void **state)
{
	(void)state;
	assert_string_equal(job("/system.slice/train.service", "train*.service"),
			    "train.service");
	assert_string_equal(job("/system.slice/train.service", "x,*.scope"), "(none)");
	assert_string_equal(
		job("/system.slice/b.service/app.slice/a.scope/b", "*.scope,*.service"),
		"a.scope");
	assert_string_equal(job("/user.slice/user-1.slice/user@1.service/app.slice/"
				"train.service",
				"*.scope,*.service"),
			    "(none)");
	assert_string_equal(job("/../a.service", "*"), "(none)");
	assert_string_equal(job("/system.slice/slurmstepd.scope/job_7", "*.scope"),
			    "7");
	assert_string_equal(job("/a.slice", "*"), "(none)");
	assert_string_equal(job("/x\x01y.service", "*"), "(none)");
}

static bool
find(const char *text, char path[64])
{
	return cgroup_find_mount(text, strlen(text), path, 64);
}

static void
the_mount_is_found_wherever_it_is(void **state)
{
	char path[64];

	(void)state;
	assert_true(
		find("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
		     "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		     "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		     path));
	assert_string_equal(path, "/sys/fs/cgroup/unified");
	/* Optional fields, an escaped blank, no newline at the end. */
	assert_true(find("41 31 0:38 / /a\\040b rw shared:1 master:2 - cgroup2 x rw",
			 path));
	assert_string_equal(path, "/a b");
	/* A partial mount only if there is no better one. */
	assert_true(find("1 1 0:38 /pod /part rw - cgroup2 x rw\n"
			 "2 1 0:38 / /whole rw - cgroup2 x rw\n",
			 path));
	assert_string_equal(path, "/whole");
	assert_true(find("1 1 0:38 /pod /part rw - cgroup2 x rw\n", path));
	assert_string_equal(path, "/part");
}

static void
no_mount_is_made_up(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"cgroup2",
		"1 2 3 4 5 6 7 8 9",
		"31 23 0:28 / /sys/fs/cgroup rw - tmpfs cgroup2 rw\n",
		"31 23 0:28 / /sys/fs/cgroup2 rw -",
		"31 23 0:28 / /a\\000b rw - cgroup2 x rw\n",
		"1 1 0:1 / /012345678901234567893456789012345678901234567890123456789012345678901234 rw - cgroup2 x rw\n",
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_false(find(texts[i], path));
}

/* ---- The table, on a tree of plain directories ----------------------------------- */

struct tree {
	char root[64];
	struct cgroups *cgroups;
};

static uint64_t
make(struct tree *tree, const char *path)
{
	char whole[256];
	struct stat status;

	snprintf(whole, sizeof whole, "%s/%s", tree->root, path);
	assert_true(mkdir(whole, 0755) == 0 || errno == EEXIST);
	assert_int_equal(stat(whole, &status), 0);
	return status.st_ino;
}

static int
begin(void **state)
{
	struct tree *tree = calloc(1, sizeof *tree);
	char real[PATH_MAX];

	strcpy(tree->root, "/tmp/antiphase-cgroup-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	assert_non_null(realpath(tree->root, real));
	assert_true(strlen(real) < sizeof tree->root);
	strcpy(tree->root, real);
	assert_int_equal(cgroups_open(tree->root, NULL, &tree->cgroups, NULL), 0);
	*state = tree;
	return 0;
}

static int
end(void **state)
{
	struct tree *tree = *state;
	char command[128];

	cgroups_close(tree->cgroups);
	snprintf(command, sizeof command, "rm -r %s", tree->root);
	assert_int_equal(system(command), 0);
	free(tree);
	return 0;
}

static void
ids_are_those_of_directories(void **state)
{
	struct tree *tree = *state;
	uint64_t slurm = make(tree, "slurm"), one;

	make(tree, "slurm/uid_0");
	one = make(tree, "slurm/uid_0/job_17");
	assert_null(cgroups_job(tree->cgroups, one));
	assert_int_equal(cgroups_scan(tree->cgroups), 4);
	assert_string_equal(cgroups_job(tree->cgroups, one), "17");
	assert_string_equal(cgroups_job(tree->cgroups, slurm), "");
	assert_null(cgroups_job(tree->cgroups, 1));
}

/* The path of a directory in 'tree'. */
static const char *
at(const struct tree *tree, const char *path)
{
	static char whole[256];

	snprintf(whole, sizeof whole, "%s/%s", tree->root, path);
	return whole;
}

static void
a_group_that_others_may_make_is_no_job(void **state)
{
	struct tree *tree = *state;
	char name[TELE_MAX_NAME + 1];
	uint64_t ours, theirs, open;

	make(tree, "slurm");
	ours = make(tree, "slurm/job_1");
	make(tree, "slurm/uid_7");
	theirs = make(tree, "slurm/uid_7/job_2");
	make(tree, "slurm_open");
	open = make(tree, "slurm_open/job_3");
	assert_int_equal(chmod(at(tree, "slurm_open"), 0777), 0);
	/* Only root can give a directory away. */
	if (geteuid() == 0)
		assert_int_equal(chown(at(tree, "slurm/uid_7"), 7, 7), 0);
	else
		assert_int_equal(chmod(at(tree, "slurm/uid_7"), 0775), 0);
	cgroups_scan(tree->cgroups);
	assert_string_equal(cgroups_job(tree->cgroups, ours), "1");
	assert_string_equal(cgroups_job(tree->cgroups, theirs), "");
	assert_string_equal(cgroups_job(tree->cgroups, open), "");
	assert_int_equal(cgroups_n_refused(tree->cgroups), 2);
	assert_true(cgroups_job_of_path(tree->cgroups, "/slurm/job_1/step_0", name));
	assert_string_equal(name, "1");
	assert_false(cgroups_job_of_path(tree->cgroups, "/slurm/uid_7/job_2", name));
	assert_false(cgroups_job_of_path(tree->cgroups, "/slurm_open/job_3/x", name));
	/* Registered by hand it is one, and its name counts again once it is root's. */
	assert_int_equal(
		cgroups_register(tree->cgroups, "mine", "/slurm_open/job_3", NULL), 0);
	assert_true(cgroups_job_of_path(tree->cgroups, "/slurm_open/job_3/x", name));
	assert_string_equal(name, "mine");
	assert_int_equal(chmod(at(tree, "slurm/uid_7"), 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(at(tree, "slurm/uid_7"), 0, 0), 0);
	cgroups_scan(tree->cgroups);
	assert_string_equal(cgroups_job(tree->cgroups, theirs), "2");
	assert_true(cgroups_job_of_path(tree->cgroups, "/slurm/uid_7/job_2", name));
}

static void
a_tree_that_is_not_there_is_told(void **state)
{
	struct cgroups *cgroups;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(cgroups_open("/no/such/tree", NULL, &cgroups, &err), -ENOENT);
	assert_string_equal(err.file, "/no/such/tree");
}

static void
what_is_gone_is_not_known_any_more(void **state)
{
	struct tree *tree = *state;
	uint64_t one = make(tree, "a");
	char path[128];

	cgroups_scan(tree->cgroups);
	assert_non_null(cgroups_job(tree->cgroups, one));
	snprintf(path, sizeof path, "%s/a", tree->root);
	assert_int_equal(rmdir(path), 0);
	cgroups_scan(tree->cgroups);
	assert_null(cgroups_job(tree->cgroups, one));
}

static void
registrations_go_before_paths_and_the_longest_first(void **state)
{
	struct tree *tree = *state;
	uint64_t a = make(tree, "slurm"), b = make(tree, "slurm/job_5"),
		 c = make(tree, "slurm/job_5/x"), d = make(tree, "slurm/job_55");
	uint64_t generation = cgroups_generation(tree->cgroups);
	char name[TELE_MAX_NAME + 1];

	cgroups_scan(tree->cgroups);
	assert_string_equal(cgroups_job(tree->cgroups, b), "5");
	assert_int_equal(cgroups_register(tree->cgroups, "mine", "slurm/job_5/", NULL),
			 0);
	assert_true(cgroups_generation(tree->cgroups) != generation);
	assert_string_equal(cgroups_job(tree->cgroups, a), "");
	assert_string_equal(cgroups_job(tree->cgroups, b), "mine");
	assert_string_equal(cgroups_job(tree->cgroups, c), "mine");
	assert_string_equal(cgroups_job(tree->cgroups, d), "55");
	assert_int_equal(
		cgroups_register(tree->cgroups, "inner", "/slurm/job_5/x", NULL), 0);
	assert_string_equal(cgroups_job(tree->cgroups, c), "inner");
	assert_true(cgroups_job_of_path(tree->cgroups, "/slurm/job_5/x/y", name));
	assert_string_equal(name, "inner");
	make(tree, "slurm/job_6");
	assert_true(cgroups_job_of_path(tree->cgroups, "/slurm/job_6", name));
	assert_string_equal(name, "6"); /* No scan has seen it. */
	assert_false(cgroups_job_of_path(tree->cgroups, "/slurm/job_7", name));
	assert_false(cgroups_job_of_path(tree->cgroups, "/slurm", name));
	assert_int_equal(cgroups_n_registered(tree->cgroups), 2);
	assert_string_equal(cgroups_registered(tree->cgroups, 0).path, "/slurm/job_5");
	assert_int_equal(cgroups_unregister(tree->cgroups, "mine"), 1);
	assert_int_equal(cgroups_unregister(tree->cgroups, "mine"), 0);
	assert_string_equal(cgroups_job(tree->cgroups, b), "5");
	assert_string_equal(cgroups_job(tree->cgroups, c), "inner");
}

static void
bad_registrations_are_refused_with_the_reason(void **state)
{
	struct tree *tree = *state;
	struct err err = { 0 };

	make(tree, "a");
	assert_int_equal(cgroups_register(tree->cgroups, "x", "b", &err), -ENOENT);
	assert_int_equal(cgroups_register(tree->cgroups, "x", "/", &err), -EINVAL);
	assert_int_equal(cgroups_register(tree->cgroups, "x", "../..", &err), -EINVAL);
	assert_int_equal(cgroups_register(tree->cgroups, "", "a", &err), -EINVAL);
	assert_int_equal(cgroups_register(tree->cgroups, "two words", "a", &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "two words"));
	assert_int_equal(cgroups_register(tree->cgroups, "x", "a", &err), 0);
	assert_int_equal(cgroups_register(tree->cgroups, "x", "a", &err), 0);
	assert_int_equal(cgroups_register(tree->cgroups, "y", "a", &err), -EEXIST);
	assert_non_null(strstr(err.text, "'x'"));
	assert_int_equal(cgroups_n_registered(tree->cgroups), 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slurm_jobs_have_their_number),
		cmocka_unit_test(pods_have_their_uid),
		cmocka_unit_test(nothing_is_guessed),
		cmocka_unit_test(only_the_schedulers_own_groups_are_jobs),
		cmocka_unit_test(only_named_roots_have_layouts_too),
		cmocka_unit_test(directories_of_others_name_nothing),
		cmocka_unit_test(services_are_jobs_when_asked_for),
		cmocka_unit_test(the_mount_is_found_wherever_it_is),
		cmocka_unit_test(no_mount_is_made_up),
		cmocka_unit_test(a_tree_that_is_not_there_is_told),
		test(ids_are_those_of_directories),
		test(a_group_that_others_may_make_is_no_job),
		test(what_is_gone_is_not_known_any_more),
		test(registrations_go_before_paths_and_the_longest_first),
		test(bad_registrations_are_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
