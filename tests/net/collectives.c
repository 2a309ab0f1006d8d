/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collectives.c - an MPI program that calls every collective that the pacer intercepts,
 * and checks the results, for any MPI
 *
 *	collectives ITERATIONS             an iteration is 20 ms of sleep, then one of each
 *	collectives ITERATIONS threads     three threads at once (MPI_THREAD_MULTIPLE)
 *
 * At the end rank 0 prints "expected N bytes of M collectives" per iteration, as the
 * pacer counts them.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RANKS 8
#define SIZE      256
#define N_THREADS 3

static int rank, n_ranks;
static long expected_bytes;
static int n_expected;

static void
must(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "collectives: rank %d: %s is wrong\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
expect(long bytes)
{
	expected_bytes += bytes;
	n_expected++;
}

static void
sleep_ms(long ms)
{
	const struct timespec at = { .tv_nsec = ms * 1000000 };

	nanosleep(&at, NULL);
}

/* Each number is the sum over all ranks of (number + rank). */
static bool
is_sum(const int *out, int n, int first)
{
	int ranks = n_ranks * (n_ranks - 1) / 2;

	for (int i = 0; i < n; i++)
		if (out[i] != n_ranks * (first + i) + ranks)
			return false;
	return true;
}

static void
fill(int *in, int n)
{
	for (int i = 0; i < n; i++)
		in[i] = i + rank;
}

/* ---- One of each ----------------------------------------------------------------- */

/* Counts and offsets, packed: rank j has j + more. */
static int
lay_out(int *counts, int *at, int more)
{
	int sum = 0;

	for (int j = 0; j < n_ranks; j++) {
		counts[j] = j + more;
		at[j] = sum;
		sum += counts[j];
	}
	return sum;
}

static void
reduce(MPI_Request *requests)
{
	static int in[SIZE], out[7][SIZE];
	static double in8[SIZE], out8[SIZE];
	MPI_Status statuses[2];
	int counts[MAX_RANKS], at[MAX_RANKS], sum = lay_out(counts, at, 1);

	fill(in, SIZE);
	for (int i = 0; i < SIZE; i++)
		in8[i] = 0.5;
	if (!requests) {
		MPI_Allreduce(in8, out8, 101, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		must(out8[100] == 0.5 * n_ranks, "Allreduce");
		expect(101 * 8);
		MPI_Reduce_scatter(in, out[1], counts, MPI_INT, MPI_SUM,
				   MPI_COMM_WORLD);
		must(is_sum(out[1], counts[rank], at[rank]), "Reduce_scatter");
		MPI_Reduce_scatter_block(in, out[2], 5, MPI_INT, MPI_SUM,
					 MPI_COMM_WORLD);
		must(is_sum(out[2], 5, 5 * rank), "Reduce_scatter_block");
		expect(sum * 4);
		expect(5 * 4 * n_ranks);
		return;
	}
	MPI_Iallreduce(in, out[4], 102, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Ireduce_scatter(in, out[5], counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			    &requests[1]);
	MPI_Ireduce_scatter_block(in, out[6], 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				  &requests[2]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Waitall(2, requests + 1, statuses);
	must(is_sum(out[4], 102, 0), "Iallreduce");
	must(is_sum(out[5], counts[rank], at[rank]), "Ireduce_scatter");
	must(is_sum(out[6], 6, 6 * rank), "Ireduce_scatter_block");
	expect(102 * 4);
	expect(sum * 4);
	expect(6 * 4 * n_ranks);
}

/* Rank j's numbers start at 'base' * j. */
static bool
is_gathered(const int *out, const int *counts, const int *at, int first)
{
	for (int j = 0; j < n_ranks; j++)
		for (int i = 0; i < counts[j]; i++)
			if (out[at[j] + i] != j + first + i)
				return false;
	return true;
}

static void
gather(MPI_Request *requests)
{
	static int in[SIZE], out[4][SIZE];
	int counts[MAX_RANKS], at[MAX_RANKS], sum = lay_out(counts, at, 1);
	int same[MAX_RANKS], same_at[MAX_RANKS];
	MPI_Status statuses[2];

	fill(in, SIZE);
	for (int j = 0; j < n_ranks; j++) {
		same[j] = 7;
		same_at[j] = 7 * j;
	}
	if (!requests) {
		MPI_Allgather(in, 7, MPI_INT, out[0], 7, MPI_INT, MPI_COMM_WORLD);
		MPI_Allgatherv(in, counts[rank], MPI_INT, out[1], counts, at, MPI_INT,
			       MPI_COMM_WORLD);
	} else {
		MPI_Iallgather(in, 7, MPI_INT, out[0], 7, MPI_INT, MPI_COMM_WORLD,
			       &requests[0]);
		MPI_Iallgatherv(in, counts[rank], MPI_INT, out[1], counts, at, MPI_INT,
				MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, statuses);
	}
	must(is_gathered(out[0], same, same_at, 0), "Allgather");
	must(is_gathered(out[1], counts, at, 0), "Allgatherv");
	expect(7 * 4 * n_ranks);
	expect(sum * 4);
}

static void
exchange(MPI_Request *requests)
{
	static int in[SIZE], out[2][SIZE];
	int counts[MAX_RANKS], at[MAX_RANKS], sum = lay_out(counts, at, rank + 1);

	/* Rank j gets j + 1 + rank numbers, which name their sender. */
	for (int i = 0; i < SIZE; i++)
		in[i] = rank;
	if (!requests) {
		MPI_Alltoall(in, 9, MPI_INT, out[0], 9, MPI_INT, MPI_COMM_WORLD);
		MPI_Alltoallv(in, counts, at, MPI_INT, out[1], counts, at, MPI_INT,
			      MPI_COMM_WORLD);
	} else {
		MPI_Ialltoall(in, 9, MPI_INT, out[0], 9, MPI_INT, MPI_COMM_WORLD,
			      &requests[0]);
		MPI_Ialltoallv(in, counts, at, MPI_INT, out[1], counts, at, MPI_INT,
			       MPI_COMM_WORLD, &requests[1]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	}
	for (int j = 0; j < n_ranks; j++) {
		must(out[0][9 * j] == j && out[0][9 * j + 8] == j, "Alltoall");
		must(out[1][at[j]] == j && out[1][at[j] + counts[j] - 1] == j,
		     "Alltoallv");
	}
	expect(9 * 4 * n_ranks);
	expect(sum * 4);
}

/* Rank 0 on one side, all others on the other: counts are those of the other side. */
static void
across(MPI_Comm half, MPI_Comm between)
{
	int in[2] = { rank, rank }, out[2 * MAX_RANKS], sum = 0;
	int n_far = rank == 0 ? n_ranks - 1 : 1;
	int counts[MAX_RANKS], at[MAX_RANKS];

	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
	must(sum == (rank ? n_ranks * (n_ranks - 1) / 2 : 0), "Allreduce of some");
	expect(4);
	for (int j = 0; j < n_far; j++) {
		counts[j] = 2;
		at[j] = 2 * j;
	}
	MPI_Allgatherv(in, 2, MPI_INT, out, counts, at, MPI_INT, between);
	must(out[0] == (rank ? 0 : 1), "Allgatherv between groups");
	expect(0);
}

static void
iterate(int iterations)
{
	MPI_Comm half, between;
	MPI_Request requests[3];

	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank ? 0 : 1, 9, &between);
	for (int i = 0; i < iterations; i++) {
		sleep_ms(20);
		expected_bytes = n_expected = 0;
		reduce(NULL);
		reduce(requests);
		gather(NULL);
		gather(requests);
		exchange(NULL);
		exchange(requests);
		across(half, between);
	}
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
}

/* ---- Threads --------------------------------------------------------------------- */

static int n_times;

static void *
reduce_alone(void *ctx)
{
	MPI_Comm comm = *(MPI_Comm *)ctx;

	for (int i = 0; i < n_times; i++) {
		int in[4] = { i, rank, 1, 2 }, out[4], later[4];
		MPI_Request request;

		MPI_Iallreduce(in, later, 4, MPI_INT, MPI_SUM, comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, comm);
		must(out[0] == n_ranks * i && out[2] == n_ranks,
		     "of threads, Allreduce");
		must(memcmp(out, later, sizeof out) == 0, "of threads, Iallreduce");
		if (i % 20 == 0)
			sleep_ms(2);
	}
	return NULL;
}

static void
run_threads(int iterations)
{
	pthread_t threads[N_THREADS];
	MPI_Comm comms[N_THREADS];

	n_times = iterations;
	for (int i = 0; i < N_THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, reduce_alone, &comms[i]);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < N_THREADS; i++)
		MPI_Comm_free(&comms[i]);
}

int
main(int argc, char **argv)
{
	bool is_threaded = argc > 2 && strcmp(argv[2], "threads") == 0;
	int given;

	MPI_Init_thread(&argc, &argv,
			is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	must(argc > 1 && n_ranks > 1 && n_ranks <= MAX_RANKS, "the call");
	if (is_threaded && given < MPI_THREAD_MULTIPLE)
		printf("no threads\n");
	else if (is_threaded)
		run_threads(atoi(argv[1]));
	else
		iterate(atoi(argv[1]));
	if (rank == 0)
		printf("expected %ld bytes of %d collectives\n", expected_bytes,
		       n_expected);
	MPI_Finalize();
	return 0;
}
