/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/apps/app.h"

#include <math.h>
#include <string.h>

#include "sim/apps/simplices.h"

#define MAX_MEASURED_NODES 16 /* More nodes take as long. */

/* ---- Steps ----------------------------------------------------------------------- */

/* The lexicographically smallest rotation. */
static void
normalize(const uint32_t *counts, uint32_t n, uint32_t *ret_counts)
{
	uint32_t best = 0;

	for (uint32_t at = 1; at < n; at++) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t a = counts[(at + i) % n], b = counts[(best + i) % n];

			if (a == b)
				continue;
			if (a < b)
				best = at;
			break;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		ret_counts[i] = counts[(best + i) % n];
}

static const struct app_place *
find_place(const struct app *app, const uint32_t *counts, uint32_t n)
{
	uint32_t normal[8];

	if (n > 8)
		return NULL;
	normalize(counts, n, normal);
	for (size_t i = 0; i < app->n_places; i++)
		if (app->places[i].n_nodes == n &&
		    memcmp(app->places[i].counts, normal, n * sizeof *normal) == 0)
			return &app->places[i];
	return NULL;
}

/* Interpolates between batches of a placement; extrapolates from the nearest two. */
static bool
step_of_place(const struct app *app, const struct app_place *place, double local,
	      struct app_step *ret_step)
{
	const double *x = app->local + place->first;
	const struct app_step *y = app->steps + place->first;
	size_t hi = 1;
	double span, by;

	if (place->n < 2)
		return false;
	while (hi < place->n - 1 && x[hi] < local)
		hi++;
	span = x[hi] - x[hi - 1];
	by = fmin(fmax(local, x[0]), x[place->n - 1]) - x[hi - 1];
	ret_step->step_s =
		(y[hi].step_s - y[hi - 1].step_s) / span * by + y[hi - 1].step_s;
	ret_step->sync_s =
		(y[hi].sync_s - y[hi - 1].sync_s) / span * by + y[hi - 1].sync_s;
	return true;
}

bool
app_step(const struct app *app, const uint32_t *counts, uint32_t n_nodes, double local,
	 struct app_step *ret_step)
{
	const struct app_place *place = find_place(app, counts, n_nodes);
	uint32_t n_gpus = 0, points[SIMPLICES_DIM + 1];
	double weights[SIMPLICES_DIM + 1];

	if (place)
		return step_of_place(app, place, local, ret_step);
	for (uint32_t i = 0; i < n_nodes; i++)
		n_gpus += counts[i];
	if (!simplices_find(app->between,
			    (const double[]){ fmin(n_nodes, MAX_MEASURED_NODES), n_gpus,
					      local },
			    points, weights))
		return false;
	*ret_step = (struct app_step){ 0 };
	for (int i = 0; i <= SIMPLICES_DIM; i++) {
		ret_step->step_s += weights[i] * app->corners[points[i]].step_s;
		ret_step->sync_s += weights[i] * app->corners[points[i]].sync_s;
	}
	return true;
}

uint32_t
app_max_local(const struct app *app, const uint32_t *counts, uint32_t n_nodes)
{
	const struct app_place *place = find_place(app, counts, n_nodes);
	uint32_t n_gpus = 0, most = 0;

	if (!app->n_reaches)
		return app->max_local;
	if (place)
		return (uint32_t)app->local[place->first + place->n - 1];
	for (uint32_t i = 0; i < n_nodes; i++)
		n_gpus += counts[i];
	for (size_t i = 0; i < app->n_reaches; i++) {
		const struct app_reach *reach = &app->reaches[i];

		if (reach->n_nodes >= n_nodes && reach->n_gpus >= n_gpus)
			most = reach->local > most ? reach->local : most;
	}
	return most ? most : app->max_local;
}

/* ---- Epochs ---------------------------------------------------------------------- */

double
app_progress(const struct app *app, uint32_t n_epochs)
{
	double least = INFINITY;

	if (!n_epochs)
		return 0;
	for (uint32_t i = 0; i < app->n_curves; i++)
		least = fmin(least, app->curves[i].progress[n_epochs - 1]);
	return least;
}

/* The curves around a batch size; returns the weight of the upper one. */
static double
between(const struct app *app, double batch, const struct app_curve **ret_lower,
	const struct app_curve **ret_upper)
{
	const struct app_curve *curves = app->curves;
	uint32_t hi = 0;

	while (hi < app->n_curves - 1 && curves[hi].batch < batch)
		hi++;
	*ret_upper = &curves[hi];
	*ret_lower = hi && curves[hi].batch > batch ? &curves[hi - 1] : &curves[hi];
	if (*ret_lower == *ret_upper)
		return 0;
	return (batch - (*ret_lower)->batch) /
	       ((*ret_upper)->batch - (double)(*ret_lower)->batch);
}

double
app_iterations(const struct app *app, double batch, uint32_t epoch)
{
	const struct app_curve *lower, *upper;
	double share = between(app, batch, &lower, &upper);

	return (1 - share) * lower->iterations[epoch] +
	       share * upper->iterations[epoch];
}

void
app_noise(const struct app *app, double batch, uint32_t epoch, double *ret_sqr,
	  double *ret_var)
{
	const struct app_curve *lower, *upper;
	double share = between(app, batch, &lower, &upper);

	*ret_sqr =
		(1 - share) * lower->grad_sqr[epoch] + share * upper->grad_sqr[epoch];
	*ret_var =
		(1 - share) * lower->grad_var[epoch] + share * upper->grad_var[epoch];
}

const struct app *
apps_find(const struct app *apps, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(apps[i].name, name) == 0)
			return &apps[i];
	return NULL;
}
