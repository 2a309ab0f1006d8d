/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.h - simple shapes as SVG text; coordinates in pixels.
 */
#ifndef LIB_BASE_SVG_H
#define LIB_BASE_SVG_H

#include "lib/base/strbuf.h"

struct svg {
	struct strbuf text;
};

void svg_init(struct svg *svg, double width, double height, const char *title);
/* 'style' is SVG attributes such as "fill=\"#fff\""; trusted text. */
void svg_rect(struct svg *svg, double x, double y, double w, double h,
	      const char *style);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2,
	      const char *style);
/*
 * A ring sector around (cx, cy) between two radii, from turn 'from' to turn 'to' (0 at
 * twelve o'clock, clockwise, 1 is a full turn).
 */
void svg_sector(struct svg *svg, double cx, double cy, double r_inner, double r_outer,
		double from, double to, const char *style);
/* 'text' is escaped. */
void svg_text(struct svg *svg, double x, double y, const char *style, const char *text);
/* Appends text escaped for XML; characters that XML does not allow become '?'. */
void svg_escape(struct strbuf *text, const char *s);
/* Ends the document and returns its text; free with free(). */
char *svg_finish(struct svg *svg);

#endif
