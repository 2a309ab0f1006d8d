#include "collector/doctor/doctor.h"

#include <stdarg.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"

static const char *const state_words[] = {
	[FINDING_OK] = "OK",
	[FINDING_WARN] = "WARN",
	[FINDING_FAIL] = "FAIL",
};

void
doctor_init(struct doctor *doctor, const struct config *config)
{
	*doctor = (struct doctor){ .config = config, .sysroot = "" };
}

void
doctor_fini(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->findings.n; i++) {
		free(doctor->findings.items[i].text);
		free(doctor->findings.items[i].remedy);
	}
	vec_free(&doctor->findings);
}

void
doctor_add(struct doctor *doctor, enum finding_state state, const char *topic,
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
	vec_push(&doctor->findings, finding);
}

enum finding_state
doctor_worst(const struct doctor *doctor)
{
	enum finding_state worst = FINDING_OK;

	for (size_t i = 0; i < doctor->findings.n; i++) {
		if (doctor->findings.items[i].state > worst)
			worst = doctor->findings.items[i].state;
	}
	return worst;
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

/* ---- Output ---------------------------------------------------------------------------- */

void
doctor_print(const struct doctor *doctor, FILE *out)
{
	size_t n[3] = { 0 };

	for (size_t i = 0; i < doctor->findings.n; i++) {
		const struct finding *f = &doctor->findings.items[i];

		n[f->state]++;
		fprintf(out, "%-4s  %-12s %s\n", state_words[f->state], f->topic,
			f->text);
		if (f->remedy)
			fprintf(out, "%19s-> %s\n", "", f->remedy);
	}
	fprintf(out, "%zu OK, %zu WARN, %zu FAIL\n", n[FINDING_OK], n[FINDING_WARN],
		n[FINDING_FAIL]);
}

void
doctor_print_json(const struct doctor *doctor, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.doctor/1");
	jsonw_int(&w, "at_us", clk_wall_us());
	jsonw_str(&w, "worst", state_words[doctor_worst(doctor)]);
	jsonw_array(&w, "findings");
	for (size_t i = 0; i < doctor->findings.n; i++) {
		const struct finding *f = &doctor->findings.items[i];

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "state", state_words[f->state]);
		jsonw_str(&w, "topic", f->topic);
		jsonw_str(&w, "text", f->text);
		jsonw_str(&w, "remedy", f->remedy);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}
