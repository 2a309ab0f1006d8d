/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/place.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/place_internal.h"
#include "scheduler/core/solve/pair.h"
#include "topology/topo.h"

struct place *
place_new(struct topo *topo, struct routes *routes, const struct workload *workload)
{
	struct place *place = xcalloc(1, sizeof *place);
	uint32_t n_nodes = topo_n_nodes(topo);

	place->topo = topo;
	place->routes = routes;
	place->workload = workload;
	place->free_slots = xcalloc(n_nodes + 1, sizeof *place->free_slots);
	place->n_guests = xcalloc(n_nodes + 1, sizeof *place->n_guests);
	for (uint32_t i = 0; i < n_nodes; i++)
		place->free_slots[i] = topo_node(topo, i)->n_slots;
	place->links = xcalloc(topo_n_links(topo) + 1, sizeof *place->links);
	place->n_jobs = workload->n;
	place->jobs = xcalloc(workload->n + 1, sizeof *place->jobs);
	for (uint32_t j = 0; j < workload->n; j++)
		place_renew(place, j);
	place_groups_init(place);
	return place;
}

void
place_free(struct place *place)
{
	if (!place)
		return;
	for (uint32_t l = 0; l < topo_n_links(place->topo); l++) {
		vec_free(&place->links[l].loads);
		random_phase_fini(&place->links[l].phases);
	}
	for (size_t j = 0; j < place->n_jobs; j++) {
		free(place->jobs[j].hosts);
		routed_job_fini(&place->jobs[j].routed);
	}
	place_groups_fini(place);
	free(place->free_slots);
	free(place->n_guests);
	free(place->links);
	free(place->jobs);
	free(place);
}

/* ---- Cost of a link -------------------------------------------------------------- */

/* e_l from its parts.  'gain_bps' is the most that shifts can remove from 'mu_bps'. */
static double
link_cost(double load_bps, double mu_bps, double gain_bps, double capacity_bps)
{
	double least_bps = load_bps - capacity_bps;

	if (mu_bps - gain_bps > least_bps)
		least_bps = mu_bps - gain_bps;
	if (least_bps < 0)
		least_bps = 0;
	return (least_bps + PLACE_RESIDUE_FRAC * mu_bps) / capacity_bps;
}

static double
shift_bound_bps(const struct place *place, const struct place_load *a,
		const struct place_load *b)
{
	const struct work_job *jobs = place->workload->jobs;

	return pair_gain_bound_bps(
		&(struct pair_job){ &jobs[a->job].profile, a->factor },
		&(struct pair_job){ &jobs[b->job].profile, b->factor });
}

static double
place_link_now(const struct place *place, uint32_t link)
{
	const struct place_link *l = &place->links[link];
	double gain_bps = 0;

	if (!place_is_exceedable(place, link))
		return 0;
	/* Each job but the first is shifted against those before it. */
	for (size_t i = 1; i < l->loads.n; i++) {
		double best_bps = 0;

		for (size_t k = 0; k < i; k++)
			best_bps += shift_bound_bps(place, &l->loads.items[i],
						    &l->loads.items[k]);
		gain_bps += best_bps;
	}
	return link_cost(l->mean_bps, random_phase_excess_bps(&l->phases), gain_bps,
			 l->phases.capacity_bps);
}

double
place_link_with(const struct place *place, uint32_t link, uint32_t job, double factor,
		bool *ret_exceedable)
{
	const struct place_link *l = &place->links[link];
	const struct place_job *new = &place->jobs[job];
	const struct profile *profile = &place->workload->jobs[job].profile;
	struct place_load load = { job, factor };
	double capacity_bps = topo_link(place->topo, link)->capacity_bps;
	double gain_bps = 0, mu_bps;

	*ret_exceedable = false;
	if (l->peak_bps + factor * new->peak_bps <= PLACE_FULL_FRAC * capacity_bps)
		return 0;
	if (l->loads.n == 0) {
		/* Its own flows collide, which no shift can change. */
		struct random_phase alone;

		random_phase_init(&alone, capacity_bps);
		mu_bps = random_phase_excess_with_bps(&alone, profile, factor);
		random_phase_fini(&alone);
		return link_cost(factor * new->mean_bps, mu_bps, 0, capacity_bps);
	}
	*ret_exceedable = true;
	mu_bps = random_phase_excess_with_bps(&l->phases, profile, factor);
	for (size_t i = 0; i < l->loads.n; i++)
		gain_bps += shift_bound_bps(place, &load, &l->loads.items[i]);
	return link_cost(l->mean_bps + factor * new->mean_bps, mu_bps, gain_bps,
			 capacity_bps);
}

void
place_renew(struct place *place, uint32_t job)
{
	const struct profile *profile = &place->workload->jobs[job].profile;

	if (job >= place->n_jobs) {
		size_t n = place->n_jobs * 2 + 8;

		n = n > job ? n : (size_t)job + 1;
		place->jobs = xreallocarray(place->jobs, n, sizeof *place->jobs);
		for (size_t j = place->n_jobs; j < n; j++)
			place->jobs[j] = (struct place_job){ 0 };
		place->n_jobs = n;
	}
	BUG_ON(place->jobs[job].is_put);
	place->jobs[job].mean_bps = profile_mean_bps(profile);
	place->jobs[job].peak_bps = profile_peak_bps(profile);
}

/* ---- Putting and removing ------------------------------------------------------- */

static void
refresh_worst(struct place *place, uint32_t job)
{
	struct place_job *pj = &place->jobs[job];

	pj->worst = 0;
	for (size_t i = 0; i < pj->routed.footprint.n; i++) {
		double cost =
			place_link_now(place, pj->routed.footprint.entries[i].link);

		if (cost > pj->worst)
			pj->worst = cost;
	}
}

/* Updates the jobs on the links of 'job', itself included if it is placed. */
static void
refresh_neighbors(struct place *place, const struct footprint *footprint)
{
	bool *is_done = xcalloc(place->workload->n + 1, sizeof *is_done);

	for (size_t i = 0; i < footprint->n; i++) {
		const struct place_link *l = &place->links[footprint->entries[i].link];

		for (size_t k = 0; k < l->loads.n; k++) {
			if (!is_done[l->loads.items[k].job])
				refresh_worst(place, l->loads.items[k].job);
			is_done[l->loads.items[k].job] = true;
		}
	}
	free(is_done);
}

static void
load_link(struct place *place, uint32_t link, uint32_t job, double factor)
{
	struct place_link *l = &place->links[link];

	if (l->loads.n == 0)
		random_phase_init(&l->phases,
				  topo_link(place->topo, link)->capacity_bps);
	vec_push(&l->loads, ((struct place_load){ job, factor }));
	random_phase_add(&l->phases, &place->workload->jobs[job].profile, factor);
	l->mean_bps += factor * place->jobs[job].mean_bps;
	l->peak_bps += factor * place->jobs[job].peak_bps;
}

/* Recomputes sums instead of subtracting, so that they stay exact. */
static void
unload_link(struct place *place, uint32_t link, uint32_t job)
{
	struct place_link old = place->links[link];

	random_phase_fini(&old.phases);
	place->links[link] = (struct place_link){ 0 };
	for (size_t i = 0; i < old.loads.n; i++)
		if (old.loads.items[i].job != job)
			load_link(place, link, old.loads.items[i].job,
				  old.loads.items[i].factor);
	vec_free(&old.loads);
}

int
place_put(struct place *place, uint32_t job, const uint32_t *hosts)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct place_job *pj = &place->jobs[job];
	int r;

	BUG_ON(pj->is_put);
	r = routed_job_make(wj, hosts, place->topo, place->routes, &pj->routed);
	if (r < 0)
		return r;
	pj->is_put = true;
	pj->hosts = xmemdup(hosts, wj->n_hosts_wanted, sizeof *hosts);
	sort_items(pj->hosts, wj->n_hosts_wanted, sort_by_u32);
	for (uint32_t i = 0; i < wj->n_hosts_wanted; i++) {
		place->free_slots[hosts[i]] -= wj->slots_per_host;
		place->n_guests[hosts[i]]++;
	}
	for (size_t i = 0; i < pj->routed.footprint.n; i++)
		load_link(place, pj->routed.footprint.entries[i].link, job,
			  pj->routed.footprint.entries[i].factor);
	refresh_neighbors(place, &pj->routed.footprint);
	return 0;
}

void
place_remove(struct place *place, uint32_t job)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct place_job *pj = &place->jobs[job];

	BUG_ON(!pj->is_put);
	for (uint32_t i = 0; i < wj->n_hosts_wanted; i++) {
		place->free_slots[pj->hosts[i]] += wj->slots_per_host;
		place->n_guests[pj->hosts[i]]--;
	}
	for (size_t i = 0; i < pj->routed.footprint.n; i++)
		unload_link(place, pj->routed.footprint.entries[i].link, job);
	refresh_neighbors(place, &pj->routed.footprint);
	routed_job_fini(&pj->routed);
	free(pj->hosts);
	pj->hosts = NULL;
	pj->worst = 0;
	pj->is_put = false;
}

int64_t
place_free_slots(const struct place *place, uint32_t host)
{
	return place->free_slots[host];
}

void
place_set_free_slots(struct place *place, uint32_t host, int64_t n_slots)
{
	place->free_slots[host] = n_slots;
}

/* ---- Queries --------------------------------------------------------------------- */

const uint32_t *
place_hosts(const struct place *place, uint32_t job)
{
	return place->jobs[job].hosts;
}

const struct routed_job *
place_routed_job(const struct place *place, uint32_t job)
{
	return place->jobs[job].is_put ? &place->jobs[job].routed : NULL;
}

const struct place_load *
place_loads(const struct place *place, uint32_t link, size_t *ret_n)
{
	*ret_n = place->links[link].loads.n;
	return place->links[link].loads.items;
}

bool
place_is_exceedable(const struct place *place, uint32_t link)
{
	const struct place_link *l = &place->links[link];

	return l->loads.n > 0 && l->peak_bps > PLACE_FULL_FRAC * l->phases.capacity_bps;
}

double
place_excess_bps(const struct place *place, uint32_t link)
{
	const struct place_link *l = &place->links[link];

	return l->loads.n > 0 ? random_phase_excess_bps(&l->phases) : 0;
}
