/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/svg.h"
#include "tests/unit/test.h"

static void
a_picture_is_one_element_with_a_title(void **state)
{
	struct svg svg;
	char *text;

	(void)state;
	svg_init(&svg, 120, 80.5, "before & after");
	svg_rect(&svg, 1, 2.004, 3.456, -0.001, "fill=\"#fff\"");
	svg_line(&svg, 0, 0, 10, 1.0 / 3, "stroke=\"#000\"");
	svg_text(&svg, 5, 6, "font-size=\"9\"", "job 1");
	text = svg_finish(&svg);
	assert_string_equal(
		text,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"80.5\" "
		"viewBox=\"0 0 120 80.5\" font-family=\"sans-serif\">\n"
		"<title>before &amp; after</title>\n"
		"<rect x=\"1\" y=\"2\" width=\"3.46\" height=\"0\" fill=\"#fff\"/>\n"
		"<line x1=\"0\" y1=\"0\" x2=\"10\" y2=\"0.33\" stroke=\"#000\"/>\n"
		"<text x=\"5\" y=\"6\" font-size=\"9\">job 1</text>\n"
		"</svg>\n");
	free(text);
}

static void
no_text_can_break_out_of_its_element(void **state)
{
	struct svg svg;
	char *text;

	(void)state;
	svg_init(&svg, 1, 1, "");
	svg_text(&svg, 0, 0, "",
		 "</text><script a=\"&\">\n\x01 Zürich \xff\xc3+\xed\xa0\x80\xe2.");
	text = svg_finish(&svg);
	assert_non_null(strstr(text,
			       ">&lt;/text&gt;&lt;script a=&quot;&amp;&quot;&gt;?? "
			       "Zürich ??+????.</text>"));
	free(text);
}

/* The path of a ring sector from 5 to 10 around (0, 0). */
static char *
sector(double r_inner, double from, double to)
{
	struct svg svg;
	char *text, *start, *path;

	svg_init(&svg, 20, 20, "");
	svg_sector(&svg, 0, 0, r_inner, 10, from, to, "");
	text = svg_finish(&svg);
	start = strstr(text, "<path d=\"");
	assert_non_null(start);
	start += strlen("<path d=\"");
	path = xstrndup(start, strcspn(start, "\""));
	free(text);
	return path;
}

static void
turns_start_at_twelve_and_go_clockwise(void **state)
{
	char *path = sector(5, 0, 0.5);

	(void)state;
	/* From twelve o'clock through three to six, and back on the inner radius. */
	assert_string_equal(path, "M0 -10A10 10 0 0 1 10 0A10 10 0 0 1 0 10"
				  "L0 5A5 5 0 0 0 5 0A5 5 0 0 0 0 -5Z");
	free(path);
}

static void
a_sector_without_inner_radius_is_a_slice(void **state)
{
	char *path = sector(0, 0.25, 0.75);

	(void)state;
	assert_string_equal(path, "M10 0A10 10 0 0 1 0 10A10 10 0 0 1 -10 0L0 0Z");
	free(path);
}

static void
a_whole_turn_is_a_closed_ring(void **state)
{
	char *path = sector(5, 0, 1);

	(void)state;
	assert_string_equal(path, "M0 -10A10 10 0 0 1 0 10A10 10 0 0 1 0 -10Z"
				  "M0 -5A5 5 0 0 0 0 5A5 5 0 0 0 0 -5Z");
	free(path);
}

static void
a_sector_may_cross_the_start_of_the_circle(void **state)
{
	char *path = sector(5, 0.75, 1.25), *same = sector(5, -0.25, 0.25);

	(void)state;
	assert_string_equal(path, same);
	free(path);
	free(same);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_picture_is_one_element_with_a_title),
		cmocka_unit_test(no_text_can_break_out_of_its_element),
		cmocka_unit_test(turns_start_at_twelve_and_go_clockwise),
		cmocka_unit_test(a_sector_without_inner_radius_is_a_slice),
		cmocka_unit_test(a_whole_turn_is_a_closed_ring),
		cmocka_unit_test(a_sector_may_cross_the_start_of_the_circle),
	};

	return cmocka_run_group_tests_name("svg", tests, NULL, NULL);
}
