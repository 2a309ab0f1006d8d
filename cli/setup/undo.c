/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo.c - takes back what the journal has, the last step first
 *
 * Each entry leaves the journal once it is undone; a run after a kill finds things that
 * are gone already, and goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/setup/apply.h"
#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"

/* Removes ROOT/PATH; a missing file is gone already. */
static int
remove_file(const struct survey *survey, const char *path, struct err *err)
{
	char *full = survey_path(survey, "%s", path);
	int r = 0;

	if (unlink(full) < 0 && errno != ENOENT)
		r = err_set_errno(err, full, errno, "cannot remove");
	free(full);
	return r;
}

/* Removes the directory, and those above it that have become empty below /etc. */
static void
remove_directory(const struct survey *survey, const char *dir)
{
	char *path = survey_path(survey, "%s", dir);
	char *above = survey_path(survey, SETUP_DIR);

	rmdir(path);
	if (strcmp(path, above) != 0 && strncmp(path, above, strlen(above)) == 0)
		rmdir(above);
	free(above);
	free(path);
}

/* Whether the file is as setup wrote it; -ENOENT if it is gone. */
static int
is_unchanged(const struct survey *survey, const char *path,
	     const struct journal_entry *entry)
{
	char *current;
	size_t length;
	int r = setup_plan_read(survey->root, path, &current, &length);

	if (r == -ENOENT)
		return r;
	if (r < 0)
		return false;
	r = journal_has_version(entry, journal_version_of(current, length));
	free(current);
	return r;
}

static int
undo_file(const struct survey *survey, const struct journal_entry *entry,
	  struct setup_plan *plan, struct err *err)
{
	int r = is_unchanged(survey, entry->target, entry);

	if (r == 0) {
		setup_plan_add(plan, SETUP_REMOVE, SETUP_LEFT, entry->target,
			       "it was changed since, and is yours now");
		return 0;
	}
	if (r > 0) {
		r = remove_file(survey, entry->target, err);
		setup_plan_add(plan, SETUP_REMOVE, r < 0 ? SETUP_FAILED : SETUP_DONE,
			       entry->target, r < 0 ? err->text : NULL);
		if (r < 0)
			return r;
	}
	if (entry->is_made) {
		char *dir =
			xstrndup(entry->target,
				 (size_t)(strrchr(entry->target, '/') - entry->target));

		remove_directory(survey, dir);
		free(dir);
	}
	return 0;
}

static int
undo_keys(const struct survey *survey, const struct journal_entry *entry,
	  struct setup_plan *plan, struct err *err)
{
	int r = is_unchanged(survey, SETUP_KEYS "/self.pub", entry);

	setup_drop_new_keys(survey);
	if (r == 0 || (r > 0 && survey->is_peer_allowed)) {
		setup_plan_add(plan, SETUP_REMOVE, SETUP_LEFT, SETUP_KEYS,
			       r == 0 ? "the pair was changed since, and is yours now"
				      : "keys of other hosts were added since");
		return 0;
	}
	if (r > 0) {
		/* The secret first: without it the pair is no pair. */
		r = remove_file(survey, SETUP_KEYS "/self.key", err);
		if (r == 0)
			r = remove_file(survey, SETUP_KEYS "/self.pub", err);
		setup_plan_add(plan, SETUP_REMOVE, r < 0 ? SETUP_FAILED : SETUP_DONE,
			       SETUP_KEYS, r < 0 ? err->text : NULL);
		if (r < 0)
			return r;
	}
	if (entry->is_made)
		remove_directory(survey, SETUP_KEYS);
	return 0;
}

static int
undo_unit(const struct survey *survey, const struct journal_entry *entry,
	  struct setup_plan *plan, struct err *err)
{
	struct survey_unit now = { false };
	int r = 0;

	for (int i = 0; i < N_SURVEY_PROGRAMS; i++)
		if (strcmp(survey_program_names[i], entry->target) == 0)
			now = survey->units[i];
	if (!now.is_there)
		return 0;
	if (now.is_enabled && !entry->was_enabled)
		r = setup_systemctl(survey, "disable", false, entry->target, err);
	else if (!now.is_active || entry->was_active)
		return 0;
	if (r == 0 && now.is_active && !entry->was_active)
		r = setup_systemctl(survey, "stop", false, entry->target, err);
	setup_plan_add(plan, SETUP_DISABLE, r < 0 ? SETUP_FAILED : SETUP_DONE,
		       entry->target, r < 0 ? err->text : NULL);
	return r;
}

static int
undo_one(const struct survey *survey, const struct journal_entry *entry,
	 struct setup_plan *plan, struct err *err)
{
	switch (entry->kind) {
	case JOURNAL_FILE_WRITTEN:
		return undo_file(survey, entry, plan, err);
	case JOURNAL_KEYS_MADE:
		return undo_keys(survey, entry, plan, err);
	case JOURNAL_UNIT_ENABLED:
		return undo_unit(survey, entry, plan, err);
	default:
		return 0;
	}
}

/*
 * Units that go on running read their settings again.  An entry for each comes first, as
 * for a restart by setup_apply(), so that a kill does not prevent it.
 */
static void
note_restarts(const struct survey *survey, struct journal *journal)
{
	bool is_file = false;

	for (size_t i = 0; i < journal->entries.n; i++)
		is_file |= journal->entries.items[i].kind < JOURNAL_UNIT_ENABLED;
	for (int i = 0; is_file && i < N_SURVEY_PROGRAMS; i++) {
		const struct journal_entry *unit = journal_find(
			journal, JOURNAL_UNIT_ENABLED, survey_program_names[i]);

		if (survey->units[i].is_active && (!unit || unit->was_active))
			journal_put(journal, JOURNAL_RESTART, survey_program_names[i]);
	}
}

static int
restart_all(const struct survey *survey, struct journal *journal,
	    struct setup_plan *plan, struct err *err)
{
	while (journal->entries.n) {
		const struct journal_entry *entry = &journal->entries.items[0];
		int r = setup_systemctl(survey, "restart", false, entry->target, err);

		setup_plan_add(plan, SETUP_RESTART, r < 0 ? SETUP_FAILED : SETUP_DONE,
			       entry->target, r < 0 ? err->text : NULL);
		if (r < 0)
			return r;
		journal_remove(journal, JOURNAL_RESTART, entry->target);
		r = journal_save(journal, survey->root, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int
setup_undo(const struct survey *survey, struct journal *journal,
	   struct setup_plan *ret_plan, struct err *err)
{
	int r;

	*ret_plan = (struct setup_plan){ VEC_EMPTY };
	note_restarts(survey, journal);
	/* Without entries, too: a kill may have left the journal's directory. */
	r = journal_save(journal, survey->root, err);
	for (size_t i = journal->entries.n; r == 0 && i-- > 0;) {
		const struct journal_entry *entry = &journal->entries.items[i];

		if (entry->kind == JOURNAL_RESTART)
			continue;
		r = undo_one(survey, entry, ret_plan, err);
		if (r == 0) {
			journal_remove(journal, entry->kind, entry->target);
			r = journal_save(journal, survey->root, err);
		}
	}
	return r < 0 ? r : restart_all(survey, journal, ret_plan, err);
}
