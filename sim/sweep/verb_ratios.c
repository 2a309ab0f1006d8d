/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_ratios.c - 'antiphase sim ratios': ratios of a merged sweep's metrics to a
 * baseline.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "sim/report/report.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/ratios.h"
#include "sim/verbs.h"

struct ratios_args {
	struct cli_list base, metrics, reference;
	const char *csv;
	bool json;
	char *texts[RATIOS_MAX_METRICS]; /* Owned.  "NAME\0HEADING" of each metric. */
	const char *names[RATIOS_MAX_METRICS], *headings[RATIOS_MAX_METRICS];
};

struct ratios_report {
	const struct ratios *ratios;
	const struct ratios_args *args;
};

/* ---- Table ----------------------------------------------------------------------- */

static void
put_value(struct table *t, const struct ratios_value *value)
{
	if (isnan(value->ratio))
		table_cell(t, "-");
	else if (isnan(value->ci95))
		table_cell(t, "%.3f", value->ratio);
	else
		table_cell(t, "%.3f +- %.3f", value->ratio, value->ci95);
}

/* A row of reference figures: "TEXT=1.6,2.5,-". */
static void
put_reference(struct table *t, const char *text, size_t n_axes, size_t n_metrics)
{
	const char *equals = strchr(text, '='), *rest = equals ? equals + 1 : "";

	table_cell(t, "%.*s", (int)strcspn(text, "="), text);
	for (size_t i = 1; i < n_axes + 1; i++)
		table_cell(t, "%s", i < n_axes ? "" : "-");
	for (size_t m = 0; m < n_metrics; m++) {
		size_t n = strcspn(rest, ",");

		table_cell(t, "%.*s", n ? (int)n : 1, n ? rest : "-");
		rest += n + (rest[n] == ',');
	}
}

static void
print_table(const struct ratios *ratios, const struct ratios_args *args, FILE *out)
{
	const char *headings[TABLE_MAX_COLUMNS + 1] = { NULL };
	char *metrics[RATIOS_MAX_METRICS];
	size_t axes[TABLE_MAX_COLUMNS], n_axes = 0, n = 0;
	struct table t;

	for (size_t i = 0; i < ratios->n_axes; i++)
		if (ratios_varies(ratios, i) &&
		    n < TABLE_MAX_COLUMNS - 1 - ratios->n_metrics) {
			axes[n_axes++] = i;
			headings[n++] = ratios->axes[i];
		}
	headings[n++] = "%SEEDS";
	for (size_t m = 0; m < ratios->n_metrics; m++)
		headings[n++] = metrics[m] = xasprintf("%%%s", args->headings[m]);
	table_init(&t, headings);
	for (size_t i = 0; i < ratios->n_rows; i++) {
		const struct ratios_row *row = &ratios->rows[i];

		for (size_t k = 0; k < n_axes; k++)
			table_cell(&t, "%s", row->values[axes[k]]);
		table_cell(&t, "%zu", row->n_seeds);
		for (size_t m = 0; m < ratios->n_metrics; m++)
			put_value(&t, &row->metrics[m]);
	}
	for (size_t i = 0; n_axes && i < args->reference.n; i++)
		put_reference(&t, args->reference.items[i], n_axes, ratios->n_metrics);
	table_print(&t, out);
	table_fini(&t);
	for (size_t m = 0; m < ratios->n_metrics; m++)
		free(metrics[m]);
}

/* ---- JSON and CSV ---------------------------------------------------------------- */

static void
put_row(const struct ratios_report *report, const struct ratios_row *row,
	struct jsonw *w)
{
	const struct ratios *ratios = report->ratios;

	jsonw_object(w, NULL);
	jsonw_array(w, "axes");
	for (size_t i = 0; i < ratios->n_axes; i++) {
		jsonw_flat_object(w, NULL);
		jsonw_str(w, "axis", ratios->axes[i]);
		jsonw_str(w, "value", row->values[i]);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_int(w, "n_seeds", (int64_t)row->n_seeds);
	jsonw_array(w, "metrics");
	for (size_t m = 0; m < ratios->n_metrics; m++) {
		jsonw_flat_object(w, NULL);
		jsonw_str(w, "metric", report->args->names[m]);
		jsonw_num(w, "base", row->metrics[m].base);
		jsonw_num(w, "mean", row->metrics[m].mean);
		jsonw_num(w, "ratio", row->metrics[m].ratio);
		jsonw_num(w, "ci95", row->metrics[m].ci95);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void
print_json(const struct ratios_report *report, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.sim_ratios/2");
	jsonw_str(&w, "sweep", report->ratios->sweep);
	jsonw_str(&w, "version", report->ratios->version);
	jsonw_array(&w, "base");
	for (size_t i = 0; i < report->args->base.n; i++)
		jsonw_str(&w, NULL, report->args->base.items[i]);
	jsonw_end(&w);
	jsonw_array(&w, "rows");
	for (size_t i = 0; i < report->ratios->n_rows; i++)
		put_row(report, &report->ratios->rows[i], &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
put_number(double value, FILE *out)
{
	putc(',', out);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
}

static void
put_csv(const void *ctx, FILE *out)
{
	const struct ratios_report *report = ctx;
	const struct ratios *ratios = report->ratios;

	fprintf(out, "# cells: %s\n# base:", ratios->version);
	for (size_t i = 0; i < report->args->base.n; i++)
		fprintf(out, " %s", report->args->base.items[i]);
	putc('\n', out);
	for (size_t i = 0; i < ratios->n_axes; i++) {
		table_put_csv(ratios->axes[i], out);
		putc(',', out);
	}
	fprintf(out, "seeds,metric,base,mean,ratio,ci95\n");
	for (size_t i = 0; i < ratios->n_rows; i++)
		for (size_t m = 0; m < ratios->n_metrics; m++) {
			const struct ratios_row *row = &ratios->rows[i];

			for (size_t k = 0; k < ratios->n_axes; k++) {
				table_put_csv(row->values[k], out);
				putc(',', out);
			}
			fprintf(out, "%zu,", row->n_seeds);
			table_put_csv(report->args->names[m], out);
			put_number(row->metrics[m].base, out);
			put_number(row->metrics[m].mean, out);
			put_number(row->metrics[m].ratio, out);
			put_number(row->metrics[m].ci95, out);
			putc('\n', out);
		}
}

static int
report_all(const struct ratios_report *report, const char *command, struct err *err)
{
	const struct csv_file files[] = { { "ratios.csv", put_csv } };
	char seeds[48];
	const struct provenance provenance = {
		.version = cli_version(),
		.command = command,
		.scenario = report->ratios->sweep,
		.seeds = seeds,
	};

	snprintf(seeds, sizeof seeds, "%" PRIu64 "..%" PRIu64, report->ratios->min_seed,
		 report->ratios->max_seed);
	if (report->args->csv) {
		int r = report_csv(report->args->csv, &provenance, files, 1, report,
				   err);

		if (r < 0)
			return r;
	}
	if (report->args->json)
		print_json(report, stdout);
	else if (!report->args->csv || strcmp(report->args->csv, "-"))
		print_table(report->ratios, report->args, stdout);
	return 0;
}

/* ---- The verb -------------------------------------------------------------------- */

static int
run(struct ratios_args *args, const char *path, const char *command)
{
	struct ratios ratios = { 0 };
	struct json_doc *doc = NULL;
	struct err err = { 0 };
	char *text = NULL;
	size_t n;
	int r = file_read(path, CELLS_MAX_BYTES, &text, &n, &err);

	if (r == 0)
		r = json_parse(path, text, n, &doc, &err);
	if (r == 0)
		r = ratios_make(doc, args->base.items, args->base.n, args->names,
				args->metrics.n, &ratios, &err);
	if (r == 0)
		r = report_all(&(struct ratios_report){ &ratios, args }, command, &err);
	ratios_fini(&ratios);
	json_doc_free(doc);
	free(text);
	return r < 0 ? cli_fail(r, &err) : cli_finish(CLI_OK);
}

/* Splits each metric "NAME=HEADING"; without a heading, the name is the heading. */
static int
run_with_headings(struct ratios_args *args, const char *path, const char *command)
{
	int status;

	for (size_t m = 0; m < args->metrics.n; m++) {
		char *text = args->texts[m] = xstrdup(args->metrics.items[m]);
		char *equals = strchr(text, '=');

		args->names[m] = args->headings[m] = text;
		if (equals) {
			*equals = 0;
			args->headings[m] = equals + 1;
		}
	}
	status = run(args, path, command);
	for (size_t m = 0; m < args->metrics.n; m++)
		free(args->texts[m]);
	return status;
}

static int
run_ratios(int argc, char **argv)
{
	struct ratios_args args = { 0 };
	const struct cli_opt opts[] = {
		CLI_OPT("base", 'b', CLI_LIST, &args.base, "AXIS=VALUE",
			"values of the baseline row; repeatable"),
		CLI_OPT("metric", 'm', CLI_LIST, &args.metrics, "NAME[=HEADING]",
			"metric of sweep.csv; one to eight"),
		CLI_OPT("reference", 0, CLI_LIST, &args.reference, "TEXT=VALUE,...",
			"add a last row, such as published figures; repeatable"),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"machine-readable: antiphase.sim_ratios/2"),
		CLI_OPT("csv", 0, CLI_STR, &args.csv, "FILE",
			"also write a CSV line for each row and metric"),
		CLI_OPTS_END,
	};
	char *command = report_command(argc, argv); /* Parsing moves arguments. */
	int first = cli_parse(&verb_sim_ratios, opts, argc, argv), status;

	if (first < 0) {
		status = cli_status(first);
	} else if (argc - first != 1) {
		status = cli_usage_error(&verb_sim_ratios,
					 "expected the sweep.json of a sweep");
	} else if (!args.base.n || !args.metrics.n ||
		   args.metrics.n > RATIOS_MAX_METRICS) {
		status = cli_usage_error(&verb_sim_ratios,
					 "expected --base and one to eight --metric");
	} else {
		status = run_with_headings(&args, argv[first], command);
	}
	free(command);
	return status;
}

const struct cli_verb verb_sim_ratios = {
	.name = "ratios",
	.summary = "metrics of a sweep against a baseline, seed by seed",
	.usage = "--base AXIS=VALUE --metric NAME [options] SWEEP.json",
	.examples = "  antiphase sim ratios sweep.sweep/sweep.json -b policy=none \\\n"
		    "    -m summary.slowdown_mean=SLOWDOWN\n",
	.run = run_ratios,
};
