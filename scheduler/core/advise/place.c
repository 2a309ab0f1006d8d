/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/place.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/place_internal.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/paths.h"
#include "topology/topo.h"

struct place *
place_new(struct topo *topo, struct routes *routes, const struct workload *workload,
	  enum place_paths paths)
{
	struct place *place = xcalloc(1, sizeof *place);
	uint32_t n_nodes = topo_n_nodes(topo);

	place->topo = topo;
	place->routes = routes;
	place->workload = workload;
	place->paths = paths;
	place->free_slots = xcalloc(n_nodes + 1, sizeof *place->free_slots);
	place->n_guests = xcalloc(n_nodes + 1, sizeof *place->n_guests);
	for (uint32_t i = 0; i < n_nodes; i++)
		place->free_slots[i] = topo_node(topo, i)->n_slots;
	place->loads = link_loads_new(topo);
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
	for (size_t j = 0; j < place->n_jobs; j++) {
		free(place->jobs[j].hosts);
		routed_job_fini(&place->jobs[j].routed);
	}
	place_groups_fini(place);
	free(place->free_slots);
	free(place->n_guests);
	link_loads_free(place->loads);
	free(place->jobs);
	free(place);
}

void
place_renew(struct place *place, uint32_t job)
{
	const struct work_job *wj = &place->workload->jobs[job];

	if (job >= place->n_jobs) {
		size_t n = place->n_jobs * 2 + 8;

		n = n > job ? n : (size_t)job + 1;
		place->jobs = xreallocarray(place->jobs, n, sizeof *place->jobs);
		for (size_t j = place->n_jobs; j < n; j++)
			place->jobs[j] = (struct place_job){ 0 };
		place->n_jobs = n;
	}
	BUG_ON(place->jobs[job].is_put);
	place->jobs[job].paths = place->paths;
	link_loads_set_job(place->loads, job, &wj->profile, wj->weight);
}

void
place_set_paths(struct place *place, uint32_t job, enum place_paths paths)
{
	place->jobs[job].paths = paths;
}

/* ---- Putting and removing ------------------------------------------------------- */

static void
refresh_worst(struct place *place, uint32_t job)
{
	struct place_job *pj = &place->jobs[job];

	pj->worst = 0;
	for (size_t i = 0; i < pj->routed.footprint.n; i++) {
		double cost = link_loads_cost(place->loads,
					      pj->routed.footprint.entries[i].link);

		if (cost > pj->worst)
			pj->worst = cost;
	}
}

void
place_set_shifting(struct place *place, bool is_shifting)
{
	link_loads_set_shifting(place->loads, is_shifting);
	for (uint32_t j = 0; j < place->workload->n; j++)
		if (place->jobs[j].is_put)
			refresh_worst(place, j);
}

/* Updates the jobs on the links of 'job', itself included if it is placed. */
static void
refresh_neighbors(struct place *place, const struct footprint *footprint)
{
	bool *is_done = xcalloc(place->workload->n + 1, sizeof *is_done);

	for (size_t i = 0; i < footprint->n; i++) {
		size_t n;
		const struct link_load *loads =
			link_loads_of(place->loads, footprint->entries[i].link, &n);

		for (size_t k = 0; k < n; k++) {
			if (!is_done[loads[k].job])
				refresh_worst(place, loads[k].job);
			is_done[loads[k].job] = true;
		}
	}
	free(is_done);
}

static struct paths_job
paths_job_of(const struct place *place, uint32_t job, struct routed_job *routed)
{
	const struct work_job *wj = &place->workload->jobs[job];
	bool is_hashed = place->jobs[job].paths == PLACE_HASHED;

	return (struct paths_job){ .job = job,
				   .first_port = wj->first_port,
				   .is_fixed = wj->paths || is_hashed,
				   .weight = wj->weight,
				   .routed = routed };
}

int
place_route(const struct place *place, uint32_t job, const uint32_t *hosts,
	    struct routed_job *ret_routed)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct paths_job pj = paths_job_of(place, job, ret_routed);
	int r = routed_job_make(wj, hosts, place->topo, place->routes, ret_routed);

	if (r < 0)
		return r;
	if (pj.is_fixed) {
		paths_load(place->loads, &pj);
		return 0;
	}
	r = paths_choose(place->loads, place->topo, place->routes, &pj, job);
	if (r < 0)
		routed_job_fini(ret_routed);
	return r;
}

void
place_unroute(const struct place *place, uint32_t job, struct routed_job *routed)
{
	struct paths_job pj = paths_job_of(place, job, routed);

	paths_unload(place->loads, &pj);
}

/* Takes the hosts that 'pj' has; it is on its links already. */
static void
occupy(struct place *place, uint32_t job)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct place_job *pj = &place->jobs[job];

	pj->is_put = true;
	for (uint32_t i = 0; i < wj->n_hosts_wanted; i++) {
		place->free_slots[pj->hosts[i]] -= wj->slots_per_host;
		place->n_guests[pj->hosts[i]]++;
	}
	refresh_neighbors(place, &pj->routed.footprint);
}

int
place_put(struct place *place, uint32_t job, const uint32_t *hosts)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct place_job *pj = &place->jobs[job];
	int r;

	BUG_ON(pj->is_put);
	r = place_route(place, job, hosts, &pj->routed);
	if (r < 0)
		return r;
	pj->hosts = xmemdup(hosts, wj->n_hosts_wanted, sizeof *hosts);
	sort_items(pj->hosts, wj->n_hosts_wanted, sort_by_u32);
	occupy(place, job);
	return 0;
}

int
place_put_as(struct place *place, uint32_t job, const struct place *from)
{
	const struct place_job *old = &from->jobs[job];
	struct work_job wj = place->workload->jobs[job];
	struct place_job *pj = &place->jobs[job];
	struct paths_job paths = paths_job_of(place, job, &pj->routed);
	int r;

	BUG_ON(pj->is_put || !old->is_put);
	wj.paths = old->routed.paths;
	wj.n_paths = wj.paths ? old->routed.flows.n : 0;
	r = routed_job_make(&wj, old->hosts, place->topo, place->routes, &pj->routed);
	if (r < 0)
		return r;
	paths_load(place->loads, &paths);
	pj->hosts = xmemdup(old->hosts, wj.n_hosts_wanted, sizeof *old->hosts);
	occupy(place, job);
	return 0;
}

struct place_lifted {
	uint32_t *hosts; /* Owned, as the next. */
	struct routed_job routed;
};

struct place_lifted *
place_lift(struct place *place, uint32_t job)
{
	const struct work_job *wj = &place->workload->jobs[job];
	struct place_lifted *lifted = xcalloc(1, sizeof *lifted);
	struct place_job *pj = &place->jobs[job];

	BUG_ON(!pj->is_put);
	for (uint32_t i = 0; i < wj->n_hosts_wanted; i++) {
		place->free_slots[pj->hosts[i]] += wj->slots_per_host;
		place->n_guests[pj->hosts[i]]--;
	}
	place_unroute(place, job, &pj->routed);
	refresh_neighbors(place, &pj->routed.footprint);
	lifted->hosts = pj->hosts;
	lifted->routed = pj->routed;
	*pj = (struct place_job){ .paths = pj->paths };
	return lifted;
}

void
place_return(struct place *place, uint32_t job, struct place_lifted *lifted)
{
	struct place_job *pj = &place->jobs[job];
	struct paths_job paths = paths_job_of(place, job, &pj->routed);

	BUG_ON(pj->is_put);
	pj->hosts = lifted->hosts;
	pj->routed = lifted->routed;
	paths_load(place->loads, &paths);
	occupy(place, job);
	free(lifted);
}

void
place_remove(struct place *place, uint32_t job)
{
	struct place_lifted *lifted = place_lift(place, job);

	free(lifted->hosts);
	routed_job_fini(&lifted->routed);
	free(lifted);
}

int
place_improve_paths(struct place *place, uint64_t seed)
{
	struct paths_opts opts = { .seed = seed, .n_redraws = PLACE_REDRAWS };
	struct paths_job *jobs = xcalloc(place->n_jobs + 1, sizeof *jobs);
	struct paths_counts counts;
	size_t n = 0;
	int r;

	for (uint32_t j = 0; j < place->workload->n; j++)
		if (place->jobs[j].is_put)
			jobs[n++] = paths_job_of(place, j, &place->jobs[j].routed);
	r = place->paths == PLACE_CHOSEN
		    ? paths_improve(place->loads, place->topo, place->routes, jobs, n,
				    &opts, &counts)
		    : 0;
	for (uint32_t j = 0; j < place->workload->n; j++)
		if (place->jobs[j].is_put)
			refresh_worst(place, j);
	free(jobs);
	return r;
}

int
place_change_paths(struct place *place, uint32_t job, const bool *is_flow_fixed,
		   const struct paths_opts *opts, struct paths_counts *ret_counts)
{
	struct routed_job *routed = &place->jobs[job].routed;
	struct paths_job pj = paths_job_of(place, job, routed);
	struct footprint old;
	int r;

	BUG_ON(!place->jobs[job].is_put);
	pj.is_fixed = false;
	pj.is_flow_fixed = is_flow_fixed;
	/* The improvement makes the footprint anew. */
	old = routed->footprint;
	routed->footprint = (struct footprint){ 0 };
	r = paths_improve(place->loads, place->topo, place->routes, &pj, 1, opts,
			  ret_counts);
	if (r < 0) {
		routed->footprint = old;
		return r;
	}
	refresh_neighbors(place, &old);
	refresh_neighbors(place, &routed->footprint);
	footprint_fini(&old);
	return 0;
}

void
place_set_weight(struct place *place, uint32_t job, double weight)
{
	struct place_lifted *lifted =
		place->jobs[job].is_put ? place_lift(place, job) : NULL;

	link_loads_set_job(place->loads, job, &place->workload->jobs[job].profile,
			   weight);
	if (lifted)
		place_return(place, job, lifted);
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

double
place_bound(const struct place *place, uint32_t job)
{
	return 1 + place->jobs[job].worst;
}

const struct link_loads *
place_link_loads(const struct place *place)
{
	return place->loads;
}
