/*
 * bench_pacer.c - what libantiphase-pacer.so costs a collective: calls of a stub
 * (tests/unit/job_stub.c) that does nothing, in processes with and without it, turn and
 * turn about.  CPU time, of which the least of all turns is taken: what else the machine
 * does only adds to it.
 *
 *	bench_pacer            5 million calls of each kind, a line each
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "pacer/wait.h"
#include "tests/unit/job_stub.h"

#define N_CALLS  500000
#define N_ROUNDS 10
#define N_WAITS  400

/* What a job does of it: 'iterations' so that every so many begin one. */
static void
job(uint64_t every)
{
	int64_t begin_ns, cpu_ns;
	uint64_t n = every ? 2000 : N_CALLS, n_iterations = 0;

	/* The first ones find the real functions. */
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
	begin_ns = clk_cpu_ns();
	for (uint64_t i = 0; i < n; i++) {
		if (every && i % every == 0) {
			int64_t until_ns = clk_monotonic_ns() + 600000, spun_ns;

			/* Computing is no cost: it is taken out again. */
			spun_ns = clk_cpu_ns();
			while (clk_monotonic_ns() < until_ns)
				;
			begin_ns += clk_cpu_ns() - spun_ns;
			n_iterations++;
		}
		MPI_Allreduce(NULL, NULL, 1000, 4, 0, 0);
	}
	cpu_ns = clk_cpu_ns() - begin_ns;
	printf("%.3f\n", (double)cpu_ns / (double)(every ? n_iterations : n));
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* How late waits end: median, and the 99th of a hundred. */
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

struct kind {
	const char *name;
	bool is_loaded, has_collector;
	const char *rank;
	const char *every; /* "0": calls, without any iteration. */
	double least_ns;
};

static double
run(const struct kind *kind, const char *self, const char *library, const char *path)
{
	char text[64] = "";
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		setenv("RANK", kind->rank, 1);
		setenv("ANTIPHASE_ENDPOINT",
		       kind->has_collector ? path : "/nowhere/at.sock", 1);
		if (kind->is_loaded)
			setenv("LD_PRELOAD", library, 1);
		execl(self, self, "job", kind->every, (char *)NULL);
		_exit(9);
	}
	close(ends[1]);
	n = read(ends[0], text, sizeof text - 1);
	close(ends[0]);
	return waitpid(pid, &status, 0) == pid && status == 0 && n > 0 ? atof(text)
								       : -1;
}

/* Takes everything that pacers send, in a process of its own. */
static pid_t
collect(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer;
	char bytes[256];
	pid_t pid;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(listener, 8) < 0)
		exit(1);
	pid = fork();
	if (pid > 0) {
		close(listener);
		return pid;
	}
	while ((peer = accept(listener, NULL, NULL)) >= 0) {
		while (recv(peer, bytes, sizeof bytes, 0) > 0)
			;
		close(peer);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct kind kinds[] = {
		{ "without", false, false, "0", "0", 0 },
		{ "rank 0, a collector", true, true, "0", "0", 0 },
		{ "rank 0, no collector", true, false, "0", "0", 0 },
		{ "another rank", true, true, "1", "0", 0 },
		{ "an iteration without", false, false, "0", "10", 0 },
		{ "an iteration of rank 0", true, true, "0", "10", 0 },
	};
	const size_t n_kinds = sizeof kinds / sizeof kinds[0];
	char self[4096], library[4096], directory[] = "/tmp/antiphase-bench.XXXXXX";
	char path[64];
	ssize_t n;
	pid_t collector;

	if (argc == 3) {
		job(strtoull(argv[2], NULL, 10));
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
	snprintf(path, sizeof path, "%s/pacer.sock", directory);
	collector = collect(path);
	for (int round = 0; round < N_ROUNDS; round++)
		for (size_t i = 0; i < n_kinds; i++) {
			double ns = run(&kinds[i], self, library, path);

			if (ns < 0) {
				fprintf(stderr, "bench_pacer: %s failed\n",
					kinds[i].name);
				return 1;
			}
			if (round == 0 || ns < kinds[i].least_ns)
				kinds[i].least_ns = ns;
		}
	printf("pacer: ns of CPU a collective, least of %d turns of %d calls\n",
	       N_ROUNDS, N_CALLS);
	for (size_t i = 0; i < n_kinds; i++)
		printf("  %-24s %8.1f   added %8.1f\n", kinds[i].name,
		       kinds[i].least_ns,
		       kinds[i].least_ns -
			       kinds[strcmp(kinds[i].every, "0") ? 4 : 0].least_ns);
	measure_waits();
	kill(collector, SIGTERM);
	waitpid(collector, NULL, 0);
	unlink(path);
	rmdir(directory);
	return 0;
}
