/*
 * matching.h - maximum-weight matching in any graph: pairs of vertices, nobody in two of
 * them, of the largest sum of weights.
 *
 * Edmonds's blossoms with dual variables (Galil, "Efficient algorithms for finding maximum
 * matching in graphs", 1986): O(n^3) time, O(n^2) memory; 256 vertices take some 10 to 100 ms.
 * In doubles: the sum is the largest to about 1e-12 of it.  Deterministic: vertices are
 * looked at in ascending order.
 */
#ifndef POLICIES_MATH_MATCHING_H
#define POLICIES_MATH_MATCHING_H

#include <stdint.h>

#define MATCHING_NONE UINT32_MAX

/*
 * weights[u * n + v]: of a pair, equal both ways up to rounding - where they are not quite,
 * some vertices may stay alone; 0 or less: they cannot be one.  ret_mates[u]: whom u is with, or MATCHING_NONE.
 */
void matching_find(uint32_t n, const double *weights, uint32_t *ret_mates);

#endif
