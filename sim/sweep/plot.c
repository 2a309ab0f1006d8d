/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"
#include "sim/sweep/grid.h"

#define NO_AXIS SIZE_MAX
/* Adjacent lines are spread over this share of the distance between two places. */
#define SPREAD 0.5

/* Values of all seeds at a place of the axis. */
struct point {
	VEC(double) values;
};

struct line {
	struct point *points; /* Owned.  [n_points]. */
};

struct figure {
	struct strtab *names; /* Of its lines. */
	VEC(struct line) lines;
};

struct plot {
	const struct sweep *sweep;
	size_t axis; /* Its place among the sweep's, or NO_AXIS. */
	bool is_number;
	size_t n_points;
	struct strtab *metrics;
	VEC(struct figure) figures;
};

/* ---- Gathering ------------------------------------------------------------------- */

static bool
read_number(const char *text, double *ret_value)
{
	char *end;

	*ret_value = strtod(text, &end);
	return end != text && !*end && isfinite(*ret_value);
}

static bool
is_numeric(const struct sweep_axis *axis)
{
	double value;

	for (size_t i = 0; i < axis->values.n; i++)
		if (!read_number(axis->values.items[i], &value))
			return false;
	return axis->values.n > 1;
}

struct plot *
plot_new(const struct sweep *sweep)
{
	struct plot *plot = xcalloc(1, sizeof *plot);

	plot->sweep = sweep;
	plot->axis = sweep->axes.n ? sweep->axes.n - 1 : NO_AXIS;
	for (size_t i = 0; i < sweep->axes.n && !plot->is_number; i++)
		if (is_numeric(&sweep->axes.items[i])) {
			plot->axis = i;
			plot->is_number = true;
		}
	plot->n_points =
		plot->axis == NO_AXIS ? 1 : sweep->axes.items[plot->axis].values.n;
	plot->metrics = strtab_new();
	return plot;
}

void
plot_free(struct plot *plot)
{
	if (!plot)
		return;
	for (size_t i = 0; i < plot->figures.n; i++) {
		struct figure *figure = &plot->figures.items[i];

		for (size_t k = 0; k < figure->lines.n; k++) {
			for (size_t p = 0; p < plot->n_points; p++)
				vec_free(&figure->lines.items[k].points[p].values);
			free(figure->lines.items[k].points);
		}
		vec_free(&figure->lines);
		strtab_free(figure->names);
	}
	vec_free(&plot->figures);
	strtab_free(plot->metrics);
	free(plot);
}

/* "VALUE VALUE OF" of the other axes; free with free(). */
static char *
line_name(const struct plot *plot, size_t cell, const char *of)
{
	struct strbuf name = STRBUF_EMPTY;

	for (size_t i = 0; i < plot->sweep->axes.n; i++)
		if (i != plot->axis)
			strbuf_printf(&name, "%s%s", name.length ? " " : "",
				      sweep_value(plot->sweep, cell, i));
	if (*of)
		strbuf_printf(&name, "%s%s", name.length ? " " : "", of);
	return name.length ? strbuf_steal(&name) : xstrdup("");
}

static size_t
place_of(const struct plot *plot, size_t cell)
{
	const char *value;
	size_t i = 0;

	if (plot->axis == NO_AXIS)
		return 0;
	value = sweep_value(plot->sweep, cell, plot->axis);
	while (strcmp(plot->sweep->axes.items[plot->axis].values.items[i], value) != 0)
		i++;
	return i;
}

void
plot_add(struct plot *plot, size_t cell, const char *of, const char *metric,
	 double value)
{
	struct figure *figure;
	uint32_t i, k;
	char *name;

	if (!isfinite(value))
		return;
	i = strtab_intern(plot->metrics, metric);
	if (i == plot->figures.n)
		vec_push(&plot->figures, ((struct figure){ .names = strtab_new() }));
	figure = &plot->figures.items[i];
	name = line_name(plot, cell, of);
	k = strtab_intern(figure->names, name);
	free(name);
	if (k == figure->lines.n)
		vec_push(&figure->lines,
			 ((struct line){ .points = xcalloc(plot->n_points,
							   sizeof(struct point)) }));
	vec_push(&figure->lines.items[k].points[place_of(plot, cell)].values, value);
}

size_t
plot_n(const struct plot *plot)
{
	return plot->figures.n;
}

const char *
plot_metric(const struct plot *plot, size_t i)
{
	return strtab_name(plot->metrics, (uint32_t)i);
}

size_t
plot_n_lines(const struct plot *plot, size_t i)
{
	return plot->figures.items[i].lines.n;
}

bool
plot_varies(const struct plot *plot, size_t i)
{
	const struct figure *figure = &plot->figures.items[i];
	double first = NAN;

	for (size_t k = 0; k < figure->lines.n; k++)
		for (size_t p = 0; p < plot->n_points; p++) {
			const struct point *point = &figure->lines.items[k].points[p];

			for (size_t v = 0; v < point->values.n; v++) {
				if (isnan(first))
					first = point->values.items[v];
				else if (point->values.items[v] != first)
					return true;
			}
		}
	return false;
}

/* ---- Scripts --------------------------------------------------------------------- */

/*
 * In single quotes only the quote itself is special, and 'special': '%' in the labels
 * of an axis, which are formats, or 0.
 */
static void
put_quoted_except(struct strbuf *out, const char *text, char special)
{
	strbuf_putc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == special)
			strbuf_putc(out, *text);
		strbuf_putc(out, utf8_control(text) ? '?' : *text);
	}
	strbuf_putc(out, '\'');
}

static void
put_quoted(struct strbuf *out, const char *text)
{
	put_quoted_except(out, text, '\0');
}

static void
put_comments(struct strbuf *out, const char *lines)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		strbuf_puts(out, "# ");
		strbuf_add(out, lines, n);
		/* A backslash at its end would continue the comment. */
		strbuf_puts(out, n && lines[n - 1] == '\\' ? " .\n" : "\n");
		lines += n + (lines[n] == '\n');
	}
}

static double
x_of(const struct plot *plot, size_t place)
{
	double x = (double)place;

	if (plot->is_number)
		read_number(plot->sweep->axes.items[plot->axis].values.items[place],
			    &x);
	return x;
}

/* Lines that share a place stand side by side. */
static double
offset_of(const struct plot *plot, size_t line, size_t n_lines)
{
	if (plot->is_number || n_lines < 2)
		return 0;
	return SPREAD * ((double)line / (double)(n_lines - 1) - 0.5);
}

struct place {
	double x;
	size_t place;
};

static int
by_x(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->x > y->x) - (x->x < y->x);
}

/* The places from left to right. */
static struct place *
sorted_places(const struct plot *plot)
{
	struct place *places = xcalloc(plot->n_points, sizeof *places);

	for (size_t i = 0; i < plot->n_points; i++)
		places[i] = (struct place){ .x = x_of(plot, i), .place = i };
	qsort(places, plot->n_points, sizeof *places, by_x);
	return places;
}

static void
put_data(const struct plot *plot, const struct figure *figure, struct strbuf *out)
{
	struct place *places = sorted_places(plot);

	for (size_t k = 0; k < figure->lines.n; k++) {
		strbuf_printf(out, "$line%zu << END\n", k + 1);
		for (size_t i = 0; i < plot->n_points; i++) {
			const struct point *point =
				&figure->lines.items[k].points[places[i].place];

			if (!point->values.n)
				continue;
			strbuf_printf(out, "%.15g %.15g %.15g\n",
				      places[i].x + offset_of(plot, k, figure->lines.n),
				      stats_mean(point->values.items, point->values.n),
				      stats_ci95(point->values.items, point->values.n));
		}
		strbuf_puts(out, "END\n");
	}
	free(places);
}

static void
put_axes(const struct plot *plot, size_t i, struct strbuf *out)
{
	const struct sweep_axis *axis =
		plot->axis == NO_AXIS ? NULL : &plot->sweep->axes.items[plot->axis];

	strbuf_puts(out, "set ylabel ");
	put_quoted(out, plot_metric(plot, i));
	if (axis) {
		strbuf_puts(out, "\nset xlabel ");
		put_quoted(out, axis->name);
	}
	strbuf_puts(out, "\n");
	if (plot->is_number)
		return;
	strbuf_printf(out, "set xrange [-0.5:%zu.5]\nset xtics (", plot->n_points - 1);
	for (size_t p = 0; axis && p < plot->n_points; p++) {
		strbuf_puts(out, p ? ", " : "");
		put_quoted_except(out, axis->values.items[p], '%');
		strbuf_printf(out, " %zu", p);
	}
	strbuf_puts(out, ")\n");
}

void
plot_script(const struct plot *plot, size_t i, const char *head, struct strbuf *script)
{
	const struct figure *figure = &plot->figures.items[i];

	put_comments(script, head);
	strbuf_puts(script, "set encoding utf8\n"
			    "set terminal svg noenhanced size 800,480\n"
			    "set key outside right top noenhanced\n"
			    "set grid ytics\n"
			    "set offsets graph 0.05, graph 0.05, graph 0.05, "
			    "graph 0.05\n");
	if (plot->sweep->seeds.n > 1)
		strbuf_puts(script, "set title 'mean over the seeds, with its 95 % "
				    "interval'\n");
	put_axes(plot, i, script);
	put_data(plot, figure, script);
	strbuf_puts(script, "plot ");
	for (size_t k = 0; k < figure->lines.n; k++) {
		const char *name = strtab_name(figure->names, (uint32_t)k);

		strbuf_printf(script, "%s$line%zu using 1:2:3 with %s ",
			      k ? ", \\\n     " : "", k + 1,
			      plot->is_number ? "yerrorlines" : "yerrorbars");
		if (*name) {
			strbuf_puts(script, "title ");
			put_quoted(script, name);
		} else {
			strbuf_puts(script, "notitle");
		}
	}
	strbuf_putc(script, '\n');
}
