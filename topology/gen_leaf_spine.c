/* SPDX-License-Identifier: Apache-2.0 */
/* gen_leaf_spine.c - two tiers, every leaf on every spine. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"

/* The options, with what is not given filled in. */
static int
complete(struct gen_leaf_spine *o, struct err *err)
{
	int r;

	o->n_parallel = o->n_parallel ? o->n_parallel : 1;
	o->n_slots = o->n_slots ? o->n_slots : 1;
	o->host_speeds = gen_speeds_or(&o->host_speeds, o->host_bps, GEN_DEFAULT_BPS);
	o->uplink_speeds = gen_speeds_or(&o->uplink_speeds, o->uplink_bps, 0);
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "leaves", o->n_leaves, 1, TOPO_MAX_NODES },
			{ "hosts of a leaf", o->hosts_per_leaf, 1, TOPO_MAX_NODES },
			{ "spines", o->n_spines, 0, TOPO_MAX_NODES },
			{ "parallel cables", o->n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", o->n_slots, 1, TOPO_MAX_SLOTS },
		},
		5, err);
	if (r < 0 || (r = gen_check_balance(&o->balance, 2, err)) < 0 ||
	    (r = gen_check_speeds(&o->host_speeds, "hosts", o->n_leaves, "leaves",
				  err)) < 0)
		return r;
	return gen_check_speeds(&o->uplink_speeds, "uplinks", o->n_leaves, "leaves",
				err);
}

/* The uplinks of one leaf; '*n_spines' as in gen_resolve_part(). */
static int
resolve_leaf(const struct gen_leaf_spine *o, uint32_t leaf, uint32_t *n_spines,
	     struct gen_uplinks *ret_uplinks, struct err *err)
{
	double host_bps = gen_speed_of(&o->host_speeds, leaf);
	struct gen_uplinks u = {
		.below = "a leaf",
		.above = "spines",
		.down_bps = o->hosts_per_leaf * host_bps,
		.n_parallel = o->n_parallel,
		.default_bps = host_bps,
		.n_above = o->n_spines,
		.uplink_bps = gen_speed_of(&o->uplink_speeds, leaf),
		.oversubscription = o->oversubscription,
	};
	int r = gen_check_bps("a host", host_bps, err);

	if (r < 0 || (r = gen_resolve_part(&u, "leaf", leaf, n_spines, err)) < 0)
		return r;
	*ret_uplinks = u;
	return 0;
}

static void
cable_leaf(struct topo_builder *b, const struct gen_leaf_spine *o, uint32_t number,
	   uint32_t leaf, uint32_t n_spines, uint32_t spines)
{
	struct gen_uplinks u;

	BUG_ON(resolve_leaf(o, number, &n_spines, &u, NULL) < 0);
	for (uint32_t j = 0; j < n_spines * o->n_parallel; j++)
		gen_cable(b, leaf, o->hosts_per_leaf + j, spines + j / o->n_parallel,
			  number * o->n_parallel + j % o->n_parallel, u.uplink_bps);
}

int
gen_leaf_spine(const struct gen_leaf_spine *options, struct topo **ret_topo,
	       struct err *err)
{
	struct gen_leaf_spine o = *options;
	struct gen_uplinks u;
	struct topo_builder *b;
	uint32_t hosts, leaves, spines, n_spines = o.n_spines;
	char name[64];
	int r = complete(&o, err);

	for (uint32_t i = 0; r == 0 && i < o.n_leaves; i++)
		r = resolve_leaf(&o, i, &n_spines, &u, err);
	if (r < 0 ||
	    (r = gen_check_size((double)o.n_leaves * (o.hosts_per_leaf + 1.) + n_spines,
				(double)o.n_leaves * (o.hosts_per_leaf +
						      (double)n_spines * o.n_parallel),
				err)) < 0)
		return r;

	snprintf(name, sizeof name, "leaf-spine-%ux%u-%u", o.n_leaves, o.hosts_per_leaf,
		 n_spines);
	b = topo_builder_new(name);
	hosts = gen_hosts(b, o.n_leaves * o.hosts_per_leaf, o.n_slots);
	leaves = gen_switches(b, "leaf", o.n_leaves, 1);
	spines = gen_switches(b, "spine", n_spines, 2);
	gen_set_balance(b, 2, &o.balance);
	for (uint32_t i = 0; i < o.n_leaves * o.hosts_per_leaf; i++)
		gen_cable(b, hosts + i, 0, leaves + i / o.hosts_per_leaf,
			  i % o.hosts_per_leaf,
			  gen_speed_of(&o.host_speeds, i / o.hosts_per_leaf));
	for (uint32_t i = 0; i < o.n_leaves; i++)
		cable_leaf(b, &o, i, leaves + i, n_spines, spines);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
