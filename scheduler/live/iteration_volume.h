/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration_volume.h - bytes that a job sends in an iteration, from a few of them.
 *
 * Measured from the bins of its series and the begins of its iterations, which its
 * pacer reports. Contention lengthens an iteration, but adds no bytes, so a few
 * iterations are enough.
 *
 *	bytes    of one interface in one direction: the mean over the job's series that
 *	         have at least a tenth of the busiest one's, hosts' own as in job_profiler.h
 *	within   the share that rank 0's host sent while rank 0 was in collectives, from
 *	         the begin of the iteration on: nearly all if the collectives are one
 *	         block, little if they are spread over the iteration
 *	busy     the share of that time, in ITERATION_VOLUME_N_CELLS cells, with at least
 *	         a tenth of the mean traffic: nearly all if the time in collectives is
 *	         sending, little if it is waiting
 *
 * Pure. O(iterations' bins) for each of at most ITERATION_VOLUME_MAX_SERIES series.
 */
#ifndef SCHEDULER_LIVE_ITERATION_VOLUME_H
#define SCHEDULER_LIVE_ITERATION_VOLUME_H

#include <stddef.h>
#include <stdint.h>

struct live;

#define ITERATION_VOLUME_N_MIN          3 /* Complete iterations; fewer if long. */
#define ITERATION_VOLUME_MAX_ITERATIONS 8 /* The last ones. */
#define ITERATION_VOLUME_MAX_SERIES     32
#define ITERATION_VOLUME_N_CELLS        16

/* One complete iteration, on wall clock time. */
struct iteration_volume_sample {
	int64_t begin_ns, end_ns; /* The next one begins at its end. */
	int64_t comm_ns;          /* In collectives. */
};

struct iteration_volume {
	double bytes; /* Per iteration. */
	double within_frac, busy_frac;
	size_t n_iterations, n_series;
};

/*
 * Measures the 'n' iterations, in order of time, in the job's 'series'; those on 'host'
 * are rank 0's. Returns 0; -EAGAIN if not all hosts have reported enough of them yet;
 * -ENODATA if their bins are gone.
 */
int iteration_volume_measure(const struct live *live, const uint32_t *series,
			     size_t n_series, uint32_t host,
			     const struct iteration_volume_sample *iterations, size_t n,
			     struct iteration_volume *ret_volume);

#endif
