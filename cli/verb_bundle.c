/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_bundle.c - 'antiphase bundle': one archive for a support ticket.
 *
 * Each member is the output of a program, mostly of ours, without what may be a secret.
 * A program that fails is named in the archive and on standard error, and no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "cli/redact.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/newfile.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "lib/daemon/child.h"

#define SECOND_NS      INT64_C(1000000000)
#define MAX_TEXT       ((size_t)16 << 20)
#define MAX_TELEMETRY  ((size_t)128 << 20)
#define MAX_WORDS      16
#define DEFAULT_FOR_NS (60 * SECOND_NS)
#define SELF           "/proc/self/exe"

struct bundle {
	struct archive *archive;
	const char *folder; /* Of all members. */
	time_t at;
	struct strbuf contents; /* A line for each member. */
	int n_failed;
	struct err *err;
};

/* A program whose output is a member. */
struct step {
	const char *member;
	const char *words[MAX_WORDS]; /* NULL-terminated. */
	int64_t timeout_ns;
	int max_status; /* Above 0: these statuses are answers, too. */
	bool is_binary;
};

static int
add_member(struct bundle *b, const char *name, const char *data, size_t n)
{
	struct archive_entry *entry = archive_entry_new();
	char *path = xasprintf("%s/%s", b->folder, name);
	int r = 0;

	archive_entry_set_pathname(entry, path);
	archive_entry_set_size(entry, (la_int64_t)n);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0600);
	archive_entry_set_mtime(entry, b->at, 0);
	if (archive_write_header(b->archive, entry) != ARCHIVE_OK ||
	    (n && archive_write_data(b->archive, data, n) != (la_ssize_t)n))
		r = err_set(b->err, NULL, 0, 0, "cannot write the archive: %s",
			    archive_error_string(b->archive));
	archive_entry_free(entry);
	free(path);
	return r;
}

struct run {
	struct bundle *bundle;
	const struct step *step;
	int result;
};

static void
tell(struct bundle *b, const char *member, const char *why)
{
	strbuf_printf(&b->contents, "%-14s %s\n", member, why ? why : "complete");
	if (why) {
		b->n_failed++;
		fprintf(stderr, "antiphase bundle: %s: %s\n", member, why);
	}
}

static void
on_done(void *ctx, const struct child_result *result)
{
	struct run *run = ctx;
	const struct step *step = run->step;
	bool is_answer = result->status >= 0 && result->status <= step->max_status;
	struct strbuf text = STRBUF_EMPTY, why = STRBUF_EMPTY;

	if (!step->is_binary) {
		redact(result->text, result->n, &text);
		redact(result->said, strlen(result->said), &text);
	}
	if (result->why && !is_answer)
		redact(result->why->text, strlen(result->why->text), &why);
	tell(run->bundle, step->member, why.length ? why.text : NULL);
	if (!step->is_binary)
		run->result = add_member(run->bundle, step->member,
					 text.text ? text.text : "", text.length);
	else if (!result->why)
		run->result =
			add_member(run->bundle, step->member, result->text, result->n);
	strbuf_free(&text);
	strbuf_free(&why);
}

static int
add_output(struct bundle *b, const struct step *step)
{
	struct run run = { b, step, 0 };
	struct err err = { .text = "" };
	const struct child_opts opts = {
		.argv = step->words,
		.name = strcmp(step->words[0], SELF) == 0 ? "antiphase"
							  : step->words[0],
		.timeout_ns = step->timeout_ns,
		.max_bytes = step->is_binary ? MAX_TELEMETRY : MAX_TEXT,
		.done = on_done,
		.ctx = &run,
	};

	if (child_run(&opts, &err) < 0)
		tell(b, step->member, err.text);
	return run.result;
}

struct bundle_args {
	const char *output, *for_text, *config, *bus, *keys;
	int64_t for_ns;
};

static void
add_words(struct step *step, const char *option, const char *value)
{
	size_t n = 0;

	while (step->words[n])
		n++;
	if (value) {
		step->words[n] = option;
		step->words[n + 1] = value;
	}
}

static int
add_members(struct bundle *b, const struct bundle_args *args)
{
	const char *telemetry = args->for_text ? args->for_text : "60 s";
	struct step steps[] = {
		{ "version.txt", { SELF, "--version" }, 10 * SECOND_NS, 0, false },
		{ "system.txt", { "uname", "-srvm" }, 10 * SECOND_NS, 0, false },
		{ "config.txt",
		  { SELF, "config", "show", "--origin" },
		  10 * SECOND_NS,
		  0,
		  false },
		{ "doctor.txt", { SELF, "doctor" }, 60 * SECOND_NS, 1, false },
		{ "log.txt",
		  { "journalctl", "--no-pager", "--lines=2000", "--output=short-iso",
		    "--unit=antiphase-*" },
		  30 * SECOND_NS,
		  0,
		  false },
		{ "telemetry.rec",
		  { SELF, "record", "--progress", "none", "--for", telemetry },
		  args->for_ns + 30 * SECOND_NS,
		  0,
		  true },
	};
	int r = 0;

	add_words(&steps[2], "--config", args->config);
	add_words(&steps[5], "--bus", args->bus);
	add_words(&steps[5], "--keys", args->keys);
	for (size_t i = 0; r == 0 && i < sizeof steps / sizeof *steps; i++)
		r = add_output(b, &steps[i]);
	return r == 0 ? add_member(b, "contents.txt", b->contents.text,
				   b->contents.length)
		      : r;
}

static int
write_bundle(const struct bundle_args *args, const char *path, const char *folder,
	     struct err *err)
{
	struct bundle b = { .archive = archive_write_new(),
			    .folder = folder,
			    .at = time(NULL),
			    .contents = STRBUF_EMPTY,
			    .err = err };
	struct newfile file;
	int r;

	umask(077);
	r = newfile_open(path, &file, err);
	if (r < 0) {
		archive_write_free(b.archive);
		return r;
	}
	if (archive_write_add_filter_xz(b.archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(b.archive) != ARCHIVE_OK ||
	    fchmod(fileno(file.out), 0600) < 0 ||
	    archive_write_open_FILE(b.archive, file.out) != ARCHIVE_OK)
		r = err_set(err, path, 0, 0, "cannot begin an archive: %s",
			    archive_error_string(b.archive)
				    ? archive_error_string(b.archive)
				    : strerror(errno));
	if (r == 0)
		r = add_members(&b, args);
	if (archive_write_close(b.archive) != ARCHIVE_OK && r == 0)
		r = err_set(err, path, 0, 0, "cannot write the archive: %s",
			    archive_error_string(b.archive));
	archive_write_free(b.archive);
	strbuf_free(&b.contents);
	return newfile_finish(&file, r, err);
}

static int
run_bundle(int argc, char **argv)
{
	struct bundle_args args = { .for_ns = DEFAULT_FOR_NS };
	const struct cli_opt opts[] = {
		CLI_OPT("output", 'o', CLI_STR, &args.output, "FILE",
			"the archive (default: antiphase-bundle-TIME.tar.xz)"),
		CLI_OPT("for", 0, CLI_STR, &args.for_text, "TIME",
			"record telemetry for this time (default: 60 s)"),
		CLI_OPT("config", 'c', CLI_STR, &args.config, "FILE",
			"settings file (default: /etc/antiphase/antiphase.conf)"),
		CLI_OPT("bus", 'b', CLI_STR, &args.bus, "ENDPOINT",
			"bus of the telemetry (default: tcp://127.0.0.1:7461)"),
		CLI_OPT("keys", 0, CLI_STR, &args.keys, "DIR",
			"directory of CURVE keys, for a bus on another machine"),
		CLI_OPTS_END,
	};
	struct err err = { 0 };
	char folder[64], *path;
	time_t now = time(NULL);
	struct tm utc;
	int first = cli_parse(&verb_bundle, opts, argc, argv), r;

	if (first < 0)
		return cli_status(first);
	if (args.for_text &&
	    (units_parse_ns(args.for_text, &args.for_ns) < 0 || args.for_ns <= 0))
		return cli_usage_error(&verb_bundle, "--for '%s': expected %s",
				       args.for_text, UNITS_WANT_TIME);
	gmtime_r(&now, &utc);
	strftime(folder, sizeof folder, "antiphase-bundle-%Y%m%dT%H%M%SZ", &utc);
	path = args.output ? xasprintf("%s", args.output)
			   : xasprintf("%s.tar.xz", folder);
	r = write_bundle(&args, path, folder, &err);
	if (r == 0)
		printf("wrote %s; read it before you send it: names of jobs and hosts, "
		       "and addresses, are in it\n",
		       path);
	free(path);
	return r < 0 ? cli_fail(r, &err) : CLI_OK;
}

const struct cli_verb verb_bundle = {
	.name = "bundle",
	.summary =
		"write versions, settings, logs and telemetry to an archive for support",
	.usage = "[options]",
	.examples = "  antiphase bundle\n"
		    "  antiphase bundle --for '10 s' -o ticket.tar.xz\n",
	.run = run_bundle,
	.operands = "",
};
