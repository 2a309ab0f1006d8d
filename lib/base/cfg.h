/*
 * cfg.h - INI text, with the line of every key (inih).
 *
 *	[section name]
 *	key = value        ; comment
 *
 * Keys may repeat: the caller gets them in the order of the file.
 */
#ifndef LIB_BASE_CFG_H
#define LIB_BASE_CFG_H

#include <stddef.h>

struct err;

struct cfg_entry {
	const char *section; /* "job vgg"; borrowed during the call. */
	const char *key;     /* NULL: the section's heading itself. */
	const char *value;   /* NULL with a heading. */
	unsigned line;
};

/*
 * Calls 'entry' for each heading and key.  It returns 0 to go on, or a
 * negative errno, having filled the error itself; that is returned then.
 * Otherwise 0, or -EINVAL for text that is no INI.
 */
int cfg_parse(const char *file, const char *text, size_t length,
	      int (*entry)(void *ctx, const struct cfg_entry *entry, struct err *err),
	      void *ctx, struct err *err);

#endif
