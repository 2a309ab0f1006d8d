/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/rng.h"
#include "lib/wire/seq.h"
#include "tests/unit/tele_fixture.h"

static enum seq_verdict
note(struct seq_book *book, const char *host, uint8_t kind, uint64_t start_id,
     uint64_t sequence, uint64_t *ret_missing)
{
	struct tele_frame frame = { .kind = kind,
				    .start_id = start_id,
				    .sequence = sequence,
				    .time_ns = (int64_t)(sequence % 1000000) };

	tele_set_name(frame.host, host);
	return seq_note(book, &frame, ret_missing);
}

static void
missing_frames_are_counted_for_each_host_and_kind(void **state)
{
	struct seq_book *book = seq_book_new();
	uint64_t missing;

	(void)state;
	/* A subscriber that comes late has missed nothing. */
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 100, &missing), SEQ_FIRST);
	assert_int_equal(note(book, "n1", TELE_RAW, 1, 7, &missing), SEQ_FIRST);
	assert_int_equal(note(book, "n2", TELE_SUMMARY, 1, 3, &missing), SEQ_FIRST);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 101, &missing), SEQ_NEXT);
	assert_int_equal(missing, 0);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 105, &missing), SEQ_GAP);
	assert_int_equal(missing, 3);
	assert_int_equal(note(book, "n1", TELE_RAW, 1, 10, &missing), SEQ_GAP);
	assert_int_equal(missing, 2);
	assert_int_equal(note(book, "n2", TELE_SUMMARY, 1, 4, &missing), SEQ_NEXT);
	assert_int_equal(seq_gaps_of(book, "n1"), 5);
	assert_int_equal(seq_gaps_of(book, "n2"), 0);
	assert_int_equal(seq_gaps_of(book, "n3"), 0);
	assert_int_equal(seq_counts(book)->gaps, 5);
	assert_int_equal(seq_counts(book)->hosts, 2);
	seq_book_free(book);
}

static void
a_restart_is_no_gap_but_what_it_lost_since_is(void **state)
{
	struct seq_book *book = seq_book_new();
	uint64_t missing;

	(void)state;
	note(book, "n1", TELE_SUMMARY, 1, 50, NULL);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 2, 0, &missing), SEQ_RESTART);
	assert_int_equal(missing, 0);
	note(book, "n1", TELE_SUMMARY, 2, 1, NULL);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 3, 4, &missing), SEQ_RESTART);
	assert_int_equal(missing, 4);
	/* A replay of the same recording. */
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 3, 0, &missing), SEQ_RESTART);
	assert_int_equal(missing, 0);
	assert_int_equal(seq_counts(book)->restarts, 3);
	seq_book_free(book);
}

static void
one_restart_is_counted_once_though_all_kinds_show_it(void **state)
{
	struct seq_book *book = seq_book_new();

	(void)state;
	note(book, "n1", TELE_SUMMARY, 1, 50, NULL);
	note(book, "n1", TELE_RAW, 1, 200, NULL);
	note(book, "n1", TELE_EVENTS, 2, 0, NULL);
	assert_int_equal(note(book, "n1", TELE_RAW, 2, 0, NULL), SEQ_RESTART);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 2, 0, NULL), SEQ_RESTART);
	assert_int_equal(seq_counts(book)->restarts, 1);
	seq_book_free(book);
}

static void
two_senders_under_one_name_miss_nothing(void **state)
{
	struct seq_book *book = seq_book_new();
	uint64_t missing;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		note(book, "n1", TELE_SUMMARY, 1, 5000 + i, NULL);
		note(book, "n1", TELE_SUMMARY, 2, i, NULL);
	}
	assert_int_equal(seq_counts(book)->gaps, 0);
	assert_int_equal(seq_counts(book)->restarts, 1);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 5102, &missing), SEQ_GAP);
	assert_int_equal(missing, 2);
	seq_book_free(book);
}

static void
the_same_frame_again_is_a_repeat(void **state)
{
	struct seq_book *book = seq_book_new();

	(void)state;
	note(book, "n1", TELE_SUMMARY, 1, 5, NULL);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 5, NULL), SEQ_REPEAT);
	assert_int_equal(note(book, "n1", TELE_SUMMARY, 1, 6, NULL), SEQ_NEXT);
	assert_int_equal(seq_counts(book)->repeats, 1);
	seq_book_free(book);
}

static void
absurd_numbers_overflow_nothing(void **state)
{
	struct seq_book *book = seq_book_new();

	(void)state;
	for (uint64_t start_id = 1; start_id < 4; start_id++) {
		note(book, "n1", TELE_SUMMARY, start_id, 0, NULL);
		note(book, "n1", TELE_SUMMARY, start_id, UINT64_MAX, NULL);
	}
	assert_true(seq_counts(book)->gaps == UINT64_MAX);
	seq_book_free(book);
}

/* A numbering sender, a network with losses, and a plain count. */
static void
gaps_are_what_was_lost_between_the_first_and_the_last(void **state)
{
	struct seq_book *book = seq_book_new();
	uint64_t lost[8] = { 0 }, since_last[8] = { 0 }, next[8] = { 0 };
	bool is_known[8] = { false };
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t host = rng_below(&rng, 8);
		char name[8];

		next[host]++;
		if (rng_below(&rng, 10) == 0) {
			since_last[host]++;
			continue;
		}
		snprintf(name, sizeof name, "n%d", (int)host);
		note(book, name, TELE_RAW, 1, next[host], NULL);
		lost[host] += is_known[host] ? since_last[host] : 0;
		is_known[host] = true;
		since_last[host] = 0;
		assert_true(seq_gaps_of(book, name) == lost[host]);
	}
	seq_book_free(book);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_frames_are_counted_for_each_host_and_kind),
		cmocka_unit_test(a_restart_is_no_gap_but_what_it_lost_since_is),
		cmocka_unit_test(one_restart_is_counted_once_though_all_kinds_show_it),
		cmocka_unit_test(two_senders_under_one_name_miss_nothing),
		cmocka_unit_test(the_same_frame_again_is_a_repeat),
		cmocka_unit_test(absurd_numbers_overflow_nothing),
		cmocka_unit_test(gaps_are_what_was_lost_between_the_first_and_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
