/* SPDX-License-Identifier: Apache-2.0 */
/* gen_rail.c - rail switches, for servers with an interface on each or for their GPUs. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"

const char *const gen_rail_hosts[] = { "server", "gpu", NULL };

static bool
has_gpus(const struct gen_rail *o)
{
	return o->host_kind == 1;
}

/* Hosts of a group that have an interface on one rail switch. */
static uint32_t
hosts_per_rail(const struct gen_rail *o)
{
	return has_gpus(o) ? o->hosts_per_group / o->n_rails : o->hosts_per_group;
}

/* One group of servers needs no spines, unless the options ask for some. */
static bool
has_spines(const struct gen_rail *o)
{
	return o->n_groups > 1 || has_gpus(o) || o->n_spines ||
	       gen_speed_of(&o->uplink_speeds, 0) != 0 || o->oversubscription != 0;
}

/* The options, with what is not given filled in. */
static int
complete(struct gen_rail *o, struct err *err)
{
	int r;

	o->n_groups = o->n_groups ? o->n_groups : 1;
	o->n_rails = o->n_rails ? o->n_rails : 8;
	o->n_parallel = o->n_parallel ? o->n_parallel : 1;
	if (!o->n_slots)
		o->n_slots = has_gpus(o) ? 1 : o->n_rails;
	o->host_speeds = gen_speeds_or(&o->host_speeds, o->host_bps, GEN_DEFAULT_BPS);
	o->uplink_speeds = gen_speeds_or(&o->uplink_speeds, o->uplink_bps, 0);
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "groups", o->n_groups, 1, TOPO_MAX_NODES },
			{ "hosts of a group", o->hosts_per_group, 1, TOPO_MAX_NODES },
			{ "rails", o->n_rails, 1, TOPO_MAX_SLOTS },
			{ "spines", o->n_spines, 0, TOPO_MAX_NODES },
			{ "parallel cables", o->n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", o->n_slots, 1, TOPO_MAX_SLOTS },
		},
		6, err);
	if (r < 0 ||
	    (r = gen_check_balance(&o->balance, has_spines(o) ? 2 : 1, err)) < 0 ||
	    (r = gen_check_speeds(&o->host_speeds, "hosts", o->n_groups, "groups",
				  err)) < 0)
		return r;
	if (has_gpus(o) && o->hosts_per_group % o->n_rails)
		return err_set(
			err, NULL, 0, 0,
			"a group has %u GPUs on %u rails, expected a multiple of "
			"the number of rails",
			o->hosts_per_group, o->n_rails);
	return gen_check_speeds(&o->uplink_speeds, "uplinks", o->n_groups, "groups",
				err);
}

/* The uplinks of the rail switches of a group; '*n_spines' as in gen_resolve_part(). */
static int
resolve_group(const struct gen_rail *o, uint32_t group, uint32_t *n_spines,
	      struct gen_uplinks *ret_uplinks, struct err *err)
{
	double host_bps = gen_speed_of(&o->host_speeds, group);
	struct gen_uplinks u = {
		.below = "a rail switch",
		.above = "spines",
		.down_bps = hosts_per_rail(o) * host_bps,
		.n_parallel = o->n_parallel,
		.default_bps = host_bps,
		.n_above = o->n_spines,
		.uplink_bps = gen_speed_of(&o->uplink_speeds, group),
		.oversubscription = o->oversubscription,
	};
	int r = gen_check_bps("a host", host_bps, err);

	if (r == 0 && has_spines(o))
		r = gen_resolve_part(&u, "group ", group, n_spines, err);
	if (r == 0)
		*ret_uplinks = u;
	return r;
}

/* The cables of one rail switch: its hosts, then the spines. */
static void
cable_rail(struct topo_builder *b, const struct gen_rail *o,
	   const struct gen_uplinks *u, uint32_t rail_switch, uint32_t group,
	   uint32_t rail, uint32_t spines)
{
	uint32_t number = group * o->n_rails + rail, n = hosts_per_rail(o);
	double host_bps = gen_speed_of(&o->host_speeds, group);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t host = has_gpus(o) ? i * o->n_rails + rail : i;

		gen_cable(b, group * o->hosts_per_group + host, has_gpus(o) ? 0 : rail,
			  rail_switch, i, host_bps);
	}
	for (uint32_t j = 0; j < u->n_above * o->n_parallel; j++)
		gen_cable(b, rail_switch, n + j, spines + j / o->n_parallel,
			  number * o->n_parallel + j % o->n_parallel, u->uplink_bps);
}

static void
build_rail(struct topo_builder *b, const struct gen_rail *o, uint32_t n_spines)
{
	uint32_t first = 0, id, spines;
	char name[TOPO_MAX_NAME + 1];
	struct gen_uplinks u;

	gen_hosts(b, o->n_groups * o->hosts_per_group, o->n_slots);
	for (uint32_t i = 0; i < o->n_groups * o->n_rails; i++) {
		snprintf(name, sizeof name, "g%ur%u", i / o->n_rails, i % o->n_rails);
		BUG_ON(topo_builder_switch(b, name, 1, &id) < 0);
		if (i == 0)
			first = id;
	}
	spines = gen_switches(b, "spine", n_spines, 2);
	for (uint32_t i = 0; i < o->n_groups * o->n_rails; i++) {
		BUG_ON(resolve_group(o, i / o->n_rails, &n_spines, &u, NULL) < 0);
		cable_rail(b, o, &u, first + i, i / o->n_rails, i % o->n_rails, spines);
	}
}

int
gen_rail(const struct gen_rail *options, struct topo **ret_topo, struct err *err)
{
	struct gen_rail o = *options;
	struct gen_uplinks u;
	struct topo_builder *b;
	uint32_t n_spines = o.n_spines;
	double n_switches;
	char name[64];
	int r = complete(&o, err);

	for (uint32_t i = 0; r == 0 && i < o.n_groups; i++)
		r = resolve_group(&o, i, &n_spines, &u, err);
	n_switches = (double)o.n_groups * o.n_rails;
	if (r < 0 || (r = gen_check_size((double)o.n_groups * o.hosts_per_group +
						 n_switches + n_spines,
					 n_switches * (hosts_per_rail(&o) +
						       (double)n_spines * o.n_parallel),
					 err)) < 0)
		return r;

	snprintf(name, sizeof name, "rail-optimized-%ux%u-%u", o.n_groups,
		 o.hosts_per_group, o.n_rails);
	b = topo_builder_new(name);
	build_rail(b, &o, n_spines);
	gen_set_balance(b, n_spines ? 2 : 1, &o.balance);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
