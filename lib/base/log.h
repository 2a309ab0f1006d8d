/*
 * log.h - talk on stderr: one line, one fact.
 *
 * The first argument names the module; under systemd (JOURNAL_STREAM set)
 * lines carry "<3>"-style prefixes.  The level is the only global state.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DBG,
};

void log_set_level(enum log_level level); /* Default: warnings. */

#define log_err(module, ...)  log_at(LOG_LEVEL_ERR, module, __VA_ARGS__)
#define log_warn(module, ...) log_at(LOG_LEVEL_WARN, module, __VA_ARGS__)
#define log_info(module, ...) log_at(LOG_LEVEL_INFO, module, __VA_ARGS__)
#define log_dbg(module, ...)  log_at(LOG_LEVEL_DBG, module, __VA_ARGS__)

void log_at(enum log_level level, const char *module, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
