/*
 * test_pacer_hooks.c - libantiphase-pacer.so in a process that makes collectives, as a
 * launcher would start it: this very program with "job" as its argument, the library
 * preloaded, and in place of MPI, NCCL and CUDA the library of job_stub.c.  NCCL and a
 * GPU are not here; what is tested is that our side does what their documentation asks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/wire/pace.h"
#include "pacer/pacer.h"
#include "pacer/wait.h"
#include "tests/unit/job_stub.h"
#include "tests/unit/test.h"

#define MS           INT64_C(1000000)
#define N_ITERATIONS 30
#define MAX_ROWS     64
#define COMPUTE_NS   (12 * MS)

/* ---- The job -------------------------------------------------------------------------- */

static void
compute(int64_t ns)
{
	const struct timespec at = { .tv_nsec = ns };

	nanosleep(&at, NULL);
}

static int
mpi_iteration(void)
{
	int result = MPI_Allreduce((void *)1, (void *)2, 1000, 4, 5, 6);

	return result == 7 && job_stub.last_args == 1 + 2 + 1000 + 4 + 5 + 6;
}

static int
mpi_later_iteration(void)
{
	uintptr_t request = 0;
	int ok = MPI_Iallreduce((void *)1, (void *)2, 1000, 4, 5, 6, &request) == 7;

	ok &= job_stub.last_args == 1 + 2 + 1000 + 4 + 5 + 6 && request == 1;
	return ok && MPI_Wait(&request, NULL) == 7 && request == 0;
}

/* Nine arguments: some of them come over the stack. */
static int
mpi_many_iteration(void)
{
	const int n[3] = { 100, 200, 300 };
	int result = MPI_Alltoallv((void *)1, (int *)2, (int *)3, 4, (void *)5, n,
				   (int *)7, 8, 3);

	return result == 7 &&
	       job_stub.last_args == 1 + 2 + 3 + 4 + 5 + (uintptr_t)n + 7 + 8 + 3;
}

/* Counts are those of the other side, of which there are fewer. */
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

/* What a collective leaves in errno, and what it finds there. */
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

/* A child that fork() knows nothing of. */
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

/* As a program that is not preloaded would: it opens the library. */
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
	/* After the end these do nothing. */
	return iteration() != 0;
}

/* Closed in the midst of a collective, and opened again; ends too many, and too few. */
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
			leave(); /* Of the one before. */
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

/* Unloaded while it is on; a child after that; and loaded again. */
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
		{ "fork", mpi_iteration },
		{ "clone", mpi_iteration },
		{ "exec", mpi_iteration },
		{ NULL, NULL },
	};

	size_t k = 0;

	if (!strcmp(kind, "api"))
		return run_api(getenv("STUB_LIBRARY"));
	if (!strcmp(kind, "api-again"))
		return run_api_again(getenv("STUB_LIBRARY"));
	if (!strcmp(kind, "api-unloaded"))
		return run_api_unloaded(getenv("STUB_LIBRARY"));
	while (kinds[k].kind && strcmp(kinds[k].kind, kind))
		k++;
	job_stub.result = 7;
	job_stub.collective_ns = MS;
	job_stub.is_capturing = getenv("STUB_CAPTURING") != NULL;
	job_stub.is_launch_refused = getenv("STUB_REFUSED") != NULL;
	if (!strcmp(kind, "nccl") || !strcmp(kind, "threads"))
		job_stub.collective_ns = 0; /* It is only enqueued. */
	if (!strcmp(kind, "threads"))
		return run_threads();
	for (int i = 0; i < N_ITERATIONS; i++) {
		if (i == 15 && !strcmp(kind, "fork") && !forked())
			return 3;
		if (i == 15 && !strcmp(kind, "clone") && !cloned())
			return 3;
		if (i == 15 && !strcmp(kind, "exec"))
			execl("/proc/self/exe", "job", "job", "mpi", (char *)NULL);
		compute(COMPUTE_NS);
		if (!kinds[k].iterate())
			return 4;
	}
	printf("launched %d\n", (int)job_stub.n_launched);
	return 0;
}

/* ---- The collector --------------------------------------------------------------------- */

struct bench {
	char directory[64], path[96], out[96], library[4096], self[4096];
	int listener;
	struct pace_hello hello;
	struct pace_iteration rows[MAX_ROWS];
	size_t n_hello, n_rows;
	int status;
	char said[1024];      /* By the job, on stdout and stderr. */
	int64_t order_ns;     /* Of the order to send; 0: none. */
	bool is_garbage_sent; /* Instead of it. */
};

static int
make_bench(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	ssize_t n = readlink("/proc/self/exe", b->self, sizeof b->self - 1);

	assert_true(n > 0);
	/* It lies two folders above this test. */
	strcpy(b->library, b->self);
	for (int i = 0; i < 3; i++)
		*strrchr(b->library, '/') = '\0';
	strcat(b->library, "/libantiphase-pacer.so");
	assert_int_equal(access(b->library, R_OK), 0);
	strcpy(b->directory, "/tmp/antiphase-hooks.XXXXXX");
	assert_non_null(mkdtemp(b->directory));
	snprintf(b->path, sizeof b->path, "%s/pacer.sock", b->directory);
	snprintf(b->out, sizeof b->out, "%s/out", b->directory);
	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	strcpy(at.sun_path, b->path);
	assert_int_equal(bind(b->listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(b->listener, 8), 0);
	*state = b;
	return 0;
}

static int
remove_bench(void **state)
{
	struct bench *b = *state;

	close(b->listener);
	unlink(b->path);
	unlink(b->out);
	rmdir(b->directory);
	free(b);
	return 0;
}

/* 'settings': "NAME=VALUE" up to NULL. */
static pid_t
start_job(const struct bench *b, const char *kind, const char *const *settings)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setenv("ANTIPHASE_ENDPOINT", b->path, 1);
	setenv("ANTIPHASE_VERBOSE", "1", 1);
	setenv("STUB_LIBRARY", b->library, 1);
	/* Of builds with a sanitizer, which wants to be the first. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	setenv("SLURM_JOB_ID", "4711", 1);
	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "3", 1);
	/* Given, as a busy machine makes gaps of any length; 10 of 12 ms. */
	setenv("ANTIPHASE_GAP_US", "10000", 1);
	if (strncmp(kind, "api", 3))
		setenv("LD_PRELOAD", b->library, 1);
	for (; settings && *settings; settings++)
		putenv((char *)*settings);
	if (!freopen(b->out, "w", stdout) || dup2(1, 2) < 0)
		_exit(9);
	execl(b->self, b->self, "job", kind, (char *)NULL);
	_exit(9);
}

static void
answer(const struct bench *b, int fd)
{
	const struct pace_packet packet = {
		.kind = PACE_ORDER,
		.order = { .number = 1,
			   .delay_ns = b->order_ns,
			   .expires_ns = wait_now_ns() + 1000 * MS,
			   .max_ns = 1000 * MS },
	};
	uint8_t bytes[PACE_MAX_BYTES];
	size_t n = pace_encode(&packet, bytes);

	for (int i = 0; i < 100 && b->is_garbage_sent; i++) {
		bytes[i % n] ^= (uint8_t)(i + 1);
		bytes[5] = 9; /* Whatever else, it is no order. */
		(void)!send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	if (!b->is_garbage_sent && b->order_ns)
		assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Takes a packet; false at the end. */
static bool
take_packet(struct bench *b, int fd)
{
	uint8_t bytes[PACE_MAX_BYTES];
	struct pace_packet packet;
	ssize_t n = recv(fd, bytes, sizeof bytes, 0);

	if (n <= 0)
		return false;
	assert_int_equal(pace_decode(bytes, (size_t)n, &packet), 0);
	if (packet.kind == PACE_HELLO) {
		b->hello = packet.hello;
		b->n_hello++;
		return true;
	}
	assert_int_equal(packet.kind, PACE_ITERATION);
	assert_true(b->n_rows < MAX_ROWS);
	b->rows[b->n_rows++] = packet.iteration;
	if (packet.iteration.number == 16)
		answer(b, fd);
	return true;
}

/* Runs a job and is its collector until it has ended. */
static void
run(struct bench *b, const char *kind, const char *const *settings)
{
	pid_t pid = start_job(b, kind, settings);
	int peer = -1;
	bool is_over = false;
	FILE *in;
	size_t n;

	b->n_rows = b->n_hello = 0;
	while (!is_over || peer >= 0) {
		struct pollfd on[2] = { { b->listener, POLLIN, 0 },
					{ peer, POLLIN, 0 } };

		if (!is_over)
			is_over = waitpid(pid, &b->status, WNOHANG) == pid;
		poll(on, 2, is_over ? 0 : 10);
		if (on[0].revents && peer < 0)
			peer = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC);
		else if (peer >= 0 && on[1].revents && !take_packet(b, peer)) {
			close(peer);
			peer = -1;
		}
	}
	in = fopen(b->out, "r");
	assert_non_null(in);
	n = fread(b->said, 1, sizeof b->said - 1, in);
	b->said[n] = '\0';
	fclose(in);
	if (b->status)
		fail_msg("%s: status %d: %s", kind, b->status, b->said);
}

/* Of the rows with a wait: how many; and the first one's length. */
static unsigned
n_waits(const struct bench *b, int64_t *ret_ns)
{
	unsigned n = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < b->n_rows; i++) {
		int64_t ns = b->rows[i].begin_ns - b->rows[i].enter_ns;

		if (ns > 0 && n++ == 0)
			*ret_ns = ns;
	}
	return n;
}

/* ---- Tests ------------------------------------------------------------------------------ */

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
	/* Before the first there is no gap. */
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
	/* Each tells of the one before, but for the first after each start. */
	for (size_t i = 0; i < b->n_rows; i++)
		n_long += b->rows[i].comm_ns >= MS;
	assert_int_equal(n_long, 15);
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
	/* That of C within that of Fortran is the same one. */
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
other_ranks_and_jobs_that_do_not_want_it_are_left_alone(void **state)
{
	static const char *const off[][4] = {
		{ "RANK=1", NULL },
		{ "ANTIPHASE_MODE=off", NULL },
		{ "ANTIPHASE_MODE=maybe", NULL },
		/* A launcher's own word comes before that of Slurm's batch step. */
		{ "OMPI_COMM_WORLD_RANK=2", "SLURM_PROCID=0", NULL },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
		run(b, "mpi", off[i]);
		assert_int_equal(b->n_hello + b->n_rows, 0);
	}
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
#define test(name) cmocka_unit_test_setup_teardown(name, make_bench, remove_bench)
	const struct CMUnitTest tests[] = {
		test(an_mpi_job_tells_its_iterations_and_waits_when_it_is_told_to),
		test(what_an_iteration_is_need_not_be_said),
		test(nonblocking_collectives_last_until_they_were_waited_for),
		test(all_arguments_come_through_however_many),
		test(counts_of_another_group_are_not_read),
		test(an_order_to_nccl_is_waited_in_the_stream),
		test(nothing_is_put_into_a_stream_that_is_captured),
		test(without_a_host_function_it_is_waited_here),
		test(a_program_may_say_it_itself),
		test(who_is_closed_within_a_collective_may_open_again),
		test(from_fortran_as_little_is_needed_as_may_be),
		test(errno_is_as_it_would_be_anyway),
		test(other_ranks_and_jobs_that_do_not_want_it_are_left_alone),
		test(a_job_that_is_only_watched_never_waits),
		test(threads_do_not_wait_for_each_other),
		test(a_child_of_the_job_says_nothing),
		test(a_job_that_becomes_another_program_begins_anew),
		test(it_may_be_unloaded_at_any_time),
		test(garbage_and_no_collector_at_all_change_nothing),
	};

	if (argc == 3)
		return job(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
