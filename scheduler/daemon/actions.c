/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/actions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/guard.h"
#include "scheduler/daemon/persist.h"

/* A requested action. */
struct pending_action {
	uint64_t ticket;
	struct decide_action action; /* Owned. */
};

struct actions {
	struct actions_opts opts;
	struct sched_driver *driver;    /* Owned; NULL: no scheduler is asked. */
	struct guard *guard;            /* Owned; NULL, too. */
	struct sched_snapshot snapshot; /* The driver's own; at_us 0: none. */
	char *error;                    /* Owned.  Why there is no newer one. */
	struct modes modes;
	struct decide_changes changes;
	VEC(struct pending_action) pending;
	size_t n_checked;   /* Partitions with settings of their own, looked up. */
	int64_t started_us; /* Wall clock. */
	bool has_decided;   /* With a snapshot. */
	bool is_ending;
	bool is_undone; /* Then: all of it. */
	struct actions_counts counts;
	struct log_limit error_limit;
};

/* ---- Requests ------------------------------------------------------------------------ */

static void
log_action(struct actions *actions, const struct decide_action *action,
	   const char *state, const char *error)
{
	/* Records of running jobs are frequent and harmless: not logged. */
	bool is_quiet = action->kind == SCHED_RECORD && !error;

	if (!is_quiet)
		log_at(error ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "actions",
		       "job %s: %s %s%s%s (%s)%s%s", action->job,
		       sched_action_names[action->kind], state,
		       action->nodes ? " at " : "", action->nodes ? action->nodes : "",
		       decide_why_texts[action->why], error ? ": " : "",
		       error ? error : "");
	persist_log(actions->opts.store, action, state, error);
}

static void
keep_change(struct actions *actions, const char *job)
{
	persist_keep_change(actions->opts.store, job,
			    decide_find(&actions->changes, job));
}

static void
finish(struct actions *actions, struct decide_action *action, int rc, const char *why)
{
	/* Nothing was left to do: that counts as done. */
	if (rc == -EALREADY)
		rc = 0;
	/* -ESTALE: the job's user or its start came first. */
	if (rc < 0 && rc != -ESTALE)
		actions->counts.n_failed++;
	if (rc < 0 && action->kind == SCHED_REQUEUE)
		actions->opts.on_move_refused(actions->opts.ctx, action->job);
	decide_done(&actions->changes, action, rc, clk_wall_us());
	log_action(actions, action, rc < 0 ? "failed" : "done", rc < 0 ? why : NULL);
	keep_change(actions, action->job);
}

static void
action_fini(struct decide_action *action)
{
	free(action->job);
	free(action->nodes);
	free(action->record);
}

static void
on_done(void *ctx, uint64_t ticket, int rc, const char *why)
{
	struct actions *actions = ctx;

	for (size_t i = 0; i < actions->pending.n; i++) {
		struct pending_action pending = actions->pending.items[i];

		if (pending.ticket != ticket)
			continue;
		actions->pending.items[i] =
			actions->pending.items[--actions->pending.n];
		finish(actions, &pending.action, rc, why);
		action_fini(&pending.action);
		return;
	}
}

static void
note(struct actions *actions, const struct decide_action *action)
{
	const struct sched_job *job = sched_find_job(&actions->snapshot, action->job);

	decide_note(&actions->changes, action, job ? job->record : "", clk_wall_us());
	keep_change(actions, action->job);
}

/* Takes ownership of the action. */
static void
ask(struct actions *actions, struct decide_action *action)
{
	const struct sched_action wanted = { action->kind, action->job, action->nodes,
					     action->record, action->is_requeued };
	struct err err = { .line = 0 };
	bool is_new = !decide_find(&actions->changes, action->job);
	bool is_move = action->kind == SCHED_REQUEUE;
	uint64_t ticket = 0;
	int rc;

	if (action->kind == SCHED_PLACE || action->kind == SCHED_PREFER || is_move)
		guard_start(actions->guard);
	/* Stored before it begins, so that a restart finds it in any case. */
	if (is_move)
		actions->opts.on_move(actions->opts.ctx, action->job,
				      action->payback_s);
	if (is_new)
		note(actions, action);
	rc = sched_act(actions->driver, &wanted, &ticket, &err);
	if (rc == -EBUSY || rc == -EAGAIN) {
		/* The next round asks again. */
		if (is_move)
			actions->opts.on_move_refused(actions->opts.ctx, action->job);
		if (is_new) {
			decide_remove(&actions->changes, action->job);
			keep_change(actions, action->job);
		}
		action_fini(action);
		return;
	}
	actions->counts.n_asked[action->why]++;
	if (!is_new)
		note(actions, action);
	if (rc < 0) {
		finish(actions, action, rc, err.text);
		action_fini(action);
		return;
	}
	vec_push(&actions->pending, ((struct pending_action){ ticket, *action }));
}

void
actions_decide(struct actions *actions)
{
	const struct decide_view view = {
		.now_us = clk_wall_us(),
		.started_us = actions->started_us,
		.is_first = !actions->has_decided,
		.is_ending = actions->is_ending,
		.modes = &actions->modes,
		.snapshot = actions->snapshot.at_us ? &actions->snapshot : NULL,
		.advice = actions->opts.advice,
		.ctx = actions->opts.ctx,
		.pin_wait_us = actions->opts.config->pin_wait_us,
	};
	struct decide_actions decided;

	if (!actions->driver)
		return;
	actions->has_decided |= view.snapshot != NULL;
	decide(&view, &actions->changes, &decided);
	for (size_t i = 0; i < decided.forgotten.n; i++)
		keep_change(actions, decided.forgotten.items[i]);
	for (size_t i = 0; i < decided.adopted.n; i++) {
		log_warn("actions",
			 "job %s has a pin of antiphase that the store does not have; "
			 "it is undone as any other",
			 decided.adopted.items[i]);
		keep_change(actions, decided.adopted.items[i]);
	}
	for (size_t i = 0; i < decided.items.n; i++)
		ask(actions, &decided.items.items[i]);
	/* ask() took each of them. */
	decided.items.n = 0;
	decide_actions_fini(&decided);
}

/* ---- Snapshots ------------------------------------------------------------------------ */

/* Warns of misspelled partitions, which would silently have the usual mode. */
static void
check_partitions(struct actions *actions)
{
	size_t n = actions->modes.others.n + actions->modes.movers.n;
	struct strbuf unknown = STRBUF_EMPTY;

	if (actions->n_checked == n || !actions->snapshot.n_nodes)
		return;
	actions->n_checked = n;
	if (modes_add_unknown(&actions->modes, &actions->snapshot, &unknown))
		log_warn("actions",
			 "a setting is for a name that is not a partition of "
			 "Slurm, and has no effect: %s",
			 unknown.text);
	strbuf_free(&unknown);
}

static void
on_snapshot(void *ctx, const struct sched_snapshot *snapshot, const char *why)
{
	struct actions *actions = ctx;

	loop_part(actions->opts.loop, "snapshot");
	free(actions->error);
	actions->error = snapshot ? NULL : xstrdup(why ? why : "no answer");
	if (!snapshot) {
		log_limited(&actions->error_limit, clk_monotonic_ns(), LOG_LEVEL_WARN,
			    "actions", "the cluster's scheduler does not answer: %s",
			    actions->error);
		return;
	}
	actions->snapshot = *snapshot;
	check_partitions(actions);
	actions->opts.on_snapshot(actions->opts.ctx);
	/* Little time is left to undo changes. */
	if (actions->is_ending)
		actions_decide(actions);
}

const struct sched_snapshot *
actions_snapshot(const struct actions *actions)
{
	return &actions->snapshot;
}

const char *
actions_error(const struct actions *actions)
{
	return actions->error;
}

/* ---- Modes -------------------------------------------------------------------------- */

int
actions_read_modes(struct actions *actions, struct err *err)
{
	const struct scheduler_config *config = actions->opts.config;
	struct modes modes;
	int rc = modes_parse(config->mode, config->partition_modes, &modes, err);

	if (rc < 0)
		return rc;
	rc = modes_read_movers(&modes, config->partition_moves, err);
	if (rc < 0) {
		modes_fini(&modes);
		return rc;
	}
	modes.is_stopped = actions->modes.is_stopped;
	modes_fini(&actions->modes);
	actions->modes = modes;
	actions->n_checked = 0;
	return 0;
}

bool
actions_set_stopped(struct actions *actions, bool is_stopped)
{
	bool has_changed = actions->modes.is_stopped != is_stopped;

	actions->modes.is_stopped = is_stopped;
	return has_changed;
}

int
actions_set_mode(struct actions *actions, const char *partition, enum mode mode)
{
	int rc = modes_change(&actions->modes, partition, mode);

	if (rc == 0)
		actions_decide(actions);
	return rc;
}

const struct modes *
actions_modes(const struct actions *actions)
{
	return &actions->modes;
}

/* ---- Changes ------------------------------------------------------------------------- */

const struct decide_changes *
actions_changes(const struct actions *actions)
{
	return &actions->changes;
}

bool
actions_undo(struct actions *actions, const char *job)
{
	struct decide_change *change = decide_find(&actions->changes, job);

	if (!change || change->kind == DECIDE_OVER)
		return false;
	change->is_unwanted = true;
	actions_decide(actions);
	return true;
}

struct actions_counts
actions_counts(const struct actions *actions)
{
	return actions->counts;
}

/* ---- Opening and closing ------------------------------------------------------------- */

int
actions_open(const struct actions_opts *opts, struct actions **ret_actions,
	     struct err *err)
{
	struct actions *actions = xcalloc(1, sizeof *actions);
	int rc;

	actions->opts = *opts;
	actions->started_us = clk_wall_us();
	rc = actions_read_modes(actions, err);
	if (rc == 0)
		rc = persist_read_changes(opts->store, &actions->changes, err);
	if (rc < 0) {
		actions_close(actions);
		return rc;
	}
	if (actions->changes.items.n)
		log_info("actions", "%zu changes of the last run were restored",
			 actions->changes.items.n);
	*ret_actions = actions;
	return 0;
}

struct sched_observer
actions_observer(struct actions *actions)
{
	return (struct sched_observer){ actions, on_snapshot, on_done };
}

void
actions_take_driver(struct actions *actions, struct sched_driver *driver)
{
	actions->driver = driver;
}

struct sched_driver *
actions_driver(const struct actions *actions)
{
	return actions->driver;
}

void
actions_guard(struct actions *actions, const char *socket)
{
	const struct guard_opts opts = { .socket = socket,
					 .bindir = actions->opts.config->slurm_bindir };
	bool has_pins = modes_any(&actions->modes, MODE_ENFORCE);

	if (!actions->driver)
		return;
	for (size_t i = 0; i < actions->changes.items.n; i++)
		has_pins |= actions->changes.items.items[i].kind == DECIDE_PIN;
	actions->guard = guard_new(actions->opts.loop, &opts);
	if (has_pins)
		guard_start(actions->guard);
}

bool
actions_end(struct actions *actions)
{
	if (!actions->driver)
		return true;
	actions->is_ending = true;
	actions_decide(actions);
	if (actions->pending.n)
		return false;
	for (size_t i = 0; i < actions->changes.items.n; i++)
		if (actions->changes.items.items[i].kind != DECIDE_OVER)
			return false;
	/* Only a snapshot shows the changes of an earlier run. */
	actions->is_undone = actions->has_decided;
	return true;
}

void
actions_close(struct actions *actions)
{
	if (!actions)
		return;
	sched_close(actions->driver);
	guard_free(actions->guard, actions->is_undone);
	for (size_t i = 0; i < actions->pending.n; i++)
		action_fini(&actions->pending.items[i].action);
	vec_free(&actions->pending);
	decide_changes_fini(&actions->changes);
	modes_fini(&actions->modes);
	free(actions->error);
	free(actions);
}
