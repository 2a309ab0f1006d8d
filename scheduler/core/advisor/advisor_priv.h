/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_priv.h - declarations shared by the advisor's files.
 *
 *	advisor_touch.c     the jobs that a change affects
 *	advisor_paths.c     paths as jobs come and go
 *	advisor_changes.c   paths of running jobs, changed where that pays
 *	advisor_forecast.c  one job predicted among those that it shares links with
 *	advisor_hashed.c    what a job would lose on the paths of hashing
 *	advisor_view.c      the published advice of a job
 *	advisor_solve.c     one component solved again with advise.h
 *	advisor_rank.c      places of a waiting job
 *	advisor_moves.c     other hosts of a running job
 *	advisor.c           jobs, and steps
 *
 * Each uses those above it.
 */
#ifndef SCHEDULER_CORE_ADVISOR_ADVISOR_PRIV_H
#define SCHEDULER_CORE_ADVISOR_ADVISOR_PRIV_H

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"

struct routes;

/* Runs of a prediction of one job. */
#define FORECAST_RUNS 3

/* A job at its place, predicted. */
struct forecast {
	double own[FORECAST_RUNS]; /* Slowdown of the job, by run. */
	double others;             /* Mean slowdown of the worst of the others. */
	double score;              /* Of its worst link, at random phases. */
	bool is_known;
};

/* A job as it would be on the paths of hashing. */
struct hashed {
	bool is_known, is_stale;
	struct forecast forecast;
	struct advisor_link *links; /* Owned.  Those that it would contend for. */
	size_t n_links;
};

/* The paths of a job with hosts, where paths are chosen. */
struct job_paths {
	bool may_choose;
	bool is_assigned;         /* No flow with a choice is left to hashing. */
	bool is_restless;         /* In the queue of advisor_change_paths(), */
	int64_t not_before_ns;    /* not to be looked at before. */
	int64_t *changed_ns;      /* Owned.  By flow; INT64_MIN: never. */
	size_t n_chosen;          /* Flows that are not left to hashing. */
	bool is_new;              /* Changed since 'view' was made. */
	struct advice_path *view; /* Owned.  By flow. */
	uint64_t revision;        /* Of 'view'. */
};

/* A job; its entry in the workload has the same number. */
struct advisor_job {
	char *name; /* Owned; NULL: the number is free. */
	uint32_t number;
	bool is_shiftable;
	bool is_touched;            /* Changed since it was solved. */
	bool is_queued;             /* In the queue, solved since or not. */
	struct job_paths paths;     /* Their numbers are in the workload. */
	struct hashed hashed;       /* Used while it has chosen paths. */
	struct advisor_view solved; /* As solved; owns its links and constraints. */
	struct advisor_view view;   /* As published; borrows all arrays. */
	UT_hash_handle hh;
};

struct advisor {
	struct topo *topo; /* A reference. */
	struct routes *routes;
	struct advisor_opts opts;
	struct workload workload; /* By number; free entries are zeroed. */
	struct place *place; /* Of the workload; ranking changes and restores it. */
	VEC(struct advisor_job *) jobs; /* Owned.  By number. */
	struct advisor_job *by_name;
	VEC(uint32_t) free_numbers;
	VEC(uint32_t) touched; /* A queue, from 'first_touched' on. */
	size_t first_touched;
	bool is_choosing;       /* The paths of flows can be chosen. */
	VEC(uint32_t) restless; /* A queue of jobs whose paths may be changed. */
	VEC(int64_t)
	change_times; /* Of the last minute; a queue, from 'first_change' on. */
	size_t first_change;
	struct advisor_path_counts path_counts;
	int64_t *given_slots; /* Owned.  By node: the scheduler's number; -1: none. */
	uint64_t revision;
	uint32_t n_components;
};

/* ---- advisor_touch.c ---- */

/* For the functions of advise_internal.h. */
struct advise_ctx advisor_ctx(const struct advisor *advisor);
/* Queues a job for advisor_step(); and marks it as changed. */
void advisor_queue(struct advisor *advisor, uint32_t job);
void advisor_touch(struct advisor *advisor, uint32_t job);
/* The job and all jobs that share a link with it that can be exceeded. */
void advisor_touch_around(struct advisor *advisor, uint32_t job);

/* ---- advisor_paths.c ---- */

/*
 * The paths of a placed job, if it keeps them when it is put again as 'next'; NULL if
 * not.  Owned by the caller.
 */
uint32_t *advisor_paths_keep(const struct advisor *advisor, uint32_t job,
			     const struct work_job *next, size_t *ret_n);
/*
 * Says which paths the next place_put() of a job gives it: those of its entry in the
 * workload, 'kept' (taken, may be NULL), those that are chosen if it has waited, or those
 * of hashing.  advisor_paths_note() takes them over afterwards.
 */
void advisor_paths_prepare(struct advisor *advisor, uint32_t job, bool has_waited,
			   uint32_t *kept, size_t n_kept);
void advisor_paths_note(struct advisor *advisor, uint32_t job);
/* A placed job is about to leave its links: others may use them. */
void advisor_paths_leave(struct advisor *advisor, uint32_t job);
/* Queues a job for advisor_change_paths(). */
void advisor_make_restless(struct advisor *advisor, uint32_t job);
/* Queues the jobs that suffer on links which can be used in place of these. */
void advisor_free_links(struct advisor *advisor, const struct footprint *left);
/* Takes the paths of the routed job over into the workload. */
void advisor_take_paths(struct advisor *advisor, uint32_t job);
/* Makes the published paths anew if they have changed. */
void advisor_paths_refresh_view(struct advisor *advisor, uint32_t job);

/* ---- advisor_forecast.c ---- */

/*
 * Predicts the job at its present place: sharing links, or if 'may_take_turns' what is
 * better, sharing or turns.
 */
void advisor_forecast(const struct advisor *advisor, uint32_t job, bool may_take_turns,
		      struct forecast *ret_forecast);
double forecast_mean(const struct forecast *forecast);

/* ---- advisor_hashed.c ---- */

/* Evaluates a placed job with chosen paths on those of hashing, the others unchanged. */
void advisor_compare_hashed(struct advisor *advisor, uint32_t job);

/* ---- advisor_view.c ---- */

/*
 * Publishes a job's new advice; raises the revision if anything differs.  Takes the
 * links and constraints of 'solved'.
 */
void advisor_publish(struct advisor *advisor, uint32_t job,
		     const struct advisor_view *solved);
/* The same with the advice as it was solved last. */
void advisor_publish_again(struct advisor *advisor, uint32_t job);
/* Forgets a job's advice, but not its revision. */
void advisor_unpublish(struct advisor_job *job);

/* ---- advisor_rank.c ---- */

/*
 * Sets free slots as the scheduler reports them, none where 'allowed' [hosts] is false;
 * returns the old ones for advisor_reset_slots().
 */
int64_t *advisor_set_slots(const struct advisor *advisor, const bool *allowed);
void advisor_reset_slots(const struct advisor *advisor, int64_t *were);

/* ---- advisor_solve.c ---- */

/* Solves the component of 'job', which is placed, and publishes its advice. */
void advisor_solve(struct advisor *advisor, uint32_t job);

#endif
