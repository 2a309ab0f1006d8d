/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_call.c - calls a function of a library and records the times
 *
 *	events_call LIBRARY FUNCTION CALLS PAUSE_MS COUNT
 *
 * The function is called like ncclAllReduce() with COUNT elements of type float (7).
 * Prints a line for each call: its begin and end in seconds of CLOCK_MONOTONIC.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NCCL_FLOAT 7

typedef int call_fn(const void *send, void *receive, size_t count, int type, int op,
		    void *communicator, void *stream);

static double
now_s(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

int
main(int argc, char **argv)
{
	void *library = argc == 6 ? dlopen(argv[1], RTLD_NOW) : NULL;
	call_fn *call = library ? (call_fn *)dlsym(library, argv[2]) : NULL;

	if (!call) {
		fprintf(stderr, "events_call: %s\n", argc == 6 ? dlerror() : "usage");
		return 2;
	}
	for (int i = 0; i < atoi(argv[3]); i++) {
		double begin_s = now_s();

		call(NULL, NULL, strtoul(argv[5], NULL, 10), NCCL_FLOAT, 0, NULL, NULL);
		printf("%.6f %.6f\n", begin_s, now_s());
		usleep((useconds_t)atoi(argv[4]) * 1000);
	}
	return 0;
}
