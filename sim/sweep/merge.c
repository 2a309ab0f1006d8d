/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/newfile.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"

/* ---- Numbers of a document ------------------------------------------------------- */

struct walk {
	void (*number)(void *ctx, const char *of, const char *metric, double value);
	void *ctx;
};

static void walk_value(const struct walk *walk, const struct json *value,
		       const char *of, const char *metric);

static void
walk_object(const struct walk *walk, const struct json *object, const char *of,
	    const char *metric)
{
	for (const struct json *v = json_first(object); v; v = json_next(v)) {
		const char *key = json_key(v);
		char *name;

		if (!strcmp(key, "seed") || !strcmp(key, "wall_s"))
			continue;
		name = xasprintf("%s%s%s", metric, *metric ? "." : "", key);
		walk_value(walk, v, of, name);
		free(name);
	}
}

/* The label of an object in an array: its first string, or its place. */
static char *
label(const struct json *object, size_t i)
{
	for (const struct json *v = json_first(object); v; v = json_next(v))
		if (json_kind(v) == JSON_STRING)
			return xstrdup(json_string(v));
	return xasprintf("%zu", i + 1);
}

static void
walk_array(const struct walk *walk, const struct json *array, const char *of,
	   const char *metric)
{
	size_t i = 0;

	for (const struct json *v = json_first(array); v; v = json_next(v), i++) {
		char *name, *inner;

		if (json_kind(v) != JSON_OBJECT)
			continue;
		name = label(v, i);
		inner = xasprintf("%s%s%s", of, *of ? "/" : "", name);
		walk_object(walk, v, inner, metric);
		free(inner);
		free(name);
	}
}

static void
walk_value(const struct walk *walk, const struct json *value, const char *of,
	   const char *metric)
{
	switch (json_kind(value)) {
	case JSON_NUMBER:
		walk->number(walk->ctx, of, metric, json_number(value));
		break;
	case JSON_OBJECT:
		walk_object(walk, value, of, metric);
		break;
	case JSON_ARRAY:
		walk_array(walk, value, of, metric);
		break;
	case JSON_STRING:
	case JSON_OTHER:
		break;
	}
}

void
merge_walk(const struct json *result,
	   void (*number)(void *ctx, const char *of, const char *metric, double value),
	   void *ctx)
{
	const struct walk walk = { .number = number, .ctx = ctx };

	walk_value(&walk, result, "", "");
}

/* ---- CSV and JSON ---------------------------------------------------------------- */

struct merge {
	const struct study *study;
	FILE *csv;
	struct jsonw w;
	size_t cell; /* The current one. */
	char *row;   /* Owned.  The beginning of its rows. */
};

static void
put_number(void *ctx, const char *of, const char *metric, double value)
{
	struct merge *merge = ctx;

	fputs(merge->row, merge->csv);
	table_put_csv(of, merge->csv);
	putc(',', merge->csv);
	table_put_csv(metric, merge->csv);
	fprintf(merge->csv, ",%.15g\n", value);
	jsonw_flat_object(&merge->w, NULL);
	jsonw_str(&merge->w, "of", of);
	jsonw_str(&merge->w, "metric", metric);
	jsonw_num(&merge->w, "value", value);
	jsonw_end(&merge->w);
}

static char *
make_row(const struct merge *merge)
{
	const struct sweep *sweep = merge->study->sweep;
	char *row = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&row, &n);

	BUG_ON(!out);
	fprintf(out, "%zu,", merge->cell + 1);
	for (size_t i = 0; i < sweep->axes.n; i++) {
		table_put_csv(sweep_value(sweep, merge->cell, i), out);
		putc(',', out);
	}
	fprintf(out, "%" PRIu64 ",", sweep_seed(sweep, merge->cell));
	fclose(out);
	return row;
}

static void
put_cell(struct merge *merge, const struct json *result)
{
	struct jsonw *w = &merge->w;

	merge->row = make_row(merge);
	jsonw_object(w, NULL);
	jsonw_int(w, "cell", (int64_t)merge->cell + 1);
	cells_put_origin(merge->study, merge->cell, w);
	jsonw_array(w, "metrics");
	merge_walk(result, put_number, merge);
	jsonw_end(w);
	jsonw_end(w);
	free(merge->row);
}

static void
put_heads(struct merge *merge, const char *command, FILE *json)
{
	const struct study *study = merge->study;
	const struct sweep *sweep = study->sweep;

	fprintf(merge->csv, "# version: %s\n# command: %s\n# sweep: %s\n",
		study->version, command, sweep->file);
	fprintf(merge->csv, "# cells:");
	for (size_t i = 0; i < sweep->command.n; i++)
		fprintf(merge->csv, " %s", sweep->command.items[i]);
	fprintf(merge->csv, "\ncell,");
	jsonw_document(&merge->w, json, "antiphase.sim_sweep/2");
	jsonw_str(&merge->w, "sweep", sweep->file);
	jsonw_str(&merge->w, "version", study->version);
	jsonw_str(&merge->w, "command", command);
	jsonw_int(&merge->w, "n_cells", (int64_t)sweep->n_cells);
	for (size_t i = 0; i < sweep->axes.n; i++) {
		table_put_csv(sweep->axes.items[i].name, merge->csv);
		putc(',', merge->csv);
	}
	fprintf(merge->csv, "seed,of,metric,value\n");
	jsonw_array(&merge->w, "cells");
}

size_t
merge_each(const struct study *study,
	   void (*each)(void *ctx, size_t cell, const struct json *result), void *ctx)
{
	size_t n = 0;

	for (size_t i = 0; i < study->sweep->n_cells; i++) {
		struct json_doc *doc;
		struct err err = { 0 };
		char *text;
		int r;

		if (cells_state(study, i) != CELLS_DONE)
			continue;
		r = cells_get(study, i, &doc, &text, &err);
		if (r < 0) {
			err_print(&err, stderr);
			continue;
		}
		each(ctx, i, json_find(json_root(doc), "result"));
		n++;
		json_doc_free(doc);
		free(text);
	}
	return n;
}

static void
merge_cell(void *ctx, size_t cell, const struct json *result)
{
	struct merge *merge = ctx;

	merge->cell = cell;
	put_cell(merge, result);
}

int
merge_write(const struct study *study, const char *command, size_t *ret_n_merged,
	    struct err *err)
{
	char *csv_path = xasprintf("%s/sweep.csv", study->out);
	char *json_path = xasprintf("%s/sweep.json", study->out);
	struct newfile csv = { 0 }, json = { 0 };
	struct merge merge = { .study = study };
	int r = newfile_open(csv_path, &csv, err);

	if (r == 0) {
		r = newfile_open(json_path, &json, err);
		if (r < 0)
			newfile_finish(&csv, r, NULL);
	}
	if (r == 0) {
		merge.csv = csv.out;
		put_heads(&merge, command, json.out);
		*ret_n_merged = merge_each(study, merge_cell, &merge);
		jsonw_end(&merge.w);
		jsonw_end(&merge.w);
		jsonw_finish(&merge.w);
		r = newfile_finish(&csv, 0, err);
		r = newfile_finish(&json, r, err);
	}
	free(csv_path);
	free(json_path);
	return r;
}
