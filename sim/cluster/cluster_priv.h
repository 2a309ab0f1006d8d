/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_priv.h - declarations shared by cluster*.c.
 *
 *	cluster.c         the loop over events
 *	cluster_events.c  what an event brings: jobs end and arrive, nodes go and come
 *	cluster_decide.c  the plan that is taken, and jobs that start, move and stop by it
 *	cluster_rates.c   speeds of running jobs, and when they end
 */
#ifndef SIM_CLUSTER_CLUSTER_PRIV_H
#define SIM_CLUSTER_CLUSTER_PRIV_H

#include "lib/base/vec.h"
#include "sim/cluster/cluster.h"

/* The loop's state of a job, beyond what policies see. */
struct run {
	double speed; /* Work per second, once it works. */
	double end_s; /* At the present speed; INFINITY: it does not run. */
	VEC(struct pol_piece) pieces;
	uint64_t mark;                  /* The last plan that has it. */
	uint32_t next_mate;             /* Ring of the jobs on the same GPUs. */
	uint32_t first_owner, n_owners; /* Of the last plan. */
};

struct loop {
	const struct cluster_job *input;
	size_t n, n_arrived, n_done, n_changed;
	struct policy *policy;
	struct pol_costs costs;
	const struct cluster_opts *opts;
	struct pol_view view;
	struct pol_job *jobs; /* By id. */
	struct run *runs;
	VEC(uint32_t) ids;                 /* Submitted and not done; ascending. */
	VEC(uint32_t) running;             /* Jobs with GPUs; events scan only these. */
	VEC(uint32_t) done;                /* Ended at this event. */
	VEC(double) speeds;                /* By position in 'ids'. */
	VEC(const struct pol_job *) mates; /* Of one job. */
	VEC(double) lost_s;                /* By grant, by a move; empty: none. */
	VEC(double) ends_s; /* Different ones, in the order of the plan. */
	struct pol_plan plans[AUGMENT_MAX_PLANS];
	const struct pol_plan *plan; /* The plan taken. */
	struct cluster_result *results;
	struct cluster_counts *counts;
	double advanced_s; /* Time of the last event. */
	uint64_t mark;
};

/* The jobs that end at this event; running ones stay listed. */
void cluster_complete(struct loop *l);

/* The jobs that are submitted at this event. */
void cluster_arrive(struct loop *l);

/* Advances running jobs to the current event. */
void cluster_advance(struct loop *l);

/* Nodes go away, with the jobs on them, and come back. */
void cluster_change_nodes(struct loop *l);

/* Stops a job before its end.  The caller keeps the list of running jobs. */
void cluster_preempt(struct loop *l, struct pol_job *job);

/* Notes the result of a job that has worked for 'worked_s' since its last advance. */
void cluster_note_result(struct loop *l, uint32_t id, double end_s, double worked_s);

/* Asks the policy if it is due, takes its plan, and predicts ends. */
void cluster_decide(struct loop *l);

/* Predicts the end of each running job at its present speed. */
void cluster_predict_ends(struct loop *l);

#endif
