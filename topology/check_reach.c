/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_reach.c - reachability: hosts with the same switches reach the same hosts, so
 * one host of each such group is checked against one of each other group.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/check.h"
#include "topology/check_priv.h"
#include "topology/route.h"
#include "topology/topo.h"

/* With more groups, each is compared with the reference only. */
#define MAX_SQUARED_GROUPS 20000

struct group {
	uint32_t first;  /* A host (node id) that represents the group. */
	uint32_t second; /* Another host of the group, or TOPO_NONE. */
	size_t n;        /* Hosts. */
	size_t n_lost;   /* Hosts without a path to or from the reference. */
	bool is_told;    /* Its fault has been added. */
};

struct groups {
	uint32_t *of_host; /* Owned.  Group by host number. */
	VEC(struct group) list;
};

/* A host at an end of a one-way link is a group of its own. */
static bool *
mark_one_way(const struct topo *topo)
{
	bool *marks = xcalloc((size_t)topo_n_nodes(topo) + 1, sizeof *marks);

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		if (topo_link(topo, i)->reverse == TOPO_NONE)
			marks[topo_link(topo, i)->from] =
				marks[topo_link(topo, i)->to] = true;
	}
	return marks;
}

static struct groups
find_groups(const struct topo *topo)
{
	struct strtab *keys = strtab_new();
	struct strbuf key = STRBUF_EMPTY;
	bool *is_one_way = mark_one_way(topo);
	struct groups groups = { NULL, VEC_EMPTY };
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	groups.of_host = xcalloc(n_hosts + 1, sizeof *groups.of_host);
	for (size_t i = 0; i < n_hosts; i++) {
		size_t n_out;
		const uint32_t *out = topo_links_out(topo, hosts[i], &n_out);
		struct group *group;
		uint32_t id;

		strbuf_clear(&key);
		if (is_one_way[hosts[i]])
			strbuf_printf(&key, "host %u", hosts[i]);
		for (size_t j = 0; !is_one_way[hosts[i]] && j < n_out; j++)
			strbuf_printf(&key, "%u,", topo_link(topo, out[j])->to);
		id = strtab_intern(keys, key.text);
		if (id == groups.list.n)
			vec_push(&groups.list,
				 ((struct group){ hosts[i], TOPO_NONE, 0, 0, false }));
		group = &groups.list.items[id];
		if (group->n++ == 1)
			group->second = hosts[i];
		groups.of_host[i] = id;
	}
	free(is_one_way);
	strbuf_free(&key);
	strtab_free(keys);
	return groups;
}

/* True if the hosts of group 'a' reach those of group 'b', which may be the same. */
static bool
reaches(struct routes *routes, const struct group *a, const struct group *b)
{
	uint32_t to = a == b ? b->second : b->first;

	return to == TOPO_NONE || routes_n_hops(routes, a->first, to) > 0;
}

static void
count_lost(struct routes *routes, struct groups *groups)
{
	for (size_t i = 0; i < groups->list.n; i++) {
		for (size_t j = 0; j < groups->list.n; j++) {
			struct group *a = &groups->list.items[i];
			struct group *b = &groups->list.items[j];

			if (reaches(routes, a, b))
				continue;
			a->n_lost += b->n;
			b->n_lost += a->n;
		}
	}
}

/* The group with paths to and from most hosts; the largest of those. */
static const struct group *
find_reference(const struct groups *groups)
{
	const struct group *best = &groups->list.items[0];

	for (size_t i = 1; i < groups->list.n; i++) {
		const struct group *group = &groups->list.items[i];

		if (group->n_lost < best->n_lost ||
		    (group->n_lost == best->n_lost && group->n > best->n))
			best = group;
	}
	return best;
}

static const char *
kind_of_path(const struct topo *topo)
{
	return topo_routing(topo)->method == TOPO_UP_DOWN ? "up-down " : "";
}

/* Faults against the reference, one line per host. */
static void
tell_hosts(const struct topo *topo, struct routes *routes, struct groups *groups,
	   const struct group *reference, struct topo_faults *faults)
{
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);
	const char *name = topo_node(topo, reference->first)->name;

	for (size_t i = 0; i < n_hosts; i++) {
		struct group *group = &groups->list.items[groups->of_host[i]];
		bool goes = reaches(routes, group, reference);
		bool comes = reaches(routes, reference, group);

		if (group == reference || (goes && comes))
			continue;
		group->is_told = true;
		topo_faults_add(faults, TOPO_FAULT_UNREACHABLE,
				"%s has no %spath %s %s",
				topo_node(topo, hosts[i])->name, kind_of_path(topo),
				goes    ? "from"
				: comes ? "to"
					: "to or from",
				name);
	}
}

/* "h0", "h0 and 1 other", "h0 and 2 others". */
static void
name_group(const struct topo *topo, uint32_t host, size_t n, struct strbuf *out)
{
	strbuf_puts(out, topo_node(topo, host)->name);
	if (n > 1)
		strbuf_printf(out, " and %zu other%s", n - 1, n == 2 ? "" : "s");
}

/* Faults between groups that both reach the reference, but not each other. */
static void
tell_pairs(const struct topo *topo, struct routes *routes, const struct groups *groups,
	   struct topo_faults *faults)
{
	struct strbuf text = STRBUF_EMPTY;

	for (size_t i = 0; i < groups->list.n; i++) {
		for (size_t j = 0; j < groups->list.n; j++) {
			const struct group *a = &groups->list.items[i];
			const struct group *b = &groups->list.items[j];

			if (!a->n_lost || !b->n_lost || a->is_told || b->is_told ||
			    reaches(routes, a, b))
				continue;
			strbuf_clear(&text);
			name_group(topo, a->first, a->n, &text);
			strbuf_puts(&text, a->n == 1 ? " has" : " have");
			strbuf_printf(&text, " no %spath to ", kind_of_path(topo));
			name_group(topo, i == j ? b->second : b->first, b->n, &text);
			topo_faults_add(faults, TOPO_FAULT_UNREACHABLE, "%s",
					text.text);
		}
	}
	strbuf_free(&text);
}

void
topo_check_reach(const struct topo *topo, struct routes *routes,
		 struct topo_faults *faults)
{
	struct groups groups = find_groups(topo);
	bool is_small = groups.list.n <= MAX_SQUARED_GROUPS;

	if (groups.list.n) {
		if (is_small)
			count_lost(routes, &groups);
		tell_hosts(topo, routes, &groups, find_reference(&groups), faults);
		if (is_small)
			tell_pairs(topo, routes, &groups, faults);
	}
	free(groups.of_host);
	vec_free(&groups.list);
}
