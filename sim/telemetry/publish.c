/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/telemetry/publish.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"

/* Interval between checks for Ctrl-C. */
#define NAP_NS INT64_C(50000000)
/* Time for a new subscriber to subscribe to its other topics. */
#define SUBSCRIBING_NS INT64_C(200000000)

struct publish {
	struct publish_opts opts;
	struct emit *emit;
	struct bus_keys *keys; /* NULL: none.  Owned, as the next two. */
	struct bus_pub *pub;   /* One of these is NULL. */
	struct rec_writer *writer;
	struct tele_frame frame;   /* Scratch. */
	struct tele_buffer buffer; /* Likewise. */
	double pace;
	int64_t begin_ns; /* Real time at simulated time 0. */
	int error;        /* The first. */
	struct err err;
};

bool
publish_is_bus(const char *target)
{
	return strstr(target, "://") != NULL;
}

/* Sleeps until that time.  Returns false if interrupted. */
static bool
sleep_until(const struct publish *p, int64_t until_ns)
{
	for (;;) {
		int64_t left_ns = until_ns - clk_monotonic_ns();

		if (p->opts.is_interrupted && p->opts.is_interrupted())
			return false;
		if (left_ns <= 0)
			return true;
		if (left_ns > NAP_NS)
			left_ns = NAP_NS;
		(void)poll(NULL, 0, (int)((left_ns + 999999) / 1000000));
	}
}

static bool
is_anybody_there(struct publish *p)
{
	for (size_t i = 0; i < emit_n_senders(p->emit); i++)
		for (int kind = TELE_SUMMARY; kind <= TELE_EVENTS; kind++)
			if (bus_pub_is_wanted(p->pub, (uint8_t)kind,
					      emit_sender(p->emit, i)))
				return true;
	return false;
}

static bool
await_subscriber(struct publish *p)
{
	while (!is_anybody_there(p))
		if (!sleep_until(p, clk_monotonic_ns() + NAP_NS))
			return false;
	return sleep_until(p, clk_monotonic_ns() + SUBSCRIBING_NS);
}

static int
open_target(struct publish *p, struct err *err)
{
	const struct publish_opts *opts = &p->opts;
	int error = 0;

	if (!publish_is_bus(opts->target))
		return rec_writer_open(opts->target, &p->writer, err);
	if (opts->keys)
		error = bus_keys_load(opts->keys, &p->keys, err);
	if (error < 0)
		return error;
	return bus_pub_open_room(opts->target, !opts->is_connected, p->keys,
				 BUS_ROOM_CLUSTER, &p->pub, err);
}

int
publish_open(const struct topo *topo, const struct scenario *scenario,
	     const struct sim_plan *plan, const struct publish_opts *opts,
	     struct publish **ret_publish, struct err *err)
{
	struct publish *p = xcalloc(1, sizeof *p);
	bool is_bus = publish_is_bus(opts->target);
	int error;

	p->opts = *opts;
	p->pace = opts->has_pace ? opts->pace : is_bus ? 1 : 0;
	p->emit = emit_new(topo, scenario, plan, &opts->emit);
	error = emit_check(p->emit, PUBLISH_WINDOW_NS / 1000000, err);
	if (error == 0)
		error = open_target(p, err);
	if (error < 0) {
		publish_close(p, NULL);
		return error;
	}
	if (p->pub && opts->must_wait && !await_subscriber(p)) {
		publish_close(p, NULL);
		return err_set_errno(err, opts->target, EINTR, "no subscriber");
	}
	p->begin_ns = clk_monotonic_ns();
	if (opts->has_epoch)
		emit_set_wall_offset(p->emit, llround(opts->epoch_s * 1e9));
	else if (is_bus)
		emit_set_wall_offset(p->emit, clk_wall_us() * 1000);
	*ret_publish = p;
	return 0;
}

struct emit *
publish_emit(struct publish *p)
{
	return p->emit;
}

static int
send_frame(struct publish *p, size_t sender, enum tele_kind kind)
{
	const char *host = emit_sender(p->emit, sender);

	if (p->pub && kind != TELE_SUMMARY &&
	    !bus_pub_is_wanted(p->pub, (uint8_t)kind, host))
		return 0;
	if (!emit_frame(p->emit, sender, kind, &p->frame))
		return 0;
	p->buffer.n = 0;
	tele_encode(&p->frame, &p->buffer);
	if (p->writer)
		return rec_write(p->writer, p->buffer.bytes, p->buffer.n, &p->err);
	return bus_pub_bytes(p->pub, (uint8_t)kind, host, p->buffer.bytes, p->buffer.n);
}

bool
publish_tick(struct publish *p, int64_t now_ns)
{
	size_t n = emit_n_senders(p->emit);

	emit_window(p->emit, now_ns);
	if (p->pace > 0 &&
	    !sleep_until(p, p->begin_ns + (int64_t)((double)now_ns / p->pace)))
		return false;
	for (size_t i = 0; i < n && !p->error; i++)
		for (int kind = TELE_SUMMARY; kind <= TELE_EVENTS && !p->error; kind++)
			p->error = send_frame(p, i, (enum tele_kind)kind);
	return !p->error;
}

int
publish_close(struct publish *p, struct err *err)
{
	int error = 0;

	if (!p)
		return 0;
	if (p->writer)
		error = rec_writer_close(p->writer, err);
	if (p->error) {
		error = p->error;
		if (!p->err.text[0])
			err_set_errno(&p->err, p->opts.target, error, "publish");
		if (err)
			*err = p->err;
	}
	if (p->pub)
		bus_pub_close(p->pub);
	bus_keys_free(p->keys);
	emit_free(p->emit);
	tele_fini(&p->frame);
	tele_buffer_fini(&p->buffer);
	free(p);
	return error;
}
