/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen.h - generators of fabrics from a few numbers
 *
 * Nodes are numbered hosts first, then switches by tier, so host number i is node i,
 * named "h<i>".  Ports are "p0", "p1", ... at every node: a switch has its downward
 * ports first, then its uplinks; cables between the same two nodes have consecutive
 * ports.
 *
 * A 0 in an option means "not given": it takes the default named beside it, or follows
 * from the oversubscription, which is
 *
 *	capacity of a switch's downward ports / capacity of its uplinks
 *
 * of each switch.  Numbers that contradict each other are refused with a message that
 * says what they amount to.  All functions return 0 with a new snapshot, or -EINVAL or
 * -E2BIG with 'err' filled.
 */
#ifndef TOPOLOGY_GEN_H
#define TOPOLOGY_GEN_H

#include <stdint.h>

#include "topology/topo.h"

struct err;

#define GEN_DEFAULT_BPS 100e9 /* Of a host's interface. */
#define GEN_MAX_SPEEDS  16
#define GEN_MAX_TIERS   3

/*
 * Speeds that differ between parts of a fabric, which are its leaves, groups or pods:
 * items[0].bps is that of the first items[0].n_parts of them, items[1].bps that of the
 * next ones, and so on.  The only item may have 0 parts, which means all of them.
 */
struct gen_speeds {
	uint32_t n; /* 0: not given; the speed beside it holds for all parts. */

	struct {
		uint32_t n_parts;
		double bps;
	} items[GEN_MAX_SPEEDS];
};

/*
 * How the switches balance: of tier 1, tier 2 and so on; the last one given holds for the
 * tiers above it, too.
 */
struct gen_balance {
	uint32_t n_tiers; /* 0: all hash. */
	enum topo_balance tiers[GEN_MAX_TIERS];
};

struct gen_leaf_spine {
	uint32_t n_leaves;       /* At least 1; no default. */
	uint32_t hosts_per_leaf; /* At least 1; no default. */
	uint32_t n_spines;       /* From the oversubscription (default 1:1). */
	uint32_t n_parallel;     /* Cables from each leaf to each spine; 1. */
	uint32_t n_slots;        /* Of a host; 1. */
	double host_bps;         /* GEN_DEFAULT_BPS. */
	double uplink_bps; /* From the oversubscription, if it and n_spines are given; else host_bps. */
	double oversubscription;         /* Default: as the others imply. */
	struct gen_speeds host_speeds;   /* By leaf; instead of host_bps. */
	struct gen_speeds uplink_speeds; /* By leaf; instead of uplink_bps. */
	struct gen_balance balance;
};

/*
 * Every leaf "leaf<i>" has a cable, or several, to every spine "spine<i>".
 */
int gen_leaf_spine(const struct gen_leaf_spine *options, struct topo **ret_topo,
		   struct err *err);

/*
 * The fat tree of Al-Fares et al. (SIGCOMM 2008) from switches with k ports: k
 * pods of k/2 leaves "leaf<i>" and k/2 aggregation switches "agg<i>", (k/2)^2
 * cores "core<i>", k^3/4 hosts.  Aggregation switch j of a pod has cables to
 * cores j k/2 to (j + 1) k/2 - 1.
 */
struct gen_fat_tree {
	uint32_t k;          /* Even, at least 2; no default. */
	uint32_t n_parallel; /* Cables between the same two switches; 1. */
	uint32_t n_slots;    /* Of a host; 1. */
	double host_bps;     /* GEN_DEFAULT_BPS. */
	double uplink_bps;   /* Of a leaf; from its oversubscription, else host_bps. */
	double oversubscription;         /* Of a leaf.  Default: as the others imply. */
	double agg_uplink_bps;           /* From the aggregation's oversubscription. */
	double agg_oversubscription;     /* 1, if the uplink is not given. */
	struct gen_speeds host_speeds;   /* By pod; instead of host_bps. */
	struct gen_speeds uplink_speeds; /* By pod; instead of uplink_bps. */
	struct gen_speeds agg_uplink_speeds; /* By pod; instead of agg_uplink_bps. */
	struct gen_balance balance;
};

int gen_fat_tree(const struct gen_fat_tree *options, struct topo **ret_topo,
		 struct err *err);

/*
 * Groups of hosts that share R rail switches "g<g>r<r>", each of which has cables to every
 * spine "spine<i>".  A host is a server with R interfaces, number r of them on rail switch
 * r; or a GPU with one: the i-th host of a group is on rail switch i mod R, so R hosts with
 * consecutive numbers are the GPUs of a server.  Then traffic between rails needs spines;
 * without it, one group needs none.
 */
struct gen_rail {
	uint32_t n_groups; /* 1. */
	uint32_t
		hosts_per_group; /* At least 1; no default.  GPUs: a multiple of n_rails. */
	uint32_t n_rails;        /* 8. */
	uint32_t host_kind;      /* Number in gen_rail_hosts; server. */
	uint32_t n_spines;       /* From the oversubscription (default 1:1),
				    * and none for one group of servers. */
	uint32_t n_parallel;     /* Cables from rail switch to spine; 1. */
	uint32_t n_slots;        /* Of a host; n_rails, and 1 if it is a GPU. */
	double host_bps;         /* Of one interface; GEN_DEFAULT_BPS. */
	double uplink_bps;       /* As of a leaf-spine. */
	double oversubscription;         /* Default: as the others imply. */
	struct gen_speeds host_speeds;   /* By group; instead of host_bps. */
	struct gen_speeds uplink_speeds; /* By group; instead of uplink_bps. */
	struct gen_balance balance;
};

/* "server", "gpu"; NULL-terminated. */
extern const char *const gen_rail_hosts[];

int gen_rail(const struct gen_rail *options, struct topo **ret_topo, struct err *err);

/*
 * Pods of access switches "acc<i>" and aggregation switches "agg<i>", under
 * cores "core<i>": every access switch has cables to every aggregation switch of
 * its pod, and those have cables to every core.
 */
struct gen_three_tier {
	uint32_t n_pods;                /* At least 1; no default. */
	uint32_t access_per_pod;        /* At least 1; no default. */
	uint32_t hosts_per_access;      /* At least 1; no default. */
	uint32_t agg_per_pod;           /* 2. */
	uint32_t n_cores;               /* 2. */
	uint32_t n_parallel;            /* Cables between the same two switches; 1. */
	uint32_t n_slots;               /* Of a host; 1. */
	double host_bps;                /* GEN_DEFAULT_BPS. */
	double access_uplink_bps;       /* From the access tier's oversubscription. */
	double agg_uplink_bps;          /* From the aggregation's oversubscription. */
	double access_oversubscription; /* 1, if the uplink is not given. */
	double agg_oversubscription;    /* 1, likewise. */
	struct gen_speeds host_speeds;  /* By pod; instead of host_bps. */
	struct gen_speeds access_uplink_speeds; /* By pod, likewise. */
	struct gen_speeds agg_uplink_speeds;    /* By pod, likewise. */
	struct gen_balance balance;
};

int gen_three_tier(const struct gen_three_tier *options, struct topo **ret_topo,
		   struct err *err);

/*
 * A dragonfly (Kim, Dally, Scott and Abts, ISCA 2008): groups of routers "g<g>r<r>" that
 * have cables to all others of their group, and each group cables to all other groups,
 * in the absolute arrangement: cable number c (g - 1) + k of a group, counted over its
 * routers, goes to the k-th other group.  Ports: hosts, the group, other groups.  Cables
 * that are left over when all other groups have the same number are left out.
 */
struct gen_dragonfly {
	uint32_t routers_per_group; /* a; at least 1; no default. */
	uint32_t hosts_per_router;  /* p; at least 1; no default. */
	uint32_t n_global; /* h: cables of a router to other groups; no default. */
	uint32_t n_groups; /* g; a h + 1. */
	uint32_t n_slots;  /* Of a host; 1. */
	double host_bps;   /* GEN_DEFAULT_BPS. */
	double local_bps;  /* Of a cable within a group; host_bps. */
	double global_bps; /* Of one between groups; host_bps. */
	uint32_t routing;  /* Number in gen_dragonfly_routings; minimal. */
	struct gen_balance balance;
};

/* "minimal", "valiant"; NULL-terminated. */
extern const char *const gen_dragonfly_routings[];

int gen_dragonfly(const struct gen_dragonfly *options, struct topo **ret_topo,
		  struct err *err);

/* Domains of hosts that also have an interface to a switch of their own. */
struct gen_scale_up {
	uint32_t n_hosts; /* Of a domain, at least 2; 0: no domains. */
	double bps;       /* Of such an interface; no default. */
};

/*
 * Adds scale-up domains to a fabric: hosts 0 to n_hosts - 1 on the switch "scaleup0", and
 * so on, from the first port after their others.  Takes 'topo', also if it fails.
 */
int gen_scale_up(struct topo *topo, const struct gen_scale_up *options,
		 struct topo **ret_topo, struct err *err);

/*
 * A ring, or a torus of two or three dimensions: switch "s<i>" at (x, y, z), with number
 * i = x + dims[0] * (y + dims[1] * z), has its hosts, and cables to its neighbors in each
 * dimension, where the last and the first are neighbors, too.  A dimension of 2 has one
 * neighbor, and one of 1 none.  Ports: hosts, then for each dimension upward, downward.
 */
struct gen_torus {
	uint32_t dims[TOPO_MAX_DIMS]; /* Sizes; 0 after the last.  At least one. */
	uint32_t hosts_per_switch;    /* 1. */
	uint32_t n_parallel;          /* Cables between neighbors; 1. */
	uint32_t n_slots;             /* Of a host; 1. */
	double host_bps;              /* GEN_DEFAULT_BPS. */
	double link_bps;              /* Of a cable between switches; host_bps. */
	struct gen_balance balance;   /* Over parallel cables. */
};

int gen_torus(const struct gen_torus *options, struct topo **ret_topo, struct err *err);

#endif
