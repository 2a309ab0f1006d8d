/* SPDX-License-Identifier: Apache-2.0 */
/* decide_priv.h - what decide*.c share. */
#ifndef SCHEDULER_DAEMON_DECIDE_PRIV_H
#define SCHEDULER_DAEMON_DECIDE_PRIV_H

#include "scheduler/daemon/decide.h"

/* A job is left alone after this number of refused actions in a row. */
#define DECIDE_MAX_FAILED 3

/* What users see of a job that has moved. */
#define DECIDE_MOVED_RECORD "antiphase:v1;moved"

void decide_remove_at(struct decide_changes *changes, size_t i);
/* Replaces an owned text; NULL is "". */
void decide_set_text(char **text, const char *value);

#endif
