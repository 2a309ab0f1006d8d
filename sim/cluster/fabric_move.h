/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_move.h - moves of running jobs on the fabric, as one more change of a plan.
 *
 * The policy grants GPUs; a move gives a job as many GPUs on as many other nodes, and
 * stops it for a while (moves.h).  Steps come from moves_search.h.  Up to FABRIC_MANY jobs
 * in a component, each is billed by simulated slowdowns of all jobs with it and without;
 * above, by the bound.  Jobs that the plan starts or places anew move for nothing.
 *
 * What a scheduler does not know is not used: a job's remaining time is the predicted one
 * of its trace, or as long as it has run.  Jobs that share GPUs or CPUs, have uneven
 * pieces, or an unknown model on several nodes stay.
 */
#ifndef SIM_CLUSTER_FABRIC_MOVE_H
#define SIM_CLUSTER_FABRIC_MOVE_H

struct pol_plan;
struct pol_view;

/*
 * Seconds until moves are sought again after none was found, and steps tried by a search;
 * chosen: two weeks of a trace take minutes.
 */
#define FABRIC_MOVE_EVERY_S 600
#define FABRIC_MOVE_TRIES   400

/*
 * Takes the best step, if one pays and the limit allows it: changes pieces of the plan,
 * and writes by grant the seconds that a job loses.  A callback of struct cluster_work.
 */
void fabric_move(void *fabric, const struct pol_view *view, struct pol_plan *plan,
		 double *ret_lost_s);

#endif
