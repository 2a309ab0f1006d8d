/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/gen_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "topology/gen.h"
#include "topology/routing.h"
#include "topology/topo.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

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
#define BALANCE(kind)                                                                    \
	{                                                                                \
		"balance", GEN_WORD, "HOW",                                              \
			"how switches use equally short links: hash, spray or adaptive " \
			"(hash)",                                                        \
			offsetof(struct kind, balance), false, topo_balance_names        \
	}

/* All options of a kind, and those that all kinds but tori have. */
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

#define SCALE_UP                                                          \
	COUNT(options, "scale-up", scale_up.n_hosts,                      \
	      "hosts of a scale-up domain, as NVLink makes them (none)"), \
		GBPS(options, "scale-up-gbps", scale_up.bps,              \
		     "interface of a host to its domain's switch")

static const struct gen_option leaf_spine_options[] = {
	NEEDED(gen_leaf_spine, "leaves", n_leaves, "leaf switches"),
	NEEDED(gen_leaf_spine, "hosts-per-leaf", hosts_per_leaf, "hosts on each leaf"),
	COUNT(gen_leaf_spine, "spines", n_spines,
	      "spine switches (default: from the oversubscription)"),
	COUNT(gen_leaf_spine, "parallel", n_parallel,
	      "cables from each leaf to each spine (1)"),
	COUNT(gen_leaf_spine, "slots", n_slots, "slots of a host (1)"),
	GBPS(gen_leaf_spine, "gbps", host_bps, "interface of a host (100)"),
	GBPS(gen_leaf_spine, "uplink-gbps", uplink_bps,
	     "one cable up (default: follows, else as a host's)"),
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
	GBPS(gen_fat_tree, "gbps", host_bps, "interface of a host (100)"),
	GBPS(gen_fat_tree, "uplink-gbps", uplink_bps,
	     "one cable between switches (as a host's)"),
	RATIO(gen_fat_tree, "oversubscription", oversubscription,
	      "capacity down / up of a leaf"),
	BALANCE(gen_fat_tree),
	SCALE_UP,
};

static const struct gen_option rail_options[] = {
	NEEDED(gen_rail, "hosts-per-group", hosts_per_group,
	       "hosts that share rail switches"),
	COUNT(gen_rail, "groups", n_groups, "such groups (1)"),
	COUNT(gen_rail, "rails", n_rails, "interfaces of a host, one a rail (8)"),
	COUNT(gen_rail, "spines", n_spines,
	      "spine switches (default: from the oversubscription; none for one group)"),
	COUNT(gen_rail, "parallel", n_parallel,
	      "cables from each rail switch to each spine (1)"),
	COUNT(gen_rail, "slots", n_slots, "slots of a host (as rails)"),
	GBPS(gen_rail, "gbps", host_bps, "one interface of a host (100)"),
	GBPS(gen_rail, "uplink-gbps", uplink_bps,
	     "one cable up (default: follows, else as a host's)"),
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
	GBPS(gen_three_tier, "gbps", host_bps, "interface of a host (100)"),
	GBPS(gen_three_tier, "access-uplink-gbps", access_uplink_bps,
	     "one cable up from access"),
	GBPS(gen_three_tier, "agg-uplink-gbps", agg_uplink_bps,
	     "one cable up from aggregation"),
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

enum {
	LEAF_SPINE,
	FAT_TREE,
	RAIL,
	THREE_TIER,
	TORUS,
	RING,
	DRAGONFLY,
};

const struct gen_kind gen_kinds[GEN_N_KINDS] = {
	[LEAF_SPINE] = { "leaf-spine", "two tiers, every leaf on every spine",
			 leaf_spine_options, COUNT_OF(leaf_spine_options) },
	[FAT_TREE] = { "fat-tree", "three tiers of switches with k ports",
		       fat_tree_options, COUNT_OF(fat_tree_options) },
	[RAIL] = { "rail-optimized", "interface r of every host on rail switch r",
		   rail_options, COUNT_OF(rail_options) },
	[THREE_TIER] = { "three-tier", "access, aggregation and core",
			 three_tier_options, COUNT_OF(three_tier_options) },
	[TORUS] = { "torus",
		    "a torus of two or three dimensions, hosts at its switches",
		    torus_options, COUNT_OF(torus_options) },
	[RING] = { "ring", "a ring of switches, hosts at each", ring_options,
		   COUNT_OF(ring_options) },
	[DRAGONFLY] = { "dragonfly",
			"groups of routers, each with cables to all others",
			dragonfly_options, COUNT_OF(dragonfly_options) },
};

const struct gen_kind *
gen_find_kind(const char *name, struct err *err)
{
	const char *names[GEN_N_KINDS + 1] = { NULL };

	for (size_t i = 0; i < GEN_N_KINDS; i++) {
		if (strcmp(gen_kinds[i].name, name) == 0)
			return &gen_kinds[i];
		names[i] = gen_kinds[i].name;
	}
	err_set(err, NULL, 0, 0,
		"unknown kind '%s', expected leaf-spine, fat-tree, rail-optimized, "
		"three-tier, torus, ring or dragonfly",
		name);
	if (err)
		err_suggest(err, name, names);
	return NULL;
}

int
gen_parse_dims(const struct gen_option *option, const char *text, double *ret_value,
	       struct err *err)
{
	struct topo_routing torus;
	double value = 0;

	if (topo_torus_parse(text, &torus) < 0)
		return err_set(err, NULL, 0, 0,
			       "--%s is '%s', expected 1 to %d sizes such as 8x8x4",
			       option->name, text, TOPO_MAX_DIMS);
	for (uint32_t i = torus.n_dims; i-- > 0;) {
		if (torus.dims[i] >= GEN_MAX_DIM)
			return err_set(err, NULL, 0, 0,
				       "--%s has the size %u, expected at most %d",
				       option->name, torus.dims[i], GEN_MAX_DIM - 1);
		value = value * GEN_MAX_DIM + torus.dims[i];
	}
	*ret_value = value;
	return 0;
}

/* The sizes of a value of GEN_DIMS, which may be any number. */
static void
take_dims(double value, void *member)
{
	uint32_t dims[TOPO_MAX_DIMS];

	if (!(value >= 0 && value < 9e15))
		value = 0;
	for (int i = 0; i < TOPO_MAX_DIMS; i++) {
		dims[i] = (uint32_t)fmod(value, GEN_MAX_DIM);
		value = floor(value / GEN_MAX_DIM);
	}
	memcpy(member, dims, sizeof dims);
}

int
gen_build(const struct gen_kind *kind, const double *values, struct topo **ret_topo,
	  struct err *err)
{
	struct options options;
	struct topo *topo;
	int r;

	memset(&options, 0, sizeof options);
	for (size_t i = 0; i < kind->n_options; i++) {
		const struct gen_option *option = &kind->options[i];
		char *member = (char *)&options + option->offset;
		double value = values[i];
		uint32_t count;

		if (option->is_needed && value == 0)
			return err_set(err, NULL, 0, 0, "a %s needs --%s %s: %s",
				       kind->name, option->name, option->argument,
				       option->help);
		if (option->type == GEN_DIMS) {
			take_dims(value, member);
			continue;
		}
		if (option->type == GEN_WORD) {
			count = value > 0 ? (uint32_t)value - 1 : 0;
			memcpy(member, &count, sizeof count);
			continue;
		}
		if (!(value >= 0) || !isfinite(value) ||
		    (option->type == GEN_COUNT &&
		     (value > TOPO_MAX_NODES || value != floor(value))))
			return err_set(err, NULL, 0, 0, "--%s is %g, expected %s",
				       option->name, value,
				       option->type == GEN_COUNT
					       ? "a whole number up to 1000000"
					       : "a number above 0");
		if (option->type == GEN_GBPS)
			value *= 1e9;
		count = option->type == GEN_COUNT ? (uint32_t)value : 0;
		if (option->type == GEN_COUNT)
			memcpy(member, &count, sizeof count);
		else
			memcpy(member, &value, sizeof value);
	}
	switch (kind - gen_kinds) {
	case LEAF_SPINE:
		r = gen_leaf_spine(&options.kind.leaf_spine, &topo, err);
		break;
	case FAT_TREE:
		r = gen_fat_tree(&options.kind.fat_tree, &topo, err);
		break;
	case RAIL:
		r = gen_rail(&options.kind.rail, &topo, err);
		break;
	case THREE_TIER:
		r = gen_three_tier(&options.kind.three_tier, &topo, err);
		break;
	case DRAGONFLY:
		r = gen_dragonfly(&options.kind.dragonfly, &topo, err);
		break;
	default:
		r = gen_torus(&options.kind.torus, &topo, err);
	}
	return r < 0 ? r : gen_scale_up(topo, &options.scale_up, ret_topo, err);
}

static int
unknown_option(const struct gen_kind *kind, const char *word, struct err *err)
{
	const char *names[GEN_MAX_OPTIONS + 1] = { NULL };
	const char *meant;

	for (size_t i = 0; i < kind->n_options; i++)
		names[i] = kind->options[i].name;
	meant = err_did_you_mean(word + strspn(word, "-"), names);
	err_set(err, NULL, 0, 0, "a %s has no option '%s'", kind->name, word);
	if (meant)
		err_append(err, " (did you mean '--%s'?)", meant);
	return -EINVAL;
}

static int
read_word(const struct gen_option *option, const char *word, double *ret_value,
	  struct err *err)
{
	int index = words_index(word, option->words);
	struct strbuf known = STRBUF_EMPTY;

	if (index >= 0) {
		*ret_value = index + 1;
		return 0;
	}
	for (size_t i = 0; option->words[i]; i++)
		strbuf_printf(&known, "%s%s",
			      i == 0                 ? ""
			      : option->words[i + 1] ? ", "
						     : " or ",
			      option->words[i]);
	err_set(err, NULL, 0, 0, "--%s is '%s', expected %s", option->name, word,
		known.text);
	if (err)
		err_suggest(err, word, option->words);
	strbuf_free(&known);
	return -EINVAL;
}

/*
 * Reads the option 'word', perhaps with its value, into 'values'; further words come
 * from strtok_r() with 'words'.
 */
static int
read_option(const struct gen_kind *kind, char *word, char **words, double *values,
	    struct err *err)
{
	char *value = strchr(word, '=');
	size_t i = 0;

	if (value)
		*value++ = '\0';
	while (i < kind->n_options && (strncmp(word, "--", 2) != 0 ||
				       strcmp(word + 2, kind->options[i].name) != 0))
		i++;
	if (i == kind->n_options)
		return unknown_option(kind, word, err);
	if (!value)
		value = strtok_r(NULL, " \t", words);
	if (!value)
		return err_set(err, NULL, 0, 0, "%s has no value", word);
	if (values[i] != 0)
		return err_set(err, NULL, 0, 0, "%s is given twice", word);
	if (kind->options[i].type == GEN_DIMS)
		return gen_parse_dims(&kind->options[i], value, &values[i], err);
	if (kind->options[i].type == GEN_WORD)
		return read_word(&kind->options[i], value, &values[i], err);
	if (units_parse_ratio(value, &values[i]) < 0 ||
	    (kind->options[i].type != GEN_RATIO && strchr(value, ':')) ||
	    !(values[i] > 0))
		return err_set(err, NULL, 0, 0, "%s is '%s', expected a number above 0",
			       word, value);
	return 0;
}

int
gen_text(const char *text, struct topo **ret_topo, struct err *err)
{
	char *copy = xstrdup(text), *words;
	char *word = strtok_r(copy, " \t", &words);
	double values[GEN_MAX_OPTIONS] = { 0 };
	const struct gen_kind *kind;
	int r;

	kind = gen_find_kind(word ? word : "", err);
	r = kind ? 0 : -EINVAL;
	while (r == 0 && (word = strtok_r(NULL, " \t", &words)))
		r = read_option(kind, word, &words, values, err);
	if (r == 0)
		r = gen_build(kind, values, ret_topo, err);
	free(copy);
	return r;
}
