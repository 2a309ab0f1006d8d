/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "topology/read.h"

const char *const setup_action_names[N_SETUP_ACTIONS + 1] = {
	[SETUP_WRITE] = "write",   [SETUP_MAKE_KEYS] = "create keys",
	[SETUP_ENABLE] = "enable", [SETUP_RESTART] = "restart",
	[SETUP_REMOVE] = "remove", [SETUP_DISABLE] = "disable",
};

const char *const setup_state_names[N_SETUP_STATES + 1] = {
	[SETUP_TO_DO] = "to do", [SETUP_DONE] = "done",     [SETUP_THERE] = "there",
	[SETUP_LEFT] = "left",   [SETUP_FAILED] = "failed",
};

/* ---- Steps ----------------------------------------------------------------------- */

struct setup_step *
setup_plan_add(struct setup_plan *plan, enum setup_action action,
	       enum setup_state state, const char *target, const char *why)
{
	struct setup_step step = { .action = action,
				   .state = state,
				   .target = xstrdup(target),
				   .why = xstrdup(why ? why : "") };

	vec_push(&plan->steps, step);
	return &plan->steps.items[plan->steps.n - 1];
}

void
setup_plan_say(struct setup_step *step, const char *fmt, ...)
{
	char why[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	free(step->why);
	step->why = xstrdup(why);
}

void
setup_plan_fini(struct setup_plan *plan)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		struct setup_step *step = &plan->steps.items[i];

		for (size_t k = 0; k < step->differences.n; k++)
			free(step->differences.items[k]);
		vec_free(&step->differences);
		free(step->target);
		free(step->text);
		free(step->why);
	}
	vec_free(&plan->steps);
}

size_t
setup_plan_count(const struct setup_plan *plan, enum setup_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->steps.n; i++)
		n += plan->steps.items[i].state == state;
	return n;
}

/* ---- Files ----------------------------------------------------------------------- */

int
setup_plan_read(const char *root, const char *path, char **ret_text, size_t *ret_length)
{
	char *full = xasprintf("%s%s", root, path);
	struct stat status;
	int r = 0;

	if (lstat(full, &status) < 0)
		r = -errno;
	else if (!S_ISREG(status.st_mode))
		r = -EEXIST;
	else
		r = file_read(full, TOPO_MAX_FILE_BYTES, ret_text, ret_length, NULL);
	free(full);
	return r;
}

enum setup_state
setup_plan_file_state(const char *wanted, const char *current, size_t length,
		      const struct journal_entry *entry)
{
	if (!current)
		return SETUP_TO_DO;
	if (length == strlen(wanted) && memcmp(wanted, current, length) == 0)
		return SETUP_THERE;
	if (entry && journal_has_version(entry, journal_version_of(current, length)))
		return SETUP_TO_DO;
	return SETUP_LEFT;
}
