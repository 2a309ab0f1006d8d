/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_rank.c - places of a waiting job: the search of place.h, and the best few
 * predicted among the jobs they would join.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/predict.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"
#include "topology/topo.h"

#define DEFAULT_CANDIDATES 20

/* Moves of the search, counted in routed flows: 50 ms with 10,000 jobs. */
#define SEARCH_FLOWS 4000
#define MIN_TRIES    10
#define MAX_TRIES    200

/* Number of predicted places, their neighbors, and the runs. */
#define N_PREDICTED        3
#define PREDICT_MAX_JOBS   12
#define PREDICT_RUNS       3
#define PREDICT_ITERATIONS 15
/* Predictions that would start more flows are omitted. */
#define PREDICT_MAX_COST 40000.0

void
advisor_ranking_fini(struct advisor_ranking *ranking)
{
	for (size_t i = 0; i < ranking->n; i++)
		free(ranking->items[i].hosts);
	free(ranking->items);
	*ranking = (struct advisor_ranking){ 0 };
}

/* ---- Free slots ------------------------------------------------------------------ */

/* Sets free slots as the scheduler reports them; returns the old ones. */
static int64_t *
set_free_slots(const struct advisor *advisor, const bool *allowed)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(advisor->topo, &n);
	int64_t *were = xcalloc(n + 1, sizeof *were);

	for (size_t i = 0; i < n; i++) {
		int64_t given = advisor->given_slots[hosts[i]];

		were[i] = place_free_slots(advisor->place, hosts[i]);
		if (allowed && !allowed[i])
			place_set_free_slots(advisor->place, hosts[i], 0);
		else if (given >= 0)
			place_set_free_slots(advisor->place, hosts[i], given);
	}
	return were;
}

static void
reset_free_slots(const struct advisor *advisor, int64_t *were)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(advisor->topo, &n);

	for (size_t i = 0; i < n; i++)
		place_set_free_slots(advisor->place, hosts[i], were[i]);
	free(were);
}

/* ---- Prediction ------------------------------------------------------------------ */

struct forecast {
	double own[PREDICT_RUNS]; /* Slowdown of the job, by run. */
	double others;            /* Mean slowdown of the worst of the others. */
	double score;
	bool is_known;
};

static double
score_here(const struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	double worst = 1;

	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;

		if (link_loads_is_exceedable(place_link_loads(advisor->place), link))
			worst = fmin(
				worst,
				1 - link_loads_excess_bps(
					    place_link_loads(advisor->place), link) /
						topo_link(advisor->topo, link)
							->capacity_bps);
	}
	return worst;
}

/* The better of sharing links and taking turns, by the sum of weight / slowdown. */
static void
predict_better(const struct advisor *advisor, struct predict_job *jobs,
	       const struct component *component, struct prediction *ret_prediction)
{
	struct predict_opts opts = { advisor->opts.seed, PREDICT_RUNS,
				     PREDICT_ITERATIONS };
	struct prediction turns;
	double gain = 0;

	predict(jobs, component->n_jobs, advisor->topo, &opts, ret_prediction);
	for (size_t i = 0; i < component->n_jobs; i++)
		jobs[i].pacing = advisor->jobs.items[component->jobs[i]]->is_shiftable
					 ? ENGINE_PACE_GATE
					 : ENGINE_PACE_FREE;
	predict(jobs, component->n_jobs, advisor->topo, &opts, &turns);
	for (size_t i = 0; i < component->n_jobs; i++)
		gain += jobs[i].job->weight * (1 / prediction_mean(&turns, i) -
					       1 / prediction_mean(ret_prediction, i));
	if (gain > 0) {
		struct prediction worse = *ret_prediction;

		*ret_prediction = turns;
		turns = worse;
	}
	prediction_fini(&turns);
}

/* Predicts the job at its present place. */
static void
forecast_here(const struct advisor *advisor, uint32_t job,
	      struct forecast *ret_forecast)
{
	struct advise_ctx ctx = advisor_ctx(advisor);
	struct component component;
	struct predict_job *jobs;
	struct prediction prediction;

	ret_forecast->score = score_here(advisor, job);
	component_around(advisor->place, &ctx, job, PREDICT_MAX_JOBS, &component);
	jobs = component_predict_jobs(&component, advisor->place, &ctx);
	if (component.n_links == 0) {
		for (size_t s = 0; s < PREDICT_RUNS; s++)
			ret_forecast->own[s] = 1;
		ret_forecast->others = 1;
		ret_forecast->is_known = true;
	} else if (predict_cost(jobs, component.n_jobs, PREDICT_ITERATIONS) <=
		   PREDICT_MAX_COST) {
		predict_better(advisor, jobs, &component, &prediction);
		ret_forecast->others = 1;
		for (size_t i = 0; i < component.n_jobs; i++)
			if (component.jobs[i] != job)
				ret_forecast->others =
					fmax(ret_forecast->others,
					     prediction_mean(&prediction, i));
			else
				for (size_t s = 0; s < PREDICT_RUNS; s++)
					ret_forecast->own[s] =
						prediction
							.slowdown[i * PREDICT_RUNS + s];
		ret_forecast->is_known = true;
		prediction_fini(&prediction);
	}
	free(jobs);
	component_fini(&component);
}

static void
forecast(const struct advisor *advisor, uint32_t job, const uint32_t *hosts,
	 struct forecast *ret_forecast)
{
	*ret_forecast = (struct forecast){ .score = 1 };
	if (place_put(advisor->place, job, hosts) < 0)
		return;
	forecast_here(advisor, job, ret_forecast);
	place_remove(advisor->place, job);
}

static double
mean_own(const struct forecast *f)
{
	double sum = 0;

	for (size_t s = 0; s < PREDICT_RUNS; s++)
		sum += f->own[s];
	return sum / PREDICT_RUNS;
}

/* ---- The ranking ----------------------------------------------------------------- */

static enum reason
reason_of(const struct advisor_place *item, bool packed_is_contended)
{
	if (item->n_contended == 0)
		return packed_is_contended ? REASON_PLACED_APART : REASON_ISOLATED;
	/* Decides by the remaining excess at random phases. */
	return item->score > 1 - ADVISE_NO_EXCESS_FRAC ? REASON_FITS : REASON_NO_ROOM;
}

static void
fill_gain(struct advisor_ranking *ranking, const struct forecast *packed,
	  const struct forecast *best)
{
	if (!packed->is_known || !best->is_known)
		return;
	ranking->gain_low = HUGE_VAL;
	ranking->gain_high = -HUGE_VAL;
	for (size_t s = 0; s < PREDICT_RUNS; s++) {
		double gain = 1 - best->own[s] / packed->own[s];

		ranking->gain_low = fmin(ranking->gain_low, gain);
		ranking->gain_high = fmax(ranking->gain_high, gain);
	}
}

static void
predict_first(const struct advisor *advisor, uint32_t job, const uint32_t *packed_hosts,
	      struct advisor_ranking *ranking)
{
	struct forecast packed = { 0 }, best = { 0 };
	bool packed_is_contended = false;

	if (packed_hosts) {
		struct place_candidate rated;

		forecast(advisor, job, packed_hosts, &packed);
		place_rate(advisor->place, job, packed_hosts, &rated);
		ranking->packed_loss = rated.loss;
		packed_is_contended = rated.n_contended > 0;
		free(rated.hosts);
	}
	for (size_t i = 0; i < ranking->n; i++) {
		struct advisor_place *item = &ranking->items[i];
		struct forecast f = { .score = 1 };

		if (i < N_PREDICTED)
			forecast(advisor, job, item->hosts, &f);
		item->score = f.score;
		if (f.is_known) {
			item->slowdown = mean_own(&f);
			item->slowdown_others = f.others;
		}
		if (i == 0)
			best = f;
		item->reason = reason_of(item, packed_is_contended);
	}
	fill_gain(ranking, &packed, &best);
}

static int
rank_places(const struct advisor *advisor, uint32_t job,
	    struct advisor_ranking *ret_ranking)
{
	uint32_t n_hosts = advisor->workload.jobs[job].n_hosts_wanted;
	uint32_t *packed = xcalloc(n_hosts, sizeof *packed);
	size_t n_max = advisor->opts.n_candidates ? advisor->opts.n_candidates
						  : DEFAULT_CANDIDATES;
	size_t n_tries = SEARCH_FLOWS / n_hosts;
	struct advisor_ranking ranking = { .packed_loss = NAN };
	struct place_candidates candidates;
	bool is_packed;
	int rc;

	n_tries = n_tries > MAX_TRIES ? MAX_TRIES : n_tries;
	n_tries = n_tries < MIN_TRIES ? MIN_TRIES : n_tries;
	rc = place_search(advisor->place, job, advisor->opts.seed, n_tries, n_max,
			  &candidates);
	if (rc < 0) {
		free(packed);
		return rc;
	}
	is_packed = place_pack(advisor->place, job, packed) == 0;
	ranking.items = xcalloc(candidates.n + 1, sizeof *ranking.items);
	ranking.n = candidates.n;
	for (size_t i = 0; i < candidates.n; i++) {
		struct place_candidate *from = &candidates.items[i];

		ranking.items[i] = (struct advisor_place){
			.hosts = from->hosts,
			.loss = from->loss,
			.n_contended = from->n_contended,
			.n_leaves = from->n_leaves,
		};
		from->hosts = NULL;
	}
	place_candidates_fini(&candidates);
	predict_first(advisor, job, is_packed ? packed : NULL, &ranking);
	free(packed);
	*ret_ranking = ranking;
	return 0;
}

int
advisor_rank(const struct advisor *advisor, uint32_t job, const bool *allowed,
	     struct advisor_ranking *ret_ranking)
{
	int64_t *were;
	int rc;

	if (job >= advisor->jobs.n || !advisor->jobs.items[job]->name ||
	    place_routed_job(advisor->place, job))
		return -ENOENT;
	were = set_free_slots(advisor, allowed);
	rc = rank_places(advisor, job, ret_ranking);
	reset_free_slots(advisor, were);
	return rc;
}
