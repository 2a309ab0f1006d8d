/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move_log.h - the moves of running jobs that were requested: for the limit on moves an
 * hour, and so that no job moves again within its pay-back time (core/advise/moves.h).
 *
 * Each move is in the store before it is requested, so both hold after a restart, too.
 */
#ifndef SCHEDULER_DAEMON_MOVE_LOG_H
#define SCHEDULER_DAEMON_MOVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct move_log;
struct store;

/* Moves that are kept; without room for another one none is allowed. */
#define MOVE_LOG_MAX 10000

/* Reads the moves of earlier runs; 'store' is borrowed, NULL: none. 0, or -errno. */
int move_log_open(struct store *store, struct move_log **ret_log, struct err *err);
void move_log_free(struct move_log *log); /* Accepts NULL. */

/* Notes a move that is about to be requested; time is the wall clock. */
void move_log_add(struct move_log *log, const char *job, int64_t at_us,
		  double payback_s);
/* The last move of the job was refused: it did not happen. */
void move_log_drop(struct move_log *log, const char *job);

/* How many of 'n_running' jobs may be moved now, if 'share' of them may in an hour. */
uint32_t move_log_allowed(struct move_log *log, int64_t now_us, uint32_t n_running,
			  double share);
/* Whether an earlier move of the job has not paid back yet. */
bool move_log_is_resting(const struct move_log *log, const char *job, int64_t now_us);

/* Moves since the start of this run that were not refused. */
uint64_t move_log_count(const struct move_log *log);

#endif
