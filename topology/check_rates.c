/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_rates.c - the rates of hosts: those at one switch have one rate, as its ports
 * have; an interface that negotiated a lower one is found so.
 */
#include <stdlib.h>

#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "topology/check_priv.h"
#include "topology/faults.h"
#include "topology/topo.h"

/* A link from a host to a switch. */
struct access {
	uint32_t to, link;
	double bps;
};

static int
compare_access(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

/* The rate of more than half of the links, if of two at least; else 0. */
static double
rate_of_most(const struct access *links, size_t n)
{
	double *rates = xcalloc(n + 1, sizeof *rates), rate;
	size_t n_same = 0;

	for (size_t i = 0; i < n; i++)
		rates[i] = links[i].bps;
	sort_items(rates, n, sort_by_double);
	rate = rates[n / 2];
	for (size_t i = 0; i < n; i++)
		n_same += !(rates[i] < rate || rates[i] > rate);
	free(rates);
	return n_same >= 2 && 2 * n_same > n ? rate : 0;
}

static void
add_fault(const struct topo *topo, const struct access *access, double usual_bps,
	  const char *whose, struct topo_faults *faults)
{
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(topo, access->link, &name);
	topo_faults_add(faults, TOPO_FAULT_RATE,
			"%s has %.6g Gb/s, but most hosts %s%s have %.6g Gb/s",
			name.text, access->bps / 1e9, *whose ? "of " : "in the fabric",
			whose, usual_bps / 1e9);
	strbuf_free(&name);
}

/*
 * Compares the 'n' links to a switch with each other, and where they do not agree with
 * the fabric: 'usual_bps', or 0.
 */
static void
check_switch(const struct topo *topo, const struct access *links, size_t n,
	     double usual_bps, struct topo_faults *faults)
{
	double most_bps = rate_of_most(links, n);

	for (size_t i = 0; i < n; i++) {
		if (most_bps > 0 &&
		    (links[i].bps < most_bps || links[i].bps > most_bps))
			add_fault(topo, &links[i], most_bps,
				  topo_node(topo, links[i].to)->name, faults);
		else if (!(most_bps > 0) && links[i].bps < usual_bps / 2)
			add_fault(topo, &links[i], usual_bps, "", faults);
	}
}

void
topo_check_rates(const struct topo *topo, struct topo_faults *faults)
{
	VEC(struct access) links = VEC_EMPTY;
	double usual_bps;

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		if (topo_node(topo, link->from)->kind == TOPO_HOST &&
		    topo_node(topo, link->to)->kind == TOPO_SWITCH)
			vec_push(&links,
				 ((struct access){ link->to, i, link->capacity_bps }));
	}
	usual_bps = rate_of_most(links.items, links.n);
	sort_items(links.items, links.n, compare_access);
	for (size_t first = 0, end; first < links.n; first = end) {
		for (end = first; end < links.n; end++) {
			if (links.items[end].to != links.items[first].to)
				break;
		}
		check_switch(topo, links.items + first, end - first, usual_bps, faults);
	}
	vec_free(&links);
}
