/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_report.c - 'antiphase report': documents and recordings as one page, which needs
 * no server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link_history.h"
#include "cli/report_page.h"
#include "cli/screen.h"
#include "cli/screen_history.h"
#include "cli/top_view.h"
#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/instream.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/wire/rec.h"
#include "topology/write.h"

#define MAX_DOCUMENT_BYTES (64u << 20)
/* The page shows one state of the links. */
#define MAX_RECORDINGS 1

struct args {
	struct screen_opts screen;
	const char *out;
};

/*
 * True if the file begins as a recording does; false, too, if it cannot be read, and of
 * standard input.
 */
static bool
is_recording(const char *path)
{
	struct instream *stream;
	uint8_t begin[sizeof REC_FIRST_LINE - 1];
	struct err err;
	size_t n = 0;

	if (strcmp(path, "-") == 0 || instream_open(path, &stream, &err) < 0)
		return false;
	while (n < sizeof begin) {
		ssize_t r = instream_read(stream, begin + n, sizeof begin - n, &err);

		if (r <= 0)
			break;
		n += (size_t)r;
	}
	instream_close(stream);
	return n == sizeof begin && memcmp(begin, REC_FIRST_LINE, n) == 0;
}

static int
add_document(const char *path, struct report *report)
{
	struct err err;
	size_t length;
	char *text;
	int r = file_read(path, MAX_DOCUMENT_BYTES, &text, &length, &err);

	if (r < 0)
		return cli_fail(r, &err);
	r = report_add(path, text, length, report, &err);
	free(text);
	return r < 0 ? cli_fail(r, &err) : CLI_OK;
}

/* ---- Recordings ---------------------------------------------------------------------- */

/* Reads the recording to its end, and notes the links of each second. */
static int
follow(struct screen *screen, struct link_history *history)
{
	int status;

	do
		status = screen_history_step(screen, history);
	while (status == CLI_OK);
	return status == CLI_NO ? screen_gather(screen, 0) : status;
}

/* Writes the links and jobs of the recording's end. */
static void
write_end(struct screen *screen, FILE *out)
{
	const struct top_view view = { .sort = CONTENTION_BY_CONTENTION, .all = true };
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.top/1");
	top_view_json(&view, screen, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
add_text(const char *path, char *text, size_t length, struct report *report)
{
	struct err err;
	int r = report_add(path, text, length, report, &err);

	free(text);
	return r < 0 ? cli_fail(r, &err) : CLI_OK;
}

static void
write_history(const struct link_history *history, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.link_history/2");
	link_history_json(history, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
add_screen(const char *path, struct screen *screen, const struct link_history *history,
	   struct report *report)
{
	int status = CLI_OK;

	for (int part = 0; part < 3 && status == CLI_OK; part++) {
		char *text;
		size_t length;
		FILE *out;

		if (part == 2 && !screen->topo)
			break;
		out = open_memstream(&text, &length);
		BUG_ON(!out);
		if (part == 0)
			write_end(screen, out);
		else if (part == 1)
			write_history(history, out);
		else
			topo_json_write(screen->topo, out);
		fclose(out);
		status = add_text(path, text, length, report);
	}
	return status;
}

static int
add_recording(const char *path, const struct args *args, struct report *report)
{
	struct screen_opts opts = args->screen;
	struct link_history *history = link_history_new();
	struct screen screen;
	int status;

	opts.from = (struct cli_list){ .items = { path }, .n = 1 };
	status = screen_open(&screen, &verb_report, &opts, false);
	if (status == CLI_OK)
		status = follow(&screen, history);
	if (status == CLI_OK)
		status = add_screen(path, &screen, history, report);
	screen_close(&screen);
	link_history_free(history);
	return status;
}

/* ---- The verb ------------------------------------------------------------------------ */

static int
add_all(char **files, int n, const struct args *args, struct report *report)
{
	int n_recordings = 0, status = CLI_OK;

	for (int i = 0; i < n && status == CLI_OK; i++) {
		if (!is_recording(files[i]))
			status = add_document(files[i], report);
		else if (++n_recordings > MAX_RECORDINGS)
			status = cli_usage_error(&verb_report,
						 "a report shows one recording, and %s "
						 "is the second",
						 files[i]);
		else
			status = add_recording(files[i], args, report);
	}
	return status;
}

static int
run_report(int argc, char **argv)
{
	struct args args = { .out = NULL };
	const struct cli_opt opts[] = {
		CLI_OPT("output", 'o', CLI_STR, &args.out, "FILE",
			"write the page to FILE; required; '-' is standard output"),
		CLI_OPT("fabric", 'f', CLI_STR, &args.screen.fabric, "FILE",
			"the fabric of a recording"),
		CLI_OPT("window", 'w', CLI_STR, &args.screen.window, "TIME",
			"length of a recording's end to show (default: '3 s')"),
		CLI_OPT("ecmp-seed", 0, CLI_INT, &args.screen.ecmp_seed, "N",
			"seed of the fabric's choice among equal paths (default: 1)",
			.min = 1, .max = 9007199254740992.0),
		CLI_OPT("over", 0, CLI_NUM, &args.screen.over, "PERCENT",
			"a link is full above this share of its capacity (default: "
			"90)",
			.min = 1, .max = 100),
		CLI_OPTS_END,
	};
	struct report report = REPORT_EMPTY;
	struct strbuf page = STRBUF_EMPTY;
	int first = cli_parse(&verb_report, opts, argc, argv), status;
	struct err err;

	if (first < 0)
		return cli_status(first);
	if (!args.out)
		return cli_usage_error(&verb_report, "give --output FILE");
	status = add_all(argv + first, argc - first, &args, &report);
	if (status == CLI_OK) {
		int r;

		report_page(&report, &page);
		r = file_write(args.out, page.text, page.length, &err);
		status = r < 0 ? cli_fail(r, &err) : CLI_OK;
	}
	report_free(&report);
	strbuf_free(&page);
	return cli_finish(status);
}

const struct cli_verb verb_report = {
	.name = "report",
	.summary = "write a page that shows documents or a recording, as one file",
	.usage = "[options] -o PAGE FILE...",
	.examples =
		"  antiphase report -o advice.html advice.json\n"
		"  antiphase sim compare two-jobs.ini --series --json >compare.json && "
		"antiphase report -o sim.html compare.json\n"
		"  antiphase report --fabric two-jobs-fabric.json -o day.html "
		"two-jobs.tele\n",
	.run = run_report,
	.operands = "at least one FILE",
	.min_operands = 1,
	.max_operands = 64,
};
