/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_heal.h - moves of running jobs that bring racks back within their uplinks.
 *
 * In a full cluster, jobs that come get the nodes of jobs that leave, so scattered jobs
 * leave scattered nodes.  Once a rack has more fragments of jobs than uplinks, no choice
 * of paths keeps flows apart, and the bill of a single step of fabric_move.h never counts
 * what later jobs gain.  Here the fewest nodes are given up that bring every rack within
 * its uplinks again, as MonkeyTree does (fabric_monkeytree.h), but only
 *
 *	- if chosen paths leave harm (fabric_paths_harm()): a rack above the bound may have
 *	  none, as small bursts share an uplink without loss;
 *	- if the moves pay within FABRIC_HEAL_S: cost <= FABRIC_HEAL_S * (harm before - harm
 *	  after), with the cost as the sum over moved jobs of weight times lost seconds;
 *	- within the limit on moves (moves.h);
 *	- if the last move of each moved job has paid back.
 *
 * Needs chosen paths and two tiers of switches.
 */
#ifndef SIM_CLUSTER_FABRIC_HEAL_H
#define SIM_CLUSTER_FABRIC_HEAL_H

#include <stdbool.h>

struct fabric;
struct pol_plan;
struct pol_view;

#define FABRIC_HEAL_S 600 /* Chosen. */

/*
 * Changes pieces of the plan, and writes by grant the seconds that a job loses.  False:
 * nothing moves.
 */
bool fabric_heal(struct fabric *fabric, const struct pol_view *view,
		 struct pol_plan *plan, double *ret_lost_s);

#endif
