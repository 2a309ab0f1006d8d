/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - log lines on stderr.
 *
 * The first argument names the module.  Under systemd (JOURNAL_STREAM set) lines begin
 * with a priority such as "<3>", otherwise with the program's name.  That name and the
 * level are the only global state.
 *
 * Use log_limited() for events that others can cause: it logs the first at once, then
 * one line per LOG_LIMIT_NS with the number of lines left out.  The same line for ever,
 * as of an endpoint that is gone, comes after twice the time each time, up to
 * LOG_LIMIT_MAX_NS; after LOG_LIMIT_QUIET_NS without a message it begins anew.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_NS       INT64_C(10000000000)
#define LOG_LIMIT_MAX_NS   INT64_C(3600000000000)
#define LOG_LIMIT_QUIET_NS INT64_C(300000000000)

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DBG,
};

void log_set_level(enum log_level level); /* Default: warnings. */

/* "err", "warn", "info", "dbg"; NULL-terminated. */
extern const char *const log_level_words[];
/* Sets the level by its word; returns false for an unknown word. */
bool log_set_level_word(const char *word);

/* The program's name, here and in err_print(); borrowed.  Default: "antiphase". */
void log_set_program(const char *name);
const char *log_program(void);

#define log_err(module, ...)  log_at(LOG_LEVEL_ERR, module, __VA_ARGS__)
#define log_warn(module, ...) log_at(LOG_LEVEL_WARN, module, __VA_ARGS__)
#define log_info(module, ...) log_at(LOG_LEVEL_INFO, module, __VA_ARGS__)
#define log_dbg(module, ...)  log_at(LOG_LEVEL_DBG, module, __VA_ARGS__)

void log_at(enum log_level level, const char *module, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Zeroed at the start.  One for each place, or for several similar ones. */
struct log_limit {
	int64_t said_ns;     /* Of the last line. */
	uint64_t said_hash;  /* Of its text. */
	int64_t wait_ns;     /* Until the same text is logged again. */
	int64_t looked_ns;   /* When a message was last compared with it. */
	int64_t last_ns;     /* Of the last message. */
	uint64_t n_left_out; /* Since the last line. */
};

/* 'now_ns' is of any monotonic clock. */
void log_limited(struct log_limit *limit, int64_t now_ns, enum log_level level,
		 const char *module, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
