/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - decisions: which changes to request from the cluster's scheduler now.
 *
 * From a snapshot of the scheduler (scheduler_driver.h), the modes (modes.h), the
 * advice and the earlier changes, it lists the actions to request, each with its
 * reason; actions.h requests them.
 *
 *	observe   no action; earlier changes are undone
 *	advise    gated jobs are let go at once, with a record; running jobs get it, too
 *	enforce   a gated job with an advised place gets it, in one call; a running job
 *	          with an advised move is requeued, and gets its new place when it waits
 *
 * A move needs a job that its user marked movable and that can be requeued, and a
 * partition that allows moves (modes.h).  One job moves at a time, and none while others
 * wait for nodes.  No job is held: without us, a requeued job starts after the
 * scheduler's own delay.
 *
 * A gated job never waits without need: it is let go at once if there is no advice to
 * give, and DECIDE_MARGIN_US before its gate ends if advice is still pending. Each
 * round also checks the jobs pinned before (the watchdog): a pin that is no longer
 * right is taken back, and the job is left alone from then on. Changes made by users
 * meanwhile stay.
 *
 * Without a fresh snapshot nothing is decided. Pure, and deterministic. O(jobs log
 * changes + nodes of places).
 */
#ifndef SCHEDULER_DAEMON_DECIDE_H
#define SCHEDULER_DAEMON_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/scheduler_driver.h"

#define DECIDE_MARGIN_US INT64_C(2000000)
#define DECIDE_BUSY_US   INT64_C(3000000) /* Others hold the place longer: unpin. */
#define DECIDE_PLACE_US \
	INT64_C(3000000) /* Free nodes of an older snapshot do not count. */
#define DECIDE_RECORD_US INT64_C(30000000) /* Between two records of one running job. */
/* A snapshot that ended this soon after a change may not show it yet. */
#define DECIDE_SETTLE_US INT64_C(1500000)
/*
 * A requeued job must not start on a node of its earlier run in the second in which that
 * was stopped: Slurm's credential for the old run would refuse it there, and the job
 * would fail.
 */
#define DECIDE_STOPPED_US INT64_C(3000000)
/* Its nodes are free after this time, or it does not get them: processes may linger. */
#define DECIDE_MOVE_WAIT_US     INT64_C(60000000)
#define DECIDE_MAX_AT_ONCE      32     /* Actions of one round. */
#define DECIDE_MAX_RECORDS      8      /* Records of running jobs among these. */
#define DECIDE_MAX_PIN          100000 /* Nodes of one place. */
#define DECIDE_MAX_SNAPSHOT_AGE INT64_C(30000000) /* An older one counts as none. */

enum decide_answer {
	DECIDE_NO_ANSWER, /* Pending. */
	DECIDE_REFUSED,   /* Refused: the profile is too thin, too old, or unknown. */
	DECIDE_ANYWHERE,  /* No place is better than another. */
	DECIDE_AT,        /* The place is 'nodes'. */
};

/* The advice for a job; decide() borrows the texts until it returns. */
struct decide_advice {
	enum decide_answer answer;
	const char *nodes;      /* Hostlist; DECIDE_AT. */
	const char *record;     /* For users, or NULL. */
	int64_t valid_until_us; /* Wall clock. */
	const char *move_nodes; /* Where a running job should go on, or NULL. */
	double move_payback_s;
};

enum decide_why {
	DECIDE_PLACED,       /* It has an advised place. */
	DECIDE_NOTHING_TOLD, /* There was no advice in time. */
	DECIDE_THIN,         /* Advice was refused: no guess. */
	DECIDE_NO_PLACE,     /* No place is better, or the place is taken. */
	DECIDE_ONE_NODE,     /* It shares no link, whatever its place. */
	DECIDE_USER_PINNED,  /* Its user has chosen. */
	DECIDE_ADVISING,     /* The mode is advise. */
	DECIDE_STOPPED,      /* Kill switch, mode, or our own end: undone. */
	DECIDE_NODE_DOWN,    /* Watchdog: a node of the place is down. */
	DECIDE_BUSY,         /* Watchdog: other jobs have a node of the place. */
	DECIDE_EXPIRED,      /* Watchdog: the advice is too old. */
	DECIDE_WAITED,       /* Watchdog: the job has waited too long. */
	DECIDE_LEFT,         /* The pin is of another run of the daemon or the job. */
	DECIDE_ASKED,        /* An undo was requested over the API. */
	DECIDE_TOLD,         /* The record of a running job. */
	DECIDE_PAYS,         /* The move of a running job pays. */
	DECIDE_N_WHYS,
};

/* "placed", "nothing_told", ...; for people and programs. */
extern const char *const decide_why_names[];
extern const char *const decide_why_texts[];

enum decide_kind {
	DECIDE_PIN,      /* PLACE was requested. */
	DECIDE_RECORDED, /* RECORD alone. */
	DECIDE_OVER,     /* Undone or let go: this job is left alone. */
	DECIDE_MOVE,     /* REQUEUE was requested; it gets 'nodes' when it waits. */
};

/* "pin", "recorded", "over", "move"; NULL-terminated. */
extern const char *const decide_kind_names[];

/* A change to a job that is not undone; in the store under the job's id. */
struct decide_change {
	char *job; /* Owned, as all texts here. */
	enum decide_kind kind;
	char *nodes;            /* DECIDE_PIN, DECIDE_MOVE. */
	char *record, *before;  /* Our record and the one before it; "": none. */
	int64_t at_us;          /* When it was requested, wall clock. */
	int64_t valid_until_us; /* Of the advice. */
	int64_t busy_since_us; /* Since when others have a node of its place; 0: none. */
	uint32_t n_restarts;   /* Requeues of the job when that was requested. */
	unsigned n_failed;     /* Refused actions on it, in a row. */
	bool is_unwanted;      /* Its undo was requested. */
	bool is_users;         /* DECIDE_OVER: a user chose other nodes. */
	bool is_under_way;     /* An action on the job is under way. */
	int64_t done_us;       /* When its last action was done; 0: none. */
};

struct decide_changes {
	VEC(struct decide_change) items; /* By job. */
};

void decide_changes_fini(struct decide_changes *changes);
/* By job, or NULL; valid until the next is added or removed. */
struct decide_change *decide_find(struct decide_changes *changes, const char *job);
/* The same; it is made if there is none. */
struct decide_change *decide_add(struct decide_changes *changes, const char *job);
void decide_remove(struct decide_changes *changes, const char *job);

struct decide_view {
	int64_t now_us;
	int64_t started_us; /* Of this run; pins of earlier runs are taken back. */
	bool is_first;      /* This run's first round with a snapshot. */
	bool is_ending;     /* All changes are to be undone. */
	const struct modes *modes;
	const struct sched_snapshot
		*snapshot; /* NULL: the scheduler does not answer. */
	/* Fills the advice for a waiting or running job. */
	void (*advice)(void *ctx, const struct sched_job *job,
		       struct decide_advice *ret_advice);
	void *ctx;
	int64_t pin_wait_us;
};

struct decide_action {
	enum sched_action_kind kind;
	enum decide_why why;
	char *job;              /* Owned. */
	char *nodes, *record;   /* Owned; NULL: none. */
	int64_t valid_until_us; /* PLACE, REQUEUE. */
	uint32_t n_restarts;    /* Of the job now. */
	bool is_requeued;       /* For sched_act(). */
	double payback_s;       /* REQUEUE. */
};

struct decide_actions {
	VEC(struct decide_action) items;
	VEC(char *) forgotten; /* Owned.  Changes that are over: their jobs are gone. */
	VEC(char *) adopted;   /* Owned. Our pins that were not in 'changes'. */
	size_t n_left;         /* Left to the next round. */
};

/*
 * Lists the actions to request, in this order: undoing, and places of moved jobs, then
 * waiting jobs by priority, then moves and records. Updates 'changes' by the snapshot
 * (busy_since_us, jobs that are gone); decide_note() notes the requests. Release with
 * decide_actions_fini().
 *
 * The watchdog also covers waiting jobs with a pin of ours that is not in 'changes':
 * the daemon may have been killed at a bad moment, or its store lost. Such a pin is
 * taken back at once, as is one after a requeue: it was meant for nodes that were free
 * at that time.
 */
void decide(const struct decide_view *view, struct decide_changes *changes,
	    struct decide_actions *ret_actions);
void decide_actions_fini(struct decide_actions *actions);

/* Notes that an action is requested, and later its result. */
void decide_note(struct decide_changes *changes, const struct decide_action *action,
		 const char *record_before, int64_t now_us);
void decide_done(struct decide_changes *changes, const struct decide_action *action,
		 int rc, int64_t now_us);

#endif
