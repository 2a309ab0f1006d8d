/*
 * plots.h - the figures of a sweep in files, by gnuplot.
 *
 *	OUT/figures/METRIC.svg
 *	OUT/figures/METRIC.gp    what gnuplot drew it from
 */
#ifndef SIM_SWEEP_PLOTS_H
#define SIM_SWEEP_PLOTS_H

#include <stddef.h>

struct err;
struct study;

/*
 * Draws what is done; 'command' is what was typed.  Says on stdout how many there are, and
 * on stderr, in one line, if gnuplot is not there, which is no error.
 */
int plots_write(const struct study *study, const char *command, struct err *err);

#endif
