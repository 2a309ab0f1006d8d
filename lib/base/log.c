#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The one global of the library. */
static enum log_level max_level = LOG_LEVEL_WARN;

static const struct {
	const char *word;
	int priority; /* As syslog numbers them, and the journal. */
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
log_at(enum log_level level, const char *module, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (level > max_level)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	/* One line, whatever names from outside hold. */
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}

	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s: %s\n", levels[level].priority, module, text);
	else
		fprintf(stderr, "antiphase: %s: %s: %s\n", levels[level].word, module,
			text);
}
