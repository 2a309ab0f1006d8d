/*
 * refresh.c - the dear part of what is done every few seconds, in pieces: whoever asks in
 * between waits for one of them.
 *
 *	estimate  the profiles of all jobs that raw series tell of, one job after another
 *	look      who was on which link in the time that profiles are of
 *	take      what is known of each job now, handed on to jobs.c
 *	drop      what was found is released
 *
 * and beside that the looks at links that people and programs see, and their history.  All of it together
 * takes a third of the time at most, so that frames do not wait.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/running.h"

#define SLICE_NS (DAEMON_SECOND_NS / 200) /* Of the processor's time. */
/* After a slice: so many times what it took, it rests. */
#define REST 2
/* Those that have not had their turn after so long have it in the next round. */
#define ESTIMATE_NS (3 * DAEMON_SECOND_NS)
/* Between two looks for what nothing was heard of for long. */
#define FORGET_NS (30 * DAEMON_SECOND_NS)
/* Jobs that are handed on between two looks at the clock. */
#define JOBS_A_STEP 16
/* Links that are released between two such looks. */
#define LINKS_A_STEP 1024

enum stage {
	IDLE,
	ESTIMATE,
	LOOK,
	TAKE,
	DROP,
};

static const char *const stage_names[] = {
	[IDLE] = "forget", [ESTIMATE] = "estimate", [LOOK] = "footing",
	[TAKE] = "take",   [DROP] = "take",
};

struct refresh {
	enum stage stage;
	bool is_wanted;                    /* Without new estimates, too. */
	struct contention_finder *looking; /* Owned. */
	struct contention found;           /* Owned. */
	struct running *running;           /* Owned.  Of 'found'. */
	size_t next_job;
	int64_t began_ns;
	int64_t rest_until_ns, forgot_ns;
};

struct refresh *
refresh_new(void)
{
	return xcalloc(1, sizeof(struct refresh));
}

static void
give_up(struct refresh *rounds)
{
	contention_end(rounds->looking, NULL);
	rounds->looking = NULL;
	running_free(rounds->running);
	rounds->running = NULL;
	contention_fini(&rounds->found);
	rounds->stage = IDLE;
}

void
refresh_free(struct refresh *rounds)
{
	if (!rounds)
		return;
	give_up(rounds);
	free(rounds);
}

void
refresh_restart(struct daemon *d)
{
	give_up(d->rounds);
	d->rounds->is_wanted = true;
}

/* ---- One step of a stage; true: it is over ------------------------------------------ */

static bool
look_on(struct daemon *d)
{
	struct refresh *rounds = d->rounds;
	const struct contention_opts opts = {
		.topo = fabric_source_topo(d->fabric),
		.routes = fabric_source_routes(d->fabric),
		.window_ms = JOB_PROFILER_MAX_WINDOW_MS,
	};

	if (!fabric_source_topo(d->fabric))
		return true;
	if (rounds->running)
		return running_step(rounds->running);
	if (!rounds->looking)
		rounds->looking = contention_begin(d->now.live, &opts);
	else if (contention_step(rounds->looking)) {
		contention_end(rounds->looking, &rounds->found);
		rounds->looking = NULL;
		rounds->running = running_begin(
			d->now.live, fabric_source_topo(d->fabric), &rounds->found);
	}
	return false;
}

static bool
take_on(struct daemon *d)
{
	struct refresh *rounds = d->rounds;
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(d->now.online, &n);

	for (int i = 0; i < JOBS_A_STEP && rounds->next_job < n; i++)
		jobs_take_running(d, rounds->running, jobs[rounds->next_job++]);
	return rounds->next_job >= n;
}

static bool
is_held(const void *online, uint32_t job)
{
	return job_profiler_find(online, job) != NULL;
}

/* Numbers change by it: not while anything is being looked at. */
static void
forget(struct daemon *d)
{
	int64_t now_ns = clk_monotonic_ns();

	if (d->now.stage != TELEMETRY_IDLE || now_ns - d->rounds->forgot_ns < FORGET_NS)
		return;
	d->rounds->forgot_ns = now_ns;
	/* A round that ran out of time may have some of them in hand. */
	job_profiler_stop(d->now.online);
	jobs_stop_taking(d);
	live_forget(d->now.live, is_held, d->now.online);
	telemetry_forget(d);
}

/* False: there is nothing to do. */
static bool
step(struct daemon *d)
{
	struct refresh *rounds = d->rounds;

	loop_part(d->loop, stage_names[rounds->stage]);
	switch (rounds->stage) {
	case IDLE:
		forget(d);
		if (!job_profiler_begin(d->now.online, d->now.live) &&
		    !rounds->is_wanted)
			return false;
		rounds->is_wanted = false;
		rounds->began_ns = clk_monotonic_ns();
		rounds->stage = ESTIMATE;
		break;
	case ESTIMATE:
		if (!job_profiler_next(d->now.online, d->now.live) ||
		    clk_monotonic_ns() - rounds->began_ns > ESTIMATE_NS)
			rounds->stage = LOOK;
		break;
	case LOOK:
		rounds->next_job = 0;
		if (look_on(d))
			rounds->stage = TAKE;
		break;
	case TAKE:
		if (take_on(d))
			rounds->stage = DROP;
		break;
	case DROP:
		if (contention_drop(&rounds->found, LINKS_A_STEP))
			give_up(rounds);
		break;
	}
	return true;
}

/* A step of what is done beside the round; false: there is nothing to do. */
static bool
side_step(struct daemon *d)
{
	static const struct {
		const char *name;
		bool (*go_on)(struct daemon *d);
	} sides[] = {
		{ "history", history_go_on },
		{ "events", api_go_on },
		{ "look", telemetry_scan_step },
	};

	for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
		loop_part(d->loop, sides[i].name);
		if (sides[i].go_on(d))
			return true;
	}
	return false;
}

void
refresh_step(struct daemon *d)
{
	int64_t began_ns = clk_monotonic_ns(), cpu_ns = clk_thread_cpu_ns();
	bool is_busy = true;

	if (began_ns < d->rounds->rest_until_ns)
		return;
	/* Where the processor is short, a slice is no less work. */
	while (is_busy && clk_thread_cpu_ns() - cpu_ns < SLICE_NS) {
		is_busy = side_step(d);
		is_busy |= step(d);
	}
	d->rounds->rest_until_ns =
		clk_monotonic_ns() + REST * (clk_monotonic_ns() - began_ns);
}
