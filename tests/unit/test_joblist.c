/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_joblist.c - the jobs of a trace as a cluster takes them: order, times, numbered
 * names, and jobs that are left out
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/jobs/joblist.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

#define HEADER \
	"job_id,submit_s,num_gpus,duration_s,iterations,iteration_s,user,vc,model\n"

static struct joblist list;

static void
load(const char *text, const struct joblist_filter *filter)
{
	static struct memory_file file;
	struct err err = { 0 };

	joblist_fini(&list);
	if (joblist_load(memory_file_set(&file, text, strlen(text)), JOBTRACE_AUTO,
			 filter, &list, &err) < 0)
		fail_msg("%s", err.text);
}

/* Ids, separated by blanks. */
static void
assert_ids(const char *want)
{
	char ids[256] = "";

	for (size_t i = 0; i < list.n; i++) {
		strcat(ids, i ? " " : "");
		strcat(ids, joblist_id(&list, i));
	}
	assert_string_equal(ids, want);
}

static void
jobs_are_in_the_order_of_submission_and_then_of_the_trace(void **state)
{
	(void)state;
	load(HEADER "a,9,1,5,,,,,\n"
		    "b,3,1,5,,,,,\n"
		    "c,9,1,5,,,,,\n"
		    "d,3,1,5,,,,,\n"
		    "e,-1,1,5,,,,,\n",
	     NULL);
	assert_ids("e b d a c");
	assert_near(list.jobs[0].submit_s, -1, 0);
	assert_near(list.jobs[4].submit_s, 9, 0);
	assert_near(list.origin_s, 0, 0);
}

static void
times_of_day_begin_with_the_first_submission(void **state)
{
	(void)state;
	load(HEADER "a,1507338700,1,5,,,,,\n"
		    "b,1507338699.5,1,5,,,,,\n",
	     NULL);
	assert_ids("b a");
	assert_near(list.origin_s, 1507338699.5, 0);
	assert_near(list.jobs[0].submit_s, 0, 0);
	assert_near(list.jobs[1].submit_s, 0.5, 0);
	/* One second before times count as such. */
	load(HEADER "a,999999999,1,5,,,,,\n", NULL);
	assert_near(list.jobs[0].submit_s, 999999999, 0);
	load(HEADER "a,1000000000,1,5,,,,,\n", NULL);
	assert_near(list.jobs[0].submit_s, 0, 0);
}

static void
what_takes_no_known_time_is_left_out_unless_it_is_kept(void **state)
{
	static const char text[] = HEADER "told,0,1,7,10,2,,,\n"
					  "counted,1,1,,10,2.5,,,\n"
					  "unknown,2,1,,10,,,,\n"
					  "nothing,3,1,0,,,,,\n";
	struct joblist_filter filter;

	(void)state;
	load(text, NULL);
	assert_ids("told counted");
	assert_near(list.jobs[0].duration_s, 7, 0);
	assert_near(list.jobs[1].duration_s, 25, 0);
	assert_int_equal(list.n_no_duration, 2);
	joblist_filter_init(&filter);
	filter.keeps_unknown = true;
	load(text, &filter);
	assert_ids("told counted unknown nothing");
	assert_true(isnan(list.jobs[2].duration_s));
	assert_int_equal(list.n_no_duration, 2);
}

static void
a_filter_has_its_first_time_and_not_its_last(void **state)
{
	static const char text[] = HEADER "a,10,1,100,,,,x,\n"
					  "b,20,2,200,,,,y,\n"
					  "c,30,4,300,,,,x,\n"
					  "d,40,8,400,,,,x,\n"
					  "e,50,8,,1,,,x,\n";
	struct joblist_filter filter;

	(void)state;
	joblist_filter_init(&filter);
	load(text, &filter);
	assert_ids("a b c d");
	assert_int_equal(list.n_filtered, 0);
	filter.from_s = 20;
	filter.to_s = 40;
	load(text, &filter);
	assert_ids("b c");
	assert_int_equal(list.n_filtered, 3);

	joblist_filter_init(&filter);
	filter.min_gpus = 2;
	filter.max_gpus = 4;
	load(text, &filter);
	assert_ids("b c");

	joblist_filter_init(&filter);
	filter.min_duration_s = 200;
	filter.max_duration_s = 300;
	load(text, &filter);
	assert_ids("b c");
	/* An unknown duration is not filtered as too short. */
	assert_int_equal(list.n_no_duration, 1);

	joblist_filter_init(&filter);
	filter.vc = "x";
	filter.n_head = 2;
	load(text, &filter);
	assert_ids("a c");
	assert_int_equal(list.n_filtered, 3);
}

static void
names_are_numbers_in_the_order_in_which_they_came(void **state)
{
	(void)state;
	load(HEADER "a,5,1,1,,,ann,,bert\n"
		    "b,4,1,1,,,bob,v,\n"
		    "c,3,1,1,,,ann,v,gpt2\n",
	     NULL);
	assert_ids("c b a");
	assert_int_equal(list.jobs[0].user, 0);
	assert_int_equal(list.jobs[1].user, 1);
	assert_int_equal(list.jobs[2].user, 0);
	assert_int_equal(list.jobs[0].vc, 0);
	assert_int_equal(list.jobs[2].vc, POL_NONE);
	assert_string_equal(joblist_model(&list, list.jobs[0].model), "gpt2");
	assert_string_equal(joblist_model(&list, list.jobs[2].model), "bert");
	assert_string_equal(joblist_model(&list, list.jobs[1].model), "");
}

static void
jobs_that_are_too_large_go_and_the_others_stay_as_they_are(void **state)
{
	(void)state;
	load(HEADER "a,1,8,1,,,,,\n"
		    "b,2,16,2,,,,,\n"
		    "c,3,1,3,,,,,\n"
		    "d,4,9,4,,,,,\n",
	     NULL);
	assert_int_equal(joblist_drop_above(&list, 8), 2);
	assert_ids("a c");
	assert_near(list.jobs[1].duration_s, 3, 0);
	assert_int_equal(joblist_drop_above(&list, 8), 0);
	assert_int_equal(joblist_drop_above(&list, 0), 2);
	assert_ids("");
}

static void
malformed_rows_and_unreadable_files_are_told(void **state)
{
	struct err err = { 0 };

	(void)state;
	load(HEADER "a,1,1,1,,,,,\n"
		    "b,soon,1,1,,,,,\n"
		    "c,2,0,1,,,,,\n",
	     NULL);
	assert_ids("a");
	assert_int_equal(list.counts.malformed, 1);
	assert_int_equal(list.counts.no_gpus, 1);
	assert_non_null(strstr(list.faults[0], ":3: submit_s: expected a number"));
	assert_null(list.faults[1]);
	joblist_fini(&list);
	assert_int_equal(joblist_load("no/such/file", JOBTRACE_AUTO, NULL, &list, &err),
			 -ENOENT);
	assert_int_equal(list.n, 0);
	assert_null(list.jobs);
}

static int
fini(void **state)
{
	(void)state;
	joblist_fini(&list);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			jobs_are_in_the_order_of_submission_and_then_of_the_trace),
		cmocka_unit_test(times_of_day_begin_with_the_first_submission),
		cmocka_unit_test(
			what_takes_no_known_time_is_left_out_unless_it_is_kept),
		cmocka_unit_test(a_filter_has_its_first_time_and_not_its_last),
		cmocka_unit_test(names_are_numbers_in_the_order_in_which_they_came),
		cmocka_unit_test(
			jobs_that_are_too_large_go_and_the_others_stay_as_they_are),
		cmocka_unit_test(malformed_rows_and_unreadable_files_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}
