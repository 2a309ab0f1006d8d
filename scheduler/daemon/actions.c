/*
 * actions.c - what is to be done at the cluster's scheduler (decide.h), done, and noted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/guard.h"
#include "scheduler/slurm/slurm.h"

static const char *const kind_names[] = {
	[SCHED_PLACE] = "place", [SCHED_PREFER] = "prefer", [SCHED_LET_GO] = "let_go",
	[SCHED_UNPIN] = "unpin", [SCHED_RECORD] = "record",
};

/* ---- Doing -------------------------------------------------------------------------- */

static void
say(struct daemon *d, const struct decide_action *action, const char *what,
    const char *why)
{
	/* Records of running jobs are many, and harmless. */
	bool is_quiet = action->kind == SCHED_RECORD && !why;

	if (!is_quiet)
		log_at(why ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "deeds",
		       "job %s: %s %s%s%s (%s)%s%s", action->job,
		       kind_names[action->kind], what, action->nodes ? " at " : "",
		       action->nodes ? action->nodes : "",
		       decide_why_texts[action->why], why ? ": " : "", why ? why : "");
	persist_log(d, action, what, why);
}

static void
finish(struct daemon *d, struct decide_action *action, int rc, const char *why)
{
	struct actions *deeds = &d->deeds;

	/* That there is nothing to do is as good as done. */
	if (rc == -EALREADY)
		rc = 0;
	/* Its user, or its start, was faster. */
	if (rc < 0 && rc != -ESTALE)
		deeds->n_failed++;
	decide_done(&deeds->changes, action, rc, clk_wall_us());
	say(d, action, rc < 0 ? "failed" : "done", rc < 0 ? why : NULL);
	persist_keep_change(d, action->job);
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
	struct daemon *d = ctx;
	struct actions *deeds = &d->deeds;

	for (size_t i = 0; i < deeds->under_way.n; i++) {
		struct pending_action deed = deeds->under_way.items[i];

		if (deed.ticket != ticket)
			continue;
		deeds->under_way.items[i] =
			deeds->under_way.items[--deeds->under_way.n];
		finish(d, &deed.action, rc, why);
		action_fini(&deed.action);
		return;
	}
}

static void
note(struct daemon *d, const struct decide_action *action)
{
	const struct sched_job *job = sched_find_job(&d->deeds.snapshot, action->job);

	decide_note(&d->deeds.changes, action, job ? job->record : "", clk_wall_us());
	persist_keep_change(d, action->job);
}

/* Takes the action. */
static void
ask(struct daemon *d, struct decide_action *action)
{
	struct actions *deeds = &d->deeds;
	const struct sched_action wanted = { action->kind, action->job, action->nodes,
					     action->record };
	struct err err = { .line = 0 };
	bool is_new = !decide_find(&deeds->changes, action->job);
	uint64_t ticket = 0;
	int rc;

	if (action->kind == SCHED_PLACE || action->kind == SCHED_PREFER)
		guard_start(deeds->guard);
	/* Kept before it is begun, so that a restart finds it whatever happens. */
	if (is_new)
		note(d, action);
	rc = sched_act(deeds->host, &wanted, &ticket, &err);
	if (rc == -EBUSY || rc == -EAGAIN) {
		/* The next round asks again. */
		if (is_new) {
			decide_remove(&deeds->changes, action->job);
			persist_keep_change(d, action->job);
		}
		action_fini(action);
		return;
	}
	deeds->n_asked[action->why]++;
	if (!is_new)
		note(d, action);
	if (rc < 0) {
		finish(d, action, rc, err.text);
		action_fini(action);
		return;
	}
	vec_push(&deeds->under_way,
		 ((struct pending_action){ ticket, *action, clk_wall_us() }));
}

void
actions_decide(struct daemon *d)
{
	struct actions *deeds = &d->deeds;
	const struct decide_view view = {
		.now_us = clk_wall_us(),
		.started_us = deeds->started_us,
		.is_first = !deeds->has_decided,
		.is_ending = deeds->is_ending,
		.modes = &deeds->modes,
		.host = deeds->snapshot.at_us ? &deeds->snapshot : NULL,
		.advice = jobs_advice,
		.ctx = d,
		.pin_wait_us = d->config.pin_wait_us,
	};
	struct decide_actions actions;

	if (!deeds->host)
		return;
	deeds->has_decided |= view.host != NULL;
	decide(&view, &deeds->changes, &actions);
	for (size_t i = 0; i < actions.forgotten.n; i++)
		persist_keep_change(d, actions.forgotten.items[i]);
	for (size_t i = 0; i < actions.adopted.n; i++) {
		log_warn("deeds",
			 "job %s bears a pin of ours that nothing was known of; it is "
			 "looked after",
			 actions.adopted.items[i]);
		persist_keep_change(d, actions.adopted.items[i]);
	}
	for (size_t i = 0; i < actions.items.n; i++)
		ask(d, &actions.items.items[i]);
	/* They were taken one by one. */
	actions.items.n = 0;
	decide_actions_fini(&actions);
}

/* ---- Looking ------------------------------------------------------------------------ */

/* A misspelt partition would be left in the usual mode, and nobody would notice. */
static void
check_partitions(struct actions *deeds)
{
	struct strbuf unknown = STRBUF_EMPTY;

	if (deeds->n_checked == deeds->modes.others.n || !deeds->snapshot.n_nodes)
		return;
	deeds->n_checked = deeds->modes.others.n;
	if (modes_add_unknown(&deeds->modes, &deeds->snapshot, &unknown))
		log_warn("deeds",
			 "a mode is set for what is no partition of Slurm, and has no "
			 "effect: %s",
			 unknown.text);
	strbuf_free(&unknown);
}

static void
on_snapshot(void *ctx, const struct sched_snapshot *snapshot, const char *why)
{
	struct daemon *d = ctx;
	struct actions *deeds = &d->deeds;

	loop_part(d->loop, "snapshot");
	free(deeds->why);
	deeds->why = snapshot ? NULL : xstrdup(why ? why : "no answer");
	if (!snapshot) {
		log_limited(&deeds->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "deeds",
			    "the cluster's scheduler does not answer: %s", deeds->why);
		return;
	}
	deeds->snapshot = *snapshot;
	check_partitions(deeds);
	/* One part after another, as others would wait for all of it. */
	d->is_hurried = true;
	d->next_hurried = 0;
	/* There is not much time to undo what was done. */
	if (d->ending_ns)
		actions_decide(d);
}

int
actions_take_modes(struct daemon *d, struct err *err)
{
	struct modes modes;
	int rc = modes_parse(d->config.mode, d->config.partition_modes, &modes, err);

	if (rc < 0)
		return rc;
	modes.is_stopped = d->deeds.modes.is_stopped;
	modes_fini(&d->deeds.modes);
	d->deeds.modes = modes;
	d->deeds.n_checked = 0;
	return 0;
}

int
actions_open(struct daemon *d, struct err *err)
{
	const char *bindir = d->config.slurm_bindir;
	const struct slurm_opts opts = { .bindir = *bindir ? bindir : NULL,
					 .poll_ms = d->config.poll_ms };
	const struct sched_observer observer = { d, on_snapshot, on_done };
	int rc = actions_take_modes(d, err);

	d->deeds.started_us = clk_wall_us();
	if (rc < 0 || strcmp(d->config.scheduler, "slurm") != 0)
		return rc;
	return slurm_open(d->loop, &opts, &observer, &d->deeds.host, err);
}

void
actions_guard(struct daemon *d)
{
	struct actions *deeds = &d->deeds;
	char *socket = daemon_socket_path(d);
	const struct guard_opts opts = { .socket = socket,
					 .bindir = d->config.slurm_bindir };
	bool has_pins = modes_any(&deeds->modes, MODE_ENFORCE);

	for (size_t i = 0; i < deeds->changes.items.n; i++)
		has_pins |= deeds->changes.items.items[i].kind == DECIDE_PIN;
	if (deeds->host)
		deeds->guard = guard_new(d->loop, &opts);
	if (deeds->host && has_pins)
		guard_start(deeds->guard);
	free(socket);
}

void
actions_tick(struct daemon *d)
{
	/* Time alone may call for deeds: a gate that ends, an advice that is too old. */
	actions_decide(d);
}

bool
actions_end(struct daemon *d)
{
	struct actions *deeds = &d->deeds;

	if (!deeds->host)
		return true;
	deeds->is_ending = true;
	actions_decide(d);
	if (deeds->under_way.n)
		return false;
	for (size_t i = 0; i < deeds->changes.items.n; i++)
		if (deeds->changes.items.items[i].kind != DECIDE_OVER)
			return false;
	/* Of what an earlier run left nothing is known without a look. */
	deeds->is_undone = deeds->has_decided;
	return true;
}

void
actions_close(struct daemon *d)
{
	struct actions *deeds = &d->deeds;

	sched_close(deeds->host);
	guard_free(deeds->guard, deeds->is_undone);
	for (size_t i = 0; i < deeds->under_way.n; i++)
		action_fini(&deeds->under_way.items[i].action);
	vec_free(&deeds->under_way);
	decide_changes_fini(&deeds->changes);
	deeds->snapshot = (struct sched_snapshot){ .at_us = 0 };
	modes_fini(&deeds->modes);
	free(deeds->why);
}
