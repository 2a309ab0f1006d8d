/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - the jobs: the state of each, and its advice.
 *
 * A job's name is its id at the cluster's scheduler, which the hosts use, too. Its
 * profile comes from its pacer (pacer_profile.h) or its traffic (job_profiler.h); a
 * waiting job has the profile that its user declared,
 *
 *	--comment='antiphase: iter_us=255000 comm_us=102000',
 *
 * or that of an earlier run of the same user, name and number of nodes.
 *
 * Advice is refused, with a reason, if the profile is too thin (few iterations) or too
 * old, or if hosts of the job have fallen silent.
 *
 * Modules that act on advice (orders for pacers, outcomes, announcements) register
 * their functions here, so that this module needs none of them.
 */
#ifndef SCHEDULER_DAEMON_JOBS_H
#define SCHEDULER_DAEMON_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/pacer_profile.h"

struct err;
struct fabric_source;
struct flow_split;
struct job;
struct jobs;
struct jsonw;
struct loop;
struct profiled_job;
struct live_workload;
struct move_log;
struct scheduler_config;
struct store;
struct telemetry;

/* Why there is no advice: a closed list. */
enum jobs_refusal {
	JOBS_ADVISED,
	JOBS_NO_FABRIC,
	JOBS_NO_PERIOD,  /* No repetition was found, or no traffic yet. */
	JOBS_THIN,       /* Too few iterations. */
	JOBS_STALE,      /* The profile, or all frames, are too old. */
	JOBS_SILENT,     /* Some of its hosts have fallen silent. */
	JOBS_NOT_PLACED, /* Its hosts are not in the fabric or not connected. */
	JOBS_UNSOLVED,   /* Its advice is being computed. */
	JOBS_NO_ADVISOR,
	JOBS_NO_SPACE, /* No place has room. */
	JOBS_N_REFUSALS,
};

extern const char *const jobs_refusal_names[]; /* "advised", "no_fabric", ... */
extern const char *const jobs_refusal_texts[];

/* A user's declaration in a comment; 0: not declared. */
struct declared {
	int64_t iter_us, comm_us;
};

/* Reads a comment, which is hostile; false if it declares nothing possible. */
bool jobs_declared(const char *comment, struct declared *ret_declared);
/* The time that the job loses by a move, of "antiphase: movable move_s=20"; or NAN. */
double jobs_declared_move_s(const char *comment);

/* A job's rank 0, which receives its orders. */
struct pacer {
	uint32_t pid; /* 0: not visible to its collector, so not reachable. */
	char host[TELE_MAX_NAME + 1];
	bool is_on_node;   /* The cluster's scheduler gave the job this host, */
	int64_t judged_us; /* by the snapshot of this time. */
};

/* An advised move of a running job, and its bill (core/advise/moves.h). */
struct job_move {
	uint32_t *hosts;    /* Owned.  Its new ones, n_hosts of the job. */
	char *nodes;        /* Owned.  The same as a hostlist. */
	uint32_t n_workers; /* That change hosts. */
	char *with;         /* Owned.  The job that makes room; NULL: none. */
	double lost_s;      /* By this job. */
	double gain, cost;  /* Weight times seconds. */
	double payback_s;
};

struct job {
	char *name; /* Owned, as all texts here. */
	bool is_here, is_waiting;
	bool is_restored;    /* From before a restart, and not seen since. */
	int64_t restored_us; /* When its profile was found, wall clock. */
	int64_t kept_ns; /* When its profile was last stored (persist.h); 0: never. */
	unsigned n_different;   /* Estimates in a row that differ from the profile. */
	uint32_t number;        /* At the advisor; UINT32_MAX: not there. */
	struct profile profile; /* As the advisor has it. */
	uint32_t *hosts;
	uint32_t n_hosts;
	uint32_t n_connections;  /* To each host, as these report them; 0: unknown. */
	uint64_t paths_revision; /* Of the paths in the store (persist.h); 0: none. */
	bool has_stored_paths;   /* The store has paths of it. */
	int64_t earlier_us;      /* When the earlier run's profile was found; or 0. */
	int64_t sought_ns;       /* The last search for an earlier run; 0: never. */
	bool is_movable;         /* Other hosts may be advised while it runs. */
	double move_s;           /* What a move costs it, as declared; or NAN. */
	int64_t began_us;        /* Its start, or when it was first seen; wall clock. */
	struct job_move *move;   /* Owned.  NULL: none is advised. */
	bool is_shiftable;
	int64_t reader_ns;  /* Last list with a pod that heeds its annotations; or 0. */
	int64_t report_ns;  /* The last report of its pacer; 0: never. */
	struct pacer pacer; /* That pacer. */
	bool is_observing;  /* The pacer takes no orders. */
	struct pacer_profile pacer_profile;
	bool is_by_pacer;    /* The profile is from its pacer's reports. */
	bool has_changed;    /* That profile has changed: used at once. */
	bool has_report;     /* Its pacer has reported something new, */
	int64_t reported_ns; /* since then. */
	/* The answer. */
	enum jobs_refusal refusal;
	enum reason reason;
	enum decide_answer answer;
	char *nodes, *record, *doc;
	int64_t at_us, valid_until_us;
	uint64_t revision;
	uint32_t component;
	bool is_steered; /* As set by pace.c. */
	bool is_ranked;
	bool is_outcome_new; /* Since the answer was made, as the next. */
	bool is_move_new;
	unsigned counted; /* 1 + kind and reason of the last advice; 0: none. */
};

/* Kinds of advice. */
enum jobs_kind {
	JOBS_PLACE,
	JOBS_SHIFT,
	JOBS_N_KINDS,
};

extern const char *const jobs_kind_names[]; /* "place", "shift". */

#define JOBS_N_SOLVE_BOUNDS 8
extern const double jobs_solve_bounds_s[JOBS_N_SOLVE_BOUNDS];

struct jobs_opts {
	struct loop *loop; /* Borrowed, as all here. */
	const struct scheduler_config *config;
	const struct fabric_source *fabric;
	struct telemetry *telemetry;
	struct store *store;                   /* NULL: none. */
	struct move_log *moves;                /* NULL: no job is moved. */
	const struct sched_snapshot *snapshot; /* at_us 0 while there is none. */
	const struct modes *modes;             /* NULL: observe. */
	unsigned levers;                       /* Of enum advise_lever; 0: all. */
	/*
	 * Whether the host's flows can be put on chosen paths: it reports them.  NULL: no
	 * host's.
	 */
	bool (*is_movable)(void *ctx, const char *host);
	/* As flow_table_add_split().  NULL: all jobs have one connection to a host. */
	void (*add_split)(void *ctx, const char *host, const char *job,
			  struct flow_split *split);

	/* Publishes an advice. */
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

/* Callbacks for advice on running jobs: pace.h. */
struct jobs_pacing {
	/* Whether orders are sent to the job's pacer. */
	bool (*is_steered)(void *ctx, const struct job *job);
	/* A job has new advice; then the same for all jobs solved with it. */
	void (*on_view)(void *ctx, struct job *job, const struct advisor_view *view);
	void (*on_component)(void *ctx, const uint32_t *numbers, size_t n);
	/* The advisor no longer has the job. */
	void (*on_remove)(void *ctx, uint32_t number);
	void *ctx;
};

/* Callbacks for results of advice: outcomes.h. */
struct jobs_outcomes {
	/* A waiting job has an advised place, the best one of its ranking. */
	void (*on_place)(void *ctx, const struct job *job, double slowdown);
	/* Writes the member "outcome" of an advice. */
	void (*put)(void *ctx, const char *job, struct jsonw *w);
	void *ctx;
};

struct jobs *jobs_new(const struct jobs_opts *opts);
/* Set both before there is a fabric. */
void jobs_set_pacing(struct jobs *jobs, const struct jobs_pacing *pacing);
void jobs_set_outcomes(struct jobs *jobs, const struct jobs_outcomes *outcomes);
void jobs_free(struct jobs *jobs); /* Accepts NULL. */

/* ---- Keeping up: once a second, and after a new snapshot, in this order --------------- */

/* Notes which hosts of the fabric are silent. */
void jobs_mark_silent(struct jobs *jobs);
/* Notes which jobs still exist. */
void jobs_mark_running(struct jobs *jobs);
/*
 * Leaves the flows of jobs whose partition is in observe to hashing; paths of the others
 * may be chosen, if that is a lever.
 */
void jobs_follow_modes(struct jobs *jobs);
/* Refuses advice where hosts have fallen silent or profiles have grown too old. */
void jobs_check_ages(struct jobs *jobs);
/* Takes free nodes and waiting jobs from the snapshot. */
void jobs_take_nodes(struct jobs *jobs);
void jobs_take_waiting(struct jobs *jobs);
/* Computes advice while there is time; jobs_step() does the rest. */
void jobs_solve(struct jobs *jobs);
/* Drops the jobs that are gone. */
void jobs_drop_gone(struct jobs *jobs);
/* Notes which running jobs may move, as users and the snapshot say. */
void jobs_mark_movable(struct jobs *jobs);

/* Continues unfinished work; call it as often as the loop can. */
void jobs_step(struct jobs *jobs);
/*
 * Seeks a move of a running job that pays, one job a step, in rounds with a rest between
 * them; false: nothing is left to do.  After a round, the best move is advised.
 */
bool jobs_seek_move(struct jobs *jobs);
/* A job's move is requested: its advice is over. */
void jobs_drop_move(struct jobs *jobs, const char *name);
/* Takes the current state of a running job; 'running' NULL: there is no fabric. */
void jobs_take_running(struct jobs *jobs, const struct live_workload *running,
		       const struct profiled_job *seen);
/* A pacer has reported enough to profile the job, or a change of it. */
void jobs_note_report(struct jobs *jobs, struct job *job);
/* Releases telemetry_links() and live's numbers; begins again later. */
void jobs_stop_taking(struct jobs *jobs);
/* The fabric was replaced. */
void jobs_set_fabric(struct jobs *jobs);

/* ---- Queries ------------------------------------------------------------------------- */

/* By name; and by number at the advisor. NULL: none. Both O(1). */
struct job *jobs_find(const struct jobs *jobs, const char *name);
/* By "NAMESPACE/NAME" of Kubernetes, or else by NAME alone. */
struct job *jobs_find_k8s(const struct jobs *jobs, const char *name);
struct job *jobs_of_number(const struct jobs *jobs, uint32_t number);
/* By name, made if it is new. */
struct job *jobs_make(struct jobs *jobs, const char *name);
/* All jobs: jobs_at() of 0 to below jobs_n_places(); NULL: a free place. */
size_t jobs_n_places(const struct jobs *jobs);
struct job *jobs_at(const struct jobs *jobs, size_t place);
/* NULL without a fabric. */
struct advisor *jobs_advisor(const struct jobs *jobs);
/* The advice for a running job; false: none, or not solved yet. */
bool jobs_view(const struct jobs *jobs, const struct job *job,
	       struct advisor_view *ret_view);
/* The advice for decide.h. */
void jobs_advice(const struct jobs *jobs, const struct sched_job *job,
		 struct decide_advice *ret_advice);

/* Of chosen paths; changes are those since the start. */
struct advisor_path_counts jobs_path_counts(const struct jobs *jobs);

/* Current numbers. */
struct jobs_counts {
	uint32_t n_jobs, n_advised, n_refused, n_waiting;
};
struct jobs_counts jobs_counts(const struct jobs *jobs);

/* Totals since the start. */
struct jobs_totals {
	uint64_t n_ranked;
	double solve_s, rank_s;
	uint64_t solves[JOBS_N_SOLVE_BOUNDS + 1];  /* By duration. */
	double solves_s;                           /* Sum of durations. */
	uint64_t n_given[JOBS_N_KINDS][N_REASONS]; /* Advices, as they change. */
	uint64_t n_moves_advised;                  /* Likewise, of jobs. */
};
const struct jobs_totals *jobs_totals(const struct jobs *jobs);

/*
 * Ranks places for a waiting job 'name', which is not kept. 'allowed' as in advisor.h,
 * or NULL. 0, or -errno with 'err' filled.
 */
int jobs_rank(struct jobs *jobs, const char *name, uint32_t n_nodes,
	      const struct profile *profile, const bool *allowed,
	      struct advisor_ranking *ret_ranking, struct err *err);
/* Counts a ranking that was made with jobs_advisor(). */
void jobs_count_ranking(struct jobs *jobs, int64_t took_ns);
void jobs_put_ranking(const struct jobs *jobs, const struct advisor_ranking *ranking,
		      uint32_t n_hosts, struct jsonw *w);

#endif
