/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.h - rounds that renew the profiles of all jobs, in small steps.
 *
 * A round takes longer than other work may wait, so it is made in steps of a few
 * milliseconds, and so is 'side_step', the work beside it (scans, history, events). All
 * of it together takes a third of the time at most, so that frames do not wait.
 */
#ifndef SCHEDULER_DAEMON_REFRESH_H
#define SCHEDULER_DAEMON_REFRESH_H

#include <stdbool.h>

struct fabric_source;
struct loop;
struct profiled_job;
struct refresh;
struct live_workload;
struct telemetry;

struct refresh_opts {
	struct loop *loop; /* Borrowed, as all here. */
	struct telemetry *telemetry;
	const struct fabric_source *fabric;
	/* A step of the work beside a round; false: nothing is left to do. */
	bool (*side_step)(void *ctx);
	/* The current state of a job; 'running' NULL: there is no fabric. */
	void (*on_job)(void *ctx, const struct live_workload *running,
		       const struct profiled_job *seen);
	/* Before jobs and hosts are forgotten: drop what refers to them. */
	void (*on_forget)(void *ctx);
	void *ctx;
};

struct refresh *refresh_new(const struct refresh_opts *opts);
void refresh_free(struct refresh *refresh); /* Accepts NULL. */
/* Works for a few milliseconds, unless it rests. */
void refresh_step(struct refresh *refresh);
/* The fabric was replaced: the round begins again. */
void refresh_restart(struct refresh *refresh);

#endif
