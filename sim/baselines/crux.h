/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crux.h - Crux's paths and priorities, as published.
 *
 * Cao et al., "Crux: GPU-Efficient Communication Scheduling for Deep Learning Training",
 * SIGCOMM 2024, sections 3 and 4.  With W_j the floating-point operations of an iteration
 * of job j, M_je its bytes on link e, and B_e the capacity of e:
 *
 *	t_j = max over links e of M_je / B_e
 *	I_j = W_j / t_j           GPU intensity
 *	P_j = k_j I_j             priority, with k_j of crux_pair.h
 *
 * Paths: jobs choose by descending intensity, each flow the least congested of its
 * equally short paths.  This is done again at each arrival and completion.  Priorities
 * are compressed to the few levels of a network by crux_levels.h.
 *
 * What the paper leaves open, and how it is read here: intensities that order the choice
 * of paths are those of the paths that jobs have when it begins; the congestion of a link
 * is the sum over the flows that have chosen it of 8 bytes / (B_e T_j), with T_j the
 * isolated iteration time; a path is less congested if its fullest link is less full,
 * among equals the next fullest, and so on, so links that all paths of a flow have in
 * common do not matter; among equal paths the first is taken.
 *
 * Crux has no guard against starvation: its authors report that the job of lowest
 * priority lost 55 %.
 *
 * Pure; plain arrays of links and jobs, for any fabric.
 */
#ifndef SIM_BASELINES_CRUX_H
#define SIM_BASELINES_CRUX_H

#include <stddef.h>
#include <stdint.h>

struct crux_job {
	double compute_flop; /* W: operations of an iteration, or GPU seconds. */
	double compute_s;    /* Their time. */
	double offset_s;     /* Sending begins so long after the iteration. */
};

/* Flows of a job follow each other, and jobs are in ascending order. */
struct crux_flow {
	uint32_t job;
	uint32_t first_path, n_paths; /* Its equally short paths; at least 1. */
	double bytes;                 /* In an iteration. */
};

struct crux_path {
	uint32_t first_link, n_links; /* In 'hops'. */
};

/* All borrowed. */
struct crux_problem {
	const double *capacity_bps; /* By link. */
	uint32_t n_links;
	const struct crux_job *jobs;
	uint32_t n_jobs;
	const struct crux_flow *flows;
	uint32_t n_flows;
	const struct crux_path *paths;
	uint32_t n_paths;
	const uint32_t *hops; /* Links of paths. */
	uint32_t n_hops;
};

/*
 * Returns 0, or -EINVAL for an index out of range, flows out of order, a flow without a
 * path, a quantity that is negative or not finite, or a capacity or 'compute_s' that is
 * not positive.
 */
int crux_check(const struct crux_problem *problem);

/*
 * Below, 'choices' has the path of each flow, from 0 to its n_paths - 1.  The problem and
 * the choices must be valid.
 *
 * Stores t_j in seconds and I_j by job; either may be NULL.  Both are 0 for a job that
 * sends nothing.  O(flows * hops).
 */
void crux_intensities(const struct crux_problem *problem, const uint32_t *choices,
		      double *ret_network_s, double *ret_intensities);

/* Replaces 'choices' as described above.  O(flows * paths of a flow * hops). */
void crux_choose_paths(const struct crux_problem *problem, uint32_t *choices);

/*
 * Stores P_j by job; the reference is the job with the most bytes, among equals the
 * first.  O(flows * hops + jobs * CRUX_PAIR_ITERATIONS).
 */
void crux_priorities(const struct crux_problem *problem, const uint32_t *choices,
		     double *ret_priorities);

struct crux_edge {
	uint32_t high, low; /* Jobs that share a link. */
	double weight;      /* Intensity of 'high'. */
};

/*
 * The contention graph: an edge for each pair of jobs that share a link, from the higher
 * to the lower of 'priorities' (among equals from the lower number), so it has no cycle.
 * Stores an array to free() and returns its length.  O(flows * hops + jobs on a link,
 * squared).
 */
size_t crux_contention(const struct crux_problem *problem, const uint32_t *choices,
		       const double *priorities, const double *intensities,
		       struct crux_edge **ret_edges);

#endif
