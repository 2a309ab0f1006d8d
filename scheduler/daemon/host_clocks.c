/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/host_clocks.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"

/* The offset of a host's clock comes from the last one or two such spans. */
#define SPAN_NS INT64_C(60000000000)

/* A host's clock against ours: the most that a frame was ahead on arrival. */
struct host_clock {
	int64_t most_ns, last_most_ns; /* In this span, and in the one before. */
	int64_t offset_ns;             /* The frame's 'wall_offset_ns'. */
	int64_t since_ns;              /* Of this span; 0: the number is free. */
};

struct host_clocks {
	struct strtab *names;          /* Owned.  Of hosts. */
	VEC(struct host_clock) clocks; /* By number in 'names'. */
	uint32_t n;
	uint64_t n_unfollowed;
	int64_t own_offset_ns; /* Our wall clock against our CLOCK_MONOTONIC. */
};

struct host_clocks *
host_clocks_new(int64_t wall_ns, int64_t now_ns)
{
	struct host_clocks *clocks = xcalloc(1, sizeof *clocks);

	clocks->names = strtab_new();
	clocks->own_offset_ns = wall_ns - now_ns;
	return clocks;
}

void
host_clocks_free(struct host_clocks *clocks)
{
	if (!clocks)
		return;
	strtab_free(clocks->names);
	vec_free(&clocks->clocks);
	free(clocks);
}

static bool
is_step(int64_t from_ns, int64_t to_ns)
{
	return to_ns - from_ns > LIVE_STEP_NS || from_ns - to_ns > LIVE_STEP_NS;
}

/* After a step of our own clock, what is known of the others is void. */
static void
note_own(struct host_clocks *clocks, int64_t wall_ns, int64_t now_ns)
{
	int64_t offset_ns = wall_ns - now_ns;

	if (is_step(clocks->own_offset_ns, offset_ns))
		for (size_t i = 0; i < clocks->clocks.n; i++)
			if (clocks->clocks.items[i].since_ns)
				clocks->clocks.items[i].offset_ns = INT64_MAX / 2;
	clocks->own_offset_ns = offset_ns;
}

void
host_clocks_note(struct host_clocks *clocks, const struct tele_frame *frame,
		 int64_t wall_ns, int64_t now_ns)
{
	int64_t ahead_ns = frame->time_ns + frame->wall_offset_ns - wall_ns;
	struct host_clock *clock;
	uint32_t id;

	note_own(clocks, wall_ns, now_ns);
	if (clocks->n >= HOST_CLOCKS_MAX &&
	    strtab_find(clocks->names, frame->host) == STRTAB_NONE) {
		clocks->n_unfollowed++;
		return;
	}
	id = strtab_intern(clocks->names, frame->host);
	if (id == clocks->clocks.n)
		vec_push(&clocks->clocks, ((struct host_clock){ .since_ns = 0 }));
	clock = &clocks->clocks.items[id];
	clocks->n += !clock->since_ns;
	if (!clock->since_ns || is_step(clock->offset_ns, frame->wall_offset_ns))
		*clock = (struct host_clock){ ahead_ns, ahead_ns, 0, now_ns };
	clock->offset_ns = frame->wall_offset_ns;
	if (now_ns - clock->since_ns >= SPAN_NS) {
		clock->last_most_ns = clock->most_ns;
		/* After a long silence the last span is out of date, too. */
		if (now_ns - clock->since_ns >= 2 * SPAN_NS)
			clock->last_most_ns = ahead_ns;
		clock->most_ns = ahead_ns;
		clock->since_ns = now_ns;
	}
	if (ahead_ns > clock->most_ns)
		clock->most_ns = ahead_ns;
}

bool
host_clocks_offset_ns(const struct host_clocks *clocks, const char *host,
		      int64_t now_ns, int64_t *ret_ns)
{
	uint32_t id = strtab_find(clocks->names, host);
	const struct host_clock *clock;

	if (id == STRTAB_NONE)
		return false;
	clock = &clocks->clocks.items[id];
	*ret_ns = clock->most_ns > clock->last_most_ns ? clock->most_ns
						       : clock->last_most_ns;
	return now_ns - clock->since_ns < 2 * SPAN_NS;
}

void
host_clocks_forget(struct host_clocks *clocks, int64_t now_ns)
{
	for (uint32_t i = 0; i < clocks->clocks.n; i++) {
		struct host_clock *clock = &clocks->clocks.items[i];

		if (!clock->since_ns || now_ns - clock->since_ns < 4 * SPAN_NS)
			continue;
		*clock = (struct host_clock){ .since_ns = 0 };
		clocks->n--;
		strtab_remove(clocks->names, i);
	}
}

uint64_t
host_clocks_n_unfollowed(const struct host_clocks *clocks)
{
	return clocks->n_unfollowed;
}
