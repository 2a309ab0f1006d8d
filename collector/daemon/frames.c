/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - publishing: the host's state in frames, which windows are complete, and
 * where frames go.
 */
#include <errno.h>

#include "collector/daemon/daemon.h"
#include "collector/series/ingest.h"
#include "collector/series/peak_rates.h"
#include "collector/series/top_jobs.h"
#include "collector/sources/sources.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"

/* A source without data delays the windows of the others by at most this. */
#define MAX_LAG_MS 1000

bool
collector_is_wanted(void *ctx, uint8_t kind)
{
	struct collector *c = ctx;

	return c->output || (c->bus && bus_pub_is_wanted(c->bus, kind, c->host));
}

void
collector_stop(struct collector *c, int status)
{
	c->status = status;
	loop_stop(c->loop, status);
}

static void
record(struct collector *c, const struct tele_buffer *bytes)
{
	struct err err = { 0 };
	int rc = rec_write(c->output, bytes->bytes, bytes->n, &err);

	if (rc >= 0)
		return;
	/* EPIPE: the reader of the output has closed it. */
	if (rc != -EPIPE)
		log_err("collector", "%s: %s; recording ends", err.file, err.text);
	rec_writer_close(c->output, NULL);
	c->output = NULL;
	if (!c->bus || rc == -EPIPE)
		collector_stop(c, rc == -EPIPE ? CLI_OK : CLI_NO);
}

void
collector_send(void *ctx, const struct tele_frame *frame,
	       const struct tele_buffer *bytes)
{
	struct collector *c = ctx;

	if (frame->kind == TELE_SUMMARY) {
		peak_rates_update(c->peak_rates, frame);
		top_jobs_update(c->top, frame);
	}
	if (c->bus)
		bus_pub_bytes(c->bus, frame->kind, frame->host, bytes->bytes, bytes->n);
	if (c->output)
		record(c, bytes);
}

struct publish_state
collector_state(struct collector *c)
{
	struct publish_state state = {
		.wall_offset_ns =
			sources_is_offline(c->sources) ? 0 : c->wall.offset_ns,
		.clock_error_ns = c->clock_error_ns,
		.lost_records = ingest_counts(c->ingest)->lost,
		.is_stepped = c->is_stepped,
		.unplaced_jobs = c->unplaced_jobs,
	};

	c->is_stepped = false;
	return state;
}

int64_t
collector_complete_ms(const struct collector *c, int64_t now_ns)
{
	int64_t floor_ms = now_ns / 1000000 - MAX_LAG_MS;

	if (sources_is_offline(c->sources))
		return ingest_complete_ms(c->ingest, 0);
	if (floor_ms < c->started_ns / 1000000)
		floor_ms = c->started_ns / 1000000;
	return ingest_complete_ms(c->ingest, floor_ms);
}

void
collector_check_clock(struct collector *c)
{
	int64_t monotonic_ns = 0, wall_ns = 0;

	boot_read_clocks(&monotonic_ns, &wall_ns);
	if (!wall_update(&c->wall, monotonic_ns, wall_ns))
		return;
	c->is_stepped = true;
	log_warn("collector", "the wall clock was stepped by %+.3f s",
		 (double)c->wall.last_step_ns * 1e-9);
}

void
collector_publish(struct collector *c, int64_t now_ns)
{
	struct publish_state state;

	collector_check_clock(c);
	state = collector_state(c);
	publisher_run(c->publisher, collector_complete_ms(c, now_ns), &state);
}

void
collector_polled(void *ctx, bool is_end)
{
	struct collector *c = ctx;

	if (sources_is_offline(c->sources))
		collector_publish(c, clk_monotonic_ns());
	if (is_end)
		collector_stop(c, CLI_OK);
}
