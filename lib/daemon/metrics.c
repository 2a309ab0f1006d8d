/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/utf8.h"

static const char *const type_words[] = {
	[METRICS_COUNTER] = "counter",
	[METRICS_GAUGE] = "gauge",
	[METRICS_HISTOGRAM] = "histogram",
};

/* Writes the fewest digits that read back as the same value. */
static void
put_number(struct strbuf *out, double value)
{
	char text[40];

	if (isnan(value)) {
		strbuf_puts(out, "NaN");
		return;
	}
	if (isinf(value)) {
		strbuf_puts(out, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	/* Fast path: most values are whole numbers. */
	if (value == floor(value) && fabs(value) < 1e15 && value != 0) {
		strbuf_printf(out, "%.0f", value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	strbuf_puts(out, text);
}

/* Writes text with special characters escaped and invalid UTF-8 replaced. */
static void
put_escaped(struct strbuf *out, const char *text, bool is_label)
{
	while (*text) {
		size_t n = 0;

		/* Fast path: most labels have only these characters. */
		while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' &&
		       text[n] != '\\')
			n++;
		if (n) {
			strbuf_add(out, text, n);
			text += n;
			continue;
		}
		n = utf8_length(text);
		if (!n) {
			strbuf_puts(out, "\xef\xbf\xbd"); /* U+FFFD. */
			n = 1;
		} else if (*text == '\\') {
			strbuf_puts(out, "\\\\");
		} else if (*text == '\n') {
			strbuf_puts(out, "\\n");
		} else if (*text == '"' && is_label) {
			strbuf_puts(out, "\\\"");
		} else {
			strbuf_add(out, text, n);
		}
		text += n;
	}
}

static void
put_label(struct strbuf *out, const char *name, const char *value, bool is_first)
{
	strbuf_printf(out, "%s%s=\"", is_first ? "{" : ",", name);
	put_escaped(out, value, true);
	strbuf_putc(out, '"');
}

/* Writes the labels up to the NULL, in braces. */
static void
put_labels(struct strbuf *out, va_list args)
{
	bool is_first = true;

	for (;;) {
		const char *name = va_arg(args, const char *);

		if (!name)
			break;
		put_label(out, name, va_arg(args, const char *), is_first);
		is_first = false;
	}
	if (!is_first)
		strbuf_putc(out, '}');
	strbuf_putc(out, ' ');
}

void
metrics_init(struct metrics *m, struct strbuf *out)
{
	metrics_init_as(m, out, METRICS_TEXT);
}

void
metrics_init_as(struct metrics *m, struct strbuf *out, enum metrics_format format)
{
	*m = (struct metrics){ .out = out, .format = format };
}

void
metrics_finish(struct metrics *m)
{
	if (m->format == METRICS_OPEN)
		strbuf_puts(m->out, "# EOF\n");
}

void
metrics_family(struct metrics *m, const char *name, enum metrics_type type,
	       const char *help)
{
	size_t length = strlen(name), suffix = strlen("_total");
	bool is_total = length > suffix && !strcmp(name + length - suffix, "_total");

	BUG_ON(is_total != (type == METRICS_COUNTER));
	m->family = name;
	/* In OpenMetrics the suffix is the sample's, not the family's. */
	if (m->format == METRICS_OPEN && is_total)
		length -= suffix;
	strbuf_printf(m->out, "# HELP %.*s ", (int)length, name);
	put_escaped(m->out, help, m->format == METRICS_OPEN);
	strbuf_printf(m->out, "\n# TYPE %.*s %s\n", (int)length, name,
		      type_words[type]);
}

void
metrics_go_on(struct metrics *m, const char *name)
{
	m->family = name;
}

void
metrics_sample(struct metrics *m, double value, ...)
{
	va_list args;

	strbuf_puts(m->out, m->family);
	va_start(args, value);
	put_labels(m->out, args);
	va_end(args);
	put_number(m->out, value);
	strbuf_putc(m->out, '\n');
}

void
metrics_sample_u64(struct metrics *m, uint64_t value, ...)
{
	va_list args;

	strbuf_puts(m->out, m->family);
	va_start(args, value);
	put_labels(m->out, args);
	va_end(args);
	strbuf_printf(m->out, "%" PRIu64 "\n", value);
}

void
metrics_counter(struct metrics *m, const char *name, uint64_t value, const char *help)
{
	metrics_family(m, name, METRICS_COUNTER, help);
	metrics_sample_u64(m, value, NULL);
}

void
metrics_gauge(struct metrics *m, const char *name, double value, const char *help)
{
	metrics_family(m, name, METRICS_GAUGE, help);
	metrics_sample(m, value, NULL);
}

/* Writes one line of a histogram: "FAMILY_bucket{label="value",le="0.1"} 7". */
static void
put_part(struct metrics *m, const char *suffix, const char *label, const char *value)
{
	strbuf_printf(m->out, "%s%s", m->family, suffix);
	if (label)
		put_label(m->out, label, value, true);
}

void
metrics_histogram(struct metrics *m, const double *bounds, const uint64_t *counts,
		  size_t n, double sum, const char *label, const char *value)
{
	uint64_t total = 0;

	for (size_t i = 0; i <= n; i++) {
		total += counts[i];
		put_part(m, "_bucket", label, value);
		strbuf_puts(m->out, label ? ",le=\"" : "{le=\"");
		put_number(m->out, i < n ? bounds[i] : INFINITY);
		strbuf_printf(m->out, "\"} %" PRIu64 "\n", total);
	}
	put_part(m, "_sum", label, value);
	strbuf_puts(m->out, label ? "} " : " ");
	put_number(m->out, sum);
	strbuf_putc(m->out, '\n');
	put_part(m, "_count", label, value);
	strbuf_printf(m->out, "%s%" PRIu64 "\n", label ? "} " : " ", total);
}
