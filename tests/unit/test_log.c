/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - messages on stderr, and the clocks */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "tests/unit/capture.h"
#include "tests/unit/test.h"

static char *
said(enum log_level max_level)
{
	struct capture capture;

	log_set_level(max_level);
	capture_begin(&capture, STDERR_FILENO);
	log_err("topo", "link %s is gone", "a>b");
	log_warn("topo", "two\nlines\033");
	log_info("sim", "%d jobs", 3);
	log_dbg("sim", "detail");
	log_set_level(LOG_LEVEL_WARN);
	return capture_end(&capture);
}

static void
lines_up_to_the_level_are_printed(void **state)
{
	char *text;

	(void)state;
	unsetenv("JOURNAL_STREAM");
	text = said(LOG_LEVEL_WARN);
	assert_string_equal(text, "antiphase: error: topo: link a>b is gone\n"
				  "antiphase: warning: topo: two?lines?\n");
	free(text);
	log_set_program("antiphase-scheduler");
	text = said(LOG_LEVEL_ERR);
	log_set_program("antiphase");
	assert_string_equal(text,
			    "antiphase-scheduler: error: topo: link a>b is gone\n");
	free(text);
}

static void
the_journal_gets_priorities(void **state)
{
	char *text;

	(void)state;
	setenv("JOURNAL_STREAM", "8:1", 1);
	text = said(LOG_LEVEL_DBG);
	unsetenv("JOURNAL_STREAM");
	assert_string_equal(text, "<3>topo: link a>b is gone\n"
				  "<4>topo: two?lines?\n"
				  "<6>sim: 3 jobs\n"
				  "<7>sim: detail\n");
	free(text);
}

static void
what_anybody_can_cause_is_said_now_and_then(void **state)
{
	struct log_limit limit = { 0 };
	struct capture capture;
	char *text;

	(void)state;
	unsetenv("JOURNAL_STREAM");
	capture_begin(&capture, STDERR_FILENO);
	for (int i = 0; i < 100; i++)
		log_limited(&limit, i * (LOG_LIMIT_NS / 50), LOG_LEVEL_WARN, "http",
			    "refused %d", i);
	text = capture_end(&capture);
	assert_string_equal(text, "antiphase: warning: http: refused 0\n"
				  "antiphase: warning: http: refused 51; 50 similar "
				  "messages left out\n");
	free(text);
}

/* Lines for the same message every 5 s, until 'end_s'. */
static size_t
count_lines(struct log_limit *limit, int64_t from_s, int64_t end_s, const char *text)
{
	struct capture capture;
	size_t n = 0;
	char *lines;

	capture_begin(&capture, STDERR_FILENO);
	for (int64_t s = from_s; s < end_s; s += 5)
		log_limited(limit, s * INT64_C(1000000000), LOG_LEVEL_WARN, "bus", "%s",
			    text);
	lines = capture_end(&capture);
	for (const char *at = lines; (at = strchr(at, '\n')); at++)
		n++;
	free(lines);
	return n;
}

static void
what_stays_wrong_is_said_rarer_and_rarer(void **state)
{
	enum {
		HOUR = 3600
	};
	struct log_limit limit = { 0 };

	(void)state;
	/* At 0, 10, 30, 70, 150, 310, 630, 1270 and 2550 s. */
	assert_int_equal(count_lines(&limit, 0, HOUR, "a hangs"), 9);
	/* After that once an hour. */
	assert_in_range(count_lines(&limit, HOUR, 11 * HOUR, "a hangs"), 9, 11);
	/* Something else is said within ten seconds. */
	assert_int_equal(count_lines(&limit, 11 * HOUR, 11 * HOUR + 11, "b hangs"), 1);
	/* What was over, and begins anew, is said at once. */
	assert_int_equal(count_lines(&limit, 12 * HOUR, 12 * HOUR + 6, "b hangs"), 1);
}

static void
a_long_line_is_cut_and_still_one_line(void **state)
{
	struct capture capture;
	char *text;

	(void)state;
	capture_begin(&capture, STDERR_FILENO);
	log_err("x", "%05000d", 1);
	text = capture_end(&capture);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_in_range(strlen(text), 1000, 1100);
	free(text);
}

static void
clocks_run_forward_and_sleeping_costs_no_cpu(void **state)
{
	int64_t monotonic_ns = clk_monotonic_ns(), cpu_ns = clk_cpu_ns();
	volatile unsigned sink = 0;

	(void)state;
	usleep(30000);
	assert_true(clk_monotonic_ns() - monotonic_ns >= 30000000);
	assert_true(clk_cpu_ns() - cpu_ns < 30000000);
	cpu_ns = clk_cpu_ns();
	while (clk_cpu_ns() - cpu_ns < 1000000)
		sink++;
	/* After 2020 and before 2255, when a double is no longer exact. */
	assert_true(clk_wall_us() > INT64_C(1577836800000000));
	assert_true(clk_wall_us() < INT64_C(9007199254740992));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_up_to_the_level_are_printed),
		cmocka_unit_test(the_journal_gets_priorities),
		cmocka_unit_test(what_anybody_can_cause_is_said_now_and_then),
		cmocka_unit_test(what_stays_wrong_is_said_rarer_and_rarer),
		cmocka_unit_test(a_long_line_is_cut_and_still_one_line),
		cmocka_unit_test(clocks_run_forward_and_sleeping_costs_no_cpu),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
