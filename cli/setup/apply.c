/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"

/* The directory of a target: "/etc/antiphase" of "/etc/antiphase/keys". */
static char *
directory_of(const char *target)
{
	return xstrndup(target, (size_t)(strrchr(target, '/') - target));
}

static const enum journal_kind kinds[] = {
	[SETUP_WRITE] = JOURNAL_FILE_WRITTEN,
	[SETUP_MAKE_KEYS] = JOURNAL_KEYS_MADE,
	[SETUP_ENABLE] = JOURNAL_UNIT_ENABLED,
	[SETUP_RESTART] = JOURNAL_RESTART,
};

/* The entry of a step that is about to be taken; of a file, with its new version. */
static void
announce(const struct survey *survey, struct setup_step *step, struct journal *journal)
{
	enum journal_kind kind = kinds[step->action];
	bool is_new = !journal_find(journal, kind, step->target);
	struct journal_entry *entry = journal_put(journal, kind, step->target);

	if (is_new && kind == JOURNAL_UNIT_ENABLED) {
		for (int i = 0; i < N_SURVEY_PROGRAMS; i++)
			if (strcmp(survey_program_names[i], step->target) == 0) {
				entry->was_enabled = survey->units[i].is_enabled;
				entry->was_active = survey->units[i].is_active;
			}
	} else if (is_new && kind != JOURNAL_RESTART) {
		char *dir = kind == JOURNAL_KEYS_MADE ? xstrdup(SETUP_KEYS)
						      : directory_of(step->target);

		entry->is_made = !survey_has(survey, "%s", dir);
		free(dir);
	}
	step->is_announced = is_new;
	if (step->text)
		journal_add_version(entry,
				    journal_version_of(step->text, strlen(step->text)));
}

static int
write_file(const struct survey *survey, const struct setup_step *step, struct err *err)
{
	char *dir = directory_of(step->target);
	char *path = survey_path(survey, "%s", step->target);
	int r = targets_make_dir(survey->root, dir, err);

	if (r == 0)
		r = file_write(path, step->text, strlen(step->text), err);
	free(path);
	free(dir);
	return r;
}

/* The version of the new pair is known only once it is made. */
static int
make_keys(const struct survey *survey, struct journal *journal, struct err *err)
{
	struct journal_entry *entry =
		journal_find(journal, JOURNAL_KEYS_MADE, SETUP_KEYS);
	char *public = NULL;
	int r = targets_make_dir(survey->root, SETUP_DIR, err);

	if (r == 0)
		r = setup_make_keys(survey, &public, err);
	if (r == 0) {
		journal_add_version(entry, journal_version_of(public, strlen(public)));
		r = journal_save(journal, survey->root, err);
	}
	if (r == 0)
		r = setup_place_keys(survey, err);
	else
		setup_drop_new_keys(survey);
	free(public);
	return r;
}

static int
take(const struct survey *survey, struct journal *journal, struct setup_step *step,
     struct err *err)
{
	switch (step->action) {
	case SETUP_WRITE:
		return write_file(survey, step, err);
	case SETUP_MAKE_KEYS:
		return make_keys(survey, journal, err);
	case SETUP_ENABLE:
		return setup_systemctl(survey, "enable", true, step->target, err);
	default:
		return setup_systemctl(survey, "restart", false, step->target, err);
	}
}

/* Steps that were not taken, after one failed, are none to take back. */
static void
forget(struct journal *journal, const struct setup_plan *plan)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct setup_step *step = &plan->steps.items[i];

		if (step->is_announced && step->action != SETUP_RESTART &&
		    (step->state == SETUP_TO_DO ||
		     (step->state == SETUP_FAILED && step->action == SETUP_WRITE)))
			journal_remove(journal, kinds[step->action], step->target);
	}
}

int
setup_apply(const struct survey *survey, struct journal *journal,
	    struct setup_plan *plan, struct err *err)
{
	int r = 0;

	if (!setup_plan_count(plan, SETUP_TO_DO))
		return 0;
	/* All at once: a restart that a kill prevents is then not forgotten. */
	for (size_t i = 0; i < plan->steps.n; i++)
		if (plan->steps.items[i].state == SETUP_TO_DO)
			announce(survey, &plan->steps.items[i], journal);
	r = journal_save(journal, survey->root, err);
	for (size_t i = 0; r == 0 && i < plan->steps.n; i++) {
		struct setup_step *step = &plan->steps.items[i];

		if (step->state != SETUP_TO_DO)
			continue;
		r = take(survey, journal, step, err);
		step->state = r == 0 ? SETUP_DONE : SETUP_FAILED;
		if (r == 0 && step->action == SETUP_RESTART) {
			journal_remove(journal, JOURNAL_RESTART, step->target);
			r = journal_save(journal, survey->root, err);
		} else if (r < 0) {
			setup_plan_say(step, "%s", err->text);
		}
	}
	if (r < 0) {
		forget(journal, plan);
		journal_save(journal, survey->root, NULL);
	}
	return r;
}
