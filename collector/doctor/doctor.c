/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/doctor/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"

void
doctor_init(struct doctor *doctor, const struct config *config)
{
	*doctor = (struct doctor){ .config = config, .sysroot = "" };
}

void
doctor_fini(struct doctor *doctor)
{
	findings_fini(&doctor->findings);
}

char *
doctor_line(const struct doctor *doctor, const char *fmt, ...)
{
	char path[4096], *text;
	size_t length;
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof path, fmt, args);
	va_end(args);
	if (*doctor->sysroot) {
		char *below = xasprintf("%s%s", doctor->sysroot, path);
		int rc = file_read(below, 1 << 20, &text, &length, NULL);

		free(below);
		if (rc < 0)
			return NULL;
	} else if (file_read(path, 1 << 20, &text, &length, NULL) < 0) {
		return NULL;
	}
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- Output ---------------------------------------------------------------------- */

void
doctor_print(const struct doctor *doctor, FILE *out)
{
	size_t n[3] = { 0 };

	for (size_t i = 0; i < doctor->findings.n; i++)
		n[doctor->findings.items[i].state]++;
	findings_print(&doctor->findings, out);
	fprintf(out, "%zu OK, %zu WARN, %zu FAIL\n", n[FINDING_OK], n[FINDING_WARN],
		n[FINDING_FAIL]);
}

void
doctor_print_json(const struct doctor *doctor, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.doctor/1");
	jsonw_int(&w, "at_us", clk_wall_us());
	jsonw_str(&w, "worst", finding_state_name(findings_worst(&doctor->findings)));
	findings_json(&doctor->findings, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}
