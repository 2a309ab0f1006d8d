/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plots.h - figures of a sweep, drawn by gnuplot.
 *
 *	OUT/figures/METRIC.svg
 *	OUT/figures/METRIC.gp    the script
 */
#ifndef SIM_SWEEP_PLOTS_H
#define SIM_SWEEP_PLOTS_H

#include <stddef.h>

struct err;
struct study;

/*
 * Draws all finished cells and prints the number of figures; 'command', as typed, goes
 * into each.  Without gnuplot it prints one line to stderr, which is not an error.
 */
int plots_write(const struct study *study, const char *command, struct err *err);

#endif
