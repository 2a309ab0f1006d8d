/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/plots.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/svg.h"
#include "lib/daemon/child.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"
#include "sim/sweep/merge.h"
#include "sim/sweep/plot.h"

#define TIMEOUT_NS    (INT64_C(60) * 1000000000) /* Of a figure. */
#define MAX_SVG_BYTES ((size_t)64 << 20)

struct plotter {
	struct plot *plot;
	size_t cell;
	const char *head; /* Lines with the origin of the figures. */
	struct strbuf svg;
	struct err *err;
	int error;
};

/* ---- Input ----------------------------------------------------------------------- */

static void
add_number(void *ctx, const char *of, const char *metric, double value)
{
	struct plotter *plotter = ctx;

	plot_add(plotter->plot, plotter->cell, of, metric, value);
}

static void
add_cell(void *ctx, size_t cell, const struct json *result)
{
	struct plotter *plotter = ctx;

	plotter->cell = cell;
	merge_walk(result, add_number, plotter);
}

static void
put_seeds(const struct seeds *seeds, struct strbuf *out)
{
	bool is_range = seeds->n > 2;

	for (size_t i = 1; i < seeds->n; i++)
		is_range &= seeds->items[i] == seeds->items[i - 1] + 1;
	if (is_range) {
		strbuf_printf(out, "%" PRIu64 "..%" PRIu64, seeds->items[0],
			      seeds->items[seeds->n - 1]);
		return;
	}
	for (size_t i = 0; i < seeds->n; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? "," : "", seeds->items[i]);
}

static char *
make_head(const struct study *study, const char *command, size_t n_done)
{
	const struct sweep *sweep = study->sweep;
	struct strbuf head = STRBUF_EMPTY;

	strbuf_printf(&head,
		      "version: %s\ncommand: %s\nsweep: %s\ncells:", study->version,
		      command, sweep->file);
	for (size_t i = 0; i < sweep->command.n; i++)
		strbuf_printf(&head, " %s", sweep->command.items[i]);
	for (size_t i = 0; i < sweep->axes.n; i++) {
		const struct sweep_axis *axis = &sweep->axes.items[i];

		strbuf_printf(&head, "\naxis: %s =", axis->name);
		for (size_t k = 0; k < axis->values.n; k++)
			strbuf_printf(&head, " %s", axis->values.items[k]);
	}
	strbuf_puts(&head, "\nseeds: ");
	put_seeds(&sweep->seeds, &head);
	strbuf_printf(&head, "\ndone: %zu of %zu cells\n", n_done, sweep->n_cells);
	return strbuf_steal(&head);
}

/* ---- By gnuplot ------------------------------------------------------------------ */

static void
put_lines(struct strbuf *out, const char *lines)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		char *line = xstrndup(lines, n);

		svg_escape(out, line);
		strbuf_putc(out, '\n');
		free(line);
		lines += n + (lines[n] == '\n');
	}
}

/* Adds the origin to the <desc> that gnuplot writes. */
static void
on_drawn(void *ctx, const struct child_result *result)
{
	static const char description[] = "<desc>";
	struct plotter *plotter = ctx;
	const char *at = strstr(result->text, description);

	if (result->why) {
		if (plotter->err)
			*plotter->err = *result->why;
		plotter->error = -EINVAL;
		return;
	}
	if (!at) {
		plotter->error = err_set(plotter->err, NULL, 0, 0,
					 "gnuplot wrote no SVG with a <desc>");
		return;
	}
	at += strlen(description);
	strbuf_add(&plotter->svg, result->text, (size_t)(at - result->text));
	put_lines(&plotter->svg, plotter->head);
	strbuf_add(&plotter->svg, at, result->n - (size_t)(at - result->text));
}

/* -ENOENT if there is no gnuplot. */
static int
draw(struct plotter *plotter, const char *folder, size_t i, struct err *err)
{
	char *name = xstrdup(plot_metric(plotter->plot, i)), *script_path, *svg_path;
	struct strbuf script = STRBUF_EMPTY;
	int r;

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	script_path = xasprintf("%s/%s.gp", folder, name);
	svg_path = xasprintf("%s/%s.svg", folder, name);
	plot_script(plotter->plot, i, plotter->head, &script);
	r = file_write(script_path, script.text, script.length, err);
	if (r == 0) {
		const char *const argv[] = { "gnuplot", script_path, NULL };
		const struct child_opts opts = { .argv = argv,
						 .timeout_ns = TIMEOUT_NS,
						 .max_bytes = MAX_SVG_BYTES,
						 .done = on_drawn,
						 .ctx = plotter };

		strbuf_clear(&plotter->svg);
		plotter->err = err;
		plotter->error = 0;
		r = child_run(&opts, err);
	}
	if (r == 0)
		r = plotter->error;
	if (r == 0)
		r = file_write(svg_path, plotter->svg.text, plotter->svg.length, err);
	strbuf_free(&script);
	free(script_path);
	free(svg_path);
	free(name);
	return r;
}

static int
draw_all(struct plotter *plotter, const char *folder, struct err *err)
{
	size_t n_drawn = 0;
	int r = 0;

	for (size_t i = 0; i < plot_n(plotter->plot) && r == 0; i++) {
		size_t n_lines = plot_n_lines(plotter->plot, i);

		if (!plot_varies(plotter->plot, i))
			continue;
		if (n_lines > PLOT_MAX_LINES) {
			fprintf(stderr,
				"%s: no figure of %s: it has %zu lines, "
				"at most %d fit\n",
				log_program(), plot_metric(plotter->plot, i), n_lines,
				PLOT_MAX_LINES);
			continue;
		}
		r = draw(plotter, folder, i, err);
		n_drawn += r == 0;
	}
	if (r == -ENOENT) {
		fprintf(stderr, "%s: no figures: gnuplot is not installed\n",
			log_program());
		return 0;
	}
	if (r == 0)
		printf("%s has %zu figures\n", folder, n_drawn);
	return r;
}

int
plots_write(const struct study *study, const char *command, struct err *err)
{
	struct plotter plotter = { .plot = plot_new(study->sweep),
				   .svg = STRBUF_EMPTY };
	char *folder = xasprintf("%s/figures", study->out), *head;
	size_t n = merge_each(study, add_cell, &plotter);
	int r = 0;

	head = make_head(study, command, n);
	plotter.head = head;
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		r = err_set_errno(err, folder, errno, "cannot make the folder");
	if (r == 0)
		r = draw_all(&plotter, folder, err);
	free(head);
	free(folder);
	strbuf_free(&plotter.svg);
	plot_free(plotter.plot);
	return r;
}
