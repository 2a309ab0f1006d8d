/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_act.c - the driver for Slurm: changes.
 *
 * Each is one 'scontrol update' of the job, so that Slurm applies all of it or nothing.
 * Only PREFER first gives the nodes a feature, "AP" and the job's id, which is removed
 * when the job has started. A gated job is queried once more, alone, before its change,
 * so that a start time or nodes that its user gave since the last poll are kept. So is a
 * job before REQUEUE ('scontrol requeue'), and when it gets its place afterwards. One
 * command runs at a time, so that changes of a job are made in the order of their
 * requests.
 *
 * Our changes to a job are marked in its record (AdminComment, which users cannot
 * change): ";pinned" or ";preferred" behind the caller's text. So another run of the
 * daemon knows which pins are ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/daemon/child.h"
#include "scheduler/slurm/slurm_priv.h"

static const char *const kind_names[] = { "place",  "prefer", "let go",
					  "un-pin", "record", "requeue" };

/* ---- Records --------------------------------------------------------------------- */

static bool
is_word(const char *text, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(text, word, n) == 0;
}

/* The record without our marks, or with one of them. A new string. */
static char *
marked_record(const char *record, const char *mark)
{
	struct strbuf out = STRBUF_EMPTY;

	if (strncmp(record, SLURM_GATE_RECORD, strlen(SLURM_GATE_RECORD)) == 0)
		record = "";
	while (*record) {
		size_t n = strcspn(record, ";");

		if (!is_word(record, n, SLURM_PINNED) &&
		    !is_word(record, n, SLURM_PREFERRED)) {
			strbuf_puts(&out, out.length ? ";" : "");
			strbuf_add(&out, record, n);
		}
		record += n + (record[n] == ';');
	}
	if (mark && !out.length)
		strbuf_puts(&out, "antiphase:v1");
	if (mark)
		strbuf_printf(&out, ";%s", mark);
	return strbuf_steal(&out);
}

/* The record to write for an action; NULL: none. */
static char *
new_record(const struct sched_job *job, const struct sched_action *action)
{
	const char *record = action->record ? action->record : job->record;

	switch (action->kind) {
	case SCHED_PLACE:
		return marked_record(record, SLURM_PINNED);
	case SCHED_PREFER:
		return marked_record(record, SLURM_PREFERRED);
	case SCHED_UNPIN:
		return marked_record(record, NULL);
	case SCHED_LET_GO:
		if (!action->record)
			return NULL;
		break;
	case SCHED_RECORD:
		break;
	case SCHED_REQUEUE:
		return NULL;
	}
	/* The mark stays. */
	if (slurm_record_has(job->record, SLURM_PINNED))
		return marked_record(record, SLURM_PINNED);
	if (slurm_record_has(job->record, SLURM_PREFERRED))
		return marked_record(record, SLURM_PREFERRED);
	return marked_record(record, NULL);
}

/* ---- Asking ---------------------------------------------------------------------- */

static void
free_change(struct slurm_change *change)
{
	free(change->nodes);
	free(change->available);
	free(change->active);
}

static void
free_op(struct slurm_op *op)
{
	for (size_t i = 0; i < op->changes.n; i++)
		free_change(&op->changes.items[i]);
	vec_free(&op->changes);
	free(op->job);
	free(op->nodes);
	free(op->record);
	free(op);
}

static bool start_command(struct slurm *slurm, struct slurm_op *op, struct err *err);

int
slurm_act(struct sched_driver *driver, const struct sched_action *action,
	  uint64_t *ret_ticket, struct err *err)
{
	struct slurm *slurm = (struct slurm *)driver;
	const struct sched_job *job = NULL;
	struct slurm_op *op;
	int r = slurm_act_check(slurm, action, &job, err);

	if (r < 0)
		return r;
	if (slurm->ops.n >= SLURM_MAX_ACTIONS) {
		err_set(err, NULL, 0, 0, "%zu changes wait for Slurm already",
			slurm->ops.n);
		return -EBUSY;
	}
	op = xcalloc(1, sizeof *op);
	op->kind = action->kind;
	op->ticket = ++slurm->last_ticket;
	op->job = xstrdup(action->job);
	op->nodes = action->nodes ? xstrdup(action->nodes) : NULL;
	op->record = new_record(job, action);
	op->is_requeued = action->is_requeued;
	op->eligible_us = job->eligible_us;
	op->starts_now = (job->is_gated || op->is_requeued) &&
			 (action->kind == SCHED_PLACE || action->kind == SCHED_PREFER ||
			  action->kind == SCHED_LET_GO);
	op->was_placed = slurm_record_has(job->record, SLURM_PINNED);
	op->was_preferred = slurm_record_has(job->record, SLURM_PREFERRED);
	vec_push(&slurm->ops, op);
	*ret_ticket = op->ticket;
	/* A failed start is reported from the loop. */
	if (slurm->ops.n == 1)
		start_command(slurm, op, NULL);
	return 0;
}

/* ---- Commands -------------------------------------------------------------------- */

/* In the order in which they run. */
enum command {
	ASK_JOB,      /* Is it as it was? */
	ASK_NODES,    /* PREFER: the present features of the nodes. */
	CHANGE_NODES, /* One for each item of 'changes'. */
	CHANGE_JOB,
};

static enum command
next_command(const struct slurm_op *op)
{
	if (slurm_act_asks(op) && !op->is_job_asked)
		return ASK_JOB;
	if (op->kind == SCHED_PREFER && !op->is_cleaning && !op->are_nodes_asked)
		return ASK_NODES;
	return op->n_changed < op->changes.n ? CHANGE_NODES : CHANGE_JOB;
}

static void on_command(void *ctx, const struct child_result *result);

static int
ask_nodes(struct slurm *slurm, const struct slurm_op *op, struct err *err)
{
	const char *const words[] = {
		"-h", "-a", "-N", "-n", op->nodes, "-o", SLURM_NODES_FORMAT, NULL
	};

	return slurm_run(slurm, "sinfo", words, NULL, on_command, slurm,
			 &slurm->op_child, err);
}

#define MAX_UPDATE 6

/* 'scontrol update' and its words, which are owned. */
struct update {
	const char *words[MAX_UPDATE + 1];
	size_t n;
};

static void
update_add(struct update *update, const char *key, const char *value)
{
	BUG_ON(update->n == MAX_UPDATE);
	update->words[update->n++] = xasprintf("%s%s", key, value);
}

static void
update_fini(struct update *update)
{
	for (size_t i = 0; i < update->n; i++)
		free((char *)update->words[i]);
}

/* The one command that changes the job. */
static void
job_update(const struct slurm_op *op, struct update *update)
{
	char *feature = xasprintf(SLURM_FEATURE "%s", op->job);
	bool places = op->kind == SCHED_PLACE, prefers = op->kind == SCHED_PREFER;
	bool undoes = places || prefers || op->kind == SCHED_UNPIN;

	if (op->kind == SCHED_REQUEUE) {
		update_add(update, "requeue", "");
		update_add(update, op->job, "");
		free(feature);
		return;
	}
	update_add(update, "update", "");
	update_add(update, "jobid=", op->job);
	if (places || (undoes && op->was_placed))
		update_add(update, "ReqNodeList=", places ? op->nodes : "");
	if (prefers || (undoes && op->was_preferred))
		update_add(update, "Prefer=", prefers ? feature : "");
	free(feature);
	if (op->starts_now)
		update_add(update, "StartTime=", "now");
	if (op->record)
		update_add(update, "AdminComment=", op->record);
}

static void
node_update(const struct slurm_change *change, struct update *update)
{
	update_add(update, "update", "");
	update_add(update, "nodename=", change->nodes);
	update_add(update, "AvailableFeatures=", change->available);
	update_add(update, "ActiveFeatures=", change->active);
}

/* Runs the next command of the first change; false if it could not be started. */
static bool
start_command(struct slurm *slurm, struct slurm_op *op, struct err *err)
{
	struct update update = { .n = 0 };
	int r;

	switch (next_command(op)) {
	case ASK_JOB:
		return slurm_act_ask_job(slurm, op, on_command, slurm, err) == 0;
	case ASK_NODES:
		return ask_nodes(slurm, op, err) == 0;
	case CHANGE_NODES:
		node_update(&op->changes.items[op->n_changed], &update);
		break;
	case CHANGE_JOB:
		job_update(op, &update);
		break;
	}
	r = slurm_run(slurm, "scontrol", update.words, NULL, on_command, slurm,
		      &slurm->op_child, err);
	update_fini(&update);
	return r == 0;
}

/* Updates our own copy of the job until the next poll. */
static void
update_view(struct slurm *slurm, const struct slurm_op *op)
{
	struct sched_job *job =
		(struct sched_job *)sched_find_job(&slurm->snapshot, op->job);
	bool undoes = op->kind == SCHED_PREFER || op->kind == SCHED_UNPIN;

	if (!job)
		return;
	if (op->record) {
		free(job->record);
		job->record = xstrdup(op->record);
	}
	if (op->kind == SCHED_PLACE || (op->was_placed && undoes)) {
		free(job->required);
		job->required = xstrdup(op->kind == SCHED_PLACE ? op->nodes : "");
	}
	job->is_pinned = slurm_record_has(job->record, SLURM_PINNED) ||
			 slurm_record_has(job->record, SLURM_PREFERRED);
	if (op->starts_now)
		job->is_gated = false;
}

/* Ends the first change, reports it, and polls again. */
static void
finish_op(struct slurm *slurm, int rc, const char *why)
{
	struct slurm_op *op = slurm->ops.items[0];

	slurm->op_ended_ns = clk_monotonic_ns();
	slurm->ops.n--;
	memmove(slurm->ops.items, slurm->ops.items + 1,
		slurm->ops.n * sizeof *slurm->ops.items);
	if (op->is_cleaning) {
		if (rc < 0)
			log_warn("slurm", "features of nodes stay for now: %s", why);
	} else {
		if (rc == -EALREADY || rc == -ESTALE)
			log_info("slurm", "job %s: nothing to %s any more: %s", op->job,
				 kind_names[op->kind], why);
		else if (rc < 0)
			log_warn("slurm", "job %s: cannot %s: %s", op->job,
				 kind_names[op->kind], why);
		else
			update_view(slurm, op);
		sched_poll(&slurm->base);
		slurm->observer.done(slurm->observer.ctx, op->ticket, rc, why);
	}
	free_op(op);
}

/*
 * Whether Slurm's answer says that the job has begun meanwhile, so that nothing is left
 * to undo. For a running job Slurm takes a list of nodes as those to shrink it to, and
 * an empty list as an unknown node.
 */
static bool
is_begun(const struct slurm_op *op, const char *said)
{
	if (op->is_cleaning)
		return false;
	if (op->kind == SCHED_UNPIN && strcasestr(said, "invalid node name"))
		return true;
	return (op->kind == SCHED_UNPIN || op->kind == SCHED_LET_GO) &&
	       strcasestr(said, "no longer pending");
}

/* An errno for Slurm's answer. */
static int
read_refusal(const struct slurm_op *op, const struct child_result *result)
{
	if (is_begun(op, result->said))
		return -EALREADY;
	if (strcasestr(result->said, "denied") ||
	    strcasestr(result->said, "permission"))
		return -EACCES;
	if (strcasestr(result->said, "invalid job id"))
		return -ENOENT;
	if (result->status < 0)
		return -ETIMEDOUT;
	return -EIO;
}

/* Adds a node to the change with the same features, or to a new change. */
static void
add_change(struct slurm_op *op, const char *node, const char *available,
	   const char *active)
{
	for (size_t i = 0; i < op->changes.n; i++) {
		struct slurm_change *change = &op->changes.items[i];
		char *nodes;

		if (strcmp(change->available, available) != 0 ||
		    strcmp(change->active, active) != 0)
			continue;
		nodes = xasprintf("%s,%s", change->nodes, node);
		free(change->nodes);
		change->nodes = nodes;
		return;
	}
	vec_push(&op->changes, ((struct slurm_change){ .nodes = xstrdup(node),
						       .available = xstrdup(available),
						       .active = xstrdup(active) }));
}

/* Reads the present features of the nodes, and makes the changes to them. */
static int
plan_features(struct slurm_op *op, const char *text, size_t n, struct err *err)
{
	struct strbuf available = STRBUF_EMPTY, active = STRBUF_EMPTY;
	char *feature = xasprintf(SLURM_FEATURE "%s", op->job);
	struct slurm_nodes nodes;
	int r = slurm_read_nodes(text, n, &nodes, err);

	for (size_t i = 0; r == 0 && i < nodes.n; i++) {
		const struct slurm_features *had = &nodes.features[i];

		strbuf_clear(&available);
		strbuf_clear(&active);
		slurm_features_with(had->available, feature, &available);
		slurm_features_with(had->active, feature, &active);
		add_change(op, had->node, available.text, active.text);
	}
	if (r == 0)
		slurm_nodes_fini(&nodes);
	strbuf_free(&available);
	strbuf_free(&active);
	free(feature);
	op->are_nodes_asked = true;
	return r;
}

/* A command has ended well: goes on to the next one, or ends the change. */
static int
take_answer(struct slurm_op *op, const struct child_result *result, bool *ret_is_over,
	    struct err *err)
{
	*ret_is_over = false;
	switch (next_command(op)) {
	case ASK_JOB:
		return slurm_act_recheck(op, result->text, result->n, err);
	case ASK_NODES:
		return plan_features(op, result->text, result->n, err);
	case CHANGE_NODES:
		*ret_is_over = ++op->n_changed == op->changes.n && op->is_cleaning;
		return 0;
	case CHANGE_JOB:
		*ret_is_over = true;
		return 0;
	}
	return 0;
}

static void
on_command(void *ctx, const struct child_result *result)
{
	struct slurm *slurm = ctx;
	struct slurm_op *op = slurm->ops.items[0];
	struct err err = { .line = 0 };
	bool is_over = false;
	int rc;

	slurm->op_child = NULL;
	if (result->why) {
		rc = read_refusal(op, result);
		err = *result->why;
	} else {
		rc = take_answer(op, result, &is_over, &err);
	}
	if (rc == 0 && !is_over) {
		if (start_command(slurm, op, &err))
			return;
		rc = -EIO;
	}
	finish_op(slurm, rc, rc < 0 ? err.text : NULL);
	slurm_act_pump(slurm);
}

void
slurm_act_pump(struct slurm *slurm)
{
	while (!slurm->op_child && slurm->ops.n > 0) {
		struct err err = { .line = 0 };

		if (!start_command(slurm, slurm->ops.items[0], &err))
			finish_op(slurm, -EIO, err.text);
	}
}

/* ---- Cleaning -------------------------------------------------------------------- */

/* Whether this is one of our features and no job waits for it any more. */
static bool
is_stale(const struct slurm *slurm, const char *feature)
{
	const char *id = slurm_feature_job(feature);
	const struct sched_job *job = id ? sched_find_job(&slurm->snapshot, id) : NULL;

	return id && (!job || job->state != SCHED_WAITING ||
		      !slurm_record_has(job->record, SLURM_PREFERRED));
}

/* Appends the list without stale features; returns whether there were any. */
static bool
clean_list(const struct slurm *slurm, const char *list, struct strbuf *out)
{
	char *rest = xstrdup(list);
	bool is_changed = false;

	while (*list) {
		size_t n = strcspn(list, ",");
		char *feature = xstrndup(list, n);

		if (is_stale(slurm, feature)) {
			struct strbuf less = STRBUF_EMPTY;

			slurm_features_without(rest, feature, &less);
			free(rest);
			rest = strbuf_steal(&less);
			is_changed = true;
		}
		free(feature);
		list += n + (list[n] == ',');
	}
	strbuf_puts(out, rest);
	free(rest);
	return is_changed;
}

void
slurm_act_clean(struct slurm *slurm)
{
	struct strbuf available = STRBUF_EMPTY, active = STRBUF_EMPTY;
	struct slurm_op *op;

	/* A change under way, or just done, is newer than the poll. */
	if (slurm->ops.n > 0 || slurm->poll.started_ns <= slurm->op_ended_ns)
		return;
	op = xcalloc(1, sizeof *op);
	op->is_cleaning = true;
	for (size_t i = 0; i < slurm->nodes.n; i++) {
		const struct slurm_features *had = &slurm->nodes.features[i];
		bool is_changed;

		strbuf_clear(&available);
		strbuf_clear(&active);
		is_changed = clean_list(slurm, had->available, &available);
		is_changed |= clean_list(slurm, had->active, &active);
		if (is_changed)
			add_change(op, had->node, available.text, active.text);
	}
	strbuf_free(&available);
	strbuf_free(&active);
	if (!op->changes.n) {
		free_op(op);
		return;
	}
	vec_push(&slurm->ops, op);
	slurm_act_pump(slurm);
}

void
slurm_act_close(struct slurm *slurm)
{
	child_free(slurm->op_child);
	for (size_t i = 0; i < slurm->ops.n; i++)
		free_op(slurm->ops.items[i]);
	vec_free(&slurm->ops);
}
