/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorter.h - stable incremental sort with bounded work per call.
 *
 * It sorts numbers, such as indexes into an array of the caller.
 *
 *	struct sorter *sorter = sorter_new(n, compare_links, links);
 *
 *	while (!sorter_step(sorter, 4096))
 *		...
 *	order = sorter_items(sorter);
 *	sorter_free(sorter);
 */
#ifndef LIB_BASE_SORTER_H
#define LIB_BASE_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sorter;

typedef int sorter_fn(uint32_t a, uint32_t b, void *ctx);

/* Sorts the numbers 0 to n - 1. */
struct sorter *sorter_new(size_t n, sorter_fn *compare, void *ctx);
void sorter_free(struct sorter *sorter); /* Accepts NULL. */
/* Before the first step: sorts these n numbers instead, at most as many. */
void sorter_set(struct sorter *sorter, const uint32_t *items, size_t n);
/* Does at most 'n_moves'; returns true when all is sorted. */
bool sorter_step(struct sorter *sorter, size_t n_moves);
/* Borrowed. */
const uint32_t *sorter_items(const struct sorter *sorter, size_t *ret_n);

#endif
