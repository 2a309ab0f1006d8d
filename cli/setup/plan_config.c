/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/plan_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "collector/config.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/settings.h"
#include "topology/settings.h"

#define N_TABLES       3
#define MAX_FILE_BYTES (1 << 20)

/* ---- What persons have set ------------------------------------------------------- */

/* The settings of all files but setup's own. */
struct others {
	struct settings *settings[N_TABLES]; /* Owned. */
};

/* A setting; "" as origin: none has it, or it has its default. */
struct other {
	const char *value, *origin; /* Borrowed; NULL: not set. */
	unsigned line;
};

static bool
is_own(const struct survey *survey, const char *path)
{
	char *own = survey_path(survey, SETUP_DROP_IN);
	bool is_it = strcmp(path, own) == 0;

	free(own);
	return is_it;
}

static int
parse_one(struct others *others, const char *path, struct err *err)
{
	char *text;
	size_t length;
	int r = file_read(path, MAX_FILE_BYTES, &text, &length, err);

	if (r < 0)
		return r;
	for (int t = 0; r == 0 && t < N_TABLES; t++)
		r = settings_parse(others->settings[t], path, text, length, err);
	free(text);
	return r;
}

/* Release with others_fini() in any case.  0, or -errno with 'err' filled. */
static int
others_read(const struct survey *survey, struct others *others, struct err *err)
{
	static const struct settings_table *const tables[N_TABLES] = {
		&settings_collector, &settings_topology, &settings_scheduler
	};
	char *path = survey_path(survey, SETUP_CONFIG);
	size_t n = 0;
	char **files = settings_files(path, &n);
	int r = 0;

	for (int t = 0; t < N_TABLES; t++)
		others->settings[t] = settings_new(tables[t]);
	for (size_t i = 0; i < n; i++) {
		/* The first is named whether or not it is there. */
		if (r == 0 && !is_own(survey, files[i]) &&
		    (i > 0 || survey_has(survey, SETUP_CONFIG)))
			r = parse_one(others, files[i], err);
		free(files[i]);
	}
	free(files);
	free(path);
	return r;
}

static void
others_fini(struct others *others)
{
	for (int t = 0; t < N_TABLES; t++)
		settings_free(others->settings[t]);
}

static struct other
other_of(const struct others *others, const char *section, const char *key)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct settings_table *table =
			settings_table(others->settings[t]);

		for (size_t i = 0; i < table->n; i++) {
			const struct settings *from = others->settings[t];

			if (strcmp(table->items[i].section, section) != 0 ||
			    strcmp(table->items[i].key, key) != 0)
				continue;
			if (!settings_line(from, i))
				break;
			return (struct other){ settings_value(from, i),
					       settings_origin(from, i),
					       settings_line(from, i) };
		}
	}
	return (struct other){ NULL, NULL, 0 };
}

bool
config_lines_need_keys(const struct survey *survey, const config_lines *lines)
{
	struct others others;
	struct err err = { .line = 0 };
	bool is_needed = false;

	if (others_read(survey, &others, &err) == 0)
		for (size_t i = 0; i < lines->n; i++) {
			const struct config_line *line = &lines->items[i];
			struct other other =
				other_of(&others, line->section, line->key);

			if (strcmp(line->key, "keys") == 0 && line->value)
				is_needed |= !other.value ||
					     strcmp(other.value, line->value) == 0;
		}
	others_fini(&others);
	return is_needed;
}

/* ---- Steps ----------------------------------------------------------------------- */

/* The path without the root. */
static const char *
below(const struct survey *survey, const char *path)
{
	size_t n = strlen(survey->root);

	return strncmp(path, survey->root, n) == 0 ? path + n : path;
}

/* The lines that no other file has, and the differences of the others. */
static void
split(const struct survey *survey, const struct others *others,
      const config_lines *lines, config_lines *ret_rest, struct setup_step *step)
{
	for (size_t i = 0; i < lines->n; i++) {
		const struct config_line *line = &lines->items[i];
		struct other other = other_of(others, line->section, line->key);
		struct config_line rest = *line;

		if (!line->value)
			continue;
		if (!other.value) {
			rest.value = xstrdup(line->value);
			rest.why = xstrdup(line->why);
			vec_push(ret_rest, rest);
		} else if (strcmp(other.value, line->value) != 0) {
			vec_push(&step->differences,
				 xasprintf("%s:%u: [%s] %s = %s; setup would say %s",
					   below(survey, other.origin), other.line,
					   line->section, line->key, other.value,
					   line->value));
		}
	}
}

/* A step for a file with this text, which it takes over. */
static void
add_file(const struct survey *survey, const struct journal *journal, const char *path,
	 char *text, const char *why, struct setup_plan *plan)
{
	const struct journal_entry *entry =
		journal_find(journal, JOURNAL_FILE_WRITTEN, path);
	struct setup_step *step =
		setup_plan_add(plan, SETUP_WRITE, SETUP_TO_DO, path, why);
	char *current = NULL;
	size_t length = 0;
	int r = setup_plan_read(survey->root, path, &current, &length);

	step->text = text;
	step->state = r == 0 || r == -ENOENT
			      ? setup_plan_file_state(text, current, length, entry)
			      : SETUP_LEFT;
	if (step->state == SETUP_LEFT)
		setup_plan_say(step, "setup did not write it, or it was changed");
	free(current);
}

/* antiphase.conf is a person's, or the package's, and stays. */
static void
plan_beside(const struct survey *survey, const struct journal *journal,
	    const config_lines *lines, struct setup_plan *plan)
{
	struct setup_step *step =
		setup_plan_add(plan, SETUP_WRITE, SETUP_THERE, SETUP_CONFIG,
			       "stays as it is; setup did not write it");
	config_lines rest = VEC_EMPTY;
	struct err err = { .line = 0 };
	struct others others;

	if (others_read(survey, &others, &err) < 0) {
		step->state = SETUP_LEFT;
		setup_plan_say(step, "mend %s:%u: %s", below(survey, err.file),
			       err.line, err.text);
	} else {
		split(survey, &others, lines, &rest, step);
		if (step->differences.n)
			step->state = SETUP_LEFT;
		if (rest.n || survey_has(survey, SETUP_DROP_IN))
			add_file(survey, journal, SETUP_DROP_IN,
				 config_text(&rest, survey->host),
				 "settings that suit this host, beside " SETUP_CONFIG,
				 plan);
	}
	config_lines_fini(&rest);
	others_fini(&others);
}

void
setup_plan_config(const struct survey *survey, const struct journal *journal,
		  const config_lines *lines, struct setup_plan *plan)
{
	const struct journal_entry *entry =
		journal_find(journal, JOURNAL_FILE_WRITTEN, SETUP_CONFIG);
	char *current = NULL;
	size_t length = 0;
	int r = setup_plan_read(survey->root, SETUP_CONFIG, &current, &length);

	if (r == -ENOENT && !lines->n)
		return;
	if (r == -ENOENT ||
	    (r == 0 && entry &&
	     journal_has_version(entry, journal_version_of(current, length))))
		add_file(survey, journal, SETUP_CONFIG,
			 config_text(lines, survey->host),
			 "settings that suit this host", plan);
	else
		plan_beside(survey, journal, lines, plan);
	free(current);
}
