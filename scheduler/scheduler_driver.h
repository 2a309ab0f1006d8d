/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_driver.h - the driver of the cluster's scheduler: which jobs wait and run where,
 * which nodes are free, and the few changes that antiphase may ask for.
 *
 * Each kind of scheduler has a driver (slurm.h) behind this interface.  A driver never
 * blocks: what it starts is finished from the loop.  It never changes anything but by
 * sched_act(), and each change has one that undoes it.  Without an answer from the
 * scheduler there is no snapshot.
 */
#ifndef SCHEDULER_SCHEDULER_DRIVER_H
#define SCHEDULER_SCHEDULER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sched_driver;
struct loop;

#define SCHED_MAX_JOBS  100000
#define SCHED_MAX_NODES 100000

enum sched_job_state {
	SCHED_WAITING,
	SCHED_STARTING, /* Has its nodes, but does not run yet. */
	SCHED_RUNNING,
	SCHED_ENDING, /* Completing: its nodes are not free yet. */
};

struct sched_job {
	char *id; /* Owned, as all here.  "4711", "4711_2". */
	/*
	 * As its hosts know it, in control groups and $SLURM_JOB_ID: "4713" of "4711_2".
	 * One that waits as part of an array has none of its own yet.
	 */
	char *local_id;
	char *name, *user, *partition;
	enum sched_job_state state;
	uint32_t n_nodes;
	char *nodes;     /* Hostlist of where it runs, or "". */
	char *required;  /* Hostlist that it is pinned to, or "". */
	char *excluded;  /* Likewise. */
	char *preferred; /* Features that its nodes had better have, or "". */
	char *reason;    /* Why it waits, in the scheduler's word, or "". */
	char *comment;   /* What the user declared; hostile. */
	char *record;    /* What we wrote (AdminComment), if the driver knows it. */
	int64_t priority;
	int64_t eligible_us; /* Wall clock: not before; 0: now. */
	int64_t start_us;    /* Of a running one; else 0. */
	uint32_t n_restarts; /* Requeues. */
	bool is_gated;       /* Held back for our answer until eligible_us. */
	bool is_pinned;      /* By us, PLACE or PREFER: UNPIN takes it back. */
};

enum sched_node_state {
	SCHED_NODE_FREE,
	SCHED_NODE_MIXED, /* Some of it is taken. */
	SCHED_NODE_TAKEN,
	SCHED_NODE_DOWN, /* Down, drained, not responding: no job can start there. */
};

struct sched_node {
	char *name;
	enum sched_node_state state;
	char *partitions; /* Names, divided by commas. */
	char *features;   /* Likewise. */
	uint32_t n_slots; /* In all (CPUs or GPUs as configured); 0: unknown. */
};

/* The answers to one set of questions, sorted by id and name. */
struct sched_snapshot {
	int64_t at_us; /* Wall clock. */
	struct sched_job *jobs;
	uint32_t *by_local_id; /* Indexes of jobs[], for sched_find_local(). */
	size_t n_jobs;
	struct sched_node *nodes;
	size_t n_nodes;
};

void sched_job_fini(struct sched_job *job);
void sched_snapshot_fini(struct sched_snapshot *snapshot); /* Accepts a zeroed one. */
/* By id or name, or NULL.  O(log n). */
const struct sched_job *sched_find_job(const struct sched_snapshot *snapshot,
				       const char *id);
/*
 * By the id that its hosts know it under, of which "4711" may be that of an array's job
 * that waits, too: one that has nodes comes first.
 */
const struct sched_job *sched_find_local(const struct sched_snapshot *snapshot,
					 const char *local_id);
const struct sched_node *sched_find_node(const struct sched_snapshot *snapshot,
					 const char *name);

enum sched_action_kind {
	SCHED_PLACE,  /* Pin to 'nodes', let it start now, write 'record'. */
	SCHED_PREFER, /* The same softly: others may be taken. */
	SCHED_LET_GO, /* Start now wherever; write 'record'. */
	SCHED_UNPIN,  /* Undo of PLACE and PREFER, of a job that still waits. */
	SCHED_RECORD, /* Write 'record' alone; running jobs, too. */
};

extern const char *const sched_action_names[]; /* "place", ..., "let_go", "unpin". */

struct sched_action {
	enum sched_action_kind kind;
	const char *job;    /* Borrowed until sched_act() returns, as all here. */
	const char *nodes;  /* Hostlist; PLACE and PREFER. */
	const char *record; /* NULL: as it is. */
};

/* Called from the loop. */
struct sched_observer {
	void *ctx;
	/* A new snapshot; borrowed.  NULL: the scheduler did not answer, 'why' says so. */
	void (*snapshot)(void *ctx, const struct sched_snapshot *snapshot,
			 const char *why);
	/* An action is done; 'rc' 0 or -errno, 'why' the scheduler's words. */
	void (*done)(void *ctx, uint64_t ticket, int rc, const char *why);
};

/* What a driver does; its own struct begins with a struct sched_driver. */
struct sched_driver_ops {
	const char *kind;
	void (*poll)(struct sched_driver *driver);
	int (*act)(struct sched_driver *driver, const struct sched_action *action,
		   uint64_t *ret_ticket, struct err *err);
	void (*close)(struct sched_driver *driver);
};

struct sched_driver {
	const struct sched_driver_ops *ops;
};

/* "slurm"; of NULL: NULL. */
const char *sched_kind(const struct sched_driver *driver);
void
sched_close(struct sched_driver *driver); /* Accepts NULL.  What runs is given up. */

/* Asks for a snapshot now; else the driver does so by itself, every 'poll_ms'. */
void sched_poll(struct sched_driver *driver);

/*
 * Asks for a change, of a job of the last snapshot.  Changes are made one after
 * another, in the order they were asked for.  Returns 0 and a ticket for
 * observer.done(); or, with 'err' filled: -EINVAL for a job id, record or hostlist that
 * is none, for more nodes than the job asks for (it would wait for ever), for PLACE,
 * PREFER and UNPIN of nodes that its user asked for, and for a job in the wrong state;
 * -ENOENT for a job that is not there; -EALREADY if there is nothing to do (LET_GO of
 * one that is not gated, UNPIN of one that we have not pinned); -EBUSY with too many
 * under way; -EAGAIN without a snapshot yet.
 *
 * A start time that the user asked for is never changed: only the gate's is.  So a job
 * that the gate holds back is asked for once more, alone, before it is changed: if it
 * does not any more, or if its user has asked for nodes meanwhile, nothing is changed,
 * and observer.done() is told -EALREADY (LET_GO) or -ESTALE (PLACE, PREFER).
 */
int sched_act(struct sched_driver *driver, const struct sched_action *action,
	      uint64_t *ret_ticket, struct err *err);

#endif
