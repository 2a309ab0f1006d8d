/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domains.h - the fabric as nested domains: the hosts under each switch, tier by tier
 *
 * A domain of tier t is a set of switches of that tier with everything below them: in a
 * leaf-spine a leaf with its hosts, and all leaves under all spines together.  Domains
 * nest even where a switch has several switches above it, as schedulers want for trees
 * of HyperNodes or labels.  A host without a switch in a tier has no domain of that
 * tier.
 *
 * Pure; memory is linear in nodes, time in links and tiers.
 */
#ifndef TOPOLOGY_DOMAINS_H
#define TOPOLOGY_DOMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct topo;

struct topo_domain {
	uint32_t tier;       /* From 1. */
	uint32_t node;       /* The first of its switches of that tier. */
	uint32_t n_switches; /* Of that tier. */
	uint32_t parent;     /* Number of the enclosing domain, or TOPO_NONE. */
};

struct topo_domains {
	struct topo_domain *items; /* Owned.  By tier, ascending, then by node. */
	size_t n;
	uint32_t *of_host; /* Owned.  By topo_host_number(); TOPO_NONE: in none. */
};

void topo_domains_init(struct topo_domains *domains, const struct topo *topo);
void topo_domains_fini(struct topo_domains *domains);

/* What a domain consists of: numbers of hosts without a closer domain, and of domains.
 */
struct topo_members {
	VEC(uint32_t) hosts, domains;
};

/*
 * Returns the members of each domain, a new array of 'domains->n' elements for
 * topo_members_free().  A domain without hosts has none, and is in none.
 */
struct topo_members *topo_members_new(const struct topo *topo,
				      const struct topo_domains *domains);
void topo_members_free(struct topo_members *members, size_t n);

#endif
