/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - the steps of 'antiphase setup' on a host: which there are, and which are left
 * to do
 *
 * A missing file is written.  A file with a checksum that is in the journal is brought up
 * to date: it is as setup wrote it.  All others stay, and the step says how they differ.
 */
#ifndef CLI_SETUP_PLAN_H
#define CLI_SETUP_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/setup/journal.h"
#include "lib/base/vec.h"

struct err;
struct survey;

enum setup_action {
	SETUP_WRITE,     /* A file. */
	SETUP_MAKE_KEYS, /* A pair of keys. */
	SETUP_ENABLE,    /* A unit: at boot, and now. */
	SETUP_RESTART,   /* A running unit, so that it reads its settings. */
	SETUP_REMOVE,    /* Of undo: a file, or a pair of keys. */
	SETUP_DISABLE,   /* Of undo: a unit. */
	N_SETUP_ACTIONS,
};

/* "write", "create keys", ... */
extern const char *const setup_action_names[N_SETUP_ACTIONS + 1];

enum setup_state {
	SETUP_TO_DO,
	SETUP_DONE,  /* By this run. */
	SETUP_THERE, /* Nothing to do. */
	SETUP_LEFT, /* A person's work, which stays: 'why' and 'differences' say how. */
	SETUP_FAILED, /* 'why' is the error. */
	N_SETUP_STATES,
};

/* "to do", "done", "there", "left", "failed". */
extern const char *const setup_state_names[N_SETUP_STATES + 1];

struct setup_step {
	enum setup_action action;
	enum setup_state state;
	char *target; /* Owned, as all here.  A path without the root, or a unit. */
	char *text;   /* Of a file: its content; else NULL. */
	char *why;
	VEC(char *) differences; /* Between what is there and what setup would write. */
	bool is_announced;       /* The journal got its entry in this run. */
};

struct setup_plan {
	VEC(struct setup_step) steps; /* In the order to take them. */
};

/* What to do with a file. */
enum setup_state setup_plan_file_state(const char *wanted, const char *current,
				       size_t length,
				       const struct journal_entry *entry);

/* plan_make.c: the steps for the host of the survey.  O(fabric). */
void setup_plan_make(const struct survey *survey, const struct journal *journal,
		     struct setup_plan *ret_plan);
void setup_plan_fini(struct setup_plan *plan);

/* Adds a step; 'why' may be NULL.  Borrowed until the next one is added. */
struct setup_step *setup_plan_add(struct setup_plan *plan, enum setup_action action,
				  enum setup_state state, const char *target,
				  const char *why);
void setup_plan_say(struct setup_step *step, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))); /* Replaces 'why'. */

size_t setup_plan_count(const struct setup_plan *plan, enum setup_state state);

/*
 * Reads a file that may be a person's.  0 with a new text; -ENOENT; -EEXIST if it is no
 * plain file; or another -errno.
 */
int setup_plan_read(const char *root, const char *path, char **ret_text,
		    size_t *ret_length);

#endif
