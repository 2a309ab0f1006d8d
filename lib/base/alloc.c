/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn)) out_of_memory(size_t n, size_t size)
{
	fprintf(stderr, "antiphase: out of memory (%zu x %zu bytes)\n", n, size);
	abort();
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory(n, size);
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n ? n : 1, size ? size : 1);

	if (!q)
		out_of_memory(n, size);
	return q;
}

void *
xmemdup(const void *p, size_t n, size_t size)
{
	void *q;

	if (!n)
		return NULL;
	q = xreallocarray(NULL, n, size);
	memcpy(q, p, n * size);
	return q;
}

char *
xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *
xstrndup(const char *s, size_t length)
{
	char *copy = xreallocarray(NULL, length + 1, 1);

	memcpy(copy, s, length);
	copy[length] = '\0';
	return copy;
}

char *
xasprintf(const char *fmt, ...)
{
	va_list args;
	char *s;

	va_start(args, fmt);
	if (vasprintf(&s, fmt, args) < 0)
		out_of_memory(1, strlen(fmt));
	va_end(args);
	return s;
}

void
bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "antiphase: bug at %s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
