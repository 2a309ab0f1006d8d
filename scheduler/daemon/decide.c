/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/decide.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/hostlist.h"
#include "lib/base/sort.h"
#include "lib/base/strtab.h"
#include "scheduler/daemon/decide_priv.h"

const char *const decide_why_names[] = {
	[DECIDE_PLACED] = "placed",       [DECIDE_NOTHING_TOLD] = "nothing_told",
	[DECIDE_THIN] = "thin",           [DECIDE_NO_PLACE] = "no_place",
	[DECIDE_ONE_NODE] = "one_node",   [DECIDE_USER_PINNED] = "user_pinned",
	[DECIDE_ADVISING] = "advising",   [DECIDE_STOPPED] = "stopped",
	[DECIDE_NODE_DOWN] = "node_down", [DECIDE_BUSY] = "busy",
	[DECIDE_EXPIRED] = "expired",     [DECIDE_WAITED] = "waited",
	[DECIDE_LEFT] = "left",           [DECIDE_ASKED] = "asked",
	[DECIDE_TOLD] = "told",           [DECIDE_PAYS] = "pays",
};

const char *const decide_why_texts[] = {
	[DECIDE_PLACED] = "it goes where it contends least",
	[DECIDE_NOTHING_TOLD] = "there was no advice in time",
	[DECIDE_THIN] = "too little is known of it to advise",
	[DECIDE_NO_PLACE] = "no free place is better than another",
	[DECIDE_ONE_NODE] = "it runs on one node",
	[DECIDE_USER_PINNED] = "its user has chosen the nodes",
	[DECIDE_ADVISING] = "the mode of its partition is advise",
	[DECIDE_STOPPED] = "all changes are being undone",
	[DECIDE_NODE_DOWN] = "a node of its place is down or gone",
	[DECIDE_BUSY] = "a node of its place is taken by another job",
	[DECIDE_EXPIRED] = "the advice is too old",
	[DECIDE_WAITED] = "it has waited for its place for too long",
	[DECIDE_LEFT] = "its place was free before a restart",
	[DECIDE_ASKED] = "as requested over the API",
	[DECIDE_TOLD] = "its present advice",
	[DECIDE_PAYS] = "a move to other nodes pays",
};

/* ---- Nodes ------------------------------------------------------------------------ */

enum fitness {
	FIT,
	FIT_NOT_NOW, /* A node is taken, at least in part. */
	FIT_NEVER,   /* A node is down or unknown; or the list is invalid. */
};

struct node_check {
	const struct sched_snapshot *snapshot;
	struct strtab *given; /* Nodes given away in this round; NULL: ignore these. */
	struct strtab *own; /* Nodes of the job itself, which it leaves; NULL: none. */
	enum fitness fitness;
	uint32_t n;
};

static int
check_node(void *ctx, const char *name)
{
	struct node_check *check = ctx;
	const struct sched_node *node = sched_find_node(check->snapshot, name);

	check->n++;
	if (!node || node->state == SCHED_NODE_DOWN)
		check->fitness = FIT_NEVER;
	/* Advice places jobs on entirely free nodes. */
	else if (check->fitness == FIT &&
		 ((node->state != SCHED_NODE_FREE &&
		   !(check->own && strtab_find(check->own, name) != STRTAB_NONE)) ||
		  (check->given && strtab_find(check->given, name) != STRTAB_NONE)))
		check->fitness = FIT_NOT_NOW;
	return 0;
}

/* Whether a job could start on all of 'nodes' now, and their number. */
static enum fitness
fitness_of(const struct sched_snapshot *snapshot, struct strtab *given,
	   struct strtab *own, const char *nodes, uint32_t *ret_n)
{
	struct node_check check = { .snapshot = snapshot, .given = given, .own = own };
	const char *why;

	*ret_n = 0;
	if (hostlist_expand(nodes, DECIDE_MAX_PIN, check_node, &check, &why) < 0 ||
	    check.n == 0)
		return FIT_NEVER;
	*ret_n = check.n;
	return check.fitness;
}

static int
give(void *ctx, const char *name)
{
	strtab_intern(ctx, name);
	return 0;
}

/* Whether two lists name the same nodes, in whatever order or form. */
static bool
is_same_place(const char *a, const char *b)
{
	struct strtab *of_a, *of_b;
	const char *why;
	bool is_same;

	if (strcmp(a, b) == 0)
		return true;
	of_a = strtab_new();
	of_b = strtab_new();
	is_same = hostlist_expand(a, DECIDE_MAX_PIN, give, of_a, &why) >= 0 &&
		  hostlist_expand(b, DECIDE_MAX_PIN, give, of_b, &why) >= 0 &&
		  strtab_n(of_a) == strtab_n(of_b);
	for (uint32_t i = 0; is_same && i < strtab_n(of_a); i++)
		is_same = strtab_find(of_b, strtab_name(of_a, i)) != STRTAB_NONE;
	strtab_free(of_a);
	strtab_free(of_b);
	return is_same;
}

/* ---- One round -------------------------------------------------------------------- */

struct round {
	const struct decide_view *view;
	struct decide_changes *changes;
	struct decide_actions *actions;
	struct strtab *given; /* Owned.  Nodes that waiting jobs are pinned to. */
	size_t n_records;     /* Of running jobs. */
	bool is_moving;       /* A job moves. */
	bool has_queue;       /* A job waits for nodes. */
};

/* Returns the action; NULL: it is left to the next round. */
static struct decide_action *
act(struct round *round, enum sched_action_kind kind, enum decide_why why,
    const char *job, const char *nodes, const char *record)
{
	if (round->actions->items.n >= DECIDE_MAX_AT_ONCE) {
		round->actions->n_left++;
		return NULL;
	}
	vec_push(&round->actions->items,
		 ((struct decide_action){
			 .kind = kind,
			 .why = why,
			 .job = xstrdup(job),
			 .nodes = nodes ? xstrdup(nodes) : NULL,
			 .record = record ? xstrdup(record) : NULL,
		 }));
	return &round->actions->items.items[round->actions->items.n - 1];
}

/* Keeps other waiting jobs off these nodes in this round. */
static void
keep_for(struct round *round, const char *nodes)
{
	const char *why;

	hostlist_expand(nodes, DECIDE_MAX_PIN, give, round->given, &why);
}

static enum mode
mode_for(const struct decide_view *view, const struct sched_job *job)
{
	return view->is_ending ? MODE_OBSERVE : modes_now(view->modes, job->partition);
}

/* Takes a pin back, and the record with it. */
static void
unpin(struct round *round, const struct decide_change *change, enum decide_why why)
{
	act(round, SCHED_UNPIN, why, change->job, NULL, change->before);
}

/*
 * Whether that much time has passed; true also if the clock was set back, so that a
 * second never lasts for hours. Snapshots are somewhat older than events during their
 * query.
 */
static bool
is_past(int64_t since_us, int64_t now_us, int64_t span_us)
{
	return now_us - since_us >= span_us ||
	       since_us - now_us > DECIDE_MAX_SNAPSHOT_AGE;
}

/* The watchdog: checks a waiting job that we pinned. */
static void
watch_pin(struct round *round, struct decide_change *change,
	  const struct sched_job *job)
{
	const struct decide_view *view = round->view;
	uint32_t n;
	enum fitness fitness =
		fitness_of(view->snapshot, NULL, NULL, change->nodes, &n);

	if (fitness != FIT_NOT_NOW)
		change->busy_since_us = 0;
	else if (!change->busy_since_us)
		change->busy_since_us = view->snapshot->at_us;
	if (mode_for(view, job) != MODE_ENFORCE)
		unpin(round, change, DECIDE_STOPPED);
	else if (change->is_unwanted)
		unpin(round, change, DECIDE_ASKED);
	else if (fitness == FIT_NEVER)
		unpin(round, change, DECIDE_NODE_DOWN);
	else if (change->at_us < view->started_us ||
		 job->n_restarts > change->n_restarts)
		unpin(round, change, DECIDE_LEFT);
	/* By snapshots alone: the job itself may just have taken the node. */
	else if (change->busy_since_us &&
		 is_past(change->busy_since_us, view->snapshot->at_us, DECIDE_BUSY_US))
		unpin(round, change, DECIDE_BUSY);
	else if (is_past(change->at_us, view->now_us, view->pin_wait_us))
		unpin(round, change, DECIDE_WAITED);
	else if (view->now_us >= change->valid_until_us)
		unpin(round, change, DECIDE_EXPIRED);
	else
		keep_for(round, change->nodes);
}

/* Lets a job start anywhere that we have requeued. */
static void
let_start(struct round *round, const struct decide_change *change, enum decide_why why)
{
	struct decide_action *action =
		act(round, SCHED_LET_GO, why, change->job, NULL, NULL);

	if (action)
		action->is_requeued = true;
}

/* Gives a job that we have requeued its new place. */
static void
place_moved(struct round *round, const struct decide_change *change,
	    const struct sched_job *job)
{
	struct decide_action *action = act(round, SCHED_PLACE, DECIDE_PAYS, change->job,
					   change->nodes, DECIDE_MOVED_RECORD);

	if (!action)
		return;
	action->is_requeued = true;
	action->n_restarts = job->n_restarts;
	action->valid_until_us = round->view->now_us + round->view->pin_wait_us;
}

/* A job that waits because we have requeued it. */
static void
watch_stopped(struct round *round, struct decide_change *change,
	      const struct sched_job *job)
{
	const struct decide_view *view = round->view;
	uint32_t n;
	enum fitness fitness =
		fitness_of(view->snapshot, NULL, NULL, change->nodes, &n);

	keep_for(round, change->nodes);
	if (change->at_us < view->started_us)
		let_start(round, change, DECIDE_LEFT);
	else if (mode_for(view, job) != MODE_ENFORCE)
		let_start(round, change, DECIDE_STOPPED);
	else if (change->is_unwanted)
		let_start(round, change, DECIDE_ASKED);
	else if (fitness == FIT_NEVER)
		let_start(round, change, DECIDE_NODE_DOWN);
	else if (is_past(change->at_us, view->now_us, DECIDE_MOVE_WAIT_US))
		let_start(round, change, DECIDE_BUSY);
	else if (fitness == FIT &&
		 is_past(change->done_us, view->snapshot->at_us, DECIDE_STOPPED_US))
		place_moved(round, change, job);
}

/* The watchdog: checks a job that we requeued for a move. */
static void
watch_move(struct round *round, struct decide_change *change,
	   const struct sched_job *job)
{
	const struct decide_view *view = round->view;
	bool is_requeued = job->n_restarts > change->n_restarts;

	if (is_requeued && job->state == SCHED_WAITING) {
		watch_stopped(round, change, job);
	} else if (is_requeued && job->state != SCHED_ENDING) {
		/* The scheduler has started it. */
		change->kind = *change->record ? DECIDE_RECORDED : DECIDE_OVER;
	} else if (change->at_us < view->started_us ||
		   is_past(change->at_us, view->now_us, DECIDE_MOVE_WAIT_US)) {
		/* It was never stopped. */
		change->kind = DECIDE_OVER;
	} else {
		keep_for(round, change->nodes);
	}
}

/* Whether an action is under way, or ended just before this snapshot. */
static bool
is_unsettled(const struct round *round, const struct decide_change *change)
{
	return change->is_under_way ||
	       (change->done_us &&
		!is_past(change->done_us, round->view->snapshot->at_us,
			 DECIDE_SETTLE_US));
}

/* Updates our change of a job by the snapshot. */
static void
watch(struct round *round, struct decide_change *change, const struct sched_job *job)
{
	bool is_waiting = job->state == SCHED_WAITING;

	if (is_unsettled(round, change) || change->kind == DECIDE_OVER) {
		/* The snapshot does not show the pin yet. */
		if (change->kind == DECIDE_PIN || change->kind == DECIDE_MOVE)
			keep_for(round, change->nodes);
		return;
	}
	if (change->kind == DECIDE_MOVE) {
		watch_move(round, change, job);
	} else if (change->kind == DECIDE_PIN && is_waiting && job->is_pinned &&
		   *job->required && !is_same_place(job->required, change->nodes)) {
		change->kind = DECIDE_OVER;
		change->is_users = true;
	} else if (change->kind == DECIDE_PIN && is_waiting && job->is_pinned) {
		watch_pin(round, change, job);
	} else if (change->kind == DECIDE_PIN && is_waiting) {
		/* Requeued, or a user removed the pin: it is left alone. */
		change->kind = DECIDE_OVER;
	} else if (change->kind == DECIDE_PIN) {
		/* It started: only our record is left. */
		change->kind = DECIDE_RECORDED;
	} else if (mode_for(round->view, job) == MODE_OBSERVE || change->is_unwanted) {
		act(round, SCHED_RECORD,
		    change->is_unwanted ? DECIDE_ASKED : DECIDE_STOPPED, change->job,
		    NULL, change->before);
	}
}

static void
watch_all(struct round *round)
{
	for (size_t i = 0; i < round->changes->items.n;) {
		struct decide_change *change = &round->changes->items.items[i];
		const struct sched_job *job =
			sched_find_job(round->view->snapshot, change->job);

		if (job) {
			watch(round, change, job);
			i++;
		} else if (change->is_under_way) {
			i++;
		} else {
			vec_push(&round->actions->forgotten, xstrdup(change->job));
			decide_remove_at(round->changes, i);
		}
	}
}

/* Adds pins that bear our mark but are not in 'changes'. */
static void
adopt(struct round *round)
{
	const struct decide_view *view = round->view;

	for (size_t i = 0; i < view->snapshot->n_jobs; i++) {
		const struct sched_job *job = &view->snapshot->jobs[i];
		struct decide_change *change;

		if (job->state != SCHED_WAITING || !job->is_pinned)
			continue;
		change = decide_find(round->changes, job->id);
		if (change && (change->kind == DECIDE_PIN || change->is_users ||
			       is_unsettled(round, change)))
			continue;
		/* The pin of its last run: it gets another one. */
		if (change && change->kind == DECIDE_MOVE &&
		    change->at_us >= view->started_us)
			continue;
		change = decide_add(round->changes, job->id);
		change->kind = DECIDE_PIN;
		change->at_us = view->is_first ? 0 : view->now_us;
		change->valid_until_us = view->now_us + view->pin_wait_us;
		change->n_failed = 0;
		change->n_restarts = 0;
		decide_set_text(&change->nodes, job->required);
		decide_set_text(&change->record, job->record);
		vec_push(&round->actions->adopted, xstrdup(job->id));
	}
}

/* ---- Waiting jobs ----------------------------------------------------------------- */

static void
place(struct round *round, const struct sched_job *job,
      const struct decide_advice *advice, bool is_urgent)
{
	uint32_t n;
	enum fitness fitness = fitness_of(round->view->snapshot, round->given, NULL,
					  advice->nodes, &n);

	/* Free nodes of an old snapshot may be taken. */
	if (fitness == FIT &&
	    is_past(round->view->snapshot->at_us, round->view->now_us, DECIDE_PLACE_US))
		fitness = FIT_NOT_NOW;
	if (fitness == FIT && n == job->n_nodes) {
		struct decide_action *action =
			act(round, SCHED_PLACE, DECIDE_PLACED, job->id, advice->nodes,
			    advice->record);

		if (action) {
			action->valid_until_us = advice->valid_until_us;
			action->n_restarts = job->n_restarts;
		}
		keep_for(round, advice->nodes);
	} else if (fitness != FIT_NOT_NOW || n != job->n_nodes || is_urgent) {
		/* A place that is taken now may be free in the next snapshot. */
		act(round, SCHED_LET_GO, DECIDE_NO_PLACE, job->id, NULL, NULL);
	}
}

static void
decide_gated(struct round *round, const struct sched_job *job)
{
	const struct decide_view *view = round->view;
	bool is_urgent = job->eligible_us - view->now_us <= DECIDE_MARGIN_US;
	enum mode mode = mode_for(view, job);
	struct decide_change *change = decide_find(round->changes, job->id);
	struct decide_advice advice = { .answer = DECIDE_NO_ANSWER };

	if (mode == MODE_OBSERVE || (change && is_unsettled(round, change)))
		return;
	if (change && change->n_failed >= DECIDE_MAX_FAILED)
		return;
	if (job->n_nodes < 2) {
		act(round, SCHED_LET_GO, DECIDE_ONE_NODE, job->id, NULL, NULL);
		return;
	}
	if (*job->required || change) {
		act(round, SCHED_LET_GO,
		    change ? DECIDE_NOTHING_TOLD : DECIDE_USER_PINNED, job->id, NULL,
		    NULL);
		return;
	}
	view->advice(view->ctx, job, &advice);
	if (advice.answer != DECIDE_NO_ANSWER && advice.valid_until_us <= view->now_us)
		advice.answer = DECIDE_NO_ANSWER;
	if (mode == MODE_ADVISE)
		act(round, SCHED_LET_GO, DECIDE_ADVISING, job->id, NULL, advice.record);
	else if (advice.answer == DECIDE_AT)
		place(round, job, &advice, is_urgent);
	else if (advice.answer == DECIDE_REFUSED)
		act(round, SCHED_LET_GO, DECIDE_THIN, job->id, NULL, advice.record);
	else if (advice.answer == DECIDE_ANYWHERE)
		act(round, SCHED_LET_GO, DECIDE_NO_PLACE, job->id, NULL, advice.record);
	else if (is_urgent)
		act(round, SCHED_LET_GO, DECIDE_NOTHING_TOLD, job->id, NULL, NULL);
}

struct ordered {
	const struct sched_job *job;
};

/* First the jobs whose gate ends soon, then by priority. */
static int
compare_waiting(const void *a, const void *b)
{
	const struct sched_job *x = ((const struct ordered *)a)->job;
	const struct sched_job *y = ((const struct ordered *)b)->job;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->eligible_us != y->eligible_us)
		return x->eligible_us < y->eligible_us ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void
decide_waiting(struct round *round)
{
	const struct sched_snapshot *snapshot = round->view->snapshot;
	VEC(struct ordered) gated = VEC_EMPTY;

	for (size_t i = 0; i < snapshot->n_jobs; i++)
		if (snapshot->jobs[i].state == SCHED_WAITING &&
		    snapshot->jobs[i].is_gated)
			vec_push(&gated, ((struct ordered){ &snapshot->jobs[i] }));
	sort_items(gated.items, gated.n, compare_waiting);
	for (size_t i = 0; i < gated.n; i++)
		decide_gated(round, gated.items[i].job);
	vec_free(&gated);
}

/* ---- Running jobs ----------------------------------------------------------------- */

/* Whether the job may be requeued for nodes that fit. */
static bool
may_move(const struct round *round, const struct sched_job *job)
{
	return !round->is_moving && !round->has_queue &&
	       modes_may_move(round->view->modes, job->partition) && job->is_movable &&
	       job->can_requeue && !*job->features &&
	       (!*job->required || job->is_pinned) && !strpbrk(job->id, "_+") &&
	       !is_past(round->view->snapshot->at_us, round->view->now_us,
			DECIDE_PLACE_US);
}

/* Whether nodes of a move are free, or the job's own. */
static bool
is_move_fit(const struct round *round, const struct sched_job *job, const char *nodes)
{
	struct strtab *own = strtab_new();
	enum fitness fitness;
	const char *why;
	uint32_t n;

	hostlist_expand(job->nodes, DECIDE_MAX_PIN, give, own, &why);
	fitness = fitness_of(round->view->snapshot, round->given, own, nodes, &n);
	strtab_free(own);
	return fitness == FIT && n == job->n_nodes && !is_same_place(nodes, job->nodes);
}

/* Requeues the job for its advised nodes, if that is allowed; true if so. */
static bool
move(struct round *round, const struct sched_job *job,
     const struct decide_advice *advice)
{
	struct decide_action *action;

	if (!advice->move_nodes || !may_move(round, job) ||
	    !is_move_fit(round, job, advice->move_nodes))
		return false;
	round->is_moving = true;
	action = act(round, SCHED_REQUEUE, DECIDE_PAYS, job->id, advice->move_nodes,
		     NULL);
	if (action) {
		action->n_restarts = job->n_restarts;
		action->valid_until_us = advice->valid_until_us;
		action->payback_s = advice->move_payback_s;
	}
	return true;
}

static void
decide_running(struct round *round, const struct sched_job *job)
{
	const struct decide_view *view = round->view;
	struct decide_change *change = decide_find(round->changes, job->id);
	struct decide_advice advice = { .answer = DECIDE_NO_ANSWER };

	if (mode_for(view, job) == MODE_OBSERVE)
		return;
	if (change && (is_unsettled(round, change) || change->is_unwanted ||
		       change->n_failed >= DECIDE_MAX_FAILED ||
		       view->now_us - change->at_us < DECIDE_RECORD_US))
		return;
	view->advice(view->ctx, job, &advice);
	if (advice.valid_until_us > view->now_us && move(round, job, &advice))
		return;
	/* Users also see when there is no advice. */
	if (advice.answer == DECIDE_REFUSED || !advice.record ||
	    advice.valid_until_us <= view->now_us ||
	    strcmp(change ? change->record : "", advice.record) == 0)
		return;
	/* The requests of earlier jobs in the list come first. */
	if (round->n_records++ >= DECIDE_MAX_RECORDS)
		round->actions->n_left++;
	else
		act(round, SCHED_RECORD, DECIDE_TOLD, job->id, NULL, advice.record);
}

/* What forbids moves. */
static void
look_around(struct round *round)
{
	const struct sched_snapshot *snapshot = round->view->snapshot;

	for (size_t i = 0; i < round->changes->items.n; i++)
		round->is_moving |= round->changes->items.items[i].kind == DECIDE_MOVE;
	for (size_t i = 0; i < snapshot->n_jobs; i++)
		round->has_queue |=
			snapshot->jobs[i].is_queued || snapshot->jobs[i].is_gated;
}

void
decide(const struct decide_view *view, struct decide_changes *changes,
       struct decide_actions *ret_actions)
{
	struct round round = { .view = view,
			       .changes = changes,
			       .actions = ret_actions };
	const struct sched_snapshot *snapshot = view->snapshot;

	*ret_actions = (struct decide_actions){ .items = VEC_EMPTY };
	if (!snapshot || view->now_us - snapshot->at_us > DECIDE_MAX_SNAPSHOT_AGE)
		return;
	round.given = strtab_new();
	adopt(&round);
	watch_all(&round);
	look_around(&round);
	if (!view->is_ending) {
		decide_waiting(&round);
		for (size_t i = 0; i < snapshot->n_jobs; i++)
			if (snapshot->jobs[i].state == SCHED_RUNNING)
				decide_running(&round, &snapshot->jobs[i]);
	}
	strtab_free(round.given);
}

void
decide_actions_fini(struct decide_actions *actions)
{
	for (size_t i = 0; i < actions->items.n; i++) {
		free(actions->items.items[i].job);
		free(actions->items.items[i].nodes);
		free(actions->items.items[i].record);
	}
	for (size_t i = 0; i < actions->forgotten.n; i++)
		free(actions->forgotten.items[i]);
	for (size_t i = 0; i < actions->adopted.n; i++)
		free(actions->adopted.items[i]);
	vec_free(&actions->items);
	vec_free(&actions->forgotten);
	vec_free(&actions->adopted);
}
