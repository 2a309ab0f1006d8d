/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - takes the steps of 'antiphase setup', and takes them back
 *
 * Each step is atomic, and in the journal on the disk before it is taken.  After a
 * failure or a kill, a further run goes on where this one ended.
 */
#ifndef CLI_SETUP_APPLY_H
#define CLI_SETUP_APPLY_H

#include "cli/setup/journal.h"
#include "cli/setup/plan.h"

struct err;
struct survey;

/*
 * Takes the steps that are to do, in order, until one fails; their states tell.  0, or
 * -errno with 'err' filled.
 */
int setup_apply(const struct survey *survey, struct journal *journal,
		struct setup_plan *plan, struct err *err);

/*
 * Takes back what the journal has, the last first.  What was changed since stays, and
 * the journal forgets it.  Fills 'ret_plan' with what it did.  0, or -errno with 'err'
 * filled.
 */
int setup_undo(const struct survey *survey, struct journal *journal,
	       struct setup_plan *ret_plan, struct err *err);

/*
 * apply_keys.c: the pair of keys, for the daemons' user if this is root.  The whole pair
 * gets its names at the end, the secret one last.  'ret_public' is its self.pub.
 */
int setup_make_keys(const struct survey *survey, char **ret_public, struct err *err);
/* Gives the pair that was made its names. */
int setup_place_keys(const struct survey *survey, struct err *err);
/* Removes a pair that has no names yet. */
void setup_drop_new_keys(const struct survey *survey);

/* apply_units.c: runs 'systemctl WORD [--now] UNIT'; 0, or -errno with 'err' filled. */
int setup_systemctl(const struct survey *survey, const char *word, bool is_now,
		    const char *unit, struct err *err);

#endif
