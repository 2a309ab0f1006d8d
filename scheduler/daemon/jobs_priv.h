/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_priv.h - the state behind jobs.h, shared by its files:
 *
 *	jobs_doc.c   an advice as a document, and as a record for users
 *	jobs_paths.c which jobs' paths may be chosen, changes of paths, paths in the store
 *	jobs.c       the list of jobs; handing them to the advisor
 *	jobs_pacer.c running jobs, from the reports of their pacers
 *	jobs_run.c   running jobs, from their traffic
 *	jobs_wait.c  waiting jobs
 *	jobs_solve.c advice for running jobs, solved and read in steps
 *	jobs_moves.c other hosts for running jobs, sought in steps
 *
 * Each uses those above it.
 */
#ifndef SCHEDULER_DAEMON_JOBS_PRIV_H
#define SCHEDULER_DAEMON_JOBS_PRIV_H

#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/daemon/jobs.h"

#define JOBS_SECOND_NS INT64_C(1000000000)

struct job_profiler;
struct live;
struct strtab;

struct jobs {
	struct jobs_opts opts;
	struct jobs_pacing pacing;
	struct jobs_outcomes outcomes;
	const struct live *live;             /* Of the telemetry. */
	const struct job_profiler *profiler; /* Of the telemetry. */
	struct advisor *advisor;             /* Owned; NULL without a fabric. */
	uint64_t fabric_digest;  /* topo_digest(), where paths are stored. */
	struct strtab *names;    /* Owned. */
	bool *is_silent;         /* Owned. By node of the fabric. */
	bool *is_heard;          /* Owned. Likewise: has ever sent. */
	uint32_t n_silent;       /* Of all hosts. */
	VEC(struct job *) items; /* Owned; by number in 'names'; NULL: a free one. */
	VEC(struct job *) by_number; /* At the advisor; NULL: free. */
	bool is_restored;            /* Jobs of the last run are restored. */

	size_t n_reported, next_reported; /* Jobs with new reports of their pacers. */
	int64_t taken_ns;                 /* The last time that these were processed, */
	int64_t taking_cost_ns;           /* and how long that took. */

	struct jobs_taking {                   /* Processing these jobs in steps. */
		struct live_workload *running; /* Owned; NULL: not under way. */
		bool is_ready;
		size_t n_looked, n_left;
		int64_t cost_ns;
	} taking;

	size_t n_unsolved; /* About how many touched components wait. */
	size_t next_view;  /* The next job whose advice is read; 0: all have been */
	int64_t viewed_ns; /* at this time. */
	size_t n_touched;  /* Components that were new since then, */
	double took_s;     /* and the time of solving them. */
	bool has_restless; /* Paths of more jobs may be changed now. */
	uint64_t n_changed_before; /* Changes of paths by earlier advisors. */
	bool has_unranked;         /* There was no time for some waiting jobs. */
	int64_t rest_until_ns;     /* jobs_step() rests until then. */
	int64_t nodes_at_us;       /* The snapshot whose free nodes the advisor has. */

	struct jobs_moving {           /* Seeking a move. */
		bool has_sought;       /* There was a candidate in the round. */
		bool is_under_way;     /* A round, */
		size_t next_job;       /* which goes on with this job. */
		int64_t cost_ns;       /* Time spent on it. */
		int64_t rest_until_ns; /* No round begins before. */
		uint32_t n_allowed;
		struct moves_step best;              /* Owned.  n_jobs 0: none yet. */
		char *best_jobs[MOVES_STEP_JOBS];    /* Owned.  Their names. */
		double best_lost_s[MOVES_STEP_JOBS]; /* Of these. */
	} moving;

	struct jobs_totals totals;
	struct log_limit store_limit;
	struct log_limit paths_limit; /* Of messages about stored paths. */
};

/* ---- jobs_doc.c ---------------------------------------------------------------------- */

/* antiphase.job_advice/1, on one line, and the record for users. */
void jobs_write_doc(struct jobs *jobs, struct job *job, const struct advisor_view *view,
		    const struct advisor_ranking *ranking);

/* ---- jobs_paths.c -------------------------------------------------------------------- */

/* Sets whether the paths of a job of the advisor may be chosen. */
void jobs_allow_paths(struct jobs *jobs, struct job *job);
/* Changes paths of running jobs until 'until_ns'. */
void jobs_change_paths(struct jobs *jobs, int64_t until_ns);
/* Notes over how many connections the hosts of a running job send to each other. */
void jobs_count_connections(const struct jobs *jobs, struct job *job,
			    const uint32_t *hosts, uint32_t n_hosts);
/*
 * Hands 'work' to the advisor as advisor_put(): with the job's connections, and, if the
 * advisor does not know the job, on the paths that the store has for it.
 */
int jobs_put_on_paths(struct jobs *jobs, struct job *job, const struct work_job *work,
		      bool is_shiftable);
/* Stores the paths of a job if they have changed. */
void jobs_keep_paths(struct jobs *jobs, struct job *job,
		     const struct advisor_view *view);
/* The job is gone. */
void jobs_forget_paths(struct jobs *jobs, struct job *job);

/* ---- jobs.c -------------------------------------------------------------------------- */

/* Hands it to the advisor, unless the advisor has the same already. */
void jobs_put(struct jobs *jobs, struct job *job, const struct work_job *new,
	      bool is_by_pacer);
/* Sets that there is no advice for the job, and why. */
void jobs_refuse(struct jobs *jobs, struct job *job, enum jobs_refusal why);
/* Whether its pacer has reported lately. */
bool jobs_has_pacer(const struct job *job);
bool jobs_has_silent(const struct jobs *jobs, const uint32_t *hosts, uint32_t n);
/* A ring on 'n_nodes' nodes that are not chosen yet. */
void jobs_make_work(const char *name, uint32_t n_nodes, const struct profile *profile,
		    struct work_job *ret_job);

/* ---- jobs_moves.c -------------------------------------------------------------------- */

void jobs_move_free(struct job_move *move); /* Accepts NULL. */
/* Drops the advised move of a job. */
void jobs_forget_move(struct job *job);
/* Ends the round that is under way. */
void jobs_stop_moving(struct jobs *jobs);

/* ---- jobs_pacer.c -------------------------------------------------------------------- */

/*
 * Makes the job from its pacer's reports. 0; -EAGAIN: hosts have yet to report its
 * traffic; or -errno: the reports do not tell enough.
 */
int jobs_pacer_work(const struct jobs *jobs, const struct live_workload *running,
		    const struct job *job, struct work_job *ret_job);
/* Processes new pacer reports until 'until_ns'; true if there were any. */
bool jobs_take_reports(struct jobs *jobs, int64_t until_ns);

#endif
