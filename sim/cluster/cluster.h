/*
 * cluster.h - a cluster over days: jobs of a trace come, a policy says who runs where, and
 * jobs progress as fast as their places let them.
 *
 * From event to event: the next submission, the earliest completion, or when the policy
 * wants to decide.  Then all that is due at that time happens together - completions, then
 * submissions in the order of the trace -, the policy decides (policies), and what
 * differs from before is carried out: jobs stop, move and start, each start after a stop
 * costing restart_s.
 *
 * Two levels share this loop and the jobs' model; they differ in how fast a job is:
 *
 *	fixed   as its trace and the speed table say: exact, a few microseconds an event
 *	fabric  its iterations on the fabric with those of all others (fabric.h)
 *
 * Each round of a policy that has rounds is an event, though nothing else may happen for years:
 * it is not skipped, as nearly every such policy changes by it (deficits, attained service,
 * random draws), and what it counts as a decision is told.  So there is a bound to them, as
 * a job that is absurdly long, by a slip in its trace, would take for ever.
 *
 * Published simulators have quirks that their published numbers depend on; they are
 * 'quirks' here, off unless a golden number is to be met.  Pure; no I/O.
 */
#ifndef SIM_CLUSTER_CLUSTER_H
#define SIM_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/augment.h"
#include "policies/policy.h"

/* That a job may take, a bit less than two centuries of those of a minute. */
#define CLUSTER_MAX_ROUNDS 1e8

/* As a trace has it; arrays of these are the input. */
struct cluster_job {
	double submit_s, duration_s;
	uint32_t n_gpus, max_gpus, user, vc, model;
	uint32_t batch; /* Samples of a step; 0: not told. */
	int32_t priority;
	double predicted_s;
	double iterations, iteration_s; /* NAN: not known. */
	double stage_s[3];
	double skew; /* As in pol_job. */
};

/* How fast jobs are, and how they get on. */
struct cluster_work {
	void *ctx;
	struct pol_speed speed; /* NULL: as stages.h has it, 1 alone. */
	struct pol_report report;
	/*
	 * A running job has been on its place for 'dt_s' more: fills executed_s and
	 * remaining_s.  Told at every event, for every running job.  NULL: as long as it
	 * does not restart, remaining_s = duration_s - executed_s at speed 1.
	 */
	void (*advance)(void *ctx, struct pol_job *job, double speed, double dt_s);
	/*
	 * What becomes of the speeds of the view's jobs, which are those of each by itself,
	 * as others are in its way: the fabric.  Asked after each event; 0 for one that
	 * waits.  NULL: they stay.
	 */
	void (*rates)(void *ctx, const struct pol_view *view, double *speeds);
	/* A job has worked on its place for so long, at the last speed; may be NULL. */
	void (*worked)(void *ctx, const struct pol_job *job, double dt_s);
	struct augment augment; /* Which of the plans is taken. */
};

struct cluster_result {
	double first_s, end_s;         /* Of each job; NAN: not begun, not done. */
	double executed_s, attained_s; /* Wall time and GPU seconds; until the end. */
	uint32_t n_starts, n_preempted;
};

struct cluster_counts {
	uint64_t n_events, n_decisions, n_preemptions, n_migrations;
	uint64_t
		n_augmented; /* Decisions where another plan than the first was taken. */
};

struct cluster_opts {
	const struct pol_cluster *cluster;
	const struct cluster_work *work;
	double until_s; /* INFINITY: until all are done. */
	bool check;     /* Each plan (plan.h); for tests. */
	void *ctx;
	/* After each event, which may take seconds; false ends the run.  May be NULL. */
	bool (*go_on)(void *ctx, double share);
	/* After each decision; may be NULL. */
	void (*on_plan)(void *ctx, const struct pol_view *view,
			const struct pol_plan *plan);
};

/*
 * Runs 'jobs', in order of submission, under a policy.  0; -EINVAL with a job that no
 * place can ever have, by '*ret_bad', or -ERANGE with one that takes more rounds or leases
 * of the policy than CLUSTER_MAX_ROUNDS until it, or 'until_s', ends; -ECANCELED.
 */
int cluster_run(const struct cluster_job *jobs, size_t n, struct policy *policy,
		const struct cluster_opts *opts, struct cluster_result *ret_results,
		struct cluster_counts *ret_counts, size_t *ret_bad);

#endif
