/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_act_check.c - the driver for Slurm: which changes are sent, by the last poll,
 * and for gated jobs by a query of the job alone.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/daemon/child.h"
#include "scheduler/slurm/slurm_priv.h"

#define MAX_RECORD 900 /* Slurm's own limit is 1024. */
/* Two starts of a job that differ by less are the same. */
#define SAME_START_US INT64_C(1000000)

/* Whether all nodes of a list exist, and their number. */
struct node_check {
	const struct sched_snapshot *snapshot;
	const char *unknown; /* Owned; NULL: all are known. */
	size_t n;
};

static int
check_node(void *ctx, const char *name)
{
	struct node_check *check = ctx;

	check->n++;
	if (sched_find_node(check->snapshot, name))
		return 0;
	check->unknown = xstrdup(name);
	return -ENOENT;
}

static int
check_nodes(struct slurm *slurm, const struct sched_job *job, const char *nodes,
	    struct err *err)
{
	struct node_check check = { .snapshot = &slurm->snapshot };
	const char *why = "it names too many nodes";
	int r;

	if (!nodes || !*nodes)
		return err_set(err, NULL, 0, 0, "job %s: no nodes to place it on",
			       job->id);
	r = hostlist_expand(nodes, SCHED_MAX_NODES, check_node, &check, &why);
	if (r < 0) {
		err_set(err, NULL, 0, 0, "job %s: nodes '%.100s': %s%s", job->id, nodes,
			check.unknown ? "Slurm has no node " : why,
			check.unknown ? check.unknown : "");
		free((char *)check.unknown);
		return -EINVAL;
	}
	/* Slurm would accept it, and the job would wait for ever (BadConstraints). */
	if (check.n > job->n_nodes)
		return err_set(err, NULL, 0, 0,
			       "job %s wants %u nodes, and cannot be placed on %zu",
			       job->id, (unsigned)job->n_nodes, check.n);
	return 0;
}

static int
check_record(const char *record, struct err *err)
{
	size_t n = record ? strlen(record) : 0;

	if (n > MAX_RECORD)
		return err_set(err, NULL, 0, 0,
			       "a record of %zu bytes is longer than %d", n,
			       MAX_RECORD);
	for (size_t i = 0; i < n; i++) {
		if (!isprint((unsigned char)record[i]))
			return err_set(err, NULL, 0, 0,
				       "a record is one line of printable ASCII");
	}
	return 0;
}

/* Whether a running job can be stopped for other nodes, as its user allows. */
static int
check_requeue(const struct sched_job *job, struct err *err)
{
	const char *why = NULL;

	if (job->state != SCHED_RUNNING)
		why = "does not run any more";
	else if (strchr(job->id, '_'))
		why = "is a task of an array";
	else if (!job->is_movable)
		why = "is not marked movable";
	else if (!job->can_requeue)
		why = "cannot be requeued";
	else if (*job->required && !slurm_record_has(job->record, SLURM_PINNED))
		why = "has the nodes that its user asked for";
	return why ? err_set(err, NULL, 0, 0, "job %s %s", job->id, why) : 0;
}

/* Whether the job's state allows it, and its user has not decided otherwise. */
static int
check_job(const struct sched_job *job, enum sched_action_kind kind, struct err *err)
{
	if (kind == SCHED_RECORD)
		return 0;
	if (kind == SCHED_REQUEUE)
		return check_requeue(job, err);
	if (job->state != SCHED_WAITING)
		return err_set(err, NULL, 0, 0,
			       "job %s does not wait any more: it cannot be %s",
			       job->id, kind == SCHED_LET_GO ? "let go" : "moved");
	if (kind == SCHED_LET_GO)
		return 0;
	if (kind == SCHED_UNPIN) {
		if (job->is_pinned)
			return 0;
		err_set(err, NULL, 0, 0, "job %s was not pinned by us", job->id);
		return -EALREADY;
	}
	if (*job->required && !slurm_record_has(job->record, SLURM_PINNED))
		return err_set(err, NULL, 0, 0,
			       "the user of job %s asked for nodes %.200s", job->id,
			       job->required);
	if (kind == SCHED_PREFER && *job->preferred &&
	    !slurm_record_has(job->record, SLURM_PREFERRED))
		return err_set(err, NULL, 0, 0,
			       "the user of job %s prefers nodes with %.200s", job->id,
			       job->preferred);
	return 0;
}

int
slurm_act_check(struct slurm *slurm, const struct sched_action *action,
		const struct sched_job **ret_job, struct err *err)
{
	const struct sched_job *job;
	int r;

	if (!slurm_is_job_id(action->job) &&
	    (action->kind != SCHED_RECORD || !slurm_is_het_id(action->job)))
		return err_set(err, NULL, 0, 0,
			       "'%.40s' is not a job of Slurm that can "
			       "be changed: expected \"4711\" or \"4711_2\"",
			       action->job);
	if (!slurm->snapshot.at_us) {
		err_set(err, NULL, 0, 0, "Slurm has not answered yet");
		return -EAGAIN;
	}
	job = sched_find_job(&slurm->snapshot, action->job);
	if (!job) {
		err_set(err, NULL, 0, 0, "Slurm has no job %s now", action->job);
		return -ENOENT;
	}
	r = check_job(job, action->kind, err);
	if (r == 0)
		r = check_record(action->record, err);
	if (r == 0 && (action->kind == SCHED_PLACE || action->kind == SCHED_PREFER ||
		       action->kind == SCHED_REQUEUE))
		r = check_nodes(slurm, job, action->nodes, err);
	if (r == 0 && action->is_requeued && job->n_restarts == 0)
		r = err_set(err, NULL, 0, 0, "job %s was not requeued", job->id);
	if (r == 0 && action->kind == SCHED_LET_GO && !job->is_gated &&
	    !action->record && !action->is_requeued) {
		err_set(err, NULL, 0, 0, "job %s is not held back", job->id);
		r = -EALREADY;
	}
	*ret_job = job;
	return r;
}

/* ---- Second check ----------------------------------------------------------------- */

bool
slurm_act_asks(const struct slurm_op *op)
{
	return op->starts_now || op->kind == SCHED_REQUEUE;
}

int
slurm_act_ask_job(struct slurm *slurm, struct slurm_op *op,
		  void (*done)(void *ctx, const struct child_result *result), void *ctx,
		  struct err *err)
{
	const char *const words[] = { "-h", "-a", "-r", "-j", op->job, NULL };
	struct strbuf variable = STRBUF_EMPTY;
	int r;

	slurm_draw_mark(op->mark);
	op->asked_us = clk_wall_us();
	slurm_jobs_format(op->mark, &variable);
	r = slurm_run(slurm, "squeue", words, variable.text, done, ctx,
		      &slurm->op_child, err);
	strbuf_free(&variable);
	return r;
}

/*
 * By the gate; or by Slurm, because we have requeued it.  A start that was set since the
 * last poll is its user's wish.
 */
static bool
is_held_back(const struct slurm_op *op, const struct sched_job *job)
{
	if (op->is_requeued)
		return job->n_restarts > 0 &&
		       job->eligible_us <= op->eligible_us + SAME_START_US;
	return job->is_gated;
}

/* Whether the change can be made in the job's present state. */
static int
recheck_job(const struct slurm_op *op, const struct sched_job *job, struct err *err)
{
	if (!job) {
		err_set(err, NULL, 0, 0, "Slurm has no job %s any more", op->job);
		return -ENOENT;
	}
	if (op->kind == SCHED_REQUEUE)
		return check_job(job, op->kind, err) == 0 ? 0 : -ESTALE;
	if (job->state == SCHED_WAITING && is_held_back(op, job) &&
	    check_job(job, op->kind, err) == 0)
		return 0;
	if (job->state != SCHED_WAITING)
		err_set(err, NULL, 0, 0, "it has begun meanwhile");
	else if (!is_held_back(op, job))
		err_set(err, NULL, 0, 0, "it is not held back by the gate any more");
	return op->kind == SCHED_LET_GO ? -EALREADY : -ESTALE;
}

int
slurm_act_recheck(struct slurm_op *op, const char *text, size_t n, struct err *err)
{
	struct sched_snapshot now = { .at_us = op->asked_us };
	int r = slurm_read_jobs(text, n, op->mark, &now, err);

	if (r == 0)
		r = recheck_job(op, sched_find_job(&now, op->job), err);
	sched_snapshot_fini(&now);
	op->is_job_asked = true;
	return r;
}
