/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/domains.h"

#include <stdlib.h>

#include "lib/base/unionfind.h"
#include "lib/base/vec.h"
#include "topology/topo.h"

struct builder {
	const struct topo *topo;
	const uint32_t *hosts;
	size_t n_hosts;
	uint32_t *sets;  /* Of the nodes joined so far. */
	uint32_t *found; /* By root of a set: the domain of this tier, or TOPO_NONE. */
	VEC(struct topo_domain) domains;
	uint32_t *of_host;
};

/* Joins the nodes that links of this tier connect. */
static void
join_tier(struct builder *b, uint32_t tier)
{
	for (uint32_t i = 0; i < topo_n_links(b->topo); i++) {
		const struct topo_link *link = topo_link(b->topo, i);
		uint32_t from = topo_node(b->topo, link->from)->tier;
		uint32_t to = topo_node(b->topo, link->to)->tier;

		if (topo_node(b->topo, link->from)->is_scale_up ||
		    topo_node(b->topo, link->to)->is_scale_up)
			continue;
		if ((from > to ? from : to) == tier)
			unionfind_join(b->sets, link->from, link->to);
	}
}

/* Makes a domain of each set with switches of this tier. */
static void
add_domains(struct builder *b, uint32_t tier)
{
	for (uint32_t i = 0; i < topo_n_nodes(b->topo); i++) {
		uint32_t root = unionfind_root(b->sets, i);

		if (topo_node(b->topo, i)->tier != tier ||
		    topo_node(b->topo, i)->is_scale_up)
			continue;
		if (b->found[root] == TOPO_NONE) {
			b->found[root] = (uint32_t)b->domains.n;
			vec_push(&b->domains,
				 ((struct topo_domain){ .tier = tier,
							.node = i,
							.parent = TOPO_NONE }));
		}
		b->domains.items[b->found[root]].n_switches++;
	}
}

/* Sets the parents of the first 'n' domains, and of hosts, that have none. */
static void
nest(struct builder *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct topo_domain *domain = &b->domains.items[i];

		if (domain->parent == TOPO_NONE)
			domain->parent =
				b->found[unionfind_root(b->sets, domain->node)];
	}
	for (size_t i = 0; i < b->n_hosts; i++)
		if (b->of_host[i] == TOPO_NONE)
			b->of_host[i] = b->found[unionfind_root(b->sets, b->hosts[i])];
}

void
topo_domains_init(struct topo_domains *domains, const struct topo *topo)
{
	uint32_t n_nodes = topo_n_nodes(topo), max_tier = 0;
	struct builder b = { .topo = topo, .domains = VEC_EMPTY };

	b.hosts = topo_hosts(topo, &b.n_hosts);
	b.sets = xcalloc(n_nodes + 1, sizeof *b.sets);
	b.found = xcalloc(n_nodes + 1, sizeof *b.found);
	b.of_host = xcalloc(b.n_hosts + 1, sizeof *b.of_host);
	for (uint32_t i = 0; i < n_nodes; i++) {
		b.sets[i] = i;
		if (topo_node(topo, i)->tier > max_tier)
			max_tier = topo_node(topo, i)->tier;
	}
	for (size_t i = 0; i < b.n_hosts; i++)
		b.of_host[i] = TOPO_NONE;
	for (uint32_t tier = 1; tier <= max_tier; tier++) {
		size_t n_before = b.domains.n;

		join_tier(&b, tier);
		for (uint32_t i = 0; i < n_nodes; i++)
			b.found[i] = TOPO_NONE;
		add_domains(&b, tier);
		nest(&b, n_before);
	}
	free(b.sets);
	free(b.found);
	*domains = (struct topo_domains){ .items = b.domains.items,
					  .n = b.domains.n,
					  .of_host = b.of_host };
}

void
topo_domains_fini(struct topo_domains *domains)
{
	free(domains->items);
	free(domains->of_host);
	*domains = (struct topo_domains){ 0 };
}

struct topo_members *
topo_members_new(const struct topo *topo, const struct topo_domains *domains)
{
	struct topo_members *members = xcalloc(domains->n + 1, sizeof *members);

	for (uint32_t i = 0; i < topo_n_hosts(topo); i++)
		if (domains->of_host[i] != TOPO_NONE)
			vec_push(&members[domains->of_host[i]].hosts, i);
	/* Lower tiers come first, so those below 'i' are complete. */
	for (uint32_t i = 0; i < domains->n; i++)
		if ((members[i].hosts.n || members[i].domains.n) &&
		    domains->items[i].parent != TOPO_NONE)
			vec_push(&members[domains->items[i].parent].domains, i);
	return members;
}

void
topo_members_free(struct topo_members *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		vec_free(&members[i].hosts);
		vec_free(&members[i].domains);
	}
	free(members);
}
