/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unionfind.h - disjoint sets of the numbers 0 to n-1.
 *
 * The sets are an array of parents, in which each number starts as its own parent.  The
 * root of a set is its least number, so that results do not depend on the order of
 * joining.  Path halving without ranks: amortized O(log n) per call.
 */
#ifndef LIB_BASE_UNIONFIND_H
#define LIB_BASE_UNIONFIND_H

#include <stdint.h>

static inline uint32_t
unionfind_root(uint32_t *parents, uint32_t i)
{
	while (parents[i] != i) {
		parents[i] = parents[parents[i]];
		i = parents[i];
	}
	return i;
}

static inline void
unionfind_join(uint32_t *parents, uint32_t a, uint32_t b)
{
	a = unionfind_root(parents, a);
	b = unionfind_root(parents, b);
	parents[a > b ? a : b] = a > b ? b : a;
}

#endif
