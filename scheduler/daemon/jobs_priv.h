/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_priv.h - the state behind jobs.h, shared by its files:
 *
 *	jobs_doc.c   an advice as a document, and as a record for users
 *	jobs.c       the list of jobs; handing them to the advisor
 *	jobs_pacer.c jobs that run, by what their pacers report
 *	jobs_run.c   jobs that run, by their traffic
 *	jobs_wait.c  jobs that wait
 *	jobs_solve.c advice for running jobs, solved and taken up in steps
 *
 * Each uses those above it.
 */
#ifndef SCHEDULER_DAEMON_JOBS_PRIV_H
#define SCHEDULER_DAEMON_JOBS_PRIV_H

#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/jobs.h"

#define JOBS_SECOND_NS INT64_C(1000000000)

struct job_profiler;
struct live;
struct strtab;

struct jobs {
	struct jobs_opts opts;
	struct jobs_pacing pacing;
	struct jobs_outcomes outcomes;
	const struct live *live;             /* Of the telemetry, */
	const struct job_profiler *profiler; /* as this. */
	struct advisor *advisor;             /* Owned; NULL without a fabric. */
	struct strtab *names;                /* Owned. */
	bool *is_silent;                     /* Owned.  By node of the fabric; */
	bool *is_heard;                      /* likewise: ever. */
	uint32_t n_silent;                   /* Of all hosts. */
	VEC(struct job *) items; /* Owned; by number in 'names'; NULL: a free one. */
	VEC(struct job *) by_number; /* At the advisor; NULL: of none. */
	bool is_restored;            /* Jobs of the last run have been taken up. */

	size_t n_reported,
		next_reported;  /* Jobs whose pacer reported something new: how many, */
	int64_t taken_ns;       /* when they were taken up last, */
	int64_t taking_cost_ns; /* and how long that took. */

	struct jobs_taking {                   /* Them being taken up, in steps: */
		struct live_workload *running; /* owned; NULL: they are not. */
		bool is_ready;
		size_t n_looked, n_left;
		int64_t cost_ns;
	} taking;

	size_t n_unsolved;     /* Touched components that wait, or so. */
	size_t next_view;      /* Whose advice is taken up next; 0: all have been, */
	int64_t viewed_ns;     /* then. */
	size_t n_touched;      /* That were new, since then, */
	double took_s;         /* and what solving took. */
	bool has_unranked;     /* Waiting jobs, for which there was no time. */
	int64_t rest_until_ns; /* Then jobs_step() works again. */
	int64_t nodes_at_us;   /* The snapshot whose free nodes the advisor has. */

	struct jobs_totals totals;
	struct log_limit store_limit;
};

/* ---- jobs_doc.c ---------------------------------------------------------------------- */

/* antiphase.job_advice/1, on one line, and the record for users. */
void jobs_write_doc(struct jobs *jobs, struct job *job, const struct advisor_view *view,
		    const struct advisor_ranking *ranking);

/* ---- jobs.c -------------------------------------------------------------------------- */

/* Hands it to the advisor, unless it is there already and the same. */
void jobs_put(struct jobs *jobs, struct job *job, const struct work_job *new,
	      bool is_by_pacer);
/* Nothing is advised for it. */
void jobs_refuse(struct jobs *jobs, struct job *job, enum jobs_refusal why);
/* Whether its pacer has reported something lately. */
bool jobs_has_pacer(const struct job *job);
bool jobs_has_silent(const struct jobs *jobs, const uint32_t *hosts, uint32_t n);
/* A ring on so many nodes that are not chosen yet. */
void jobs_make_work(const char *name, uint32_t n_nodes, const struct profile *profile,
		    struct work_job *ret_job);

/* ---- jobs_pacer.c -------------------------------------------------------------------- */

/*
 * Makes the job as its pacer reports it.  0; -EAGAIN: hosts have yet to report what it
 * sent; or -errno: it is not known by that.
 */
int jobs_pacer_work(const struct jobs *jobs, const struct live_workload *running,
		    const struct job *job, struct work_job *ret_job);
/* Takes up what pacers have reported, until then; true if there was any. */
bool jobs_take_reports(struct jobs *jobs, int64_t until_ns);

#endif
