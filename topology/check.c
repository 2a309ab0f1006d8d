/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "topology/check_priv.h"
#include "topology/route.h"
#include "topology/topo.h"

/* ---- Tiers ----------------------------------------------------------------------- */

size_t
topo_tiers(const struct topo *topo, struct topo_tier *ret_tiers)
{
	struct topo_tier tiers[TOPO_MAX_TIER + 1] = { { 0 } };
	struct check_load *loads = topo_check_loads(topo);
	size_t n = 0;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		struct topo_tier *tier = &tiers[topo_node(topo, i)->tier];
		const struct check_load *load = &loads[i];
		double ratio;

		if (topo_node(topo, i)->is_scale_up)
			continue;
		tier->n_nodes++;
		tier->down_bps += load->down_bps;
		tier->up_bps += load->up_bps;
		if (!(load->up_bps > 0 && load->down_bps > 0))
			continue;
		ratio = load->down_bps / load->up_bps;
		if (tier->most == 0 || ratio < tier->least)
			tier->least = ratio;
		if (ratio > tier->most)
			tier->most = ratio;
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);
		uint32_t tier = topo_node(topo, link->from)->tier;

		tiers[tier].n_cables_up += topo_node(topo, link->to)->tier > tier &&
					   !topo_node(topo, link->to)->is_scale_up;
	}
	for (uint32_t t = 0; t <= TOPO_MAX_TIER; t++) {
		if (!tiers[t].n_nodes)
			continue;
		tiers[t].tier = t;
		ret_tiers[n++] = tiers[t];
	}
	free(loads);
	return n;
}

/* ---- Nodes and links ---------------------------------------------------------- */

static void
check_nodes(const struct topo *topo, struct topo_faults *faults)
{
	bool *has_link = xcalloc((size_t)topo_n_nodes(topo) + 1, sizeof *has_link);

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		has_link[topo_link(topo, i)->from] = true;
		has_link[topo_link(topo, i)->to] = true;
	}
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		if (!has_link[i])
			topo_faults_add(faults, TOPO_FAULT_UNCONNECTED,
					"%s has no cable", topo_node(topo, i)->name);
	}
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		if (has_link[i] && topo_node(topo, i)->kind == TOPO_HOST &&
		    topo_leaf_of(topo, i) == TOPO_NONE)
			topo_faults_add(faults, TOPO_FAULT_NO_LEAF,
					"%s has no link to a switch of tier 1",
					topo_node(topo, i)->name);
	}
	free(has_link);
}

static void
check_links(const struct topo *topo, struct topo_faults *faults)
{
	struct strbuf name = STRBUF_EMPTY;

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		if (topo_link(topo, i)->reverse != TOPO_NONE)
			continue;
		strbuf_clear(&name);
		topo_link_name(topo, i, &name);
		topo_faults_add(faults, TOPO_FAULT_ONE_WAY, "%s has no link back",
				name.text);
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);
		double back_bps;

		if (link->reverse == TOPO_NONE || link->reverse < i)
			continue;
		back_bps = topo_link(topo, link->reverse)->capacity_bps;
		if (!(back_bps < link->capacity_bps || back_bps > link->capacity_bps))
			continue;
		strbuf_clear(&name);
		topo_link_name(topo, i, &name);
		topo_faults_add(faults, TOPO_FAULT_UNEVEN,
				"%s has %.6g Gb/s, and %.6g Gb/s back", name.text,
				link->capacity_bps / 1e9, back_bps / 1e9);
	}
	strbuf_free(&name);
}

void
topo_check(const struct topo *topo, struct routes *routes, struct topo_faults *faults)
{
	check_nodes(topo, faults);
	topo_check_reach(topo, routes, faults);
	topo_check_crossed(topo, faults);
	check_links(topo, faults);
	topo_check_rates(topo, faults);
	topo_check_parallel(topo, faults);
	topo_check_torus(topo, faults);
	topo_check_uplinks(topo, faults);
}
