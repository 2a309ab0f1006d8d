/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h - allocation that aborts when memory runs out.
 *
 * Callers need no error path for it, which would never be tested.  Check the range of
 * sizes from outside before they get here.
 */
#ifndef LIB_BASE_ALLOC_H
#define LIB_BASE_ALLOC_H

#include <stddef.h>

/* Returns 'n' zeroed elements of 'size' bytes.  Free with free(). */
void *xcalloc(size_t n, size_t size);

/* Resizes 'p' to 'n' elements of 'size' bytes; new bytes are undefined. */
void *xreallocarray(void *p, size_t n, size_t size);

/* Returns a copy of the 'n' elements of 'size' bytes at 'p'; NULL if n is 0. */
void *xmemdup(const void *p, size_t n, size_t size);

/* Returns a new copy of 's'.  Free with free(). */
char *xstrdup(const char *s);

/* Returns a new string of the first 'length' characters of 's'. */
char *xstrndup(const char *s, size_t length);

/* Returns a new formatted string.  Free with free(). */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports a programming error with its place, and aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

/* As BUG, if 'cond' holds. */
#define BUG_ON(cond)                \
	do {                        \
		if (cond)           \
			BUG(#cond); \
	} while (0)

void bug_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));

#endif
