/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_registry.c - jobs registered by hand, across a restart, in a test tree */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/jobs/cgroups.h"
#include "collector/jobs/job_registry.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "tests/unit/test.h"

static char root[] = "/tmp/ap-registry-XXXXXX";
static char file[64];

struct lab {
	struct cgroups *cgroups;
	struct job_registry *registry;
};

static void
make_group(const char *path)
{
	char directory[128];

	snprintf(directory, sizeof directory, "%s%s", root, path);
	mkdir(directory, 0755);
}

static struct lab
opened(void)
{
	struct lab lab;
	struct err err = { 0 };

	assert_int_equal(cgroups_open(root, NULL, &lab.cgroups, &err), 0);
	if (job_registry_open(file, lab.cgroups, &lab.registry, &err) < 0)
		fail_msg("%s", err.text);
	return lab;
}

static void
closed(struct lab lab)
{
	job_registry_close(lab.registry);
	cgroups_close(lab.cgroups);
}

/* As if the disk were full: no file may grow beyond 'bytes'; 0: all may again. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
a_job_that_cannot_be_stored_is_not_added(void **state)
{
	struct err err = { 0 };
	struct stat before, after;
	struct lab lab;
	size_t n_left, n;
	int rcs[2], rc;

	(void)state;
	unlink(file);
	make_group("/a b");
	make_group("/c");
	lab = opened();
	assert_int_equal(job_registry_add(lab.registry, "one", "/a b", &err), 0);
	assert_int_equal(stat(file, &before), 0);
	/* No byte fits, or a part of the line. */
	for (int i = 0; i < 2; i++) {
		limit_files((rlim_t)before.st_size + (i ? 3 : 0));
		rcs[i] = job_registry_add(lab.registry, "two", "/c", &err);
		limit_files(0);
		n_left = cgroups_n_registered(lab.cgroups);
		assert_true(rcs[i] < 0);
		assert_non_null(strstr(err.text, "job two is not added"));
		assert_int_equal(n_left, 1);
		assert_string_equal(cgroups_registered(lab.cgroups, 0).name, "one");
		assert_int_equal(stat(file, &after), 0);
		assert_int_equal(after.st_size, before.st_size);
	}
	/* There is room again. */
	assert_int_equal(job_registry_add(lab.registry, "two", "/c", &err), 0);
	limit_files(1);
	rc = job_registry_remove(lab.registry, "one", &n, &err);
	limit_files(0);
	assert_true(rc < 0);
	assert_non_null(strstr(err.text, "there again after a restart"));
	assert_int_equal(cgroups_n_registered(lab.cgroups), 1);
	closed(lab);
	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), 2);
	closed(lab);
}

static void
jobs_are_known_after_a_restart(void **state)
{
	struct lab lab;
	struct strbuf text = STRBUF_EMPTY;
	struct err err = { 0 };
	size_t n;

	(void)state;
	unlink(file);
	make_group("/a b");
	make_group("/c");
	lab = opened();
	assert_int_equal(job_registry_add(lab.registry, "one", "/a b", &err), 0);
	assert_int_equal(job_registry_add(lab.registry, "one", "/a b", &err), 0);
	assert_int_equal(job_registry_add(lab.registry, "two", "/c", &err), 0);
	assert_int_equal(job_registry_add(lab.registry, "x", "/c", &err), -EEXIST);
	assert_int_equal(job_registry_add(lab.registry, "x", "/none", &err), -ENOENT);
	closed(lab);

	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), 2);
	assert_string_equal(cgroups_registered(lab.cgroups, 0).name, "one");
	job_registry_write(lab.registry, false, &text);
	assert_non_null(strstr(text.text, "/a b"));
	assert_int_equal(job_registry_remove(lab.registry, "none", &n, &err), -ENOENT);
	assert_int_equal(job_registry_remove(lab.registry, "one", &n, &err), 0);
	assert_int_equal(n, 1);
	closed(lab);

	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), 1);
	closed(lab);
	strbuf_free(&text);
}

static void
the_list_is_json_with_an_array_for_none_and_for_one(void **state)
{
	struct lab lab;
	struct err err = { 0 };

	(void)state;
	unlink(file);
	make_group("/c");
	lab = opened();
	for (size_t want = 0; want < 2; want++) {
		struct strbuf text = STRBUF_EMPTY;
		struct json_doc *doc;
		const struct json *jobs;
		int64_t at_us, before_us = clk_wall_us();
		size_t n;

		job_registry_write(lab.registry, true, &text);
		assert_int_equal(json_parse("-", text.text, text.length, &doc, &err),
				 0);
		assert_int_equal(
			json_get_array(doc, json_root(doc), "jobs", &jobs, &n, &err),
			0);
		assert_int_equal(n, want);
		assert_int_equal(json_get_int(doc, json_root(doc), "at_us", before_us,
					      clk_wall_us(), &at_us, &err),
				 0);
		json_doc_free(doc);
		strbuf_free(&text);
		job_registry_add(lab.registry, "two", "/c", &err);
	}
	closed(lab);
}

struct gone {
	int n;
	char path[64];
};

static void
on_gone(void *ctx, const char *name, const char *path)
{
	struct gone *gone = ctx;

	(void)name;
	gone->n++;
	snprintf(gone->path, sizeof gone->path, "%s", path);
}

static void
a_control_group_that_goes_is_said_once_and_left_out_next_time(void **state)
{
	struct lab lab;
	struct gone gone = { 0 };
	struct err err = { 0 };
	char directory[128];

	(void)state;
	unlink(file);
	make_group("/c");
	make_group("/d");
	lab = opened();
	assert_int_equal(job_registry_add(lab.registry, "two", "/c", &err), 0);
	assert_int_equal(job_registry_add(lab.registry, "three", "/d", &err), 0);
	job_registry_check(lab.registry, on_gone, &gone);
	assert_int_equal(gone.n, 0);
	snprintf(directory, sizeof directory, "%s/d", root);
	assert_int_equal(rmdir(directory), 0);
	for (int i = 0; i < 3; i++)
		job_registry_check(lab.registry, on_gone, &gone);
	assert_int_equal(gone.n, 1);
	assert_string_equal(gone.path, "/d");
	assert_int_equal(job_registry_n_gone(lab.registry), 1);
	closed(lab);
	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), 1);
	closed(lab);
}

static void
a_line_that_was_cut_off_loses_itself_alone(void **state)
{
	static const char text[] = "one /c\nbroken\n%zz /c\ntwo /e\ncut /";
	struct lab lab;
	struct err err = { 0 };
	char *now;
	size_t length;

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	make_group("/c");
	make_group("/e");
	assert_int_equal(file_write(file, text, strlen(text), &err), 0);
	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), 2);
	closed(lab);
	assert_int_equal(file_read(file, 1000, &now, &length, &err), 0);
	assert_string_equal(now, "one /c\ntwo /e\n");
	free(now);
}

/* Adds, lists and finds the maximum number of jobs; then one is refused. */
static void
ten_thousand_are_taken_up_to_the_limit_and_then_refused(void **state)
{
	struct lab lab;
	struct err err = { 0 };
	char path[64], name[16];
	int n_added = 0, n_refused = 0;

	(void)state;
	unlink(file);
	make_group("/many");
	lab = opened();
	for (int i = 0; i < 10000; i++) {
		int rc;

		snprintf(path, sizeof path, "/many/%d", i);
		snprintf(name, sizeof name, "j%d", i);
		if (n_refused < 3)
			make_group(path);
		else
			break;
		rc = job_registry_add(lab.registry, name, path, &err);
		n_added += rc == 0;
		n_refused += rc == -E2BIG;
		assert_true(rc == 0 || rc == -E2BIG);
	}
	assert_int_equal(n_added, CGROUPS_MAX_REGISTERED);
	assert_non_null(strstr(err.text, "registered"));
	closed(lab);
	lab = opened();
	assert_int_equal(cgroups_n_registered(lab.cgroups), CGROUPS_MAX_REGISTERED);
	closed(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_known_after_a_restart),
		cmocka_unit_test(a_job_that_cannot_be_stored_is_not_added),
		cmocka_unit_test(the_list_is_json_with_an_array_for_none_and_for_one),
		cmocka_unit_test(
			a_control_group_that_goes_is_said_once_and_left_out_next_time),
		cmocka_unit_test(a_line_that_was_cut_off_loses_itself_alone),
		cmocka_unit_test(
			ten_thousand_are_taken_up_to_the_limit_and_then_refused),
	};
	char command[128];
	int rc;

	if (!mkdtemp(root))
		return 1;
	snprintf(file, sizeof file, "%s.jobs", root);
	rc = cmocka_run_group_tests_name("registry", tests, NULL, NULL);
	snprintf(command, sizeof command, "rm -rf %s %s", root, file);
	return system(command) || rc;
}
