/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growable array of any type.
 *
 *	VEC(uint32_t) links = VEC_EMPTY;
 *
 *	vec_push(&links, 7);
 *	for (size_t i = 0; i < links.n; i++)
 *		use(links.items[i]);
 *	vec_free(&links);
 *
 * Pushing is amortized O(1).  A push invalidates pointers into 'items'.
 */
#ifndef LIB_BASE_VEC_H
#define LIB_BASE_VEC_H

#include <stdlib.h>

#include "lib/base/alloc.h"

#define VEC(type)                                 \
	struct {                                  \
		type *items;     /* Owned. */     \
		size_t n;        /* In use. */    \
		size_t capacity; /* Allocated. */ \
	}

#define VEC_EMPTY          \
	{                  \
		NULL, 0, 0 \
	}

/* Makes room for 'more' further items. */
#define vec_reserve(v, more)                                                           \
	do {                                                                           \
		if ((v)->n + (more) > (v)->capacity) {                                 \
			size_t want__ = (v)->capacity * 2 + 8;                         \
                                                                                       \
			if (want__ < (v)->n + (more))                                  \
				want__ = (v)->n + (more);                              \
			(v)->items =                                                   \
				xreallocarray((v)->items, want__, sizeof *(v)->items); \
			(v)->capacity = want__;                                        \
		}                                                                      \
	} while (0)

#define vec_push(v, item)                      \
	do {                                   \
		vec_reserve(v, 1);             \
		(v)->items[(v)->n++] = (item); \
	} while (0)

#define vec_free(v)                         \
	do {                                \
		free((v)->items);           \
		(v)->items = NULL;          \
		(v)->n = (v)->capacity = 0; \
	} while (0)

#endif
