/* SPDX-License-Identifier: Apache-2.0 */
/* gen_torus.c - rings and tori: cables within one tier. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"
#include "topology/routing.h"

/* The sizes as a routing, whose other dimensions are 1. */
static int
take_sizes(const uint32_t *dims, struct topo_routing *ret_routing, struct err *err)
{
	struct topo_routing routing = { .method = TOPO_TORUS, .dims = { 1, 1, 1 } };
	double n = 1;

	while (routing.n_dims < TOPO_MAX_DIMS && dims[routing.n_dims]) {
		routing.dims[routing.n_dims] = dims[routing.n_dims];
		n *= dims[routing.n_dims++];
	}
	if (n > TOPO_MAX_NODES)
		return gen_check_size(n, 0, err);
	if (topo_routing_check(&routing, (uint32_t)n, 0, err) < 0)
		return -EINVAL;
	*ret_routing = routing;
	return 0;
}

/* The cables of switch number 'v' to its neighbors upward. */
static void
cable_switch(struct topo_builder *b, const struct gen_torus *o,
	     const struct topo_routing *routing, uint32_t switches, uint32_t v)
{
	uint32_t at[TOPO_MAX_DIMS], stride = 1, port = o->hosts_per_switch;

	topo_torus_place(routing, v, at);
	for (uint32_t dim = 0; dim < routing->n_dims; dim++) {
		uint32_t size = routing->dims[dim], n = o->n_parallel;
		uint32_t next =
			at[dim] + 1 < size ? v + stride : v - (size - 1) * stride;
		/* A ring of two has one neighbor. */
		bool has_cables = size > 2 || (size == 2 && at[dim] == 0);

		for (uint32_t i = 0; has_cables && i < n; i++)
			gen_cable(b, switches + v, port + i, switches + next,
				  port + n + i, o->link_bps);
		port += 2 * n;
		stride *= size;
	}
}

static int
check(const struct gen_torus *o, const struct topo_routing *routing, struct err *err)
{
	double n = (double)routing->dims[0] * routing->dims[1] * routing->dims[2];
	int r = gen_check_ranges(
		(const struct gen_range[]){
			{ "hosts of a switch", o->hosts_per_switch, 1, TOPO_MAX_NODES },
			{ "parallel cables", o->n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", o->n_slots, 1, TOPO_MAX_SLOTS },
		},
		3, err);

	if (r < 0 || (r = gen_check_balance(&o->balance, 1, err)) < 0 ||
	    (r = gen_check_bps("a host", o->host_bps, err)) < 0 ||
	    (r = gen_check_bps("a cable between switches", o->link_bps, err)) < 0)
		return r;
	return gen_check_size(
		n * (o->hosts_per_switch + 1.),
		n * (o->hosts_per_switch + (double)routing->n_dims * o->n_parallel),
		err);
}

int
gen_torus(const struct gen_torus *options, struct topo **ret_topo, struct err *err)
{
	struct gen_torus o = *options;
	struct strbuf name = STRBUF_EMPTY;
	struct topo_routing routing;
	struct topo_builder *b;
	uint32_t hosts, switches, n;
	int r;

	o.hosts_per_switch = o.hosts_per_switch ? o.hosts_per_switch : 1;
	o.n_parallel = o.n_parallel ? o.n_parallel : 1;
	o.n_slots = o.n_slots ? o.n_slots : 1;
	o.host_bps = o.host_bps != 0 ? round(o.host_bps) : GEN_DEFAULT_BPS;
	o.link_bps = o.link_bps != 0 ? round(o.link_bps) : o.host_bps;
	if ((r = take_sizes(o.dims, &routing, err)) < 0 ||
	    (r = check(&o, &routing, err)) < 0)
		return r;
	n = routing.dims[0] * routing.dims[1] * routing.dims[2];
	strbuf_puts(&name, routing.n_dims == 1 ? "ring" : "torus");
	for (uint32_t i = 0; i < routing.n_dims; i++)
		strbuf_printf(&name, "%c%u", i ? 'x' : '-', routing.dims[i]);
	b = topo_builder_new(name.text);
	strbuf_free(&name);
	hosts = gen_hosts(b, n * o.hosts_per_switch, o.n_slots);
	switches = gen_switches(b, "s", n, 1);
	gen_set_balance(b, 1, &o.balance);
	BUG_ON(topo_builder_routing(b, &routing) < 0);
	for (uint32_t i = 0; i < n * o.hosts_per_switch; i++)
		gen_cable(b, hosts + i, 0, switches + i / o.hosts_per_switch,
			  i % o.hosts_per_switch, o.host_bps);
	for (uint32_t v = 0; v < n; v++)
		cable_switch(b, &o, &routing, switches, v);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
