/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/svg.h"

#include <math.h>
#include <stdbool.h>

#include "lib/base/utf8.h"

/* Adds a coordinate rounded to 0.01 pixels, without trailing zeros. */
static void
put_num(struct strbuf *text, double value)
{
	double hundredths = round(value * 100);

	/* Adding 0 turns the -0 that rounding may leave into 0. */
	strbuf_printf(text, "%.10g", hundredths / 100 + 0.0);
}

static void
put_attribute(struct strbuf *text, const char *name, double value)
{
	strbuf_printf(text, " %s=\"", name);
	put_num(text, value);
	strbuf_putc(text, '"');
}

void
svg_escape(struct strbuf *text, const char *s)
{
	while (*s) {
		size_t n = utf8_length(s);
		unsigned char c = (unsigned char)*s;

		if (c == '&')
			strbuf_puts(text, "&amp;");
		else if (c == '<')
			strbuf_puts(text, "&lt;");
		else if (c == '>')
			strbuf_puts(text, "&gt;");
		else if (c == '"')
			strbuf_puts(text, "&quot;");
		else if (!n || c < 0x20 || c == 0x7f)
			strbuf_putc(text, '?');
		else
			strbuf_add(text, s, n);
		s += n ? n : 1;
	}
}

void
svg_init(struct svg *svg, double width, double height, const char *title)
{
	*svg = (struct svg){ .text = STRBUF_EMPTY };
	strbuf_puts(&svg->text, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
	put_attribute(&svg->text, "width", width);
	put_attribute(&svg->text, "height", height);
	strbuf_puts(&svg->text, " viewBox=\"0 0 ");
	put_num(&svg->text, width);
	strbuf_putc(&svg->text, ' ');
	put_num(&svg->text, height);
	strbuf_puts(&svg->text, "\" font-family=\"sans-serif\">\n<title>");
	svg_escape(&svg->text, title);
	strbuf_puts(&svg->text, "</title>\n");
}

void
svg_rect(struct svg *svg, double x, double y, double w, double h, const char *style)
{
	strbuf_puts(&svg->text, "<rect");
	put_attribute(&svg->text, "x", x);
	put_attribute(&svg->text, "y", y);
	put_attribute(&svg->text, "width", w);
	put_attribute(&svg->text, "height", h);
	strbuf_printf(&svg->text, " %s/>\n", style);
}

void
svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *style)
{
	strbuf_puts(&svg->text, "<line");
	put_attribute(&svg->text, "x1", x1);
	put_attribute(&svg->text, "y1", y1);
	put_attribute(&svg->text, "x2", x2);
	put_attribute(&svg->text, "y2", y2);
	strbuf_printf(&svg->text, " %s/>\n", style);
}

/* Adds a path's command that ends at a point of a circle. */
static void
put_point(struct svg *svg, const char *command, double cx, double cy, double r,
	  double turn)
{
	strbuf_puts(&svg->text, command);
	put_num(&svg->text, cx + r * sin(2 * M_PI * turn));
	strbuf_putc(&svg->text, ' ');
	put_num(&svg->text, cy - r * cos(2 * M_PI * turn));
}

/* Adds an arc to 'to' as two halves, because an SVG arc cannot be a whole turn. */
static void
put_arc(struct svg *svg, double cx, double cy, double r, double from, double to)
{
	double turns[] = { (from + to) / 2, to };

	for (int i = 0; i < 2; i++) {
		strbuf_putc(&svg->text, 'A');
		put_num(&svg->text, r);
		strbuf_putc(&svg->text, ' ');
		put_num(&svg->text, r);
		/* At most half a turn each; clockwise if 'to' is ahead. */
		put_point(svg, to > from ? " 0 0 1 " : " 0 0 0 ", cx, cy, r, turns[i]);
	}
}

void
svg_sector(struct svg *svg, double cx, double cy, double r_inner, double r_outer,
	   double from, double to, const char *style)
{
	bool is_ring = to - from >= 1;

	if (is_ring)
		to = from + 1;
	strbuf_puts(&svg->text, "<path d=\"");
	put_point(svg, "M", cx, cy, r_outer, from);
	put_arc(svg, cx, cy, r_outer, from, to);
	if (is_ring)
		strbuf_putc(&svg->text, 'Z');
	if (r_inner > 0) {
		/* Backwards, so that the inside of a ring stays empty. */
		put_point(svg, is_ring ? "M" : "L", cx, cy, r_inner, to);
		put_arc(svg, cx, cy, r_inner, to, from);
	} else if (!is_ring) {
		put_point(svg, "L", cx, cy, 0, 0);
	}
	if (r_inner > 0 || !is_ring)
		strbuf_putc(&svg->text, 'Z');
	strbuf_printf(&svg->text, "\" %s/>\n", style);
}

void
svg_text(struct svg *svg, double x, double y, const char *style, const char *text)
{
	strbuf_puts(&svg->text, "<text");
	put_attribute(&svg->text, "x", x);
	put_attribute(&svg->text, "y", y);
	strbuf_printf(&svg->text, " %s>", style);
	svg_escape(&svg->text, text);
	strbuf_puts(&svg->text, "</text>\n");
}

char *
svg_finish(struct svg *svg)
{
	strbuf_puts(&svg->text, "</svg>\n");
	return strbuf_steal(&svg->text);
}
