/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/series/binner.h"
#include "lib/wire/tele.h"
#include "tests/unit/binner_bins.h"
#include "tests/unit/test.h"

#define MS          INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define GIGABIT_BPS 1e9

static const struct source_key link_rx = { 0, TELE_LINK, TELE_RX, TELE_WIRE };
static const struct source_key job_rx = { 0, 7, TELE_RX, TELE_WIRE };

/* Empties the frame without tele.c, to test the binner alone. */
static void
empty(struct tele_frame *frame)
{
	frame->traffic.n = frame->series.n = frame->bins.n = 0;
}

/* The row of a key for a window; fails if there is none. */
static struct tele_traffic
row_of(struct binner *binner, const struct source_key *key, int64_t from_ms,
       int64_t to_ms)
{
	struct tele_frame frame = { 0 };
	struct tele_traffic row = { 0 };
	bool found = false;

	binner_summary(binner, from_ms, to_ms, &frame);
	for (size_t i = 0; i < frame.traffic.n; i++)
		if (frame.traffic.items[i].interface == key->interface &&
		    frame.traffic.items[i].job == key->job &&
		    frame.traffic.items[i].direction == key->direction) {
			row = frame.traffic.items[i];
			found = true;
		}
	binner_release(&frame);
	assert_true(found);
	return row;
}

static void
assert_bins(struct binner *binner, const struct source_key *key, int64_t from_ms,
	    const uint32_t *want, size_t n)
{
	uint32_t got[BINNER_BINS];

	assert_true(binner_raw_bins(binner, key, from_ms, from_ms + (int64_t)n, got));
	for (size_t i = 0; i < n; i++)
		if (got[i] != want[i])
			fail_msg("bin %zu is %u, not %u", i, got[i], want[i]);
}

static void
a_difference_is_spread_evenly_and_adds_up(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_counter(binner, &link_rx, 10 * MS, 1000, 64, NULL);
	binner_counter(binner, &link_rx, 13 * MS, 1010, 64, NULL);
	assert_bins(binner, &link_rx, 9,
		    (const uint32_t[]){ TELE_GAP, 3, 3, 4, TELE_GAP }, 5);
	binner_free(binner);
}

static void
a_late_reading_is_spread_over_the_real_interval(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_counter(binner, &link_rx, 10 * MS, 0, 64, NULL);
	/* 3.5 ms of 1000 bytes each, then 0.5 ms of none. */
	binner_counter(binner, &link_rx, 13 * MS + MS / 2, 3500, 64, NULL);
	binner_counter(binner, &link_rx, 14 * MS, 3500, 64, NULL);
	assert_bins(binner, &link_rx, 10, (const uint32_t[]){ 1000, 1000, 1000, 500 },
		    4);
	binner_free(binner);
}

static void
a_bin_watched_in_part_is_a_gap_but_its_bytes_are_in_the_total(void **state)
{
	struct binner *binner = binner_new();
	struct tele_traffic row;

	(void)state;
	binner_counter(binner, &link_rx, 10 * MS + 1, 0, 64, NULL);
	binner_counter(binner, &link_rx, 12 * MS, 2000, 64, NULL);
	row = row_of(binner, &link_rx, 10, 13);
	assert_int_equal(row.gap_bins, 2);
	assert_int_equal(row.total_bytes, 2000);
	assert_int_equal(row.window_bytes, 1001); /* The last bin gets the rounding. */
	binner_free(binner);
}

static void
a_32_bit_counter_that_wraps_goes_on(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_set_capacity(binner, 0, GIGABIT_BPS);
	binner_counter(binner, &link_rx, 1000 * MS, UINT32_MAX - 99, 32, NULL);
	binner_counter(binner, &link_rx, 1002 * MS, 100, 32, NULL);
	assert_bins(binner, &link_rx, 1000, (const uint32_t[]){ 100, 100 }, 2);
	assert_int_equal(binner_counts(binner)->wraps, 1);
	assert_int_equal(binner_counts(binner)->resets, 0);
	binner_free(binner);
}

static void
a_counter_that_went_back_too_far_for_the_line_was_reset(void **state)
{
	struct binner *binner = binner_new();
	struct tele_traffic row;

	(void)state;
	binner_set_capacity(binner, 0, GIGABIT_BPS);
	binner_counter(binner, &link_rx, 1000 * MS, 3000000000u, 32, NULL);
	binner_counter(binner, &link_rx, 1002 * MS, 500, 32, NULL);
	binner_counter(binner, &link_rx, 1003 * MS, 600, 32, NULL);
	assert_bins(binner, &link_rx, 1000,
		    (const uint32_t[]){ TELE_GAP, TELE_GAP, 100 }, 3);
	row = row_of(binner, &link_rx, 1000, 1003);
	assert_int_equal(row.total_bytes, 600);
	assert_int_equal(row.window_bytes, 100);
	assert_int_equal(binner_counts(binner)->resets, 1);
	binner_free(binner);
}

static void
without_a_capacity_a_quarter_of_the_range_tells_wrap_from_reset(void **state)
{
	static const struct {
		uint64_t before, after;
		unsigned bits;
		uint64_t wraps;
	} cases[] = {
		{ UINT32_MAX, 5, 32, 1 },
		{ UINT32_MAX, 1u << 30, 32, 0 }, /* A step of 2^30 + 1. */
		{ UINT64_MAX, 5, 64, 1 },
		{ UINT64_C(1) << 40, 5, 64, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct binner *binner = binner_new();

		binner_counter(binner, &link_rx, MS, cases[i].before, cases[i].bits,
			       NULL);
		binner_counter(binner, &link_rx, 2 * MS, cases[i].after, cases[i].bits,
			       NULL);
		assert_int_equal(binner_counts(binner)->wraps, cases[i].wraps);
		assert_int_equal(binner_counts(binner)->resets, !cases[i].wraps);
		binner_free(binner);
	}
}

static void
an_interval_in_which_32_bits_can_go_round_unseen_is_a_gap(void **state)
{
	struct binner *binner = binner_new();
	struct tele_traffic row;

	(void)state;
	binner_set_capacity(binner, 0, 100 * GIGABIT_BPS); /* 2^32 bytes: 344 ms. */
	binner_counter(binner, &link_rx, 1000 * MS, 0, 32, NULL);
	binner_counter(binner, &link_rx, 1300 * MS, 3000, 32, NULL);
	binner_counter(binner, &link_rx, 1700 * MS, 7000, 32, NULL);
	row = row_of(binner, &link_rx, 1000, 1700);
	assert_int_equal(row.gap_bins, 400);
	assert_int_equal(row.window_bytes, 3000);
	assert_int_equal(row.total_bytes, 7000);
	binner_free(binner);
}

static void
a_reading_not_newer_than_the_last_is_dropped_and_counted(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_counter(binner, &link_rx, 10 * MS, 100, 64, NULL);
	binner_counter(binner, &link_rx, 10 * MS, 200, 64, NULL);
	binner_counter(binner, &link_rx, 9 * MS, 300, 64, NULL);
	binner_counter(binner, &link_rx, 11 * MS, 150, 64, NULL);
	assert_bins(binner, &link_rx, 10, (const uint32_t[]){ 50 }, 1);
	assert_int_equal(binner_counts(binner)->backward, 2);
	binner_free(binner);
}

static void
no_reading_for_long_is_a_gap_and_still_counted(void **state)
{
	struct binner *binner = binner_new();
	struct tele_traffic row;

	(void)state;
	binner_counter(binner, &link_rx, SECOND, 0, 64, NULL);
	binner_counter(binner, &link_rx, SECOND + BINNER_MAX_SPREAD_NS, 2000, 64, NULL);
	binner_counter(binner, &link_rx, SECOND + 2 * BINNER_MAX_SPREAD_NS + 1, 5000,
		       64, NULL);
	row = row_of(binner, &link_rx, 1000, 5000);
	assert_int_equal(row.busy_bins, 2000);
	assert_int_equal(row.gap_bins, 2000);
	assert_int_equal(row.window_bytes, 2000);
	assert_int_equal(row.total_bytes, 5000);
	binner_free(binner);
}

static void
bins_add_up_and_are_a_gap_until_complete(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_complete(binner, 0, 100);
	binner_bins(binner, &link_rx, 101, (const uint32_t[]){ 5, 6 }, 2, NULL);
	binner_bins(binner, &link_rx, 101, (const uint32_t[]){ 50 }, 1, NULL);
	assert_bins(binner, &link_rx, 100, (const uint32_t[]){ TELE_GAP, TELE_GAP }, 2);
	binner_complete(binner, 0, 104);
	assert_bins(binner, &link_rx, 99,
		    (const uint32_t[]){ TELE_GAP, 0, 55, 6, 0, TELE_GAP }, 6);
	binner_free(binner);
}

static void
unknown_bins_stay_unknown_whatever_is_added(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_complete(binner, 0, 100);
	binner_bins(binner, &link_rx, 100, (const uint32_t[]){ 9, TELE_GAP, 9 }, 3,
		    NULL);
	binner_bins(binner, &link_rx, 100, (const uint32_t[]){ TELE_GAP, 9, 9 }, 3,
		    NULL);
	binner_complete(binner, 0, 103);
	assert_bins(binner, &link_rx, 100, (const uint32_t[]){ TELE_GAP, TELE_GAP, 18 },
		    3);
	assert_int_equal(row_of(binner, &link_rx, 100, 103).total_bytes, 36);
	binner_free(binner);
}

static void
a_bin_too_full_is_not_taken_for_a_gap(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_complete(binner, 0, 100);
	for (int i = 0; i < 3; i++)
		binner_bins(binner, &link_rx, 100, (const uint32_t[]){ 0xc0000000u }, 1,
			    NULL);
	binner_complete(binner, 0, 101);
	assert_bins(binner, &link_rx, 100, (const uint32_t[]){ TELE_GAP - 1 }, 1);
	binner_counter(binner, &job_rx, 100 * MS, 0, 64, NULL);
	binner_counter(binner, &job_rx, 102 * MS, UINT64_C(1) << 60, 64, NULL);
	assert_bins(binner, &job_rx, 100, (const uint32_t[]){ TELE_GAP - 1 }, 1);
	assert_true(row_of(binner, &job_rx, 100, 102).total_bytes == UINT64_C(1) << 60);
	binner_free(binner);
}

static void
bins_too_late_for_the_ring_are_in_the_total_and_counted(void **state)
{
	struct binner *binner = binner_new();

	(void)state;
	binner_complete(binner, 0, 0);
	binner_bins(binner, &link_rx, 0, (const uint32_t[]){ 1 }, 1, NULL);
	binner_bins(binner, &link_rx, 2 * BINNER_BINS, (const uint32_t[]){ 1 }, 1,
		    NULL);
	binner_bins(binner, &link_rx, 1, (const uint32_t[]){ 3, 0, 4 }, 3, NULL);
	binner_complete(binner, 0, 2 * BINNER_BINS + 1);
	assert_int_equal(binner_counts(binner)->late_bins, 2);
	assert_bins(binner, &link_rx, 0, (const uint32_t[]){ TELE_GAP, TELE_GAP }, 2);
	assert_int_equal(row_of(binner, &link_rx, 8000, 8193).total_bytes, 9);
	binner_free(binner);
}

static void
an_interface_gone_and_back_has_a_gap_between(void **state)
{
	struct binner *binner = binner_new();
	static const struct source_key fresh = { 0, 8, TELE_RX, TELE_WIRE };

	(void)state;
	binner_bins(binner, &link_rx, 100, (const uint32_t[]){ 1, 1 }, 2, NULL);
	binner_complete(binner, 0, 102);
	binner_counter(binner, &job_rx, 100 * MS, 50, 64, NULL);
	binner_counter(binner, &job_rx, 102 * MS, 52, 64, NULL);
	binner_gone(binner, 0);
	binner_bins(binner, &link_rx, 104, (const uint32_t[]){ 2 }, 1, NULL);
	binner_bins(binner, &fresh, 104, (const uint32_t[]){ 2 }, 1, NULL);
	binner_complete(binner, 0, 106);
	binner_counter(binner, &job_rx, 104 * MS, 3, 64, NULL);
	binner_counter(binner, &job_rx, 105 * MS, 7, 64, NULL);
	assert_bins(binner, &link_rx, 99,
		    (const uint32_t[]){ TELE_GAP, 1, 1, TELE_GAP, TELE_GAP, 2, 0 }, 7);
	assert_bins(
		binner, &job_rx, 99,
		(const uint32_t[]){ TELE_GAP, 1, 1, TELE_GAP, TELE_GAP, 4, TELE_GAP },
		7);
	/* A job first seen after the return has the gap, too. */
	assert_bins(binner, &fresh, 101, (const uint32_t[]){ 0, TELE_GAP, TELE_GAP, 2 },
		    4);
	assert_int_equal(row_of(binner, &job_rx, 100, 106).total_bytes, 6);
	binner_free(binner);
}

static void
an_interface_that_is_gone_has_no_rows_afterwards(void **state)
{
	struct binner *binner = binner_new();
	struct tele_frame frame = { 0 };

	(void)state;
	binner_bins(binner, &link_rx, 100, (const uint32_t[]){ 1 }, 1, NULL);
	binner_complete(binner, 0, 1000);
	binner_gone(binner, 0);
	binner_summary(binner, 0, 1000, &frame);
	assert_int_equal(frame.traffic.n, 1);
	empty(&frame);
	binner_summary(binner, 1000, 2000, &frame);
	binner_raw(binner, 1000, 2000, &frame);
	assert_int_equal(frame.traffic.n, 0);
	assert_int_equal(frame.series.n, 0);
	binner_release(&frame);
	binner_free(binner);
}

static void
the_other_counts_follow_wraps_and_resets_of_the_bytes(void **state)
{
	struct binner *binner = binner_new();
	struct source_extra extra = { .packets = UINT32_MAX, .retransmits = 4 };
	struct tele_traffic row;

	(void)state;
	binner_counter(binner, &link_rx, 1 * MS, UINT32_MAX, 32, &extra);
	extra = (struct source_extra){ .packets = 1, .retransmits = 5, .flows = 9 };
	binner_counter(binner, &link_rx, 2 * MS, 99, 32, &extra);
	extra = (struct source_extra){ .packets = 3, .retransmits = 6, .flows = 2 };
	binner_counter(binner, &link_rx, 3 * MS, 50, 64, &extra);
	row = row_of(binner, &link_rx, 0, 3);
	assert_int_equal(row.total_bytes, 100 + 50);
	assert_int_equal(row.total_packets, 2 + 3);
	assert_int_equal(row.total_retransmits, 1 + 6);
	assert_int_equal(row.flows, 9);
	assert_int_equal(row_of(binner, &link_rx, 3, 4).flows, 0);
	binner_free(binner);
}

static void
a_resumed_total_goes_on_from_where_it_was(void **state)
{
	struct binner *binner = binner_new();
	struct source_extra extra = { .packets = 10, .ce = 2 };
	struct source_key key;
	uint64_t bytes;

	(void)state;
	assert_int_equal(binner_resume(binner, &job_rx, 5000, &extra), 0);
	binner_bins(binner, &job_rx, 5, (const uint32_t[]){ 7 }, 1, &extra);
	assert_int_equal(binner_n_series(binner), 1);
	assert_true(binner_total(binner, 0, &key, &bytes, &extra));
	assert_int_equal(key.job, job_rx.job);
	assert_int_equal(bytes, 5007);
	assert_int_equal(extra.packets, 20);
	assert_int_equal(extra.ce, 4);
	binner_free(binner);
}

static void
silent_jobs_are_left_out_and_come_back_with_their_totals(void **state)
{
	struct binner *binner = binner_new();
	struct tele_frame frame = { 0 };
	int64_t ms = 0;

	(void)state;
	binner_bins(binner, &link_rx, 0, (const uint32_t[]){ 9 }, 1, NULL);
	binner_bins(binner, &job_rx, 0, (const uint32_t[]){ 9 }, 1, NULL);
	for (int i = 0; i <= BINNER_FORGET; i++, ms += 1000) {
		empty(&frame);
		binner_complete(binner, 0, ms + 1000);
		binner_summary(binner, ms, ms + 1000, &frame);
		assert_int_equal(frame.traffic.n, i < BINNER_FORGET ? 2 : 1);
	}
	assert_int_equal(frame.traffic.items[0].job, TELE_LINK);
	binner_bins(binner, &job_rx, ms, (const uint32_t[]){ 1 }, 1, NULL);
	binner_complete(binner, 0, ms + 1000);
	assert_int_equal(row_of(binner, &job_rx, ms, ms + 1000).total_bytes, 10);
	binner_release(&frame);
	binner_free(binner);
}

static void
too_many_keys_are_refused_until_silent_ones_make_room(void **state)
{
	struct binner *binner = binner_new();
	struct source_key key = link_rx;
	struct tele_frame frame = { 0 };
	const uint32_t one = 1;

	(void)state;
	for (uint32_t i = 0; i < BINNER_MAX_SERIES; i++) {
		key.job = i;
		assert_int_equal(binner_bins(binner, &key, 0, &one, 1, NULL), 0);
	}
	key.job = BINNER_MAX_SERIES;
	assert_int_equal(binner_bins(binner, &key, 0, &one, 1, NULL), -E2BIG);
	assert_int_equal(binner_counts(binner)->refused_keys, 1);
	assert_true(binner_counts(binner)->starved_bins > 0);
	for (int64_t i = 0; i <= BINNER_FORGET; i++) {
		empty(&frame);
		binner_summary(binner, i, i + 1, &frame);
	}
	assert_int_equal(binner_bins(binner, &key, 61, &one, 1, NULL), 0);
	assert_int_equal(binner_counts(binner)->evicted_keys, BINNER_MAX_SERIES);
	assert_int_equal(row_of(binner, &key, 61, 62).total_bytes, 1);
	binner_release(&frame);
	binner_free(binner);
}

static void
an_interface_beyond_what_a_frame_holds_is_refused(void **state)
{
	struct binner *binner = binner_new();
	struct source_key key = link_rx;

	(void)state;
	key.interface = TELE_MAX_INTERFACES;
	assert_int_equal(binner_counter(binner, &key, MS, 1, 64, NULL), -EINVAL);
	assert_int_equal(binner_resume(binner, &key, 1, NULL), -EINVAL);
	binner_complete(binner, UINT32_MAX, 1);
	binner_gone(binner, UINT32_MAX);
	binner_set_capacity(binner, UINT32_MAX, 1e9);
	assert_int_equal(binner_n_series(binner), 0);
	binner_free(binner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_is_spread_evenly_and_adds_up),
		cmocka_unit_test(a_late_reading_is_spread_over_the_real_interval),
		cmocka_unit_test(
			a_bin_watched_in_part_is_a_gap_but_its_bytes_are_in_the_total),
		cmocka_unit_test(a_32_bit_counter_that_wraps_goes_on),
		cmocka_unit_test(
			a_counter_that_went_back_too_far_for_the_line_was_reset),
		cmocka_unit_test(
			without_a_capacity_a_quarter_of_the_range_tells_wrap_from_reset),
		cmocka_unit_test(
			an_interval_in_which_32_bits_can_go_round_unseen_is_a_gap),
		cmocka_unit_test(
			a_reading_not_newer_than_the_last_is_dropped_and_counted),
		cmocka_unit_test(no_reading_for_long_is_a_gap_and_still_counted),
		cmocka_unit_test(bins_add_up_and_are_a_gap_until_complete),
		cmocka_unit_test(unknown_bins_stay_unknown_whatever_is_added),
		cmocka_unit_test(a_bin_too_full_is_not_taken_for_a_gap),
		cmocka_unit_test(
			bins_too_late_for_the_ring_are_in_the_total_and_counted),
		cmocka_unit_test(an_interface_gone_and_back_has_a_gap_between),
		cmocka_unit_test(an_interface_that_is_gone_has_no_rows_afterwards),
		cmocka_unit_test(the_other_counts_follow_wraps_and_resets_of_the_bytes),
		cmocka_unit_test(a_resumed_total_goes_on_from_where_it_was),
		cmocka_unit_test(
			silent_jobs_are_left_out_and_come_back_with_their_totals),
		cmocka_unit_test(too_many_keys_are_refused_until_silent_ones_make_room),
		cmocka_unit_test(an_interface_beyond_what_a_frame_holds_is_refused),
	};

	return cmocka_run_group_tests_name("binner", tests, NULL, NULL);
}
