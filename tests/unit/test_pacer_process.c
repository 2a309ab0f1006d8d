/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pacer_process.c - libantiphase-pacer.so in processes with threads and children,
 * that exec, load and unload it, or disable it
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/pacer_bench.h"
#include "tests/unit/test.h"

/* ---- The job --------------------------------------------------------------------- */

static int
forked(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 10; i++) {
			compute(COMPUTE_NS);
			mpi_iteration();
		}
		_exit(job_stub.n_collectives > 0 ? 0 : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* A child made without fork(). */
static int
cloned(void)
{
	int status;
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		for (int i = 0; i < 10; i++) {
			compute(COMPUTE_NS);
			mpi_iteration();
		}
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void *
hammer(void *ctx)
{
	for (int i = 0; i < 20000; i++) {
		uintptr_t request;

		MPI_Allreduce(NULL, NULL, i, 4, 0, 0);
		MPI_Iallreduce(NULL, NULL, i, 4, 0, 0, &request);
		MPI_Wait(&request, NULL);
	}
	return ctx;
}

/* Three threads reduce all the time while the fourth trains. */
static int
run_threads(void)
{
	pthread_t threads[3];
	int ok = 1;

	for (int i = 0; i < 3; i++)
		ok &= pthread_create(&threads[i], NULL, hammer, NULL) == 0;
	for (int i = 0; i < N_ITERATIONS; i++) {
		compute(COMPUTE_NS);
		ok &= MPI_Allreduce(NULL, NULL, 1, 4, 0, 0) == 7;
	}
	for (int i = 0; i < 3; i++)
		ok &= pthread_join(threads[i], NULL) == 0;
	return ok ? 0 : 5;
}

/* Opens the library, as a program without the preload would. */
static int
run_api(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*api_open)(const char *, uint32_t, uint32_t) =
		dlsym(handle, "antiphase_open");
	int64_t (*iteration)(void) = dlsym(handle, "antiphase_iteration");
	void (*enter)(uint64_t) = dlsym(handle, "antiphase_enter");
	void (*leave)(void) = dlsym(handle, "antiphase_exit");
	void (*api_close)(void) = dlsym(handle, "antiphase_close");

	if (!api_open || !iteration || !enter || !leave || !api_close ||
	    !api_open("api", 0, 3))
		return 1;
	for (int i = 0; i < N_ITERATIONS; i++) {
		compute(COMPUTE_NS);
		iteration();
		enter(500);
		compute(MS);
		leave();
	}
	api_close();
	/* After the end these have no effect. */
	return iteration() != 0;
}

/* Closed during a collective and opened again; too many and too few ends. */
static int
run_api_again(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*api_open)(const char *, uint32_t, uint32_t) =
		dlsym(handle, "antiphase_open");
	int64_t (*iteration)(void) = dlsym(handle, "antiphase_iteration");
	void (*enter)(uint64_t) = dlsym(handle, "antiphase_enter");
	void (*leave)(void) = dlsym(handle, "antiphase_exit");
	void (*api_close)(void) = dlsym(handle, "antiphase_close");

	if (!api_open || !iteration || !enter || !leave || !api_close)
		return 1;
	for (int turn = 0; turn < 3; turn++) {
		if (!api_open("api", 0, 3))
			return 2;
		if (turn == 1)
			leave(); /* Belongs to the one before. */
		for (int i = 0; i < 6; i++) {
			compute(COMPUTE_NS);
			iteration();
			enter(500);
			compute(MS);
			leave();
		}
		enter(500);
		if (turn == 0)
			api_close();
	}
	return 0;
}

/* Unloaded while active; a child after that; then loaded again. */
static int
run_api_unloaded(const char *library)
{
	for (int turn = 0; turn < 2; turn++) {
		void *handle = dlopen(library, RTLD_NOW);
		int (*api_open)(const char *, uint32_t, uint32_t) =
			dlsym(handle, "antiphase_open");
		int64_t (*iteration)(void) = dlsym(handle, "antiphase_iteration");
		int status = 0;
		pid_t pid;

		if (!api_open || !iteration || !api_open("api", 0, 3))
			return 1;
		for (int i = 0; i < 6; i++) {
			compute(COMPUTE_NS);
			iteration();
		}
		dlclose(handle);
		pid = fork();
		if (pid == 0)
			exit(0);
		if (waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	return 0;
}

static bool
before_fork(int i)
{
	return i != 15 || forked();
}

static bool
before_clone(int i)
{
	return i != 15 || cloned();
}

static bool
before_exec(int i)
{
	if (i == 15)
		execl("/proc/self/exe", "job", "job", "mpi", (char *)NULL);
	return i != 15;
}

static int
job(const char *kind)
{
	static const struct {
		const char *kind;
		bool (*before)(int i);
	} kinds[] = {
		{ "mpi", NULL },
		{ "fork", before_fork },
		{ "clone", before_clone },
		{ "exec", before_exec },
	};

	if (!strcmp(kind, "api"))
		return run_api(getenv("STUB_LIBRARY"));
	if (!strcmp(kind, "api-again"))
		return run_api_again(getenv("STUB_LIBRARY"));
	if (!strcmp(kind, "api-unloaded"))
		return run_api_unloaded(getenv("STUB_LIBRARY"));
	begin_job();
	if (!strcmp(kind, "threads")) {
		job_stub.collective_ns = 0; /* Only enqueued. */
		return run_threads();
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].kind, kind))
			return train(mpi_iteration, kinds[i].before);
	return 1;
}

/* ---- Tests ----------------------------------------------------------------------- */

static void
a_program_may_say_it_itself(void **state)
{
	struct bench *b = *state;
	int64_t ns;

	b->order_ns = 5 * MS;
	run(b, "api", NULL);
	assert_int_equal(b->hello.source, PACE_API);
	assert_string_equal(b->hello.job, "api");
	assert_int_equal(b->n_rows, N_ITERATIONS);
	assert_int_equal(b->rows[10].bytes, 500);
	assert_int_equal(n_waits(b, &ns), 1);
	assert_in_range(ns, 5 * MS, 1000 * MS);
}

static void
who_is_closed_within_a_collective_may_open_again(void **state)
{
	struct bench *b = *state;
	size_t n_long = 0;

	run(b, "api-again", NULL);
	assert_int_equal(b->n_hello, 3);
	assert_int_equal(b->n_rows, 18);
	/* Each report covers the previous iteration, except the first after a start. */
	for (size_t i = 0; i < b->n_rows; i++)
		n_long += b->rows[i].comm_ns >= MS;
	assert_int_equal(n_long, 15);
}

static void
other_ranks_and_jobs_that_do_not_want_it_are_left_alone(void **state)
{
	static const char *const off[][4] = {
		{ "RANK=1", NULL },
		{ "ANTIPHASE_MODE=off", NULL },
		{ "ANTIPHASE_MODE=maybe", NULL },
		/* A launcher's variable takes precedence over Slurm's batch step. */
		{ "OMPI_COMM_WORLD_RANK=2", "SLURM_PROCID=0", NULL },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
		run(b, "mpi", off[i]);
		assert_int_equal(b->n_hello + b->n_rows, 0);
	}
}

static void
threads_do_not_wait_for_each_other(void **state)
{
	struct bench *b = *state;

	b->order_ns = 5 * MS;
	run(b, "threads", NULL);
	assert_int_equal(b->n_hello, 1);
	for (size_t i = 1; i < b->n_rows; i++)
		assert_int_equal(b->rows[i].number, b->rows[i - 1].number + 1);
}

static void
a_child_of_the_job_says_nothing(void **state)
{
	struct bench *b = *state;

	run(b, "fork", NULL);
	assert_int_equal(b->n_hello, 1);
	for (size_t i = 1; i < b->n_rows; i++)
		assert_int_equal(b->rows[i].number, b->rows[i - 1].number + 1);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
	run(b, "clone", NULL);
	assert_int_equal(b->n_hello, 1);
	for (size_t i = 1; i < b->n_rows; i++)
		assert_int_equal(b->rows[i].number, b->rows[i - 1].number + 1);
	assert_int_equal(b->n_rows, N_ITERATIONS - 1);
}

static void
a_job_that_becomes_another_program_begins_anew(void **state)
{
	struct bench *b = *state;

	run(b, "exec", NULL);
	assert_int_equal(b->n_hello, 2);
	assert_int_equal(b->n_rows, 14 + N_ITERATIONS - 1);
	assert_int_equal(b->rows[14].number, 0);
}

static void
it_may_be_unloaded_at_any_time(void **state)
{
	struct bench *b = *state;

	run(b, "api-unloaded", NULL);
	assert_int_equal(b->n_hello, 2);
	assert_int_equal(b->n_rows, 12);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(a_program_may_say_it_itself),
		BENCH_TEST(who_is_closed_within_a_collective_may_open_again),
		BENCH_TEST(other_ranks_and_jobs_that_do_not_want_it_are_left_alone),
		BENCH_TEST(threads_do_not_wait_for_each_other),
		BENCH_TEST(a_child_of_the_job_says_nothing),
		BENCH_TEST(a_job_that_becomes_another_program_begins_anew),
		BENCH_TEST(it_may_be_unloaded_at_any_time),
	};

	if (argc == 3)
		return job(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
