/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_time.c - the two clocks of the live state: 'elapsed', which never goes back, and
 * 'now', the wall clock of most hosts, which follows when it is stepped.
 */
#include <string.h>

#include "lib/base/sort.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_priv.h"

/* Three decades: sums with times of frames do not overflow. */
#define MAX_ELAPSED_NS INT64_C(1000000000000000000)

/* Up to so many hosts a vote is so cheap that it never waits. */
#define FEW_HOSTS 16

/* ---- Time that passes ---------------------------------------------------------- */

static bool
is_same_boot(const struct host *host, const struct tele_frame *frame)
{
	return host->seen.n_frames > 0 &&
	       memcmp(host->boot_id, frame->boot_id, sizeof host->boot_id) == 0;
}

int64_t
live_elapsed_at(const struct live *live, const struct host *host,
		const struct tele_frame *frame, int64_t received_ns)
{
	int64_t from_ns = live->elapsed_ns, passed_ns = 0;

	if (received_ns != LIVE_NOT_RECEIVED)
		return received_ns > live->elapsed_ns ? received_ns : live->elapsed_ns;
	if (is_same_boot(host, frame)) {
		from_ns = host->mono_heard_ns;
		passed_ns = frame->time_ns - host->mono_ns;
	} else if (live->now_ns != LIVE_NEVER) {
		passed_ns = frame->time_ns + frame->wall_offset_ns - live->now_ns;
		if (passed_ns > LIVE_LEAP_NS)
			passed_ns = 0;
	}
	if (passed_ns <= 0 || passed_ns > MAX_ELAPSED_NS - from_ns ||
	    from_ns + passed_ns < live->elapsed_ns)
		return live->elapsed_ns;
	return from_ns + passed_ns;
}

/* ---- The wall clock of most hosts ---------------------------------------------- */

static bool
is_near(int64_t a_ns, int64_t b_ns)
{
	return a_ns - b_ns <= LIVE_OFF_NS && b_ns - a_ns <= LIVE_OFF_NS;
}

static void
set_now(struct live *live, int64_t now_ns)
{
	live->now_ns = now_ns;
	live->now_elapsed_ns = live->elapsed_ns;
}

static int
by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The newest time of those around the median; sorts them. */
static int64_t
newest_of_most(int64_t *times, size_t n)
{
	int64_t median_ns;
	size_t last = (n - 1) / 2;

	sort_items(times, n, by_time);
	median_ns = times[last];
	while (last + 1 < n && is_near(times[last + 1], median_ns))
		last++;
	return times[last];
}

/* After a pause of all frames, time has passed, and no clock was stepped. */
static void
rebase(struct live *live, int64_t now_ns)
{
	int64_t passed_ns = live->elapsed_ns - live->now_elapsed_ns;
	int64_t step_ns = now_ns - live->now_ns - passed_ns;

	set_now(live, now_ns);
	if (step_ns <= LIVE_OFF_NS && step_ns >= -LIVE_OFF_NS)
		return;
	live->counts.rebases++;
	live->counts.last_rebase_ns = step_ns;
	live->counts.rebased_ns =
		(int64_t)((uint64_t)live->counts.rebased_ns + (uint64_t)step_ns);
}

/* Moves 'now' if more than half of the hosts that are not silent are off. */
static void
vote(struct live *live)
{
	int64_t *times;
	size_t n = 0, n_off = 0;

	if (live->voted_ns != LIVE_NEVER && live->hosts.n > FEW_HOSTS &&
	    live->elapsed_ns - live->voted_ns < LIVE_VOTE_NS)
		return;
	live->voted_ns = live->elapsed_ns;
	times = xcalloc(live->hosts.n, sizeof *times);
	for (uint32_t i = 0; i < live->hosts.n; i++) {
		if (live_is_silent(live, i))
			continue;
		times[n++] = live->hosts.items[i].seen.time_ns;
		n_off += !is_near(times[n - 1], live->now_ns);
	}
	if (2 * n_off > n)
		rebase(live, newest_of_most(times, n));
	free(times);
}

/* ---- Frames -------------------------------------------------------------------- */

static void
count_step(struct live *live, struct host *host, const struct tele_frame *frame)
{
	int64_t step_ns = frame->wall_offset_ns - host->seen.wall_offset_ns;

	host->seen.steps++;
	live->counts.steps++;
	live->counts.last_step_ns = step_ns;
	memcpy(live->counts.last_stepped, frame->host, sizeof frame->host);
}

static bool
is_step(const struct host *host, const struct tele_frame *frame)
{
	int64_t step_ns = frame->wall_offset_ns - host->seen.wall_offset_ns;

	return (frame->flags & TELE_CLOCK_STEPPED) || step_ns > LIVE_STEP_NS ||
	       step_ns < -LIVE_STEP_NS;
}

void
live_take_time(struct live *live, uint32_t id, const struct tele_frame *frame,
	       int64_t elapsed_ns)
{
	struct host *host = &live->hosts.items[id];
	int64_t wall_ns = frame->time_ns + frame->wall_offset_ns;
	/* 'time_ns' is LIVE_NEVER at the first frame of a boot. */
	bool is_first = host->seen.time_ns == LIVE_NEVER;
	bool is_stepped = !is_first && is_step(host, frame);

	live->elapsed_ns = host->heard_ns = elapsed_ns;
	if (is_stepped)
		count_step(live, host, frame);
	if (is_first || frame->time_ns > host->mono_ns) {
		host->mono_ns = frame->time_ns;
		host->mono_heard_ns = elapsed_ns;
	}
	host->seen.wall_offset_ns = frame->wall_offset_ns;
	if (host->raw_mono_ms != LIVE_NEVER)
		host->seen.raw_ns =
			(host->raw_mono_ms + live_offset_ms(host)) * NS_PER_MS;
	if (wall_ns > host->seen.time_ns || is_stepped)
		host->seen.time_ns = wall_ns;
	if (live->now_ns == LIVE_NEVER)
		set_now(live, wall_ns);
	else if (!is_near(wall_ns, live->now_ns))
		vote(live);
	else if (wall_ns > live->now_ns)
		set_now(live, wall_ns);
}
