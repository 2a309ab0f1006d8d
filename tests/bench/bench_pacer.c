/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pacer.c - cost of libantiphase-pacer.so per collective
 *
 * Calls a stub (tests/unit/job_stub.c) that does nothing, in processes with the pacer
 * and without, alternately.  CPU time, the minimum of all turns: other load only adds
 * to it.
 *
 * Then the same for iterations, under collectors that work, are absent, never read or
 * send garbage; the cost of a connection attempt; and the delay after waits.
 *
 *	bench_pacer            5 million calls of each kind, a line each
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "pacer/link.h"
#include "pacer/wait.h"
#include "tests/unit/job_stub.h"

#define N_CALLS      500000
#define N_ITERATIONS 1000
#define N_ROUNDS     10
#define N_WAITS      400
#define N_ATTEMPTS   20000
#define COMPUTE_NS   600000 /* Gaps below half a millisecond begin no iteration. */

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
find_real(void)
{
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
}

static void
call_all_the_time(void)
{
	int64_t begin_ns;

	find_real();
	begin_ns = clk_cpu_ns();
	for (int i = 0; i < N_CALLS; i++)
		MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
	printf("%.3f 0 0\n", (double)(clk_cpu_ns() - begin_ns) / N_CALLS);
}

/* First collective of an iteration: CPU time and duration. */
static void
iterate(void)
{
	static int64_t took_ns[N_ITERATIONS];
	int64_t sum_ns = 0;

	find_real();
	for (int i = 0; i < N_ITERATIONS; i++) {
		int64_t begin_ns = clk_monotonic_ns(), cpu_ns;

		while (clk_monotonic_ns() - begin_ns < COMPUTE_NS)
			;
		cpu_ns = clk_cpu_ns();
		begin_ns = clk_monotonic_ns();
		MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
		took_ns[i] = clk_monotonic_ns() - begin_ns;
		sum_ns += clk_cpu_ns() - cpu_ns;
		for (int k = 1; k < 10; k++)
			MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
	}
	qsort(took_ns, N_ITERATIONS, sizeof took_ns[0], compare);
	printf("%.3f %lld %lld\n", (double)sum_ns / N_ITERATIONS,
	       (long long)took_ns[N_ITERATIONS / 2],
	       (long long)took_ns[N_ITERATIONS * 99 / 100]);
}

/* Delay after waits: median, and the 99th of a hundred. */
static void
measure_waits(void)
{
	int64_t late_ns[N_WAITS];

	for (int i = 0; i < N_WAITS; i++) {
		int64_t until_ns = wait_now_ns() + 1000000 + i * 10000;

		late_ns[i] = wait_until(until_ns) - until_ns;
	}
	qsort(late_ns, N_WAITS, sizeof late_ns[0], compare);
	printf("  waits of 1 to 5 ms end late by %.1f us at the median, %.1f us at the "
	       "99th percentile\n",
	       (double)late_ns[N_WAITS / 2] * 1e-3,
	       (double)late_ns[N_WAITS * 99 / 100] * 1e-3);
}

/* A connection attempt without a collector, and after one has gone. */
static void
measure_attempts(const char *path)
{
	const struct pace_hello hello = { .n_ranks = 2 };
	char gone[80];
	const char *const paths[] = { "/nowhere/at.sock", gone };
	const char *const names[] = { "no socket", "nobody listens" };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(gone, sizeof gone, "%s.gone", path);
	strcpy(at.sun_path, gone);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
		exit(1);
	close(fd);
	for (int kind = 0; kind < 2; kind++) {
		static int64_t took_ns[N_ATTEMPTS];
		struct link link;

		link_init(&link, paths[kind], &hello);
		for (int i = 0; i < N_ATTEMPTS; i++) {
			int64_t begin_ns = clk_monotonic_ns();

			link_open(&link, (i + 1) * LINK_MAX_RETRY_NS);
			took_ns[i] = clk_monotonic_ns() - begin_ns;
		}
		qsort(took_ns, N_ATTEMPTS, sizeof took_ns[0], compare);
		printf("  an attempt to connect (%s): %.1f us at the median, %.1f us "
		       "at the 99th percentile\n",
		       names[kind], (double)took_ns[N_ATTEMPTS / 2] * 1e-3,
		       (double)took_ns[N_ATTEMPTS * 99 / 100] * 1e-3);
	}
	unlink(gone);
}

enum collector {
	WELL,
	AWAY,
	DEAF,
	MAD,
	N_COLLECTORS
};

struct kind {
	const char *name;
	bool is_loaded, iterates;
	enum collector collector;
	const char *rank;
	double cpu_ns, median_ns, late_ns; /* The minimum of all turns. */
};

static void
take_least(double *least, double value)
{
	if (!(*least > 0) || value < *least)
		*least = value;
}

/* False on failure. */
static bool
run(struct kind *kind, const char *self, const char *library, const char *directory)
{
	char text[128] = "", path[64];
	double cpu_ns, median_ns, late_ns;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	snprintf(path, sizeof path, "%s/%d.sock", directory, (int)kind->collector);
	if (pipe(ends) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		setenv("RANK", kind->rank, 1);
		setenv("ANTIPHASE_ENDPOINT", path, 1);
		/* Each is one, even on a busy machine. */
		if (kind->iterates)
			setenv("ANTIPHASE_GAP_US", "500", 1);
		if (kind->is_loaded)
			setenv("LD_PRELOAD", library, 1);
		execl(self, self, "job", kind->iterates ? "iterations" : "calls",
		      (char *)NULL);
		_exit(9);
	}
	close(ends[1]);
	n = read(ends[0], text, sizeof text - 1);
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid || status || n <= 0 ||
	    sscanf(text, "%lf %lf %lf", &cpu_ns, &median_ns, &late_ns) != 3)
		return false;
	take_least(&kind->cpu_ns, cpu_ns);
	take_least(&kind->median_ns, median_ns);
	take_least(&kind->late_ns, late_ns);
	return true;
}

/* With one pacer at a time. */
static void
talk(int peer, enum collector how)
{
	char bytes[256];

	if (how == WELL) {
		while (recv(peer, bytes, sizeof bytes, 0) > 0)
			;
		return;
	}
	/* Without reading, the end is noticed only by writing. */
	for (;;) {
		const struct timespec at = { .tv_nsec = 1000000 };
		struct ucred from;
		socklen_t size = sizeof from;

		nanosleep(&at, NULL);
		if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &from, &size) < 0 ||
		    kill(from.pid, 0) < 0)
			return;
		if (how == DEAF)
			continue;
		(void)!getrandom(bytes, sizeof bytes, 0);
		if (send(peer, bytes, 48, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			return;
	}
}

/* A collector of this kind in its own process. */
static pid_t
collect(const char *directory, enum collector how)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer;
	pid_t pid;

	snprintf(at.sun_path, sizeof at.sun_path, "%s/%d.sock", directory, (int)how);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(listener, 8) < 0)
		exit(1);
	pid = fork();
	if (pid > 0) {
		close(listener);
		return pid;
	}
	while ((peer = accept(listener, NULL, NULL)) >= 0) {
		talk(peer, how);
		close(peer);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct kind kinds[] = {
		{ "without", false, false, AWAY, "0", 0, 0, 0 },
		{ "rank 0, a collector", true, false, WELL, "0", 0, 0, 0 },
		{ "rank 0, none", true, false, AWAY, "0", 0, 0, 0 },
		{ "another rank", true, false, WELL, "1", 0, 0, 0 },
		{ "without", false, true, AWAY, "0", 0, 0, 0 },
		{ "a collector", true, true, WELL, "0", 0, 0, 0 },
		{ "none", true, true, AWAY, "0", 0, 0, 0 },
		{ "one that never reads", true, true, DEAF, "0", 0, 0, 0 },
		{ "one that talks nonsense", true, true, MAD, "0", 0, 0, 0 },
	};
	const size_t n_kinds = sizeof kinds / sizeof kinds[0], n_calls = 4;
	char self[4096], library[4096], directory[] = "/tmp/antiphase-bench.XXXXXX";
	char path[64];
	ssize_t n;
	pid_t collectors[N_COLLECTORS];

	if (argc == 3) {
		if (!strcmp(argv[2], "calls"))
			call_all_the_time();
		else
			iterate();
		return 0;
	}
	n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0 || !mkdtemp(directory))
		return 1;
	self[n] = '\0';
	strcpy(library, self);
	for (int i = 0; i < 3; i++)
		*strrchr(library, '/') = '\0';
	strcat(library, "/libantiphase-pacer.so");
	for (int how = 0; how < N_COLLECTORS; how++)
		collectors[how] = how == AWAY ? 0 : collect(directory, how);
	for (int round = 0; round < N_ROUNDS; round++)
		for (size_t i = 0; i < n_kinds; i++)
			if (!run(&kinds[i], self, library, directory)) {
				fprintf(stderr, "bench_pacer: %s failed\n",
					kinds[i].name);
				return 1;
			}
	printf("pacer: ns of CPU a collective, least of %d turns of %d calls\n",
	       N_ROUNDS, N_CALLS);
	for (size_t i = 0; i < n_calls; i++)
		printf("  %-24s %8.1f   added %8.1f\n", kinds[i].name, kinds[i].cpu_ns,
		       kinds[i].cpu_ns - kinds[0].cpu_ns);
	printf("the first collective of an iteration: ns of CPU; how long it takes at "
	       "the median and the 99th percentile; least of %d turns of %d\n",
	       N_ROUNDS, N_ITERATIONS);
	for (size_t i = n_calls; i < n_kinds; i++)
		printf("  %-24s %8.0f %8.0f %8.0f\n", kinds[i].name, kinds[i].cpu_ns,
		       kinds[i].median_ns, kinds[i].late_ns);
	snprintf(path, sizeof path, "%s/%d.sock", directory, (int)AWAY);
	measure_attempts(path);
	measure_waits();
	for (int how = 0; how < N_COLLECTORS; how++) {
		if (!collectors[how])
			continue;
		kill(collectors[how], SIGTERM);
		waitpid(collectors[how], NULL, 0);
		snprintf(path, sizeof path, "%s/%d.sock", directory, how);
		unlink(path);
	}
	rmdir(directory);
	return 0;
}
