/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - simulation of a cluster over days: jobs arrive, a policy decides which
 * jobs run where, and jobs progress at the speed of their places.
 *
 * The simulation goes from event to event: the next arrival, the earliest completion,
 * the next time at which the policy wants to decide, or at which a node goes away or
 * comes back.  Everything due at that time
 * happens together: completions, then arrivals in the order of the trace.  Then the
 * policy decides (policies), and the difference to the state before is carried out:
 * jobs stop, move and start.  A start after a stop, another number of GPUs, and other
 * GPUs have a cost each (struct pol_costs), unless 'move' has moved the job at a cost of
 * its own.
 *
 * A job on a node that goes away is stopped, as by a preemption, and waits.
 *
 * Two levels of detail share this loop and the model of a job.  They differ in the
 * speed of a job:
 *
 *	fixed   from the trace and the table of speeds: exact, a few microseconds per event
 *	fabric  its iterations on the fabric with those of all others (fabric.h)
 *
 * Each round of a policy with rounds is an event, even if nothing else happens: rounds
 * are not skipped, since they change the state of nearly every such policy (deficits,
 * attained service, random draws), and count as decisions.  CLUSTER_MAX_ROUNDS bounds
 * them: an absurdly long job, by an error in its trace, would never end.
 *
 * Pure; no I/O.
 */
#ifndef SIM_CLUSTER_CLUSTER_H
#define SIM_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/augment.h"
#include "policies/policy.h"
#include "sim/cluster/batch_growth.h"

/* Most rounds of a job: a bit less than two centuries of rounds of a minute. */
#define CLUSTER_MAX_ROUNDS 1e8

/* A job of the input; arrays are sorted by submission. */
struct cluster_job {
	double submit_s, duration_s;
	uint32_t n_gpus, max_gpus, user, vc, model;
	uint32_t batch;             /* Samples per step, at first; 0: unknown. */
	enum batch_mode batch_mode; /* How it changes. */
	int32_t priority;
	double predicted_s;
	double iterations, iteration_s; /* NAN: not known. */
	double stage_s[3];
	double skew;        /* As in pol_job. */
	struct needs needs; /* As in pol_job. */
	uint32_t measured_model;
};

/* Speeds of jobs, and their progress. */
struct cluster_work {
	void *ctx;
	struct pol_speed speed; /* NULL: stages.h. */
	struct pol_report report;
	/*
	 * A running job has worked from 'from_s' to 'to_s' on its place: updates
	 * executed_s and remaining_s.  Called at every event for every running job; the
	 * times may be equal.  NULL: remaining_s falls by speed * (to_s - from_s).
	 */
	void (*advance)(void *ctx, struct pol_job *job, double speed, double from_s,
			double to_s);
	/*
	 * Changes the speeds of the view's jobs, which are those without contention:
	 * the fabric.  Called after each event; the speed of a waiting job is 0. NULL:
	 * speeds stay.
	 */
	void (*rates)(void *ctx, const struct pol_view *view, double *speeds);
	/* A job has worked for dt_s at the last speed; may be NULL. */
	void (*worked)(void *ctx, const struct pol_job *job, double dt_s);
	struct augment augment; /* Chooses among plans. */
	/*
	 * Changes the nodes of jobs in the plan that was taken, with the same GPUs on as
	 * many nodes, and writes to ret_lost_s, by grant and zeroed, how long a moved
	 * job does not work; 0: it is not moved, or starts anyway.  NULL: no moves.  Only
	 * for policies of policy_keeps_places().
	 */
	void (*move)(void *ctx, const struct pol_view *view, struct pol_plan *plan,
		     double *ret_lost_s);
};

struct cluster_result {
	double first_s, end_s;         /* NAN: not begun, not done. */
	double executed_s, attained_s; /* Wall time and GPU seconds; until the end. */
	uint32_t n_starts, n_preempted;
};

/* A node goes away, or comes back: failed and repaired, or used elsewhere. */
struct cluster_change {
	double at_s;
	uint32_t node;
	bool is_away;
};

struct cluster_counts {
	uint64_t n_events, n_decisions, n_preemptions, n_migrations;
	uint64_t
		n_augmented; /* Decisions where a plan other than the first was taken. */
};

struct cluster_opts {
	const struct pol_cluster *cluster;
	const struct cluster_work *work;
	double until_s; /* INFINITY: until all are done. */
	bool check;     /* Check each plan (plan.h); for tests. */
	/*
	 * Predicted ends that differ by at most this share of the later one are one
	 * event, at the end of the job that is first in the plan.  0: only equal ends.
	 */
	double close_ends;
	/*
	 * Changes of nodes, ascending by time.  'is_away' is that of the cluster, and is
	 * written.  NULL, 0: no node ever goes away.
	 */
	const struct cluster_change *changes;
	size_t n_changes;
	bool *is_away;
	void *ctx;
	/*
	 * Called after each event, which may take seconds; false ends the run.  May be
	 * NULL.
	 */
	bool (*go_on)(void *ctx, double share);
	/*
	 * Called at each event for each running job; true: it is stopped, as if its GPUs
	 * had failed, and the policy goes on.  NULL: none is; for tests.
	 */
	bool (*interrupt)(void *ctx, const struct pol_view *view,
			  const struct pol_job *job);
	/* Called after each decision; may be NULL. */
	void (*on_plan)(void *ctx, const struct pol_view *view,
			const struct pol_plan *plan);
};

/*
 * Runs 'jobs', in order of submission, under a policy.  Returns 0; -EINVAL if job
 * '*ret_bad' fits nowhere; -ERANGE if it takes more than CLUSTER_MAX_ROUNDS rounds or
 * leases until it, or 'until_s', ends; -ECANCELED if go_on() returned false.
 */
int cluster_run(const struct cluster_job *jobs, size_t n, struct policy *policy,
		const struct cluster_opts *opts, struct cluster_result *ret_results,
		struct cluster_counts *ret_counts, size_t *ret_bad);

#endif
