/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_pack.c - the smallest group of hosts that has room.  Declared in
 * place.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "lib/base/unionfind.h"
#include "scheduler/core/advise/place_internal.h"
#include "topology/topo.h"

bool
place_has_room(const struct place *place, uint32_t job, uint32_t host)
{
	return place->free_slots[host] >=
	       (int64_t)place->workload->jobs[job].slots_per_host;
}

/* ---- Groups ---------------------------------------------------------------------- */

/* Joins nodes that links of at most 'tier' connect; smaller ids are roots. */
static void
join_tier(const struct topo *topo, uint32_t tier, uint32_t *parents)
{
	for (uint32_t l = 0; l < topo_n_links(topo); l++) {
		const struct topo_link *link = topo_link(topo, l);

		if (topo_node(topo, link->from)->tier <= tier &&
		    topo_node(topo, link->to)->tier <= tier)
			unionfind_join(parents, link->from, link->to);
	}
}

/* A host with its group at each level, the highest level first. */
struct keyed {
	uint32_t host;
	uint32_t n_levels;
	const uint32_t *roots; /* [level * n_nodes + node]. */
	uint32_t n_nodes;
};

static int
compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	for (uint32_t level = x->n_levels; level-- > 0;) {
		uint32_t rx = x->roots[(size_t)level * x->n_nodes + x->host];
		uint32_t ry = x->roots[(size_t)level * x->n_nodes + y->host];

		if (rx != ry)
			return rx < ry ? -1 : 1;
	}
	return x->host < y->host ? -1 : x->host > y->host;
}

/* Splits the ordered hosts into the groups of one level. */
static void
cut_level(struct place *place, struct place_level *level, const uint32_t *roots)
{
	level->first = xcalloc((size_t)place->n_hosts + 1, sizeof(uint32_t));
	level->first_child = xcalloc((size_t)place->n_hosts + 2, sizeof(uint32_t));
	for (uint32_t i = 0; i < place->n_hosts; i++)
		if (i == 0 || roots[place->order[i]] != roots[place->order[i - 1]])
			level->first[level->n_groups++] = i;
	level->first[level->n_groups] = place->n_hosts;
}

/* Finds the groups of the level below in each group. */
static void
link_levels(struct place_level *below, struct place_level *above)
{
	uint32_t g = 0;

	for (uint32_t child = 0; child < below->n_groups; child++) {
		while (above->first[g + 1] <= below->first[child])
			above->first_child[++g] = child;
	}
	while (g < above->n_groups)
		above->first_child[++g] = below->n_groups;
}

void
place_groups_init(struct place *place)
{
	const struct topo *topo = place->topo;
	uint32_t n_nodes = topo_n_nodes(topo), top = 1;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);
	uint32_t *roots;
	struct keyed *keyed = xcalloc(n_hosts + 1, sizeof *keyed);

	for (uint32_t i = 0; i < n_nodes; i++)
		if (topo_node(topo, i)->tier > top)
			top = topo_node(topo, i)->tier;
	/* One level per tier: unconnected hosts are never packed together. */
	place->n_levels = top;
	place->n_hosts = (uint32_t)n_hosts;
	roots = xcalloc((size_t)place->n_levels * n_nodes + 1, sizeof *roots);
	for (uint32_t level = 0; level < top; level++) {
		uint32_t *own = roots + (size_t)level * n_nodes;

		for (uint32_t i = 0; i < n_nodes; i++)
			own[i] = level ? own[(ptrdiff_t)i - (ptrdiff_t)n_nodes] : i;
		join_tier(topo, level + 1, own);
		for (uint32_t i = 0; i < n_nodes; i++)
			own[i] = unionfind_root(own, i);
	}
	for (size_t i = 0; i < n_hosts; i++)
		keyed[i] = (struct keyed){ hosts[i], place->n_levels, roots, n_nodes };
	sort_items(keyed, n_hosts, compare_keyed);
	place->order = xcalloc(n_hosts + 1, sizeof *place->order);
	for (size_t i = 0; i < n_hosts; i++)
		place->order[i] = keyed[i].host;
	place->levels = xcalloc(place->n_levels, sizeof *place->levels);
	place->leaf_group = xcalloc(n_nodes + 1, sizeof *place->leaf_group);
	for (uint32_t level = 0; level < place->n_levels; level++) {
		cut_level(place, &place->levels[level],
			  roots + (size_t)level * n_nodes);
		if (level > 0)
			link_levels(&place->levels[level - 1], &place->levels[level]);
	}
	for (uint32_t g = 0; g < place->levels[0].n_groups; g++)
		for (uint32_t i = place->levels[0].first[g];
		     i < place->levels[0].first[g + 1]; i++)
			place->leaf_group[place->order[i]] = g;
	free(keyed);
	free(roots);
}

void
place_groups_fini(struct place *place)
{
	for (uint32_t i = 0; i < place->n_levels; i++) {
		free(place->levels[i].first);
		free(place->levels[i].first_child);
	}
	free(place->levels);
	free(place->order);
	free(place->leaf_group);
}

/* ---- Packing --------------------------------------------------------------------- */

/* State of one packing. */
struct packing {
	const struct place *place;
	uint32_t job;
	struct rng *rng;   /* NULL: best fit, smallest id. */
	uint32_t **n_free; /* Owned.  Hosts with room: [level][group]. */
	uint32_t *hosts;   /* Borrowed: the result. */
	uint32_t n;
};

static void
packing_init(struct packing *packing)
{
	const struct place *place = packing->place;

	packing->n_free = xcalloc(place->n_levels, sizeof *packing->n_free);
	for (uint32_t level = 0; level < place->n_levels; level++) {
		const struct place_level *pl = &place->levels[level];

		packing->n_free[level] =
			xcalloc((size_t)pl->n_groups + 1, sizeof(uint32_t));
		for (uint32_t g = 0; g < pl->n_groups; g++) {
			for (uint32_t i = pl->first[g];
			     level == 0 && i < pl->first[g + 1]; i++)
				packing->n_free[0][g] += place_has_room(
					place, packing->job, place->order[i]);
			for (uint32_t c = pl->first_child[g];
			     level > 0 && c < pl->first_child[g + 1]; c++)
				packing->n_free[level][g] +=
					packing->n_free[level - 1][c];
		}
	}
}

static void
packing_fini(struct packing *packing)
{
	for (uint32_t level = 0; level < packing->place->n_levels; level++)
		free(packing->n_free[level]);
	free(packing->n_free);
}

/* Takes 'need' hosts of a smallest group: idle hosts first, then by id. */
static void
take_hosts(struct packing *packing, uint32_t group, uint32_t need)
{
	const struct place *place = packing->place;
	const struct place_level *leaf = &place->levels[0];

	for (uint32_t guests = 0; need > 0; guests++) {
		for (uint32_t i = leaf->first[group];
		     i < leaf->first[group + 1] && need; i++) {
			uint32_t host = place->order[i];

			if (place->n_guests[host] != guests ||
			    !place_has_room(place, packing->job, host))
				continue;
			packing->hosts[packing->n++] = host;
			need--;
		}
	}
}

/*
 * Of the groups [first, end), takes the one that holds 'need' hosts with the least to
 * spare; if none does, the one with most room.  With an rng, takes any that holds them,
 * else any with room.
 */
static uint32_t
choose_group(const struct packing *packing, uint32_t level, uint32_t first,
	     uint32_t end, uint32_t need)
{
	const uint32_t *n_free = packing->n_free[level];
	uint32_t best = TOPO_NONE, n_fit = 0, n_some = 0, skip;

	for (uint32_t g = first; g < end; g++) {
		bool fits = n_free[g] >= need;

		n_fit += fits;
		n_some += n_free[g] > 0;
		if (best == TOPO_NONE) {
			best = g;
			continue;
		}
		if (fits != (n_free[best] >= need)) {
			if (fits)
				best = g;
		} else if (fits ? n_free[g] < n_free[best] : n_free[g] > n_free[best]) {
			best = g;
		}
	}
	if (!packing->rng || n_some == 0)
		return best;
	skip = (uint32_t)rng_below(packing->rng, n_fit ? n_fit : n_some);
	for (uint32_t g = first; g < end; g++) {
		if (n_free[g] < (n_fit ? need : 1))
			continue;
		if (skip-- == 0)
			return g;
	}
	return best;
}

static void
pack_into(struct packing *packing, uint32_t level, uint32_t group, uint32_t need)
{
	const struct place_level *pl = &packing->place->levels[level];

	if (level == 0) {
		take_hosts(packing, group, need);
		packing->n_free[0][group] = 0;
		return;
	}
	while (need > 0) {
		uint32_t child =
			choose_group(packing, level - 1, pl->first_child[group],
				     pl->first_child[group + 1], need);
		uint32_t n_here = packing->n_free[level - 1][child];

		if (n_here > need)
			n_here = need;
		pack_into(packing, level - 1, child, n_here);
		packing->n_free[level - 1][child] = 0;
		need -= n_here;
	}
}

static int
pack(const struct place *place, uint32_t job, struct rng *rng, uint32_t *ret_hosts)
{
	uint32_t need = place->workload->jobs[job].n_hosts_wanted;
	struct packing packing = { place, job, rng, NULL, ret_hosts, 0 };
	int r = -ENOSPC;

	if (place->n_hosts == 0)
		return -ENOSPC;
	packing_init(&packing);
	for (uint32_t level = 0; level < place->n_levels; level++) {
		uint32_t n_groups = place->levels[level].n_groups;
		uint32_t group = choose_group(&packing, level, 0, n_groups, need);

		if (packing.n_free[level][group] < need)
			continue;
		pack_into(&packing, level, group, need);
		r = 0;
		break;
	}
	packing_fini(&packing);
	if (r == 0)
		sort_items(ret_hosts, need, sort_by_u32);
	return r;
}

int
place_pack(const struct place *place, uint32_t job, uint32_t *ret_hosts)
{
	return pack(place, job, NULL, ret_hosts);
}

int
place_pack_varied(const struct place *place, uint32_t job, struct rng *rng,
		  uint32_t *ret_hosts)
{
	return pack(place, job, rng, ret_hosts);
}
