/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_priv.h - the state of the driver for Slurm, shared by its files:
 *
 *	slurm_run.c        Slurm's commands, run
 *	slurm_act_check.c  which changes are sent at all
 *	slurm_act.c        changes
 *	slurm.c            snapshots; beginning and end
 *
 * Each uses those above it.
 */
#ifndef SCHEDULER_SLURM_SLURM_PRIV_H
#define SCHEDULER_SLURM_SLURM_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/slurm/slurm.h"
#include "scheduler/slurm/slurm_text.h"

#define SLURM_MAX_BYTES   ((size_t)128 << 20) /* Of one command's output. */
#define SLURM_MAX_ACTIONS 256                 /* That are queued. */

struct child;
struct child_result;
struct loop_item;

/* The queries of one poll. */
enum slurm_query_kind {
	QUERY_JOBS,
	QUERY_EXCLUDED,
	QUERY_NODES,
	N_QUERIES,
};

struct slurm_query {
	struct slurm *slurm;
	struct child *child; /* NULL: ended. */
	struct strbuf text;
};

/* A poll under way: its commands run at once, and are read when all have ended. */
struct slurm_poll {
	struct slurm_query queries[N_QUERIES];
	unsigned n_open; /* 0: no poll is under way. */
	bool is_told;    /* A message said that it hangs. */
	int64_t started_ns, at_us;
	char mark[SLURM_MARK_SIZE];
	struct err why; /* Text is empty while all is well. */

	/* What is parsed now, a step per turn of the loop, after all commands ended. */
	enum slurm_reading {
		READ_NOTHING,
		READ_JOBS,
		READ_EXCLUDED,
		READ_NODES,
		READ_OVER,
	} reading;
	struct slurm_reader *reader;    /* Owned. */
	struct sched_snapshot snapshot; /* Owned. */
	struct slurm_nodes nodes;       /* Owned. */
};

/* Nodes that get the same features. */
struct slurm_change {
	char *nodes, *available, *active; /* Owned. */
};

/* A change under way: commands one after another. */
struct slurm_op {
	bool is_cleaning; /* No caller: removes features that are no longer used. */
	uint64_t ticket;
	enum sched_action_kind kind;
	char *job, *nodes, *record;     /* Owned; record NULL: as it is. */
	bool starts_now;                /* The gate, or Slurm's delay, is to end. */
	bool is_requeued;               /* It is Slurm's delay, */
	int64_t eligible_us;            /* until then. */
	bool was_placed, was_preferred; /* By us: to undo or to replace. */
	bool is_job_asked; /* With 'starts_now', or REQUEUE: the job was queried again. */
	bool are_nodes_asked;       /* PREFER: the nodes' present features are known. */
	char mark[SLURM_MARK_SIZE]; /* Of that query. */
	int64_t asked_us;           /* Likewise; wall clock. */
	VEC(struct slurm_change) changes;
	size_t n_changed;
};

struct slurm {
	struct sched_driver base;
	struct loop *loop;
	struct sched_observer observer;
	char *bindir;          /* Owned; NULL: by $PATH. */
	VEC(const char *) env; /* Owned strings; NULL-terminated. */
	int64_t poll_ns, timeout_ns;
	unsigned version;                    /* 2205; 0: not known. */
	struct loop_item *on_poll, *on_soon; /* 'on_soon' NULL: no early poll. */
	struct loop_item *on_read;           /* NULL: nothing to parse. */
	struct slurm_poll poll;
	bool is_wanted;                 /* Another poll, as soon as this one is done. */
	struct sched_snapshot snapshot; /* The last one; at_us 0: none yet. */
	struct slurm_nodes nodes;       /* Features; the nodes are in 'snapshot'. */

	VEC(struct slurm_op *) ops; /* Owned. In the order of requests. */
	struct child *op_child;     /* Of the first of them; NULL: none runs. */
	int64_t op_ended_ns;        /* When the last one ended. */
	uint64_t last_ticket;

	struct child *topology_child;
	void (*topology_done)(void *ctx, const char *text, const char *why);
	void *topology_ctx;
};

/* ---- slurm_run.c --------------------------------------------------------------------- */

/*
 * Copies our environment without variables that change the form of Slurm's output, and
 * with those that make times independent of the zone.
 */
void slurm_make_env(struct slurm *slurm);
/* A letter and 16 hexadecimal digits that cannot be guessed. */
void slurm_draw_mark(char mark[SLURM_MARK_SIZE]);

/*
 * Starts 'squeue' or another of Slurm's commands, with 'words' (NULL-terminated) as
 * arguments and 'variable' (may be NULL) in its environment. Otherwise as
 * child_start().
 */
int slurm_run(struct slurm *slurm, const char *program, const char *const *words,
	      const char *variable,
	      void (*done)(void *ctx, const struct child_result *result), void *ctx,
	      struct child **ret_child, struct err *err);

/* ---- slurm_act_check.c --------------------------------------------------------------- */

/* Whether a change is possible by the last poll: 0 and the job, or as sched_act(). */
int slurm_act_check(struct slurm *slurm, const struct sched_action *action,
		    const struct sched_job **ret_job, struct err *err);
/* Whether the job is queried once more before its change. */
bool slurm_act_asks(const struct slurm_op *op);
/* Queries the job alone, by 'squeue'; as slurm_run(). */
int slurm_act_ask_job(struct slurm *slurm, struct slurm_op *op,
		      void (*done)(void *ctx, const struct child_result *result),
		      void *ctx, struct err *err);
/*
 * Reads the answer: 0 if the job is as it was and the change is possible; -EALREADY
 * (LET_GO) or -ESTALE if not, -ENOENT if the job is gone, or -EINVAL.
 */
int slurm_act_recheck(struct slurm_op *op, const char *text, size_t n, struct err *err);
/* ---- slurm_act.c ---------------------------------------------------------------------- */

/* As sched_act(). */
int slurm_act(struct sched_driver *driver, const struct sched_action *action,
	      uint64_t *ret_ticket, struct err *err);
/* Goes on with queued changes. Call it from the loop: it may call the observer. */
void slurm_act_pump(struct slurm *slurm);
/* After a poll: removes features that are no longer used. */
void slurm_act_clean(struct slurm *slurm);
void slurm_act_close(struct slurm *slurm);

#endif
