/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfg.h - INI reader that gives the line of every key (on inih).
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
	const char *key;     /* NULL: the heading of the section. */
	const char *value;   /* NULL: the heading of the section. */
	unsigned line;
};

/*
 * Calls 'entry' for each heading and key until it returns a negative errno, with 'err'
 * filled, which is then the result.  Otherwise returns 0, or -EINVAL for text that is
 * not INI.
 */
int cfg_parse(const char *file, const char *text, size_t length,
	      int (*entry)(void *ctx, const struct cfg_entry *entry, struct err *err),
	      void *ctx, struct err *err);

#endif
