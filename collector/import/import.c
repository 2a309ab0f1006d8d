/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/import/hft.h"
#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "collector/series/publish.h"
#include "collector/sources/packets/capfile.h"
#include "collector/sources/packets/src_pcap.h"
#include "collector/sources/packets/src_sflow.h"
#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/base/rng.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "lib/wire/rec.h"

/* Longer than one poll of a source, so that no data precedes the first window. */
#define FIRST_POLL_MS 501
#define RAW_MS        1000

struct import {
	const char *kind; /* "pcap", "sflow", "hft". */
	/* Options; NULL: not given. */
	const char *output, *host, *interface, *filter, *counts, *capacity;
	const char *addresses, *rules, *progress_form;
	struct words local, jobs; /* Of the last two. */
	double capacity_bps;
	struct rec_writer *writer;
	struct progress progress;
	struct err err;
	int error; /* The first write error. */
};

/* One file, with its binner and publisher. */
struct lane {
	struct import *import;
	const char *file;
	uint64_t n_bytes;      /* Of the file, before decompression; 0: a pipe. */
	struct source *source; /* NULL: not opened yet. */
	struct binner *binner;
	struct ingest *ingest;
	struct publisher *publisher;
	int64_t until_ms;
	bool is_over;
	uint64_t n_frames;
};

/* ---- One file -------------------------------------------------------------------- */

static int
open_source(struct lane *lane, char host[TELE_MAX_NAME + 1])
{
	struct import *import = lane->import;
	const char *counts = import->counts ? import->counts : "auto";
	struct hft hft = { 0 };
	int error;

	capfile_name(lane->file, "import", host);
	if (!strcmp(import->kind, "pcap"))
		return src_pcap_open(
			&(struct pcap_options){
				.file = lane->file,
				.interface = import->interface,
				.filter = import->filter,
				.local = import->local.items.items,
				.n_local = import->local.items.n,
				.jobs = import->jobs.items.items,
				.n_jobs = import->jobs.items.n,
				.capacity_bps = import->capacity_bps,
			},
			&lane->source, &import->err);
	if (!strcmp(import->kind, "sflow"))
		return src_sflow_open(
			&(struct sflow_options){
				.file = lane->file,
				.jobs = import->jobs.items.items,
				.n_jobs = import->jobs.items.n,
			},
			&lane->source, &import->err);
	error = hft_read(lane->file,
			 !strcmp(counts, "cumulative") ? HFT_CUMULATIVE
			 : !strcmp(counts, "interval") ? HFT_INTERVAL
						       : HFT_AUTO,
			 &hft, &import->err);
	if (error < 0)
		return error;
	if (hft.host[0])
		memcpy(host, hft.host, TELE_MAX_NAME + 1);
	src_hft_open(&hft, import->capacity_bps, &lane->source);
	return 0;
}

static bool
wants_all(void *ctx, uint8_t kind)
{
	(void)ctx;
	(void)kind;
	return true;
}

static void
write_frame(void *ctx, const struct tele_frame *frame, const struct tele_buffer *bytes)
{
	struct lane *lane = ctx;
	struct import *import = lane->import;

	(void)frame;
	if (import->error == 0)
		import->error =
			rec_write(import->writer, bytes->bytes, bytes->n, &import->err);
	lane->n_frames++;
}

/* A boot id for each file, the same at each import. */
static void
make_boot_id(const char *file, uint8_t ret[16])
{
	uint64_t halves[2] = { 1, 2 };

	for (; *file; file++)
		for (int i = 0; i < 2; i++)
			halves[i] = rng_mix(halves[i] ^ (uint8_t)*file);
	memcpy(ret, halves, 16);
}

static int
open_lane(struct lane *lane, uint64_t start_id)
{
	struct import *import = lane->import;
	struct publish_options options = {
		.start_id = start_id,
		.flags = TELE_IMPORTED,
		.is_file = true,
		.raw_ms = RAW_MS,
		.is_wanted = wants_all,
		.send = write_frame,
		.ctx = lane,
	};
	char host[TELE_MAX_NAME + 1];
	int error;

	error = open_source(lane, host);
	if (error < 0)
		return error;
	options.host = import->host ? import->host : host;
	make_boot_id(lane->file, options.boot_id);
	lane->binner = binner_new();
	lane->ingest = ingest_new(lane->binner);
	lane->publisher = publisher_new(&options, lane->binner, lane->ingest);
	return 0;
}

static void
close_lane(struct lane *lane)
{
	publisher_free(lane->publisher);
	ingest_free(lane->ingest);
	binner_free(lane->binner);
	if (lane->source)
		lane->source->class->close(lane->source);
}

/* Polls the source once and writes the completed frames. */
static int
step_lane(struct lane *lane)
{
	struct publish_state state = { .clock_error_ns = -1 };
	bool is_first = lane->until_ms == 0;
	int error = lane->source->class->poll(
		lane->source, 0, ingest_sink(lane->ingest, 0), &lane->import->err);

	if (error < 0 && error != -ENODATA)
		return error;
	lane->is_over = error == -ENODATA;
	lane->until_ms = ingest_complete_ms(lane->ingest, 0);
	state.lost_records = ingest_counts(lane->ingest)->lost;
	if (is_first && lane->until_ms > FIRST_POLL_MS)
		publisher_run(lane->publisher, lane->until_ms - FIRST_POLL_MS, &state);
	if (lane->is_over)
		publisher_flush(lane->publisher, lane->until_ms, &state);
	else
		publisher_run(lane->publisher, lane->until_ms, &state);
	return lane->import->error;
}

/* Summary for the user. */
static void
report(const struct lane *lane)
{
	struct pcap_status pcap;
	struct sflow_status sflow;

	fprintf(stderr, "%s: ", lane->file);
	if (!strcmp(lane->import->kind, "pcap")) {
		src_pcap_status(lane->source, &pcap);
		fprintf(stderr,
			"%" PRIu64 " packet%s, %" PRIu64 " bytes, %.3f s, %" PRIu64
			" retransmit%s, %" PRIu64 " RoCE, %" PRIu64 " not IP; ",
			pcap.n_packets, words_plural(pcap.n_packets), pcap.n_bytes,
			(double)(pcap.last_ns - pcap.first_ns) / 1e9,
			pcap.n_retransmits, words_plural(pcap.n_retransmits),
			pcap.n_roce, pcap.n_unknown);
	} else if (!strcmp(lane->import->kind, "sflow")) {
		src_sflow_status(lane->source, &sflow);
		fprintf(stderr,
			"%" PRIu64 " datagram%s (%" PRIu64 " damaged, %" PRIu64
			" missing), %" PRIu64 " counter%s, %" PRIu64 " sample%s; ",
			sflow.n_datagrams, words_plural(sflow.n_datagrams),
			sflow.n_malformed, sflow.n_lost, sflow.n_counters,
			words_plural(sflow.n_counters), sflow.n_flows,
			words_plural(sflow.n_flows));
	}
	fprintf(stderr, "%zu interface%s, %" PRIu64 " frame%s\n",
		ingest_n_interfaces(lane->ingest),
		words_plural(ingest_n_interfaces(lane->ingest)), lane->n_frames,
		words_plural(lane->n_frames));
}

/* ---- All files ------------------------------------------------------------------- */

/* 0 for a pipe, or for a file that cannot be opened. */
static uint64_t
file_bytes(const char *file)
{
	struct stat stat_;
	int error =
		strcmp(file, "-") ? stat(file, &stat_) : fstat(STDIN_FILENO, &stat_);

	return error == 0 && S_ISREG(stat_.st_mode) ? (uint64_t)stat_.st_size : 0;
}

/* Shows progress by bytes read; if a file is a pipe, by frames made. */
static void
show_progress(const struct lane *lanes, size_t n)
{
	struct progress *progress = &lanes->import->progress;
	uint64_t n_all = 0, n_read = 0, n_frames = 0;
	bool is_known = true;

	for (size_t i = 0; i < n; i++) {
		const struct source *source = lanes[i].source;

		is_known = is_known && lanes[i].n_bytes;
		n_all += lanes[i].n_bytes;
		n_frames += lanes[i].n_frames;
		if (source)
			n_read += source->class->at ? source->class->at(source)
						    : lanes[i].n_bytes;
	}
	if (is_known)
		progress_update(progress, (double)n_read / (double)n_all,
				clk_monotonic_ns());
	else
		progress_open_ended(progress, n_frames, "frames", clk_monotonic_ns());
}

/* Frames of several files are written in the order of their times. */
static int
run_lanes(struct lane *lanes, size_t n)
{
	for (;;) {
		struct lane *next = NULL;
		int error;

		for (size_t i = 0; i < n; i++)
			if (!lanes[i].is_over &&
			    (!next || lanes[i].until_ms < next->until_ms))
				next = &lanes[i];
		if (!next)
			return 0;
		error = step_lane(next);
		if (error < 0)
			return error;
		show_progress(lanes, n);
	}
}

static int
import_files(struct import *import, char **files, size_t n)
{
	struct lane *lanes = xcalloc(n, sizeof *lanes);
	int error = 0;

	progress_init(&import->progress, stderr,
		      progress_form_of(import->progress_form, stderr), "importing",
		      clk_monotonic_ns());
	for (size_t i = 0; i < n; i++)
		lanes[i] = (struct lane){ .import = import,
					  .file = files[i],
					  .n_bytes = file_bytes(files[i]) };
	for (size_t i = 0; i < n && error == 0; i++) {
		error = open_lane(&lanes[i], i + 1);
		show_progress(lanes, n);
	}
	if (error == 0)
		error = rec_writer_open(import->output, &import->writer, &import->err);
	if (error == 0)
		error = run_lanes(lanes, n);
	progress_end(&import->progress, error == 0, clk_monotonic_ns());
	for (size_t i = 0; i < n; i++) {
		if (error == 0)
			report(&lanes[i]);
		close_lane(&lanes[i]);
	}
	free(lanes);
	if (import->writer && error == 0)
		return rec_writer_close(import->writer, &import->err);
	rec_writer_close(import->writer, NULL);
	return error;
}

/* ---- The verb -------------------------------------------------------------------- */

static int
check_kind(const struct import *import)
{
	static const char *const kinds[] = { "pcap", "sflow", "hft", NULL };
	const char *meant;

	for (size_t i = 0; kinds[i]; i++)
		if (!strcmp(import->kind, kinds[i]))
			return CLI_OK;
	meant = err_did_you_mean(import->kind, kinds);
	return cli_usage_error(
		&verb_import,
		"'%s' cannot be imported: expected pcap, sflow or hft%s%s%s; or chakra "
		"or operations right after 'import'",
		import->kind, meant ? " (did you mean '" : "", meant ? meant : "",
		meant ? "'?)" : "");
}

/* Refuses options that do not apply to the kind. */
static int
check_options(const struct import *import)
{
	const struct {
		const char *name, *value, *kinds;
	} options[] = {
		{ "interface", import->interface, "pcap" },
		{ "local", import->addresses, "pcap" },
		{ "job", import->rules, "pcap and sflow" },
		{ "filter", import->filter, "pcap" },
		{ "capacity", import->capacity, "pcap and hft" },
		{ "counts", import->counts, "hft" },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (options[i].value && !strstr(options[i].kinds, import->kind))
			return cli_usage_error(
				&verb_import, "--%s applies to %s, not to %s",
				options[i].name, options[i].kinds, import->kind);
	return CLI_OK;
}

static int
check(const struct import *import, int n_files)
{
	int status = check_kind(import);

	if (status == CLI_OK)
		status = check_options(import);
	if (status != CLI_OK)
		return status;
	if (n_files == 0)
		return cli_usage_error(&verb_import, "no file to import");
	if (!import->output)
		return cli_usage_error(&verb_import, "name the output: --output FILE");
	if (n_files > 1 && (import->host || import->interface))
		return cli_usage_error(
			&verb_import,
			"--host and --interface are for one file at a time");
	return CLI_OK;
}

static int
run(struct import *import, char **files, int n)
{
	int error;

	if (import->capacity &&
	    units_parse_bps(import->capacity, &import->capacity_bps) < 0)
		return cli_usage_error(&verb_import,
				       "--capacity '%s': expected " UNITS_WANT_RATE,
				       import->capacity);
	error = import_files(import, files, (size_t)n);
	return cli_finish(error < 0 ? cli_fail(error, &import->err) : CLI_OK);
}

int
import_main(int argc, char **argv)
{
	static const char *const counts[] = { "auto", "cumulative", "interval", NULL };
	struct import import = { 0 };
	const struct cli_opt opts[] = {
		{ "output", 'o', CLI_STR, &import.output, "FILE",
		  "the recording to write; - is stdout", 0, 0, NULL, NULL },
		{ "host", 0, CLI_STR, &import.host, "NAME",
		  "name of the switch or host (default: from the file)", 0, 0, NULL,
		  NULL },
		{ "interface", 0, CLI_STR, &import.interface, "NAME",
		  "pcap: name of the port (default: the file's name)", 0, 0, NULL,
		  NULL },
		{ "local", 0, CLI_STR, &import.addresses, "ADDRESSES",
		  "pcap: addresses behind the port, comma-separated; they send", 0, 0,
		  NULL, NULL },
		{ "job", 0, CLI_STR, &import.rules, "RULES",
		  "pcap, sflow: JOB=ADDRESS[,ADDRESS][:PORT[-PORT]], space-separated",
		  0, 0, NULL, NULL },
		{ "filter", 0, CLI_STR, &import.filter, "EXPRESSION",
		  "pcap: count only packets that match this pcap-filter(7) expression",
		  0, 0, NULL, NULL },
		{ "capacity", 0, CLI_STR, &import.capacity, "RATE",
		  "pcap, hft: capacity of the ports, such as '100 Gb/s'", 0, 0, NULL,
		  NULL },
		{ "counts", 0, CLI_WORDS, &import.counts, "WHAT",
		  "hft: octets are auto, cumulative or interval", 0, 0, counts, NULL },
		PROGRESS_OPT(&import.progress_form),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_import, opts, argc, argv), status;

	if (first < 0)
		return cli_status(first);
	if (first == argc)
		return cli_usage_error(&verb_import, "expected pcap, sflow or hft");
	import.kind = argv[first];
	status = check(&import, argc - first - 1);
	if (status != CLI_OK)
		return status;
	words_split(&import.local, import.addresses, ", ");
	words_split(&import.jobs, import.rules, " ");
	status = run(&import, argv + first + 1, argc - first - 1);
	words_fini(&import.local);
	words_fini(&import.jobs);
	return status;
}

const struct cli_verb verb_import = {
	.name = "import",
	.summary = "captures, sFlow and switch telemetry as recordings",
	.usage = "pcap|sflow|hft [options] FILE... -o OUT\n"
		 "       antiphase import chakra|operations [options] FILE...",
	.examples =
		"  antiphase import pcap port7.pcap --local 10.0.0.7 -o port7.tele\n"
		"  antiphase import hft leaf01.json leaf02.json -o leaves.tele\n"
		"  antiphase import sflow switches.pcap -o switches.tele\n",
	.run = import_main,
};
