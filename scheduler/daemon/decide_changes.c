/* SPDX-License-Identifier: Apache-2.0 */
/* decide_changes.c - the changes that we made to jobs, and their results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/daemon/decide_priv.h"

const char *const decide_kind_names[] = {
	[DECIDE_PIN] = "pin",
	[DECIDE_RECORDED] = "recorded",
	[DECIDE_OVER] = "over",
	[DECIDE_MOVE] = "move",
	NULL,
};

/* ---- Changes ---------------------------------------------------------------------- */

static void
change_fini(struct decide_change *change)
{
	free(change->job);
	free(change->nodes);
	free(change->record);
	free(change->before);
}

void
decide_changes_fini(struct decide_changes *changes)
{
	for (size_t i = 0; i < changes->items.n; i++)
		change_fini(&changes->items.items[i]);
	vec_free(&changes->items);
}

/* The index of the job, or where to insert it. */
static size_t
place_of(const struct decide_changes *changes, const char *job, bool *ret_found)
{
	size_t from = 0, to = changes->items.n;

	*ret_found = false;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(changes->items.items[middle].job, job);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct decide_change *
decide_find(struct decide_changes *changes, const char *job)
{
	bool found;
	size_t i = place_of(changes, job, &found);

	return found ? &changes->items.items[i] : NULL;
}

struct decide_change *
decide_add(struct decide_changes *changes, const char *job)
{
	bool found;
	size_t i = place_of(changes, job, &found);

	if (found)
		return &changes->items.items[i];
	vec_push(&changes->items, (struct decide_change){ 0 });
	memmove(&changes->items.items[i + 1], &changes->items.items[i],
		(changes->items.n - 1 - i) * sizeof *changes->items.items);
	changes->items.items[i] = (struct decide_change){
		.job = xstrdup(job),
		.nodes = xstrdup(""),
		.record = xstrdup(""),
		.before = xstrdup(""),
	};
	return &changes->items.items[i];
}

void
decide_remove_at(struct decide_changes *changes, size_t i)
{
	change_fini(&changes->items.items[i]);
	changes->items.n--;
	memmove(&changes->items.items[i], &changes->items.items[i + 1],
		(changes->items.n - i) * sizeof *changes->items.items);
}

void
decide_remove(struct decide_changes *changes, const char *job)
{
	bool found;
	size_t i = place_of(changes, job, &found);

	if (found)
		decide_remove_at(changes, i);
}

void
decide_set_text(char **text, const char *value)
{
	char *copy = xstrdup(value ? value : "");

	free(*text);
	*text = copy;
}

/* ---- Results ---------------------------------------------------------------------- */

void
decide_note(struct decide_changes *changes, const struct decide_action *action,
	    const char *record_before, int64_t now_us)
{
	struct decide_change *known = decide_find(changes, action->job);
	struct decide_change *change = decide_add(changes, action->job);
	bool is_undoing = action->kind == SCHED_UNPIN ||
			  (action->kind == SCHED_RECORD && action->why != DECIDE_TOLD);

	if (!known)
		decide_set_text(&change->before, record_before);
	change->is_under_way = true;
	if (is_undoing)
		return;
	change->at_us = now_us;
	if (action->record)
		decide_set_text(&change->record, action->record);
	if (action->kind == SCHED_PLACE || action->kind == SCHED_REQUEUE) {
		change->kind = action->kind == SCHED_PLACE ? DECIDE_PIN : DECIDE_MOVE;
		change->is_users = false;
		change->busy_since_us = 0;
		change->n_restarts = action->n_restarts;
		decide_set_text(&change->nodes, action->nodes);
		change->valid_until_us = action->valid_until_us;
	} else if (change->kind != DECIDE_PIN) {
		change->kind = action->record ? DECIDE_RECORDED : DECIDE_OVER;
	}
}

void
decide_done(struct decide_changes *changes, const struct decide_action *action, int rc,
	    int64_t now_us)
{
	struct decide_change *change = decide_find(changes, action->job);

	if (!change)
		return;
	change->is_under_way = false;
	change->done_us = now_us;
	if (rc == -ENOENT) {
		decide_remove(changes, action->job);
		return;
	}
	change->n_failed = rc < 0 ? change->n_failed + 1 : 0;
	if (action->kind == SCHED_UNPIN && (rc == 0 || rc == -EALREADY)) {
		change->kind = DECIDE_OVER;
		change->is_unwanted = false;
	} else if (action->kind == SCHED_PLACE && rc < 0) {
		/* The job may still be let go; it is not pinned. */
		change->kind = DECIDE_OVER;
	} else if (action->kind == SCHED_REQUEUE && rc < 0) {
		/* It runs on. */
		change->kind = *change->record ? DECIDE_RECORDED : DECIDE_OVER;
	} else if (action->kind == SCHED_RECORD && action->why != DECIDE_TOLD &&
		   (rc == 0 || change->n_failed >= DECIDE_MAX_FAILED)) {
		decide_remove(changes, action->job);
	}
}
