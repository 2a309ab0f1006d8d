/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - gnuplot scripts for the metrics of a sweep.
 *
 * A figure shows one metric: its mean over the seeds with the 95 % confidence interval
 * (Student's t), against the first axis with at least two values that are all numbers,
 * or else against the values of the last axis side by side.  Each combination of the
 * other axes and of the metric's owner ("of") is a line.  A metric that never varies
 * needs no figure.
 *
 * Pure: plots.h feeds it results and runs gnuplot.
 */
#ifndef SIM_SWEEP_PLOT_H
#define SIM_SWEEP_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct plot;
struct strbuf;
struct sweep;

#define PLOT_MAX_LINES 24 /* Of a figure; more are indistinguishable. */

struct plot *plot_new(const struct sweep *sweep); /* Borrows it. */
void plot_free(struct plot *plot);                /* Accepts NULL. */

/* Adds a number of a cell's result, as from merge_walk(). */
void plot_add(struct plot *plot, size_t cell, const char *of, const char *metric,
	      double value);

/* Number of metrics, including those that need no figure. */
size_t plot_n(const struct plot *plot);
const char *plot_metric(const struct plot *plot, size_t i);
size_t plot_n_lines(const struct plot *plot, size_t i);
/* Whether the metric varies. */
bool plot_varies(const struct plot *plot, size_t i);

/*
 * Appends the script with which gnuplot writes a figure as SVG to its standard output.
 * The lines of 'head' become its first comments.
 */
void plot_script(const struct plot *plot, size_t i, const char *head,
		 struct strbuf *script);

#endif
