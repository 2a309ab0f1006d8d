/* SPDX-License-Identifier: Apache-2.0 */
/* verb_record.c - 'antiphase record': write frames of the bus to a file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bus_opts.h"
#include "cli/verbs.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/progress.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"
#include "lib/wire/tele.h"

#define SECOND_NS INT64_C(1000000000)
#define STEP_NS   (SECOND_NS / 5)
/* Time to find a running publisher. */
#define PATIENCE_NS (3 * SECOND_NS)

struct args {
	struct cli_list bus;
	const char *keys, *file, *for_text, *progress;
	bool is_bound, is_summaries, json;
	int64_t for_ns; /* 0: until interrupted. */
	int64_t max_frames;
};

struct recorder {
	const struct args *args;
	struct bus_sub *sub;       /* Owned. */
	struct rec_writer *writer; /* Owned. */
	struct progress progress;
	int64_t start_ns;
	uint64_t frames, bytes; /* Written. */
	bool is_warned;         /* The absence of a publisher was reported. */
};

static int
recorder_open(struct recorder *r, const struct args *args, struct err *err)
{
	struct bus_keys *keys;
	int error;

	*r = (struct recorder){ .args = args, .start_ns = clk_monotonic_ns() };
	error = bus_opts_keys(args->keys, &keys, err);
	if (error < 0)
		return error;
	error = bus_sub_open(args->bus.items, args->bus.n, args->is_bound, keys,
			     &r->sub, err);
	bus_keys_free(keys);
	for (size_t i = 0; i < args->bus.n && !error && !args->is_bound; i++)
		error = bus_endpoint_resolve(args->bus.items[i], err);
	if (error < 0)
		return error;
	bus_sub_want(r->sub, TELE_SUMMARY, NULL, true);
	if (!args->is_summaries) {
		bus_sub_want(r->sub, TELE_RAW, NULL, true);
		bus_sub_want(r->sub, TELE_EVENTS, NULL, true);
		bus_sub_want(r->sub, TELE_PACE, NULL, true);
	}
	progress_init(&r->progress, stderr, progress_form_of(args->progress, stderr),
		      "recording", r->start_ns);
	return rec_writer_open(args->file, &r->writer, err);
}

/* Reports once that no publisher is connected. */
static void
warn_if_no_publisher(struct recorder *r, int64_t now_ns)
{
	/* Missing frames show when a connected publisher leaves. */
	if (bus_sub_counts(r->sub)->connections)
		r->is_warned = true;
	if (r->is_warned || now_ns - r->start_ns < PATIENCE_NS)
		return;
	r->is_warned = true;
	progress_clear(&r->progress);
	fprintf(stderr,
		"antiphase: no publisher at %s yet; check that "
		"antiphase-collector runs there\n",
		r->args->bus.items[0]);
}

/* Writes the frames that have arrived: 0 or -errno. */
static int
record_some(struct recorder *r, struct tele_frame *frame, struct err *err)
{
	const uint8_t *bytes;
	size_t n;
	int result;

	while ((result = bus_sub_frame(r->sub, frame, &bytes, &n)) == 1) {
		int error = rec_write(r->writer, bytes, n, err);

		if (error < 0)
			return error;
		r->frames++;
		r->bytes += n;
		if (bus_opts_signal() || r->frames == (uint64_t)r->args->max_frames)
			break;
	}
	return result < 0 ? err_set_errno(err, NULL, result, "cannot receive") : 0;
}

/*
 * Shows the progress of --for or --frames, whichever ends first; with neither, a
 * count.
 */
static void
show_progress(struct recorder *r, int64_t now_ns)
{
	const struct args *args = r->args;
	double time_frac = 0, frame_frac = 0;

	if (args->for_ns)
		time_frac = (double)(now_ns - r->start_ns) / (double)args->for_ns;
	if (args->max_frames)
		frame_frac = (double)r->frames / (double)args->max_frames;
	if (args->for_ns)
		progress_update(&r->progress, fmax(time_frac, frame_frac), now_ns);
	else if (args->max_frames)
		progress_count(&r->progress, r->frames, (uint64_t)args->max_frames,
			       now_ns);
	else
		progress_open_ended(&r->progress, r->frames, "frames", now_ns);
}

static int
record_all(struct recorder *r, struct err *err)
{
	struct tele_frame frame = { 0 };
	int error = 0;

	while (!error && !bus_opts_signal() &&
	       (!r->args->max_frames || r->frames < (uint64_t)r->args->max_frames)) {
		int64_t now_ns = clk_monotonic_ns(), wait_ns = STEP_NS;

		if (r->args->for_ns) {
			int64_t left_ns = r->start_ns + r->args->for_ns - now_ns;

			if (left_ns <= 0)
				break;
			if (left_ns < wait_ns)
				wait_ns = left_ns;
		}
		show_progress(r, now_ns);
		warn_if_no_publisher(r, now_ns);
		bus_sub_wait(r->sub, wait_ns);
		error = record_some(r, &frame, err);
	}
	progress_end(&r->progress, !error && !bus_opts_signal(), clk_monotonic_ns());
	tele_fini(&frame);
	return error;
}

/* ---- Results ----------------------------------------------------------------- */

static void
print_counts(const struct recorder *r, const struct bus_counts *counts)
{
	fprintf(stderr,
		"recorded %" PRIu64
		" frame%s (%.1f MB) of %u host%s in %.1f s, %" PRIu64 " missing",
		r->frames, words_plural(r->frames), (double)r->bytes / 1e6,
		(unsigned)counts->hosts, words_plural(counts->hosts),
		(double)(clk_monotonic_ns() - r->start_ns) / 1e9, counts->gaps);
	if (counts->damaged + counts->foreign)
		fprintf(stderr, ", %" PRIu64 " damaged, %" PRIu64 " of another version",
			counts->damaged, counts->foreign);
	if (counts->misnamed + counts->duplicates)
		fprintf(stderr,
			", dropped %" PRIu64 " for hosts of other keys and %" PRIu64
			" of hosts that another sends for",
			counts->misnamed, counts->duplicates);
	if (counts->restarts + counts->reconnects)
		fprintf(stderr, ", %" PRIu64 " restarts, %" PRIu64 " reconnects",
			counts->restarts, counts->reconnects);
	putc('\n', stderr);
}

static void
print_json(const struct recorder *r, const struct bus_counts *counts, bool interrupted)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.record/1");
	jsonw_str(&w, "file", r->args->file);
	jsonw_bool(&w, "interrupted", interrupted);
	jsonw_int(&w, "duration_us", (clk_monotonic_ns() - r->start_ns) / 1000);
	jsonw_int(&w, "frames", (int64_t)r->frames);
	jsonw_int(&w, "bytes", (int64_t)r->bytes);
	jsonw_int(&w, "hosts", counts->hosts);
	jsonw_int(&w, "missing_frames", (int64_t)counts->gaps);
	jsonw_int(&w, "repeated_frames", (int64_t)counts->repeats);
	jsonw_int(&w, "damaged_frames", (int64_t)counts->damaged);
	jsonw_int(&w, "foreign_frames", (int64_t)counts->foreign);
	jsonw_int(&w, "misnamed_frames", (int64_t)counts->misnamed);
	jsonw_int(&w, "duplicate_frames", (int64_t)counts->duplicates);
	jsonw_int(&w, "restarts", (int64_t)counts->restarts);
	jsonw_int(&w, "reconnects", (int64_t)counts->reconnects);
	jsonw_int(&w, "refused_connections", (int64_t)counts->refused);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* Prints why nothing was recorded; returns 'status'. */
static int __attribute__((format(printf, 2, 3)))
nothing(int status, const char *fmt, ...)
{
	va_list args;

	fputs("antiphase: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	putc('\n', stderr);
	return status;
}

static int
answer(const struct recorder *r)
{
	const struct bus_counts *counts = bus_sub_counts(r->sub);
	const char *where = r->args->bus.items[0];
	bool interrupted = bus_opts_signal() != 0;
	int status;

	if (r->args->json)
		print_json(r, counts, interrupted);
	print_counts(r, counts);
	if (r->frames)
		status = CLI_OK;
	else if (counts->connections || counts->reconnects)
		status = nothing(CLI_THIN, "the publisher at %s sent no frames", where);
	else if (counts->refused && r->args->is_bound)
		status = nothing(CLI_DENIED,
				 "no publisher at %s, and connections were refused: "
				 "the warnings say why",
				 where);
	else if (counts->refused)
		status =
			nothing(CLI_DENIED,
				"no connection to %s: the keys of the two sides do not "
				"match; run 'antiphase keys show' on both",
				where);
	else
		status = nothing(
			CLI_UNREACHABLE,
			"no publisher at %s; check that antiphase-collector runs there",
			where);
	return cli_finish(interrupted ? CLI_INTERRUPTED : status);
}

static int
check_args(struct args *args)
{
	if (!args->bus.n) {
		const char *bus = getenv("ANTIPHASE_BUS");

		args->bus.items[args->bus.n++] =
			bus && *bus ? bus : BUS_DEFAULT_ENDPOINT;
	}
	if (args->for_text &&
	    (units_parse_ns(args->for_text, &args->for_ns) < 0 || args->for_ns <= 0))
		return cli_usage_error(&verb_record, "--for is '%s', expected %s",
				       args->for_text, UNITS_WANT_TIME);
	if (strcmp(args->file, "-") != 0)
		return CLI_OK;
	if (args->json)
		return cli_usage_error(
			&verb_record,
			"--json and the recording cannot both go to standard "
			"output; write the recording to a file with -o");
	if (isatty(STDOUT_FILENO))
		return cli_usage_error(
			&verb_record,
			"not writing a recording to a terminal; write it to a file "
			"with -o");
	return CLI_OK;
}

static int
run_record(int argc, char **argv)
{
	struct args args = { .file = "-" };
	const struct cli_opt opts[] = {
		CLI_OPT("bus", 'b', CLI_LIST, &args.bus, "ENDPOINT",
			"listen here (default: " BUS_DEFAULT_ENDPOINT "); repeatable"),
		CLI_OPT("bind", 0, CLI_FLAG, &args.is_bound, NULL,
			"bind there, for publishers that connect"),
		CLI_OPT("keys", 0, CLI_STR, &args.keys, "DIR",
			"directory of CURVE keys, for a bus on another machine"),
		CLI_OPT("for", 0, CLI_STR, &args.for_text, "TIME",
			"stop after this time ('30 s'; default: when interrupted)"),
		CLI_OPT("frames", 'n', CLI_INT, &args.max_frames, "N",
			"stop after N frames", .min = 1, .max = 1e15),
		CLI_OPT("summaries", 0, CLI_FLAG, &args.is_summaries, NULL,
			"record only summaries: no raw series, no events"),
		CLI_OPT("output", 'o', CLI_STR, &args.file, "FILE",
			"write to FILE instead of standard output"),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"print the counts as antiphase.record/1"),
		PROGRESS_OPT(&args.progress),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_record, opts, argc, argv), error, status;
	struct recorder recorder;
	struct err err;

	if (first < 0)
		return cli_status(first);
	status = check_args(&args);
	if (status != CLI_OK)
		return status;

	bus_opts_catch_signals();
	error = recorder_open(&recorder, &args, &err);
	if (!error)
		error = record_all(&recorder, &err);
	if (!error) {
		error = rec_writer_close(recorder.writer, &err);
		recorder.writer = NULL;
	}
	status = error < 0 ? bus_opts_fail(error, &err) : answer(&recorder);
	rec_writer_close(recorder.writer, NULL);
	bus_sub_close(recorder.sub);
	return status;
}

const struct cli_verb verb_record = {
	.name = "record",
	.summary = "record the telemetry of a bus to a file",
	.usage = "[options]",
	.examples = "  antiphase record --for 30s -o lunch.tele\n"
		    "  antiphase record --bus tcp://n1:7461 --bus tcp://n2:7461 -o "
		    "two.tele\n"
		    "  antiphase record --for 10min | xz >ten.tele.xz\n",
	.run = run_record,
	.operands = "",
};
