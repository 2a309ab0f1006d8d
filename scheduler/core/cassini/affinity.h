/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity.h - CASSINI's affinity graph of jobs and links, and its Algorithm 1.
 *
 *	U  jobs that share a link with another job
 *	V  links that carry more than one job
 *	E  job j crosses link l, with the weight w_(j,l) = t_j^l: the time-shift
 *	   that the optimum of link l alone gives to j
 *
 * Only differences of those shifts mean anything, and each link's optimum has
 * its own zero.  Algorithm 1 walks each connected part from one job and
 * stitches them into one shift a job:
 *
 *	t_k = (t_j - w_(j,l) + w_(l,k)) mod iteration time of k
 *
 * Theorem 1: without a loop the relative shifts of every link survive,
 *
 *	(t_n - t_m) mod p^l = (t_n^l - t_m^l) mod p^l
 *
 * up to whole iterations of n and m, which change nothing on the wire.  With a loop a
 * job would need two shifts at once, so CASSINI rejects loops.
 *
 * Times are in any unit, below 2^61 units.  Pure; O(jobs + links + edges).
 */
#ifndef SCHEDULER_CORE_CASSINI_AFFINITY_H
#define SCHEDULER_CORE_CASSINI_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AFFINITY_NONE UINT32_MAX

struct affinity_edge {
	uint32_t job, link;
	int64_t weight; /* t_j^l, of any sign. */
};

struct affinity;

/*
 * Returns a new graph over jobs and links numbered from 0; free it with
 * affinity_free().  Copies 'edges', which must be distinct pairs.  A job or link
 * without an edge is a part of its own.
 */
struct affinity *affinity_new(uint32_t n_jobs, uint32_t n_links,
			      const struct affinity_edge *edges, size_t n_edges);
void affinity_free(struct affinity *graph); /* Accepts NULL. */

/*
 * Numbers the connected parts that have an edge, in the order of their lowest job, and
 * returns how many there are.  Either output may be NULL; they have room for all jobs
 * and all links, and get AFFINITY_NONE for those without an edge.
 */
uint32_t affinity_components(const struct affinity *graph, uint32_t *ret_of_job,
			     uint32_t *ret_of_link);

/* True if there is a loop.  Two jobs that share two links form one. */
bool affinity_has_loop(const struct affinity *graph);
/* True if there is a loop in the connected part of 'job'. */
bool affinity_has_loop_round(const struct affinity *graph, uint32_t job);

/*
 * Algorithm 1: fills 'ret_shifts', one a job, each in [0, periods[job]).  Where
 * the paper picks any job of a connected part as its reference, this picks
 * the lowest, which gets 0; so do jobs without an edge.  The graph must
 * have no loop.
 */
void affinity_stitch(const struct affinity *graph, const int64_t *periods,
		     int64_t *ret_shifts);

#endif
