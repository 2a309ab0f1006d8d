/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/base/table.h"
#include "tests/unit/test.h"

/* Prints with 'print' and compares with 'want'. */
static void
assert_prints(const struct table *t, void (*print)(const struct table *, FILE *),
	      const char *want)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print(t, out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void
columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "LINK", "%Gb/s", "JOBS", NULL });
	table_cell(&t, "%s", "leaf1:p3>spine0:p1");
	table_cell(&t, "%.1f", 6.5);
	table_cell(&t, "%d", 3);
	table_cell(&t, "short");
	table_cell(&t, "%.1f", 1234.5);
	table_cell(&t, "12");
	assert_prints(&t, table_print,
		      "LINK                  Gb/s  JOBS\n"
		      "leaf1:p3>spine0:p1     6.5  3\n"
		      "short               1234.5  12\n");
	table_fini(&t);
}

static void
lines_are_those_that_are_printed(void **state)
{
	struct table t;
	char **lines;

	(void)state;
	table_init(&t, (const char *const[]){ "NAME", "%N", "", NULL });
	table_cell(&t, "a");
	table_cell(&t, "10");
	table_cell(&t, "two\nlines");
	for (int i = 0; i < 3; i++)
		table_cell(&t, "%s", "");
	lines = table_lines(&t);
	table_fini(&t);
	assert_string_equal(lines[0], "NAME   N");
	assert_string_equal(lines[1], "a     10  two?lines");
	/* Empty but present. */
	assert_string_equal(lines[2], "");
	for (int i = 0; i < 3; i++)
		free(lines[i]);
	free(lines);
}

static void
a_table_without_rows_is_its_headings(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "A", "%B", NULL });
	assert_prints(&t, table_print, "A  B\n");
	assert_prints(&t, table_print_csv, "A,B\n");
	table_fini(&t);
}

static void
a_letter_of_two_bytes_is_one_character_wide(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "NAME", "N", NULL });
	table_cell(&t, "Zürich");
	table_cell(&t, "1");
	table_cell(&t, "Geneva");
	table_cell(&t, "2");
	assert_prints(&t, table_print, "NAME    N\nZürich  1\nGeneva  2\n");
	table_fini(&t);
}

static void
empty_cells_leave_no_blanks_at_the_end_of_a_line(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "A", "%B", "C", NULL });
	table_cell(&t, "a");
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", "");
	table_cell(&t, "c");
	table_cell(&t, "last row is short");
	assert_prints(&t, table_print,
		      "A                  B  C\n"
		      "a\n"
		      "                      c\n"
		      "last row is short\n");
	table_fini(&t);
}

static void
no_cell_can_steer_the_terminal(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "NAME", NULL });
	table_cell(&t, "%s", "a\033[2Jb\nc\177\xc2\x9b");
	assert_prints(&t, table_print, "NAME\na?[2Jb?c??\n");
	table_fini(&t);
}

static void
csv_quotes_what_would_break_it(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "NAME", "%RATE", NULL });
	table_cell(&t, "n[1,2]");
	table_cell(&t, "%d", 5);
	table_cell(&t, "say \"hi\"");
	table_cell(&t, "two\nlines");
	assert_prints(&t, table_print_csv,
		      "NAME,RATE\n\"n[1,2]\",5\n\"say \"\"hi\"\"\",\"two\nlines\"\n");
	table_fini(&t);
}

static void
columns_that_are_missed_least_make_room(void **state)
{
	static const size_t order[] = { 2, 1 };
	struct table t;

	(void)state;
	table_init(&t, (const char *const[]){ "LINK", "%CAP", "SINCE", "%NOW", NULL });
	table_cell(&t, "leaf1:p3");
	table_cell(&t, "50G");
	table_cell(&t, "-");
	table_cell(&t, "1.00G");
	table_fit(&t, 27, order, 2); /* Exactly its width: 8 + 2 + 3 + 2 + 5 + 2 + 5. */
	assert_prints(&t, table_print,
		      "LINK      CAP  SINCE    NOW\n"
		      "leaf1:p3  50G  -      1.00G\n");
	table_fit(&t, 26, order, 2);
	assert_prints(&t, table_print,
		      "LINK      CAP    NOW\n"
		      "leaf1:p3  50G  1.00G\n");
	table_fit(&t, 1, order, 2);
	assert_prints(&t, table_print,
		      "LINK        NOW\n"
		      "leaf1:p3  1.00G\n");
	table_fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(lines_are_those_that_are_printed),
		cmocka_unit_test(a_table_without_rows_is_its_headings),
		cmocka_unit_test(a_letter_of_two_bytes_is_one_character_wide),
		cmocka_unit_test(empty_cells_leave_no_blanks_at_the_end_of_a_line),
		cmocka_unit_test(no_cell_can_steer_the_terminal),
		cmocka_unit_test(columns_that_are_missed_least_make_room),
		cmocka_unit_test(csv_quotes_what_would_break_it),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
