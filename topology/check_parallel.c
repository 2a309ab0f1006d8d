/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "topology/check.h"
#include "topology/check_priv.h"
#include "topology/topo.h"

struct pair {
	uint32_t lower, upper; /* Both switches. */
	uint32_t n_cables;
	bool is_usual_below, is_odd_below; /* Among the pairs of the same 'lower'. */
	bool is_usual_above, is_odd_above; /* Among the pairs of the same 'upper'. */
};

struct pairs {
	VEC(struct pair) list; /* By lower, then upper. */
};

static int
compare_by_upper(const void *a, const void *b)
{
	const struct pair *x = *(struct pair *const *)a, *y = *(struct pair *const *)b;

	if (x->upper != y->upper)
		return x->upper < y->upper ? -1 : 1;
	return x->lower < y->lower ? -1 : x->lower > y->lower;
}

struct check_pairs {
	VEC(struct check_pair) list;
};

static void
add_pairs_of(struct check_pairs *pairs, const struct topo *topo, uint32_t node)
{
	size_t n_out, n = 0;
	const uint32_t *out = topo_links_out(topo, node, &n_out);
	uint32_t *above = xcalloc(n_out + 1, sizeof *above);

	for (size_t i = 0; i < n_out; i++) {
		uint32_t to = topo_link(topo, out[i])->to;

		if (topo_node(topo, to)->tier > topo_node(topo, node)->tier)
			above[n++] = to;
	}
	sort_items(above, n, sort_by_u32);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || above[i] > above[i - 1])
			vec_push(&pairs->list,
				 ((struct check_pair){ node, above[i], 0 }));
		pairs->list.items[pairs->list.n - 1].n_cables++;
	}
	free(above);
}

struct check_pair *
topo_check_pairs(const struct topo *topo, size_t *ret_n)
{
	struct check_pairs pairs = { VEC_EMPTY };

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++)
		add_pairs_of(&pairs, topo, i);
	*ret_n = pairs.list.n;
	return pairs.list.items;
}

/*
 * For the 'n' pairs at 'group': a number of cables is odd if another occurs more often,
 * and usual if no other occurs as often.
 */
static void
judge(struct pair **group, size_t n, bool is_above)
{
	uint32_t *sorted = xcalloc(n + 1, sizeof *sorted);
	size_t *n_same = xcalloc(n + 1, sizeof *n_same); /* As often as sorted[i]. */
	size_t most = 0, n_with_most = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = group[i]->n_cables;
	sort_items(sorted, n, sort_by_u32);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (sorted[i] > sorted[first])
			first = i;
		n_same[first]++;
		if (n_same[first] > most)
			most = n_same[first];
	}
	for (size_t i = 0; i < n; i++)
		n_with_most += n_same[i] == most;
	for (size_t i = 0; i < n; i++) {
		const uint32_t *at = bsearch(&group[i]->n_cables, sorted, n,
					     sizeof *sorted, sort_by_u32);
		bool is_odd, is_usual;

		while (at > sorted && at[-1] == *at)
			at--;
		is_odd = n_same[at - sorted] < most;
		is_usual = !is_odd && n_with_most == 1;
		if (is_above) {
			group[i]->is_odd_above = is_odd;
			group[i]->is_usual_above = is_usual;
		} else {
			group[i]->is_odd_below = is_odd;
			group[i]->is_usual_below = is_usual;
		}
	}
	free(n_same);
	free(sorted);
}

static void
judge_all(struct pair **order, size_t n, bool is_above)
{
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first; end < n; end++) {
			if (is_above ? order[end]->upper != order[first]->upper
				     : order[end]->lower != order[first]->lower)
				break;
		}
		judge(order + first, end - first, is_above);
	}
}

void
topo_check_parallel(const struct topo *topo, struct topo_faults *faults)
{
	struct pairs pairs = { VEC_EMPTY };
	struct check_pair *all;
	struct pair **order;
	size_t n_all;

	all = topo_check_pairs(topo, &n_all);
	for (size_t i = 0; i < n_all; i++) {
		if (topo_node(topo, all[i].lower)->kind == TOPO_SWITCH)
			vec_push(&pairs.list,
				 ((struct pair){ .lower = all[i].lower,
						 .upper = all[i].upper,
						 .n_cables = all[i].n_cables }));
	}
	free(all);
	order = xcalloc(pairs.list.n + 1, sizeof(struct pair *));
	for (size_t i = 0; i < pairs.list.n; i++)
		order[i] = &pairs.list.items[i];
	judge_all(order, pairs.list.n, false);
	sort_items(order, pairs.list.n, compare_by_upper);
	judge_all(order, pairs.list.n, true);
	for (size_t i = 0; i < pairs.list.n; i++) {
		const struct pair *p = &pairs.list.items[i];

		if (!(p->is_odd_below && !p->is_usual_above) &&
		    !(p->is_odd_above && !p->is_usual_below))
			continue;
		topo_faults_add(
			faults, TOPO_FAULT_PARALLEL,
			"%s has %u cable%s to %s, unlike most pairs of %s",
			topo_node(topo, p->lower)->name, p->n_cables,
			p->n_cables > 1 ? "s" : "", topo_node(topo, p->upper)->name,
			topo_node(topo, p->is_odd_below ? p->lower : p->upper)->name);
	}
	free(order);
	vec_free(&pairs.list);
}
