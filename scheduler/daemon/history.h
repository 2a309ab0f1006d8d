/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - the traffic of each link, second by second, into the store.
 *
 * A row costs what three do, and where there are very many links all of them would cost
 * more than there is time.  So not more than HISTORY_ROWS are written of a second: of the
 * links that were contended most when five minutes began, and then of those that others
 * have left room for; so that the history of a link over five minutes is complete, or
 * empty.
 */
#ifndef SCHEDULER_DAEMON_HISTORY_H
#define SCHEDULER_DAEMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_ROWS 4000 /* Of one second. */

struct contention;
struct history;
struct live;
struct store;

struct history *history_new(void);
void history_free(struct history *history); /* Accepts NULL. */
/*
 * Writes a part of the last scan, 'found'; false: it is complete.  All calls between two
 * history_restart() are about the same scan.
 */
bool history_step(struct history *history, struct store *store,
		  const struct contention *found, const struct live *live);
/* Another scan follows: what was not written of the last one is left out. */
void history_restart(struct history *history);
/* Links of the last second that there was no room for. */
uint32_t history_n_left_out(const struct history *history);

#endif
