/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/rate_text.h"

#include <math.h>

#include "lib/base/strbuf.h"
#include "lib/base/table.h"

static void
write_rate(char *text, size_t size, double bps)
{
	double g = bps / 1e9;

	if (!(bps >= 0))
		snprintf(text, size, "-");
	else if (!(bps > 0))
		snprintf(text, size, "0");
	else if (g >= 1 && fabs(g - round(g)) < 1e-6)
		snprintf(text, size, "%.0fG", g);
	else if (g >= 9.995)
		snprintf(text, size, "%.1fG", g);
	else if (g >= 0.9995)
		snprintf(text, size, "%.2fG", g);
	else if (g >= 0.00995)
		snprintf(text, size, "%.0fM", g * 1e3);
	else if (g >= 0.0009995)
		snprintf(text, size, "%.1fM", g * 1e3);
	else if (bps >= 9950)
		snprintf(text, size, "%.0fk", bps / 1e3);
	else
		snprintf(text, size, "%.1fk", fmax(bps, 100) / 1e3);
}

void
rate_cell(struct table *t, double bps)
{
	char text[32];

	write_rate(text, sizeof text, bps);
	table_cell(t, "%s", text);
}

void
rate_add(struct strbuf *out, double bps)
{
	char text[32];

	write_rate(text, sizeof text, bps);
	strbuf_puts(out, text);
}
