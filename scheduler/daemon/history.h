/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - the traffic of each link, second by second, into the store.
 *
 * Each row is written in three grains, too slow for all rows if links are very many.
 * So at most HISTORY_ROWS rows are written for a second: first the links that were most
 * contended when the current five minutes began, then others while there is room. So
 * the history of a link over five minutes is complete, or empty.
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
 * Writes a part of the last scan, 'found'; false: it is complete. All calls between two
 * history_restart() pass the same scan.
 */
bool history_step(struct history *history, struct store *store,
		  const struct contention *found, const struct live *live);
/* Another scan follows: drops what was not written of the last one. */
void history_restart(struct history *history);
/* Links left out of the last second for lack of room. */
uint32_t history_n_left_out(const struct history *history);

#endif
