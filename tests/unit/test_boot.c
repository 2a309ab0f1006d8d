/* SPDX-License-Identifier: Apache-2.0 */
/* test_boot.c - the boot's id, and steps of the wall clock, with simulated clocks */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/series/boot.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "tests/unit/test.h"

static void
an_id_is_read_from_its_text(void **state)
{
	static const uint8_t expected[16] = { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec,
					      0x11, 0xd0, 0xa7, 0x65, 0x00, 0xa0,
					      0xc9, 0x1e, 0x6b, 0xf6 };
	static const char *const bad[] = {
		"",
		"f81d4fae-7dec-11d0-a765-00a0c91e6b",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf6f6",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf",
		"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
	};
	uint8_t id[16] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(boot_parse_id(bad[i], id));
	assert_int_equal(id[0], 0);
	assert_true(boot_parse_id("f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n", id));
	assert_memory_equal(id, expected, 16);
}

static void
the_kernel_has_one(void **state)
{
	uint8_t id[16] = { 0 }, again[16] = { 0 }, zeros[16] = { 0 };
	struct err err = { 0 };
	char path[64];

	(void)state;
	assert_int_equal(boot_read_id(NULL, id, &err), 0);
	assert_int_equal(boot_read_id(NULL, again, &err), 0);
	assert_memory_equal(id, again, 16);
	assert_memory_not_equal(id, zeros, 16);
	assert_int_equal(boot_read_id("/no/such/file", id, &err), -ENOENT);
	snprintf(path, sizeof path, "/tmp/ap-boot-%d", (int)getpid());
	assert_int_equal(file_write(path, "hello\n", 6, &err), 0);
	assert_int_equal(boot_read_id(path, id, &err), -EINVAL);
	unlink(path);
}

static void
a_step_either_way_is_seen_once(void **state)
{
	const int64_t second = INT64_C(1000000000);
	const int64_t epoch_ns = INT64_C(1763650000123456789);
	struct wall wall = { 0 };

	(void)state;
	assert_false(wall_update(&wall, 5 * second, epoch_ns + 5 * second));
	assert_int_equal(wall.offset_ns, epoch_ns);
	/* Inexact readings of the clocks are no step and change nothing. */
	for (int i = 6; i < 1000; i++)
		assert_false(wall_update(&wall, i * second,
					 epoch_ns + i * second + i % 7 * 100000));
	assert_int_equal(wall.offset_ns, epoch_ns);
	/* Half an hour forward. */
	assert_true(wall_update(&wall, 1000 * second, epoch_ns + 2800 * second));
	assert_int_equal(wall.offset_ns, epoch_ns + 1800 * second);
	assert_int_equal(wall.last_step_ns, 1800 * second);
	assert_false(wall_update(&wall, 1001 * second, epoch_ns + 2801 * second));
	/* A leap second back. */
	assert_true(wall_update(&wall, 1002 * second, epoch_ns + 2801 * second));
	assert_int_equal(wall.last_step_ns, -second);
	assert_int_equal(wall.steps, 2);
}

/* Many small changes that add up are a step, too. */
static void
what_creeps_is_seen_when_it_has_added_up(void **state)
{
	struct wall wall = { 0 };
	int n = 0;

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		n += wall_update(&wall, i * 1000000000, i * 1000000000 + i * 30000);
	assert_int_equal(n, 2);
	assert_near((double)wall.offset_ns, 99 * 30000, WALL_STEP_NS);
}

static void
the_real_clocks_agree_with_themselves(void **state)
{
	struct wall wall = { 0 };
	int64_t monotonic_ns = 0, wall_ns = 0, error_ns = boot_clock_error_ns();

	(void)state;
	for (int i = 0; i < 20; i++) {
		boot_read_clocks(&monotonic_ns, &wall_ns);
		assert_true(monotonic_ns > 0 && wall_ns > monotonic_ns);
		wall_update(&wall, monotonic_ns, wall_ns);
	}
	assert_true(wall.steps <= 1);
	assert_true(error_ns == -1 || error_ns >= 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_read_from_its_text),
		cmocka_unit_test(the_kernel_has_one),
		cmocka_unit_test(a_step_either_way_is_seen_once),
		cmocka_unit_test(what_creeps_is_seen_when_it_has_added_up),
		cmocka_unit_test(the_real_clocks_agree_with_themselves),
	};

	return cmocka_run_group_tests_name("boot", tests, NULL, NULL);
}
