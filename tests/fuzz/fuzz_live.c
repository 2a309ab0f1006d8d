/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_live.c - frames with any times, names and sizes in the live state, contention
 * and profiles.  Frames are built from the input, not decoded: their checksum would
 * stop the fuzzer.
 */
#include <string.h>

#include "lib/wire/tele.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const uint8_t *data;
	size_t n;
};

/* The next 'n' bytes as a number; zeros at the end. */
static int64_t
take(struct input *in, size_t n)
{
	uint64_t value = 0;

	for (; n > 0 && in->n > 0; n--, in->n--)
		value = value << 8 | *in->data++;
	return (int64_t)value;
}

static void
take_series(struct input *in, struct tele_frame *frame, uint32_t interface,
	    uint32_t job)
{
	uint32_t bins[64], n = (uint32_t)take(in, 1) % 64;
	bool is_far = take(in, 1) % 8 == 0;
	int64_t start_ms =
		is_far ? take(in, 8) : frame->time_ns / 1000000 - take(in, 1);
	unsigned direction = (unsigned)take(in, 1) % 2;

	for (uint32_t i = 0; i < n; i++)
		bins[i] = (uint32_t)take(in, 1) * 0x1010101;
	tele_add_series(frame, interface, job, (enum tele_direction)direction,
			TELE_WIRE, start_ms, bins, n);
}

static void
take_frame(struct input *in, struct tele_frame *frame)
{
	uint32_t interface, job;

	tele_clear(frame);
	frame->kind = (uint8_t)(take(in, 1) % (TELE_LAST_KIND + 1));
	frame->flags = (uint32_t)take(in, 1);
	frame->host[0] = (char)('a' + take(in, 1) % 4);
	frame->start_id = (uint64_t)take(in, 1) % 2;
	frame->boot_id[0] = (uint8_t)(take(in, 1) % 16 == 0);
	frame->sequence = (uint64_t)take(in, 1);
	frame->time_ns = take(in, take(in, 1) % 8 ? 4 : 8);
	frame->window_ns = take(in, take(in, 1) % 8 ? 4 : 8);
	frame->wall_offset_ns = take(in, take(in, 1) % 8 ? 3 : 8);
	interface = tele_add_interface(frame, take(in, 1) % 2 ? "e0" : "e1");
	frame->interfaces.items[interface].capacity_bps = (double)take(in, 1) * 1e8;
	job = take(in, 1) % 4 ? tele_add_job(frame, take(in, 1) % 2 ? "x" : "y")
			      : TELE_LINK;
	take_series(in, frame, interface, job);
	take_series(in, frame, interface, TELE_OTHER);
	vec_push(&frame->traffic,
		 ((struct tele_traffic){ .interface = interface,
					 .job = job,
					 .window_bytes = (uint64_t)take(in, 8),
					 .peak_bytes = (uint32_t)take(in, 4) }));
	if (frame->kind == TELE_PACE)
		vec_push(&frame->iterations,
			 ((struct tele_iteration){ .job = job,
						   .enter_ns = take(in, 8),
						   .begin_ns = take(in, 8) }));
	if (job != TELE_LINK)
		vec_push(&frame->events,
			 ((struct tele_event){ .job = job,
					       .pid = (uint32_t)take(in, 1),
					       .begin_ns = take(in, 8) }));
}

/* For any frame, these are wall clock times of a known job. */
static void
look_at(void *ctx, const struct live_iteration *iteration)
{
	BUG_ON(iteration->host >= live_n_hosts(ctx));
	BUG_ON(iteration->job >= live_n_jobs(ctx));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct live_opts live_opts = { .keep_ms = 600, .max_bytes = 32 << 10 };
	const struct contention_opts opts = { .window_ms = 500 };
	struct live *live = live_new(&live_opts);
	struct job_profiler *online = job_profiler_new();
	struct tele_frame frame = { 0 };
	struct input in = { data, size };
	struct contention found;

	live_on_iteration(live, look_at, live);
	for (int i = 0; in.n > 0 && i < 64; i++) {
		take_frame(&in, &frame);
		live_frame(live, &frame);
		job_profiler_step(online, live);
	}
	contention_find(live, &opts, &found);
	contention_sort(&found, CONTENTION_BY_CONTENTION);
	contention_fini(&found);
	if (live_now_ns(live) != LIVE_NEVER)
		job_profiler_now(online, live);
	tele_fini(&frame);
	job_profiler_free(online);
	live_free(live);
	return 0;
}
