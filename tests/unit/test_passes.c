/* SPDX-License-Identifier: Apache-2.0 */
/* test_passes.c - the duration of a loop's passes and of their parts */
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/daemon/metrics.h"
#include "lib/daemon/passes.h"
#include "tests/unit/test.h"

#define MS 1000000

static struct passes_time
at(int64_t wall_ms, int64_t cpu_ms)
{
	return (struct passes_time){ wall_ms * MS, cpu_ms * MS };
}

static const struct passes_part *
find(const struct passes *passes, const char *name)
{
	for (size_t i = 0; i < passes->n_parts; i++)
		if (strcmp(passes->parts[i].name, name) == 0)
			return &passes->parts[i];
	fail();
	return NULL;
}

/* 40 ms: 7 of look, 30 of http, 3 of no part. */
static void
pass(struct passes *passes, int64_t ms)
{
	passes_begin(passes, at(ms, ms));
	passes_part(passes, "http", at(ms + 2, ms + 2));
	passes_part(passes, "look", at(ms + 12, ms + 7));
	passes_part(passes, "look", at(ms + 15, ms + 8));
	passes_part(passes, "http", at(ms + 19, ms + 11));
	passes_part(passes, "other", at(ms + 39, ms + 20));
	passes_end(passes, at(ms + 40, ms + 21));
}

static void
a_pass_is_told_apart_by_its_parts(void **state)
{
	struct passes passes = { .n_parts = 0 };

	(void)state;
	pass(&passes, 1000);
	assert_int_equal(passes.all.n, 1);
	assert_int_equal(passes.all.most.wall_ns, 40 * MS);
	assert_int_equal(passes.all.most.cpu_ns, 21 * MS);
	assert_int_equal(passes.counts[5], 1); /* Up to 50 ms. */
	assert_int_equal(find(&passes, "http")->sum.wall_ns, 30 * MS);
	assert_int_equal(find(&passes, "http")->sum.cpu_ns, 14 * MS);
	assert_int_equal(find(&passes, "http")->n, 2);
	assert_int_equal(find(&passes, "http")->most.wall_ns, 20 * MS);
	assert_int_equal(find(&passes, "look")->most.wall_ns, 7 * MS);
	assert_int_equal(find(&passes, "other")->sum.wall_ns, 3 * MS);
}

static void
what_is_said_between_passes_is_of_none(void **state)
{
	struct passes passes = { .n_parts = 0 };

	(void)state;
	passes_part(&passes, "http", at(1, 1));
	assert_int_equal(passes.n_parts, 0);
	pass(&passes, 2);
	passes_part(&passes, "look", at(100, 100));
	assert_int_equal(find(&passes, "look")->sum.wall_ns, 7 * MS);
}

static void
the_longest_is_of_this_minute_and_the_one_before(void **state)
{
	struct passes passes = { .n_parts = 0 };

	(void)state;
	pass(&passes, 1);
	pass(&passes, 60001);
	assert_int_equal(passes.all.last_most.wall_ns, 40 * MS);
	passes_begin(&passes, at(120001, 0));
	passes_end(&passes, at(120002, 1));
	assert_int_equal(passes.all.most.wall_ns, 1 * MS);
	assert_int_equal(passes.all.last_most.wall_ns, 40 * MS);
	passes_begin(&passes, at(300001, 0));
	passes_end(&passes, at(300001, 0));
	assert_int_equal(passes.all.last_most.wall_ns, 0);
	assert_int_equal(find(&passes, "http")->last_most.wall_ns, 0);
	assert_int_equal(find(&passes, "http")->sum.wall_ns, 60 * MS);
}

static void
names_beyond_the_bound_are_one(void **state)
{
	static char names[PASSES_MAX_PARTS + 8][8];
	struct passes passes = { .n_parts = 0 };

	(void)state;
	passes_begin(&passes, at(0, 0));
	for (int i = 0; i < PASSES_MAX_PARTS + 8; i++) {
		snprintf(names[i], sizeof names[i], "p%d", i);
		passes_part(&passes, names[i], at(i + 1, i + 1));
	}
	passes_end(&passes, at(PASSES_MAX_PARTS + 9, PASSES_MAX_PARTS + 9));
	assert_int_equal(passes.n_parts, PASSES_MAX_PARTS);
	assert_int_equal(passes.parts[PASSES_MAX_PARTS - 1].n, 10);
}

static void
they_are_metrics_with_the_prefix_of_the_program(void **state)
{
	struct passes passes = { .n_parts = 0 };
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	pass(&passes, 1);
	metrics_init(&m, &out);
	passes_write(&passes, "antiphase_test", &m);
	assert_non_null(
		strstr(out.text, "\nantiphase_test_loop_pass_seconds_count 1\n"));
	assert_non_null(
		strstr(out.text, "\nantiphase_test_loop_longest_pass_seconds 0.04\n"));
	assert_non_null(strstr(
		out.text, "\nantiphase_test_loop_longest_pass_cpu_seconds 0.021\n"));
	assert_non_null(strstr(
		out.text,
		"\nantiphase_test_loop_longest_part_seconds{part=\"look\"} 0.007\n"));
	strbuf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pass_is_told_apart_by_its_parts),
		cmocka_unit_test(what_is_said_between_passes_is_of_none),
		cmocka_unit_test(the_longest_is_of_this_minute_and_the_one_before),
		cmocka_unit_test(names_beyond_the_bound_are_one),
		cmocka_unit_test(they_are_metrics_with_the_prefix_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
