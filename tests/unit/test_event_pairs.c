/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_pairs.c - matching of the entries and returns of threads */
#include "collector/coll_events/event_pairs.h"
#include "tests/unit/test.h"

static struct coll_record
event(uint32_t tid, uint8_t source, bool is_exit, uint64_t ns, uint64_t bytes)
{
	return (struct coll_record){
		.ns = ns,
		.bytes = bytes,
		.pid = tid / 100,
		.tid = tid,
		.source = source,
		.is_exit = is_exit,
	};
}

static bool
enter(struct event_pairs *pair, uint32_t tid, uint8_t source, uint64_t ns)
{
	struct coll_record e = event(tid, source, false, ns, 10 * ns);
	struct coll_event event;

	return event_pairs_add(pair, &e, &event);
}

static bool
leave(struct event_pairs *pair, uint32_t tid, uint8_t source, uint64_t ns,
      struct coll_event *ret_event)
{
	struct coll_record e = event(tid, source, true, ns, 0);

	return event_pairs_add(pair, &e, ret_event);
}

static void
threads_and_sources_are_told_apart(void **state)
{
	struct event_pairs *pair = event_pairs_new();
	struct coll_event event;

	(void)state;
	assert_false(enter(pair, 701, COLL_MPI, 10));
	assert_false(enter(pair, 702, COLL_MPI, 11));
	assert_false(enter(pair, 701, COLL_NCCL, 12));
	assert_true(leave(pair, 702, COLL_MPI, 20, &event));
	assert_int_equal(event.begin_ns, 11);
	assert_int_equal(event.end_ns, 20);
	assert_int_equal(event.bytes, 110);
	assert_int_equal(event.pid, 7);
	assert_int_equal(event.source, COLL_MPI);
	assert_false(event.is_launch);
	assert_true(leave(pair, 701, COLL_NCCL, 21, &event));
	assert_int_equal(event.begin_ns, 12);
	assert_true(event.is_launch);
	assert_true(leave(pair, 701, COLL_MPI, 22, &event));
	assert_int_equal(event.begin_ns, 10);
	assert_int_equal(event_pairs_unpaired(pair), 0);
	event_pairs_free(pair);
}

static void
what_has_no_counterpart_is_counted(void **state)
{
	struct event_pairs *pair = event_pairs_new();
	struct coll_event event;

	(void)state;
	assert_false(leave(pair, 1, COLL_MPI, 5, &event)); /* Attached in the middle. */
	assert_int_equal(event_pairs_unpaired(pair), 1);
	enter(pair, 1, COLL_MPI, 10);
	enter(pair, 1, COLL_MPI, 20); /* Its return was lost. */
	assert_int_equal(event_pairs_unpaired(pair), 2);
	assert_true(leave(pair, 1, COLL_MPI, 30, &event));
	assert_int_equal(event.begin_ns, 20);
	assert_false(leave(pair, 1, COLL_MPI, 31, &event));
	assert_int_equal(event_pairs_unpaired(pair), 3);
	event_pairs_free(pair);
}

/* More threads within a collective than places: the table never invents an event. */
static void
a_full_table_forgets_the_oldest_and_never_makes_up_a_event(void **state)
{
	enum {
		N = 50000
	};

	struct event_pairs *pair = event_pairs_new();
	struct coll_event event;
	uint64_t n_events = 0, n_newest = 0;

	(void)state;
	for (uint32_t tid = 0; tid < N; tid++)
		enter(pair, tid, COLL_GLOO, 1000 + tid);
	for (uint32_t tid = 0; tid < N; tid++)
		if (leave(pair, tid, COLL_GLOO, 100000 + tid, &event)) {
			assert_int_equal(event.begin_ns, 1000 + tid);
			assert_int_equal(event.end_ns, 100000 + tid);
			n_events++;
			n_newest += tid >= N - 1000;
		}
	assert_true(n_events > 10000 && n_events <= 16384);
	assert_int_equal(n_newest, 1000);
	/* Both ends of a lost pair are counted. */
	assert_int_equal(event_pairs_unpaired(pair), 2 * (N - n_events));
	event_pairs_free(pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_sources_are_told_apart),
		cmocka_unit_test(what_has_no_counterpart_is_counted),
		cmocka_unit_test(
			a_full_table_forgets_the_oldest_and_never_makes_up_a_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
