/* SPDX-License-Identifier: Apache-2.0 */
/* scopes.c - each unit is scored in one pass over the nodes, most free GPUs first. */
#include "policies/scopes.h"

#include "policies/order_list.h"
#include "policies/places.h"

/* What a unit has for one job. */
struct tally {
	uint32_t n_free, n_lacked, n_nodes; /* n_nodes: that the job needs. */
};

struct scopes {
	uint32_t width[SCOPE_N_LEVELS]; /* Racks of a unit. */
	uint32_t n_units[SCOPE_N_LEVELS];
	VEC(uint32_t) racks, clusters;        /* By node. */
	VEC(uint32_t) usable[SCOPE_N_LEVELS]; /* GPUs, by unit. */
	/* Of one place. */
	VEC(uint32_t) nodes, scratch; /* nodes: the most free GPUs first. */
	VEC(double) keys;             /* By node. */
	VEC(struct tally) tallies;    /* By unit. */
};

struct scopes *
scopes_new(const struct pol_cluster *cluster, uint32_t racks_per_cluster,
	   uint32_t clusters_per_region)
{
	struct scopes *s = xcalloc(1, sizeof *s);

	s->width[SCOPE_RACK] = 1;
	s->width[SCOPE_CLUSTER] = racks_per_cluster;
	s->width[SCOPE_REGION] = racks_per_cluster * clusters_per_region;
	s->width[SCOPE_ALL] = cluster->n_racks;
	for (int level = 0; level < SCOPE_N_LEVELS; level++) {
		s->n_units[level] =
			(cluster->n_racks + s->width[level] - 1) / s->width[level];
		while (s->usable[level].n < s->n_units[level])
			vec_push(&s->usable[level], 0);
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		vec_push(&s->racks, cluster->rack_of[i]);
		vec_push(&s->clusters, cluster->rack_of[i] / racks_per_cluster);
		vec_push(&s->nodes, i);
		vec_push(&s->keys, 0);
	}
	vec_reserve(&s->scratch, cluster->n_nodes);
	scopes_update(s, cluster);
	return s;
}

void
scopes_free(struct scopes *s)
{
	if (!s)
		return;
	for (int level = 0; level < SCOPE_N_LEVELS; level++)
		vec_free(&s->usable[level]);
	vec_free(&s->racks);
	vec_free(&s->clusters);
	vec_free(&s->nodes);
	vec_free(&s->scratch);
	vec_free(&s->keys);
	vec_free(&s->tallies);
	free(s);
}

uint32_t
scopes_count(const struct scopes *s, enum scope_level level)
{
	return s->n_units[level];
}

const uint32_t *
scopes_clusters(const struct scopes *s)
{
	return s->clusters.items;
}

bool
scopes_have_node(const struct scopes *s, struct scope scope, uint32_t node)
{
	return scope.level == SCOPE_ALL ||
	       s->racks.items[node] / s->width[scope.level] == scope.unit;
}

bool
scopes_have_unit(const struct scopes *s, struct scope outer, struct scope inner)
{
	return outer.level == SCOPE_ALL ||
	       inner.unit * s->width[inner.level] / s->width[outer.level] == outer.unit;
}

uint32_t
scopes_count_gpus(const struct scopes *s, struct scope scope,
		  const struct pol_piece *pieces, uint32_t n)
{
	uint32_t n_gpus = 0;

	for (uint32_t i = 0; i < n; i++)
		if (scopes_have_node(s, scope, pieces[i].node))
			n_gpus += pieces[i].n_gpus;
	return n_gpus;
}

void
scopes_update(struct scopes *s, const struct pol_cluster *cluster)
{
	for (int level = 0; level < SCOPE_N_LEVELS; level++) {
		uint32_t *usable = s->usable[level].items;

		for (uint32_t unit = 0; unit < s->n_units[level]; unit++)
			usable[unit] = 0;
		for (uint32_t i = 0; i < cluster->n_nodes; i++)
			usable[s->racks.items[i] / s->width[level]] +=
				pol_node_gpus(cluster, i);
	}
}

enum scope_level
scopes_level(const struct scopes *s, struct scope outer, uint32_t n_gpus)
{
	for (enum scope_level level = SCOPE_CLUSTER; level <= outer.level; level++)
		for (uint32_t unit = 0; unit < s->n_units[level]; unit++)
			if (scopes_have_unit(s, outer, (struct scope){ level, unit }) &&
			    s->usable[level].items[unit] >= n_gpus)
				return level;
	return SCOPE_N_LEVELS;
}

/* By number among equals. */
static void
sort_nodes(struct scopes *s, const struct pol_free *free)
{
	for (size_t i = 0; i < s->nodes.n; i++)
		s->keys.items[i] = (double)i - (double)s->nodes.n * free->n_free[i];
	order_sort(s->nodes.items, (uint32_t)s->nodes.n, s->keys.items,
		   s->scratch.items);
}

static void
tally_units(struct scopes *s, struct scope outer, enum scope_level level,
	    uint32_t n_gpus, const struct pol_free *free)
{
	s->tallies.n = 0;
	while (s->tallies.n < s->n_units[level])
		vec_push(&s->tallies, ((struct tally){ .n_lacked = n_gpus }));
	for (size_t i = 0; i < s->nodes.n; i++) {
		uint32_t node = s->nodes.items[i], n = free->n_free[node];
		struct tally *tally =
			&s->tallies.items[s->racks.items[node] / s->width[level]];

		if (!scopes_have_node(s, outer, node))
			continue;
		tally->n_free += n;
		tally->n_nodes += n && tally->n_lacked;
		tally->n_lacked -= n < tally->n_lacked ? n : tally->n_lacked;
	}
}

/* The unit with the best score; POL_NONE: none has room. */
static uint32_t
best_unit(struct scopes *s, struct scope outer, enum scope_level level, uint32_t n_gpus,
	  const struct pol_free *free, uint32_t *ret_n_nodes)
{
	const struct tally *best = NULL;

	tally_units(s, outer, level, n_gpus, free);
	for (size_t unit = 0; unit < s->tallies.n; unit++) {
		const struct tally *tally = &s->tallies.items[unit];

		if (!tally->n_lacked &&
		    (!best || tally->n_nodes < best->n_nodes ||
		     (tally->n_nodes == best->n_nodes && tally->n_free < best->n_free)))
			best = tally;
	}
	if (!best)
		return POL_NONE;
	*ret_n_nodes = best->n_nodes;
	return (uint32_t)(best - s->tallies.items);
}

static uint32_t
take(const struct scopes *s, struct scope scope, uint32_t n_gpus, struct pol_free *free,
     struct pol_plan *plan)
{
	size_t first = plan->pieces.n;

	for (size_t i = 0; n_gpus; i++) {
		uint32_t node = s->nodes.items[i], n;

		if (!scopes_have_node(s, scope, node))
			continue;
		/* Best fit, if one node has room for all that is left. */
		for (size_t k = i + 1;
		     k < s->nodes.n && free->n_free[s->nodes.items[k]] >= n_gpus; k++) {
			uint32_t other = s->nodes.items[k];

			if (scopes_have_node(s, scope, other) &&
			    free->n_free[other] < free->n_free[node])
				node = other;
		}
		n = free->n_free[node] < n_gpus ? free->n_free[node] : n_gpus;
		place_take(free, plan, node, n);
		n_gpus -= n;
	}
	place_sort(plan->pieces.items + first, (uint32_t)(plan->pieces.n - first));
	return (uint32_t)(plan->pieces.n - first);
}

uint32_t
scopes_place(struct scopes *s, struct scope outer, enum scope_level level,
	     uint32_t n_gpus, struct pol_free *free, struct pol_plan *plan)
{
	struct scope scope = { level, 0 };
	uint32_t n_nodes, n_inner;

	sort_nodes(s, free);
	scope.unit = best_unit(s, outer, level, n_gpus, free, &n_nodes);
	if (scope.unit == POL_NONE)
		return 0;
	while (scope.level > SCOPE_RACK) {
		struct scope inner = { scope.level - 1, 0 };

		inner.unit = best_unit(s, scope, inner.level, n_gpus, free, &n_inner);
		if (inner.unit == POL_NONE || n_inner > n_nodes)
			break;
		scope = inner;
	}
	return take(s, scope, n_gpus, free, plan);
}
