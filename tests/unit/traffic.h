/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.h - synthetic traffic with known iterations, for tests and benches of the
 * detector; deterministic for a seed
 */
#ifndef TESTS_UNIT_TRAFFIC_H
#define TESTS_UNIT_TRAFFIC_H

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/series.h"

#define TRAFFIC_MAX_ITERATIONS 4096

struct traffic_job {
	double period_ms;
	double jitter_frac; /* Standard deviation of the iteration time. */
	double duty;        /* Share of the iteration that sends. */
	unsigned n_bursts;  /* Unequal, with gaps between them. */
	unsigned n_ranks;
	double noise_frac; /* Of the line rate, uniform, in every bucket. */
	double seconds;
	uint64_t seed;
};

struct traffic {
	struct series_set set;
	size_t n_iterations;                     /* Beginning in the part. */
	double start_ms[TRAFFIC_MAX_ITERATIONS]; /* Of each iteration. */
	double bytes; /* Per iteration, interface and direction, without noise. */
};

#define TRAFFIC_LINE_BYTES_PER_MS 125000.0 /* 1 Gb/s. */

/* Adds 'bytes_per_ms' over [from, to) ms, in part to the first and last bucket. */
static inline void
traffic_add(struct series_set *set, size_t row, double from, double to,
	    double bytes_per_ms)
{
	for (double t = fmax(floor(from), 0); t < to && t < (double)set->n_buckets;
	     t++) {
		double part = fmin(to, t + 1) - fmax(from, t);

		series_row(set, row)[(size_t)t] += (float)(part * bytes_per_ms);
	}
}

/*
 * One iteration from 'start': idle, then bursts of unequal length that take 'duty' of
 * the period together, with gaps of a tenth of the idle time each.  The jitter is in
 * the idle time before the first burst, as with computing.
 */
static inline void
traffic_iteration(struct traffic *traffic, const struct traffic_job *job, double start,
		  double length, struct rng *rng)
{
	double idle = length - job->duty * job->period_ms;
	double gap = job->n_bursts > 1 ? fmin(0.4 * idle / (job->n_bursts - 1),
					      0.1 * job->period_ms)
				       : 0;
	double at = start + idle - gap * (job->n_bursts - 1);
	double shares = job->n_bursts * (job->n_bursts + 1) / 2.0;

	for (unsigned b = 0; b < job->n_bursts; b++) {
		double burst = job->duty * job->period_ms * (b + 1) / shares;

		for (size_t row = 0; row < traffic->set.n_series; row++) {
			double skew = 2 * rng_uniform(rng);

			traffic_add(&traffic->set, row, at + skew, at + skew + burst,
				    TRAFFIC_LINE_BYTES_PER_MS * 0.9);
		}
		at += burst + gap;
	}
}

static inline void
traffic_init(struct traffic *traffic, const struct traffic_job *job)
{
	struct rng rng;
	double now;

	rng_init(&rng, job->seed);
	traffic->n_iterations = 0;
	series_init(&traffic->set, 2 * job->n_ranks, (size_t)(job->seconds * 1e3));
	for (size_t row = 0; row < traffic->set.n_series; row++)
		traffic->set.ids[row] =
			(struct series_id){ (uint32_t)row / 2, row % 2 == 1 };
	traffic->bytes = job->duty * job->period_ms * TRAFFIC_LINE_BYTES_PER_MS * 0.9;

	now = -job->period_ms * rng_uniform(&rng);
	while (now < job->seconds * 1e3) {
		double jitter = job->jitter_frac * rng_normal(&rng);
		double length = job->period_ms * (1 + fmax(fmin(jitter, 0.3), -0.3));

		/* Computing cannot take a negative time. */
		length = fmax(length, job->duty * job->period_ms * 1.02);
		traffic_iteration(traffic, job, now, length, &rng);
		if (now >= 0 && traffic->n_iterations < TRAFFIC_MAX_ITERATIONS)
			traffic->start_ms[traffic->n_iterations++] = now;
		now += length;
	}
	for (size_t i = 0;
	     job->noise_frac > 0 && i < traffic->set.n_series * traffic->set.n_buckets;
	     i++)
		traffic->set.bytes[i] +=
			(float)(2 * job->noise_frac * rng_uniform(&rng) *
				TRAFFIC_LINE_BYTES_PER_MS);
}

/* The median iteration time in the part: the ground truth. */
static inline double
traffic_median_ms(const struct traffic *traffic)
{
	double *d = xcalloc(traffic->n_iterations + 1, sizeof *d), median;
	size_t n = 0;

	for (size_t k = 0; k + 1 < traffic->n_iterations; k++)
		d[n++] = traffic->start_ms[k + 1] - traffic->start_ms[k];
	stats_sort(d, n);
	median = stats_quantile(d, n, 0.5);
	free(d);
	return median;
}

static inline void
traffic_fini(struct traffic *traffic)
{
	series_fini(&traffic->set);
}

#endif
