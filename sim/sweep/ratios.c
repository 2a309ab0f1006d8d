/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/ratios.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"

#define NEARLY_ALL 1e-6 /* Share of a sum that is left without one seed. */

struct cell {
	const char **values; /* Owned array. */
	uint64_t seed;
	double metrics[RATIOS_MAX_METRICS]; /* NAN: missing. */
};

struct reader {
	const struct json_doc *doc;
	struct ratios *ratios;
	const char *const *metrics;
	bool has[RATIOS_MAX_METRICS]; /* Found in some cell. */
	VEC(struct cell) cells;
};

/* ---- Reading --------------------------------------------------------------------- */

static int
read_axes(struct reader *reader, const struct json *of, struct cell *cell,
	  struct err *err)
{
	struct ratios *ratios = reader->ratios;
	const struct json *axes;
	size_t n, i = 0;
	int r = json_get_array(reader->doc, of, "axes", &axes, &n, err);

	if (r < 0)
		return r;
	if (!ratios->axes) {
		ratios->axes = xcalloc(n + 1, sizeof *ratios->axes);
		ratios->n_axes = n;
	}
	if (n != ratios->n_axes)
		return json_fail(reader->doc, axes, err,
				 "expected as many axes as before");
	cell->values = xcalloc(n + 1, sizeof *cell->values);
	for (const struct json *v = json_first(axes); v && r == 0;
	     v = json_next(v), i++) {
		const char *name = NULL;

		r = json_as_object(reader->doc, v, err);
		if (r == 0)
			r = json_get_str(reader->doc, v, "axis", &name, err);
		if (r == 0)
			r = json_get_str(reader->doc, v, "value", &cell->values[i],
					 err);
		if (r == 0 && ratios->axes[i] && strcmp(ratios->axes[i], name) != 0)
			return json_fail(reader->doc, v, err, "expected the axis '%s'",
					 ratios->axes[i]);
		ratios->axes[i] = name;
	}
	return r;
}

static int
read_metrics(struct reader *reader, const struct json *of, struct cell *cell,
	     struct err *err)
{
	const struct json *metrics;
	size_t n;
	int r = json_get_array(reader->doc, of, "metrics", &metrics, &n, err);

	for (size_t m = 0; m < RATIOS_MAX_METRICS; m++)
		cell->metrics[m] = NAN;
	for (const struct json *v = r == 0 ? json_first(metrics) : NULL; v && r == 0;
	     v = json_next(v)) {
		const char *name = NULL;

		r = json_as_object(reader->doc, v, err);
		if (r == 0)
			r = json_get_str(reader->doc, v, "metric", &name, err);
		for (size_t m = 0; r == 0 && m < reader->ratios->n_metrics; m++) {
			if (strcmp(name, reader->metrics[m]) != 0)
				continue;
			if (!isnan(cell->metrics[m]))
				return json_fail(reader->doc, v, err,
						 "'%s' appears twice in one cell",
						 name);
			r = json_get_num(reader->doc, v, "value", -INFINITY, INFINITY,
					 &cell->metrics[m], err);
			reader->has[m] = true;
		}
	}
	return r;
}

static int
read_cells(struct reader *reader, struct err *err)
{
	const struct json *cells, *root = json_root(reader->doc);
	size_t n;
	/* Up to 1 its name had a hyphen. */
	int r = json_check_schema(reader->doc, "antiphase.sim-sweep", 1, NULL);

	if (r < 0)
		r = json_check_schema(reader->doc, "antiphase.sim_sweep", 2, err);

	if (r == 0)
		r = json_get_str(reader->doc, root, "sweep", &reader->ratios->sweep,
				 err);
	if (r == 0)
		r = json_get_str(reader->doc, root, "version", &reader->ratios->version,
				 err);
	if (r == 0)
		r = json_get_array(reader->doc, root, "cells", &cells, &n, err);
	for (const struct json *v = r == 0 ? json_first(cells) : NULL; v && r == 0;
	     v = json_next(v)) {
		struct cell cell = { 0 };
		int64_t seed = 0;

		r = json_as_object(reader->doc, v, err);
		if (r == 0)
			r = json_get_int(reader->doc, v, "seed", 0, INT64_C(1) << 53,
					 &seed, err);
		if (r == 0)
			r = read_axes(reader, v, &cell, err);
		if (r == 0)
			r = read_metrics(reader, v, &cell, err);
		cell.seed = (uint64_t)seed;
		reader->ratios->max_seed = cell.seed > reader->ratios->max_seed
						   ? cell.seed
						   : reader->ratios->max_seed;
		if (!reader->cells.n || cell.seed < reader->ratios->min_seed)
			reader->ratios->min_seed = cell.seed;
		vec_push(&reader->cells, cell);
	}
	for (size_t m = 0; r == 0 && m < reader->ratios->n_metrics; m++)
		if (!reader->has[m])
			return err_set(err, NULL, 0, 0, "no cell has the metric '%s'",
				       reader->metrics[m]);
	return r;
}

/* ---- Rows ------------------------------------------------------------------------ */

static bool
is_same(const char *const *a, const char *const *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static void
make_rows(struct reader *reader)
{
	struct ratios *ratios = reader->ratios;

	ratios->rows = xcalloc(reader->cells.n + 1, sizeof *ratios->rows);
	for (size_t i = 0; i < reader->cells.n; i++) {
		const struct cell *cell = &reader->cells.items[i];
		size_t k = ratios->n_rows;

		/* Cells of a row are usually adjacent. */
		while (k && !is_same(ratios->rows[k - 1].values, cell->values,
				     ratios->n_axes))
			k--;
		if (!k)
			ratios->rows[ratios->n_rows++].values = xmemdup(
				cell->values, ratios->n_axes, sizeof *cell->values);
	}
}

/* Finds the row with the values that 'base' names replaced. */
static int
find_base(const struct ratios *ratios, const char *const *base, size_t n_base,
	  const char **values, struct err *err)
{
	for (size_t i = 0; i < n_base; i++) {
		size_t n = strcspn(base[i], "="), axis = 0, row = 0;

		while (axis < ratios->n_axes &&
		       (strlen(ratios->axes[axis]) != n ||
			strncmp(ratios->axes[axis], base[i], n)))
			axis++;
		if (!base[i][n] || axis == ratios->n_axes)
			return err_set(err, NULL, 0, 0,
				       "the base is '%.60s', expected AXIS=VALUE",
				       base[i]);
		while (row < ratios->n_rows &&
		       strcmp(ratios->rows[row].values[axis], base[i] + n + 1) != 0)
			row++;
		if (row == ratios->n_rows)
			return err_set(err, NULL, 0, 0, "no cell has '%.60s'", base[i]);
		values[axis] = ratios->rows[row].values[axis];
	}
	return 0;
}

static const struct cell *
find_cell(const struct reader *reader, const char *const *values, uint64_t seed)
{
	for (size_t i = 0; i < reader->cells.n; i++)
		if (reader->cells.items[i].seed == seed &&
		    is_same(reader->cells.items[i].values, values,
			    reader->ratios->n_axes))
			return &reader->cells.items[i];
	return NULL;
}

static struct ratios_value
ratio(const double *base, const double *row, size_t n)
{
	struct ratios_value value = { stats_mean(base, n), stats_mean(row, n), NAN,
				      NAN };
	double sum_base = value.base * (double)n, sum_row = value.mean * (double)n;
	double *pseudo = xcalloc(n + 1, sizeof *pseudo);

	if (n && sum_row > 0)
		value.ratio = sum_base / sum_row;
	for (size_t i = 0; i < n; i++)
		pseudo[i] = (double)n * value.ratio -
			    (double)(n - 1) * (sum_base - base[i]) / (sum_row - row[i]);
	if (n > 1)
		value.ci95 = stats_ci95(pseudo, n);
	/* With nearly all in one seed, the rest without it cannot be a divisor. */
	for (size_t i = 0; i < n; i++)
		if (!(sum_row - row[i] > NEARLY_ALL * sum_row))
			value.ci95 = NAN;
	if (!isfinite(value.ci95))
		value.ci95 = NAN;
	free(pseudo);
	return value;
}

static void
compare(struct reader *reader, struct ratios_row *row, const char *const *base)
{
	size_t n_metrics = reader->ratios->n_metrics, most = reader->cells.n;
	double *of_base = xcalloc(most + 1, sizeof *of_base);
	double *of_row = xcalloc(most + 1, sizeof *of_row);

	for (size_t m = 0; m < n_metrics; m++) {
		size_t n = 0;

		for (size_t i = 0; i < most; i++) {
			const struct cell *cell = &reader->cells.items[i], *other;

			if (!is_same(cell->values, row->values, reader->ratios->n_axes))
				continue;
			other = find_cell(reader, base, cell->seed);
			if (!other || isnan(other->metrics[m]) ||
			    isnan(cell->metrics[m]))
				continue;
			of_base[n] = other->metrics[m];
			of_row[n++] = cell->metrics[m];
		}
		row->metrics[m] = ratio(of_base, of_row, n);
		row->n_seeds = n;
	}
	free(of_base);
	free(of_row);
}

int
ratios_make(const struct json_doc *doc, const char *const *base, size_t n_base,
	    const char *const *metrics, size_t n_metrics, struct ratios *ret_ratios,
	    struct err *err)
{
	struct reader reader = { .doc = doc, .ratios = ret_ratios, .metrics = metrics };
	int r;

	*ret_ratios = (struct ratios){ .n_metrics = n_metrics };
	if (n_metrics > RATIOS_MAX_METRICS)
		return err_set(err, NULL, 0, 0, "more than %d metrics",
			       RATIOS_MAX_METRICS);
	r = read_cells(&reader, err);
	if (r == 0)
		make_rows(&reader);
	for (size_t i = 0; r == 0 && i < ret_ratios->n_rows; i++) {
		const char **values = xmemdup(ret_ratios->rows[i].values,
					      ret_ratios->n_axes, sizeof *values);

		r = find_base(ret_ratios, base, n_base, values, err);
		if (r == 0)
			compare(&reader, &ret_ratios->rows[i], values);
		free(values);
	}
	for (size_t i = 0; i < reader.cells.n; i++)
		free(reader.cells.items[i].values);
	vec_free(&reader.cells);
	if (r < 0)
		ratios_fini(ret_ratios);
	return r;
}

void
ratios_fini(struct ratios *ratios)
{
	for (size_t i = 0; i < ratios->n_rows; i++)
		free(ratios->rows[i].values);
	free(ratios->rows);
	free(ratios->axes);
	*ratios = (struct ratios){ 0 };
}

bool
ratios_varies(const struct ratios *ratios, size_t axis)
{
	for (size_t i = 1; i < ratios->n_rows; i++)
		if (strcmp(ratios->rows[i].values[axis],
			   ratios->rows[0].values[axis]) != 0)
			return true;
	return false;
}
