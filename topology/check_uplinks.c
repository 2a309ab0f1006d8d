/* SPDX-License-Identifier: Apache-2.0 */
/* check_uplinks.c - capacities down and up, and switches with an unusual one up. */
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "topology/check_priv.h"
#include "topology/faults.h"
#include "topology/topo.h"

struct check_load *
topo_check_loads(const struct topo *topo)
{
	struct check_load *loads =
		xcalloc((size_t)topo_n_nodes(topo) + 1, sizeof *loads);

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		if (topo_node(topo, link->to)->is_scale_up)
			continue;
		if (topo_node(topo, link->from)->tier <
		    topo_node(topo, link->to)->tier) {
			loads[link->from].up_bps += link->capacity_bps;
			loads[link->to].down_bps += link->capacity_bps;
			loads[link->to].n_down++;
		}
	}
	return loads;
}

/* A switch of a tier, and what it is compared by. */
struct uplinks {
	uint32_t node;
	double port_bps; /* Mean of its ports down. */
	double up_bps, ratio;
};

/* What most switches of a tier have. */
struct tier_usual {
	size_t n; /* All of the tier. */
	double bps, ratio;
};

static int
compare_ports(const void *a, const void *b)
{
	const struct uplinks *x = a, *y = b;

	if (x->port_bps < y->port_bps || x->port_bps > y->port_bps)
		return x->port_bps < y->port_bps ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The most frequent number, the largest if several, and how often; sorts them. */
static double
most_frequent(double *numbers, size_t n, size_t *ret_n)
{
	double best = 0;
	size_t n_same = 0;

	*ret_n = 0;
	sort_items(numbers, n, sort_by_double);
	for (size_t i = 0; i < n; i++) {
		n_same = i > 0 && !(numbers[i] > numbers[i - 1]) ? n_same + 1 : 1;
		if (n_same >= *ret_n) {
			*ret_n = n_same;
			best = numbers[i];
		}
	}
	return best;
}

/* The usual capacity up of 'n' switches, or ratio. */
static double
usual_of(const struct uplinks *items, size_t n, bool is_ratio, size_t *ret_n)
{
	double *numbers = xcalloc(n + 1, sizeof *numbers), usual;

	for (size_t i = 0; i < n; i++)
		numbers[i] = is_ratio ? items[i].ratio : items[i].up_bps;
	usual = most_frequent(numbers, n, ret_n);
	free(numbers);
	return usual;
}

static void
check_capacity(const struct topo *topo, const struct uplinks *up, double usual_bps,
	       bool is_of_ports, struct topo_faults *faults)
{
	const struct topo_node *node = topo_node(topo, up->node);
	struct strbuf which = STRBUF_EMPTY;

	if (!(up->up_bps < usual_bps || up->up_bps > usual_bps))
		return;
	strbuf_printf(&which, "tier %u", node->tier);
	if (is_of_ports)
		strbuf_printf(&which, " with ports of %.6g Gb/s", up->port_bps / 1e9);
	topo_faults_add(faults, TOPO_FAULT_UPLINKS,
			"%s has %.6g Gb/s up, but most of %s have %.6g Gb/s",
			node->name, up->up_bps / 1e9, which.text, usual_bps / 1e9);
	strbuf_free(&which);
}

/* Compares 'n' switches of a tier whose ports are as fast. */
static void
check_alike(const struct topo *topo, const struct uplinks *alike, size_t n,
	    const struct tier_usual *usual, struct topo_faults *faults)
{
	size_t n_usual;
	double bps = usual_of(alike, n, false, &n_usual);
	bool do_agree = n > 1 && n < usual->n && 2 * n_usual > n;

	for (size_t i = 0; i < n; i++) {
		double ratio = alike[i].ratio;

		if (do_agree)
			check_capacity(topo, &alike[i], bps, true, faults);
		else if (n == usual->n || ratio < usual->ratio || ratio > usual->ratio)
			check_capacity(topo, &alike[i], usual->bps, false, faults);
	}
}

static void
check_tier(const struct topo *topo, uint32_t tier, const struct check_load *loads,
	   struct topo_faults *faults)
{
	VEC(struct uplinks) up = VEC_EMPTY;
	struct tier_usual usual;
	size_t n_usual;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct check_load *load = &loads[i];
		struct uplinks u = { .node = i, .up_bps = load->up_bps };

		if (topo_node(topo, i)->tier != tier || topo_node(topo, i)->is_scale_up)
			continue;
		if (load->n_down)
			u.port_bps = load->down_bps / load->n_down;
		if (load->up_bps > 0)
			u.ratio = load->down_bps / load->up_bps;
		vec_push(&up, u);
	}
	usual.n = up.n;
	usual.bps = usual_of(up.items, up.n, false, &n_usual);
	usual.ratio = usual_of(up.items, up.n, true, &n_usual);
	sort_items(up.items, up.n, compare_ports);
	for (size_t first = 0, end; first < up.n; first = end) {
		for (end = first; end < up.n; end++) {
			if (up.items[end].port_bps > up.items[first].port_bps)
				break;
		}
		check_alike(topo, up.items + first, end - first, &usual, faults);
	}
	vec_free(&up);
}

void
topo_check_uplinks(const struct topo *topo, struct topo_faults *faults)
{
	struct check_load *loads = topo_check_loads(topo);

	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		check_tier(topo, tier, loads, faults);
	free(loads);
}
