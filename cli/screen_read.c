/* SPDX-License-Identifier: Apache-2.0 */
/* screen_read.c - reads the sources of a screen: at once, along with time, up to a time. */
#include <errno.h>
#include <stdio.h>

#include "cli/screen.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/path_watch.h"

#define NS_PER_S INT64_C(1000000000)

#define MIN_SEEN_MS 500 /* Shorter series are not enough. */
/* A bus by then has a summary of each host. */
#define LEAST_HEARD_MS 1000
/* A bus has a summary of each host once a second. */
#define SILENCE_NS (3 * NS_PER_S)
/* Beyond the window: frames come once a second, spread over the hosts. */
#define PATIENCE_NS (5 * NS_PER_S)
#define LOOK_NS     (NS_PER_S / 50)
/* Before a time that is sought: what windows and estimates are made of. */
#define SOUGHT_MS (JOB_PROFILER_MAX_WINDOW_MS + 5000)
/* Of a bus, in one go, so that others have their turn. */
#define MAX_DRAINED 256

/* Consumes one frame: 1; 0 if none arrives in time; or the result of feed_next(). */
static int
take(struct screen *screen, int64_t timeout_ns, struct err *err)
{
	const struct tele_frame *frame;
	int r = feed_next(screen->feed, timeout_ns, &frame, err);

	screen->read_at_ns = clk_monotonic_ns();
	if (r <= 0 || frame->time_ns + frame->wall_offset_ns < screen->skipped_ns)
		return r;
	if (screen->is_live)
		live_receive(screen->live, frame, screen->read_at_ns);
	else
		live_frame(screen->live, frame);
	job_profiler_step(screen->profiler, screen->live);
	screen->heard_at_ns = screen->read_at_ns;
	if (screen->paths &&
	    live_now_ns(screen->live) / NS_PER_S != screen->followed_s) {
		screen->followed_s = live_now_ns(screen->live) / NS_PER_S;
		path_watch_follow(screen->paths);
	}
	return r;
}

static int
fail(const struct screen *screen, int error, const struct err *err)
{
	(void)screen;
	if (error == -EINTR)
		return CLI_INTERRUPTED;
	return cli_fail(error, err);
}

static int
unreachable(const struct screen *screen)
{
	fprintf(stderr,
		"antiphase %s: no telemetry from %s within %d s; check "
		"that antiphase-collector runs there (--from SOURCE or "
		"$ANTIPHASE_BUS names another source)\n",
		screen->verb->name, feed_name(screen->feed),
		(int)(SILENCE_NS / NS_PER_S));
	return CLI_UNREACHABLE;
}

static int
thin(const struct screen *screen)
{
	fprintf(stderr,
		"antiphase %s: %s: too little telemetry: %llu frames, %.1f "
		"s of raw series\n",
		screen->verb->name, feed_name(screen->feed),
		(unsigned long long)feed_counts(screen->feed).frames,
		live_span_ms(screen->live) / 1e3);
	return CLI_THIN;
}

static bool
has_summaries(const struct screen *screen)
{
	for (uint32_t i = 0; i < live_n_hosts(screen->live); i++)
		if (live_host(screen->live, i)->summary_ns != LIVE_NEVER)
			return true;
	return false;
}

/* Reads a bus until 'wanted_ms' of raw series have arrived. */
static int
gather_bus(struct screen *screen, uint32_t wanted_ms)
{
	int64_t began_ns = clk_monotonic_ns();
	int64_t until_ns = began_ns + wanted_ms * (NS_PER_S / 1000) + PATIENCE_NS;
	int64_t look_ns = began_ns;
	struct err err;

	for (;;) {
		int64_t now_ns = clk_monotonic_ns();
		int r;

		/* Not at each frame: the check visits every host. */
		if (now_ns >= look_ns) {
			if (live_span_ms(screen->live) >= wanted_ms)
				return CLI_OK;
			look_ns = now_ns + LOOK_NS;
		}
		if (screen_is_interrupted())
			return CLI_INTERRUPTED;
		if (now_ns >= until_ns)
			return CLI_OK;
		if (now_ns - screen->heard_at_ns > SILENCE_NS) {
			if (feed_counts(screen->feed).frames == 0)
				return unreachable(screen);
			return CLI_OK;
		}
		r = take(screen, NS_PER_S / 10, &err);
		if (r < 0 && r != -EINTR)
			return fail(screen, r, &err);
	}
}

static int
gather_recordings(struct screen *screen)
{
	struct err err;
	int r;

	do
		r = take(screen, 0, &err);
	while (r > 0);
	return r == -ENODATA ? CLI_OK : fail(screen, r, &err);
}

int
screen_gather(struct screen *screen, uint32_t least_ms)
{
	uint32_t wanted_ms =
		screen->wanted_ms > least_ms ? screen->wanted_ms : least_ms;
	int status;

	if (wanted_ms < LEAST_HEARD_MS)
		wanted_ms = LEAST_HEARD_MS;
	if (wanted_ms > JOB_PROFILER_MAX_WINDOW_MS)
		wanted_ms = JOB_PROFILER_MAX_WINDOW_MS;
	status = screen->is_live ? gather_bus(screen, wanted_ms)
				 : gather_recordings(screen);
	if (status != CLI_OK)
		return status;
	if (live_span_ms(screen->live) < MIN_SEEN_MS && !has_summaries(screen))
		return thin(screen);
	if (live_now_ns(screen->live) != LIVE_NEVER)
		job_profiler_now(screen->profiler, screen->live);
	return CLI_OK;
}

int
screen_follow(struct screen *screen, int64_t real_ns)
{
	int64_t until_ns = clk_monotonic_ns() + real_ns;
	int64_t began_ns = live_now_ns(screen->live);
	struct err err;

	for (;;) {
		int64_t left_ns = until_ns - clk_monotonic_ns();
		int r;

		if (screen_is_interrupted())
			return CLI_INTERRUPTED;
		if (screen->is_live && left_ns <= 0)
			return CLI_OK;
		r = take(screen, left_ns, &err);
		if (r == -ENODATA)
			return CLI_NO;
		if (r == -EINTR)
			continue;
		if (r < 0)
			return fail(screen, r, &err);
		if (!screen->is_live && began_ns == LIVE_NEVER)
			began_ns = live_now_ns(screen->live);
		if (!screen->is_live &&
		    live_now_ns(screen->live) - began_ns >= NS_PER_S)
			return CLI_OK;
	}
}

/* ---- In a loop ----------------------------------------------------------------- */

int
screen_drain(struct screen *screen, struct err *err)
{
	for (int i = 0; i < MAX_DRAINED; i++) {
		int r = take(screen, 0, err);

		if (r <= 0)
			return r == -EINTR ? 0 : r;
	}
	return 0;
}

int
screen_seek(struct screen *screen, int64_t at_ns, struct err *err)
{
	screen->skipped_ns = at_ns - SOUGHT_MS * (NS_PER_S / 1000);
	while (live_now_ns(screen->live) == LIVE_NEVER ||
	       live_now_ns(screen->live) <= at_ns) {
		int r = take(screen, 0, err);

		if (r == -ENODATA)
			break;
		if (r < 0)
			return r;
	}
	if (live_now_ns(screen->live) != LIVE_NEVER)
		job_profiler_now(screen->profiler, screen->live);
	return 0;
}
