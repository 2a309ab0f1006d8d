/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arl.c - an MPI program with the traffic of data-parallel training
 *
 * It computes (sleeps), all-reduces its gradients, and begins again.
 *
 *	arl TRUTH ITERATIONS MBYTES COMPUTE_MS JITTER
 *	    [BURSTS[:LAST] [OFFSET_MS [FACTOR@ITERATION [SEED [meet [GO]]]]]]
 *
 * MBYTES (of 10^6) are all-reduced in each iteration, in BURSTS equal parts, each after
 * its share of the compute time; the last one is only LAST of its part, like the last
 * bucket of gradients.  The compute time varies by +-JITTER of itself, differently on
 * each rank and with each SEED (0).  OFFSET_MS is waited before the first iteration.
 * From ITERATION on (0: never) the compute time is multiplied by FACTOR.  With 'meet',
 * all ranks all-reduce one number before each burst, as training does for a loss or a
 * norm: delays of the job happen there, and TRUTH separates them from the all-reduce.
 * With GO, all work before the first iteration is done when TRUTH exists; then the
 * ranks wait for the file GO, and OFFSET_MS counts from the time in it, in seconds of
 * CLOCK_MONOTONIC.  So the jobs of several mpirun begin at known times.
 *
 * Rank 0 writes TRUTH, rank 1 TRUTH.1 and so on.  A line for each burst: iteration,
 * begin of the compute time, begin and end of the all-reduce, in seconds of
 * CLOCK_MONOTONIC.  Tests compare telemetry with these.  The program checks the result
 * of each all-reduce.
 */
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	const char *truth, *go; /* 'go' is NULL: begin at once. */
	int iterations, bursts;
	size_t n_floats, n_last; /* Numbers in a burst and in the last burst. */
	double compute_s, jitter, offset_s, factor;
	int change_at; /* Iteration; 0: none. */
	uint64_t seed;
	bool meets;
};

static double
now_s(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void
sleep_s(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) == -1 && errno == EINTR)
		;
}

/* Waits until the time in the file plus the offset. */
static void
wait_for_go(const char *path, double offset_s)
{
	struct timespec until;
	FILE *file;
	double at_s = 0;

	while (!(at_s > 0)) {
		file = fopen(path, "r");
		if (!file || fscanf(file, "%lf", &at_s) != 1)
			sleep_s(0.02);
		if (file)
			fclose(file);
	}
	at_s += offset_s;
	until.tv_sec = (time_t)at_s;
	until.tv_nsec = (long)((at_s - (double)until.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Uniform in [-1, 1): one step of splitmix64. */
static double
draw(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return (double)(x >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static bool
parse(int argc, char **argv, struct options *options)
{
	const char *at;
	double last;

	if (argc < 6 || argc > 12)
		return false;
	options->truth = argv[1];
	options->iterations = atoi(argv[2]);
	options->bursts = argc > 6 ? atoi(argv[6]) : 1;
	last = argc > 6 && strchr(argv[6], ':') ? atof(strchr(argv[6], ':') + 1) : 1;
	options->compute_s = atof(argv[4]) * 1e-3;
	options->jitter = atof(argv[5]);
	options->offset_s = argc > 7 ? atof(argv[7]) * 1e-3 : 0;
	at = argc > 8 ? strchr(argv[8], '@') : NULL;
	if (argc > 8 && (!at || !(atof(argv[8]) > 0)))
		return false;
	options->factor = at ? atof(argv[8]) : 1;
	options->change_at = at ? atoi(at + 1) : 0;
	options->seed = argc > 9 ? (uint64_t)atoll(argv[9]) : 0;
	options->meets = argc > 10;
	if (argc > 10 && strcmp(argv[10], "meet") != 0)
		return false;
	options->go = argc > 11 ? argv[11] : NULL;
	if (options->iterations < 1 || options->bursts < 1 || !(atof(argv[3]) > 0))
		return false;
	options->n_floats =
		(size_t)(atof(argv[3]) * 1e6 / sizeof(float)) / (size_t)options->bursts;
	options->n_last = (size_t)((double)options->n_floats * last);
	return options->n_floats > 0 && last > 0 && last <= 1 && options->n_last > 0;
}

static void
iterate(const struct options *options, int number, uint64_t *random, const float *in,
	float *out, FILE *truth)
{
	for (int burst = 0; burst < options->bursts; burst++) {
		double begin_s = now_s(), reduce_s;
		size_t n = burst + 1 < options->bursts ? options->n_floats
						       : options->n_last;
		double vary = 1 + options->jitter * draw(random);
		float mine = 1, sum;

		if (options->change_at && number >= options->change_at)
			vary *= options->factor;
		sleep_s(options->compute_s * vary / options->bursts);
		if (options->meets)
			MPI_Allreduce(&mine, &sum, 1, MPI_FLOAT, MPI_SUM,
				      MPI_COMM_WORLD);
		reduce_s = now_s();
		MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		fprintf(truth, "%d %.6f %.6f %.6f\n", number, begin_s, reduce_s,
			now_s());
	}
}

/* NULL if the file cannot be made. */
static FILE *
open_truth(const char *path, int rank)
{
	char path_of_rank[4096];
	FILE *truth;

	if (rank > 0)
		snprintf(path_of_rank, sizeof path_of_rank, "%s.%d", path, rank);
	else
		snprintf(path_of_rank, sizeof path_of_rank, "%s", path);
	truth = fopen(path_of_rank, "w");
	if (truth)
		setvbuf(truth, NULL, _IOLBF, 0);
	return truth;
}

int
main(int argc, char **argv)
{
	struct options options = { .bursts = 1 };
	FILE *truth;
	float *in, *out;
	uint64_t random;
	int rank, n_ranks;
	bool is_right;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "usage: arl TRUTH ITERATIONS MBYTES COMPUTE_MS JITTER "
				"[BURSTS[:LAST] [OFFSET_MS [FACTOR@ITERATION "
				"[SEED [meet [GO]]]]]]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	random = 7 + (uint64_t)rank + 1000 * options.seed;
	in = malloc(options.n_floats * sizeof(*in));
	out = malloc(options.n_floats * sizeof(*out));
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 70);
	for (size_t i = 0; i < options.n_floats; i++)
		in[i] = (float)(i % 17 + (size_t)rank);
	if (options.go)
		MPI_Barrier(MPI_COMM_WORLD);
	truth = open_truth(options.truth, rank);
	if (!truth)
		MPI_Abort(MPI_COMM_WORLD, 2);

	if (options.go) {
		wait_for_go(options.go, options.offset_s);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		sleep_s(options.offset_s);
	}
	for (int i = 0; i < options.iterations; i++)
		iterate(&options, i, &random, in, out, truth);

	/* Sums of small integers are exact in any order. */
	is_right = true;
	for (size_t i = 0; i < options.n_floats; i++)
		is_right &= out[i] == (float)((int)(i % 17) * n_ranks +
					      n_ranks * (n_ranks - 1) / 2);
	if (!is_right) {
		fprintf(stderr, "arl: the sum of rank %d is wrong\n", rank);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	fclose(truth);
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
