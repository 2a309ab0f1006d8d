/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions.h - actions at the cluster's scheduler: decided (decide.h), requested, and
 * noted.
 *
 * Owns the driver, its last snapshot, the modes and the changes in effect. A change is
 * stored before it is requested, so that a restart finds it in any case. Where jobs may
 * be pinned, a guardian process takes pins back if the daemon is killed (guard.h).
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
	/*
	 * A running job is about to be requeued for a move; or that was refused, and it
	 * runs on.
	 */
	void (*on_move)(void *ctx, const char *job, double payback_s);
	void (*on_move_refused)(void *ctx, const char *job);
	/* Called for each new snapshot. */
	void (*on_snapshot)(void *ctx);
	void *ctx;
};

/*
 * Starts without a driver, so that no action is requested yet. Reads the modes of the
 * settings and the changes of the last run; 0, or -errno with 'err' filled.
 */
int actions_open(const struct actions_opts *opts, struct actions **ret_actions,
		 struct err *err);
/* Closes. The guardian takes pins back unless actions_end() has returned true. */
void actions_close(struct actions *actions); /* Accepts NULL. */
/* The callbacks to open a driver with; and the driver, which the module then owns. */
struct sched_observer actions_observer(struct actions *actions);
void actions_take_driver(struct actions *actions, struct sched_driver *driver);
/*
 * Guards pins from now on, if this run or an earlier one may have made any. The
 * guardian checks at 'socket' whether a daemon answers, so serve 'socket' right after
 * this call (guard.h).
 */
void actions_guard(struct actions *actions, const char *socket);

/* Decides and requests actions: once a second, and after a change. */
void actions_decide(struct actions *actions);
/* From now on undoes all changes; returns true once none is left. */
bool actions_end(struct actions *actions);

/* ---- Modes -------------------------------------------------------------------------- */

/* Reads the modes of the settings: 0, or -EINVAL with 'err' filled. */
int actions_read_modes(struct actions *actions, struct err *err);
/* Sets the kill switch; returns whether that changed anything. */
bool actions_set_stopped(struct actions *actions, bool is_stopped);
/* As modes_change(); then decides. */
int actions_set_mode(struct actions *actions, const char *partition, enum mode mode);
const struct modes *actions_modes(const struct actions *actions);

/* ---- State --------------------------------------------------------------------------- */

/* NULL without a cluster's scheduler. */
struct sched_driver *actions_driver(const struct actions *actions);
/* The last snapshot; at_us 0: none yet. The address stays; the content is replaced. */
const struct sched_snapshot *actions_snapshot(const struct actions *actions);
/* Why there is no newer snapshot, or NULL. */
const char *actions_error(const struct actions *actions);
const struct decide_changes *actions_changes(const struct actions *actions);
/* Undoes the change of a job; false: there is none. */
bool actions_undo(struct actions *actions, const char *job);

struct actions_counts {
	uint64_t n_asked[DECIDE_N_WHYS], n_failed; /* So far. */
};
struct actions_counts actions_counts(const struct actions *actions);

#endif
