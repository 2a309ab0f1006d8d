/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_replay.c - 'antiphase replay': publish the frames of a file on the bus.
 *
 * Frames of one host keep the distances of that host's monotonic clock, counted from
 * the sending of its first frame.  So the clocks of different hosts need not agree.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bus_opts.h"
#include "cli/verbs.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"
#include "lib/wire/seq.h"
#include "lib/wire/tele.h"

#define SECOND_NS INT64_C(1000000000)
#define STEP_NS   (SECOND_NS / 5)
#define RETRY_NS  (SECOND_NS / 1000)

struct args {
	const char *bus, *keys, *wait_text;
	bool is_connecting, is_fast;
	double speed;
	int64_t wait_ns;
};

/* When the frames of a host are due. */
struct pace {
	int64_t first_ns, due_ns; /* Of its first frame: by the host, and here. */
	int64_t last_ns;
};

struct replay {
	const struct args *args;
	struct rec_reader *reader; /* Owned. */
	struct bus_pub *pub;       /* Owned. */
	struct seq_book *sequences;
	struct strtab *hosts;
	VEC(struct pace) paces; /* By the host's number. */
	int64_t due_ns;         /* Time of the last frame. */
	uint64_t frames, bytes;
};

static int
replay_open(struct replay *r, const struct args *args, const char *path,
	    struct err *err)
{
	struct bus_keys *keys;
	int error;

	*r = (struct replay){ .args = args };
	r->sequences = seq_book_new();
	r->hosts = strtab_new();
	error = rec_reader_open(path, &r->reader, err);
	if (!error)
		error = bus_opts_keys(args->keys, &keys, err);
	if (error < 0)
		return error;
	error = bus_pub_open_room(args->bus, !args->is_connecting, keys,
				  BUS_ROOM_CLUSTER, &r->pub, err);
	bus_keys_free(keys);
	if (!error)
		bus_pub_set_lossless(r->pub);
	return error;
}

static void
replay_fini(struct replay *r)
{
	bus_pub_close(r->pub);
	rec_reader_close(r->reader);
	seq_book_free(r->sequences);
	strtab_free(r->hosts);
	vec_free(&r->paces);
}

/* Waits for a subscriber; false if none connected in time. */
static bool
await_subscriber(struct replay *r)
{
	int64_t end_ns = clk_monotonic_ns() + r->args->wait_ns;

	while (!bus_pub_is_heard(r->pub) && !bus_opts_signal()) {
		int64_t left_ns = end_ns - clk_monotonic_ns();

		if (left_ns <= 0)
			return false;
		bus_pub_wait(r->pub, left_ns < STEP_NS / 10 ? left_ns : STEP_NS / 10);
	}
	/* Subscribers that start together connect one after another. */
	bus_pub_wait(r->pub, STEP_NS);
	return true;
}

/* The time to send a frame; never before its predecessor. */
static int64_t
due_ns(struct replay *r, const struct tele_frame *frame)
{
	uint32_t host = strtab_intern(r->hosts, frame->host);
	struct pace *pace;
	int64_t due;

	if (host == r->paces.n)
		vec_push(&r->paces,
			 ((struct pace){ frame->time_ns, r->due_ns, frame->time_ns }));
	pace = &r->paces.items[host];
	/* After a reboot, or a gap of an hour in the recording: continue from now. */
	if (frame->time_ns < pace->last_ns - 10 * SECOND_NS ||
	    frame->time_ns > pace->last_ns + 3600 * SECOND_NS)
		*pace = (struct pace){ frame->time_ns, r->due_ns, frame->time_ns };
	pace->last_ns = frame->time_ns;
	due = pace->due_ns +
	      (int64_t)((double)(frame->time_ns - pace->first_ns) / r->args->speed);
	if (due > r->due_ns)
		r->due_ns = due;
	return r->due_ns;
}

static int
send_frame(struct replay *r, const struct tele_frame *frame, const uint8_t *bytes,
	   size_t n, struct err *err)
{
	for (;;) {
		int error = bus_pub_bytes(r->pub, frame->kind, frame->host, bytes, n);

		if (!error || bus_opts_signal())
			break;
		if (error != -EAGAIN)
			return err_set_errno(err, NULL, error, "cannot publish");
		bus_pub_wait(r->pub, RETRY_NS);
	}
	r->frames++;
	r->bytes += n;
	seq_note(r->sequences, frame, NULL);
	return 0;
}

static int
replay_all(struct replay *r, struct err *err)
{
	struct tele_frame frame = { 0 };
	const uint8_t *bytes;
	size_t n;
	int result = 0;

	r->due_ns = clk_monotonic_ns();
	while (!bus_opts_signal() &&
	       (result = rec_read(r->reader, &frame, &bytes, &n, err)) > 0) {
		int64_t left_ns = 0;

		if (!r->args->is_fast)
			left_ns = due_ns(r, &frame) - clk_monotonic_ns();
		while (left_ns > 0 && !bus_opts_signal()) {
			bus_pub_wait(r->pub, left_ns < STEP_NS ? left_ns : STEP_NS);
			left_ns = r->due_ns - clk_monotonic_ns();
		}
		result = send_frame(r, &frame, bytes, n, err);
		if (result < 0)
			break;
	}
	tele_fini(&frame);
	return result < 0 ? result : 0;
}

static int
answer(const struct replay *r, const char *path, int64_t start_ns)
{
	const struct seq_counts *sequences = seq_counts(r->sequences);
	struct strbuf damage = STRBUF_EMPTY;

	fprintf(stderr,
		"replayed %" PRIu64
		" frame%s (%.1f MB) of %u host%s in %.1f s, %" PRIu64
		" missing in the recording\n",
		r->frames, words_plural(r->frames), (double)r->bytes / 1e6,
		(unsigned)sequences->hosts, words_plural(sequences->hosts),
		(double)(clk_monotonic_ns() - start_ns) / 1e9, sequences->gaps);
	rec_describe_damage(rec_reader_counts(r->reader), &damage);
	if (damage.length)
		fprintf(stderr, "antiphase: %s: %s\n", path, damage.text);
	strbuf_free(&damage);
	return bus_opts_signal() ? CLI_INTERRUPTED : CLI_OK;
}

static int
replay_file(const struct args *args, const char *path)
{
	int64_t start_ns;
	struct replay r;
	struct err err;
	int error = replay_open(&r, args, path, &err), status;

	if (error < 0) {
		replay_fini(&r);
		return bus_opts_fail(error, &err);
	}
	if (args->wait_ns && !await_subscriber(&r)) {
		fprintf(stderr,
			"antiphase: no subscriber at %s; use --wait 0s to send "
			"without one\n",
			bus_pub_endpoint(r.pub));
		replay_fini(&r);
		return CLI_UNREACHABLE;
	}
	start_ns = clk_monotonic_ns();
	error = replay_all(&r, &err);
	status = error < 0 ? bus_opts_fail(error, &err) : answer(&r, path, start_ns);
	replay_fini(&r);
	return status;
}

static int
run_replay(int argc, char **argv)
{
	struct args args = { .bus = BUS_DEFAULT_ENDPOINT,
			     .wait_text = "10 s",
			     .speed = 1 };
	const struct cli_opt opts[] = {
		CLI_OPT("bus", 'b', CLI_STR, &args.bus, "ENDPOINT",
			"publish here (default: " BUS_DEFAULT_ENDPOINT ")"),
		CLI_OPT("connect", 0, CLI_FLAG, &args.is_connecting, NULL,
			"connect to a bound proxy or receiver, instead of binding"),
		CLI_OPT("keys", 0, CLI_STR, &args.keys, "DIR",
			"directory of CURVE keys, for a bus on another machine"),
		CLI_OPT("speed", 's', CLI_NUM, &args.speed, "X",
			"X times the recorded speed", .min = 1e-3, .max = 1e6),
		CLI_OPT("fast", 0, CLI_FLAG, &args.is_fast, NULL,
			"as fast as subscribers receive"),
		CLI_OPT("wait", 'w', CLI_STR, &args.wait_text, "TIME",
			"time to wait for the first subscriber (default: '10 s'; "
			"'0s': none)"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_replay, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (units_parse_ns(args.wait_text, &args.wait_ns) < 0)
		return cli_usage_error(&verb_replay, "--wait is '%s', expected %s",
				       args.wait_text, UNITS_WANT_TIME);
	bus_opts_catch_signals();
	return replay_file(&args, argv[first]);
}

const struct cli_verb verb_replay = {
	.name = "replay",
	.summary = "publish a recording on a bus",
	.usage = "[options] FILE",
	.examples = "  antiphase replay two-jobs.tele\n"
		    "  antiphase replay --speed 10 --bus ipc:///tmp/bus two-jobs.tele\n"
		    "  ssh n1 antiphase record --for 30s | antiphase replay --fast -\n",
	.run = run_replay,
	.operands = "one FILE, or '-'",
	.min_operands = 1,
	.max_operands = 1,
};
