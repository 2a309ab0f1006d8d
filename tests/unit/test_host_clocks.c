/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_clocks.c - how far hosts' clocks are ahead, from the frames that come */
#include <stdio.h>
#include <string.h>

#include "lib/wire/tele.h"
#include "scheduler/daemon/host_clocks.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)
#define WALL_NS   (1764000000 * SECOND_NS)    /* At 'now' 0. */
#define BOOT_NS   (WALL_NS - 500 * SECOND_NS) /* Of hosts. */

/* A frame of a host whose clock is 'ahead_ns', 'late_ns' on its way, arrives at 'now_ns'. */
static void
note(struct host_clocks *clocks, const char *host, int64_t ahead_ns, int64_t late_ns,
     int64_t now_ns)
{
	struct tele_frame frame = { .wall_offset_ns = BOOT_NS + ahead_ns };

	snprintf(frame.host, sizeof frame.host, "%s", host);
	frame.time_ns = WALL_NS + now_ns - late_ns - BOOT_NS;
	host_clocks_note(clocks, &frame, WALL_NS + now_ns, now_ns);
}

static int64_t
offset_of(const struct host_clocks *clocks, const char *host, int64_t now_ns)
{
	int64_t offset_ns = 0;

	assert_true(host_clocks_offset_ns(clocks, host, now_ns, &offset_ns));
	return offset_ns;
}

static void
the_frame_that_comes_soonest_shows_the_clock(void **state)
{
	struct host_clocks *clocks = host_clocks_new(WALL_NS, 0);
	int64_t offset_ns;

	(void)state;
	assert_false(host_clocks_offset_ns(clocks, "h0", 0, &offset_ns));
	note(clocks, "h0", 7000000, 3000000, SECOND_NS);
	assert_int_equal(offset_of(clocks, "h0", SECOND_NS), 4000000);
	note(clocks, "h0", 7000000, 1000000, 2 * SECOND_NS);
	note(clocks, "h0", 7000000, 9000000, 3 * SECOND_NS);
	note(clocks, "h1", -7000000, 0, 3 * SECOND_NS);
	assert_int_equal(offset_of(clocks, "h0", 3 * SECOND_NS), 6000000);
	assert_int_equal(offset_of(clocks, "h1", 3 * SECOND_NS), -7000000);
	host_clocks_free(clocks);
}

static void
a_best_frame_counts_for_one_to_two_spans(void **state)
{
	struct host_clocks *clocks = host_clocks_new(WALL_NS, 0);

	(void)state;
	note(clocks, "h0", 0, 1000000, SECOND_NS);
	for (int64_t s = 2; s <= 62; s++)
		note(clocks, "h0", 0, 5000000, s * SECOND_NS);
	assert_int_equal(offset_of(clocks, "h0", 62 * SECOND_NS), -1000000);
	for (int64_t s = 63; s <= 125; s++)
		note(clocks, "h0", 0, 5000000, s * SECOND_NS);
	assert_int_equal(offset_of(clocks, "h0", 125 * SECOND_NS), -5000000);
	host_clocks_free(clocks);
}

static void
a_step_of_a_clock_begins_anew(void **state)
{
	struct host_clocks *clocks = host_clocks_new(WALL_NS, 0);
	struct tele_frame frame = { .wall_offset_ns = BOOT_NS };

	(void)state;
	note(clocks, "h0", 0, 0, SECOND_NS);
	note(clocks, "h0", -10 * SECOND_NS, 0, 2 * SECOND_NS);
	assert_int_equal(offset_of(clocks, "h0", 2 * SECOND_NS), -10 * SECOND_NS);
	/* Ours is stepped forward by a minute; the frame is as before. */
	note(clocks, "h1", 0, 0, 3 * SECOND_NS);
	snprintf(frame.host, sizeof frame.host, "h1");
	frame.time_ns = WALL_NS + 4 * SECOND_NS - BOOT_NS;
	host_clocks_note(clocks, &frame, WALL_NS + 64 * SECOND_NS, 4 * SECOND_NS);
	assert_int_equal(offset_of(clocks, "h1", 4 * SECOND_NS), -60 * SECOND_NS);
	host_clocks_free(clocks);
}

static void
silent_hosts_are_forgotten(void **state)
{
	struct host_clocks *clocks = host_clocks_new(WALL_NS, 0);
	int64_t offset_ns;

	(void)state;
	note(clocks, "h0", 0, 0, SECOND_NS);
	assert_true(host_clocks_offset_ns(clocks, "h0", 120 * SECOND_NS, &offset_ns));
	assert_false(host_clocks_offset_ns(clocks, "h0", 121 * SECOND_NS, &offset_ns));
	host_clocks_forget(clocks, 240 * SECOND_NS);
	note(clocks, "h0", 0, 5, 240 * SECOND_NS);
	host_clocks_forget(clocks, 500 * SECOND_NS);
	assert_false(host_clocks_offset_ns(clocks, "h0", 500 * SECOND_NS, &offset_ns));
	host_clocks_free(clocks);
}

static void
hosts_beyond_the_limit_are_counted_only(void **state)
{
	struct host_clocks *clocks = host_clocks_new(WALL_NS, 0);
	int64_t offset_ns;
	char host[16];

	(void)state;
	for (int i = 0; i < HOST_CLOCKS_MAX + 3; i++) {
		snprintf(host, sizeof host, "h%d", i);
		note(clocks, host, 0, 0, SECOND_NS);
	}
	note(clocks, "h0", 0, 0, SECOND_NS);
	assert_int_equal(host_clocks_n_unfollowed(clocks), 3);
	assert_false(host_clocks_offset_ns(clocks, host, SECOND_NS, &offset_ns));
	host_clocks_forget(clocks, 300 * SECOND_NS);
	note(clocks, host, 0, 0, 300 * SECOND_NS);
	assert_int_equal(offset_of(clocks, host, 300 * SECOND_NS), 0);
	host_clocks_free(clocks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_frame_that_comes_soonest_shows_the_clock),
		cmocka_unit_test(a_best_frame_counts_for_one_to_two_spans),
		cmocka_unit_test(a_step_of_a_clock_begins_anew),
		cmocka_unit_test(silent_hosts_are_forgotten),
		cmocka_unit_test(hosts_beyond_the_limit_are_counted_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
