/* test_marks_pair.c - entries and returns of threads, put together. */
#include "collector/marks_pair.h"
#include "tests/unit/test.h"

static struct marks_event
event(uint32_t tid, uint8_t source, bool is_exit, uint64_t ns, uint64_t bytes)
{
	return (struct marks_event){
		.ns = ns,
		.bytes = bytes,
		.pid = tid / 100,
		.tid = tid,
		.source = source,
		.is_exit = is_exit,
	};
}

static bool
enter(struct marks_pair *pair, uint32_t tid, uint8_t source, uint64_t ns)
{
	struct marks_event e = event(tid, source, false, ns, 10 * ns);
	struct mark mark;

	return marks_pair_event(pair, &e, &mark);
}

static bool
leave(struct marks_pair *pair, uint32_t tid, uint8_t source, uint64_t ns,
      struct mark *ret_mark)
{
	struct marks_event e = event(tid, source, true, ns, 0);

	return marks_pair_event(pair, &e, ret_mark);
}

static void
threads_and_sources_are_told_apart(void **state)
{
	struct marks_pair *pair = marks_pair_new();
	struct mark mark;

	(void)state;
	assert_false(enter(pair, 701, MARKS_MPI, 10));
	assert_false(enter(pair, 702, MARKS_MPI, 11));
	assert_false(enter(pair, 701, MARKS_NCCL, 12));
	assert_true(leave(pair, 702, MARKS_MPI, 20, &mark));
	assert_int_equal(mark.begin_ns, 11);
	assert_int_equal(mark.end_ns, 20);
	assert_int_equal(mark.bytes, 110);
	assert_int_equal(mark.pid, 7);
	assert_int_equal(mark.source, MARKS_MPI);
	assert_false(mark.is_launch);
	assert_true(leave(pair, 701, MARKS_NCCL, 21, &mark));
	assert_int_equal(mark.begin_ns, 12);
	assert_true(mark.is_launch);
	assert_true(leave(pair, 701, MARKS_MPI, 22, &mark));
	assert_int_equal(mark.begin_ns, 10);
	assert_int_equal(marks_pair_unpaired(pair), 0);
	marks_pair_free(pair);
}

static void
what_has_no_counterpart_is_counted(void **state)
{
	struct marks_pair *pair = marks_pair_new();
	struct mark mark;

	(void)state;
	assert_false(leave(pair, 1, MARKS_MPI, 5, &mark)); /* Attached amid it. */
	assert_int_equal(marks_pair_unpaired(pair), 1);
	enter(pair, 1, MARKS_MPI, 10);
	enter(pair, 1, MARKS_MPI, 20); /* Its return was lost. */
	assert_int_equal(marks_pair_unpaired(pair), 2);
	assert_true(leave(pair, 1, MARKS_MPI, 30, &mark));
	assert_int_equal(mark.begin_ns, 20);
	assert_false(leave(pair, 1, MARKS_MPI, 31, &mark));
	assert_int_equal(marks_pair_unpaired(pair), 3);
	marks_pair_free(pair);
}

/* More threads within a collective than there are places: the table keeps its word. */
static void
a_full_table_forgets_the_oldest_and_never_makes_up_a_mark(void **state)
{
	enum {
		N = 50000
	};

	struct marks_pair *pair = marks_pair_new();
	struct mark mark;
	uint64_t n_marks = 0, n_newest = 0;

	(void)state;
	for (uint32_t tid = 0; tid < N; tid++)
		enter(pair, tid, MARKS_GLOO, 1000 + tid);
	for (uint32_t tid = 0; tid < N; tid++)
		if (leave(pair, tid, MARKS_GLOO, 100000 + tid, &mark)) {
			assert_int_equal(mark.begin_ns, 1000 + tid);
			assert_int_equal(mark.end_ns, 100000 + tid);
			n_marks++;
			n_newest += tid >= N - 1000;
		}
	assert_true(n_marks > 10000 && n_marks <= 16384);
	assert_int_equal(n_newest, 1000);
	/* Of a lost pair both ends are counted. */
	assert_int_equal(marks_pair_unpaired(pair), 2 * (N - n_marks));
	marks_pair_free(pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_sources_are_told_apart),
		cmocka_unit_test(what_has_no_counterpart_is_counted),
		cmocka_unit_test(
			a_full_table_forgets_the_oldest_and_never_makes_up_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
