/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_read.c - the measurements of Pollux (OSDI 2021), as its artifact has them: for
 * each application placements.csv, scalability.csv and a validation-BATCH.csv for each
 * batch; and those of Sia (SOSP 2023), with placements-TYPE.csv and scalability-TYPE.csv
 * for each type of GPUs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "sim/apps/app.h"
#include "sim/apps/simplices.h"
#include "sim/trace/columns.h"
#include "sim/trace/lines.h"

#define MAX_COLUMNS 6
#define MAX_ROWS    100000

/* The applications; each batch size is twice the one before. */
static const struct {
	const char *name;
	uint32_t first_batch, n_batches, n_epochs;
	uint32_t max_local; /* Without types; 0: the largest measured. */
	uint32_t max_gpus;  /* 0: as many as the smallest batch per GPU allows. */
	double slowdown, restart_s; /* With types: from Sia's simulator. */
} known[] = {
	{ "bert", 12, 6, 2, 0, 0, 1.2, 120 },
	{ "cifar10", 128, 6, 100, 0, 0, 1.8, 50 },
	{ "deepspeech2", 20, 6, 80, 0, 0, 1.2, 25 },
	{ "imagenet", 200, 7, 90, 0, 0, 1.2, 250 },
	{ "ncf", 256, 8, 10, 0, 1, 1.5, 15 },
	{ "yolov3", 8, 7, 50, 8, 0, 1.2, 80 },
};

/* ---- Tables of numbers ----------------------------------------------------------- */

struct table {
	VEC(double) values; /* Row by row. */
	size_t n_rows;
};

/* Finds the field of each column; false: the header lacks one. */
static bool
find_columns(char *const *fields, int n, const char *const *names, int *ret_at)
{
	for (int i = 0; names[i]; i++) {
		ret_at[i] = -1;
		for (int k = 0; k < n; k++)
			if (strcmp(fields[k], names[i]) == 0)
				ret_at[i] = k;
		if (ret_at[i] < 0)
			return false;
	}
	return true;
}

static int
read_row(const char *path, unsigned line, char *const *fields, int n_fields,
	 const char *const *names, const int *at, struct table *table, struct err *err)
{
	for (int i = 0; names[i]; i++) {
		char *end = NULL;
		double value = at[i] < n_fields ? strtod(fields[at[i]], &end) : NAN;

		if (!isfinite(value) || !end || *end || end == fields[at[i]] ||
		    value < 0)
			return err_set(err, path, line, 0,
				       "'%s' is not a number of at least 0", names[i]);
		vec_push(&table->values, value);
	}
	if (++table->n_rows > MAX_ROWS)
		return err_set(err, path, line, 0, "more than %d rows", MAX_ROWS);
	return 0;
}

/* Reads the named columns of a file, in that order. */
static int
read_table(const char *path, const char *const *names, struct table *table,
	   struct err *err)
{
	char *line, *fields[COLUMNS_MAX];
	int at[MAX_COLUMNS], r;
	struct lines *lines;
	size_t n;

	*table = (struct table){ 0 };
	r = lines_open(path, &lines, err);
	if (r < 0)
		return r;
	while ((r = lines_next(lines, &line, &n, err)) > 0) {
		unsigned number = (unsigned)lines_number(lines);
		int n_fields = columns_split(line, ',', fields);

		if (number == 1)
			r = n_fields > 0 && find_columns(fields, n_fields, names, at)
				    ? 0
				    : err_set(err, path, 1, 0,
					      "expected columns '%s', '%s', ...",
					      names[0], names[1]);
		else if (n_fields > 0)
			r = read_row(path, number, fields, n_fields, names, at, table,
				     err);
		if (r < 0)
			break;
	}
	lines_close(lines);
	if (r == 0 && !table->n_rows)
		r = err_set(err, path, 0, 0, "no rows");
	if (r < 0)
		vec_free(&table->values);
	return r;
}

/* ---- Steps ----------------------------------------------------------------------- */

enum {
	PLACE,
	LOCAL,
	STEP,
	SYNC,
	N_PLACE_COLUMNS,
};

/* One digit per node: its number of GPUs. */
static bool
parse_place(double value, struct app_place *place)
{
	char text[32];

	if (value != floor(value) || value < 1 || value > 99999999)
		return false;
	place->n_nodes = (uint32_t)snprintf(text, sizeof text, "%.0f", value);
	place->n_gpus = 0;
	for (uint32_t i = 0; i < place->n_nodes; i++) {
		place->counts[i] = (uint32_t)(text[i] - '0');
		place->n_gpus += place->counts[i];
		if (!place->counts[i])
			return false;
	}
	return true;
}

/* The rows of a placement are consecutive, ascending by batch. */
static int
take_places(const char *path, const struct table *table, struct app *app,
	    struct err *err)
{
	VEC(struct app_place) places = VEC_EMPTY;
	int r = 0;

	app->local = xcalloc(table->n_rows, sizeof *app->local);
	app->steps = xcalloc(table->n_rows, sizeof *app->steps);
	app->min_local = UINT32_MAX;
	for (size_t i = 0; i < table->n_rows; i++) {
		const double *row = table->values.items + i * N_PLACE_COLUMNS;
		bool is_new = i == 0 || row[PLACE] != (row - N_PLACE_COLUMNS)[PLACE];
		struct app_place place = { .first = i };

		if (!parse_place(row[PLACE], &place) || row[LOCAL] < 1 ||
		    row[LOCAL] > UINT32_MAX || !(row[STEP] > 0) ||
		    row[SYNC] > row[STEP] ||
		    (!is_new && !(row[LOCAL] > app->local[i - 1])))
			r = err_set(err, path, (unsigned)i + 2, 0,
				    "expected a placement with ascending batches");
		if (r < 0)
			break;
		if (is_new)
			vec_push(&places, place);
		places.items[places.n - 1].n++;
		app->local[i] = row[LOCAL];
		app->steps[i] = (struct app_step){ row[STEP], row[SYNC] };
		app->min_local = (uint32_t)fmin(app->min_local, row[LOCAL]);
		app->max_local = (uint32_t)fmax(app->max_local, row[LOCAL]);
	}
	app->places = places.items;
	app->n_places = places.n;
	return r;
}

/* A corner of simplices; several at one point are averaged. */
struct corner {
	double at[SIMPLICES_DIM];
	struct app_step sum;
	uint32_t n;
};

static int
compare_corners(const void *a, const void *b)
{
	const struct corner *x = a, *y = b;

	for (int i = 0; i < SIMPLICES_DIM; i++)
		if (x->at[i] != y->at[i])
			return x->at[i] < y->at[i] ? -1 : 1;
	return 0;
}

static struct corner *
find_corner(struct corner *corners, size_t n, const struct corner *which)
{
	for (size_t i = 0; i < n; i++)
		if (compare_corners(&corners[i], which) == 0)
			return &corners[i];
	return NULL;
}

enum {
	NODES,
	GPUS,
	L_LOCAL,
	L_STEP,
	L_SYNC,
	N_LARGE_COLUMNS,
};

static void
take_reaches(const struct table *large, struct app *app)
{
	app->reaches = xcalloc(large->n_rows, sizeof *app->reaches);
	app->n_reaches = large->n_rows;
	for (size_t i = 0; i < large->n_rows; i++) {
		const double *row = large->values.items + i * N_LARGE_COLUMNS;

		app->reaches[i] = (struct app_reach){
			(uint32_t)fmin(row[NODES], UINT32_MAX),
			(uint32_t)fmin(row[GPUS], UINT32_MAX),
			(uint32_t)fmin(row[L_LOCAL], UINT32_MAX),
		};
	}
}

/* Corners of placements, in order, then those of larger ones. */
static int
take_corners(const char *path, const struct table *large, struct app *app,
	     struct err *err)
{
	VEC(struct corner) corners = VEC_EMPTY;
	double *points;
	int r;

	for (size_t i = 0; i < app->n_places; i++) {
		const struct app_place *place = &app->places[i];

		for (size_t k = place->first; k < place->first + place->n; k++) {
			struct corner new = { { place->n_nodes, place->n_gpus,
						app->local[k] },
					      { 0, 0 },
					      0 };
			struct corner *corner =
				find_corner(corners.items, corners.n, &new);

			if (!corner) {
				vec_push(&corners, new);
				corner = &corners.items[corners.n - 1];
			}
			corner->sum.step_s += app->steps[k].step_s;
			corner->sum.sync_s += app->steps[k].sync_s;
			corner->n++;
		}
	}
	qsort(corners.items, corners.n, sizeof *corners.items, compare_corners);
	for (size_t i = 0; i < large->n_rows; i++) {
		const double *row = large->values.items + i * N_LARGE_COLUMNS;

		vec_push(&corners,
			 ((struct corner){ { row[NODES], row[GPUS], row[L_LOCAL] },
					   { row[L_STEP], row[L_SYNC] },
					   1 }));
	}
	points = xcalloc(corners.n * SIMPLICES_DIM, sizeof *points);
	app->corners = xcalloc(corners.n, sizeof *app->corners);
	for (size_t i = 0; i < corners.n; i++) {
		const struct corner *c = &corners.items[i];

		memcpy(points + i * SIMPLICES_DIM, c->at, sizeof c->at);
		app->corners[i] =
			(struct app_step){ c->sum.step_s / c->n, c->sum.sync_s / c->n };
	}
	r = simplices_new(points, corners.n, &app->between);
	if (r < 0)
		r = err_set(err, path, 0, 0, "its points span no volume");
	free(points);
	vec_free(&corners);
	return r;
}

/* ---- Epochs ---------------------------------------------------------------------- */

static int
take_curve(const char *path, const struct table *table, uint32_t n_epochs,
	   struct app_curve *curve, struct err *err)
{
	enum {
		PROGRESS,
		ITERATIONS,
		SQR,
		VAR,
		N_COLUMNS
	};

	if (table->n_rows < n_epochs)
		return err_set(err, path, 0, 0, "%zu epochs, expected %u",
			       table->n_rows, n_epochs);
	curve->progress = xcalloc(n_epochs, sizeof(double));
	curve->iterations = xcalloc(n_epochs, sizeof(double));
	curve->grad_sqr = xcalloc(n_epochs, sizeof(double));
	curve->grad_var = xcalloc(n_epochs, sizeof(double));
	for (uint32_t i = 0; i < n_epochs; i++) {
		const double *row = table->values.items + i * N_COLUMNS;

		curve->progress[i] = row[PROGRESS];
		curve->iterations[i] = row[ITERATIONS];
		curve->grad_sqr[i] = row[SQR];
		curve->grad_var[i] = row[VAR];
		if (i && !(row[PROGRESS] > curve->progress[i - 1]))
			return err_set(err, path, i + 2, 0, "progress that does not");
	}
	return 0;
}

/* A member of an archive, or a file. */
static int
read_of(const char *path, const struct app *app, const char *name,
	const char *const *columns, char *ret_path, size_t size, struct table *table,
	struct err *err)
{
	snprintf(ret_path, size, "%s/%s/%s", path, app->name, name);
	return read_table(ret_path, columns, table, err);
}

static int
read_steps(const char *path, const char *type, struct app *app, struct err *err)
{
	static const char *const places[] = { "placement", "local_bsz", "step_time",
					      "sync_time", NULL };
	static const char *const large[] = { "num_nodes", "num_replicas", "local_bsz",
					     "step_time", "sync_time",    NULL };
	const char *dash = type ? "-" : "";
	struct table table;
	char file[4096], name[80];
	int r;

	type = type ? type : "";
	snprintf(name, sizeof name, "placements%s%.40s.csv", dash, type);
	r = read_of(path, app, name, places, file, sizeof file, &table, err);
	if (r < 0)
		return r;
	r = take_places(file, &table, app, err);
	vec_free(&table.values);
	snprintf(name, sizeof name, "scalability%s%.40s.csv", dash, type);
	if (r == 0)
		r = read_of(path, app, name, large, file, sizeof file, &table, err);
	if (r < 0)
		return r;
	r = take_corners(file, &table, app, err);
	if (*type)
		take_reaches(&table, app);
	vec_free(&table.values);
	return r;
}

static int
read_app(const char *path, const char *type, size_t which, struct app *app,
	 struct err *err)
{
	static const char *const epochs[] = { "progress", "iteration", "grad_sqr",
					      "grad_var", NULL };
	struct table table;
	char file[4096];
	int r;

	snprintf(app->name, sizeof app->name, "%s", known[which].name);
	r = read_steps(path, type, app, err);
	app->slowdown = type ? known[which].slowdown : 1;
	app->restart_s = type ? known[which].restart_s : NAN;
	app->first_batch = known[which].first_batch;
	app->max_batch = app->first_batch << (known[which].n_batches - 1);
	app->n_epochs = known[which].n_epochs;
	app->max_gpus = known[which].max_gpus ? known[which].max_gpus : UINT32_MAX;
	if (known[which].max_local && !type)
		app->max_local = known[which].max_local;
	for (uint32_t i = 0; r == 0 && i < known[which].n_batches; i++) {
		struct app_curve *curve = &app->curves[app->n_curves++];
		char name[40];

		curve->batch = app->first_batch << i;
		snprintf(name, sizeof name, "validation-%u.csv", curve->batch);
		r = read_of(path, app, name, epochs, file, sizeof file, &table, err);
		if (r < 0)
			break;
		r = take_curve(file, &table, app->n_epochs, curve, err);
		vec_free(&table.values);
	}
	return r;
}

int
apps_read(const char *path, const char *type, struct app **ret_apps, size_t *ret_n,
	  struct err *err)
{
	size_t n = sizeof known / sizeof *known;
	struct app *apps = xcalloc(n, sizeof *apps);

	for (size_t i = 0; i < n; i++) {
		int r = read_app(path, type, i, &apps[i], err);

		if (r < 0) {
			apps_free(apps, n);
			return r;
		}
	}
	*ret_apps = apps;
	*ret_n = n;
	return 0;
}

void
apps_free(struct app *apps, size_t n)
{
	for (size_t i = 0; apps && i < n; i++) {
		struct app *app = &apps[i];

		for (uint32_t k = 0; k < app->n_curves; k++) {
			free(app->curves[k].progress);
			free(app->curves[k].iterations);
			free(app->curves[k].grad_sqr);
			free(app->curves[k].grad_var);
		}
		free(app->places);
		free(app->local);
		free(app->steps);
		free(app->corners);
		free(app->reaches);
		simplices_free(app->between);
	}
	free(apps);
}
