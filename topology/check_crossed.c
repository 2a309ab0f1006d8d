/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_crossed.c - two cables whose ends were swapped, found by what they leave behind.
 *
 * Swapped between leaves A and B and spines X and Y, they leave A one cable more to X
 * and one less to Y than usual, and B the other way round. Which of A's cables to X it
 * is tell the ports: after swapping back, they lead where the same ports of other
 * switches lead. A cable of a host swapped with one between a leaf and a spine leaves the
 * host at a spine, and a cable between two leaves.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "topology/check_priv.h"
#include "topology/faults.h"
#include "topology/topo.h"

#define MAX_CABLES 16 /* Of a pair. */
/* More pairs with an unusual number of cables are a plan, and not mistakes. */
#define MAX_CANDIDATES 64

struct crossed {
	const struct topo *topo;
	struct topo_faults *faults;
	struct check_pair *pairs; /* Owned.  By lower, then upper. */
	size_t n_pairs;
};

static int
compare_pairs(const void *a, const void *b)
{
	const struct check_pair *x = a, *y = b;

	if (x->lower != y->lower)
		return x->lower < y->lower ? -1 : 1;
	return x->upper < y->upper ? -1 : x->upper > y->upper;
}

static uint32_t
n_cables(const struct crossed *c, uint32_t lower, uint32_t upper)
{
	const struct check_pair key = { .lower = lower, .upper = upper };
	const struct check_pair *pair = c->n_pairs ? bsearch(&key, c->pairs, c->n_pairs,
							     sizeof key, compare_pairs)
						   : NULL;

	return pair ? pair->n_cables : 0;
}

static bool
is_like(const struct topo *topo, uint32_t a, uint32_t b)
{
	return topo_node(topo, a)->tier == topo_node(topo, b)->tier;
}

/* How many other nodes like 'from' have a cable from their port 'port' to 'to'. */
static size_t
count_from(const struct topo *topo, uint32_t from, const char *port, uint32_t to)
{
	size_t n = 0;

	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		n += link->to == to && link->from != from &&
		     is_like(topo, link->from, from) &&
		     strcmp(link->from_port, port) == 0;
	}
	return n;
}

/* How many other nodes like 'to' have one from 'from' at their port 'port'. */
static size_t
count_to(const struct topo *topo, uint32_t from, uint32_t to, const char *port)
{
	size_t n_out, n = 0;
	const uint32_t *out = topo_links_out(topo, from, &n_out);

	for (size_t i = 0; i < n_out; i++) {
		const struct topo_link *link = topo_link(topo, out[i]);

		n += link->to != to && is_like(topo, link->to, to) &&
		     strcmp(link->to_port, port) == 0;
	}
	return n;
}

/* How usual the ports are if the upper ends of the two cables are swapped back. */
static size_t
rate_swap(const struct topo *topo, uint32_t one, uint32_t other)
{
	const struct topo_link *a = topo_link(topo, one), *b = topo_link(topo, other);

	return count_from(topo, a->from, a->from_port, b->to) +
	       count_from(topo, b->from, b->from_port, a->to) +
	       count_to(topo, a->from, b->to, b->to_port) +
	       count_to(topo, b->from, a->to, a->to_port);
}

/* Of the cables of the pairs, those two that were most likely swapped. */
static void
name_swapped(const struct topo *topo, const struct check_pair *p,
	     const struct check_pair *q, struct strbuf *out)
{
	size_t n_a, n_b, best = 0;
	const uint32_t *a = topo_links_out(topo, p->lower, &n_a);
	const uint32_t *b = topo_links_out(topo, q->lower, &n_b);
	uint32_t best_a = TOPO_NONE, best_b = TOPO_NONE;
	bool is_tie = false;

	for (size_t i = 0; i < n_a; i++) {
		for (size_t j = 0; j < n_b; j++) {
			size_t rating;

			if (topo_link(topo, a[i])->to != p->upper ||
			    topo_link(topo, b[j])->to != q->upper)
				continue;
			rating = rate_swap(topo, a[i], b[j]);
			if (best_a != TOPO_NONE && rating <= best) {
				is_tie |= rating == best;
				continue;
			}
			best = rating;
			best_a = a[i];
			best_b = b[j];
			is_tie = false;
		}
	}
	if (is_tie) {
		strbuf_printf(out, "one cable from %s to %s and one from %s to %s",
			      topo_node(topo, p->lower)->name,
			      topo_node(topo, p->upper)->name,
			      topo_node(topo, q->lower)->name,
			      topo_node(topo, q->upper)->name);
		return;
	}
	topo_link_name(topo, best_a, out);
	strbuf_puts(out, " and ");
	topo_link_name(topo, best_b, out);
}

/* ---- Between switches of two tiers ---------------------------------------------------- */

/* Whether 'p' and 'q' have one cable more each than usual, and lack one crosswise. */
static bool
are_crossed(const struct crossed *c, const struct check_pair *p,
	    const struct check_pair *q)
{
	return p->lower != q->lower && p->upper != q->upper &&
	       p->n_cables == q->n_cables && is_like(c->topo, p->lower, q->lower) &&
	       is_like(c->topo, p->upper, q->upper) &&
	       n_cables(c, p->lower, q->upper) + 2 == p->n_cables &&
	       n_cables(c, q->lower, p->upper) + 2 == p->n_cables;
}

static void
add_crossed(struct crossed *c, const struct check_pair *p, const struct check_pair *q)
{
	struct strbuf text = STRBUF_EMPTY;

	name_swapped(c->topo, p, q, &text);
	topo_faults_add(c->faults, TOPO_FAULT_CROSSED,
			"%s are probably swapped: %s has %u cables to %s and %u to %s, "
			"and %s the other way round",
			text.text, topo_node(c->topo, p->lower)->name, p->n_cables,
			topo_node(c->topo, p->upper)->name, p->n_cables - 2,
			topo_node(c->topo, q->upper)->name,
			topo_node(c->topo, q->lower)->name);
	strbuf_free(&text);
}

/* Numbers of pairs of nodes, by their tiers and by the cables between them. */
struct pair_counts {
	uint32_t n[TOPO_MAX_TIER + 1][TOPO_MAX_TIER + 1][MAX_CABLES + 1];
};

static uint32_t *
count_of(const struct crossed *c, struct pair_counts *counts,
	 const struct check_pair *pair, uint32_t n)
{
	return &counts->n[topo_node(c->topo, pair->lower)->tier]
			 [topo_node(c->topo, pair->upper)->tier][n];
}

static void
find_between_switches(struct crossed *c, bool is_broken)
{
	struct pair_counts *counts = xcalloc(1, sizeof *counts);
	VEC(const struct check_pair *) odd = VEC_EMPTY;

	for (size_t i = 0; i < c->n_pairs; i++) {
		if (c->pairs[i].n_cables <= MAX_CABLES)
			++*count_of(c, counts, &c->pairs[i], c->pairs[i].n_cables);
	}
	for (size_t i = 0; i < c->n_pairs; i++) {
		const struct check_pair *pair = &c->pairs[i];
		uint32_t n, n_usual; /* Pairs with as many, and with one less. */

		if (pair->n_cables < 2 || pair->n_cables > MAX_CABLES)
			continue;
		n = *count_of(c, counts, pair, pair->n_cables);
		n_usual = *count_of(c, counts, pair, pair->n_cables - 1);
		/* In a fabric of four pairs none may be as planned. */
		if (n <= MAX_CANDIDATES &&
		    (n_usual ? n_usual + 2 >= n : n == 2 && is_broken))
			vec_push(&odd, pair);
	}
	for (size_t i = 0; i < odd.n; i++) {
		for (size_t j = i + 1; odd.items[i] && j < odd.n; j++) {
			if (!odd.items[j] ||
			    !are_crossed(c, odd.items[i], odd.items[j]))
				continue;
			add_crossed(c, odd.items[i], odd.items[j]);
			odd.items[i] = odd.items[j] = NULL;
		}
	}
	free(counts);
	vec_free(&odd);
}

/* ---- Between a host and switches ------------------------------------------------------ */

/* Whether 'link' is one of two leaves, of which one lacks a cable to 'spine'. */
static bool
is_left_behind(const struct crossed *c, const struct topo_link *link, uint32_t spine)
{
	return topo_node(c->topo, link->from)->tier == 1 &&
	       topo_node(c->topo, link->to)->tier == 1 &&
	       n_cables(c, link->from, spine) != n_cables(c, link->to, spine);
}

static void
find_at_hosts(struct crossed *c)
{
	VEC(uint32_t) at_hosts = VEC_EMPTY;
	VEC(uint32_t) between_leaves = VEC_EMPTY;
	struct strbuf text = STRBUF_EMPTY;

	for (uint32_t i = 0; i < topo_n_links(c->topo); i++) {
		const struct topo_link *link = topo_link(c->topo, i);
		uint32_t from = topo_node(c->topo, link->from)->tier;
		uint32_t to = topo_node(c->topo, link->to)->tier;

		if (from == 0 && to > 1)
			vec_push(&at_hosts, i);
		else if (from == 1 && to == 1 && link->reverse > i)
			vec_push(&between_leaves, i);
	}
	for (size_t i = 0; i < at_hosts.n && at_hosts.n <= MAX_CANDIDATES; i++) {
		uint32_t spine = topo_link(c->topo, at_hosts.items[i])->to;

		for (size_t j = 0; j < between_leaves.n; j++) {
			uint32_t between = between_leaves.items[j];

			if (!is_left_behind(c, topo_link(c->topo, between), spine))
				continue;
			strbuf_clear(&text);
			topo_link_name(c->topo, at_hosts.items[i], &text);
			strbuf_puts(&text, " and ");
			topo_link_name(c->topo, between, &text);
			topo_faults_add(
				c->faults, TOPO_FAULT_CROSSED,
				"%s are probably swapped: a host is at a switch "
				"of tier %u, and two leaves at each other",
				text.text, topo_node(c->topo, spine)->tier);
			between_leaves.items[j] =
				between_leaves.items[--between_leaves.n];
			break;
		}
	}
	vec_free(&at_hosts);
	vec_free(&between_leaves);
	strbuf_free(&text);
}

void
topo_check_crossed(const struct topo *topo, struct topo_faults *faults)
{
	struct crossed c = { .topo = topo, .faults = faults };
	bool is_broken = false;

	for (size_t i = 0; i < faults->list.n; i++)
		is_broken |= faults->list.items[i].kind == TOPO_FAULT_UNREACHABLE;
	c.pairs = topo_check_pairs(topo, &c.n_pairs);
	find_between_switches(&c, is_broken);
	find_at_hosts(&c);
	free(c.pairs);
}
