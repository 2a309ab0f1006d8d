/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/progress.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000000)

/*
 * The output of a run of 'duration_ns' from hour one with 'n_updates' evenly spaced
 * reports.
 */
static char *
shown(enum progress_form form, int64_t duration_ns, int n_updates)
{
	const int64_t start_ns = 3600 * S;
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	progress_init(&p, out, form, "sim", start_ns);
	for (int i = 1; i <= n_updates; i++)
		progress_update(&p, (double)i / n_updates,
				start_ns + duration_ns / n_updates * i);
	progress_end(&p, true, start_ns + duration_ns);
	progress_end(&p, true, start_ns + duration_ns); /* No effect. */
	fclose(out);
	return text;
}

static size_t
count(const char *text, char c)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static void
runs_under_a_second_show_nothing(void **state)
{
	(void)state;
	for (enum progress_form form = 0; form <= PROGRESS_NONE; form++) {
		char *text = shown(form, S - 1, 1000);

		assert_string_equal(text, "");
		free(text);
	}
}

static void
a_file_gets_a_line_every_tenth(void **state)
{
	char *text = shown(PROGRESS_LINES, 40 * S, 100000);

	(void)state;
	assert_string_equal(text, "sim: 10 %, 36 s left\n"
				  "sim: 20 %, 32 s left\n"
				  "sim: 30 %, 28 s left\n"
				  "sim: 40 %, 24 s left\n"
				  "sim: 50 %, 20 s left\n"
				  "sim: 60 %, 16 s left\n"
				  "sim: 70 %, 12 s left\n"
				  "sim: 80 %, 8 s left\n"
				  "sim: 90 %, 4 s left\n"
				  "sim: 100 %\n");
	free(text);
}

/* The first tenth takes as long as the rest: the mean pace would say 9 times too much. */
static void
the_time_left_follows_the_recent_pace(void **state)
{
	struct progress p;
	char *text, *at;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int n = 0;

	(void)state;
	progress_init(&p, out, PROGRESS_LINES, "sim", 0);
	for (int s = 1; s <= 100; s++)
		progress_update(&p, 0.001 * s, s * S);
	for (int s = 1; s <= 100; s++)
		progress_update(&p, 0.1 + 0.009 * s, (100 + s) * S);
	fclose(out);
	at = strstr(text, "sim: 70 %");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "sim: 70 %%, %d s left", &n), 1);
	/* 33 s are left. */
	assert_in_range(n, 17, 66);
	free(text);
}

static void
a_file_gets_one_line_for_a_leap_over_several_tenths(void **state)
{
	char *text = shown(PROGRESS_LINES, 40 * S, 3);

	(void)state;
	assert_string_equal(text,
			    "sim: 30 %, 27 s left\nsim: 60 %, 13 s left\nsim: 100 %\n");
	free(text);
}

static void
a_terminal_is_rewritten_at_most_five_times_a_second(void **state)
{
	char *text = shown(PROGRESS_TERMINAL, 4 * S, 100000);
	size_t n = count(text, '\r');

	(void)state;
	/* Silent for one second, then three at five per second; one line to clear. */
	assert_in_range(n, 15, 17);
	assert_int_equal(count(text, '\n'), 0);
	assert_string_equal(text + strlen(text) - 4, "\r\033[K");
	free(text);
}

static void
no_estimate_before_a_twentieth(void **state)
{
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	progress_init(&p, out, PROGRESS_TERMINAL, "sim", 0);
	progress_update(&p, 0.049, 10 * S);
	fflush(out);
	assert_null(strstr(text, "left"));
	progress_update(&p, 0.05, 11 * S);
	fflush(out);
	assert_non_null(strstr(text, "sim: 5 %, 3 min left"));
	fclose(out);
	free(text);
}

static void
a_count_is_told(void **state)
{
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	progress_init(&p, out, PROGRESS_LINES, "cells", 0);
	progress_count(&p, 0, 40, 2 * S);
	progress_count(&p, 12, 40, 3 * S);
	progress_count(&p, 40, 40, 4 * S);
	progress_count(&p, 0, 0, 5 * S);
	fclose(out);
	assert_string_equal(text, "cells: 30 %, 12 of 40, 2 s left\n"
				  "cells: 100 %, 40 of 40\n");
	free(text);
}

static void
shares_out_of_range_are_clamped_and_silence_is_possible(void **state)
{
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	progress_init(&p, out, PROGRESS_TERMINAL, "sim", 0);
	progress_update(&p, NAN, 2 * S);
	progress_update(&p, -1, 3 * S);
	progress_update(&p, 2, 4 * S);
	fclose(out);
	assert_string_equal(text, "\rsim: 0 %\033[K\rsim: 0 %\033[K\rsim: 100 %\033[K");
	free(text);

	text = shown(PROGRESS_NONE, 40 * S, 1000);
	assert_string_equal(text, "");
	free(text);
}

#define LINE(text) "{\"schema\": \"antiphase.progress/1\", \"what\": " text "}\n"

static void
a_program_gets_an_object_a_second_and_one_of_all(void **state)
{
	/* Updates every 0.3 s. */
	char *text = shown(PROGRESS_JSON, 3 * S, 10);

	(void)state;
	assert_string_equal(
		text,
		LINE("\"sim\", \"share\": 0.4, \"n_done\": null, \"n_all\": null, "
		     "\"elapsed_s\": 1.2, \"left_s\": 1.8")
			LINE("\"sim\", \"share\": 0.8, \"n_done\": null, "
			     "\"n_all\": null, \"elapsed_s\": 2.4, \"left_s\": 0.6")
				LINE("\"sim\", \"share\": 1, \"n_done\": null, "
				     "\"n_all\": null, \"elapsed_s\": 3, \"left_s\": 0"));
	free(text);
}

static void
the_object_of_all_comes_once(void **state)
{
	/* The last update is always due. */
	char *text = shown(PROGRESS_JSON, 4 * S, 2);

	(void)state;
	assert_int_equal(count(text, '\n'), 2);
	assert_non_null(strstr(text, "\"share\": 0.5,"));
	assert_non_null(strstr(text, "\"share\": 1,"));
	free(text);
}

static void
in_json_all_is_said_only_of_what_is_done(void **state)
{
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	progress_init(&p, out, PROGRESS_JSON, "cells", 0);
	progress_count(&p, 1, 40, 2 * S);
	progress_count(&p, 39, 40, 2 * S + 1);
	progress_clear(&p); /* Not on a terminal. */
	progress_end(&p, false, 3 * S);
	fflush(out);
	assert_string_equal(text, LINE("\"cells\", \"share\": 0.025, \"n_done\": 1, "
				       "\"n_all\": 40, \"elapsed_s\": 2, "
				       "\"left_s\": null"));
	/* Nor for nearly all. */
	progress_update(&p, 0.99999, 4 * S);
	fflush(out);
	assert_non_null(strstr(text, "\"share\": 0.9999, "));
	progress_end(&p, true, 4 * S + 1);
	fclose(out);
	assert_non_null(strstr(text, "\"share\": 1, \"n_done\": 40, \"n_all\": 40, "));
	assert_int_equal(count(text, '\n'), 3);
	free(text);
}

/* Seven frames every 0.1 s from the hour on, for 'duration_ns'. */
static char *
tallied(enum progress_form form, int64_t duration_ns)
{
	const int64_t start_ns = 3600 * S, step_ns = S / 10;
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	progress_init(&p, out, form, "recording", start_ns);
	for (int64_t i = 1; i * step_ns <= duration_ns; i++)
		progress_open_ended(&p, (uint64_t)i * 7, "frames",
				    start_ns + i * step_ns);
	progress_end(&p, true, start_ns + duration_ns);
	fclose(out);
	return text;
}

static void
where_no_end_is_known_a_file_gets_count_and_rate_once_a_minute(void **state)
{
	char *text = tallied(PROGRESS_LINES, 150 * S);

	(void)state;
	assert_string_equal(text, "recording: 4200 frames, 70/s\n"
				  "recording: 8400 frames, 70/s\n");
	free(text);
}

static void
where_no_end_is_known_a_terminal_gets_them_as_often_as_a_share(void **state)
{
	char *text = tallied(PROGRESS_TERMINAL, 3 * S);

	(void)state;
	assert_ptr_equal(strstr(text, "\rrecording: 70 frames, 70/s\033[K"
				      "\rrecording: 84 frames, 70/s\033[K"),
			 text);
	assert_null(strchr(text, '%'));
	/* Silent for one second, then from 1.0 to 3.0 s; one line to clear. */
	assert_int_equal(count(text, '\r'), 12);
	free(text);
}

static void
a_slow_rate_has_a_decimal(void **state)
{
	struct progress p;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	progress_init(&p, out, PROGRESS_TERMINAL, "recording", 0);
	progress_open_ended(&p, 0, "frames", 2 * S);
	progress_open_ended(&p, 3, "frames", 4 * S);
	fclose(out);
	assert_string_equal(text, "\rrecording: 0 frames, 0.0/s\033[K"
				  "\rrecording: 3 frames, 0.8/s\033[K");
	free(text);
}

static void
where_no_end_is_known_a_program_gets_no_share_until_all_is_done(void **state)
{
	char *text = tallied(PROGRESS_JSON, 5 * S / 2);

	(void)state;
	assert_string_equal(
		text,
		LINE("\"recording\", \"share\": null, \"n_done\": 70, "
		     "\"n_all\": null, \"elapsed_s\": 1, \"left_s\": null")
			LINE("\"recording\", \"share\": null, \"n_done\": 140, "
			     "\"n_all\": null, \"elapsed_s\": 2, \"left_s\": null")
				LINE("\"recording\", \"share\": 1, \"n_done\": 175, "
				     "\"n_all\": 175, \"elapsed_s\": 2.5, "
				     "\"left_s\": 0"));
	free(text);
}

static void
the_form_is_that_of_the_word_or_of_the_stream(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	assert_int_equal(progress_form_of("json", file), PROGRESS_JSON);
	assert_int_equal(progress_form_of("none", file), PROGRESS_NONE);
	assert_int_equal(progress_form_of("auto", file), PROGRESS_LINES);
	assert_int_equal(progress_form_of(NULL, file), PROGRESS_LINES);
	fclose(file);
	file = fopen("/dev/ptmx", "r+");
	if (!file)
		skip();
	assert_int_equal(progress_form_of("auto", file), PROGRESS_TERMINAL);
	fclose(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_under_a_second_show_nothing),
		cmocka_unit_test(a_file_gets_a_line_every_tenth),
		cmocka_unit_test(the_time_left_follows_the_recent_pace),
		cmocka_unit_test(a_file_gets_one_line_for_a_leap_over_several_tenths),
		cmocka_unit_test(a_terminal_is_rewritten_at_most_five_times_a_second),
		cmocka_unit_test(no_estimate_before_a_twentieth),
		cmocka_unit_test(a_count_is_told),
		cmocka_unit_test(
			shares_out_of_range_are_clamped_and_silence_is_possible),
		cmocka_unit_test(a_program_gets_an_object_a_second_and_one_of_all),
		cmocka_unit_test(the_object_of_all_comes_once),
		cmocka_unit_test(in_json_all_is_said_only_of_what_is_done),
		cmocka_unit_test(
			where_no_end_is_known_a_file_gets_count_and_rate_once_a_minute),
		cmocka_unit_test(
			where_no_end_is_known_a_terminal_gets_them_as_often_as_a_share),
		cmocka_unit_test(a_slow_rate_has_a_decimal),
		cmocka_unit_test(
			where_no_end_is_known_a_program_gets_no_share_until_all_is_done),
		cmocka_unit_test(the_form_is_that_of_the_word_or_of_the_stream),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
