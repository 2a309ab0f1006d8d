/* SPDX-License-Identifier: Apache-2.0 */
/* gen.c - code shared by the generators, and the fabrics of two tiers. */
#include "topology/gen.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen_priv.h"
#include "topology/topo.h"

#define MAX_OVERSUBSCRIPTION 1e6
#define TOLERANCE            1e-9 /* Relative tolerance for numbers typed by users. */

int
gen_check_ranges(const struct gen_range *ranges, int n, struct err *err)
{
	for (int i = 0; i < n; i++) {
		const struct gen_range *r = &ranges[i];

		if (r->value < r->min || r->value > r->max)
			return err_set(err, NULL, 0, 0,
				       "number of %s is %u, expected %u to %u", r->what,
				       r->value, r->min, r->max);
	}
	return 0;
}

int
gen_check_bps(const char *what, double bps, struct err *err)
{
	if (bps >= 1 && bps <= TOPO_MAX_BPS)
		return 0;
	return err_set(err, NULL, 0, 0,
		       "capacity of %s is %g Gb/s, expected above 0 and at most %g",
		       what, bps / 1e9, TOPO_MAX_BPS / 1e9);
}

int
gen_check_size(double n_nodes, double n_cables, struct err *err)
{
	if (n_nodes > TOPO_MAX_NODES)
		err_set(err, NULL, 0, 0, "that makes %.0f nodes, expected at most %d",
			n_nodes, TOPO_MAX_NODES);
	else if (2 * n_cables > TOPO_MAX_LINKS)
		err_set(err, NULL, 0, 0, "that makes %.0f cables, expected at most %d",
			n_cables, TOPO_MAX_LINKS / 2);
	else
		return 0;
	return -E2BIG;
}

/* The number of upper switches for the oversubscription, which must be whole. */
static int
derive_above(struct gen_uplinks *u, double want_bps, struct err *err)
{
	double n = want_bps / (u->n_parallel * u->uplink_bps);
	double whole = nearbyint(n);

	if (whole < 1 || whole > TOPO_MAX_NODES || fabs(n - whole) > TOLERANCE * n)
		return err_set(err, NULL, 0, 0,
			       "a %s has %g Gb/s down and at %g:1 needs %g Gb/s up: %g "
			       "%s with %u x %g Gb/s each, expected a whole number; "
			       "give the number of %s or another uplink speed",
			       u->below, u->down_bps / 1e9, u->oversubscription,
			       want_bps / 1e9, n, u->above, u->n_parallel,
			       u->uplink_bps / 1e9, u->above);
	u->n_above = (uint32_t)whole;
	return 0;
}

int
gen_resolve(struct gen_uplinks *u, struct err *err)
{
	double ratio = u->oversubscription, up_bps;

	if (!(ratio >= 0) || ratio > MAX_OVERSUBSCRIPTION)
		return err_set(
			err, NULL, 0, 0,
			"oversubscription is %g, expected above 0 and at most %g",
			ratio, MAX_OVERSUBSCRIPTION);
	if (u->uplink_bps == 0 && u->n_above && ratio > 0)
		u->uplink_bps = round(u->down_bps / ratio / u->n_above / u->n_parallel);
	else if (u->uplink_bps == 0)
		u->uplink_bps = u->default_bps;
	if (gen_check_bps("an uplink", u->uplink_bps, err) < 0)
		return -EINVAL;
	if (!u->n_above) {
		if (ratio == 0)
			u->oversubscription = ratio = 1;
		if (derive_above(u, u->down_bps / ratio, err) < 0)
			return -EINVAL;
	}
	up_bps = u->uplink_bps * u->n_parallel * u->n_above;
	/* Capacities are whole bits per second: allow for that rounding. */
	if (ratio > 0 &&
	    fabs(u->down_bps / ratio - up_bps) >
		    TOLERANCE * up_bps + u->n_parallel * (double)u->n_above)
		return err_set(
			err, NULL, 0, 0,
			"a %s has %g Gb/s down and %u x %u x %g = %g Gb/s up, "
			"which is %g:1, not %g:1; leave out the number of %s, the "
			"uplink speed or the oversubscription",
			u->below, u->down_bps / 1e9, u->n_above, u->n_parallel,
			u->uplink_bps / 1e9, up_bps / 1e9, u->down_bps / up_bps, ratio,
			u->above);
	u->oversubscription = u->down_bps / up_bps;
	return 0;
}

uint32_t
gen_hosts(struct topo_builder *b, uint32_t n, uint32_t n_slots)
{
	uint32_t first = 0, id = 0;
	char name[TOPO_MAX_NAME + 1];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "h%u", i);
		BUG_ON(topo_builder_host(b, name, n_slots, &id) < 0);
		if (i == 0)
			first = id;
	}
	return first;
}

uint32_t
gen_switches(struct topo_builder *b, const char *prefix, uint32_t n, uint32_t tier)
{
	uint32_t first = 0, id = 0;
	char name[TOPO_MAX_NAME + 1];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s%u", prefix, i);
		BUG_ON(topo_builder_switch(b, name, tier, &id) < 0);
		if (i == 0)
			first = id;
	}
	return first;
}

void
gen_balance(struct topo_builder *b, uint32_t n_tiers, enum topo_balance balance)
{
	for (uint32_t tier = 1; tier <= n_tiers; tier++)
		BUG_ON(topo_builder_balance(b, tier, balance) < 0);
}

void
gen_cable(struct topo_builder *b, uint32_t a, uint32_t a_port, uint32_t z,
	  uint32_t z_port, double bps)
{
	char a_name[16], z_name[16];

	snprintf(a_name, sizeof a_name, "p%u", a_port);
	snprintf(z_name, sizeof z_name, "p%u", z_port);
	BUG_ON(topo_builder_cable(b, a, a_name, z, z_name, bps, bps) < 0);
}

int
gen_leaf_spine(const struct gen_leaf_spine *options, struct topo **ret_topo,
	       struct err *err)
{
	struct gen_leaf_spine o = *options;
	struct gen_uplinks u;
	struct topo_builder *b;
	uint32_t hosts, leaves, spines;
	char name[64];
	int r;

	o.n_parallel = o.n_parallel ? o.n_parallel : 1;
	o.n_slots = o.n_slots ? o.n_slots : 1;
	o.host_bps = o.host_bps != 0 ? round(o.host_bps) : GEN_DEFAULT_BPS;
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "leaves", o.n_leaves, 1, TOPO_MAX_NODES },
			{ "hosts of a leaf", o.hosts_per_leaf, 1, TOPO_MAX_NODES },
			{ "spines", o.n_spines, 0, TOPO_MAX_NODES },
			{ "parallel cables", o.n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", o.n_slots, 1, TOPO_MAX_SLOTS },
		},
		5, err);
	if (r < 0 || (r = gen_check_bps("a host", o.host_bps, err)) < 0)
		return r;
	u = (struct gen_uplinks){
		.below = "leaf",
		.above = "spines",
		.down_bps = o.hosts_per_leaf * o.host_bps,
		.n_parallel = o.n_parallel,
		.default_bps = o.host_bps,
		.n_above = o.n_spines,
		.uplink_bps = round(o.uplink_bps),
		.oversubscription = o.oversubscription,
	};
	if ((r = gen_resolve(&u, err)) < 0 ||
	    (r = gen_check_size(
		     (double)o.n_leaves * (o.hosts_per_leaf + 1.) + u.n_above,
		     (double)o.n_leaves *
			     (o.hosts_per_leaf + (double)u.n_above * o.n_parallel),
		     err)) < 0)
		return r;

	snprintf(name, sizeof name, "leaf-spine-%ux%u-%u", o.n_leaves, o.hosts_per_leaf,
		 u.n_above);
	b = topo_builder_new(name);
	hosts = gen_hosts(b, o.n_leaves * o.hosts_per_leaf, o.n_slots);
	leaves = gen_switches(b, "leaf", o.n_leaves, 1);
	spines = gen_switches(b, "spine", u.n_above, 2);
	gen_balance(b, 2, o.balance);
	for (uint32_t i = 0; i < o.n_leaves * o.hosts_per_leaf; i++)
		gen_cable(b, hosts + i, 0, leaves + i / o.hosts_per_leaf,
			  i % o.hosts_per_leaf, o.host_bps);
	for (uint32_t i = 0; i < o.n_leaves; i++) {
		for (uint32_t j = 0; j < u.n_above * o.n_parallel; j++)
			gen_cable(b, leaves + i, o.hosts_per_leaf + j,
				  spines + j / o.n_parallel,
				  i * o.n_parallel + j % o.n_parallel, u.uplink_bps);
	}
	*ret_topo = topo_builder_finish(b);
	return 0;
}

/* The cables of one rail switch: its hosts, then the spines. */
static void
cable_rail(struct topo_builder *b, const struct gen_rail *o,
	   const struct gen_uplinks *u, uint32_t rail_switch, uint32_t group,
	   uint32_t rail, uint32_t spines)
{
	uint32_t number = group * o->n_rails + rail;

	for (uint32_t i = 0; i < o->hosts_per_group; i++)
		gen_cable(b, group * o->hosts_per_group + i, rail, rail_switch, i,
			  o->host_bps);
	for (uint32_t j = 0; j < u->n_above * o->n_parallel; j++)
		gen_cable(b, rail_switch, o->hosts_per_group + j,
			  spines + j / o->n_parallel,
			  number * o->n_parallel + j % o->n_parallel, u->uplink_bps);
}

static void
build_rail(struct topo_builder *b, const struct gen_rail *o,
	   const struct gen_uplinks *u)
{
	uint32_t first = 0, id, spines;
	char name[TOPO_MAX_NAME + 1];

	gen_hosts(b, o->n_groups * o->hosts_per_group, o->n_slots);
	for (uint32_t i = 0; i < o->n_groups * o->n_rails; i++) {
		snprintf(name, sizeof name, "g%ur%u", i / o->n_rails, i % o->n_rails);
		BUG_ON(topo_builder_switch(b, name, 1, &id) < 0);
		if (i == 0)
			first = id;
	}
	spines = gen_switches(b, "spine", u->n_above, 2);
	for (uint32_t i = 0; i < o->n_groups * o->n_rails; i++)
		cable_rail(b, o, u, first + i, i / o->n_rails, i % o->n_rails, spines);
}

int
gen_rail(const struct gen_rail *options, struct topo **ret_topo, struct err *err)
{
	struct gen_rail o = *options;
	struct gen_uplinks u;
	struct topo_builder *b;
	double n_rail_switches;
	char name[64];
	int r;

	o.n_groups = o.n_groups ? o.n_groups : 1;
	o.n_rails = o.n_rails ? o.n_rails : 8;
	o.n_parallel = o.n_parallel ? o.n_parallel : 1;
	o.n_slots = o.n_slots ? o.n_slots : o.n_rails;
	o.host_bps = o.host_bps != 0 ? round(o.host_bps) : GEN_DEFAULT_BPS;
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "groups", o.n_groups, 1, TOPO_MAX_NODES },
			{ "hosts of a group", o.hosts_per_group, 1, TOPO_MAX_NODES },
			{ "rails", o.n_rails, 1, TOPO_MAX_SLOTS },
			{ "spines", o.n_spines, 0, TOPO_MAX_NODES },
			{ "parallel cables", o.n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", o.n_slots, 1, TOPO_MAX_SLOTS },
		},
		6, err);
	if (r < 0 || (r = gen_check_bps("a host", o.host_bps, err)) < 0)
		return r;
	u = (struct gen_uplinks){
		.below = "rail switch",
		.above = "spines",
		.down_bps = o.hosts_per_group * o.host_bps,
		.n_parallel = o.n_parallel,
		.default_bps = o.host_bps,
		.n_above = o.n_spines,
		.uplink_bps = round(o.uplink_bps),
		.oversubscription = o.oversubscription,
	};
	/* One group needs no spines, unless the options ask for some. */
	if (o.n_groups > 1 || o.n_spines || o.uplink_bps != 0 ||
	    o.oversubscription != 0)
		r = gen_resolve(&u, err);
	n_rail_switches = (double)o.n_groups * o.n_rails;
	if (r < 0 ||
	    (r = gen_check_size((double)o.n_groups * o.hosts_per_group +
					n_rail_switches + u.n_above,
				n_rail_switches * (o.hosts_per_group +
						   (double)u.n_above * o.n_parallel),
				err)) < 0)
		return r;

	snprintf(name, sizeof name, "rail-optimized-%ux%u-%u", o.n_groups,
		 o.hosts_per_group, o.n_rails);
	b = topo_builder_new(name);
	build_rail(b, &o, &u);
	gen_balance(b, u.n_above ? 2 : 1, o.balance);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
