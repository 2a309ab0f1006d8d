/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/racks.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/place_internal.h"
#include "topology/topo.h"

/* A rack and its hosts with enough slots. */
struct ranked_rack {
	uint32_t rack, n_hosts;
};

struct racks {
	const struct place *place; /* Borrowed. */
	uint32_t n;
	uint32_t slots_per_host; /* That 'ranked' is for; 0: none yet. */
	/*
	 * Owned.  [level * n + i]: the racks of each group of the level, those with
	 * most hosts first.
	 */
	struct ranked_rack *ranked;
};

struct racks *
racks_new(const struct place *place)
{
	struct racks *racks = xcalloc(1, sizeof *racks);

	racks->place = place;
	racks->n = place->levels[0].n_groups;
	racks->ranked =
		xcalloc((size_t)place->n_levels * racks->n + 1, sizeof *racks->ranked);
	return racks;
}

void
racks_free(struct racks *racks)
{
	if (!racks)
		return;
	free(racks->ranked);
	free(racks);
}

uint32_t
racks_n(const struct racks *racks)
{
	return racks->n;
}

uint32_t
racks_of(const struct racks *racks, uint32_t host)
{
	return racks->place->leaf_group[host];
}

const char *
racks_name(const struct racks *racks, uint32_t rack)
{
	const struct place *place = racks->place;
	uint32_t host = place->order[place->levels[0].first[rack]];
	uint32_t leaf = topo_leaf_of(place->topo, host);

	return topo_node(place->topo, leaf == TOPO_NONE ? host : leaf)->name;
}

/* ---- The fewest ------------------------------------------------------------------ */

static bool
has_slots(const struct racks *racks, uint32_t host)
{
	return topo_node(racks->place->topo, host)->n_slots >= racks->slots_per_host;
}

static int
compare_ranked(const void *a, const void *b)
{
	const struct ranked_rack *x = a, *y = b;

	if (x->n_hosts != y->n_hosts)
		return x->n_hosts > y->n_hosts ? -1 : 1;
	return (x->rack > y->rack) - (x->rack < y->rack);
}

/* The racks of a group: [first, end), as a group's hosts are together in 'order'. */
static void
range_of(const struct racks *racks, uint32_t level, uint32_t group, uint32_t *ret_first,
	 uint32_t *ret_end)
{
	const struct place *place = racks->place;
	const uint32_t *first = place->levels[level].first;

	*ret_first = place->leaf_group[place->order[first[group]]];
	*ret_end = place->leaf_group[place->order[first[group + 1] - 1]] + 1;
}

static void
rank(struct racks *racks, uint32_t slots_per_host)
{
	const struct place *place = racks->place;
	struct ranked_rack *lowest = racks->ranked;

	racks->slots_per_host = slots_per_host;
	for (uint32_t r = 0; r < racks->n; r++) {
		lowest[r] = (struct ranked_rack){ r, 0 };
		for (uint32_t i = place->levels[0].first[r];
		     i < place->levels[0].first[r + 1]; i++)
			lowest[r].n_hosts += has_slots(racks, place->order[i]);
	}
	for (uint32_t level = 1; level < place->n_levels; level++) {
		struct ranked_rack *own = lowest + (size_t)level * racks->n;

		for (uint32_t r = 0; r < racks->n; r++)
			own[r] = lowest[r];
		for (uint32_t g = 0; g < place->levels[level].n_groups; g++) {
			uint32_t first, end;

			range_of(racks, level, g, &first, &end);
			sort_items(own + first, end - first, compare_ranked);
		}
	}
}

/*
 * How many racks of a group hold 'n_hosts', most hosts first; UINT32_MAX: all do not.
 */
static uint32_t
count_in(const struct racks *racks, uint32_t level, uint32_t group, uint32_t n_hosts,
	 uint32_t *ret_first)
{
	const struct ranked_rack *own = racks->ranked + (size_t)level * racks->n;
	uint32_t end;

	range_of(racks, level, group, ret_first, &end);
	for (uint32_t i = *ret_first; i < end; i++) {
		if (own[i].n_hosts >= n_hosts)
			return i + 1 - *ret_first;
		n_hosts -= own[i].n_hosts;
	}
	return UINT32_MAX;
}

/* Writes hosts of these racks until there are 'n_hosts'. */
static void
take_hosts(const struct racks *racks, const struct ranked_rack *from, uint32_t n_hosts,
	   uint32_t *ret_hosts)
{
	const struct place *place = racks->place;
	uint32_t n = 0;

	for (; n < n_hosts; from++)
		for (uint32_t i = place->levels[0].first[from->rack];
		     i < place->levels[0].first[from->rack + 1] && n < n_hosts; i++)
			if (has_slots(racks, place->order[i]))
				ret_hosts[n++] = place->order[i];
}

int
racks_fewest(struct racks *racks, uint32_t n_hosts, uint32_t slots_per_host,
	     uint32_t *ret_hosts, uint32_t *ret_n_racks)
{
	const struct place *place = racks->place;
	uint32_t top = place->n_levels - 1, fewest = UINT32_MAX, first;

	if (racks->n == 0 || n_hosts == 0)
		return -ENOSPC;
	if (racks->slots_per_host != slots_per_host)
		rank(racks, slots_per_host);
	for (uint32_t g = 0; g < place->levels[top].n_groups; g++) {
		uint32_t n = count_in(racks, top, g, n_hosts, &first);

		fewest = n < fewest ? n : fewest;
	}
	if (fewest == UINT32_MAX)
		return -ENOSPC;
	for (uint32_t level = 0; level < place->n_levels; level++)
		for (uint32_t g = 0; g < place->levels[level].n_groups; g++) {
			if (count_in(racks, level, g, n_hosts, &first) != fewest)
				continue;
			take_hosts(racks,
				   racks->ranked + (size_t)level * racks->n + first,
				   n_hosts, ret_hosts);
			*ret_n_racks = fewest;
			return 0;
		}
	BUG("the fewest racks of the highest level were found before");
}
