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

/* Distances to one leaf, by switch number; in a torus they are calculated instead. */
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
	struct route_torus *torus;  /* Owned.  NULL: the fabric is none. */
	uint32_t group_size;        /* Of a dragonfly: routers; 0: it is none. */
	bool is_valiant;            /* Of a dragonfly. */
	bool has_scale_up;          /* Some switch is one of a scale-up domain. */
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

/* route_torus.c: from the cables of 'routes', which have their hops. */
struct route_torus *route_torus_new(const struct routes *routes);
void route_torus_free(struct route_torus *torus); /* Accepts NULL. */
/* Number of links from switch 'v' to switch 'last'; ROUTE_FAR: there is no path. */
unsigned route_torus_distance(const struct route_torus *torus, uint32_t v,
			      uint32_t last);
/* The next switch on the way to 'last'; TOPO_NONE: there is none. */
uint32_t route_torus_next(const struct route_torus *torus, uint32_t v, uint32_t last);

struct route_choice;

/*
 * route_dragonfly.c: the distances to the leaf of 't', whose arrays are filled with
 * ROUTE_FAR.  'down' is without a cable between groups, 'all' with one.
 */
void route_dragonfly_fill(const struct routes *routes, struct route_table *t);
/*
 * Valiant: writes the links from router 'v' to one of a third group, and returns how
 * many; '*ret_v' is that router.  0: the path is minimal.
 */
size_t route_dragonfly_detour(const struct routes *routes, const struct route_table *t,
			      uint32_t v, struct route_choice *choice,
			      uint32_t *ret_links, uint32_t *ret_v);

/* Number of links from switch 'v' to the leaf of 't', or ROUTE_FAR. */
static inline unsigned
route_distance(const struct routes *r, const struct route_table *t, uint32_t v,
	       bool is_up)
{
	if (r->torus)
		return route_torus_distance(r->torus, v, t->leaf);
	return is_up ? t->all[v] : t->down[v];
}

/* How a path chooses among equally short links. */
struct route_choice {
	uint16_t port;
	bool is_numbered; /* By 'number'; else by the hash. */
	uint64_t hash;    /* As in struct route_ends. */
	uint64_t number;  /* What is left of the path's number. */
	uint64_t n_paths; /* Product of the numbers of links to choose from. */
};

/* route_choice.c: which of 'n' things switch 'v' takes. */
uint64_t route_choose(const struct routes *routes, uint32_t v,
		      struct route_choice *choice, uint64_t n);

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
	uint8_t left, beyond;

	if (r->torus)
		return hop->to == route_torus_next(r->torus, v, t->leaf);
	left = *is_up ? t->all[v] : t->down[v];
	if (r->group_size) {
		/* Up to one cable between groups, and that into the last one. */
		if (v / r->group_size != hop->to / r->group_size) {
			if (!*is_up ||
			    hop->to / r->group_size != t->leaf / r->group_size)
				return false;
			*is_up = false;
		}
		beyond = *is_up ? t->all[hop->to] : t->down[hop->to];
		return beyond != ROUTE_FAR && beyond + 1 == left;
	}
	if (w_tier >= tier && !*is_up)
		return false;
	*is_up = w_tier > tier;
	beyond = *is_up ? t->all[hop->to] : t->down[hop->to];
	return beyond != ROUTE_FAR && beyond + 1 == left;
}

#endif
