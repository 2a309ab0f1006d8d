/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_history.h - how much of their capacity links used in the course of a recording.
 *
 * Memory and output are bounded: a recording that is longer than
 * LINK_HISTORY_MAX_COLUMNS steps doubles the step.  Pure.
 */
#ifndef CLI_LINK_HISTORY_H
#define CLI_LINK_HISTORY_H

#include <stdint.h>

struct contention;
struct jsonw;
struct link_history;

#define LINK_HISTORY_MAX_COLUMNS 3600
#define LINK_HISTORY_MAX_LINKS   2048 /* Kept; later ones are ignored. */
#define LINK_HISTORY_MAX_WRITTEN 100
#define LINK_HISTORY_STEP_MS     1000

struct link_history *link_history_new(void);
void link_history_free(struct link_history *history); /* Accepts NULL. */

/*
 * Adds the rates of the last second of 'found', which ends at found->to_ms.  Times that
 * go back before the first one are ignored.
 */
void link_history_add(struct link_history *history, const struct contention *found);

/*
 * Writes the keys of antiphase.link_history/2: the links that were contended longest,
 * then those that carried most.
 */
void link_history_json(const struct link_history *history, struct jsonw *w);

#endif
