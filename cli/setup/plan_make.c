/* SPDX-License-Identifier: Apache-2.0 */
/* plan_make.c - the steps that a host needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/setup/config_text.h"
#include "cli/setup/plan.h"
#include "cli/setup/plan_config.h"
#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "topology/read.h"
#include "topology/topo.h"

/* ---- The fabric ------------------------------------------------------------------ */

/* Whether the text is a fabric, and the same as the wanted one. */
static bool
is_same_fabric(const char *wanted, const char *current, size_t length, struct err *err)
{
	struct topo *a = NULL, *b = NULL;
	bool is_same = false;

	if (topo_read(SETUP_FABRIC, current, length, NULL, &a, err) == 0 &&
	    topo_read("", wanted, strlen(wanted), NULL, &b, NULL) == 0) {
		is_same = topo_is_same(a, b);
		err_set(err, NULL, 0, 0, "has %u hosts and %u nodes", topo_n_hosts(a),
			topo_n_nodes(a));
	}
	topo_unref(a);
	topo_unref(b);
	return is_same;
}

/* A step for a fabric that differs from the file, which a person wrote. */
static void
propose(const struct survey *survey, const struct journal *journal, const char *what,
	struct setup_plan *plan)
{
	struct setup_step *step =
		setup_plan_add(plan, SETUP_WRITE, SETUP_LEFT, SETUP_FABRIC,
			       "setup did not write it, or it was changed");
	const struct journal_entry *entry =
		journal_find(journal, JOURNAL_FILE_WRITTEN, SETUP_PROPOSED);
	char *current = NULL;
	size_t length = 0;
	int r;

	vec_push(&step->differences, xasprintf("%s; %s", what, survey->fabric_from));
	r = setup_plan_read(survey->root, SETUP_PROPOSED, &current, &length);
	step = setup_plan_add(
		plan, SETUP_WRITE,
		r == 0 || r == -ENOENT
			? setup_plan_file_state(survey->fabric, current, length, entry)
			: SETUP_LEFT,
		SETUP_PROPOSED, "to compare: diff " SETUP_FABRIC " " SETUP_PROPOSED);
	step->text = xstrdup(survey->fabric);
	free(current);
}

static void
plan_fabric(const struct survey *survey, const struct journal *journal,
	    struct setup_plan *plan)
{
	const struct journal_entry *entry =
		journal_find(journal, JOURNAL_FILE_WRITTEN, SETUP_FABRIC);
	struct err err = { .text = "" };
	struct setup_step *step;
	enum setup_state state;
	char *current = NULL;
	size_t length = 0;
	int r;

	if (!survey->fabric || !survey_is_head(survey))
		return;
	r = setup_plan_read(survey->root, SETUP_FABRIC, &current, &length);
	if (r < 0 && r != -ENOENT) {
		setup_plan_add(plan, SETUP_WRITE, SETUP_LEFT, SETUP_FABRIC,
			       "it is no file that can be read");
		return;
	}
	state = setup_plan_file_state(survey->fabric, current, length, entry);
	if (state == SETUP_LEFT &&
	    (survey->is_fabric_partial ||
	     is_same_fabric(survey->fabric, current, length, &err)))
		state = SETUP_THERE;
	if (state == SETUP_LEFT) {
		propose(survey, journal, err.text, plan);
	} else {
		step = setup_plan_add(plan, SETUP_WRITE, state, SETUP_FABRIC, NULL);
		setup_plan_say(step, "the fabric, from %s", survey->fabric_from);
		step->text = xstrdup(survey->fabric);
	}
	free(current);
}

/* ---- Keys ------------------------------------------------------------------------ */

/* A kill can leave our self.pub alone; another one is a person's. */
static void
plan_keys(const struct survey *survey, const struct journal *journal,
	  struct setup_plan *plan)
{
	bool is_ours = journal_find(journal, JOURNAL_KEYS_MADE, SETUP_KEYS);

	if (!survey->has_keys && !is_ours && survey_has(survey, SETUP_KEYS "/self.pub"))
		setup_plan_add(
			plan, SETUP_MAKE_KEYS, SETUP_LEFT, SETUP_KEYS,
			"self.pub is there without its self.key: put that there, or "
			"remove self.pub");
	else
		setup_plan_add(
			plan, SETUP_MAKE_KEYS,
			survey->has_keys ? SETUP_THERE : SETUP_TO_DO, SETUP_KEYS,
			"connections between hosts need keys; then exchange the public "
			"ones: antiphase-keys(1)");
}

/* ---- Units ----------------------------------------------------------------------- */

/* Whether a file that the unit reads is to be written. */
static bool
is_outdated(const struct setup_plan *plan, enum survey_program program)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct setup_step *step = &plan->steps.items[i];

		if (step->state != SETUP_TO_DO || step->action > SETUP_MAKE_KEYS ||
		    strcmp(step->target, SETUP_PROPOSED) == 0)
			continue;
		if (strcmp(step->target, SETUP_FABRIC) != 0 ||
		    program != SURVEY_COLLECTOR)
			return true;
	}
	return false;
}

/* Whether antiphase-topology's unit starts after these steps. */
static bool
has_fabric(const struct survey *survey)
{
	return survey->fabric || survey_has(survey, SETUP_FABRIC);
}

static void
plan_units(const struct survey *survey, const struct journal *journal,
	   struct setup_plan *plan)
{
	for (int i = 0; i < N_SURVEY_PROGRAMS; i++) {
		const struct survey_unit *unit = &survey->units[i];
		const char *name = survey_program_names[i];

		if (!unit->is_there ||
		    (i != SURVEY_COLLECTOR && !survey_is_head(survey)) ||
		    (i == SURVEY_TOPOLOGY && !has_fabric(survey)))
			continue;
		if (!unit->is_enabled || !unit->is_active)
			setup_plan_add(plan, SETUP_ENABLE, SETUP_TO_DO, name,
				       "now, and at each boot");
		else if (is_outdated(plan, (enum survey_program)i) ||
			 journal_find(journal, JOURNAL_RESTART, name))
			setup_plan_add(plan, SETUP_RESTART, SETUP_TO_DO, name,
				       "to read what is written above");
		else
			setup_plan_add(plan, SETUP_ENABLE, SETUP_THERE, name,
				       "runs, and starts at each boot");
	}
}

void
setup_plan_make(const struct survey *survey, const struct journal *journal,
		struct setup_plan *ret_plan)
{
	config_lines lines;

	*ret_plan = (struct setup_plan){ VEC_EMPTY };
	config_lines_of(survey, &lines);
	if (config_lines_need_keys(survey, &lines))
		plan_keys(survey, journal, ret_plan);
	setup_plan_config(survey, journal, &lines, ret_plan);
	config_lines_fini(&lines);
	plan_fabric(survey, journal, ret_plan);
	plan_units(survey, journal, ret_plan);
}
