/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matching.h - maximum-weight matching in a general graph.
 *
 * Edmonds's blossoms with dual variables (Galil, "Efficient algorithms for finding
 * maximum matching in graphs", 1986): O(n^3) time, O(n^2) memory; 256 vertices take 10
 * to 100 ms.  In doubles: the sum is maximal to about 1e-12 of it.  Deterministic:
 * vertices are visited in ascending order.
 */
#ifndef POLICIES_MATH_MATCHING_H
#define POLICIES_MATH_MATCHING_H

#include <stdint.h>

#define MATCHING_NONE UINT32_MAX

/*
 * weights[u * n + v]: weight of a pair, equal both ways up to rounding (where it is
 * not, some vertices may stay unmatched); 0 or less: no pair.  ret_mates[u]: the mate
 * of u, or MATCHING_NONE.
 */
void matching_find(uint32_t n, const double *weights, uint32_t *ret_mates);

#endif
