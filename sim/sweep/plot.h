/*
 * plot.h - the numbers of a sweep as figures: of each metric its mean over the seeds, with
 * the 95 % confidence interval (Student's t), against an axis.
 *
 * Against the first axis whose values are numbers, two at least; or else the values of the
 * last axis beside each other.  What is left, the values of the other axes and whose number
 * it is, makes a line each.  Numbers that are the same everywhere are no figure.
 *
 * Pure: drawings.h gives it results, and its scripts to gnuplot.
 */
#ifndef SIM_SWEEP_PLOT_H
#define SIM_SWEEP_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct plot;
struct strbuf;
struct sweep;

#define PLOT_MAX_LINES 24 /* Of a figure; more cannot be told from each other. */

struct plot *plot_new(const struct sweep *sweep); /* Borrows it. */
void plot_free(struct plot *plot);                /* Accepts NULL. */

/* A number of a cell's result, as merge_walk() tells it. */
void plot_add(struct plot *plot, size_t cell, const char *of, const char *metric,
	      double value);

/* How many metrics there are; those that are no figure included. */
size_t plot_n(const struct plot *plot);
const char *plot_metric(const struct plot *plot, size_t i);
size_t plot_n_lines(const struct plot *plot, size_t i);
/* Whether there is something to see in it. */
bool plot_varies(const struct plot *plot, size_t i);

/*
 * Appends what gnuplot reads to write a figure as SVG to its standard output; 'head' are
 * lines that it begins with as remarks.
 */
void plot_script(const struct plot *plot, size_t i, const char *head,
		 struct strbuf *script);

#endif
