/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - the stages of a round:
 *
 *	estimate  the profiles of all jobs with raw series, one job after another
 *	find      which jobs shared which links in the time of the profiles
 *	hand on   the current state of each job
 *	drop      release the result of 'find'
 */
#include "scheduler/daemon/refresh.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_workload.h"

#define SECOND_NS INT64_C(1000000000)
#define SLICE_NS  (SECOND_NS / 200) /* Processor time. */
/* After a slice: a rest of so many times its duration. */
#define REST 2
/* Jobs without an estimate after this time wait for the next round. */
#define ESTIMATE_NS (3 * SECOND_NS)
/* How often hosts and jobs that are gone are forgotten. */
#define FORGET_NS (30 * SECOND_NS)
/* Jobs that one step hands on. */
#define JOBS_A_STEP 16
/* Links that one step releases. */
#define LINKS_A_STEP 1024

enum stage {
	IDLE,
	ESTIMATE,
	FIND,
	HAND_ON,
	DROP,
};

static const char *const stage_names[] = {
	[IDLE] = "forget",  [ESTIMATE] = "estimate", [FIND] = "find",
	[HAND_ON] = "jobs", [DROP] = "jobs",
};

struct refresh {
	struct refresh_opts opts;
	enum stage stage;
	bool is_wanted; /* Begin a round even without new estimates. */
	struct contention_finder *finder; /* Owned. */
	struct contention found;          /* Owned. */
	struct live_workload *running;    /* Owned.  Of 'found'. */
	size_t next_job;
	int64_t began_ns;
	int64_t rest_until_ns, forgot_ns;
};

struct refresh *
refresh_new(const struct refresh_opts *opts)
{
	struct refresh *refresh = xcalloc(1, sizeof *refresh);

	refresh->opts = *opts;
	return refresh;
}

static void
end_round(struct refresh *refresh)
{
	contention_end(refresh->finder, NULL);
	refresh->finder = NULL;
	live_workload_free(refresh->running);
	refresh->running = NULL;
	contention_fini(&refresh->found);
	refresh->stage = IDLE;
}

void
refresh_free(struct refresh *refresh)
{
	if (!refresh)
		return;
	end_round(refresh);
	free(refresh);
}

void
refresh_restart(struct refresh *refresh)
{
	end_round(refresh);
	refresh->is_wanted = true;
}

/* ---- One step of a stage; true: the stage is over -------------------------------- */

static bool
step_find(struct refresh *refresh)
{
	struct live *live = telemetry_live(refresh->opts.telemetry);
	struct topo *topo = fabric_source_topo(refresh->opts.fabric);
	const struct contention_opts opts = {
		.topo = topo,
		.routes = fabric_source_routes(refresh->opts.fabric),
		.window_ms = JOB_PROFILER_MAX_WINDOW_MS,
	};

	if (!topo)
		return true;
	if (refresh->running)
		return live_workload_step(refresh->running);
	if (!refresh->finder)
		refresh->finder = contention_begin(live, &opts);
	else if (contention_step(refresh->finder)) {
		contention_end(refresh->finder, &refresh->found);
		refresh->finder = NULL;
		refresh->running = live_workload_begin(live, topo, &refresh->found);
	}
	return false;
}

static bool
step_hand_on(struct refresh *refresh)
{
	size_t n;
	const struct profiled_job *const *jobs =
		job_profiler_jobs(telemetry_profiler(refresh->opts.telemetry), &n);

	for (int i = 0; i < JOBS_A_STEP && refresh->next_job < n; i++)
		refresh->opts.on_job(refresh->opts.ctx, refresh->running,
				     jobs[refresh->next_job++]);
	return refresh->next_job >= n;
}

static void
forget(struct refresh *refresh)
{
	int64_t now_ns = clk_monotonic_ns();

	if (telemetry_is_scanning(refresh->opts.telemetry) ||
	    now_ns - refresh->forgot_ns < FORGET_NS)
		return;
	refresh->forgot_ns = now_ns;
	refresh->opts.on_forget(refresh->opts.ctx);
	telemetry_forget_gone(refresh->opts.telemetry);
}

/* False: nothing is left to do. */
static bool
step(struct refresh *refresh)
{
	struct job_profiler *profiler = telemetry_profiler(refresh->opts.telemetry);
	struct live *live = telemetry_live(refresh->opts.telemetry);

	loop_part(refresh->opts.loop, stage_names[refresh->stage]);
	switch (refresh->stage) {
	case IDLE:
		forget(refresh);
		if (!job_profiler_begin(profiler, live) && !refresh->is_wanted)
			return false;
		refresh->is_wanted = false;
		refresh->began_ns = clk_monotonic_ns();
		refresh->stage = ESTIMATE;
		break;
	case ESTIMATE:
		if (!job_profiler_next(profiler, live) ||
		    clk_monotonic_ns() - refresh->began_ns > ESTIMATE_NS)
			refresh->stage = FIND;
		break;
	case FIND:
		refresh->next_job = 0;
		if (step_find(refresh))
			refresh->stage = HAND_ON;
		break;
	case HAND_ON:
		if (step_hand_on(refresh))
			refresh->stage = DROP;
		break;
	case DROP:
		if (contention_drop(&refresh->found, LINKS_A_STEP))
			end_round(refresh);
		break;
	}
	return true;
}

void
refresh_step(struct refresh *refresh)
{
	int64_t began_ns = clk_monotonic_ns(), cpu_ns = clk_thread_cpu_ns();
	bool is_busy = true;

	if (began_ns < refresh->rest_until_ns)
		return;
	/* Processor time: a slice does the same work on a busy host. */
	while (is_busy && clk_thread_cpu_ns() - cpu_ns < SLICE_NS) {
		is_busy = refresh->opts.side_step(refresh->opts.ctx);
		is_busy |= step(refresh);
	}
	refresh->rest_until_ns =
		clk_monotonic_ns() + REST * (clk_monotonic_ns() - began_ns);
}
