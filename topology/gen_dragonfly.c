/* SPDX-License-Identifier: Apache-2.0 */
/* gen_dragonfly.c - dragonflies: groups of routers, all of which have cables. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"
#include "topology/routing.h"

const char *const gen_dragonfly_routings[] = { "minimal", "valiant", NULL };

static int
check(const struct gen_dragonfly *o, struct err *err)
{
	double a = o->routers_per_group, g = o->n_groups, n_global = a * o->n_global;
	int r = gen_check_ranges(
		(const struct gen_range[]){
			{ "routers of a group", o->routers_per_group, 1,
			  TOPO_MAX_NODES },
			{ "hosts of a router", o->hosts_per_router, 1, TOPO_MAX_NODES },
			{ "cables of a router to other groups", o->n_global, 1,
			  TOPO_MAX_NODES },
			{ "groups", o->n_groups, 2, TOPO_MAX_NODES },
			{ "slots", o->n_slots, 1, TOPO_MAX_SLOTS },
		},
		5, err);

	if (r < 0 || (r = gen_check_balance(&o->balance, 1, err)) < 0 ||
	    (r = gen_check_bps("a host", o->host_bps, err)) < 0 ||
	    (r = gen_check_bps("a cable within a group", o->local_bps, err)) < 0 ||
	    (r = gen_check_bps("a cable between groups", o->global_bps, err)) < 0)
		return r;
	if (g > n_global + 1)
		return err_set(err, NULL, 0, 0,
			       "a group has %.0f cables to other groups, too few for "
			       "%.0f groups, expected at most %.0f",
			       n_global, g, n_global + 1);
	if (o->routing && o->balance.n_tiers &&
	    o->balance.tiers[0] != TOPO_BALANCE_HASH)
		return err_set(err, NULL, 0, 0,
			       "with valiant routing switches hash, expected no "
			       "--balance");
	return gen_check_size(
		g * a * (o->hosts_per_router + 1.),
		g * (a * o->hosts_per_router + a * (a - 1) / 2 + n_global / 2), err);
}

/* The cables within the group of router number 'v', to later ones. */
static void
cable_local(struct topo_builder *b, const struct gen_dragonfly *o, uint32_t routers,
	    uint32_t v)
{
	uint32_t a = o->routers_per_group, p = o->hosts_per_router, i = v % a;

	for (uint32_t j = i + 1; j < a; j++)
		gen_cable(b, routers + v, p + j - 1, routers + v - i + j, p + i,
			  o->local_bps);
}

/*
 * The cables of a group to later ones.  Its cable number c * (g - 1) + k goes to group k,
 * or k + 1 from the group itself on: the absolute arrangement.
 */
static void
cable_global(struct topo_builder *b, const struct gen_dragonfly *o, uint32_t routers,
	     uint32_t group)
{
	uint32_t a = o->routers_per_group, others = o->n_groups - 1;
	uint32_t first = o->hosts_per_router + a - 1;

	for (uint32_t to = group + 1; to < o->n_groups; to++) {
		for (uint32_t c = 0; c < a * o->n_global / others; c++) {
			uint32_t mine = c * others + to - 1,
				 theirs = c * others + group;

			gen_cable(b, routers + group * a + mine / o->n_global,
				  first + mine % o->n_global,
				  routers + to * a + theirs / o->n_global,
				  first + theirs % o->n_global, o->global_bps);
		}
	}
}

int
gen_dragonfly(const struct gen_dragonfly *options, struct topo **ret_topo,
	      struct err *err)
{
	struct gen_dragonfly o = *options;
	struct topo_routing routing = { .method = TOPO_DRAGONFLY, .dims = { 1, 1, 1 } };
	struct topo_builder *b;
	uint32_t routers = 0, n;
	char name[64];
	int r;

	o.n_slots = o.n_slots ? o.n_slots : 1;
	o.host_bps = o.host_bps != 0 ? round(o.host_bps) : GEN_DEFAULT_BPS;
	o.local_bps = o.local_bps != 0 ? round(o.local_bps) : o.host_bps;
	o.global_bps = o.global_bps != 0 ? round(o.global_bps) : o.host_bps;
	/* All that fit: then there is one cable between any two. */
	if (!o.n_groups && (double)o.routers_per_group * o.n_global < TOPO_MAX_NODES)
		o.n_groups = o.routers_per_group * o.n_global + 1;
	if ((r = check(&o, err)) < 0)
		return r;
	n = o.n_groups * o.routers_per_group;
	snprintf(name, sizeof name, "dragonfly-%ux%ux%u-%u", o.n_groups,
		 o.routers_per_group, o.hosts_per_router, o.n_global);
	b = topo_builder_new(name);
	gen_hosts(b, n * o.hosts_per_router, o.n_slots);
	for (uint32_t v = 0; v < n; v++) {
		uint32_t id;

		snprintf(name, sizeof name, "g%ur%u", v / o.routers_per_group,
			 v % o.routers_per_group);
		BUG_ON(topo_builder_switch(b, name, 1, &id) < 0);
		if (v == 0)
			routers = id;
	}
	gen_set_balance(b, 1, &o.balance);
	routing.n_groups = o.n_groups;
	routing.is_valiant = o.routing == 1;
	BUG_ON(topo_builder_routing(b, &routing) < 0);
	for (uint32_t i = 0; i < n * o.hosts_per_router; i++)
		gen_cable(b, i, 0, routers + i / o.hosts_per_router,
			  i % o.hosts_per_router, o.host_bps);
	for (uint32_t v = 0; v < n; v++)
		cable_local(b, &o, routers, v);
	for (uint32_t group = 0; group < o.n_groups; group++)
		cable_global(b, &o, routers, group);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
