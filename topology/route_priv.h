/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_priv.h - the switches as routes see them, and one hop of a path; for route*.c
 */
#ifndef TOPOLOGY_ROUTE_PRIV_H
#define TOPOLOGY_ROUTE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/topo.h"

#define ROUTE_FAR 255 /* A distance: no path. */

/* Distances to one leaf, by switch number. */
struct route_table {
	uint32_t leaf; /* Its switch number. */
	uint8_t *down; /* Owned, together with 'all'. */
	uint8_t *all;
};

struct route_hop {
	uint32_t link, to; /* 'to' is a switch number. */
};

struct routes {
	struct topo *topo; /* One reference is owned. */
	uint64_t seed;
	uint32_t n_switches;
	uint32_t *switches;           /* Owned.  Node ids by switch number. */
	uint8_t *tiers;               /* Owned.  By switch number. */
	uint32_t *switch_numbers;     /* Owned.  By node id; TOPO_NONE for hosts. */
	uint32_t *by_tier;            /* Owned.  Switch numbers by ascending tier. */
	uint32_t *hop_first;          /* Owned.  n_switches + 1. */
	struct route_hop *hops;       /* Owned.  Between switches, by link id. */
	struct route_hop *hops_by_to; /* Owned.  The same, by 'to', then by link id. */
	uint32_t *in_first;           /* Owned.  n_hosts + 1. */
	uint32_t *in_links;         /* Owned.  Into host i: [first[i], first[i + 1]). */
	struct route_table *tables; /* Owned.  By switch number; made on demand. */
	bool spreads;               /* Some tier sprays or routes adaptively. */
	bool sprays;                /* All do, whatever the fabric says. */
	uint32_t *spread_places; /* Owned.  Scratch of route_paths.c; NULL: none yet. */
};

/* The interfaces of a flow, and what its switches hash. */
struct route_ends {
	unsigned n_hops;             /* 0: one host.  1: 'in' alone. */
	uint32_t out, in;            /* First and last link. */
	const struct route_table *t; /* Distances to the last switch. */
	uint64_t hash;               /* Of the two hosts. */
};

/* Returns 0, -EINVAL or -EHOSTUNREACH, as routes_path(). */
int route_find_ends(struct routes *routes, uint32_t source, uint32_t destination,
		    uint16_t port, struct route_ends *ret_ends);

/*
 * The fewest hops from host to host, ROUTE_FAR if there is no path, and in '*ret_n' the
 * number of links into the destination with that distance.
 */
unsigned route_hops_between(struct routes *routes, uint32_t source,
			    uint32_t destination, size_t *ret_n);

/* Hops from host 'source' over the link 'in' to its host; ROUTE_FAR if none. */
unsigned route_hops_over(struct routes *routes, uint32_t source, uint32_t in);

/* The distances to the leaf with that switch number. */
const struct route_table *route_table_to(struct routes *routes, uint32_t leaf);

/* How a path chooses among equally short links. */
struct route_choice {
	uint16_t port;
	bool is_numbered; /* By 'number'; else by the hash. */
	uint64_t hash;    /* As in struct route_ends. */
	uint64_t number;  /* What is left of the path's number. */
	uint64_t n_paths; /* Product of the numbers of links to choose from. */
};

/*
 * The link that the path takes from switch 'v'; there is at least one.  'is_up' as in
 * route_hop_is_short().
 */
const struct route_hop *route_choose_hop(const struct routes *routes,
					 const struct route_table *t, uint32_t v,
					 struct route_choice *choice, bool *is_up);

/* Whether switch 'v' takes one link by a hash. */
static inline bool
route_hashes(const struct routes *r, uint32_t v)
{
	return !r->sprays && topo_balance(r->topo, r->tiers[v]) == TOPO_BALANCE_HASH;
}

/*
 * True if 'hop' from switch 'v' lies on a shortest path.  'is_up' says whether
 * the path has only gone up so far, and is changed to what holds after the hop.
 */
static inline bool
route_hop_is_short(const struct routes *r, const struct route_table *t, uint32_t v,
		   const struct route_hop *hop, bool *is_up)
{
	uint32_t tier = r->tiers[v], w_tier = r->tiers[hop->to];
	uint8_t left = *is_up ? t->all[v] : t->down[v];
	uint8_t beyond;

	if (w_tier >= tier && !*is_up)
		return false;
	*is_up = w_tier > tier;
	beyond = *is_up ? t->all[hop->to] : t->down[hop->to];
	return beyond != ROUTE_FAR && beyond + 1 == left;
}

#endif
