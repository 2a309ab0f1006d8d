/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_driver.h - the driver of the cluster's scheduler: which jobs wait and run
 * where, which nodes are free, and the few changes that antiphase may request.
 *
 * Each kind of scheduler has a driver (slurm.h) behind this interface. A driver never
 * blocks: it finishes its work from the loop. It changes the scheduler only by
 * sched_act(), and each change can be undone by another. Without an answer from the
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
	 * The id on its hosts, in control groups and $SLURM_JOB_ID: "4713" of "4711_2".
	 * A waiting task of an array has none of its own yet.
	 */
	char *local_id;
	char *name, *user, *partition;
	enum sched_job_state state;
	uint32_t n_nodes;
	char *nodes;     /* Hostlist of its nodes, or "". */
	char *required;  /* Hostlist of its pin, or "". */
	char *excluded;  /* Likewise. */
	char *preferred; /* Features that it prefers in its nodes, or "". */
	char *features;  /* Features that it requires of them, or "". */
	char *reason;    /* Why it waits, in the scheduler's words, or "". */
	char *comment;   /* The user's declaration; hostile. */
	char *record;    /* Our record (AdminComment), if the driver knows it. */
	int64_t priority;
	int64_t eligible_us; /* Earliest start, wall clock; 0: now. */
	int64_t start_us;    /* Of a running one; else 0. */
	uint32_t n_restarts; /* Requeues. */
	bool can_requeue;    /* The scheduler may stop it and start it again. */
	bool is_movable;     /* Its user allows that for a move. */
	bool is_gated;       /* Held back until eligible_us for our answer. */
	bool is_pinned;      /* By us, PLACE or PREFER: UNPIN takes it back. */
	bool is_queued;      /* It waits for nodes, and for nothing else. */
};

enum sched_node_state {
	SCHED_NODE_FREE,
	SCHED_NODE_MIXED, /* Partly taken. */
	SCHED_NODE_TAKEN,
	SCHED_NODE_DOWN, /* Down, drained, not responding: no job can start there. */
};

struct sched_node {
	char *name;
	enum sched_node_state state;
	char *partitions; /* Names, divided by commas. */
	char *features;   /* Likewise. */
	uint32_t n_slots; /* Total (CPUs or GPUs as configured); 0: unknown. */
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
 * By the id on its hosts. "4711" may also be the id of a waiting job of an array: the
 * job that has nodes is preferred.
 */
const struct sched_job *sched_find_local(const struct sched_snapshot *snapshot,
					 const char *local_id);
const struct sched_node *sched_find_node(const struct sched_snapshot *snapshot,
					 const char *name);

enum sched_action_kind {
	SCHED_PLACE,   /* Pin to 'nodes', let it start now, write 'record'. */
	SCHED_PREFER,  /* The same softly: other nodes are possible. */
	SCHED_LET_GO,  /* Start now anywhere; write 'record'. */
	SCHED_UNPIN,   /* Undo PLACE and PREFER of a waiting job. */
	SCHED_RECORD,  /* Write 'record' alone; running jobs, too. */
	SCHED_REQUEUE, /* Stop a running job, which waits then as if it were new. */
};

/* "place", ..., "let_go", "unpin", "record", "requeue". */
extern const char *const sched_action_names[];

struct sched_action {
	enum sched_action_kind kind;
	const char *job;    /* Borrowed until sched_act() returns, as all here. */
	const char *nodes;  /* Hostlist; PLACE and PREFER, and what follows REQUEUE. */
	const char *record; /* NULL: unchanged. */
	/*
	 * PLACE, LET_GO: after our REQUEUE.  They also end the scheduler's own delay of
	 * the job.
	 */
	bool is_requeued;
};

/* Called from the loop. */
struct sched_observer {
	void *ctx;
	/* A new snapshot, borrowed; NULL: the scheduler did not answer, see 'why'. */
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
void sched_close(struct sched_driver *driver); /* Accepts NULL. Drops work under way. */

/* Takes a snapshot now, besides those every 'poll_ms'. */
void sched_poll(struct sched_driver *driver);

/*
 * Requests a change of a job of the last snapshot. Changes are made one after another,
 * in the order of requests. Returns 0 and a ticket for observer.done(); or, with 'err'
 * filled: -EINVAL for an invalid job id, record or hostlist, for more nodes than the
 * job asks for (it would wait for ever), for PLACE, PREFER and UNPIN of nodes that its
 * user asked for, and for a job in the wrong state; -ENOENT for a job that is not
 * there; -EALREADY if there is nothing to do (LET_GO of a job that is not gated, UNPIN
 * of one that we have not pinned); -EBUSY with too many under way; -EAGAIN without a
 * snapshot yet.
 *
 * A start time that the user asked for is never changed, only the gate's. So a gated
 * job is queried once more, alone, before its change: if it is no longer gated, or its
 * user has asked for nodes meanwhile, nothing is changed, and observer.done() gets
 * -EALREADY (LET_GO) or -ESTALE (PLACE, PREFER).
 *
 * REQUEUE is for a running job that can be requeued, is movable, is no task of an array,
 * and whose nodes its user has not chosen.  That is queried once more, too.  The job is
 * never held: it starts by itself after the scheduler's delay, whatever follows.
 */
int sched_act(struct sched_driver *driver, const struct sched_action *action,
	      uint64_t *ret_ticket, struct err *err);

#endif
