/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_forecast.c - one job at its place, predicted among the jobs that it shares
 * links with.
 */
#include <math.h>
#include <stdlib.h>

#include "scheduler/core/advise/predict.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "topology/topo.h"

/* Neighbors in a prediction, and iterations of a run. */
#define MAX_JOBS   12
#define ITERATIONS 15
/* Predictions that would start more flows are omitted. */
#define MAX_COST 40000.0

static double
score_here(const struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	const struct link_loads *loads = place_link_loads(advisor->place);
	double worst = 1;

	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;

		if (link_loads_is_exceedable(loads, link))
			worst = fmin(worst,
				     1 - link_loads_excess_bps(loads, link) /
						     topo_link(advisor->topo, link)
							     ->capacity_bps);
	}
	return worst;
}

/* Takes the prediction with turns instead if its sum of weight / slowdown is larger. */
static void
try_turns(const struct advisor *advisor, struct predict_job *jobs,
	  const struct component *component, const struct predict_opts *opts,
	  struct prediction *prediction)
{
	struct prediction turns;
	double gain = 0;

	for (size_t i = 0; i < component->n_jobs; i++)
		jobs[i].pacing = advisor->jobs.items[component->jobs[i]]->is_shiftable
					 ? ENGINE_PACE_GATE
					 : ENGINE_PACE_FREE;
	predict(jobs, component->n_jobs, advisor->topo, opts, &turns);
	for (size_t i = 0; i < component->n_jobs; i++)
		gain += jobs[i].job->weight * (1 / prediction_mean(&turns, i) -
					       1 / prediction_mean(prediction, i));
	if (gain > 0) {
		struct prediction worse = *prediction;

		*prediction = turns;
		turns = worse;
	}
	prediction_fini(&turns);
}

static void
take_prediction(const struct prediction *prediction, const struct component *component,
		uint32_t job, struct forecast *forecast)
{
	forecast->others = 1;
	for (size_t i = 0; i < component->n_jobs; i++) {
		if (component->jobs[i] != job) {
			forecast->others =
				fmax(forecast->others, prediction_mean(prediction, i));
			continue;
		}
		for (size_t s = 0; s < FORECAST_RUNS; s++)
			forecast->own[s] = prediction->slowdown[i * FORECAST_RUNS + s];
	}
	forecast->is_known = true;
}

void
advisor_forecast(const struct advisor *advisor, uint32_t job, bool may_take_turns,
		 struct forecast *ret_forecast)
{
	struct predict_opts opts = { advisor->opts.seed, FORECAST_RUNS, ITERATIONS };
	struct forecast forecast = { .own = { 1, 1, 1 },
				     .others = 1,
				     .score = score_here(advisor, job) };
	struct advise_ctx ctx = advisor_ctx(advisor);
	struct component component;
	struct predict_job *jobs;
	struct prediction prediction;

	component_around(advisor->place, &ctx, job, MAX_JOBS, &component);
	jobs = component_predict_jobs(&component, advisor->place, &ctx);
	if (component.n_links == 0) {
		forecast.is_known = true;
	} else if (predict_cost(jobs, component.n_jobs, ITERATIONS) <= MAX_COST) {
		predict(jobs, component.n_jobs, advisor->topo, &opts, &prediction);
		if (may_take_turns)
			try_turns(advisor, jobs, &component, &opts, &prediction);
		take_prediction(&prediction, &component, job, &forecast);
		prediction_fini(&prediction);
	}
	free(jobs);
	component_fini(&component);
	*ret_forecast = forecast;
}

double
forecast_mean(const struct forecast *forecast)
{
	double sum = 0;

	for (size_t s = 0; s < FORECAST_RUNS; s++)
		sum += forecast->own[s];
	return sum / FORECAST_RUNS;
}
