/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_tiers.c - the fabrics of three tiers: fat tree, and access, aggregation
 * and core.  Both are pods under cores; they differ in which cores an
 * aggregation switch reaches.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"
#include "topology/topo.h"

/* A fabric of pods, with all numbers known but the speeds that follow from others. */
struct pods {
	const char *access_prefix, *access_name;
	uint32_t n_pods, access_per_pod, agg_per_pod, hosts_per_access;
	uint32_t n_cores, cores_per_agg; /* Equal, unless each agg has its own. */
	uint32_t n_parallel, n_slots;
	struct gen_speeds hosts, access_uplinks, agg_uplinks; /* By pod. */
	double access_oversubscription, agg_oversubscription;
	struct gen_balance balance;
};

/* The speeds of one pod. */
struct pod_speeds {
	double host_bps, access_uplink_bps, agg_uplink_bps;
};

static int
resolve_pod(const struct pods *p, uint32_t pod, struct pod_speeds *ret_speeds,
	    struct err *err)
{
	double host_bps = gen_speed_of(&p->hosts, pod);
	struct gen_uplinks access = {
		.below = p->access_name,
		.above = "aggregation switches",
		.down_bps = p->hosts_per_access * host_bps,
		.n_parallel = p->n_parallel,
		.default_bps = host_bps,
		.n_above = p->agg_per_pod,
		.uplink_bps = gen_speed_of(&p->access_uplinks, pod),
		.oversubscription = p->access_oversubscription,
	};
	struct gen_uplinks agg = {
		.below = "an aggregation switch",
		.above = "cores",
		.n_parallel = p->n_parallel,
		.n_above = p->cores_per_agg,
		.uplink_bps = gen_speed_of(&p->agg_uplinks, pod),
		.oversubscription = p->agg_oversubscription,
	};
	uint32_t n_above = 0;
	int r = gen_check_bps("a host", host_bps, err);

	if (r == 0)
		r = gen_resolve_part(&access, "pod ", pod, &n_above, err);
	agg.down_bps = p->access_per_pod * p->n_parallel * access.uplink_bps;
	/* What goes down there is known now, so its uplinks can follow from it. */
	if (agg.uplink_bps == 0 && agg.oversubscription == 0)
		agg.oversubscription = 1;
	n_above = 0;
	if (r == 0)
		r = gen_resolve_part(&agg, "pod ", pod, &n_above, err);
	if (r < 0)
		return r;
	*ret_speeds = (struct pod_speeds){
		.host_bps = host_bps,
		.access_uplink_bps = access.uplink_bps,
		.agg_uplink_bps = agg.uplink_bps,
	};
	return 0;
}

static int
check_pods(const struct pods *p, struct err *err)
{
	struct pod_speeds speeds;
	int r = gen_check_balance(&p->balance, 3, err);

	if (r < 0 ||
	    (r = gen_check_speeds(&p->hosts, "hosts", p->n_pods, "pods", err)) < 0 ||
	    (r = gen_check_speeds(&p->access_uplinks, "uplinks", p->n_pods, "pods",
				  err)) < 0 ||
	    (r = gen_check_speeds(&p->agg_uplinks, "uplinks of aggregation", p->n_pods,
				  "pods", err)) < 0)
		return r;
	for (uint32_t pod = 0; r == 0 && pod < p->n_pods; pod++)
		r = resolve_pod(p, pod, &speeds, err);
	return r;
}

static int
check_pods_size(const struct pods *p, struct err *err)
{
	double n_access = (double)p->n_pods * p->access_per_pod;
	double n_agg = (double)p->n_pods * p->agg_per_pod;
	double n_hosts = n_access * p->hosts_per_access;

	return gen_check_size(n_hosts + n_access + n_agg + p->n_cores,
			      n_hosts + n_access * p->agg_per_pod * p->n_parallel +
				      n_agg * p->cores_per_agg * p->n_parallel,
			      err);
}

/* Cables of one aggregation switch, number 'j' of pod 'pod', to its cores. */
static void
cable_cores(struct topo_builder *b, const struct pods *p, double bps, uint32_t agg,
	    uint32_t pod, uint32_t j, uint32_t cores)
{
	bool is_shared = p->cores_per_agg == p->n_cores;
	uint32_t first = is_shared ? 0 : j * p->cores_per_agg;
	/* Index of this switch among those with a cable to the core. */
	uint32_t place = is_shared ? pod * p->agg_per_pod + j : pod;

	for (uint32_t c = 0; c < p->cores_per_agg; c++) {
		for (uint32_t i = 0; i < p->n_parallel; i++)
			gen_cable(b, agg, (p->access_per_pod + c) * p->n_parallel + i,
				  cores + first + c, place * p->n_parallel + i, bps);
	}
}

static struct topo *
build_pods(const struct pods *p, const char *name)
{
	struct topo_builder *b = topo_builder_new(name);
	uint32_t n_access = p->n_pods * p->access_per_pod;
	uint32_t n_agg = p->n_pods * p->agg_per_pod;
	uint32_t n_hosts = n_access * p->hosts_per_access;
	uint32_t hosts = gen_hosts(b, n_hosts, p->n_slots);
	uint32_t access = gen_switches(b, p->access_prefix, n_access, 1);
	uint32_t agg = gen_switches(b, "agg", n_agg, 2);
	uint32_t cores = gen_switches(b, "core", p->n_cores, 3);
	struct pod_speeds *speeds = xcalloc(p->n_pods, sizeof *speeds);

	for (uint32_t pod = 0; pod < p->n_pods; pod++)
		BUG_ON(resolve_pod(p, pod, &speeds[pod], NULL) < 0);
	gen_set_balance(b, 3, &p->balance);
	for (uint32_t i = 0; i < n_hosts; i++)
		gen_cable(b, hosts + i, 0, access + i / p->hosts_per_access,
			  i % p->hosts_per_access,
			  speeds[i / p->hosts_per_access / p->access_per_pod].host_bps);
	for (uint32_t i = 0; i < n_access; i++) {
		uint32_t pod = i / p->access_per_pod, place = i % p->access_per_pod;

		for (uint32_t j = 0; j < p->agg_per_pod * p->n_parallel; j++)
			gen_cable(b, access + i, p->hosts_per_access + j,
				  agg + pod * p->agg_per_pod + j / p->n_parallel,
				  place * p->n_parallel + j % p->n_parallel,
				  speeds[pod].access_uplink_bps);
	}
	for (uint32_t i = 0; i < n_agg; i++) {
		uint32_t pod = i / p->agg_per_pod;

		cable_cores(b, p, speeds[pod].agg_uplink_bps, agg + i, pod,
			    i % p->agg_per_pod, cores);
	}
	free(speeds);
	return topo_builder_finish(b);
}

int
gen_fat_tree(const struct gen_fat_tree *o, struct topo **ret_topo, struct err *err)
{
	uint32_t half = o->k / 2;
	struct pods p = {
		.access_prefix = "leaf",
		.access_name = "a leaf",
		.n_pods = o->k,
		.access_per_pod = half,
		.agg_per_pod = half,
		.hosts_per_access = half,
		.n_cores = half * half,
		.cores_per_agg = half,
		.n_parallel = o->n_parallel ? o->n_parallel : 1,
		.n_slots = o->n_slots ? o->n_slots : 1,
		.hosts = gen_speeds_or(&o->host_speeds, o->host_bps, GEN_DEFAULT_BPS),
		.access_uplinks = gen_speeds_or(&o->uplink_speeds, o->uplink_bps, 0),
		.agg_uplinks =
			gen_speeds_or(&o->agg_uplink_speeds, o->agg_uplink_bps, 0),
		.access_oversubscription = o->oversubscription,
		.agg_oversubscription = o->agg_oversubscription,
		.balance = o->balance,
	};
	char name[64];
	int r;

	if (o->k < 2 || o->k > 1024 || o->k % 2)
		return err_set(err, NULL, 0, 0,
			       "k is %u, expected an even number from 2 to 1024", o->k);
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "parallel cables", p.n_parallel, 1, TOPO_MAX_NODES },
			{ "slots", p.n_slots, 1, TOPO_MAX_SLOTS },
		},
		2, err);
	if (r < 0 || (r = check_pods(&p, err)) < 0 ||
	    (r = check_pods_size(&p, err)) < 0)
		return r;
	snprintf(name, sizeof name, "fat-tree-%u", o->k);
	*ret_topo = build_pods(&p, name);
	return 0;
}

int
gen_three_tier(const struct gen_three_tier *o, struct topo **ret_topo, struct err *err)
{
	struct pods p = {
		.access_prefix = "acc",
		.access_name = "an access switch",
		.n_pods = o->n_pods,
		.access_per_pod = o->access_per_pod,
		.agg_per_pod = o->agg_per_pod ? o->agg_per_pod : 2,
		.hosts_per_access = o->hosts_per_access,
		.n_cores = o->n_cores ? o->n_cores : 2,
		.n_parallel = o->n_parallel ? o->n_parallel : 1,
		.n_slots = o->n_slots ? o->n_slots : 1,
		.hosts = gen_speeds_or(&o->host_speeds, o->host_bps, GEN_DEFAULT_BPS),
		.access_uplinks = gen_speeds_or(&o->access_uplink_speeds,
						o->access_uplink_bps, 0),
		.agg_uplinks =
			gen_speeds_or(&o->agg_uplink_speeds, o->agg_uplink_bps, 0),
		.access_oversubscription = o->access_oversubscription,
		.agg_oversubscription = o->agg_oversubscription,
		.balance = o->balance,
	};
	char name[64];
	int r;

	p.cores_per_agg = p.n_cores;
	if (gen_speed_of(&p.access_uplinks, 0) == 0 && p.access_oversubscription == 0)
		p.access_oversubscription = 1;
	r = gen_check_ranges(
		(const struct gen_range[]){
			{ "pods", p.n_pods, 1, TOPO_MAX_NODES },
			{ "access switches of a pod", p.access_per_pod, 1,
			  TOPO_MAX_NODES },
			{ "hosts of an access switch", p.hosts_per_access, 1,
			  TOPO_MAX_NODES },
			{ "aggregation switches of a pod", p.agg_per_pod, 1,
			  TOPO_MAX_NODES },
			{ "cores", p.n_cores, 1, TOPO_MAX_NODES },
			{ "parallel cables", p.n_parallel, 1, 1000 },
			{ "slots", p.n_slots, 1, TOPO_MAX_SLOTS },
		},
		7, err);
	if (r < 0 || (r = check_pods(&p, err)) < 0 ||
	    (r = check_pods_size(&p, err)) < 0)
		return r;
	snprintf(name, sizeof name, "three-tier-%ux%ux%u", p.n_pods, p.access_per_pod,
		 p.hosts_per_access);
	*ret_topo = build_pods(&p, name);
	return 0;
}
