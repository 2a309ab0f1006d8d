/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - decisions: which changes to ask of the cluster's scheduler now.
 *
 * Given a snapshot of the scheduler (scheduler_driver.h), what may be done (modes.h), what
 * is advised, and the changes made before, it lists the actions to ask for (actions.h asks
 * for them), each with its reason.
 *
 *	observe   nothing; and what we did before is undone
 *	advise    a gated job is let go at once, with our record; running jobs get it, too
 *	enforce   a gated job with an advised place gets it, in one call
 *
 * A gated job is never kept for nothing: if there is nothing to say, it is let go at
 * once; if there is no answer yet, DECIDE_MARGIN_US before its gate ends.  Each round
 * also checks the jobs pinned before (the watchdog): a pin that is not right any more is
 * taken back, and that job is left alone from then on.  What a user has changed in the
 * meantime is left as it is.
 *
 * Nothing is decided without a fresh snapshot.  Pure, and deterministic.
 * O(jobs log changes + nodes of places).
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
#define DECIDE_BUSY_US   INT64_C(3000000) /* A place is taken by others so long. */
#define DECIDE_PLACE_US \
	INT64_C(3000000) /* Free nodes of an older snapshot do not count. */
#define DECIDE_RECORD_US INT64_C(30000000) /* Between two records of a running job. */
/* A snapshot that ended so soon after a change may not show it yet. */
#define DECIDE_SETTLE_US        INT64_C(1500000)
#define DECIDE_MAX_AT_ONCE      32     /* Actions of one round. */
#define DECIDE_MAX_RECORDS      8      /* Of these records of running jobs. */
#define DECIDE_MAX_PIN          100000 /* Nodes of one place. */
#define DECIDE_MAX_SNAPSHOT_AGE INT64_C(30000000) /* An older one counts as none. */

enum decide_answer {
	DECIDE_NO_ANSWER, /* Not yet. */
	DECIDE_REFUSED,   /* There will be none: too thin, too old, not known. */
	DECIDE_ANYWHERE,  /* No place is better than another. */
	DECIDE_AT,        /* 'nodes' it is. */
};

/* What is advised for a job; texts are borrowed until decide() returns. */
struct decide_advice {
	enum decide_answer answer;
	const char *nodes;      /* Hostlist; DECIDE_AT. */
	const char *record;     /* For users to see, or NULL. */
	int64_t valid_until_us; /* Wall clock. */
};

enum decide_why {
	DECIDE_PLACED,       /* It has an advised place. */
	DECIDE_NOTHING_TOLD, /* No advice in time. */
	DECIDE_THIN,         /* Advice was refused: we do not guess. */
	DECIDE_NO_PLACE,     /* No place is better, or the place is taken. */
	DECIDE_ONE_NODE,     /* It shares no link, whatever its place. */
	DECIDE_USER_PINNED,  /* Its user has chosen. */
	DECIDE_ADVISING,     /* The mode is advise. */
	DECIDE_STOPPED,      /* Kill switch, mode, or our own end: undone. */
	DECIDE_NODE_DOWN,    /* The watchdog: a node of its place is gone; */
	DECIDE_BUSY,         /* a node of its place is taken; */
	DECIDE_EXPIRED,      /* the advice is too old; */
	DECIDE_WAITED,       /* it has waited too long; */
	DECIDE_LEFT,         /* it is of another run: of the daemon, or of the job; */
	DECIDE_ASKED,        /* it was requested over the API. */
	DECIDE_TOLD,         /* The record of a running job. */
	DECIDE_N_WHYS,
};

/* "placed", "nothing_told", ...; for people and programs. */
extern const char *const decide_why_names[];
extern const char *const decide_why_texts[];

enum decide_kind {
	DECIDE_PIN,      /* PLACE was asked for. */
	DECIDE_RECORDED, /* RECORD alone. */
	DECIDE_OVER,     /* Undone or let go: this job is left alone. */
};

/* "pin", "recorded", "over"; NULL-terminated. */
extern const char *const decide_kind_names[];

/* What we did to a job, and not undone; kept in the store under its id. */
struct decide_change {
	char *job; /* Owned, as all texts here. */
	enum decide_kind kind;
	char *nodes;            /* DECIDE_PIN. */
	char *record, *before;  /* Ours, and what was there before; "". */
	int64_t at_us;          /* When it was asked for, wall clock. */
	int64_t valid_until_us; /* Of the advice. */
	int64_t busy_since_us;  /* A node of its place has been taken since; 0: none. */
	unsigned n_failed;      /* Actions on it that were refused, in a row. */
	bool is_unwanted;       /* It was requested to undo it. */
	bool is_users;          /* DECIDE_OVER: a user chose other nodes. */
	bool is_under_way;      /* An action on the job is not done yet. */
	int64_t done_us;        /* When the last one was; 0: none. */
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
	int64_t started_us; /* This run; pins of another one are taken back. */
	bool is_first;      /* Of this run's rounds with a snapshot. */
	bool is_ending;     /* Everything is to be undone. */
	const struct modes *modes;
	const struct sched_snapshot
		*snapshot; /* NULL: the scheduler does not answer. */
	/* Fills the advice for a job: waiting or running. */
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
	int64_t valid_until_us; /* PLACE. */
};

struct decide_actions {
	VEC(struct decide_action) items;
	VEC(char *) forgotten; /* Owned.  Changes that are over: their jobs are gone. */
	VEC(char *) adopted;   /* Owned.  Pins of ours that nothing was known of. */
	size_t n_left;         /* That did not find room in this round. */
};

/*
 * A waiting job that bears a pin of ours is watched whether it is in 'changes' or
 * not: what had pinned it may have been killed at a bad moment, or its store is lost.
 * Then, and after a requeue, the pin is taken back at once: it was meant for nodes that
 * were free at that time.
 *
 * Lists what to ask for, in this order: undoing, then waiting jobs by priority, then
 * records.  Brings 'changes' up to date where the world has moved on (busy_since_us, jobs
 * that are gone); what is asked for is not noted there: see decide_note().  Release with
 * decide_actions_fini().
 */
void decide(const struct decide_view *view, struct decide_changes *changes,
	    struct decide_actions *ret_actions);
void decide_actions_fini(struct decide_actions *actions);

/* Notes that an action is asked for, and what became of it. */
void decide_note(struct decide_changes *changes, const struct decide_action *action,
		 const char *record_before, int64_t now_us);
void decide_done(struct decide_changes *changes, const struct decide_action *action,
		 int rc, int64_t now_us);

#endif
