/*
 * test_jobtrace_quotes.c - fields in quotes, which may go over lines, and quotes that have no
 * end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "sim/jobtrace/columns.h"
#include "sim/jobtrace/jobtrace.h"
#include "sim/jobtrace/lines.h"
#include "tests/unit/jobtraces.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

#define HEADER "job_id,submit_s,num_gpus,duration_s,note\n"

/* What is being read. */
static struct memory_file file;

static struct jobtrace *
open_text(const char *text)
{
	return jobtraces_open(&file, text, strlen(text));
}

/* The next job has that name, on that line. */
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

	/* In the header; what stands behind a mark of UTF-8; where no header is. */
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
		strstr(jobtrace_fault(trace, 2), ":9: another number of fields"));
	jobtrace_close(trace);
}

static void
a_quote_without_an_end_takes_its_line_alone(void **state)
{
	static const char unclosed[] = "a quote that is not closed",
			  behind[] = "not closed where its field ends";

	static const struct {
		const char *row;
		unsigned n_lines; /* That are malformed. */
		const char *says;
	} cases[] = {
		{ "j,1,1,2,\"", 1, unclosed },
		{ "\"j,1,1,2,", 1, unclosed },
		{ "j,1,1,2,\"x\"\"", 1, unclosed },
		{ "j,1,1,2,\"x\"y", 1, behind },
		{ "j,1,1,2,\"x\ny\"z", 2, behind },
		/* The second line opens one of its own. */
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

/* To the byte, and no memory for more. */
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

			/* Each of its lines is a row, and none is one of this. */
			assert_int_equal(jobtrace_next(trace, &job, &err), -EINVAL);
			assert_int_equal(jobtrace_counts(trace).rows, 100);
			assert_non_null(strstr(jobtrace_fault(trace, 0),
					       ":2: a quote that is not closed, or not "
					       "within 1 MiB"));
			assert_non_null(strstr(jobtrace_fault(trace, 1), ":3: "));
		}
		jobtrace_close(trace);
		strbuf_free(&text);
	}
}

/* What it reads is what RFC 4180 says of what was written; over many blocks of the file. */
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

/* Where a text is cut does not matter, and it says of the splitting what comes of it. */
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
		cmocka_unit_test(scanning_agrees_with_splitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
