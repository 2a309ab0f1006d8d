/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer_bench.h - a job with libantiphase-pacer.so, and its collector
 *
 * The job is this program with the arguments "job KIND", started as a launcher would
 * start it: with the pacer preloaded, and with job_stub.c in place of MPI, NCCL and
 * CUDA.  The tests need neither NCCL nor a GPU; they check that the pacer does what the
 * documentation of those libraries requires.
 */
#ifndef TESTS_UNIT_PACER_BENCH_H
#define TESTS_UNIT_PACER_BENCH_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

/* ---- The job --------------------------------------------------------------------- */

static inline void
compute(int64_t ns)
{
	const struct timespec at = { .tv_nsec = ns };

	nanosleep(&at, NULL);
}

static inline int
mpi_iteration(void)
{
	int result = MPI_Allreduce((void *)1, (void *)2, 1000, 4, 5, 6);

	return result == 7 && job_stub.last_args == 1 + 2 + 1000 + 4 + 5 + 6;
}

static inline void
begin_job(void)
{
	job_stub.result = 7;
	job_stub.collective_ns = MS;
	job_stub.is_capturing = getenv("STUB_CAPTURING") != NULL;
	job_stub.is_launch_refused = getenv("STUB_REFUSED") != NULL;
}

/* 'before' is called before each iteration, false ends the job; may be NULL. */
static inline int
train(int (*iterate)(void), bool (*before)(int i))
{
	for (int i = 0; i < N_ITERATIONS; i++) {
		if (before && !before(i))
			return 3;
		compute(COMPUTE_NS);
		if (!iterate())
			return 4;
	}
	printf("launched %d\n", (int)job_stub.n_launched);
	return 0;
}

/* ---- The collector --------------------------------------------------------------- */

struct bench {
	char directory[64], path[96], out[96], library[4096], self[4096];
	int listener;
	struct pace_hello hello;
	struct pace_iteration rows[MAX_ROWS];
	size_t n_hello, n_rows;
	int status;
	char said[1024];      /* Output of the job on stdout and stderr. */
	int64_t order_ns;     /* Delay of the order to send; 0: no order. */
	bool is_garbage_sent; /* Send garbage instead of the order. */
};

static inline int
make_bench(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	ssize_t n = readlink("/proc/self/exe", b->self, sizeof b->self - 1);

	assert_true(n > 0);
	/* The library is two folders above this test. */
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

static inline int
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

/* 'settings': "NAME=VALUE" strings, ended by NULL. */
static inline pid_t
start_job(const struct bench *b, const char *kind, const char *const *settings)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setenv("ANTIPHASE_ENDPOINT", b->path, 1);
	setenv("ANTIPHASE_VERBOSE", "1", 1);
	setenv("STUB_LIBRARY", b->library, 1);
	/* For builds with a sanitizer, whose library must be loaded first. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	setenv("SLURM_JOB_ID", "4711", 1);
	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "3", 1);
	/* Fixed, since a busy machine can cause gaps of any length; 10 of 12 ms. */
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

static inline void
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
		bytes[5] = 9; /* A type other than an order. */
		(void)!send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	if (!b->is_garbage_sent && b->order_ns)
		assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Takes a packet; false at the end. */
static inline bool
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

/* Runs a job to its end and acts as its collector. */
static inline void
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

/* Number of rows with a wait, and the length of the first wait. */
static inline unsigned
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

#define BENCH_TEST(name) cmocka_unit_test_setup_teardown(name, make_bench, remove_bench)

#endif
