/*
 * simplices.h - linear interpolation between scattered points in space.
 *
 * Their Delaunay triangulation (Qhull); where points lie on a sphere, as on a grid, there
 * are many, and which one it is is Qhull's.
 */
#ifndef SIM_APPS_SIMPLICES_H
#define SIM_APPS_SIMPLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMPLICES_DIM 3

struct simplices;

/* Points one after another, copied.  0; -EINVAL: they span no volume. */
int simplices_new(const double *points, size_t n, struct simplices **ret_simplices);
void simplices_free(struct simplices *simplices); /* Accepts NULL. */

/*
 * The points between which 'at' lies, and their weights, which sum to 1; false if it is
 * outside of all.  O(simplices).
 */
bool simplices_find(const struct simplices *simplices, const double *at,
		    uint32_t ret_points[SIMPLICES_DIM + 1],
		    double ret_weights[SIMPLICES_DIM + 1]);

#endif
