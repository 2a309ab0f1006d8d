/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.c - the driver for Slurm: queries of jobs, nodes and switches.
 *
 * A poll runs three commands at once, each with a time limit. Their output is parsed in
 * steps: for 10,000 jobs it is megabytes. While one hangs no other poll begins, so that
 * a slurmctld that does not answer costs three waiting processes, and the loop nothing.
 */
#include "scheduler/slurm/slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/daemon/child.h"
#include "lib/daemon/loop.h"
#include "scheduler/slurm/slurm_priv.h"

#define MS ((int64_t)1000000)

/* The least time between two polls, however often one is requested. */
#define LEAST_PAUSE_NS (100 * MS)

/* The output of a poll is parsed in steps of the loop. */
#define READ_EVERY_NS MS

/* ---- Snapshots ------------------------------------------------------------------- */

static bool
is_polling(const struct slurm *slurm)
{
	return slurm->poll.n_open > 0 || slurm->on_read;
}

static void
forget_poll(struct slurm_poll *poll)
{
	slurm_reader_free(poll->reader);
	poll->reader = NULL;
	sched_snapshot_fini(&poll->snapshot);
	slurm_nodes_fini(&poll->nodes);
	for (int i = 0; i < N_QUERIES; i++)
		strbuf_free(&poll->queries[i].text);
}

static int
read_jobs(struct slurm_poll *poll)
{
	const struct strbuf *text = &poll->queries[QUERY_JOBS].text;
	int r;

	if (!poll->reader)
		poll->reader = slurm_reader_new(text->text, text->length, poll->mark,
						poll->at_us);
	r = slurm_reader_step(poll->reader, &poll->why);
	if (r == 0)
		slurm_reader_take(poll->reader, &poll->snapshot);
	return r;
}

/* As slurm_reader_step(). */
static int
read_some(struct slurm_poll *poll)
{
	const struct strbuf *excluded = &poll->queries[QUERY_EXCLUDED].text;
	const struct strbuf *nodes = &poll->queries[QUERY_NODES].text;

	switch (poll->reading) {
	case READ_JOBS:
		return read_jobs(poll);
	case READ_EXCLUDED:
		return slurm_read_excluded(excluded->text, excluded->length,
					   &poll->snapshot, &poll->why);
	case READ_NODES:
		return slurm_read_nodes(nodes->text, nodes->length, &poll->nodes,
					&poll->why);
	default:
		return 0;
	}
}

static void poll_soon(struct slurm *slurm);

static void
poll_again(struct slurm *slurm)
{
	if (!slurm->is_wanted)
		return;
	slurm->is_wanted = false;
	poll_soon(slurm);
}

static void
take_poll(struct slurm *slurm)
{
	struct slurm_poll *poll = &slurm->poll;

	slurm_nodes_take(&poll->nodes, &poll->snapshot);
	sched_snapshot_fini(&slurm->snapshot);
	slurm_nodes_fini(&slurm->nodes);
	slurm->snapshot = poll->snapshot;
	slurm->nodes = poll->nodes;
	poll->snapshot = (struct sched_snapshot){ .n_jobs = 0 };
	poll->nodes = (struct slurm_nodes){ .n = 0 };
	slurm_act_clean(slurm);
	forget_poll(poll);
	slurm->observer.snapshot(slurm->observer.ctx, &slurm->snapshot, NULL);
}

static void
fail_poll(struct slurm *slurm)
{
	struct err why = slurm->poll.why;

	forget_poll(&slurm->poll);
	slurm->observer.snapshot(slurm->observer.ctx, NULL, why.text);
}

static void
on_read(void *ctx, int64_t now_ns, int64_t missed)
{
	struct slurm *slurm = ctx;
	struct slurm_poll *poll = &slurm->poll;
	int r;

	(void)now_ns;
	(void)missed;
	loop_part(slurm->loop, "slurm");
	r = read_some(poll);
	if (r > 0)
		return;
	if (r == 0 && poll->reading++ < READ_OVER)
		return;
	loop_remove(slurm->loop, slurm->on_read);
	slurm->on_read = NULL;
	if (r < 0)
		fail_poll(slurm);
	else
		take_poll(slurm);
	poll_again(slurm);
}

/* All commands of the poll have ended. */
static void
finish_poll(struct slurm *slurm)
{
	struct slurm_poll *poll = &slurm->poll;

	if (poll->why.text[0]) {
		fail_poll(slurm);
		poll_again(slurm);
		return;
	}
	poll->snapshot.at_us = poll->at_us;
	poll->reading = READ_JOBS;
	slurm->on_read = loop_every(slurm->loop, READ_EVERY_NS, on_read, slurm);
}

static void
query_done(struct slurm_query *query, const struct err *why)
{
	struct slurm *slurm = query->slurm;
	struct slurm_poll *poll = &slurm->poll;

	query->child = NULL;
	if (why && !poll->why.text[0])
		poll->why = *why;
	if (--poll->n_open == 0)
		finish_poll(slurm);
}

static void
on_query(void *ctx, const struct child_result *result)
{
	struct slurm_query *query = ctx;

	if (!result->why)
		strbuf_add(&query->text, result->text, result->n);
	query_done(query, result->why);
}

/*
 * Starts the command of one query; one that cannot be started ends at once. Tasks of
 * arrays are listed one by one ("-r"), since a placed one is not visible in the row of
 * its array.
 */
static void
start_query(struct slurm *slurm, enum slurm_query_kind kind)
{
	static const char *const jobs[] = { "-h", "-a", "-r", NULL };
	static const char *const excluded[] = {
		"-h", "-a", "-r", "-t", "PD,R", "-o", SLURM_EXCLUDED_FORMAT, NULL,
	};
	static const char *const nodes[] = { "-h", "-a", "-N", "-o", SLURM_NODES_FORMAT,
					     NULL };
	static const char *const *const words[] = { jobs, excluded, nodes };
	struct slurm_query *query = &slurm->poll.queries[kind];
	struct strbuf variable = STRBUF_EMPTY;
	struct err err = { .line = 0 };

	*query = (struct slurm_query){ .slurm = slurm, .text = STRBUF_EMPTY };
	if (kind == QUERY_JOBS)
		slurm_jobs_format(slurm->poll.mark, &variable);
	if (slurm_run(slurm, kind == QUERY_NODES ? "sinfo" : "squeue", words[kind],
		      variable.length ? variable.text : NULL, on_query, query,
		      &query->child, &err) < 0)
		query_done(query, &err);
	strbuf_free(&variable);
}

static void
start_poll(struct slurm *slurm)
{
	struct slurm_poll *poll = &slurm->poll;

	*poll = (struct slurm_poll){ .n_open = N_QUERIES,
				     .started_ns = clk_monotonic_ns(),
				     .at_us = clk_wall_us() };
	slurm_draw_mark(poll->mark);
	for (int i = 0; i < N_QUERIES; i++)
		start_query(slurm, (enum slurm_query_kind)i);
}

/* A killed command that does not end: Slurm's files are on a dead server. */
static void
tell_if_stuck(struct slurm *slurm, int64_t now_ns)
{
	struct slurm_poll *poll = &slurm->poll;

	if (poll->is_told || now_ns < poll->started_ns + slurm->timeout_ns + 2000 * MS)
		return;
	poll->is_told = true;
	slurm->observer.snapshot(slurm->observer.ctx, NULL,
				 "Slurm's commands hang, and cannot be killed: is the "
				 "file system of slurm.conf there?");
}

static void
on_poll(void *ctx, int64_t now_ns, int64_t missed)
{
	struct slurm *slurm = ctx;

	(void)missed;
	slurm_act_pump(slurm);
	if (slurm->poll.n_open > 0)
		tell_if_stuck(slurm, now_ns);
	else if (!slurm->on_read)
		start_poll(slurm);
}

static void
on_soon(void *ctx, int64_t now_ns, int64_t missed)
{
	struct slurm *slurm = ctx;

	(void)now_ns;
	(void)missed;
	loop_remove(slurm->loop, slurm->on_soon);
	slurm->on_soon = NULL;
	if (is_polling(slurm))
		slurm->is_wanted = true;
	else
		start_poll(slurm);
}

/* Polls as soon as LEAST_PAUSE_NS allows. */
static void
poll_soon(struct slurm *slurm)
{
	int64_t pause_ns = slurm->poll.started_ns + LEAST_PAUSE_NS - clk_monotonic_ns();

	if (slurm->on_soon)
		return;
	slurm->on_soon =
		loop_every(slurm->loop, pause_ns > MS ? pause_ns : MS, on_soon, slurm);
}

static void
poll_now(struct sched_driver *driver)
{
	struct slurm *slurm = (struct slurm *)driver;

	if (is_polling(slurm))
		slurm->is_wanted = true;
	else
		poll_soon(slurm);
}

/* ---- Switches -------------------------------------------------------------------- */

static void
on_topology(void *ctx, const struct child_result *result)
{
	struct slurm *slurm = ctx;
	struct strbuf conf = STRBUF_EMPTY;
	struct err why = { .line = 0 };
	bool is_ok = false;

	slurm->topology_child = NULL;
	if (result->why)
		why = *result->why;
	else
		is_ok = slurm_topology_conf(result->text, result->n, &conf, &why) == 0;
	slurm->topology_done(slurm->topology_ctx, is_ok ? conf.text : NULL,
			     is_ok ? NULL : why.text);
	strbuf_free(&conf);
}

int
slurm_topology(struct sched_driver *driver,
	       void (*done)(void *ctx, const char *text, const char *why), void *ctx)
{
	struct slurm *slurm = (struct slurm *)driver;
	static const char *const words[] = { "show", "topology", NULL };

	if (slurm->topology_child)
		return -EBUSY;
	slurm->topology_done = done;
	slurm->topology_ctx = ctx;
	return slurm_run(slurm, "scontrol", words, NULL, on_topology, slurm,
			 &slurm->topology_child, NULL);
}

/* ---- Beginning and end ----------------------------------------------------------- */

static void
on_version(void *ctx, const struct child_result *result)
{
	struct slurm *slurm = ctx;

	slurm->version = result->why ? 0 : slurm_version(result->text);
}

/* Whether Slurm's commands exist, and their version; this does not need slurmctld. */
static int
find_version(struct slurm *slurm, struct err *err)
{
	char *path = xasprintf("%s%sscontrol", slurm->bindir ? slurm->bindir : "",
			       slurm->bindir ? "/" : "");
	const char *argv[] = { path, "-V", NULL };
	const struct child_opts opts = { .argv = argv,
					 .envp = slurm->env.items,
					 .timeout_ns = 2000 * MS,
					 .max_bytes = 4096,
					 .done = on_version,
					 .ctx = slurm };
	int r;

	slurm->env.items[slurm->env.n - 2] = NULL;
	r = child_run(&opts, err);
	free(path);
	if (r < 0) {
		err_append(err, slurm->bindir ? "; is slurm_bindir right?"
					      : "; say where by slurm_bindir");
		return r;
	}
	if (slurm->version && slurm->version < 2205)
		log_warn("slurm", "Slurm %u.%02u is older than what was tested (22.05)",
			 slurm->version / 100, slurm->version % 100);
	return 0;
}

static void
close_driver(struct sched_driver *driver)
{
	struct slurm *slurm = (struct slurm *)driver;

	if (slurm->on_poll)
		loop_remove(slurm->loop, slurm->on_poll);
	if (slurm->on_soon)
		loop_remove(slurm->loop, slurm->on_soon);
	if (slurm->on_read)
		loop_remove(slurm->loop, slurm->on_read);
	for (int i = 0; i < N_QUERIES; i++)
		child_free(slurm->poll.queries[i].child);
	forget_poll(&slurm->poll);
	child_free(slurm->topology_child);
	slurm_act_close(slurm);
	sched_snapshot_fini(&slurm->snapshot);
	slurm_nodes_fini(&slurm->nodes);
	for (size_t i = 0; i + 2 < slurm->env.n; i++)
		free((char *)slurm->env.items[i]);
	vec_free(&slurm->env);
	free(slurm->bindir);
	free(slurm);
}

static const struct sched_driver_ops ops = {
	.kind = "slurm",
	.poll = poll_now,
	.act = slurm_act,
	.close = close_driver,
};

int
slurm_open(struct loop *loop, const struct slurm_opts *opts,
	   const struct sched_observer *observer, struct sched_driver **ret_driver,
	   struct err *err)
{
	struct slurm *slurm = xcalloc(1, sizeof *slurm);
	int r;

	slurm->base.ops = &ops;
	slurm->loop = loop;
	slurm->observer = *observer;
	slurm->bindir = opts->bindir ? xstrdup(opts->bindir) : NULL;
	slurm->poll_ns = (opts->poll_ms ? opts->poll_ms : 1000) * MS;
	slurm->timeout_ns = (opts->timeout_ms ? opts->timeout_ms : 5000) * MS;
	slurm_make_env(slurm);
	r = find_version(slurm, err);
	if (r < 0) {
		close_driver(&slurm->base);
		return r;
	}
	slurm->on_poll = loop_every(loop, slurm->poll_ns, on_poll, slurm);
	poll_now(&slurm->base);
	*ret_driver = &slurm->base;
	return 0;
}

unsigned
slurm_driver_version(const struct sched_driver *driver)
{
	return ((const struct slurm *)driver)->version;
}

bool
slurm_is_changing(const struct sched_driver *driver)
{
	return ((const struct slurm *)driver)->ops.n > 0;
}
