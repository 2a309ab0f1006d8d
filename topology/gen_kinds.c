/* SPDX-License-Identifier: Apache-2.0 */
/* gen_kinds.c - the kinds of fabrics and their options, and what makes a fabric of them. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/err.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

/* All options of a kind, and those that some kinds share. */
struct options {
	union {
		struct gen_leaf_spine leaf_spine;
		struct gen_fat_tree fat_tree;
		struct gen_rail rail;
		struct gen_three_tier three_tier;
		struct gen_torus torus;
		struct gen_dragonfly dragonfly;
	} kind;
	struct gen_scale_up scale_up;
};

/* ---- Rows of the tables ----------------------------------------------------------- */

#define OPTION(type, unit, kind, option, member, help, is_needed)                   \
	{                                                                           \
		option, type, unit, help, offsetof(struct kind, member), is_needed, \
			NULL                                                        \
	}
#define NEEDED(kind, option, member, help) \
	OPTION(GEN_COUNT, "N", kind, option, member, help, true)
#define COUNT(kind, option, member, help) \
	OPTION(GEN_COUNT, "N", kind, option, member, help, false)
#define GBPS(kind, option, member, help) \
	OPTION(GEN_GBPS, "GBPS", kind, option, member, help, false)
#define RATIO(kind, option, member, help) \
	OPTION(GEN_RATIO, "RATIO", kind, option, member, help, false)
#define SPEEDS(kind, option, member, help) \
	OPTION(GEN_SPEEDS, "GBPS", kind, option, member, help, false)
#define BALANCE(kind)                                                             \
	{                                                                         \
		"balance", GEN_BALANCE, "HOW",                                    \
			"how switches use equally short links; one word, or one " \
			"a tier: hash,spray (hash)",                              \
			offsetof(struct kind, balance), false, topo_balance_names \
	}

#define SCALE_UP                                                          \
	COUNT(options, "scale-up", scale_up.n_hosts,                      \
	      "hosts of a scale-up domain, as NVLink makes them (none)"), \
		GBPS(options, "scale-up-gbps", scale_up.bps,              \
		     "interface of a host to its domain's switch")

/* ---- Options ---------------------------------------------------------------------- */

static const struct gen_option leaf_spine_options[] = {
	NEEDED(gen_leaf_spine, "leaves", n_leaves, "leaf switches"),
	NEEDED(gen_leaf_spine, "hosts-per-leaf", hosts_per_leaf, "hosts on each leaf"),
	COUNT(gen_leaf_spine, "spines", n_spines,
	      "spine switches (default: from the oversubscription)"),
	COUNT(gen_leaf_spine, "parallel", n_parallel,
	      "cables from each leaf to each spine (1)"),
	COUNT(gen_leaf_spine, "slots", n_slots, "slots of a host (1)"),
	SPEEDS(gen_leaf_spine, "gbps", host_speeds,
	       "interface of a host (100), or by leaf: 6x100,2x400"),
	SPEEDS(gen_leaf_spine, "uplink-gbps", uplink_speeds,
	       "one cable up, or by leaf (default: follows, else as a host's)"),
	RATIO(gen_leaf_spine, "oversubscription", oversubscription,
	      "capacity down / up of a leaf"),
	BALANCE(gen_leaf_spine),
	SCALE_UP,
};

static const struct gen_option fat_tree_options[] = {
	NEEDED(gen_fat_tree, "k", k, "ports of a switch, even: k^3/4 hosts"),
	COUNT(gen_fat_tree, "parallel", n_parallel,
	      "cables between the same two switches (1)"),
	COUNT(gen_fat_tree, "slots", n_slots, "slots of a host (1)"),
	SPEEDS(gen_fat_tree, "gbps", host_speeds,
	       "interface of a host (100), or by pod: 6x100,2x400"),
	SPEEDS(gen_fat_tree, "uplink-gbps", uplink_speeds,
	       "one cable up from a leaf, or by pod (as a host's)"),
	SPEEDS(gen_fat_tree, "agg-uplink-gbps", agg_uplink_speeds,
	       "one cable up from aggregation, or by pod (default: follows)"),
	RATIO(gen_fat_tree, "oversubscription", oversubscription,
	      "capacity down / up of a leaf"),
	RATIO(gen_fat_tree, "agg-oversubscription", agg_oversubscription,
	      "capacity down / up of aggregation (1)"),
	BALANCE(gen_fat_tree),
	SCALE_UP,
};

static const struct gen_option rail_options[] = {
	NEEDED(gen_rail, "hosts-per-group", hosts_per_group,
	       "hosts that share rail switches"),
	{ "host-is", GEN_WORD, "WHAT",
	  "a server with an interface on each rail, or a gpu with one: host i of a "
	  "group on rail i mod rails (server)",
	  offsetof(struct gen_rail, host_kind), false, gen_rail_hosts },
	COUNT(gen_rail, "groups", n_groups, "such groups (1)"),
	COUNT(gen_rail, "rails", n_rails, "rail switches of a group (8)"),
	COUNT(gen_rail, "spines", n_spines,
	      "spine switches (default: from the oversubscription; none for one group "
	      "of servers)"),
	COUNT(gen_rail, "parallel", n_parallel,
	      "cables from each rail switch to each spine (1)"),
	COUNT(gen_rail, "slots", n_slots, "slots of a host (as rails; of a gpu 1)"),
	SPEEDS(gen_rail, "gbps", host_speeds,
	       "one interface of a host (100), or by group: 3x100,1x400"),
	SPEEDS(gen_rail, "uplink-gbps", uplink_speeds,
	       "one cable up, or by group (default: follows, else as a host's)"),
	RATIO(gen_rail, "oversubscription", oversubscription,
	      "capacity down / up of a rail switch"),
	BALANCE(gen_rail),
	SCALE_UP,
};

static const struct gen_option three_tier_options[] = {
	NEEDED(gen_three_tier, "pods", n_pods, "pods under the cores"),
	NEEDED(gen_three_tier, "access-per-pod", access_per_pod,
	       "access switches of a pod"),
	NEEDED(gen_three_tier, "hosts-per-access", hosts_per_access,
	       "hosts on each access switch"),
	COUNT(gen_three_tier, "agg-per-pod", agg_per_pod,
	      "aggregation switches of a pod (2)"),
	COUNT(gen_three_tier, "cores", n_cores, "core switches (2)"),
	COUNT(gen_three_tier, "parallel", n_parallel,
	      "cables between the same two switches (1)"),
	COUNT(gen_three_tier, "slots", n_slots, "slots of a host (1)"),
	SPEEDS(gen_three_tier, "gbps", host_speeds,
	       "interface of a host (100), or by pod: 3x100,1x400"),
	SPEEDS(gen_three_tier, "access-uplink-gbps", access_uplink_speeds,
	       "one cable up from access, or by pod"),
	SPEEDS(gen_three_tier, "agg-uplink-gbps", agg_uplink_speeds,
	       "one cable up from aggregation, or by pod"),
	RATIO(gen_three_tier, "access-oversubscription", access_oversubscription,
	      "capacity down / up of access (1)"),
	RATIO(gen_three_tier, "agg-oversubscription", agg_oversubscription,
	      "capacity down / up of aggregation (1)"),
	BALANCE(gen_three_tier),
	SCALE_UP,
};

#define TORUS_OPTIONS                                                           \
	COUNT(gen_torus, "hosts-per-switch", hosts_per_switch,                  \
	      "hosts at each switch (1)"),                                      \
		COUNT(gen_torus, "parallel", n_parallel,                        \
		      "cables between neighbors (1)"),                          \
		COUNT(gen_torus, "slots", n_slots, "slots of a host (1)"),      \
		GBPS(gen_torus, "gbps", host_bps, "interface of a host (100)"), \
		GBPS(gen_torus, "link-gbps", link_bps,                          \
		     "one cable between switches (as a host's)"),               \
		BALANCE(gen_torus)

static const struct gen_option torus_options[] = {
	OPTION(GEN_DIMS, "SIZES", gen_torus, "dims", dims,
	       "switches in each dimension: 8x8 or 8x8x4", true),
	TORUS_OPTIONS,
};

static const struct gen_option ring_options[] = {
	NEEDED(gen_torus, "switches", dims, "switches of the ring"),
	TORUS_OPTIONS,
};

static const struct gen_option dragonfly_options[] = {
	NEEDED(gen_dragonfly, "routers-per-group", routers_per_group,
	       "routers of a group, each with cables to all others"),
	NEEDED(gen_dragonfly, "hosts-per-router", hosts_per_router,
	       "hosts on each router"),
	NEEDED(gen_dragonfly, "global-per-router", n_global,
	       "cables of a router to other groups"),
	COUNT(gen_dragonfly, "groups", n_groups,
	      "groups (default: one cable between any two)"),
	COUNT(gen_dragonfly, "slots", n_slots, "slots of a host (1)"),
	GBPS(gen_dragonfly, "gbps", host_bps, "interface of a host (100)"),
	GBPS(gen_dragonfly, "local-gbps", local_bps,
	     "one cable within a group (as a host's)"),
	GBPS(gen_dragonfly, "global-gbps", global_bps,
	     "one cable between groups (as a host's)"),
	{ "routing", GEN_WORD, "HOW",
	  "minimal, or valiant: over a third group (minimal)",
	  offsetof(struct gen_dragonfly, routing), false, gen_dragonfly_routings },
	BALANCE(gen_dragonfly),
};

/* ---- Kinds ------------------------------------------------------------------------ */

enum {
	LEAF_SPINE,
	FAT_TREE,
	RAIL,
	THREE_TIER,
	TORUS,
	RING,
	DRAGONFLY,
};

#define KIND(name, summary, options)                                        \
	{                                                                   \
		name, summary, options, sizeof(options) / sizeof *(options) \
	}

const struct gen_kind gen_kinds[GEN_N_KINDS] = {
	[LEAF_SPINE] = KIND("leaf-spine", "two tiers, every leaf on every spine",
			    leaf_spine_options),
	[FAT_TREE] = KIND("fat-tree", "three tiers of switches with k ports",
			  fat_tree_options),
	[RAIL] = KIND("rail-optimized",
		      "interface or GPU r of every server on rail switch r",
		      rail_options),
	[THREE_TIER] =
		KIND("three-tier", "access, aggregation and core", three_tier_options),
	[TORUS] = KIND("torus",
		       "a torus of two or three dimensions, hosts at its switches",
		       torus_options),
	[RING] = KIND("ring", "a ring of switches, hosts at each", ring_options),
	[DRAGONFLY] =
		KIND("dragonfly", "groups of routers, each with cables to all others",
		     dragonfly_options),
};

static int
make(const struct gen_kind *kind, const struct options *options, struct topo **ret_topo,
     struct err *err)
{
	switch (kind - gen_kinds) {
	case LEAF_SPINE:
		return gen_leaf_spine(&options->kind.leaf_spine, ret_topo, err);
	case FAT_TREE:
		return gen_fat_tree(&options->kind.fat_tree, ret_topo, err);
	case RAIL:
		return gen_rail(&options->kind.rail, ret_topo, err);
	case THREE_TIER:
		return gen_three_tier(&options->kind.three_tier, ret_topo, err);
	case DRAGONFLY:
		return gen_dragonfly(&options->kind.dragonfly, ret_topo, err);
	default:
		return gen_torus(&options->kind.torus, ret_topo, err);
	}
}

int
gen_build(const struct gen_kind *kind, const char *const *texts, struct topo **ret_topo,
	  struct err *err)
{
	struct options options;
	struct topo *topo;
	int r = 0;

	memset(&options, 0, sizeof options);
	for (size_t i = 0; r == 0 && i < kind->n_options; i++) {
		const struct gen_option *option = &kind->options[i];

		if (texts[i])
			r = gen_read_value(option, texts[i],
					   (char *)&options + option->offset, err);
		else if (option->is_needed)
			r = err_set(err, NULL, 0, 0, "a %s needs --%s %s: %s",
				    kind->name, option->name, option->argument,
				    option->help);
	}
	if (r == 0)
		r = make(kind, &options, &topo, err);
	return r < 0 ? r : gen_scale_up(topo, &options.scale_up, ret_topo, err);
}
