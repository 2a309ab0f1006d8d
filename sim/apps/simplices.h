/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simplices.h - linear interpolation between scattered points in space.
 *
 * Uses their Delaunay triangulation (Qhull). For points on a sphere, as in a grid,
 * there are many triangulations; Qhull decides.
 */
#ifndef SIM_APPS_SIMPLICES_H
#define SIM_APPS_SIMPLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMPLICES_DIM 3

struct simplices;

/* Copies the points.  Returns 0, or -EINVAL if they span no volume. */
int simplices_new(const double *points, size_t n, struct simplices **ret_simplices);
void simplices_free(struct simplices *simplices); /* Accepts NULL. */

/*
 * Finds the points around 'at', with weights that sum to 1. Returns false if 'at' is
 * outside.  O(simplices).
 */
bool simplices_find(const struct simplices *simplices, const double *at,
		    uint32_t ret_points[SIMPLICES_DIM + 1],
		    double ret_weights[SIMPLICES_DIM + 1]);

#endif
