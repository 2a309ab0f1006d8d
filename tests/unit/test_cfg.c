/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

/* Notes "LINE [SECTION]" or "LINE SECTION.KEY=VALUE" for each entry. */
static int
note(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	struct strbuf *notes = ctx;

	(void)err;
	if (!entry->key)
		strbuf_printf(notes, "%u [%s]\n", entry->line, entry->section);
	else
		strbuf_printf(notes, "%u %s.%s=%s\n", entry->line, entry->section,
			      entry->key, entry->value);
	return 0;
}

static void
assert_entries(const char *text, const char *want)
{
	struct strbuf notes = STRBUF_EMPTY;
	struct err err = { 0 };

	if (cfg_parse("x.ini", text, strlen(text), note, &notes, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	assert_string_equal(notes.text, want);
	strbuf_free(&notes);
}

static void
assert_refused(const char *text, size_t length, unsigned line, const char *part)
{
	struct strbuf notes = STRBUF_EMPTY;
	struct err err = { 0 };

	assert_int_equal(cfg_parse("x.ini", text, length, note, &notes, &err), -EINVAL);
	assert_string_equal(err.file, "x.ini");
	assert_int_equal(err.line, line);
	if (!strstr(err.text, part))
		fail_msg("the message is '%s'", err.text);
	strbuf_free(&notes);
}

static void
headings_and_keys_come_in_order_with_their_lines(void **state)
{
	(void)state;
	assert_entries("; a comment\n"
		       "top = 1\n"
		       "\n"
		       "[job vgg]\n"
		       "# another\n"
		       "hosts = n[1-4],gpu7\n"
		       "hosts = n9\n"
		       "[empty]\n"
		       "[job vgg]\n"
		       "last=",
		       "2 .top=1\n"
		       "4 [job vgg]\n"
		       "6 job vgg.hosts=n[1-4],gpu7\n"
		       "7 job vgg.hosts=n9\n"
		       "8 [empty]\n"
		       "9 [job vgg]\n"
		       "10 job vgg.last=\n");
}

static void
blanks_comments_and_line_ends_are_stripped(void **state)
{
	(void)state;
	assert_entries("[ a b ] ; comment\r\n"
		       "  key\t=  two words  ; comment\r\n"
		       "url = x;y # z\r\n",
		       "1 [a b]\n2 a b.key=two words\n3 a b.url=x;y # z\n");
}

static void
an_indented_line_is_a_key_and_continues_nothing(void **state)
{
	(void)state;
	assert_entries("a = 1\n    b = 2\n", "1 .a=1\n2 .b=2\n");
	assert_refused("a = 1\n    more\n", 15, 2, "expected 'key = value'");
}

static void
a_byte_order_mark_is_skipped(void **state)
{
	(void)state;
	assert_entries("\xef\xbb\xbf[s]\nk = v\n", "1 [s]\n2 s.k=v\n");
	assert_entries("\xef\xbb\xbf", "");
	/* A second byte order mark is part of the key. */
	assert_entries("\xef\xbb\xbf\xef\xbb\xbfk=v", "1 .\xef\xbb\xbfk=v\n");
}

static void
nothing_but_comments_has_no_entries(void **state)
{
	(void)state;
	assert_entries("", "");
	assert_entries("\n\n  \n; x\n # y", "");
}

static void
nothing_after_a_fault_is_read(void **state)
{
	struct strbuf notes = STRBUF_EMPTY;
	struct err err = { 0 };
	const char *text = "a = 1\nb ;c = 2\nd = 3\n";

	(void)state;
	/* A comment before the '='. */
	assert_int_equal(cfg_parse("x", text, strlen(text), note, &notes, &err),
			 -EINVAL);
	assert_int_equal(err.line, 2);
	assert_string_equal(notes.text, "1 .a=1\n");
	strbuf_free(&notes);
}

static void
long_section_names_are_whole(void **state)
{
	(void)state;
	/* inih itself would cut this after 49 characters. */
	assert_entries(
		"[job abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz]\na=1\n",
		"1 [job abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz]\n"
		"2 job abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz.a=1\n");
}

static void
faults_are_named_with_their_line(void **state)
{
	(void)state;
	assert_refused("a = 1\nnonsense\n", 15, 2,
		       "expected 'key = value' or '[section]'");
	assert_refused("[open\n", 6, 1, "expected ']'");
	assert_refused("[a] b\n", 6, 1, "expected ']'");
	assert_refused("[a]b\n", 5, 1, "expected ']'");
	assert_refused("[]\n", 3, 1, "no name");
	assert_refused("\n\n= 3\n", 6, 3, "a key before '='");
	assert_refused("\v\f= 3\n", 6, 1, "a key before '='");
	assert_refused("[ \v]\n", 5, 1, "no name");
	/* A cable's name as a key: inih would cut it at the colon. */
	assert_refused("leaf1:p3 = 40\n", 14, 1, "expected 'key = value'");
}

static void
a_line_is_never_cut_short(void **state)
{
	char *text = xcalloc(40000, 1);
	struct strbuf notes = STRBUF_EMPTY;
	struct err err = { 0 };
	const size_t limit = 16383;

	(void)state;
	memset(text, 'x', 40000);
	memcpy(text, "a=", 2);
	text[16000] = '\n';
	assert_int_equal(cfg_parse("x", text, 16001, note, &notes, &err), 0);
	assert_int_equal(notes.length, strlen("1 .a=\n") + 16000 - 2);
	strbuf_free(&notes);
	assert_refused(text, 40000, 2, "the line has 23999 bytes");
	memset(text + 2, 'x', 40000 - 2);
	assert_int_equal(cfg_parse("x", text, limit, note, &notes, &err), 0);
	assert_int_equal(notes.length, strlen("1 .a=\n") + limit - 2);
	strbuf_free(&notes);
	assert_refused(text, limit + 1, 1, "has 16384 bytes; at most 16383 are read");
	free(text);
}

static void
a_nul_byte_is_refused_wherever_it_is(void **state)
{
	(void)state;
	assert_refused("a = 1\0\n", 7, 1, "NUL");
	assert_refused("a = 1\n; x\0y\n", 12, 2, "NUL");
}

static int
stop_at_b(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	int *n_calls = ctx;

	(*n_calls)++;
	if (entry->key && !strcmp(entry->key, "b")) {
		err_set(err, "mine", entry->line, 0, "unknown key 'b'");
		return -EPERM;
	}
	return 0;
}

static int
stop_at_heading(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	(void)err;
	(*(int *)ctx)++;
	return entry->key ? 0 : -EDOM;
}

static void
the_callers_failure_ends_the_reading_and_is_returned(void **state)
{
	struct err err = { 0 };
	int n_calls = 0;

	(void)state;
	assert_int_equal(
		cfg_parse("x", "a=1\nb=2\nc=3\nd\n", 14, stop_at_b, &n_calls, &err),
		-EPERM);
	assert_int_equal(n_calls, 2);
	assert_int_equal(err.line, 2);
	assert_string_equal(err.text, "unknown key 'b'");

	n_calls = 0;
	assert_int_equal(
		cfg_parse("x", "a=1\n[s]\nc=3\n", 12, stop_at_heading, &n_calls, &err),
		-EDOM);
	assert_int_equal(n_calls, 2);
}

static void
what_is_written_reads_back(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 300; round++) {
		struct strbuf text = STRBUF_EMPTY, want = STRBUF_EMPTY;
		unsigned line = 0, section = 0;

		strbuf_puts(&text, "[s0]\n");
		strbuf_printf(&want, "%u [s0]\n", ++line);
		for (int i = 0; i < 30; i++) {
			unsigned value = (unsigned)rng_below(&rng, 1000);

			line++;
			switch (rng_below(&rng, 4)) {
			case 0:
				section = value;
				strbuf_printf(&text, "[s%u]\n", section);
				strbuf_printf(&want, "%u [s%u]\n", line, section);
				break;
			case 1:
				strbuf_printf(&text, "; [s%u] k = v\n", value);
				break;
			default:
				strbuf_printf(&text, "k%u = v%u\n", value, value + 1);
				strbuf_printf(&want, "%u s%u.k%u=v%u\n", line, section,
					      value, value + 1);
			}
		}
		assert_entries(text.text, want.text);
		strbuf_free(&text);
		strbuf_free(&want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headings_and_keys_come_in_order_with_their_lines),
		cmocka_unit_test(blanks_comments_and_line_ends_are_stripped),
		cmocka_unit_test(an_indented_line_is_a_key_and_continues_nothing),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(nothing_but_comments_has_no_entries),
		cmocka_unit_test(nothing_after_a_fault_is_read),
		cmocka_unit_test(long_section_names_are_whole),
		cmocka_unit_test(faults_are_named_with_their_line),
		cmocka_unit_test(a_line_is_never_cut_short),
		cmocka_unit_test(a_nul_byte_is_refused_wherever_it_is),
		cmocka_unit_test(the_callers_failure_ends_the_reading_and_is_returned),
		cmocka_unit_test(what_is_written_reads_back),
	};

	return cmocka_run_group_tests_name("cfg", tests, NULL, NULL);
}
