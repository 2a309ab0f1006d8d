/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor.h - advice that is kept up to date while jobs come, go and change.
 *
 * advise.h advises on a whole workload once.  The advisor keeps such advice up to date:
 * the places of jobs, the loads of links (advise/place.h), the components of jobs that
 * contend, and for each job its shift, pacing, constraints for the control loop
 * (control/steer.h), scores, reason and evidence.  A change marks the affected
 * components; advisor_step() solves them again from the last shifts, a bounded number
 * at a time.  A waiting job is ranked against the present links.
 *
 * The prediction of advise.h decides whether a job is steered at all, as it sees the
 * whole component; the shape of its bursts decides the mode
 * (control/phase_constraints.h).  Jobs that can only be kept in phase get locked
 * periods (control/period_lock.h) where that costs less than contention; turns need no
 * lock.
 *
 * Where all switches hash, flows get paths (paths/paths.h).  A waiting job is ranked
 * among the paths that would be chosen for it, and gets them when it gets its hosts.  A
 * job that had hosts when it was put first is on the paths that hashing gave it.  Those
 * of running jobs stay unless a change pays (advisor_change_paths()).  Shifts are solved
 * given these paths.
 *
 * Pure and deterministic: the same sequence of calls gives the same advice.  10,000
 * jobs on 20,000 links: an arrival is ranked in under 50 ms; cost is in proportion to
 * the links that it could touch and the component it joins, not to the cluster.
 */
#ifndef SCHEDULER_CORE_ADVISOR_ADVISOR_H
#define SCHEDULER_CORE_ADVISOR_ADVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advice_path.h"
#include "scheduler/core/advise/reason.h"
#include "scheduler/core/control/steer.h"

struct advisor;
struct moves_job;
struct moves_step;
struct topo;
struct work_job;

struct advisor_opts {
	uint64_t seed;
	uint64_t ecmp_seed;
	double max_slowdown;   /* Cap on any one job; 0: default. */
	uint32_t n_candidates; /* Placements to rank; 0: default. */
	uint32_t n_iterations; /* To predict over; 0: default. */
	/*
	 * Of enum advise_lever; 0: all.  Without ADVISE_PLACE a ranking has the packed
	 * place only.  ADVISE_PATH counts only where all switches hash.
	 */
	unsigned levers;
	/* Of changes of paths, see advise_constants.h; 0: default. */
	double change_s, payback_s;
	uint32_t changes_a_minute;
};

/* Takes a reference to the fabric. */
struct advisor *advisor_new(struct topo *topo, const struct advisor_opts *opts);
void advisor_free(struct advisor *advisor); /* Accepts NULL. */

/* The levers in use, without ADVISE_PATH where not all switches hash. */
unsigned advisor_levers(const struct advisor *advisor);

/*
 * Adds or changes a job; hosts NULL: it waits.  Copied; its name is its key.
 * 'is_shiftable': it has a pacer, so it can be delayed.  Returns 0 and its number
 * (valid until it is removed), -EHOSTUNREACH, or -EINVAL for repeated hosts or hosts
 * outside the fabric, or paths that do not fit its flows.  A job without phases only
 * occupies hosts: it gets no advice.
 *
 * If 'job' has paths, they are taken as the present ones.  Otherwise a job that is put
 * again on the same hosts keeps its paths.
 */
int advisor_put(struct advisor *advisor, const struct work_job *job, bool is_shiftable,
		uint32_t *ret_number);
void advisor_remove(struct advisor *advisor, const char *name);
uint32_t advisor_find(const struct advisor *advisor,
		      const char *name); /* UINT32_MAX. */
/*
 * The job as it was put; NULL if there is no such number.  Borrowed until it changes.
 */
const struct work_job *advisor_job(const struct advisor *advisor, uint32_t number);

/*
 * Sets a host's free slots as the scheduler reports them; -1: derived from the jobs.
 * Returns the previous number.
 */
int64_t advisor_set_free(struct advisor *advisor, uint32_t host, int64_t n_slots);

/*
 * Solves up to 'n_max' affected components, or compares a job's paths with those of
 * hashing; returns how many are left.
 */
size_t advisor_step(struct advisor *advisor, size_t n_max);

/* ---- Paths ----------------------------------------------------------------------- */

/*
 * Sets whether the job's paths may be chosen, which is so for a new job.  If they may
 * not, its flows are left to hashing from now on.
 */
void advisor_allow_paths(struct advisor *advisor, uint32_t job, bool is_allowed);

/*
 * Chooses a path for each flow of a placed job that has a choice, at once and without a
 * cost, given the paths of the other jobs: for jobs whose flows can be moved, and whose
 * present paths are not known, as the hash of real switches is not.  From then on no flow
 * of the job is left to hashing, while its paths may be chosen and it stays on its hosts.
 * A job keeps its paths if it was put with one for each of these flows.  Nothing if that
 * was done, or its paths may not be chosen.
 */
void advisor_assign_paths(struct advisor *advisor, uint32_t job);
bool advisor_has_assigned(const struct advisor *advisor, uint32_t job);

/*
 * Changes paths of running jobs where that pays, one job at a time, up to 'n_max' jobs:
 * those that were put, that share links with them, or that could use links which became
 * free.  A flow is changed only if the harm of all links (paths/link_loads.h) falls by
 * change_s / payback_s of the job's weight, never twice within payback_s, and no more
 * than 'changes_a_minute' flows in any minute.  'now_ns' is any clock that never goes
 * back, the same for all calls.  Returns whether more jobs can be looked at now.
 */
bool advisor_change_paths(struct advisor *advisor, int64_t now_ns, size_t n_max);

struct advisor_path_counts {
	size_t n_jobs;      /* Jobs with flows on chosen paths. */
	size_t n_flows;     /* Those flows. */
	uint64_t n_changed; /* Flows of running jobs that were changed, ever. */
};
struct advisor_path_counts advisor_path_counts(const struct advisor *advisor);

/* ---- Advice ---------------------------------------------------------------------- */

struct advisor_link {
	uint32_t link; /* Of the fabric. */
	uint32_t n_jobs;
	double score_before, score_after;
	double excess_before_bps, excess_after_bps;
};

/* The advice on one running job.  Borrowed until the next change or step. */
struct advisor_view {
	bool is_solved;     /* Otherwise its component waits for advisor_step(). */
	uint64_t revision;  /* Changes with any member below, except 'component'. */
	uint32_t component; /* The same for all jobs that were solved together. */
	int64_t shift_us, slack_us, locked_us;
	enum steer_mode mode;
	double score_before, score_after;
	/*
	 * Predicted, over isolated.  'Before' is without shifts and, if paths are chosen
	 * for the job, with those of hashing instead.
	 */
	double slowdown_before, slowdown_after;
	double slowdown_unshifted;  /* Without shifts, on its present paths. */
	double gain_low, gain_high; /* Of its iteration time, relative. */
	/* The part of the gain that shifts give, on the present paths. */
	double shift_gain_low, shift_gain_high;
	enum reason reason;
	/* Contended ones, worst first.  If routed apart: those that it was kept from. */
	const struct advisor_link *links;
	size_t n_links;
	/* By flow; NULL: all are left to hashing. */
	const struct advice_path *paths;
	size_t n_paths;
	uint64_t paths_revision; /* Changes with 'paths'; 0: never had any. */
	const struct steer_constraint *constraints; /* Of this job; jobs by number. */
	size_t n_constraints;
};

bool advisor_view(const struct advisor *advisor, uint32_t job,
		  struct advisor_view *ret_view);

struct advisor_place {
	uint32_t *hosts;        /* Owned.  Ascending; the job's n_hosts_wanted. */
	double loss;            /* Of goodput, by the bound of place.h. */
	double slowdown;        /* Predicted for the job itself; 0: not predicted. */
	double slowdown_others; /* For the worst of its neighbors; likewise. */
	double score;           /* Of its worst link, at random phases. */
	uint32_t n_contended, n_leaves;
	enum reason reason;
};

struct advisor_ranking {
	struct advisor_place *items; /* Owned.  Best first, all different. */
	size_t n;
	double packed_loss;         /* Of the packed place; NAN: none. */
	double gain_low, gain_high; /* Of the best place over it, in iteration time. */
};

/*
 * Ranks places of a waiting job, on hosts with enough free slots.  If 'allowed' [hosts
 * of the fabric, by topo_host_number()] is given, only on hosts with allowed[h].  0,
 * -ENOENT, -ENOSPC (no room) or -EHOSTUNREACH.  Release with advisor_ranking_fini().
 */
int advisor_rank(const struct advisor *advisor, uint32_t job, const bool *allowed,
		 struct advisor_ranking *ret_ranking);
void advisor_ranking_fini(struct advisor_ranking *ranking); /* Accepts a zeroed one. */

/* ---- Moves ----------------------------------------------------------------------- */

/*
 * Seeks a step of advise/moves_search.h that moves the running job 'job', alone or with
 * another one.  The bill is by prediction: of the jobs around the old and the new hosts,
 * each as slow as its advice leaves it, or as it would be without shifts if that is
 * less.  So what shifts and paths have solved is not moved.
 *
 * 'jobs'[n_jobs] is by number, zero for numbers without a running job, as are the numbers
 * from n_jobs on; 'allowed' as for advisor_rank(); 'n_allowed' is how many jobs may move.  Returns 1 and the step, to be
 * released with moves_step_fini(); 0 if no move pays, or its effect cannot be predicted;
 * or -ENOENT.
 */
int advisor_find_move(struct advisor *advisor, uint32_t job,
		      const struct moves_job *jobs, size_t n_jobs, const bool *allowed,
		      uint32_t n_allowed, struct moves_step *ret_step);

#endif
