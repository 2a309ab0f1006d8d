/*
 * jobs.h - what is known of each job, and what is advised for it.
 *
 * A job is known by its name, which is the id of the cluster's scheduler and what the
 * hosts call it, too.  Its profile is that of its traffic (online.h), or what its user
 * declared, or that of an earlier run of the same user, name and number of nodes:  --comment='antiphase: iter_us=255000 comm_us=102000'.
 *
 * Nothing is advised on what is too thin (few iterations), too old, or told by hosts
 * that have fallen silent: the advice then says so, and nothing else.
 */
#ifndef SCHEDULER_DAEMON_JOBS_H
#define SCHEDULER_DAEMON_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/pacer_profile.h"

struct daemon;
struct err;
struct jsonw;
struct strtab;

/* Why there is no advice, as a closed list. */
enum jobs_refusal {
	JOBS_ADVISED,
	JOBS_NO_FABRIC,
	JOBS_NO_PERIOD, /* Nothing repeats, or nothing was seen yet. */
	JOBS_THIN,      /* Too few iterations. */
	JOBS_STALE,     /* The profile, or all frames, are too old. */
	JOBS_SILENT,    /* Hosts of it are not heard any more. */
	JOBS_NOT_PLACED, /* Its hosts are not of the fabric, or do not reach each other. */
	JOBS_UNSOLVED, /* It is being looked at. */
	JOBS_NO_ADVISOR,
	JOBS_NO_SPACE, /* No place has room. */
	JOBS_N_REFUSALS,
};

extern const char *const jobs_refusal_names[]; /* "advised", "no_fabric", ... */
extern const char *const jobs_refusal_texts[];

/* What a user declared in a comment; 0: not. */
struct declared {
	int64_t iter_us, comm_us;
};

/* Reads a comment, which is hostile; false if it declares nothing that can be. */
bool jobs_declared(const char *comment, struct declared *ret_declared);

/* Where a job's rank 0 is: orders go there. */
struct pacer {
	uint32_t pid; /* 0: its collector cannot see it, and it is not to be reached. */
	char host[TELE_MAX_NAME + 1];
};

struct job {
	char *name; /* Owned, as all texts here. */
	bool is_here, is_waiting;
	bool is_restored;       /* Of before a restart, until it is seen again. */
	int64_t restored_us;    /* When its profile was found, wall clock. */
	int64_t kept_ns;        /* When memory.c was last told; 0: never. */
	unsigned n_different;   /* Estimates in a row that were another profile. */
	uint32_t number;        /* At the advisor; UINT32_MAX: it is not. */
	struct profile profile; /* As it was put there last. */
	uint32_t *hosts;
	uint32_t n_hosts;
	int64_t earlier_us; /* Its profile is that of an earlier run, found then; or 0. */
	int64_t sought_ns; /* When such a one was looked for; 0: never. */
	bool is_shiftable;
	int64_t reader_ns; /* When a pod that heeds its annotations was last seen; or 0. */
	int64_t paced_ns;   /* When its pacer last said something; 0: never. */
	struct pacer pacer; /* Who that is. */
	bool is_observing;  /* It takes no orders. */
	struct pacer_profile paced;
	bool is_by_pacer; /* The profile is what its pacer says; */
	bool has_changed; /* and that has become another one: taken up at once. */
	bool is_told;     /* There is something new of it, */
	int64_t told_ns;  /* since then. */
	/* The answer. */
	enum jobs_refusal refusal;
	enum reason reason;
	enum decide_answer answer;
	char *nodes, *record, *doc;
	int64_t at_us, valid_until_us;
	uint64_t revision;
	uint32_t component;
	bool is_steered; /* As pace.c has it. */
	bool is_ranked;
	bool is_outcome_new; /* Since the answer was made. */
	unsigned counted;    /* 1 + kind and reason of the last advice; 0: none. */
};

/* What an advice is about. */
enum jobs_kind {
	JOBS_PLACE,
	JOBS_SHIFT,
	JOBS_N_KINDS,
};

extern const char *const jobs_kind_names[]; /* "place", "shift". */

#define JOBS_N_SOLVE_BOUNDS 8
extern const double jobs_solve_bounds_s[JOBS_N_SOLVE_BOUNDS];

struct jobs {
	struct advisor *advisor; /* Owned; NULL without a fabric. */
	struct strtab *names;    /* Owned. */
	bool *is_silent;         /* Owned.  By node of the fabric; */
	bool *is_heard;          /* likewise: ever. */
	uint32_t n_silent;       /* Of all hosts. */
	VEC(struct job *) items; /* Owned; by number in 'names'; NULL: a free one. */
	VEC(struct job *) by_number; /* At the advisor; NULL: of none. */
	size_t n_told, next_told; /* Jobs whose pacer said something new: how many, */
	int64_t told_ns;          /* when they were looked at last, */
	int64_t told_cost_ns;     /* and how long that took. */

	struct jobs_taking {             /* Them being looked at, in pieces: */
		struct running *running; /* owned; NULL: they are not. */
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
	int64_t rest_until_ns; /* Then jobs_go_on() has its turn again. */
	int64_t nodes_at_us;   /* The look whose free nodes the advisor has. */

	struct jobs_counts_so_far {
		uint64_t n_solved, n_ranked, n_changed;
		double solve_s, rank_s;
		uint64_t solves[JOBS_N_SOLVE_BOUNDS + 1]; /* By what they took. */
		double solves_s;
		uint64_t n_given[JOBS_N_KINDS]
				[N_REASONS]; /* Advices, as they change. */
	} so_far;
};

/* By name, or NULL; and by number at the advisor.  Both O(1). */
struct job *jobs_find(const struct daemon *d, const char *name);
/* The same by "NAMESPACE/NAME" of Kubernetes, or else by NAME alone. */
struct job *jobs_find_k8s(const struct daemon *d, const char *name);
struct job *jobs_of_number(const struct daemon *d, uint32_t number);

/* By name, made if it is new. */
struct job *jobs_make(struct jobs *jobs, const char *name);
/* What is being made of what pacers told stands on what changes now: it begins again. */
void jobs_stop_taking(struct daemon *d);
/* Its pacer has told enough to know it by, or that it is another one. */
void jobs_note_told(struct daemon *d, struct job *job);

/*
 * Ranks places of a job that waits, asked for by 'name'; it is not remembered.  'allowed'
 * as in advisor.h, or NULL.  0, or -errno with 'err' filled.
 */
int jobs_rank(struct daemon *d, const char *name, uint32_t n_nodes,
	      const struct profile *profile, const bool *allowed,
	      struct advisor_ranking *ret_ranking, struct err *err);

/*
 * A running job of before a restart: its profile is 'at_us' old, wall clock.  It is
 * advised on until its traffic shows it anew, or its profile is too old.
 */
void jobs_restore(struct daemon *d, const char *name, const struct profile *profile,
		  const uint32_t *hosts, uint32_t n_hosts, int64_t at_us);

/* jobs_doc.c: antiphase.job_advice/1, on one line; and the record for users. */
void jobs_write_doc(struct daemon *d, struct job *job, const struct advisor_view *view,
		    const struct advisor_ranking *ranking);
void jobs_put_ranking(const struct daemon *d, const struct advisor_ranking *ranking,
		      uint32_t n_hosts, struct jsonw *w);

#endif
