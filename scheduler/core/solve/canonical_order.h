/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical_order.h - order of jobs by their properties, not by number or name.
 *
 * Each job gets a hash of its profile; then a few rounds of color refinement
 * (Weisfeiler and Leman) mix in the links that it uses and the jobs on them.
 * Jobs that remain equal are ordered by their number: mostly they are
* interchangeable, so their order does not matter.
 */
#ifndef SCHEDULER_CORE_SOLVE_CANONICAL_ORDER_H
#define SCHEDULER_CORE_SOLVE_CANONICAL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct joint_problem;

/*
 * Stores the jobs of a well-formed problem in order in 'ret_order' and their hashes, in
 * that order, in 'ret_hash'; both have room for n_jobs.
 */
void canonical_order(const struct joint_problem *problem, const bool *movable,
		     uint32_t *ret_order, uint64_t *ret_hash);

#endif
