/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monkeytree.h - MonkeyTree's bound on fragments, and the moves that restore it.
 *
 * "MonkeyTree" (arXiv 2602.08296).  A job with a part of its workers in a rack has a
 * fragment there; its rings cross the rack's uplinks, each once out and once in.  The
 * load of a rack is the number of rings of its fragments:
 *
 *	load_r = sum over jobs j of ring_j [0 < w_jr < sum over racks q of w_jq]
 *
 * With load_r <= lambda in every rack, and at least lambda spines, all flows between
 * racks can be given spines without sharing a link: they are the edges of a bipartite
 * multigraph of degree max load (solve/edge_coloring.h).  If a rack's load is above
 * lambda, workers move.  With w0 the present workers, the plan is that of an integer
 * program:
 *
 *	minimize    sum |w - w0|
 *	subject to  sum over j of w_jr <= capacity_r,  sum over r of w_jr as before,
 *	            load_r <= lambda
 *
 * monkeytree_exact() solves it, monkeytree_moves() finds a good plan at any size.  As
 * published, lambda is 3 or the number of spines, and a move takes 9 to 10 s a worker.
 *
 * Racks are all that is known of the fabric.  Written from the paper; its authors' code,
 * which has no license, was not used.  Pure and deterministic.
 */
#ifndef SIM_BASELINES_MONKEYTREE_H
#define SIM_BASELINES_MONKEYTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MONKEYTREE_LAMBDA 3   /* As published. */
#define MONKEYTREE_MOVE_S 9.5 /* A worker; as published: 9 to 10 s. */

/* All borrowed.  Sums of workers and of rings fit 32 bits. */
struct monkeytree {
	uint32_t n_jobs, n_racks;
	const uint32_t *workers;  /* [job * n_racks + rack]. */
	const uint32_t *capacity; /* By rack: workers of these jobs that it can hold. */
	const uint32_t *rings;    /* By job; at least 1. */
	uint32_t lambda;
};

/* Returns 0, or -EINVAL: a rack holds more than its capacity, or a job has no rings. */
int monkeytree_check(const struct monkeytree *mt);

/* The loads with these workers, by rack.  O(jobs * racks). */
void monkeytree_loads(const struct monkeytree *mt, const uint32_t *workers,
		      uint32_t *ret_loads);

/* The trigger: whether a rack's load is above lambda. */
bool monkeytree_is_due(const struct monkeytree *mt);

/* Workers that are elsewhere than now: half the objective. */
uint32_t monkeytree_moved(const struct monkeytree *mt, const uint32_t *workers);

/*
 * Stores workers of a plan with the fewest moves, in the form of 'mt->workers'.  Tries 0
 * moves, 1, 2, and so on, each by branch and bound over jobs and racks.  Returns 0;
 * -ENOSPC: no plan satisfies the constraints; -EAGAIN after 'max_nodes' nodes.
 */
int monkeytree_exact(const struct monkeytree *mt, uint64_t max_nodes,
		     uint32_t *ret_workers);

/*
 * The same without a proof of optimality (monkeytree_moves.c describes the search).
 * Returns 0, or -ENOSPC: found none; 'ret_workers' is then the best that was found.
 * A step tries O(fragments in racks above lambda * racks * jobs) exchanges of workers.
 */
int monkeytree_moves(const struct monkeytree *mt, uint32_t *ret_workers);

#endif
