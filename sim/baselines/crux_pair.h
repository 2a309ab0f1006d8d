/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crux_pair.h - network time of two jobs on one link under strict priority.
 *
 * Crux (Cao et al., "Crux: GPU-Efficient Communication Scheduling for Deep Learning
 * Training", SIGCOMM 2024, section 4.2) corrects a job's GPU intensity for the overlap
 * of computing and sending, which intensity alone does not know.  It simulates the job
 * with a reference job on one link, in both orders of priority:
 *
 *	k = network time of the reference if it is first / if the other job is first
 *
 * Published example: W 10 and 5, t 2 and 1 s, compute 2 and 1 s.  The reference (the
 * job with most traffic) sends 1/2 of the time if first, else 1/3, so k = 1.5 for the
 * other job; with the other job first, mean utilization rises from 37.5 to 41.7 %.
 *
 * The job with priority repeats as if alone, so its windows are periodic.  The phase in
 * which the other job begins an iteration determines the phase of its next one, by a
 * monotone map of the circle onto itself; the long-run mean of such a map does not
 * depend on where it begins.  The simulation follows the map until a phase repeats
 * (then the mean is exact), or for CRUX_PAIR_ITERATIONS iterations.  Each costs O(1).
 *
 * Pure.
 */
#ifndef SIM_BASELINES_CRUX_PAIR_H
#define SIM_BASELINES_CRUX_PAIR_H

/* Chosen: the mean of a pair that never repeats is then known to about 1/4096. */
#define CRUX_PAIR_ITERATIONS 4096
/*
 * Chosen: the largest factor, for a job that would leave nothing to the reference.  It
 * orders such jobs first, and products with it stay finite.
 */
#define CRUX_PAIR_MAX_FACTOR 1e6

/*
 * An iteration: it computes for 'compute_s', begins to send after 'offset_s' of that,
 * sends for 'network_s' if nothing is in its way, and ends when both have ended.  All
 * finite, at least 0, and not all 0.
 */
struct crux_pattern {
	double compute_s, offset_s, network_s;
};

/* The share of time in which a job that has the link for itself sends, 0 to 1. */
double crux_pair_alone(const struct crux_pattern *job);

/*
 * The share of time in which 'low' has the link while 'high' has strict, preemptive
 * priority; 0 if 'high' leaves nothing.
 */
double crux_pair_behind(const struct crux_pattern *low,
			const struct crux_pattern *high);

/* The factor k of 'other'; 1 if either sends nothing. */
double crux_pair_factor(const struct crux_pattern *reference,
			const struct crux_pattern *other);

#endif
