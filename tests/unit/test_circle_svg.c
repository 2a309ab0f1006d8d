/* SPDX-License-Identifier: Apache-2.0 */
/* test_circle_svg.c - the drawing of a link's jobs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/circle_svg.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

#define MAX_JOBS 10

struct scene {
	struct profile_phase phases[MAX_JOBS];
	struct profile profiles[MAX_JOBS];
	struct circle_svg_job jobs[MAX_JOBS];
	struct circle_svg drawing;
};

/* 'n' jobs with one burst of 30 ms at 40 Gb/s on a link of 50 Gb/s. */
static void
scene_init(struct scene *scene, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		scene->phases[j] = (struct profile_phase){ 0, 30000, 40e9 };
		scene->profiles[j] = (struct profile){ .period_us = 100000,
						       .n_phases = 1,
						       .phases = &scene->phases[j] };
		scene->jobs[j] =
			(struct circle_svg_job){ "job", &scene->profiles[j], 1, 0 };
	}
	scene->drawing = (struct circle_svg){ .title = "a link",
					      .subtitle = "before",
					      .capacity_bps = 50e9,
					      .score = 0.91,
					      .jobs = scene->jobs,
					      .n_jobs = n };
}

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* Counts the areas above capacity, from 'text' on. */
static size_t
count_hatched(const char *text)
{
	return count(text, "<path") == 0 ? 0
					 : count(text, "Z\" fill=\"url(#hatch)\"/>");
}

static void
excess_is_hatched_only_where_there_is_some(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 2);
	text = circle_svg(&scene.drawing);
	assert_int_equal(count_hatched(text), 1);
	assert_non_null(strstr(text, ">0.910<"));
	assert_non_null(strstr(text, ">4.5 Gb/s<")); /* 9 % of 50. */
	assert_non_null(strstr(text, ">a link, before<"));
	assert_non_null(strstr(text, "the common period, 100 ms."));
	free(text);

	scene.jobs[1].shift_us = 30000;
	text = circle_svg(&scene.drawing);
	assert_int_equal(count_hatched(text), 0);
	free(text);

	/* Across the end of the turn: 90 to 100 and 0 to 20 ms over 0 to 30. */
	scene.jobs[1].shift_us = -10000;
	text = circle_svg(&scene.drawing);
	assert_int_equal(count_hatched(text), 1);
	free(text);
}

static void
a_factor_thickens_what_is_drawn(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 2);
	scene.jobs[0].factor = scene.jobs[1].factor = 0.5;
	text = circle_svg(&scene.drawing);
	assert_int_equal(count_hatched(text), 0);
	assert_non_null(strstr(text, "peak 20 Gb/s"));
	free(text);
}

static void
copies_are_drawn_on_a_common_period(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 2);
	scene.profiles[0].period_us = 40000;
	scene.profiles[1].period_us = 60000;
	scene.phases[0].duration_us = scene.phases[1].duration_us = 10000;
	text = circle_svg(&scene.drawing);
	assert_non_null(strstr(text, "the common period, 120 ms."));
	assert_int_equal(count(text, "fill=\"#0072b2\"/>"),
			 3 + 1); /* Plus the legend. */
	assert_int_equal(count(text, "fill=\"#e69f00\"/>"), 2 + 1);
	free(text);
}

static void
a_period_too_long_to_draw_is_said(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 2);
	scene.profiles[0].period_us = 101000;
	scene.profiles[1].period_us = 103000;
	text = circle_svg(&scene.drawing);
	assert_non_null(strstr(text, "One turn: the first 103 ms."));
	assert_non_null(strstr(text, "too long to draw"));
	free(text);

	/* A period of 1 h beside one of 1 us must not give 3.6e9 sectors. */
	scene.profiles[0].period_us = PROFILE_MAX_PERIOD_US;
	scene.profiles[1].period_us = 100000;
	text = circle_svg(&scene.drawing);
	assert_true(strlen(text) < 2000000);
	assert_non_null(strstr(text, "One turn: the first 100 ms."));
	free(text);
}

static void
names_are_escaped_and_cut(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 2);
	scene.jobs[0].name = "<b&\">";
	scene.jobs[1].name = "0123456789abcdefghijklmnopqrstuvwxyz";
	text = circle_svg(&scene.drawing);
	assert_non_null(strstr(text, "&lt;b&amp;&quot;&gt;"));
	assert_null(strstr(text, "<b&"));
	assert_non_null(strstr(text, ">0123456789abcd\u2026tuvwxyz<"));
	free(text);
}

static void
more_jobs_than_rings_are_in_the_sum(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 10);
	text = circle_svg(&scene.drawing);
	assert_non_null(strstr(text, "and 2 more, only in the sum"));
	free(text);
}

static void
a_job_that_sends_nothing_has_an_empty_ring(void **state)
{
	struct scene scene;
	char *text;

	(void)state;
	scene_init(&scene, 1);
	scene.profiles[0].n_phases = 0;
	scene.drawing.subtitle = NULL;
	scene.drawing.score = 1;
	text = circle_svg(&scene.drawing);
	assert_non_null(strstr(text, ">1.000<"));
	assert_non_null(strstr(text, ">0 Gb/s<"));
	assert_int_equal(count_hatched(text), 0);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excess_is_hatched_only_where_there_is_some),
		cmocka_unit_test(a_factor_thickens_what_is_drawn),
		cmocka_unit_test(copies_are_drawn_on_a_common_period),
		cmocka_unit_test(a_period_too_long_to_draw_is_said),
		cmocka_unit_test(names_are_escaped_and_cut),
		cmocka_unit_test(more_jobs_than_rings_are_in_the_sum),
		cmocka_unit_test(a_job_that_sends_nothing_has_an_empty_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
