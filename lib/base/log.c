/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/base/words.h"

/* Global state. */
static enum log_level max_level = LOG_LEVEL_WARN;
static const char *program_name = "antiphase";

static const struct {
	const char *word;
	int priority; /* As in syslog and the journal. */
} levels[] = {
	[LOG_LEVEL_ERR] = { "error", 3 },
	[LOG_LEVEL_WARN] = { "warning", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DBG] = { "debug", 7 },
};

void
log_set_level(enum log_level level)
{
	max_level = level;
}

void
log_set_program(const char *name)
{
	program_name = name;
}

const char *
log_program(void)
{
	return program_name;
}

const char *const log_level_words[] = { "err", "warn", "info", "dbg", NULL };

bool
log_set_level_word(const char *word)
{
	int level = words_index(word, log_level_words);

	if (level >= 0)
		log_set_level((enum log_level)level);
	return level >= 0;
}

static void
say(enum log_level level, const char *module, char *text)
{
	/* Names from outside must not break the line. */
	utf8_disarm(text, 0);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s: %s\n", levels[level].priority, module, text);
	else
		fprintf(stderr, "%s: %s: %s: %s\n", program_name, levels[level].word,
			module, text);
}

void
log_at(enum log_level level, const char *module, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (level > max_level)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	say(level, module, text);
}

/* FNV-1a. */
static uint64_t
hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}

/* Whether that text is to be logged now; notes it then. */
static bool
is_due(struct log_limit *limit, int64_t now_ns, const char *text, bool is_quiet)
{
	uint64_t hash = hash_of(text);
	bool is_same = !is_quiet && limit->said_ns && hash == limit->said_hash;

	if (is_same && now_ns - limit->said_ns < limit->wait_ns)
		return false;
	limit->wait_ns = is_same ? 2 * limit->wait_ns : LOG_LIMIT_NS;
	if (limit->wait_ns > LOG_LIMIT_MAX_NS)
		limit->wait_ns = LOG_LIMIT_MAX_NS;
	limit->said_ns = now_ns;
	limit->said_hash = hash;
	return true;
}

/* Text is made once in LOG_LIMIT_NS at most, as a flood may come here. */
void
log_limited(struct log_limit *limit, int64_t now_ns, enum log_level level,
	    const char *module, const char *fmt, ...)
{
	bool is_quiet;
	char text[1024];
	size_t length;
	va_list args;

	if (now_ns == 0)
		now_ns = 1;
	is_quiet = now_ns - limit->last_ns >= LOG_LIMIT_QUIET_NS;
	limit->last_ns = now_ns;
	if (limit->looked_ns && now_ns - limit->looked_ns < LOG_LIMIT_NS) {
		limit->n_left_out++;
		return;
	}
	limit->looked_ns = now_ns;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (!is_due(limit, now_ns, text, is_quiet)) {
		limit->n_left_out++;
		return;
	}
	if (level <= max_level) {
		length = strlen(text);
		if (limit->n_left_out)
			snprintf(text + length, sizeof text - length,
				 "; %llu similar messages left out",
				 (unsigned long long)limit->n_left_out);
		say(level, module, text);
	}
	limit->n_left_out = 0;
}
