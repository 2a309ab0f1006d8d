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
#include "scheduler/core/advisor/advisor_priv.h"
#include "topology/topo.h"

#define DEFAULT_CANDIDATES 20

/* Moves of the search, counted in routed flows: 50 ms with 10,000 jobs. */
#define SEARCH_FLOWS 4000
/* A routed flow takes so many times longer if its path is chosen among eight. */
#define CHOICE_COST 3
#define MIN_TRIES   10
#define MAX_TRIES   200

/* Places that are predicted. */
#define N_PREDICTED 3

void
advisor_ranking_fini(struct advisor_ranking *ranking)
{
	for (size_t i = 0; i < ranking->n; i++)
		free(ranking->items[i].hosts);
	free(ranking->items);
	*ranking = (struct advisor_ranking){ 0 };
}

/* ---- Free slots ------------------------------------------------------------------ */

int64_t *
advisor_set_slots(const struct advisor *advisor, const bool *allowed)
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

void
advisor_reset_slots(const struct advisor *advisor, int64_t *were)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(advisor->topo, &n);

	for (size_t i = 0; i < n; i++)
		place_set_free_slots(advisor->place, hosts[i], were[i]);
	free(were);
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
	for (size_t s = 0; s < FORECAST_RUNS; s++) {
		double gain = 1 - best->own[s] / packed->own[s];

		ranking->gain_low = fmin(ranking->gain_low, gain);
		ranking->gain_high = fmax(ranking->gain_high, gain);
	}
}

static void
forecast_at(const struct advisor *advisor, uint32_t job, const uint32_t *hosts,
	    struct forecast *ret_forecast)
{
	*ret_forecast = (struct forecast){ .score = 1 };
	if (place_put(advisor->place, job, hosts) < 0)
		return;
	advisor_forecast(advisor, job, true, ret_forecast);
	place_remove(advisor->place, job);
}

static void
predict_first(const struct advisor *advisor, uint32_t job, const uint32_t *packed_hosts,
	      struct advisor_ranking *ranking)
{
	struct forecast packed = { 0 }, best = { 0 };
	bool packed_is_contended = false;

	if (packed_hosts) {
		struct place_candidate rated;

		forecast_at(advisor, job, packed_hosts, &packed);
		place_rate(advisor->place, job, packed_hosts, &rated);
		ranking->packed_loss = rated.loss;
		packed_is_contended = rated.n_contended > 0;
		free(rated.hosts);
	}
	for (size_t i = 0; i < ranking->n; i++) {
		struct advisor_place *item = &ranking->items[i];
		struct forecast f = { .score = 1 };

		if (i < N_PREDICTED)
			forecast_at(advisor, job, item->hosts, &f);
		item->score = f.score;
		if (f.is_known) {
			item->slowdown = forecast_mean(&f);
			item->slowdown_others = f.others;
		}
		if (i == 0)
			best = f;
		item->reason = reason_of(item, packed_is_contended);
	}
	fill_gain(ranking, &packed, &best);
}

/* The packed place alone, for an advisor that does not choose places. */
static int
rate_packed(const struct advisor *advisor, uint32_t job,
	    struct place_candidates *ret_candidates)
{
	uint32_t n_hosts = advisor->workload.jobs[job].n_hosts_wanted;
	uint32_t *packed = xcalloc(n_hosts, sizeof *packed);
	int rc = place_pack(advisor->place, job, packed);

	if (rc == 0) {
		ret_candidates->items = xcalloc(1, sizeof *ret_candidates->items);
		ret_candidates->n = 1;
		place_rate(advisor->place, job, packed, &ret_candidates->items[0]);
	}
	free(packed);
	return rc;
}

static int
find_candidates(const struct advisor *advisor, uint32_t job,
		struct place_candidates *ret_candidates)
{
	size_t n_max = advisor->opts.n_candidates ? advisor->opts.n_candidates
						  : DEFAULT_CANDIDATES;
	size_t n_flows = advisor->workload.jobs[job].n_hosts_wanted, n_tries;

	if (!(advisor->opts.levers & ADVISE_PLACE))
		return rate_packed(advisor, job, ret_candidates);
	n_tries =
		SEARCH_FLOWS / (advisor->is_choosing ? CHOICE_COST * n_flows : n_flows);
	n_tries = n_tries > MAX_TRIES ? MAX_TRIES : n_tries;
	n_tries = n_tries < MIN_TRIES ? MIN_TRIES : n_tries;
	return place_search(advisor->place, job, advisor->opts.seed, n_tries, n_max,
			    ret_candidates);
}

static int
rank_places(const struct advisor *advisor, uint32_t job,
	    struct advisor_ranking *ret_ranking)
{
	uint32_t n_hosts = advisor->workload.jobs[job].n_hosts_wanted;
	uint32_t *packed = xcalloc(n_hosts, sizeof *packed);
	struct advisor_ranking ranking = { .packed_loss = NAN };
	struct place_candidates candidates;
	bool is_packed;
	int rc = find_candidates(advisor, job, &candidates);

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
	were = advisor_set_slots(advisor, allowed);
	rc = rank_places(advisor, job, ret_ranking);
	advisor_reset_slots(advisor, were);
	return rc;
}
