/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pacer_hooks.c - libantiphase-pacer.so under the collectives of MPI, Fortran and
 * NCCL: they are passed on unchanged, reported, and delayed by orders
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pacer_bench.h"
#include "tests/unit/test.h"

/* ---- The job --------------------------------------------------------------------- */

static int
mpi_later_iteration(void)
{
	uintptr_t request = 0;
	int ok = MPI_Iallreduce((void *)1, (void *)2, 1000, 4, 5, 6, &request) == 7;

	ok &= job_stub.last_args == 1 + 2 + 1000 + 4 + 5 + 6 && request == 1;
	return ok && MPI_Wait(&request, NULL) == 7 && request == 0;
}

/* Nine arguments, some of them on the stack. */
static int
mpi_many_iteration(void)
{
	const int n[3] = { 100, 200, 300 };
	int result = MPI_Alltoallv((void *)1, (int *)2, (int *)3, 4, (void *)5, n,
				   (int *)7, 8, 3);

	return result == 7 &&
	       job_stub.last_args == 1 + 2 + 3 + 4 + 5 + (uintptr_t)n + 7 + 8 + 3;
}

/* Counts are those of the other side, which is smaller. */
static int
mpi_across_iteration(void)
{
	const int n[3] = { 100, 200, 300 };

	return MPI_Alltoallv(NULL, NULL, NULL, 4, NULL, n, NULL, 8, JOB_STUB_INTER) ==
	       7;
}

static int
fortran_iteration(void)
{
	const int count = 1000, type = 4, op = 5, comm = 3, counts[3] = { 10, 20, 30 };
	int error = 0, ok;

	mpi_allreduce_((void *)1, (void *)2, &count, &type, &op, &comm, &error);
	ok = error == 7 && job_stub.last_args == 1 + 2 + 1000 + 4 + 5 + 3;
	mpi_reduce_scatter_f08_((void *)1, (void *)2, counts, &type, &op, &comm, NULL);
	return ok && job_stub.last_args == 1 + 2 + 10 + 4 + 5 + 3;
}

/* errno before and after a collective. */
static int
errno_iteration(void)
{
	job_stub.errno_of = 0;
	errno = ESTALE;
	if (MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0) != 7 || errno != ESTALE)
		return 0;
	job_stub.errno_of = EDOM;
	return MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0) == 7 && errno == EDOM;
}

static int
nccl_iteration(void)
{
	int ok = 1;

	for (int bucket = 0; bucket < 3; bucket++)
		ok &= ncclAllReduce(NULL, NULL, 1000, 7, 0, NULL, NULL) == 7;
	return ok;
}

static int
job(const char *kind)
{
	static const struct {
		const char *kind;
		int (*iterate)(void);
	} kinds[] = {
		{ "mpi", mpi_iteration },
		{ "mpi-later", mpi_later_iteration },
		{ "mpi-many", mpi_many_iteration },
		{ "mpi-across", mpi_across_iteration },
		{ "nccl", nccl_iteration },
		{ "fortran", fortran_iteration },
		{ "errno", errno_iteration },
	};

	begin_job();
	if (!strcmp(kind, "nccl"))
		job_stub.collective_ns = 0; /* Only enqueued. */
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].kind, kind))
			return train(kinds[i].iterate, NULL);
	return 1;
}

/* ---- Tests ----------------------------------------------------------------------- */

static void
an_mpi_job_tells_its_iterations_and_waits_when_it_is_told_to(void **state)
{
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "mpi", NULL);
	assert_int_equal(b->n_hello, 1);
	assert_string_equal(b->hello.job, "4711");
	assert_int_equal(b->hello.source, PACE_MPI);
	assert_int_equal(b->hello.n_ranks, 3);
	/* No gap precedes the first one. */
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 4000);
	assert_int_equal(b->rows[10].n_collectives, 1);
	assert_true(b->rows[10].comm_ns >= MS);
	assert_int_equal(n_waits(b, &ns), 1);
	assert_in_range(ns, 5 * MS, 1000 * MS);
	assert_int_equal(b->rows[b->n_rows - 1].order, 1);
	assert_non_null(strstr(b->said, "1 orders (0 not in time), 1 waits"));
}

static void
what_an_iteration_is_need_not_be_said(void **state)
{
	static const char *const settings[] = { "ANTIPHASE_GAP_US=", NULL };
	struct bench *b = *state;

	run(b, "mpi", settings);
	assert_in_range(b->n_rows, 5, N_ITERATIONS);
	for (size_t i = 0; i < b->n_rows; i++)
		assert_int_equal(b->rows[i].number, i);
	assert_true(b->rows[4].gap_us >= 500);
}

static void
nonblocking_collectives_last_until_they_were_waited_for(void **state)
{
	struct bench *b = *state;

	run(b, "mpi-later", NULL);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 4000);
	assert_true(b->rows[10].comm_ns >= MS);
}

static void
all_arguments_come_through_however_many(void **state)
{
	struct bench *b = *state;

	run(b, "mpi-many", NULL);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 600 * 8);
}

static void
counts_of_another_group_are_not_read(void **state)
{
	struct bench *b = *state;

	run(b, "mpi-across", NULL);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 0);
}

static void
an_order_to_nccl_is_waited_in_the_stream(void **state)
{
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "nccl", NULL);
	assert_int_equal(b->hello.source, PACE_NCCL);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 12000);
	assert_int_equal(b->rows[10].n_collectives, 3);
	assert_int_equal(n_waits(b, &ns), 1);
	assert_int_equal(ns, 5 * MS);
	assert_non_null(strstr(b->said, "launched 1\n"));
}

static void
nothing_is_put_into_a_stream_that_is_captured(void **state)
{
	static const char *const settings[] = { "STUB_CAPTURING=1", NULL };
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "nccl", settings);
	assert_int_equal(n_waits(b, &ns), 0);
	assert_non_null(strstr(b->said, "launched 0\n"));
}

static void
without_a_host_function_it_is_waited_here(void **state)
{
	static const char *const settings[] = { "STUB_REFUSED=1", NULL };
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "nccl", settings);
	assert_int_equal(n_waits(b, &ns), 1);
	assert_true(b->n_rows > 20);
}

static void
from_fortran_as_little_is_needed_as_may_be(void **state)
{
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "fortran", NULL);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	assert_int_equal(b->rows[10].bytes, 4000 + 60 * 4);
	/* The C call inside the Fortran call is the same collective. */
	assert_int_equal(b->rows[10].n_collectives, 2);
	assert_int_equal(n_waits(b, &ns), 1);
}

static void
errno_is_as_it_would_be_anyway(void **state)
{
	static const char *const nowhere[] = { "ANTIPHASE_ENDPOINT=/nowhere/at.sock",
					       NULL };
	struct bench *b = *state;

	b->order_ns = 5 * MS;
	run(b, "errno", NULL);
	assert_true(b->n_rows > 20);
	run(b, "errno", nowhere);
}

static void
a_job_that_is_only_watched_never_waits(void **state)
{
	static const char *const settings[] = { "ANTIPHASE_MODE=profile", NULL };
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "mpi", settings);
	assert_true(b->hello.is_observing);
	assert_int_equal(n_waits(b, &ns), 0);
	assert_int_equal(b->rows[b->n_rows - 1].order, 1);
}

static void
garbage_and_no_collector_at_all_change_nothing(void **state)
{
	static const char *const nowhere[] = { "ANTIPHASE_ENDPOINT=/nowhere/at.sock",
					       NULL };
	struct bench *b = *state;
	int64_t ns;

	b->is_garbage_sent = true;
	run(b, "mpi", NULL);
	assert_int_equal(n_waits(b, &ns), 0);
	assert_true(b->n_rows > 16);
	run(b, "mpi", nowhere);
	assert_int_equal(b->n_hello, 0);
	assert_non_null(strstr(b->said, "0 packets sent"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(
			an_mpi_job_tells_its_iterations_and_waits_when_it_is_told_to),
		BENCH_TEST(what_an_iteration_is_need_not_be_said),
		BENCH_TEST(nonblocking_collectives_last_until_they_were_waited_for),
		BENCH_TEST(all_arguments_come_through_however_many),
		BENCH_TEST(counts_of_another_group_are_not_read),
		BENCH_TEST(an_order_to_nccl_is_waited_in_the_stream),
		BENCH_TEST(nothing_is_put_into_a_stream_that_is_captured),
		BENCH_TEST(without_a_host_function_it_is_waited_here),
		BENCH_TEST(from_fortran_as_little_is_needed_as_may_be),
		BENCH_TEST(errno_is_as_it_would_be_anyway),
		BENCH_TEST(a_job_that_is_only_watched_never_waits),
		BENCH_TEST(garbage_and_no_collector_at_all_change_nothing),
	};

	if (argc == 3)
		return job(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
