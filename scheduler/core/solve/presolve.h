/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presolve.h - removal of redundant links.
 *
 * Let x_l(t) be the demand on link l divided by its capacity.  If every job of
 * link a is on link b with at least the same load for the capacity, x_a <= x_b
 * at all times: 'a' is never exceeded where 'b' is not, whatever the shifts are.
 *
 *  - If that holds both ways, E_a / C_a = E_b / C_b for all shifts: 'a' is merged
 *    into 'b', whose weight grows by that of 'a'.  This is exact.  (A ring puts
 *    the same jobs on both directions of a cable.)
 *  - Otherwise 'a' is dominated: it may be left out as long as 'b' can be freed
 *    of excess.  Its cost must be checked afterwards.
 *
 * Both remove loops from the affinity graph.
 */
#ifndef SCHEDULER_CORE_SOLVE_PRESOLVE_H
#define SCHEDULER_CORE_SOLVE_PRESOLVE_H

struct joint_model;

/*
 * Sets 'is_merged' and 'is_dominated' of the model's links.  Compares each link with
 * each link of that job on it that has the fewest.
 */
void presolve_links(struct joint_model *model);

#endif
