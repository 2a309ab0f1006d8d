/* SPDX-License-Identifier: Apache-2.0 */
/* test_pod_report.c - the shift annotations of pods, from lists by the API server */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/k8s/pod_report.h"
#include "tests/unit/test.h"

#define SECOND_US INT64_C(1000000)

/* One job, "ml/a", with or without an advice. */
struct lab {
	struct pod_report *report;
	struct pod_report_advice advice;
	bool is_advised, may;
	unsigned n_reads;
	struct pod_report_view view;
	struct pod_report_round round;
};

static bool
may_annotate(void *ctx, const char *namespace)
{
	const struct lab *lab = ctx;

	return lab->may && strcmp(namespace, "watched") != 0;
}

static bool
advice_of(void *ctx, const char *job, struct pod_report_advice *ret_advice)
{
	const struct lab *lab = ctx;

	if (!lab->is_advised || strcmp(job, "ml/a") != 0)
		return false;
	*ret_advice = lab->advice;
	return true;
}

static void
on_reader(void *ctx, const char *job)
{
	struct lab *lab = ctx;

	assert_string_equal(job, "ml/a");
	lab->n_reads++;
}

static void
open_lab(struct lab *lab)
{
	*lab = (struct lab){
		.report = pod_report_new(),
		.advice = { .shift_us = 22500, .slack_us = 2500, .pacing = "realign" },
		.is_advised = true,
		.may = true,
		.view = { .now_us = 1000 * SECOND_US,
			  .may_annotate = may_annotate,
			  .advice = advice_of,
			  .reads = on_reader,
			  .ctx = lab },
	};
}

static void
close_lab(struct lab *lab)
{
	pod_report_round_fini(&lab->round);
	pod_report_free(lab->report);
}

/* A pod of job 'job'; 'annotations' is the inside of an object. */
static void
add_pod(struct strbuf *list, const char *namespace, const char *name, const char *job,
	const char *annotations)
{
	strbuf_printf(list,
		      "%s{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
		      "\"uid\":\"u-%s\",\"resourceVersion\":\"77\","
		      "\"labels\":{\"antiphase.io/job\":\"%s\"},"
		      "\"annotations\":{%s}}}",
		      list->length ? "," : "", name, namespace, name, job, annotations);
}

static void
read_list(struct lab *lab, const char *items)
{
	char *text = xasprintf("{\"kind\":\"PartialObjectMetadataList\","
			       "\"metadata\":{\"resourceVersion\":\"9\"},"
			       "\"items\":[%s]}",
			       items);
	struct err err = { .line = 0 };

	pod_report_round_fini(&lab->round);
	if (pod_report_read(lab->report, text, strlen(text), &lab->view, &lab->round,
			    &err) < 0)
		fail_msg("%s", err.text);
	pod_report_round_sort(&lab->round);
	free(text);
}

static void
read_pod(struct lab *lab, const char *namespace, const char *job,
	 const char *annotations)
{
	struct strbuf list = STRBUF_EMPTY;

	add_pod(&list, namespace, "p", job, annotations);
	read_list(lab, list.text);
	strbuf_free(&list);
}

#define OURS(shift)                                                          \
	"\"antiphase.io/shift-us\":\"" shift "\",\"antiphase.io/slack-us\":" \
	"\"2500\",\"antiphase.io/pacing\":\"realign\","                      \
	"\"antiphase.io/told\":\"" shift "\""

static void
pods_of_a_job_are_told_the_same(void **state)
{
	struct strbuf list = STRBUF_EMPTY;
	struct lab lab;

	(void)state;
	open_lab(&lab);
	add_pod(&list, "ml", "a-1", "a", "");
	add_pod(&list, "ml", "b-0", "b", "");
	add_pod(&list, "ml", "a-0", "a", "\"else\":\"x\"");
	read_list(&lab, list.text);
	assert_int_equal(lab.round.n_pods, 3);
	assert_int_equal(lab.round.patches.n, 2);
	assert_string_equal(lab.round.patches.items[0].path,
			    "/api/v1/namespaces/ml/pods/a-0");
	assert_string_equal(lab.round.patches.items[0].job, "ml/a");
	assert_string_equal(
		lab.round.patches.items[0].body,
		"{\"metadata\": {\"uid\": \"u-a-0\", \"resourceVersion\": \"77\", "
		"\"annotations\": {\"antiphase.io/shift-us\": \"22500\", "
		"\"antiphase.io/slack-us\": \"2500\", "
		"\"antiphase.io/pacing\": \"realign\", "
		"\"antiphase.io/told\": \"22500\"}}}\n");
	assert_true(pod_report_is_same_group(&lab.round.patches.items[0],
					     &lab.round.patches.items[1]));
	strbuf_free(&list);
	close_lab(&lab);
}

static void
what_is_told_already_is_not_told_again(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab);
	read_pod(&lab, "ml", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.n, 0);
	assert_int_equal(lab.round.n_annotated, 1);
	close_lab(&lab);
}

static void
another_shift_is_told_when_it_matters_and_not_too_often(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab);
	read_pod(&lab, "ml", "a", "");
	assert_int_equal(lab.round.patches.n, 1);
	/* Within the tolerance. */
	lab.view.now_us += POD_REPORT_CHANGE_US;
	lab.advice.shift_us = 25000;
	read_pod(&lab, "ml", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.n, 0);
	lab.advice.shift_us = 25001;
	read_pod(&lab, "ml", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.n, 1);
	assert_int_equal(lab.round.patches.items[0].shift_us, 25001);
	/* Too soon; a new pod gets the value that the other pods have. */
	lab.view.now_us += POD_REPORT_CHANGE_US - 1;
	lab.advice.shift_us = 60000;
	read_pod(&lab, "ml", "a", "");
	assert_int_equal(lab.round.patches.items[0].shift_us, 25001);
	lab.view.now_us++;
	read_pod(&lab, "ml", "a", OURS("25001"));
	assert_int_equal(lab.round.patches.items[0].shift_us, 60000);
	close_lab(&lab);
}

static void
what_somebody_else_wrote_is_his(void **state)
{
	static const char *const others[] = {
		"\"antiphase.io/shift-us\":\"7\"",
		/* Our annotation, changed by a user, then removed. */
		"\"antiphase.io/shift-us\":\"7\",\"antiphase.io/told\":\"22500\"",
		"\"antiphase.io/told\":\"22500\"",
	};
	struct lab lab;

	(void)state;
	open_lab(&lab);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		lab.view.is_ending = false;
		read_pod(&lab, "ml", "a", others[i]);
		assert_int_equal(lab.round.patches.n, 0);
		assert_int_equal(lab.round.n_others, 1);
		lab.view.is_ending = true;
		read_pod(&lab, "ml", "a", others[i]);
		assert_int_equal(lab.round.patches.n, 0);
	}
	close_lab(&lab);
}

static void
ours_is_taken_back(void **state)
{
	static const char undo[] =
		"{\"metadata\": {\"uid\": \"u-p\", \"resourceVersion\": \"77\", "
		"\"annotations\": {\"antiphase.io/shift-us\": null, "
		"\"antiphase.io/slack-us\": null, \"antiphase.io/pacing\": null, "
		"\"antiphase.io/told\": null}}}\n";
	struct lab lab;

	(void)state;
	open_lab(&lab);
	/* Our exit, also for an unknown job; */
	lab.view.is_ending = true;
	read_pod(&lab, "ml", "gone", OURS("5"));
	assert_int_equal(lab.round.patches.n, 1);
	assert_string_equal(lab.round.patches.items[0].body, undo);
	assert_int_equal(lab.round.patches.items[0].why, POD_REPORT_STOPPED);
	/* the mode of the namespace; */
	lab.view.is_ending = false;
	read_pod(&lab, "watched", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.items[0].why, POD_REPORT_STOPPED);
	read_pod(&lab, "watched", "a", "");
	assert_int_equal(lab.round.patches.n, 0);
	/* an advice that is gone, once that is certain. */
	lab.view.is_waiting = true;
	read_pod(&lab, "ml", "gone", OURS("5"));
	assert_int_equal(lab.round.patches.n, 0);
	lab.view.is_waiting = false;
	read_pod(&lab, "ml", "gone", OURS("5"));
	assert_int_equal(lab.round.patches.items[0].why, POD_REPORT_NO_ADVICE);
	close_lab(&lab);
}

static void
an_advice_that_comes_and_goes_is_not_followed_each_time(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab);
	read_pod(&lab, "ml", "a", "");
	lab.is_advised = false;
	lab.view.now_us += SECOND_US;
	read_pod(&lab, "ml", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.n, 0);
	lab.view.now_us += POD_REPORT_CHANGE_US;
	read_pod(&lab, "ml", "a", OURS("22500"));
	assert_int_equal(lab.round.patches.items[0].why, POD_REPORT_NO_ADVICE);
	lab.is_advised = true;
	lab.view.now_us += SECOND_US;
	read_pod(&lab, "ml", "a", "");
	assert_int_equal(lab.round.patches.n, 0);
	lab.view.now_us += POD_REPORT_CHANGE_US;
	read_pod(&lab, "ml", "a", "");
	assert_int_equal(lab.round.patches.items[0].why, POD_REPORT_ADVISED);
	close_lab(&lab);
}

static void
who_heeds_it_is_told_of(void **state)
{
	struct lab lab;

	(void)state;
	open_lab(&lab);
	read_pod(&lab, "ml", "a", "\"antiphase.io/reads-shift\":\"false\"");
	read_pod(&lab, "watched", "a", "\"antiphase.io/reads-shift\":\"true\"");
	assert_int_equal(lab.n_reads, 0);
	read_pod(&lab, "ml", "a", "\"antiphase.io/reads-shift\":\"true\"");
	assert_int_equal(lab.n_reads, 1);
	close_lab(&lab);
}

static void
a_list_that_goes_on_says_so(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"continue\":\"a+b/c=\"},\"items\":[]}";
	struct lab lab;

	(void)state;
	open_lab(&lab);
	assert_int_equal(pod_report_read(lab.report, text, sizeof text - 1, &lab.view,
					 &lab.round, NULL),
			 0);
	assert_string_equal(lab.round.next, "a+b/c=");
	read_list(&lab, "");
	assert_null(lab.round.next);
	close_lab(&lab);
}

static void
what_is_no_list_or_no_pod_is_passed_over(void **state)
{
	static const char *const lists[] = { "",     "[]",
					     "{}",   "{\"items\":{}}",
					     "null", "{\"items\":[" };
	static const char items[] =
		"null,7,{},{\"metadata\":[]},{\"metadata\":{\"name\":\"p\"}},"
		"{\"metadata\":{\"name\":\"../x\",\"namespace\":\"ml\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\",\"labels\":{\"job\":\"a\"}}},"
		"{\"metadata\":{\"name\":\"p?q\",\"namespace\":\"ml\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\",\"labels\":{\"job\":\"a\"}}},"
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"m/l\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\",\"labels\":{\"job\":\"a\"}}},"
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ml\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\",\"annotations\":7}}";
	struct lab lab;
	struct err err;

	(void)state;
	open_lab(&lab);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		assert_int_equal(pod_report_read(lab.report, lists[i], strlen(lists[i]),
						 &lab.view, &lab.round, &err),
				 -22);
	read_list(&lab, items);
	assert_int_equal(lab.round.n_pods, 0);
	assert_int_equal(lab.round.patches.n, 0);
	close_lab(&lab);
}

static void
a_round_is_bounded(void **state)
{
	struct strbuf list = STRBUF_EMPTY;
	struct lab lab;
	char name[16];

	(void)state;
	open_lab(&lab);
	for (unsigned i = 0; i < POD_REPORT_MAX_PATCHES + 3; i++) {
		snprintf(name, sizeof name, "p%u", i);
		add_pod(&list, "ml", name, "a", "");
	}
	read_list(&lab, list.text);
	assert_int_equal(lab.round.patches.n, POD_REPORT_MAX_PATCHES);
	assert_int_equal(lab.round.n_left, 3);
	strbuf_free(&list);
	close_lab(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_a_job_are_told_the_same),
		cmocka_unit_test(what_is_told_already_is_not_told_again),
		cmocka_unit_test(
			another_shift_is_told_when_it_matters_and_not_too_often),
		cmocka_unit_test(what_somebody_else_wrote_is_his),
		cmocka_unit_test(ours_is_taken_back),
		cmocka_unit_test(
			an_advice_that_comes_and_goes_is_not_followed_each_time),
		cmocka_unit_test(who_heeds_it_is_told_of),
		cmocka_unit_test(a_list_that_goes_on_says_so),
		cmocka_unit_test(what_is_no_list_or_no_pod_is_passed_over),
		cmocka_unit_test(a_round_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
