/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jobtrace_quotes.c - quoted fields, also over several lines, and unclosed quotes
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "sim/trace/columns.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"
#include "tests/unit/jobtraces.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

#define HEADER "job_id,submit_s,num_gpus,duration_s,note\n"

/* The text being read. */
static struct memory_file file;

static struct jobtrace *
open_text(const char *text)
{
	return jobtraces_open(&file, text, strlen(text));
}

/* The next job has this name and line number. */
static void
expect(struct jobtrace *trace, const char *id, uint64_t line)
{
	const struct jobtrace_job *job = jobtraces_next(trace);

	assert_non_null(job);
	assert_string_equal(job->id, id);
	assert_int_equal(job->line, line);
}

static void
expect_end(struct jobtrace *trace, uint64_t n_rows, uint64_t n_malformed)
{
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).rows, n_rows);
	assert_int_equal(jobtrace_counts(trace).malformed, n_malformed);
}

static void
fields_in_quotes_go_over_lines(void **state)
{
	struct jobtrace *trace = open_text(HEADER "a,0,1,5,\"one\n"
						  "two, \"\"and\"\"\r\n"
						  "\n"
						  "# no remark\"\n"
						  "\n"
						  "b,1,1,5,\"\n\"\r\n"
						  "# a remark with a quote: \"\n"
						  "c,2,1,5,x\"y\n"
						  "d,3,1,5,\"last\nline\"");

	(void)state;
	expect(trace, "a", 2);
	expect(trace, "b", 7);
	expect(trace, "c", 10);
	expect(trace, "d", 11);
	expect_end(trace, 4, 0);
	jobtrace_close(trace);

	/* In the header, after a UTF-8 byte order mark, and without a header. */
	trace = open_text("\xef\xbb\xbf\"of\nno \"\"use\"\"\",job_id,submit_s,num_gpus,"
			  "duration_s\n\"1\n2\",a,0,1,5\n");
	expect(trace, "a", 3);
	expect_end(trace, 1, 0);
	jobtrace_close(trace);
	trace = open_text("ResNet-50 (batch size 64)\t\"python3\nmain.py\t\"\t-n\t1\t"
			  "2931\t6.0\t2\nLM (batch size 5)\t\"\n\n\"\t-n\t1\t9\t7\t1\n"
			  "LM (batch size 5)\tx\t-n\t1\t9\t8\t1\n");
	assert_int_equal(jobtrace_format(trace), JOBTRACE_GAVEL);
	expect(trace, "0", 1);
	expect(trace, "1", 3);
	expect(trace, "2", 6);
	expect_end(trace, 3, 0);
	jobtrace_close(trace);
}

static void
a_row_of_lines_that_is_malformed_is_one(void **state)
{
	struct jobtrace *trace = open_text(HEADER "a,0,1,5,\"1\n2\"\n"
						  "\"b\nb\",0,1,5,\n"
						  "c,?,1,5,\"1\n2\n3\"\n"
						  "d,0,1,5,\"1\n2\",more\n"
						  "e,0,1,5,\n");

	(void)state;
	expect(trace, "a", 2);
	expect(trace, "e", 11);
	expect_end(trace, 5, 3);
	assert_non_null(strstr(jobtrace_fault(trace, 0),
			       ":4: job_id: expected no control characters"));
	assert_non_null(
		strstr(jobtrace_fault(trace, 1), ":6: submit_s: expected a number"));
	assert_non_null(
		strstr(jobtrace_fault(trace, 2), ":9: a different number of fields"));
	jobtrace_close(trace);
}

static void
a_quote_without_an_end_takes_its_line_alone(void **state)
{
	static const char unclosed[] = "a quote that is not closed",
			  behind[] = "not closed at the end of its field";

	static const struct {
		const char *row;
		unsigned n_lines; /* Number of malformed lines. */
		const char *says;
	} cases[] = {
		{ "j,1,1,2,\"", 1, unclosed },
		{ "\"j,1,1,2,", 1, unclosed },
		{ "j,1,1,2,\"x\"\"", 1, unclosed },
		{ "j,1,1,2,\"x\"y", 1, behind },
		{ "j,1,1,2,\"x\ny\"z", 2, behind },
		/* The second line opens a quote of its own. */
		{ "j,1,1,2,\"x\ny\",\"z", 2, unclosed },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct jobtrace *trace;
		char text[256];

		snprintf(text, sizeof text, HEADER "a,0,1,5,\n%s\nb,0,1,5,\nc,0,1,5,\n",
			 cases[i].row);
		trace = open_text(text);
		expect(trace, "a", 2);
		expect(trace, "b", 3 + cases[i].n_lines);
		expect(trace, "c", 4 + cases[i].n_lines);
		expect_end(trace, 3 + cases[i].n_lines, cases[i].n_lines);
		if (!strstr(jobtrace_fault(trace, 0), cases[i].says) ||
		    !strstr(jobtrace_fault(trace, 0), ":3: "))
			fail_msg("'%s': %s", cases[i].row, jobtrace_fault(trace, 0));
		jobtrace_close(trace);
	}
}

/* Exact to the byte, and no memory beyond. */
static void
rows_end_within_a_mebibyte(void **state)
{
	static const char begin[] = "a,0,1,5,\"";

	(void)state;
	for (unsigned n_more = 0; n_more < 2; n_more++) {
		size_t n_row = LINES_MAX_BYTES + n_more;
		struct strbuf text = STRBUF_EMPTY;
		struct jobtrace *trace;

		strbuf_puts(&text, HEADER);
		strbuf_puts(&text, begin);
		for (size_t i = strlen(begin); i < n_row - 1; i++)
			strbuf_putc(&text, i % 100 ? 'x' : '\n');
		strbuf_puts(&text, "\"\nb,0,1,5,\n");
		trace = jobtraces_open(&file, text.text, text.length);
		if (!n_more) {
			expect(trace, "a", 2);
			expect(trace, "b", 2 + 1 + (LINES_MAX_BYTES - 2) / 100);
			expect_end(trace, 2, 0);
		} else {
			struct jobtrace_job job;
			struct err err = { 0 };

			/* Each of its lines is read as a row, and none parses. */
			assert_int_equal(jobtrace_next(trace, &job, &err), -EINVAL);
			assert_int_equal(jobtrace_counts(trace).rows, 100);
			assert_non_null(strstr(jobtrace_fault(trace, 0),
					       ":2: a quote that is not closed "
					       "within 1 MiB"));
			assert_non_null(strstr(jobtrace_fault(trace, 1), ":3: "));
		}
		jobtrace_close(trace);
		strbuf_free(&text);
	}
}

/* The reader agrees with RFC 4180, over many blocks of the file. */
static void
any_text_in_quotes_is_passed_over(void **state)
{
	static const char *const pieces[] = {
		"a", "\"\"", "\n", "\r\n", ",", "#", " "
	};

	enum {
		N_ROWS = 20000
	};

	uint64_t *lines = calloc(N_ROWS, sizeof *lines), line = 2;
	struct strbuf text = STRBUF_EMPTY;
	struct jobtrace *trace;
	struct rng rng;
	char id[16];

	(void)state;
	rng_init(&rng, 1);
	strbuf_puts(&text, HEADER);
	for (int i = 0; i < N_ROWS; i++) {
		lines[i] = line++;
		strbuf_printf(&text, "j%d,0,1,5,\"", i);
		for (uint64_t n = rng_below(&rng, 30); n > 0; n--) {
			const char *piece = pieces[rng_below(&rng, 7)];

			strbuf_puts(&text, piece);
			line += strchr(piece, '\n') != NULL;
		}
		strbuf_puts(&text, "\"\n");
	}
	trace = jobtraces_open(&file, text.text, text.length);
	for (int i = 0; i < N_ROWS; i++) {
		snprintf(id, sizeof id, "j%d", i);
		expect(trace, id, lines[i]);
	}
	expect_end(trace, N_ROWS, 0);
	jobtrace_close(trace);
	strbuf_free(&text);
	free(lines);
}

/* Lines and fields of a row, found with columns_split() alone. */
static size_t
split_row(const char *const *lines, size_t n, int *ret_n_fields)
{
	struct strbuf row = STRBUF_EMPTY;
	enum columns_place place = COLUMNS_IN_QUOTES;
	char *fields[COLUMNS_MAX];
	size_t at = 0;

	while (place == COLUMNS_IN_QUOTES && at < n) {
		strbuf_printf(&row, "%s%s", at ? "\n" : "", lines[at]);
		place = columns_scan(COLUMNS_AT_BEGIN, row.text, ',');
		at++;
	}
	*ret_n_fields = columns_split(row.text, ',', fields);
	strbuf_free(&row);
	return *ret_n_fields < 0 ? 1 : at;
}

/* The cached search for a closing quote gives the same result as a new search. */
static void
quotes_that_are_not_closed_are_told_as_by_themselves(void **state)
{
	static const char *const kinds[] = {
		"b,0,1,5,", "b,0,1,5,\"x", "b,0,1,5,\"\"",   "x\",\"",
		"x\",\"",   "\"",          "b,0,1,5,\"x\"y", "b,0,1,5,\"x\"",
	};

	enum {
		N_TEXTS = 300,
		N_LINES = 60,
		N_GOOD = 1000 /* First, to keep the share of bad rows low. */
	};

	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < N_TEXTS; i++) {
		struct strbuf text = STRBUF_EMPTY;
		const char *lines[N_LINES];
		bool is_open[N_LINES]; /* Of each malformed line. */
		struct jobtrace *trace;
		size_t n_malformed = 0, n_rows = N_GOOD;

		strbuf_puts(&text, HEADER);
		for (int k = 0; k < N_GOOD; k++)
			strbuf_puts(&text, "a,0,1,5,\n");
		for (size_t k = 0; k < N_LINES; k++) {
			lines[k] = kinds[rng_below(&rng, 8)];
			strbuf_printf(&text, "%s\n", lines[k]);
		}
		trace = jobtraces_open(&file, text.text, text.length);
		for (uint64_t k = 0; k < N_GOOD; k++)
			expect(trace, "a", 2 + k);
		for (size_t k = 0; k < N_LINES;) {
			int n_fields;
			size_t n = split_row(lines + k, N_LINES - k, &n_fields);
			bool is_job = n_fields == 5 && lines[k][0] == 'b';

			if (is_job)
				expect(trace, "b", 2 + N_GOOD + k);
			if (!is_job)
				is_open[n_malformed++] = n_fields < 0;
			n_rows++;
			k += n;
		}
		expect_end(trace, n_rows, n_malformed);
		for (size_t k = 0; k < 10 && k < n_malformed; k++)
			assert_int_equal(is_open[k],
					 strstr(jobtrace_fault(trace, k),
						"a quote that is not closed") != NULL);
		jobtrace_close(trace);
		strbuf_free(&text);
	}
}

/* A search of a mebibyte for each of 17 MB would take many minutes. */
static void
many_quotes_that_are_not_closed_take_no_longer_than_a_few(void **state)
{
	enum {
		N_GROUPS = 200000,
		N_GOOD = 10
	};

	struct strbuf text = STRBUF_EMPTY;
	struct jobtrace *trace;

	(void)state;
	strbuf_puts(&text, HEADER);
	for (int i = 0; i < N_GROUPS; i++) {
		for (int k = 0; k < N_GOOD; k++)
			strbuf_puts(&text, "a,0,1,5,\n");
		strbuf_puts(&text, "x\",\"\n");
	}
	trace = jobtraces_open(&file, text.text, text.length);
	for (int i = 0; i < N_GROUPS * N_GOOD; i++)
		assert_non_null(jobtraces_next(trace));
	expect_end(trace, N_GROUPS * (N_GOOD + 1), N_GROUPS);
	jobtrace_close(trace);
	strbuf_free(&text);
}

/* Cutting the text anywhere does not matter, and scanning agrees with splitting. */
static void
scanning_agrees_with_splitting(void **state)
{
	static const char letters[] = "a,\"\n";
	char *fields[COLUMNS_MAX];

	(void)state;
	for (unsigned which = 0; which < 1 << 16; which++) {
		char text[9] = "", rest[9], copy[9];
		unsigned cut = which % 9;
		enum columns_place whole, parts;

		for (unsigned i = 0; i < 8; i++)
			text[i] = letters[which >> (2 * i) & 3];
		snprintf(copy, sizeof copy, "%s", text);
		snprintf(rest, sizeof rest, "%s", text + cut);
		whole = columns_scan(COLUMNS_AT_BEGIN, text, ',');
		text[cut] = '\0';
		parts = columns_scan(columns_scan(COLUMNS_AT_BEGIN, text, ','), rest,
				     ',');
		assert_int_equal(whole, parts);
		assert_int_equal(columns_split(copy, ',', fields) < 0,
				 whole == COLUMNS_IN_QUOTES || whole == COLUMNS_BROKEN);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_in_quotes_go_over_lines),
		cmocka_unit_test(a_row_of_lines_that_is_malformed_is_one),
		cmocka_unit_test(a_quote_without_an_end_takes_its_line_alone),
		cmocka_unit_test(rows_end_within_a_mebibyte),
		cmocka_unit_test(any_text_in_quotes_is_passed_over),
		cmocka_unit_test(quotes_that_are_not_closed_are_told_as_by_themselves),
		cmocka_unit_test(
			many_quotes_that_are_not_closed_take_no_longer_than_a_few),
		cmocka_unit_test(scanning_agrees_with_splitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
