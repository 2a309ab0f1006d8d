/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/slurm/slurm_release.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "scheduler/slurm/slurm.h"
#include "scheduler/slurm/slurm_text.h"

#define MS ((int64_t)1000000)

#define DEFAULT_LIMIT_MS 8000
#define LOOK_MS          200 /* Between snapshots. Slurm may just be starting. */
#define MAX_ASKED        2   /* Attempts at one job. */
/* The last command of a daemon that was killed may run for this long. */
#define LAST_WORDS_US (500 * (int64_t)1000)

struct release {
	const struct slurm_release_opts *opts;
	struct loop *loop;
	struct sched_driver *driver;
	struct slurm_releases *releases;
	size_t n_under_way;
	int64_t done_us;         /* Of the last action; a snapshot must be younger. */
	int64_t until_us;        /* Snapshots are taken until then. */
	int64_t silent_until_ns; /* Then it gives up; each answer moves it on. */
	bool is_answered;
	char *why; /* Owned. Why Slurm did not answer. */
};

static int64_t
limit_ms(const struct slurm_release_opts *opts)
{
	return opts->limit_ms ? opts->limit_ms : DEFAULT_LIMIT_MS;
}

static int64_t
silent_ms(const struct slurm_release_opts *opts)
{
	return opts->silent_ms ? opts->silent_ms : limit_ms(opts);
}

/* The action that takes back our change of a job; false: none. */
static bool
is_ours(const struct release *r, const struct sched_job *job,
	enum sched_action_kind *ret_kind)
{
	*ret_kind = job->is_pinned ? SCHED_UNPIN : SCHED_LET_GO;
	if (job->state != SCHED_WAITING || !slurm_is_job_id(job->id))
		return false;
	return job->is_pinned || (job->is_gated && !r->opts->keeps_gates);
}

static struct slurm_released *
item_of(struct release *r, const char *job, enum sched_action_kind kind)
{
	for (size_t i = 0; i < r->releases->items.n; i++) {
		struct slurm_released *item = &r->releases->items.items[i];

		if (item->kind == kind && strcmp(item->job, job) == 0)
			return item;
	}
	vec_push(&r->releases->items,
		 ((struct slurm_released){ .job = xstrdup(job), .kind = kind }));
	return &r->releases->items.items[r->releases->items.n - 1];
}

static void
note(struct slurm_released *item, int rc, const char *why)
{
	/* Another process did it first. */
	if (rc == -EALREADY || rc == -ENOENT)
		rc = 0;
	item->rc = rc;
	free(item->why);
	item->why = rc < 0 ? xstrdup(why ? why : strerror(-rc)) : NULL;
}

/* False if no further action fits now. */
static bool
ask(struct release *r, const struct sched_job *job, enum sched_action_kind kind)
{
	struct slurm_released *item = item_of(r, job->id, kind);
	const struct sched_action action = { .kind = kind,
					     .job = job->id,
					     .record = SLURM_RELEASED_RECORD };
	struct err err = { .line = 0 };
	int rc;

	if (item->is_under_way || item->n_asked >= MAX_ASKED)
		return true;
	if (r->opts->is_dry) {
		item->n_asked = MAX_ASKED;
		return true;
	}
	rc = sched_act(r->driver, &action, &item->ticket, &err);
	if (rc == -EBUSY)
		return false;
	item->n_asked++;
	if (rc < 0) {
		note(item, rc, err.text);
	} else {
		item->is_under_way = true;
		r->n_under_way++;
	}
	return true;
}

static void
on_snapshot(void *ctx, const struct sched_snapshot *snapshot, const char *why)
{
	struct release *r = ctx;
	enum sched_action_kind kind;
	bool is_all = true;

	if (r->opts->is_taken_over && r->opts->is_taken_over(r->opts->ctx)) {
		loop_stop(r->loop, -ECANCELED);
		return;
	}
	if (!snapshot) {
		free(r->why);
		r->why = xstrdup(why);
		if (clk_monotonic_ns() >= r->silent_until_ns)
			loop_stop(r->loop, -ETIMEDOUT);
		return;
	}
	r->is_answered = true;
	r->silent_until_ns = clk_monotonic_ns() + silent_ms(r->opts) * MS;
	/* A task of an array becomes visible when the one before it is done. */
	if (r->n_under_way || snapshot->at_us <= r->done_us)
		return;
	for (size_t i = 0; is_all && i < snapshot->n_jobs; i++)
		if (is_ours(r, &snapshot->jobs[i], &kind))
			is_all = ask(r, &snapshot->jobs[i], kind);
	/* Unused features of nodes are also being removed. */
	if (!r->n_under_way && !slurm_is_changing(r->driver) &&
	    snapshot->at_us >= r->until_us)
		loop_stop(r->loop, 0);
}

static void
on_done(void *ctx, uint64_t ticket, int rc, const char *why)
{
	struct release *r = ctx;

	r->done_us = clk_wall_us();
	for (size_t i = 0; i < r->releases->items.n; i++) {
		struct slurm_released *item = &r->releases->items.items[i];

		if (!item->is_under_way || item->ticket != ticket)
			continue;
		item->is_under_way = false;
		r->n_under_way--;
		note(item, rc, why);
	}
}

static void
on_limit(void *ctx, int64_t now_ns, int64_t missed)
{
	struct release *r = ctx;

	(void)now_ns;
	(void)missed;
	loop_stop(r->loop, -ETIMEDOUT);
}

int
slurm_release(const struct slurm_release_opts *opts,
	      struct slurm_releases *ret_releases, struct err *err)
{
	struct release r = { .opts = opts, .releases = ret_releases };
	const struct sched_observer observer = { &r, on_snapshot, on_done };
	struct slurm_opts slurm = opts->slurm;
	int rc;

	*ret_releases = (struct slurm_releases){ VEC_EMPTY };
	r.silent_until_ns = clk_monotonic_ns() + silent_ms(opts) * MS;
	r.until_us = opts->is_dry ? 0 : clk_wall_us() + LAST_WORDS_US;
	slurm.poll_ms = slurm.poll_ms ? slurm.poll_ms : LOOK_MS;
	r.loop = loop_new();
	rc = slurm_open(r.loop, &slurm, &observer, &r.driver, err);
	if (rc == 0) {
		loop_every(r.loop, limit_ms(opts) * MS, on_limit, &r);
		rc = loop_run(r.loop);
		if (rc == -ECANCELED)
			err_set(err, NULL, 0, 0, "a daemon is running and does it");
		else if (rc < 0 && r.is_answered)
			err_set(err, NULL, 0, 0,
				"not all was taken back within %g s: run it again",
				(double)limit_ms(opts) / 1000);
		else if (rc < 0)
			err_set(err, NULL, 0, 0, "Slurm does not answer: %s",
				r.why ? r.why : "its commands take too long");
	}
	for (size_t i = 0; i < ret_releases->items.n; i++)
		if (ret_releases->items.items[i].is_under_way)
			note(&ret_releases->items.items[i], -ETIMEDOUT,
			     "there was no answer in time");
	sched_close(r.driver);
	loop_free(r.loop);
	free(r.why);
	return rc;
}

void
slurm_releases_fini(struct slurm_releases *releases)
{
	for (size_t i = 0; i < releases->items.n; i++) {
		free(releases->items.items[i].job);
		free(releases->items.items[i].why);
	}
	vec_free(&releases->items);
}
