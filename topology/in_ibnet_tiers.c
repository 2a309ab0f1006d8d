/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "topology/in_ibnet_priv.h"
#include "topology/topo.h"

/* The cables between switches, seen from both ends. */
struct graph {
	size_t n;
	size_t *first;      /* Owned.  n + 1. */
	uint32_t *others;   /* Owned.  Neighbors of i: [first[i], first[i + 1]). */
	size_t *n_to_hosts; /* Owned.  Cable ends at hosts, by switch. */
	bool *is_leaf;      /* Owned. */
};

/*
 * A candidate for removal from the leaves: its cable ends at leaves minus those at
 * hosts.
 */
struct candidate {
	uint32_t node;
	int64_t n_beyond;
};

static bool
joins_switches(const struct ibnet_node *nodes, const struct ibnet_cable *cable)
{
	return nodes[cable->from].kind == IBNET_SWITCH &&
	       nodes[cable->to].kind == IBNET_SWITCH;
}

static struct graph
make_graph(const struct ibnet_node *nodes, size_t n, const struct ibnet_cable *cables,
	   size_t n_cables)
{
	struct graph g = {
		.n = n,
		.first = xcalloc(n + 2, sizeof *g.first),
		.others = xcalloc(2 * n_cables + 1, sizeof *g.others),
		.n_to_hosts = xcalloc(n + 1, sizeof *g.n_to_hosts),
		.is_leaf = xcalloc(n + 1, sizeof *g.is_leaf),
	};

	for (size_t i = 0; i < n_cables; i++) {
		uint32_t from = cables[i].from, to = cables[i].to;

		if (joins_switches(nodes, &cables[i])) {
			g.first[from]++;
			g.first[to]++;
		} else if (ibnet_is_host(&nodes[to])) {
			g.n_to_hosts[from]++;
		} else if (ibnet_is_host(&nodes[from])) {
			g.n_to_hosts[to]++;
		}
	}
	for (size_t i = 0; i <= n; i++)
		g.first[i + 1] += g.first[i];
	for (size_t i = 0; i < n_cables; i++) {
		if (joins_switches(nodes, &cables[i])) {
			g.others[--g.first[cables[i].from]] = cables[i].to;
			g.others[--g.first[cables[i].to]] = cables[i].from;
		}
	}
	for (size_t i = 0; i < n; i++)
		g.is_leaf[i] = nodes[i].kind == IBNET_SWITCH && g.n_to_hosts[i] > 0;
	return g;
}

static int64_t
count_beyond(const struct graph *g, uint32_t node)
{
	int64_t n = -(int64_t)g->n_to_hosts[node];

	for (size_t i = g->first[node]; i < g->first[node + 1]; i++)
		n += g->is_leaf[g->others[i]];
	return n;
}

static int
compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->n_beyond != y->n_beyond)
		return x->n_beyond > y->n_beyond ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Removes spines with a few hosts from the leaves. */
static void
demote_spines(struct graph *g)
{
	struct candidate *candidates = xcalloc(g->n + 1, sizeof *candidates);
	size_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		int64_t n_beyond = g->is_leaf[i] ? count_beyond(g, i) : 0;

		if (n_beyond > 0)
			candidates[n++] = (struct candidate){ i, n_beyond };
	}
	sort_items(candidates, n, compare_candidates);
	for (size_t i = 0; i < n; i++) {
		/* Some of its neighbors may no longer be leaves. */
		if (count_beyond(g, candidates[i].node) > 0)
			g->is_leaf[candidates[i].node] = false;
	}
	free(candidates);
}

void
ibnet_find_tiers(struct ibnet_node *nodes, size_t n, const struct ibnet_cable *cables,
		 size_t n_cables)
{
	struct graph g = make_graph(nodes, n, cables, n_cables);
	uint32_t *queue = xcalloc(n + 1, sizeof *queue);
	size_t head = 0, tail = 0;

	demote_spines(&g);
	for (uint32_t i = 0; i < n; i++) {
		if (g.is_leaf[i]) {
			nodes[i].tier = 1;
			queue[tail++] = i;
		}
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (size_t i = g.first[node]; i < g.first[node + 1]; i++) {
			struct ibnet_node *other = &nodes[g.others[i]];

			if (other->tier)
				continue;
			other->tier = nodes[node].tier + 1;
			queue[tail++] = g.others[i];
		}
	}
	/* Nodes that no host reaches need a tier too. */
	for (size_t i = 0; i < n; i++) {
		if (nodes[i].kind == IBNET_SWITCH && !nodes[i].tier)
			nodes[i].tier = 1;
	}
	free(queue);
	free(g.first);
	free(g.others);
	free(g.n_to_hosts);
	free(g.is_leaf);
}
