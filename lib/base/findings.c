/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/findings.h"

#include <stdarg.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/vec.h"

const char *
finding_state_name(enum finding_state state)
{
	static const char *const names[] = {
		[FINDING_OK] = "OK",
		[FINDING_WARN] = "WARN",
		[FINDING_FAIL] = "FAIL",
	};

	return names[state];
}

void
findings_add(struct findings *findings, enum finding_state state, const char *topic,
	     const char *remedy, const char *fmt, ...)
{
	struct finding finding = {
		.state = state,
		.topic = topic,
		.remedy = remedy ? xstrdup(remedy) : NULL,
	};
	va_list args;
	char text[1024];

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	finding.text = xstrdup(text);
	vec_push(findings, finding);
}

void
findings_fini(struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		free(findings->items[i].text);
		free(findings->items[i].remedy);
	}
	vec_free(findings);
}

enum finding_state
findings_worst(const struct findings *findings)
{
	enum finding_state worst = FINDING_OK;

	for (size_t i = 0; i < findings->n; i++)
		if (findings->items[i].state > worst)
			worst = findings->items[i].state;
	return worst;
}

void
findings_print(const struct findings *findings, FILE *out)
{
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *f = &findings->items[i];

		fprintf(out, "%-4s  %-12s %s\n", finding_state_name(f->state), f->topic,
			f->text);
		if (f->remedy)
			fprintf(out, "%19s-> %s\n", "", f->remedy);
	}
}

void
findings_json(const struct findings *findings, struct jsonw *w)
{
	jsonw_array(w, "findings");
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *f = &findings->items[i];

		jsonw_flat_object(w, NULL);
		jsonw_str(w, "state", finding_state_name(f->state));
		jsonw_str(w, "topic", f->topic);
		jsonw_str(w, "text", f->text);
		jsonw_str(w, "remedy", f->remedy);
		jsonw_end(w);
	}
	jsonw_end(w);
}
