/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions.h - actions at the cluster's scheduler: decided (decide.h), asked for, and noted.
 *
 * Owns the driver, its last snapshot, the modes, and the changes that stand.  A change is
 * in the store before it is asked for, so that a restart finds it whatever happens.  Where
 * jobs may be pinned, a guardian process takes pins back if this one is killed (guard.h).
 */
#ifndef SCHEDULER_DAEMON_ACTIONS_H
#define SCHEDULER_DAEMON_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/scheduler_driver.h"

struct actions;
struct err;
struct loop;
struct scheduler_config;
struct store;

struct actions_opts {
	struct loop *loop; /* Borrowed, as all here. */
	const struct scheduler_config *config;
	struct store *store; /* NULL: none. */
	/* Fills the advice for a job (decide.h). */
	void (*advice)(void *ctx, const struct sched_job *job,
		       struct decide_advice *ret_advice);
	/* There is a new snapshot. */
	void (*on_snapshot)(void *ctx);
	void *ctx;
};

/*
 * Without a driver: nothing is asked for.  Takes up the modes of the settings and the
 * changes of the last run; 0, or -errno with 'err' filled.
 */
int actions_open(const struct actions_opts *opts, struct actions **ret_actions,
		 struct err *err);
/* Lets go of the guardian: it takes pins back unless actions_end() has returned true. */
void actions_close(struct actions *actions); /* Accepts NULL. */
/* What a driver is opened with; and the driver, which is taken. */
struct sched_observer actions_observer(struct actions *actions);
void actions_take_driver(struct actions *actions, struct sched_driver *driver);
/*
 * From now on pins are guarded, if there may be any, of this run or an earlier one.
 * 'socket' is where the guardian asks whether a daemon answers: it has to be served right
 * after this (guard.h).
 */
void actions_guard(struct actions *actions, const char *socket);

/* Decides now, and asks for what is decided: once a second, and after a change. */
void actions_decide(struct actions *actions);
/* From now on everything is to be undone: true once it is, or there is nothing to undo. */
bool actions_end(struct actions *actions);

/* ---- Modes -------------------------------------------------------------------------- */

/* Takes up the modes of the settings: 0, or -EINVAL with 'err' filled. */
int actions_read_modes(struct actions *actions, struct err *err);
/* The kill switch; returns whether that changed anything. */
bool actions_set_stopped(struct actions *actions, bool is_stopped);
/* As modes_change(); then decides. */
int actions_set_mode(struct actions *actions, const char *partition, enum mode mode);
const struct modes *actions_modes(const struct actions *actions);

/* ---- What is known ------------------------------------------------------------------- */

/* NULL: no scheduler is asked. */
struct sched_driver *actions_driver(const struct actions *actions);
/* Of the last answer; at_us 0: none yet.  The address stays; what it holds is replaced. */
const struct sched_snapshot *actions_snapshot(const struct actions *actions);
/* Why there is no newer snapshot, or NULL. */
const char *actions_error(const struct actions *actions);
const struct decide_changes *actions_changes(const struct actions *actions);
/* Undoes the change of a job that stands; false: there is none. */
bool actions_undo(struct actions *actions, const char *job);

struct actions_counts {
	uint64_t n_asked[DECIDE_N_WHYS], n_failed; /* So far. */
};
struct actions_counts actions_counts(const struct actions *actions);

#endif
