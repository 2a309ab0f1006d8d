/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/collective_phases.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/collective_priv.h"
#include "topology/pair_table.h"
#include "topology/topo.h"

const char *const collective_op_names[N_COLLECTIVE_OPS] = {
	"allreduce", "reducescatter", "allgather", "broadcast",
	"alltoall",  "send",          NULL,
};

const char *const collective_algorithm_names[N_COLLECTIVE_ALGORITHMS + 1] = {
	"ring", "tree", "halving-doubling", "hierarchical", NULL,
};

/* A phase in the making. */
struct draft {
	struct pair_table pairs;
	VEC(double) bytes; /* By number of the pair. */
	uint32_t n_steps;  /* The most of any group. */
};

struct phase_maker {
	const struct topo *topo;
	const uint32_t *hosts; /* Of the group at hand. */
	size_t n;              /* Ranks of a group. */
	double message_bytes;  /* Of all groups on these hosts together. */
	struct draft *drafts;
	size_t n_drafts;
};

static bool
is_power_of_two(size_t n)
{
	return (n & (n - 1)) == 0;
}

/* The largest k with 2^k at most 'n'. */
static unsigned
log2_floor(size_t n)
{
	unsigned k = 0;

	while (n >> (k + 1))
		k++;
	return k;
}

static unsigned
log2_ceiling(size_t n)
{
	return log2_floor(n) + !is_power_of_two(n);
}

const char *
collective_op_fault(enum collective_op op, enum collective_algorithm algorithm,
		    size_t n_ranks)
{
	bool is_scatter = op == COLLECTIVE_REDUCESCATTER || op == COLLECTIVE_ALLGATHER;
	bool is_known = op == COLLECTIVE_ALLREDUCE || algorithm == COLLECTIVE_BY_RING;

	is_known |= op == COLLECTIVE_BROADCAST && algorithm == COLLECTIVE_BY_TREE;
	is_known |= is_scatter && algorithm == COLLECTIVE_BY_HALVING_DOUBLING;
	if (!is_known)
		return "there is no such algorithm for it";
	if (is_scatter && algorithm == COLLECTIVE_BY_HALVING_DOUBLING &&
	    !is_power_of_two(n_ranks))
		return "halving and doubling alone need a power of two";
	return NULL;
}

/* ---- Flows of one group ---------------------------------------------------------- */

static void
add_flow(void *ctx, unsigned phase, uint32_t source, uint32_t destination, double bytes)
{
	struct phase_maker *m = ctx;
	struct draft *draft = &m->drafts[phase];
	uint32_t number;

	if (source == destination)
		return;
	number = pair_table_add(&draft->pairs, source, destination);
	if (number == draft->bytes.n)
		vec_push(&draft->bytes, 0);
	draft->bytes.items[number] += bytes;
}

static void
add_ranks(struct phase_maker *m, unsigned phase, size_t source, size_t destination,
	  double bytes)
{
	add_flow(m, phase, m->hosts[source], m->hosts[destination], bytes);
}

static void
take_steps(struct phase_maker *m, unsigned phase, size_t n)
{
	if (m->drafts[phase].n_steps < n)
		m->drafts[phase].n_steps = (uint32_t)n;
}

static void
make_ring(struct phase_maker *m, unsigned n_rounds)
{
	double bytes = n_rounds * (double)(m->n - 1) / (double)m->n * m->message_bytes;

	collective_ring(m->hosts, m->n, bytes, 0, add_flow, m);
	take_steps(m, 0, n_rounds * (m->n - 1));
}

static void
make_chain(struct phase_maker *m, size_t n_steps)
{
	collective_chain(m->hosts, m->n, m->message_bytes, 0, add_flow, m);
	take_steps(m, 0, n_steps);
}

/* One level of the binomial tree: the ranks at odd multiples of 2^level. */
static void
make_tree_level(struct phase_maker *m, unsigned phase, unsigned level, bool is_up)
{
	size_t distance = (size_t)1 << level;

	for (size_t i = distance; i < m->n; i += 2 * distance) {
		if (is_up)
			add_ranks(m, phase, i, i - distance, m->message_bytes);
		else
			add_ranks(m, phase, i - distance, i, m->message_bytes);
	}
	take_steps(m, phase, 1);
}

static void
make_tree(struct phase_maker *m, bool has_reduce)
{
	unsigned n_levels = log2_ceiling(m->n), phase = 0;

	for (unsigned level = 0; has_reduce && level < n_levels; level++)
		make_tree_level(m, phase++, level, true);
	for (unsigned level = n_levels; level-- > 0;)
		make_tree_level(m, phase++, level, false);
}

/*
 * Of 2^k + r ranks, the first r that take part are 1, 3, ... 2 r - 1, and the others
 * all from 2 r on.
 */
static size_t
partaking_rank(size_t i, size_t n_extra)
{
	return i < n_extra ? 2 * i + 1 : i + n_extra;
}

static void
make_exchange(struct phase_maker *m, unsigned phase, unsigned level, size_t n_extra)
{
	size_t n = m->n - n_extra, distance = (size_t)1 << level;
	double bytes = ldexp(m->message_bytes, -(int)level - 1);

	for (size_t i = 0; i < n; i++)
		add_ranks(m, phase, partaking_rank(i, n_extra),
			  partaking_rank(i ^ distance, n_extra), bytes);
	take_steps(m, phase, 1);
}

/* Ranks 0, 2, ... hand their vectors over, or get the result. */
static void
make_extra(struct phase_maker *m, unsigned phase, size_t n_extra, bool is_back)
{
	for (size_t i = 0; i < n_extra; i++)
		add_ranks(m, phase, 2 * i + is_back, 2 * i + !is_back,
			  m->message_bytes);
	take_steps(m, phase, 1);
}

static void
make_halving_doubling(struct phase_maker *m, enum collective_op op)
{
	unsigned n_levels = log2_floor(m->n), phase = 0;
	size_t n_extra = m->n - ((size_t)1 << n_levels);

	if (n_extra)
		make_extra(m, phase++, n_extra, false);
	for (unsigned k = 0; op != COLLECTIVE_ALLGATHER && k < n_levels; k++)
		make_exchange(m, phase++, k, n_extra);
	for (unsigned k = n_levels; op != COLLECTIVE_REDUCESCATTER && k-- > 0;)
		make_exchange(m, phase++, k, n_extra);
	if (n_extra)
		make_extra(m, phase, n_extra, true);
}

static void
make_hierarchical(struct phase_maker *m)
{
	uint32_t *ordered = xmemdup(m->hosts, m->n, sizeof *ordered);
	size_t n_leaves, largest_leaf;

	collective_order(m->topo, ordered, m->n);
	collective_hierarchical(m->topo, ordered, m->n, m->message_bytes, add_flow, m,
				&n_leaves, &largest_leaf);
	for (unsigned part = 0; part < 3; part++)
		take_steps(m, part,
			   collective_hierarchical_steps(n_leaves, largest_leaf, part));
	free(ordered);
}

static void
make_alltoall(struct phase_maker *m)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t j = 0; j < m->n; j++)
			if (i != j)
				add_ranks(m, 0, i, j, m->message_bytes / (double)m->n);
	take_steps(m, 0, 1);
}

static void
make_group(struct phase_maker *m, enum collective_op op,
	   enum collective_algorithm algorithm)
{
	if (op == COLLECTIVE_SEND)
		make_chain(m, 1);
	else if (op == COLLECTIVE_ALLTOALL)
		make_alltoall(m);
	else if (algorithm == COLLECTIVE_BY_TREE)
		make_tree(m, op == COLLECTIVE_ALLREDUCE);
	else if (algorithm == COLLECTIVE_BY_HALVING_DOUBLING)
		make_halving_doubling(m, op);
	else if (algorithm == COLLECTIVE_BY_HIERARCHY)
		make_hierarchical(m);
	else if (op == COLLECTIVE_BROADCAST)
		make_chain(m, m->n - 1);
	else
		make_ring(m, op == COLLECTIVE_ALLREDUCE ? 2 : 1);
}

static size_t
n_phases_of(enum collective_op op, enum collective_algorithm algorithm, size_t n_ranks)
{
	size_t n_halves = op == COLLECTIVE_ALLREDUCE ? 2 : 1;

	if (algorithm == COLLECTIVE_BY_TREE)
		return n_halves * log2_ceiling(n_ranks);
	if (algorithm == COLLECTIVE_BY_HALVING_DOUBLING)
		return n_halves * log2_floor(n_ranks) +
		       (is_power_of_two(n_ranks) ? 0 : 2);
	return algorithm == COLLECTIVE_BY_HIERARCHY ? 3 : 1;
}

/* ---- All groups ------------------------------------------------------------------ */

static void
finish_phase(const struct topo *topo, struct draft *draft, uint32_t n_rails,
	     struct collective_phase *phase)
{
	phase->n = draft->pairs.n;
	phase->flows = xcalloc(phase->n + 1, sizeof *phase->flows);
	for (size_t i = 0; i < phase->n; i++)
		phase->flows[i] = (struct collective_flow){
			.source = (uint32_t)(draft->pairs.pairs[i] >> 32),
			.destination = (uint32_t)draft->pairs.pairs[i],
			.bytes = draft->bytes.items[i],
		};
	phase->nic_bytes =
		collective_largest_sum(topo, phase->flows, phase->n) / n_rails;
	/* Steps within a host take no time. */
	phase->n_steps = phase->n ? draft->n_steps : 0;
	pair_table_free(&draft->pairs);
	vec_free(&draft->bytes);
}

/* How many groups from the first one on have its hosts. */
static size_t
n_equal_groups(const uint32_t *hosts, size_t n_groups, size_t n_ranks)
{
	size_t n = 1;

	while (n < n_groups &&
	       memcmp(hosts, hosts + n * n_ranks, n_ranks * sizeof *hosts) == 0)
		n++;
	return n;
}

static bool
are_hosts(const struct topo *topo, const uint32_t *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (topo_host_number(topo, hosts[i]) == TOPO_NONE)
			return false;
	return n > 0;
}

int
collective_phases_make(const struct topo *topo, enum collective_op op,
		       enum collective_algorithm algorithm, const uint32_t *hosts,
		       size_t n_groups, size_t n_ranks, double message_bytes,
		       struct collective_phases *ret_phases)
{
	struct phase_maker m = { .topo = topo, .n = n_ranks };
	double n_flows = (double)n_groups * (double)n_ranks;

	if (op <= COLLECTIVE_OP_NONE || op >= N_COLLECTIVE_OPS ||
	    algorithm >= N_COLLECTIVE_ALGORITHMS || !(message_bytes > 0) ||
	    !isfinite(message_bytes))
		return -EINVAL;
	m.n_drafts = n_phases_of(op, algorithm, n_ranks);
	n_flows *= op == COLLECTIVE_ALLTOALL ? (double)n_ranks : (double)m.n_drafts;
	if (n_flows > COLLECTIVE_MAX_FLOWS)
		return -E2BIG;
	if (!are_hosts(topo, hosts, n_groups * n_ranks) ||
	    collective_op_fault(op, algorithm, n_ranks))
		return -EINVAL;
	m.drafts = xcalloc(m.n_drafts + 1, sizeof *m.drafts);
	for (size_t g = 0, n_equal; g < n_groups; g += n_equal) {
		m.hosts = hosts + g * n_ranks;
		n_equal = n_equal_groups(m.hosts, n_groups - g, n_ranks);
		m.message_bytes = (double)n_equal * message_bytes;
		make_group(&m, op, algorithm);
	}
	ret_phases->n_rails =
		collective_fewest_interfaces(topo, hosts, n_groups * n_ranks);
	ret_phases->n = m.n_drafts;
	ret_phases->items = xcalloc(m.n_drafts + 1, sizeof *ret_phases->items);
	for (size_t i = 0; i < m.n_drafts; i++)
		finish_phase(topo, &m.drafts[i], ret_phases->n_rails,
			     &ret_phases->items[i]);
	free(m.drafts);
	return 0;
}

void
collective_phases_fini(struct collective_phases *phases)
{
	for (size_t i = 0; i < phases->n; i++)
		free(phases->items[i].flows);
	free(phases->items);
	phases->items = NULL;
	phases->n = 0;
}
