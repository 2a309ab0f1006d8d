/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_probe.c - commands of the Slurm driver by hand, for the tests slurm_*.sh
 *
 *	slurm_probe look                      one snapshot, as JSON
 *	slurm_probe topology                  Slurm's switches as a topology.conf
 *	slurm_probe place JOB NODES [RECORD]  and prefer, let-go, un-pin, record
 *	slurm_probe watch SECONDS             a line for each snapshot, and for each tick
 *	                                      of 10 ms that was late
 *
 * A change ends with "done", "refused: WHY" (nothing was sent; status 2) or "failed:
 * WHY" (status 1).  It waits for the first snapshot after the change, so that clean-up
 * has run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "lib/daemon/loop.h"
#include "scheduler/slurm/slurm.h"

#define MS 1000000

static const char *const actions[] = { "place",  "prefer", "let-go",
				       "un-pin", "record", NULL };
static const char *const job_states[] = { "waiting", "starting", "running", "ending" };
static const char *const node_states[] = { "free", "mixed", "taken", "down" };

struct probe {
	struct loop *loop;
	struct sched_driver *driver;
	int argc;
	char **argv;
	int action; /* -1: none. */
	bool is_asked, is_done;
	int64_t last_tick_ns, until_ns;
};

static void
put_job(struct jsonw *w, const struct sched_job *job)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "id", job->id);
	jsonw_str(w, "local_id", job->local_id);
	jsonw_str(w, "state", job_states[job->state]);
	jsonw_int(w, "n_nodes", job->n_nodes);
	jsonw_str(w, "nodes", job->nodes);
	jsonw_str(w, "required", job->required);
	jsonw_str(w, "excluded", job->excluded);
	jsonw_str(w, "preferred", job->preferred);
	jsonw_str(w, "reason", job->reason);
	jsonw_str(w, "partition", job->partition);
	jsonw_str(w, "user", job->user);
	jsonw_str(w, "name", job->name);
	jsonw_str(w, "comment", job->comment);
	jsonw_str(w, "record", job->record);
	jsonw_int(w, "priority", job->priority);
	jsonw_int(w, "eligible_us", job->eligible_us);
	jsonw_int(w, "start_us", job->start_us);
	jsonw_int(w, "n_restarts", job->n_restarts);
	jsonw_bool(w, "is_gated", job->is_gated);
	jsonw_bool(w, "is_pinned", job->is_pinned);
	jsonw_end(w);
}

static void
put_node(struct jsonw *w, const struct sched_node *node)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "name", node->name);
	jsonw_str(w, "state", node_states[node->state]);
	jsonw_str(w, "partitions", node->partitions);
	jsonw_str(w, "features", node->features);
	jsonw_int(w, "n_slots", node->n_slots);
	jsonw_end(w);
}

static void
print_look(const struct probe *p, const struct sched_snapshot *snapshot)
{
	struct jsonw w;

	jsonw_init(&w, stdout);
	jsonw_object(&w, NULL);
	jsonw_int(&w, "at_us", snapshot->at_us);
	jsonw_int(&w, "version", slurm_driver_version(p->driver));
	jsonw_array(&w, "jobs");
	for (size_t i = 0; i < snapshot->n_jobs; i++)
		put_job(&w, &snapshot->jobs[i]);
	jsonw_end(&w);
	jsonw_array(&w, "nodes");
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		put_node(&w, &snapshot->nodes[i]);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
act(struct probe *p)
{
	const bool has_nodes = p->action == SCHED_PLACE || p->action == SCHED_PREFER;
	const int record = has_nodes ? 4 : 3;
	const struct sched_action action = {
		.kind = (enum sched_action_kind)p->action,
		.job = p->argv[2],
		.nodes = has_nodes && p->argc > 3 ? p->argv[3] : NULL,
		.record = p->argc > record ? p->argv[record] : NULL,
	};
	uint64_t ticket;
	struct err err = { .line = 0 };

	p->is_asked = true;
	if (sched_act(p->driver, &action, &ticket, &err) < 0) {
		printf("refused: %s\n", err.text);
		loop_stop(p->loop, 2);
	}
}

static void
on_snapshot(void *ctx, const struct sched_snapshot *snapshot, const char *why)
{
	struct probe *p = ctx;

	if (p->until_ns) {
		if (snapshot)
			printf("look jobs=%zu nodes=%zu\n", snapshot->n_jobs,
			       snapshot->n_nodes);
		else
			printf("none: %s\n", why);
		fflush(stdout);
		return;
	}
	if (!snapshot) {
		printf("none: %s\n", why);
		loop_stop(p->loop, 1);
	} else if (p->action < 0) {
		print_look(p, snapshot);
		loop_stop(p->loop, 0);
	} else if (!p->is_asked) {
		act(p);
	} else if (p->is_done) {
		loop_stop(p->loop, 0);
	}
}

static void
on_done(void *ctx, uint64_t ticket, int rc, const char *why)
{
	struct probe *p = ctx;

	(void)ticket;
	if (rc < 0) {
		printf("failed: %s: %s\n", strerror(-rc), why);
		loop_stop(p->loop, 1);
		return;
	}
	puts("done");
	p->is_done = true;
}

static void
on_topology(void *ctx, const char *text, const char *why)
{
	struct probe *p = ctx;

	if (text)
		fputs(text, stdout);
	else
		printf("none: %s\n", why);
	loop_stop(p->loop, text ? 0 : 1);
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct probe *p = ctx;

	(void)missed;
	if (now_ns - p->last_tick_ns > 200 * (int64_t)MS)
		printf("late %lld ms\n", (long long)(now_ns - p->last_tick_ns) / MS);
	p->last_tick_ns = now_ns;
	if (now_ns >= p->until_ns)
		loop_stop(p->loop, 0);
}

int
main(int argc, char **argv)
{
	struct probe p = { .argc = argc, .argv = argv, .action = -1 };
	const struct sched_observer observer = { .ctx = &p,
						 .snapshot = on_snapshot,
						 .done = on_done };
	const char *timeout_ms = getenv("SLURM_PROBE_TIMEOUT_MS");
	const struct slurm_opts opts = { .timeout_ms =
						 timeout_ms ? atol(timeout_ms) : 0 };
	struct err err;
	int status;

	if (argc < 2)
		return 2;
	p.loop = loop_new();
	if (slurm_open(p.loop, &opts, &observer, &p.driver, &err) < 0) {
		err_print(&err, stderr);
		return 3;
	}
	p.action = words_index(argv[1], actions);
	if (p.action >= 0 && argc < 3)
		return 2;
	if (strcmp(argv[1], "topology") == 0)
		slurm_topology(p.driver, on_topology, &p);
	if (strcmp(argv[1], "watch") == 0 && argc > 2) {
		p.last_tick_ns = clk_monotonic_ns();
		p.until_ns = p.last_tick_ns + atol(argv[2]) * 1000 * (int64_t)MS;
		loop_every(p.loop, 10 * MS, on_tick, &p);
	}
	status = loop_run(p.loop);
	sched_close(p.driver);
	loop_free(p.loop);
	return status;
}
