/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_store.c - 'antiphase store': the scheduler's file of history and state, checked
 * and copied.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/bus_opts.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/table.h"
#include "scheduler/store/store_file.h"

static const struct cli_verb verb_store_check, verb_store_backup;

static bool
is_stopped(void)
{
	return bus_opts_signal() != 0;
}

static int
fail(int error, const struct err *err)
{
	int status = bus_opts_fail(error, err);

	return error == -EINTR ? CLI_INTERRUPTED : error == -EBADMSG ? CLI_NO : status;
}

/* ---- check ----------------------------------------------------------------------- */

static void
print_json(const char *path, const struct store_report *report)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.store_check/1");
	jsonw_str(&w, "file", path);
	if (report->version < 0)
		jsonw_null(&w, "version");
	else
		jsonw_int(&w, "version", report->version);
	jsonw_int(&w, "size_bytes", report->bytes);
	jsonw_int(&w, "free_bytes", report->free_bytes);
	jsonw_array(&w, "tables");
	for (size_t i = 0; i < report->n_tables; i++) {
		const struct store_table *table = &report->tables[i];

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "table", table->name);
		jsonw_int(&w, "rows", table->n_rows);
		if (table->n_rows > 0) {
			jsonw_int(&w, "first_us", table->first_us);
			jsonw_int(&w, "last_us", table->last_us);
		} else {
			jsonw_null(&w, "first_us");
			jsonw_null(&w, "last_us");
		}
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_array(&w, "faults");
	for (size_t i = 0; i < report->n_faults; i++)
		jsonw_str(&w, NULL, report->faults[i]);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
print_people(const char *path, const struct store_report *report)
{
	struct table t;
	char first[TIME_TEXT_SIZE], last[TIME_TEXT_SIZE];

	if (report->n_tables > 0) {
		table_init(&t, (const char *const[]){ "TABLE", "%ROWS", "FIRST", "LAST",
						      NULL });
		for (size_t i = 0; i < report->n_tables; i++) {
			const struct store_table *table = &report->tables[i];

			time_text(table->first_us, first);
			time_text(table->last_us, last);
			table_cell(&t, "%s", table->name);
			table_cell(&t, "%lld", (long long)table->n_rows);
			table_cell(&t, "%s", table->n_rows > 0 ? first : "-");
			table_cell(&t, "%s", table->n_rows > 0 ? last : "-");
		}
		table_print(&t, stdout);
		table_fini(&t);
	}
	if (report->n_faults == 0)
		printf("%s is whole: version %lld, %.1f MB, %.1f MB of it in use\n",
		       path, (long long)report->version, (double)report->bytes / 1e6,
		       (double)(report->bytes - report->free_bytes) / 1e6);
	fflush(stdout);
	for (size_t i = 0; i < report->n_faults; i++)
		fprintf(stderr, "%s: %s: %s\n", log_program(), path, report->faults[i]);
}

static int
run_check(int argc, char **argv)
{
	bool json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	struct store_report report;
	struct err err;
	int first = cli_parse(&verb_store_check, opts, argc, argv), error, status;

	if (first < 0)
		return cli_status(first);
	bus_opts_catch_signals();
	error = store_check(argv[first], is_stopped, &report, &err);
	if (error < 0)
		return fail(error, &err);
	if (json)
		print_json(argv[first], &report);
	else
		print_people(argv[first], &report);
	status = report.n_faults > 0 ? CLI_NO : CLI_OK;
	store_report_fini(&report);
	return cli_finish(status);
}

static const struct cli_verb verb_store_check = {
	.name = "store check",
	.summary = "check that a store is whole, and show what it holds",
	.usage = "[options] FILE",
	.run = run_check,
	.operands = "one FILE",
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- backup ---------------------------------------------------------------------- */

static int
run_backup(int argc, char **argv)
{
	const char *copy = NULL;
	struct store_backup_opts backup = { .is_stopped = is_stopped };
	const struct cli_opt opts[] = {
		CLI_OPT("output", 'o', CLI_STR, &copy, "COPY", "file to make"),
		CLI_OPT("replace", 'r', CLI_FLAG, &backup.is_replaced, NULL,
			"replace an existing COPY"),
		CLI_OPTS_END,
	};
	int64_t bytes;
	struct err err;
	int first = cli_parse(&verb_store_backup, opts, argc, argv), error;

	if (first < 0)
		return cli_status(first);
	if (!copy || !*copy)
		return cli_usage_error(&verb_store_backup, "expected -o COPY");
	bus_opts_catch_signals();
	error = store_backup(argv[first], copy, &backup, &bytes, &err);
	if (error < 0)
		return fail(error, &err);
	fprintf(stderr, "%s: copied and checked, %.1f MB\n", copy, (double)bytes / 1e6);
	return CLI_OK;
}

static const struct cli_verb verb_store_backup = {
	.name = "store backup",
	.summary = "copy a store, also one in use, and check the copy",
	.usage = "[options] -o COPY FILE",
	.run = run_backup,
	.operands = "one FILE",
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- store ----------------------------------------------------------------------- */

static const struct cli_verb *const subverbs[] = { &verb_store_check,
						   &verb_store_backup, NULL };

static int
run_store(int argc, char **argv)
{
	return cli_subverbs(&verb_store, subverbs, argc, argv);
}

const struct cli_verb verb_store = {
	.name = "store",
	.summary = "check and copy the scheduler's store",
	.usage = "VERB [options] ...",
	.examples =
		"  antiphase store check /var/lib/antiphase/history.db\n"
		"  antiphase store backup /var/lib/antiphase/history.db -o copy.db\n",
	.run = run_store,
};
