/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture_csv.c - the reader of captures: accepted files, refusals, messages */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/profile/capture_csv.h"
#include "tests/unit/test.h"

#define HEADER "t_ms,rank,direction,job,bytes,packets,retransmits\n"

static struct capture *
parse(const char *text)
{
	struct capture *capture;
	struct err err;

	if (capture_csv_parse("x.csv", text, strlen(text), &capture, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.column, err.text);
	return capture;
}

static void
check_error(const char *text, unsigned line, unsigned column, const char *message)
{
	struct capture *capture = NULL;
	struct err err = { 0 };

	assert_int_equal(capture_csv_parse("x.csv", text, strlen(text), &capture, &err),
			 -EINVAL);
	assert_null(capture);
	assert_string_equal(err.file, "x.csv");
	if (!strstr(err.text, message))
		fail_msg("'%s' does not say '%s'", err.text, message);
	assert_int_equal(err.line, line);
	assert_int_equal(err.column, column);
}

static void
rows_in_any_order_make_the_same_series(void **state)
{
	static const char *const texts[] = {
		HEADER
		"10,0,egress,a,100,1,0\n10,1,egress,a,50,1,0\n12,0,ingress,a,7,1,0\n"
		"11,0,egress,a,1,1,0\n10,0,egress,a,5,1,0\n",
		HEADER
		"# a comment\r\n12,0,ingress,a,7,1,0\r\n\r\n11,0,egress,a,1,1,0\r\n"
		"10,0,egress,a,5,1,0\n10,0,egress,a,100,1,0\n10,1,egress,a,50,1,0",
	};
	static const float expected[] = { 105, 1, 0, 0, 0, 7, 50, 0, 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct capture *capture = parse(texts[i]);
		struct series_set set;

		assert_int_equal(capture_n_jobs(capture), 1);
		assert_string_equal(capture_job(capture, 0), "a");
		assert_int_equal(capture_series(capture, 0, -1, -1, &set, NULL), 0);
		assert_int_equal(set.start_ms, 10);
		assert_int_equal(set.n_buckets, 3);
		assert_int_equal(set.n_series, 3);
		assert_int_equal(set.ids[0].rank, 0);
		assert_false(set.ids[0].is_ingress);
		assert_true(set.ids[1].is_ingress);
		assert_int_equal(set.ids[2].rank, 1);
		assert_memory_equal(set.bytes, expected, sizeof expected);
		series_fini(&set);
		capture_free(capture);
	}
}

static void
jobs_are_told_apart_and_keep_all_their_series(void **state)
{
	struct capture *capture =
		parse(HEADER "5,0,egress,a b,1,1,0\n6,0,egress,2,2,1,0\n"
			     "8,1,egress,2,3,1,0\n9,0,egress,a b,4,1,0\n");
	struct series_set set;

	(void)state;
	assert_int_equal(capture_n_jobs(capture), 2);
	assert_int_equal(capture_find_job(capture, "a b"), 0);
	assert_int_equal(capture_find_job(capture, "2"), 1);
	assert_int_equal(capture_find_job(capture, "a"), CAPTURE_NO_JOB);
	assert_int_equal(capture_series(capture, 1, -1, -1, &set, NULL), 0);
	assert_int_equal(set.start_ms, 6);
	assert_int_equal(set.n_buckets, 3);
	assert_int_equal(set.n_series, 2);
	series_fini(&set);
	/* Only rank 1 sends here, but rank 0 is present. */
	assert_int_equal(capture_series(capture, 1, 0.002, -1, &set, NULL), 0);
	assert_int_equal(set.n_series, 2);
	series_fini(&set);
	capture_free(capture);
}

static void
parts_count_from_the_first_row_of_the_file(void **state)
{
	struct capture *capture =
		parse(HEADER "1000,0,egress,a,1,1,0\n1500,0,egress,b,2,1,0\n"
			     "2999,0,egress,b,3,1,0\n3999,0,egress,a,4,1,0\n");
	struct series_set set;
	struct err err;

	(void)state;
	assert_int_equal(capture_series(capture, 1, 0.25, 2, &set, NULL), 0);
	assert_int_equal(set.start_ms, 1250);
	assert_int_equal(set.n_buckets, 2000);
	assert_near((double)series_row(&set, 0)[250], 2, 0);
	series_fini(&set);
	/* A part is limited to the length of the file. */
	assert_int_equal(capture_series(capture, 1, 1.5, 1e12, &set, NULL), 0);
	assert_int_equal(set.n_buckets, 1500);
	series_fini(&set);
	assert_int_equal(capture_series(capture, 1, 2.5, 1, &set, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no traffic of job 'b'"));
	assert_int_equal(capture_series(capture, 1, 1e300, -1, &set, NULL), -ENODATA);
	assert_int_equal(capture_series(capture, 1, 0, 0, &set, NULL), -ENODATA);
	capture_free(capture);
}

static void
spans_beyond_any_memory_are_refused_before_allocation(void **state)
{
	struct capture *capture = parse(HEADER "0,0,egress,a,1,1,0\n"
					       "9007199254740992,0,egress,a,1,1,0\n");
	struct series_set set;
	struct err err;

	(void)state;
	assert_int_equal(capture_series(capture, 0, -1, -1, &set, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--from and --for"));
	assert_int_equal(capture_series(capture, 0, 0, 1, &set, NULL), 0);
	assert_int_equal(set.n_buckets, 1000);
	series_fini(&set);
	capture_free(capture);
}

static void
faults_are_named_with_their_place(void **state)
{
	(void)state;
	check_error("", 0, 0, "the file is empty");
	check_error("# only this\n", 0, 0, "the file is empty");
	check_error(HEADER, 0, 0, "no rows");
	check_error("t_ms,rank,direction,job,bytes,packets\n", 1, 1, "the header is");
	check_error(HEADER "0,0,egress,1,74,1,0\n" HEADER, 3, 1, "a second header");
	check_error("# a\n\nt_ms;rank\n", 3, 1, "the header is 't_ms;rank'");
	check_error("antiphase.recording/1\n\xa7", 1, 1, "a recording of telemetry");
	check_error(HEADER "1,0,egress,a,1,1\n", 2, 17,
		    "the line ends after 'packets'");
	check_error(HEADER "1,0,egress,a,1,1,0,9\n", 2, 19, "the line goes on");
	check_error(HEADER "-1,0,egress,a,1,1,0\n", 2, 1, "t_ms is '-1'");
	check_error(HEADER "1.5,0,egress,a,1,1,0\n", 2, 1, "t_ms is '1.5'");
	check_error(HEADER "1,,egress,a,1,1,0\n", 2, 3, "rank is ''");
	check_error(HEADER "1,1000001,egress,a,1,1,0\n", 2, 3, "at most 1000000");
	check_error(HEADER "1,0,egres,a,1,1,0\n", 2, 5, "(did you mean 'egress'?)");
	check_error(HEADER "1,0,egress,,1,1,0\n", 2, 12, "a name of 1 to 255");
	check_error(HEADER "1,0,egress,a\033[2J,1,1,0\n", 2, 12, "control characters");
	check_error(HEADER "1,0,egress,a\"b,1,1,0\n", 2, 13, "quote");
	check_error(HEADER "1,0,egress,a,125000000001,1,0\n", 2, 14, "at most");
	check_error(HEADER "1,0,egress,a,99999999999999999999999,1,0\n", 2, 14,
		    "at most");
	check_error(HEADER "1,0,egress,a,1,x,0\n", 2, 16, "packets is 'x'");
	check_error(HEADER "1,0,egress,a,1,1,\n", 2, 18, "retransmits is ''");
	check_error(HEADER "1,0,egress,a,1,1,0\n2,0,egress,a,1,1 ,0\n", 3, 16,
		    "packets is '1 '");
}

static void
a_name_that_is_too_long_is_refused(void **state)
{
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	strbuf_puts(&text, HEADER "1,0,egress,");
	for (int i = 0; i < 256; i++)
		strbuf_putc(&text, 'j');
	strbuf_puts(&text, ",1,1,0\n");
	check_error(text.text, 2, 12, "1 to 255 bytes");
	strbuf_free(&text);
}

static void
more_series_than_allowed_are_refused(void **state)
{
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	strbuf_puts(&text, HEADER);
	for (int i = 0; i <= CAPTURE_MAX_SERIES; i++)
		strbuf_printf(&text, "1,%d,egress,a,1,1,0\n", i);
	check_error(text.text, CAPTURE_MAX_SERIES + 2, 1, "more than 100000");
	strbuf_free(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_in_any_order_make_the_same_series),
		cmocka_unit_test(jobs_are_told_apart_and_keep_all_their_series),
		cmocka_unit_test(parts_count_from_the_first_row_of_the_file),
		cmocka_unit_test(spans_beyond_any_memory_are_refused_before_allocation),
		cmocka_unit_test(faults_are_named_with_their_place),
		cmocka_unit_test(a_name_that_is_too_long_is_refused),
		cmocka_unit_test(more_series_than_allowed_are_refused),
	};

	return cmocka_run_group_tests_name("capture_csv", tests, NULL, NULL);
}
