/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparkline.h - a history as a line of block characters: U+2581 to U+2588 in a UTF-8
 * locale, ASCII elsewhere.
 */
#ifndef CLI_SPARKLINE_H
#define CLI_SPARKLINE_H

#include <stddef.h>

struct strbuf;

#define SPARKLINE_MAX_SKETCH 64

/*
 * Appends 'columns' characters for the n values; each stands for the mean of its
 * share. 'full' is the highest block; less than a sixteenth of it is a blank.  A value
 * below 0 is unknown: '?'; 'values' NULL: all are.
 */
void sparkline_add(const float *values, size_t n, double full, size_t columns,
		   struct strbuf *out);

/*
 * Appends "|...|  # is ": a sketch of n rates in up to SPARKLINE_MAX_SKETCH columns;
 * the highest one is full.  Returns its rate, which the caller appends.
 */
double sparkline_sketch(const double *rates, size_t n, size_t columns,
			struct strbuf *out);

/* The character of a full column. */
const char *sparkline_full(void);

#endif
