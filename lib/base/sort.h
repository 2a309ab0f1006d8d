/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.h - qsort() for arrays that may be empty, and comparators of plain values.
 *
 * The comparators serve bsearch(), too.  What must not hold up a daemon's loop is sorted in
 * steps: sorter.h.
 */
#ifndef LIB_BASE_SORT_H
#define LIB_BASE_SORT_H

#include <stddef.h>
#include <stdlib.h>

/* Sorts 'n' items; 'items' may be NULL if there are none. */
#define sort_items(items, n, compare)                                  \
	do {                                                           \
		if ((n) > 1)                                           \
			qsort((items), (n), sizeof *(items), compare); \
	} while (0)

/* Ascending. */
int sort_by_u32(const void *a, const void *b);
int sort_by_u64(const void *a, const void *b);
int sort_by_double(const void *a, const void *b);
/* Of char *, by strcmp(). */
int sort_by_text(const void *a, const void *b);

#endif
