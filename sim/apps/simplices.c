/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/apps/simplices.h"

#include <errno.h>
#include <float.h>
#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/vec.h"

#define N_CORNERS (SIMPLICES_DIM + 1)
#define NONE      UINT32_MAX
#define NEAR      (100 * DBL_EPSILON) /* Tolerance of negative weights. */
#define BROAD     1.5e-8              /* Tolerance towards a flat simplex. */
#define FLAT      1e-12               /* Least volume over the product of the edges. */

struct simplex {
	uint32_t points[N_CORNERS];
	uint32_t beyond
		[N_CORNERS]; /* By corner: the neighbor opposite of it, or NONE. */
	bool is_flat;
	double inverse[SIMPLICES_DIM]
		      [SIMPLICES_DIM]; /* Inverse of the edges to corner 0. */
	double plane[N_CORNERS +
		     1]; /* Plane of its lifted points; the last is its offset. */
};

struct simplices {
	double *points; /* Owned. */
	VEC(struct simplex) all;
	double scale, shift; /* Scale of x^2 + y^2 + z^2 in lifting. */
};

/*
 * Inverts the map from weights 1 to 3 to a point relative to corner 0; false: the
 * simplex is flat.
 */
static bool
invert(double m[SIMPLICES_DIM][SIMPLICES_DIM], double inverse[][SIMPLICES_DIM])
{
	double c[SIMPLICES_DIM][SIMPLICES_DIM], det, size = 1;

	for (int i = 0; i < SIMPLICES_DIM; i++) {
		int i1 = (i + 1) % SIMPLICES_DIM, i2 = (i + 2) % SIMPLICES_DIM;

		for (int j = 0; j < SIMPLICES_DIM; j++) {
			int j1 = (j + 1) % SIMPLICES_DIM, j2 = (j + 2) % SIMPLICES_DIM;

			c[i][j] = m[i1][j1] * m[i2][j2] - m[i1][j2] * m[i2][j1];
		}
		size *= sqrt(m[0][i] * m[0][i] + m[1][i] * m[1][i] + m[2][i] * m[2][i]);
	}
	det = m[0][0] * c[0][0] + m[0][1] * c[0][1] + m[0][2] * c[0][2];
	if (!(fabs(det) > FLAT * size))
		return false;
	for (int i = 0; i < SIMPLICES_DIM; i++)
		for (int j = 0; j < SIMPLICES_DIM; j++)
			inverse[i][j] = c[j][i] / det;
	return true;
}

static void
add(struct simplices *s, facetT *facet, const uint32_t *points)
{
	struct simplex simplex = { .beyond = { NONE, NONE, NONE, NONE } };
	double edges[SIMPLICES_DIM][SIMPLICES_DIM];
	facetT *neighbor, **neighborp;
	int n = 0;

	for (int i = 0; i < SIMPLICES_DIM; i++)
		for (int k = 1; k < N_CORNERS; k++)
			edges[i][k - 1] = s->points[points[k] * SIMPLICES_DIM + i] -
					  s->points[points[0] * SIMPLICES_DIM + i];
	memcpy(simplex.points, points, sizeof simplex.points);
	simplex.is_flat = !invert(edges, simplex.inverse);
	memcpy(simplex.plane, facet->normal, N_CORNERS * sizeof(double));
	simplex.plane[N_CORNERS] = facet->offset;
	FOREACHneighbor_(facet)
	{
		if (n < N_CORNERS)
			simplex.beyond[n++] =
				neighbor->upperdelaunay ? NONE : neighbor->visitid;
	}
	vec_push(&s->all, simplex);
}

/* Copies the facets of Qhull without the upper hull.  Its list ends with a dummy. */
static bool
collect(struct simplices *s, qhT *qh, size_t n)
{
	uint32_t number = 0;

	s->scale = 1;
	if (qh->SCALElast) {
		s->scale = qh->last_newhigh / (qh->last_high - qh->last_low);
		s->shift = -qh->last_low * s->scale;
	}
	for (facetT *facet = qh->facet_list; facet && facet->next; facet = facet->next)
		if (!facet->upperdelaunay)
			facet->visitid = number++;
	for (facetT *facet = qh->facet_list; facet && facet->next;
	     facet = facet->next) {
		uint32_t points[N_CORNERS];
		int k = 0;
		vertexT *vertex, **vertexp;

		if (facet->upperdelaunay)
			continue;
		FOREACHvertex_(facet->vertices)
		{
			int point = qh_pointid(qh, vertex->point);

			if (k < N_CORNERS && point >= 0 && (size_t)point < n)
				points[k++] = (uint32_t)point;
		}
		if (k < N_CORNERS)
			return false;
		add(s, facet, points);
	}
	return true;
}

int
simplices_new(const double *points, size_t n, struct simplices **ret_simplices)
{
	/* 'd' Delaunay, Qbb Qz for points on spheres, Qt all simplices. */
	char options[] = "qhull d Qt Qbb Qc Qz Q12";
	struct simplices *s = xcalloc(1, sizeof *s);
	double *copy = xcalloc(n * SIMPLICES_DIM + 1, sizeof *copy);
	FILE *quiet = fopen("/dev/null", "w");
	int n_left, n_bytes, r = -EINVAL;
	qhT qh;

	s->points = xcalloc(n * SIMPLICES_DIM + 1, sizeof *s->points);
	memcpy(s->points, points, n * SIMPLICES_DIM * sizeof *points);
	memcpy(copy, points, n * SIMPLICES_DIM * sizeof *points);
	if (quiet && n > N_CORNERS) {
		qh_zero(&qh, quiet);
		r = qh_new_qhull(&qh, SIMPLICES_DIM, (int)n, copy, False, options, NULL,
				 quiet)
			    ? -EINVAL
			    : 0;
		if (r == 0 && !collect(s, &qh, n))
			r = -EINVAL;
		qh_freeqhull(&qh, !qh_ALL);
		qh_memfreeshort(&qh, &n_left, &n_bytes);
	}
	if (quiet)
		fclose(quiet);
	free(copy);
	if (r == 0 && s->all.n) {
		*ret_simplices = s;
		return 0;
	}
	simplices_free(s);
	return -EINVAL;
}

void
simplices_free(struct simplices *simplices)
{
	if (!simplices)
		return;
	vec_free(&simplices->all);
	free(simplices->points);
	free(simplices);
}

/* ---- Finding --------------------------------------------------------------------- */

/*
 * Where points lie on a sphere, simplices may overlap, and some are flat.  The choice
 * among those around a place follows SciPy, to reproduce published numbers: walk
 * upwards over the planes of lifted points, then towards the place; at a flat simplex,
 * scan all in turn, where a flat one stands for its neighbors.
 */

static void
weigh(const struct simplices *s, const struct simplex *simplex, const double *at,
      double *ret_weights)
{
	const double *first = s->points + simplex->points[0] * SIMPLICES_DIM;

	ret_weights[0] = 1;
	for (int k = 0; k < SIMPLICES_DIM; k++) {
		double w = 0;

		for (int j = 0; j < SIMPLICES_DIM; j++)
			w += simplex->inverse[k][j] * (at[j] - first[j]);
		ret_weights[k + 1] = w;
		ret_weights[0] -= w;
	}
}

/* Distance of the lifted point above the plane of a simplex. */
static double
height(const struct simplices *s, uint32_t which, const double *at)
{
	const double *plane = s->all.items[which].plane;
	double lifted = 0, sum = 0;

	for (int k = 0; k < SIMPLICES_DIM; k++) {
		lifted += at[k] * at[k];
		sum += at[k] * plane[k];
	}
	sum += (lifted * s->scale + s->shift) * plane[SIMPLICES_DIM];
	return sum + plane[N_CORNERS];
}

static uint32_t
climb(const struct simplices *s, const double *at)
{
	uint32_t which = 0;
	double best = height(s, which, at);
	bool has_changed = true;

	while (has_changed && best <= 0) {
		has_changed = false;
		for (int k = 0; k < N_CORNERS; k++) {
			uint32_t next = s->all.items[which].beyond[k];
			double h = next == NONE ? -INFINITY : height(s, next, at);

			if (h > best + NEAR * (1 + fabs(best))) {
				which = next;
				best = h;
				has_changed = true;
			}
		}
	}
	return which;
}

/* 'flat': the flat simplex that it represents, or NONE. */
static bool
holds(const struct simplices *s, uint32_t which, uint32_t flat, const double *at,
      double *ret_weights)
{
	const struct simplex *simplex = &s->all.items[which];

	if (simplex->is_flat)
		return false;
	weigh(s, simplex, at, ret_weights);
	for (int k = 0; k < N_CORNERS; k++) {
		bool is_broad = flat != NONE && simplex->beyond[k] == flat;

		if (!(ret_weights[k] >= (is_broad ? -BROAD : -NEAR)))
			return false;
	}
	return true;
}

static uint32_t
scan_all(const struct simplices *s, const double *at, double *ret_weights)
{
	for (uint32_t i = 0; i < s->all.n; i++) {
		const struct simplex *simplex = &s->all.items[i];

		if (!simplex->is_flat) {
			if (holds(s, i, NONE, at, ret_weights))
				return i;
			continue;
		}
		for (int k = 0; k < N_CORNERS; k++) {
			uint32_t next = simplex->beyond[k];

			if (next != NONE && holds(s, next, i, at, ret_weights))
				return next;
		}
	}
	return NONE;
}

static uint32_t
find(const struct simplices *s, const double *at, double *ret_weights)
{
	uint32_t which = climb(s, at);

	for (size_t n = 0; which != NONE && n <= s->all.n / N_CORNERS; n++) {
		const struct simplex *simplex = &s->all.items[which];
		int k = 0;

		if (simplex->is_flat)
			break;
		weigh(s, simplex, at, ret_weights);
		while (k < N_CORNERS && ret_weights[k] >= -NEAR)
			k++;
		if (k == N_CORNERS)
			return which;
		which = simplex->beyond[k];
	}
	return which == NONE ? NONE : scan_all(s, at, ret_weights);
}

bool
simplices_find(const struct simplices *simplices, const double *at,
	       uint32_t ret_points[N_CORNERS], double ret_weights[N_CORNERS])
{
	uint32_t which = find(simplices, at, ret_weights);

	if (which == NONE)
		return false;
	memcpy(ret_points, simplices->all.items[which].points,
	       N_CORNERS * sizeof *ret_points);
	return true;
}
