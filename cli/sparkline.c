/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sparkline.h"

#include <math.h>

#include "lib/base/cli.h"
#include "lib/base/strbuf.h"

#define LEVELS 8

static const char *const blocks[LEVELS + 1] = { " ",      "\u2581", "\u2582",
						"\u2583", "\u2584", "\u2585",
						"\u2586", "\u2587", "\u2588" };
static const char *const ascii[LEVELS + 1] = { " ", ".", ":", "-", "=",
					       "+", "*", "%", "#" };

const char *
sparkline_full(void)
{
	return (cli_utf8() ? blocks : ascii)[LEVELS];
}

void
sparkline_add(const float *values, size_t n, double full, size_t columns,
	      struct strbuf *out)
{
	const char *const *marks = cli_utf8() ? blocks : ascii;

	for (size_t c = 0; c < columns; c++) {
		size_t from = c * n / columns, to = (c + 1) * n / columns, known = 0;
		double sum = 0;
		long level;

		for (size_t i = from; i < to || i == from; i++) {
			if (!values || values[i] < 0)
				continue;
			sum += (double)values[i];
			known++;
		}
		if (!known) {
			strbuf_putc(out, '?');
			continue;
		}
		level = full > 0 ? lround(LEVELS * sum / (double)known / full) : 0;
		strbuf_puts(out, marks[level > LEVELS ? LEVELS : level]);
	}
}

double
sparkline_sketch(const double *rates, size_t n, size_t columns, struct strbuf *out)
{
	float means[SPARKLINE_MAX_SKETCH] = { 0 };
	double highest = 0;

	for (size_t c = 0; c < columns; c++) {
		size_t from = c * n / columns, to = (c + 1) * n / columns;
		double sum = 0;

		to = to > from ? to : from + 1;
		for (size_t i = from; i < to && i < n; i++)
			sum += rates[i];
		means[c] = (float)(sum / (double)(to - from));
		highest = fmax(highest, sum / (double)(to - from));
	}
	strbuf_puts(out, "  |");
	sparkline_add(means, columns, highest, columns, out);
	strbuf_printf(out, "|  %s is ", sparkline_full());
	return highest;
}
