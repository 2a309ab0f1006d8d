#include "sim/apps/simplices.h"

#include <errno.h>
#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/vec.h"

#define N_CORNERS (SIMPLICES_DIM + 1)
#define NEAR      1e-12 /* A weight below 0 by that is 0. */
#define FLAT      1e-12 /* A volume, by the product of its edges. */

struct simplex {
	uint32_t points[N_CORNERS];
	double least[SIMPLICES_DIM], most[SIMPLICES_DIM];
	double inverse[SIMPLICES_DIM][SIMPLICES_DIM]; /* Of the edges to corner 0. */
};

struct simplices {
	double *points; /* Owned. */
	VEC(struct simplex) all;
};

/* Of what leads from weights 1 to 3 to a place seen from corner 0; false: it is flat. */
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
add(struct simplices *s, const uint32_t *points)
{
	struct simplex simplex;
	double edges[SIMPLICES_DIM][SIMPLICES_DIM];

	for (int i = 0; i < SIMPLICES_DIM; i++) {
		double first = s->points[points[0] * SIMPLICES_DIM + i];

		simplex.least[i] = simplex.most[i] = first;
		for (int k = 1; k < N_CORNERS; k++) {
			double x = s->points[points[k] * SIMPLICES_DIM + i];

			edges[i][k - 1] = x - first;
			simplex.least[i] = fmin(simplex.least[i], x);
			simplex.most[i] = fmax(simplex.most[i], x);
		}
	}
	memcpy(simplex.points, points, sizeof simplex.points);
	if (invert(edges, simplex.inverse))
		vec_push(&s->all, simplex);
}

/* What Qhull made; those of the upper hull and the point at infinity are none of it. */
static void
collect(struct simplices *s, qhT *qh, size_t n)
{
	facetT *facet;

	FORALLfacets
	{
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
		if (k == N_CORNERS)
			add(s, points);
	}
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
		if (r == 0)
			collect(s, &qh, n);
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

bool
simplices_find(const struct simplices *simplices, const double *at,
	       uint32_t ret_points[N_CORNERS], double ret_weights[N_CORNERS])
{
	for (size_t i = 0; i < simplices->all.n; i++) {
		const struct simplex *simplex = &simplices->all.items[i];
		const double *first =
			simplices->points + simplex->points[0] * SIMPLICES_DIM;
		bool is_in = true;

		for (int k = 0; is_in && k < SIMPLICES_DIM; k++)
			is_in = at[k] >= simplex->least[k] && at[k] <= simplex->most[k];
		if (!is_in)
			continue;
		ret_weights[0] = 1;
		for (int k = 0; k < SIMPLICES_DIM; k++) {
			double w = 0;

			for (int j = 0; j < SIMPLICES_DIM; j++)
				w += simplex->inverse[k][j] * (at[j] - first[j]);
			ret_weights[k + 1] = w;
			ret_weights[0] -= w;
		}
		for (int k = 0; k < N_CORNERS; k++)
			is_in &= ret_weights[k] >= -NEAR;
		if (!is_in)
			continue;
		memcpy(ret_points, simplex->points, sizeof simplex->points);
		return true;
	}
	return false;
}
