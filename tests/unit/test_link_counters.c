/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_counters.c - counters of jobs' bytes on links, bounded in number */
#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/daemon/link_counters.h"
#include "tests/unit/test.h"

struct seen {
	size_t n;
	uint64_t sum;

	struct {
		char job[16];
		uint64_t bytes;
	} rows[8];
};

static void
note(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	struct seen *seen = ctx;

	assert_string_equal(link, "a>b");
	assert_true(seen->n < 8);
	snprintf(seen->rows[seen->n].job, sizeof seen->rows[0].job, "%s", job);
	seen->rows[seen->n++].bytes = bytes;
	seen->sum += bytes;
}

static uint64_t
bytes_of(const struct link_counters *carried, const char *job)
{
	struct seen seen = { .n = 0 };

	link_counters_each(carried, note, &seen);
	for (size_t i = 0; i < seen.n; i++)
		if (strcmp(seen.rows[i].job, job) == 0)
			return seen.rows[i].bytes;
	return 0;
}

static void
those_that_carry_most_have_counters_of_their_own(void **state)
{
	struct link_counters *carried = link_counters_new(2);
	const struct link_counters_job first[] = { { "a", 100, 800 },
						   { "b", 50, 400 },
						   { "c", 70, 560 } };
	const struct link_counters_job then[] = { { "a", 100, 800 },
						  { "b", 50, 400 },
						  { "c", 80, 640 } };
	const struct link_counters_job last[] = { { "c", 10, 80 }, { "d", 1, 8 } };

	(void)state;
	link_counters_add(carried, "a>b", first, 3, 7);
	assert_int_equal(bytes_of(carried, "a"), 100);
	assert_int_equal(bytes_of(carried, "b"), 50);
	assert_int_equal(bytes_of(carried, "other"), 77);
	/* Half as much again as the smallest takes its place. */
	link_counters_add(carried, "a>b", then, 3, 0);
	assert_int_equal(bytes_of(carried, "a"), 200);
	assert_int_equal(bytes_of(carried, "b"), 0);
	assert_int_equal(bytes_of(carried, "c"), 80);
	assert_int_equal(bytes_of(carried, "other"), 77);
	/* A counter that is gone leaves its place to any other. */
	link_counters_add(carried, "a>b", last, 2, 0);
	assert_int_equal(bytes_of(carried, "c"), 90);
	assert_int_equal(bytes_of(carried, "d"), 1);
	link_counters_free(carried);
}

static void
counters_never_go_back_and_nothing_is_counted_twice(void **state)
{
	struct rng rng;
	struct link_counters *carried = link_counters_new(3);
	uint64_t all = 0, other = 0;

	(void)state;
	rng_init(&rng, 5);
	for (int turn = 0; turn < 2000; turn++) {
		static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
		struct link_counters_job jobs[6];
		uint64_t before[6];
		struct seen seen = { .n = 0 };

		for (int j = 0; j < 6; j++) {
			jobs[j] =
				(struct link_counters_job){ names[j],
							    rng_below(&rng, 1000), 0 };
			jobs[j].mean_bps = 8 * (double)jobs[j].bytes;
			before[j] = bytes_of(carried, names[j]);
			all += jobs[j].bytes;
		}
		link_counters_add(carried, "a>b", jobs, 6, 1);
		all++;
		for (int j = 0; j < 6; j++) {
			uint64_t now = bytes_of(carried, names[j]);

			/* It continues, is gone, or began with the present bytes. */
			assert_true(now == 0 || now == before[j] + jobs[j].bytes);
		}
		assert_true(bytes_of(carried, "other") > other);
		other = bytes_of(carried, "other");
		link_counters_each(carried, note, &seen);
		assert_true(seen.n <= 4 && seen.sum <= all);
	}
	link_counters_free(carried);
}

static void
count_one(void *ctx, const char *link, const char *job, uint64_t bytes)
{
	(void)link;
	(void)job;
	(void)bytes;
	(*(int *)ctx)++;
}

static void
links_that_are_gone_are_forgotten(void **state)
{
	struct link_counters *carried = link_counters_new(2);
	struct link_counters_job job = { "a", 10, 1 };
	int n = 0;

	(void)state;
	for (int k = 0; k < 100000; k++) {
		char name[24];

		snprintf(name, sizeof name, "h%d:e0>", k);
		link_counters_add(carried, name, &job, 1, 5);
		link_counters_add(carried, "stays", &job, 1, 0);
		if (k % 1000 == 999)
			link_counters_forget(carried);
		assert_true(link_counters_n(carried) <= 2002);
	}
	link_counters_forget(carried);
	link_counters_forget(carried);
	assert_int_equal(link_counters_n(carried), 0);
	link_counters_each(carried, count_one, &n);
	assert_int_equal(n, 0);
	/* It starts again at zero. */
	link_counters_add(carried, "stays", &job, 1, 0);
	link_counters_each(carried, count_one, &n);
	assert_int_equal(n, 1);
	link_counters_free(carried);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_carry_most_have_counters_of_their_own),
		cmocka_unit_test(counters_never_go_back_and_nothing_is_counted_twice),
		cmocka_unit_test(links_that_are_gone_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
