/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_search.c - candidates for a waiting job by local search.  Declared in
 * place.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/place_internal.h"
#include "scheduler/core/paths/link_loads.h"
#include "topology/topo.h"

/* ---- Rating ---------------------------------------------------------------------- */

/* One search, with scratch space for rating. */
struct search {
	const struct place *place;
	uint32_t job, n_hosts;
	struct rng rng;
	double *worst;    /* Owned.  By job: its largest e_l with the new job. */
	bool *is_touched; /* Owned.  By job. */
	VEC(uint32_t) touched;
	uint32_t *by_leaf; /* Owned.  Scratch, n_hosts. */
	VEC(struct place_candidate) pool;
	size_t n_max;
};

static void
search_init(struct search *search, const struct place *place, uint32_t job,
	    uint64_t seed)
{
	size_t n_jobs = place->workload->n;

	*search = (struct search){
		.place = place,
		.job = job,
		.n_hosts = place->workload->jobs[job].n_hosts_wanted,
	};
	rng_init_stream(&search->rng, seed, job);
	search->worst = xcalloc(n_jobs + 1, sizeof *search->worst);
	search->is_touched = xcalloc(n_jobs + 1, sizeof *search->is_touched);
	search->by_leaf = xcalloc((size_t)search->n_hosts + 1, sizeof(uint32_t));
}

static void
search_fini(struct search *search)
{
	free(search->worst);
	free(search->is_touched);
	free(search->by_leaf);
	vec_free(&search->touched);
	for (size_t i = 0; i < search->pool.n; i++)
		free(search->pool.items[i].hosts);
	vec_free(&search->pool);
}

static uint32_t
count_leaves(struct search *search, const uint32_t *hosts)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < search->n_hosts; i++)
		search->by_leaf[i] = search->place->leaf_group[hosts[i]];
	sort_items(search->by_leaf, search->n_hosts, sort_by_u32);
	for (uint32_t i = 0; i < search->n_hosts; i++)
		n += i == 0 || search->by_leaf[i] != search->by_leaf[i - 1];
	return n;
}

/* Includes the cost of one link in the worst cost of its jobs. */
static void
touch(struct search *search, uint32_t link, double cost)
{
	size_t n;
	const struct link_load *loads = link_loads_of(search->place->loads, link, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t other = loads[i].job;

		if (other == search->job)
			continue;
		if (!search->is_touched[other]) {
			search->is_touched[other] = true;
			search->worst[other] = search->place->jobs[other].worst;
			vec_push(&search->touched, other);
		}
		if (cost > search->worst[other])
			search->worst[other] = cost;
	}
}

/* The goodput lost by the affected jobs and the new one. */
static double
take_loss(struct search *search, double own_worst)
{
	const struct place *place = search->place;
	const struct work_job *jobs = place->workload->jobs;
	double loss = jobs[search->job].weight * (1 - 1 / (1 + own_worst));

	for (size_t i = 0; i < search->touched.n; i++) {
		uint32_t other = search->touched.items[i];

		loss += jobs[other].weight * (1 / (1 + place->jobs[other].worst) -
					      1 / (1 + search->worst[other]));
		search->is_touched[other] = false;
	}
	search->touched.n = 0;
	return loss;
}

/* Fills all but the hosts.  Returns 0 or -EHOSTUNREACH. */
static int
rate(struct search *search, const uint32_t *hosts,
     struct place_candidate *ret_candidate)
{
	const struct place *place = search->place;
	struct routed_job routed = { 0 };
	double own_worst = 0;
	int r = place_route(place, search->job, hosts, &routed);

	if (r < 0)
		return r;
	ret_candidate->n_contended = 0;
	for (size_t i = 0; i < routed.footprint.n; i++) {
		uint32_t link = routed.footprint.entries[i].link;
		double cost = link_loads_cost(place->loads, link);
		size_t n;

		(void)link_loads_of(place->loads, link, &n);
		ret_candidate->n_contended +=
			n > 1 && link_loads_is_exceedable(place->loads, link);
		if (cost > 0)
			touch(search, link, cost);
		own_worst = fmax(own_worst, cost);
	}
	place_unroute(place, search->job, &routed);
	routed_job_fini(&routed);
	ret_candidate->loss = take_loss(search, own_worst);
	ret_candidate->n_leaves = count_leaves(search, hosts);
	return 0;
}

void
place_rate(const struct place *place, uint32_t job, const uint32_t *hosts,
	   struct place_candidate *ret_candidate)
{
	struct search search;

	search_init(&search, place, job, 0);
	*ret_candidate = (struct place_candidate){ .loss = HUGE_VAL };
	(void)rate(&search, hosts, ret_candidate);
	ret_candidate->hosts = xmemdup(hosts, search.n_hosts, sizeof *hosts);
	sort_items(ret_candidate->hosts, search.n_hosts, sort_by_u32);
	search_fini(&search);
}

/* Below 0 if 'a' is better; host ids decide last. */
static int
compare_rating(const struct place_candidate *a, const struct place_candidate *b)
{
	double tie = PLACE_LOSS_TIE * (1 + fabs(a->loss));

	if (fabs(a->loss - b->loss) > tie)
		return a->loss < b->loss ? -1 : 1;
	if (a->n_contended != b->n_contended)
		return a->n_contended < b->n_contended ? -1 : 1;
	if (a->n_leaves != b->n_leaves)
		return a->n_leaves < b->n_leaves ? -1 : 1;
	return 0;
}

/* ---- The pool of the best so far ------------------------------------------------ */

/* Inserts a copy in order, unless it is present or too bad for the pool. */
static void
keep(struct search *search, const struct place_candidate *candidate)
{
	size_t bytes = search->n_hosts * sizeof(uint32_t), at = search->pool.n;
	struct place_candidate copy = *candidate;

	for (size_t i = 0; i < search->pool.n; i++) {
		if (memcmp(search->pool.items[i].hosts, candidate->hosts, bytes) == 0)
			return;
		if (at == search->pool.n &&
		    compare_rating(candidate, &search->pool.items[i]) < 0)
			at = i;
	}
	if (at >= search->n_max)
		return;
	if (search->pool.n == search->n_max)
		free(search->pool.items[--search->pool.n].hosts);
	copy.hosts = xmemdup(candidate->hosts, search->n_hosts, sizeof(uint32_t));
	vec_push(&search->pool, copy);
	for (size_t i = search->pool.n - 1; i > at; i--) {
		search->pool.items[i] = search->pool.items[i - 1];
		search->pool.items[i - 1] = copy;
	}
}

/* ---- Moves ----------------------------------------------------------------------- */

static bool
holds(const struct search *search, const uint32_t *hosts, uint32_t host)
{
	for (uint32_t i = 0; i < search->n_hosts; i++)
		if (hosts[i] == host)
			return true;
	return false;
}

/* A host of leaf group 'group' with room for one more worker, or TOPO_NONE. */
static uint32_t
free_host_in(struct search *search, uint32_t group, const uint32_t *hosts)
{
	const struct place_level *leaf = &search->place->levels[0];
	uint32_t size = leaf->first[group + 1] - leaf->first[group];
	uint32_t start = (uint32_t)rng_below(&search->rng, size);

	for (uint32_t i = 0; i < size; i++) {
		uint32_t host =
			search->place->order[leaf->first[group] + (start + i) % size];

		if (place_has_room(search->place, search->job, host) &&
		    !holds(search, hosts, host))
			return host;
	}
	return TOPO_NONE;
}

/* Moves one worker to a leaf that the job uses already, or to any host. */
static bool
move_worker(struct search *search, uint32_t *hosts)
{
	uint32_t moved = (uint32_t)rng_below(&search->rng, search->n_hosts);
	uint32_t to;

	if (rng_below(&search->rng, 2) == 0) {
		uint32_t friend = (uint32_t)rng_below(&search->rng, search->n_hosts);

		to = free_host_in(search, search->place->leaf_group[hosts[friend]],
				  hosts);
		if (to == TOPO_NONE)
			return false;
		hosts[moved] = to;
		return true;
	}
	for (int try = 0; try < PLACE_TRIES_HOST; try++) {
		to = search->place
			     ->order[rng_below(&search->rng, search->place->n_hosts)];
		if (place_has_room(search->place, search->job, to) &&
		    !holds(search, hosts, to)) {
			hosts[moved] = to;
			return true;
		}
	}
	return false;
}

/* Moves all workers of one leaf to another leaf with room for them. */
static bool
move_block(struct search *search, uint32_t *hosts)
{
	const struct place *place = search->place;
	uint32_t from =
		place->leaf_group[hosts[rng_below(&search->rng, search->n_hosts)]];
	uint32_t to = (uint32_t)rng_below(&search->rng, place->levels[0].n_groups);

	if (to == from)
		return false;
	for (uint32_t i = 0; i < search->n_hosts; i++) {
		uint32_t host;

		if (place->leaf_group[hosts[i]] != from)
			continue;
		host = free_host_in(search, to, hosts);
		if (host == TOPO_NONE)
			return false;
		hosts[i] = host;
	}
	return true;
}

/* Descends from 'from'; moves to equivalent places are also made. */
static void
descend(struct search *search, const struct place_candidate *from, size_t n_tries)
{
	size_t bytes = search->n_hosts * sizeof(uint32_t);
	struct place_candidate now = *from, next;

	now.hosts = xmemdup(from->hosts, search->n_hosts, sizeof(uint32_t));
	next.hosts = xcalloc(search->n_hosts, sizeof(uint32_t));
	while (n_tries-- > 0) {
		bool moved;

		memcpy(next.hosts, now.hosts, bytes);
		moved = rng_below(&search->rng, 3) ? move_worker(search, next.hosts)
						   : move_block(search, next.hosts);
		if (!moved)
			continue;
		sort_items(next.hosts, search->n_hosts, sort_by_u32);
		if (rate(search, next.hosts, &next) < 0)
			continue;
		keep(search, &next);
		if (compare_rating(&next, &now) <= 0) {
			struct place_candidate swap = now;

			now = next;
			next = swap;
		}
	}
	free(now.hosts);
	free(next.hosts);
}

/* ---- The search ------------------------------------------------------------------ */

static int
add_packing(struct search *search, bool is_varied)
{
	struct place_candidate candidate = { 0 };
	int r;

	candidate.hosts = xcalloc((size_t)search->n_hosts + 1, sizeof(uint32_t));
	r = is_varied ? place_pack_varied(search->place, search->job, &search->rng,
					  candidate.hosts)
		      : place_pack(search->place, search->job, candidate.hosts);
	if (r == 0)
		r = rate(search, candidate.hosts, &candidate);
	if (r == 0)
		keep(search, &candidate);
	free(candidate.hosts);
	return r;
}

int
place_search(const struct place *place, uint32_t job, uint64_t seed, size_t n_tries,
	     size_t n_max, struct place_candidates *ret_candidates)
{
	struct search search;
	int r;

	search_init(&search, place, job, seed);
	search.n_max = n_max ? n_max : 1;
	r = add_packing(&search, false);
	/* No place is better than a packed one without loss. */
	if (r == 0 && search.pool.items[0].loss > PLACE_LOSS_TIE &&
	    search.n_hosts > 1) {
		for (int i = 0; i < PLACE_STARTS; i++)
			(void)add_packing(&search, true);
		for (int half = 0; half < 2; half++) {
			struct place_candidate best = search.pool.items[0];

			best.hosts =
				xmemdup(best.hosts, search.n_hosts, sizeof(uint32_t));
			descend(&search, &best, n_tries / 2);
			free(best.hosts);
			if (search.pool.items[0].loss <= PLACE_LOSS_TIE)
				break;
		}
	}
	if (r == 0) {
		ret_candidates->n = search.pool.n;
		ret_candidates->items = search.pool.items;
		search.pool.items = NULL;
		search.pool.n = 0;
	}
	search_fini(&search);
	return r;
}

void
place_candidates_fini(struct place_candidates *candidates)
{
	for (size_t i = 0; i < candidates->n; i++)
		free(candidates->items[i].hosts);
	free(candidates->items);
	*candidates = (struct place_candidates){ 0 };
}
