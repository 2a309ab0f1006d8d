/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_slurm_build.c - builds a fabric from the switches of a topology.conf: expands
 * names, derives tiers from parents and children, and adds cables from the leaves up.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/in_slurm_priv.h"
#include "topology/topo.h"

const char *const slurm_key_names[] = { "SwitchName", "Switches", "Nodes",
					"LinkSpeed",  "Level",    NULL };

/* ---- Names to edges -------------------------------------------------------------- */

/* The target of the names of one line. */
struct expansion {
	struct slurm *slurm;
	uint32_t parent;
	unsigned line;
};

/* Records that a name is on the line of 'parent', in its 'last'. */
static int
check_named_once(struct expansion *x, const char *name, uint32_t *last)
{
	struct slurm *s = x->slurm;

	if (*last == x->parent + 1)
		return err_set(s->err, s->file, x->line, 0, "'%s' is named twice here",
			       name);
	*last = x->parent + 1;
	return 0;
}

static int
take_host(void *ctx, const char *name)
{
	struct expansion *x = ctx;
	struct slurm *s = x->slurm;
	struct slurm_edge edge = { .parent = x->parent };

	if (!topo_name_is_valid(name))
		return err_set(
			s->err, s->file, x->line, 0,
			"'%s' is not a valid name, expected 1 to %d letters, digits and "
			"\"._-/+@\"",
			name, TOPO_MAX_NAME);
	edge.child = strtab_intern(s->host_names, name);
	if (edge.child == s->host_lines.n)
		vec_push(&s->host_lines, 0);
	vec_push(&s->to_hosts, edge);
	return check_named_once(x, name, &s->host_lines.items[edge.child]);
}

static int
unknown_switch(struct expansion *x, const char *name)
{
	struct slurm *s = x->slurm;
	VEC(const char *) names = VEC_EMPTY;

	for (size_t i = 0; i < s->switches.n; i++)
		vec_push(&names, s->switches.items[i].values[SLURM_KEY_SWITCH_NAME]);
	vec_push(&names, NULL);
	err_set(s->err, s->file, x->line, 0, "there is no switch '%s'", name);
	if (s->err)
		err_suggest(s->err, name, names.items);
	vec_free(&names);
	return -EINVAL;
}

static int
take_switch(void *ctx, const char *name)
{
	struct expansion *x = ctx;
	struct slurm *s = x->slurm;
	struct slurm_edge edge = { .parent = x->parent };

	edge.child = strtab_find(s->switch_names, name);
	if (edge.child == STRTAB_NONE)
		return unknown_switch(x, name);
	vec_push(&s->to_switches, edge);
	s->switches.items[edge.parent].n_open++;
	s->switches.items[edge.child].n_parents++;
	return check_named_once(x, name, &s->switches.items[edge.child].last_parent);
}

static int
expand_names(struct slurm *s)
{
	for (uint32_t i = 0; i < s->switches.n; i++) {
		const struct slurm_switch *sw = &s->switches.items[i];
		bool is_leaf = sw->values[SLURM_KEY_NODES];
		enum slurm_key key = is_leaf ? SLURM_KEY_NODES : SLURM_KEY_SWITCHES;
		struct expansion x = { s, i, sw->lines[key] };
		const char *why = NULL;
		int r = hostlist_expand(sw->values[key],
					s->max_names - s->to_hosts.n - s->to_switches.n,
					is_leaf ? take_host : take_switch, &x, &why);

		if (r == -E2BIG)
			err_set(s->err, s->file, x.line, 0,
				"more than %u names in all of this file", s->max_names);
		else if (r < 0 && why)
			err_set(s->err, s->file, x.line, 0, "%s is '%.80s': %s",
				slurm_key_names[key], sw->values[key], why);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Tiers and cables ----------------------------------------------------------- */

/*
 * Fills 'order' with the switches by tier, children before parents.  A cycle
 * leaves switches without a tier.
 */
static int
find_tiers(struct slurm *s, uint32_t *order)
{
	size_t n = s->switches.n, n_ordered = 0, n_edges = s->to_switches.n;
	struct slurm_switch *switches = s->switches.items;
	uint32_t *first = xcalloc(n + 1, sizeof *first); /* Parents of i. */
	uint32_t *parents = xcalloc(n_edges + 1, sizeof *parents);

	for (size_t i = 0; i < n_edges; i++)
		first[s->to_switches.items[i].child]++;
	for (size_t i = 1; i <= n; i++)
		first[i] += first[i - 1];
	for (size_t i = n_edges; i-- > 0;)
		parents[--first[s->to_switches.items[i].child]] =
			s->to_switches.items[i].parent;
	for (uint32_t i = 0; i < n; i++) {
		if (switches[i].values[SLURM_KEY_NODES]) {
			switches[i].tier = 1;
			order[n_ordered++] = i;
		}
	}
	for (size_t i = 0; i < n_ordered; i++) {
		uint32_t child = order[i];

		for (uint32_t j = first[child]; j < first[child + 1]; j++) {
			struct slurm_switch *parent = &switches[parents[j]];

			/* The last child to get a tier has the highest one. */
			if (--parent->n_open == 0) {
				parent->tier = switches[child].tier + 1;
				order[n_ordered++] = parents[j];
			}
		}
	}
	free(first);
	free(parents);
	for (size_t i = 0; i < n; i++) {
		const struct slurm_switch *sw = &switches[i];

		if (!sw->tier)
			return err_set(
				s->err, s->file, sw->lines[SLURM_KEY_SWITCH_NAME], 0,
				"switch '%s' is in, or above, a loop of switches",
				sw->values[SLURM_KEY_SWITCH_NAME]);
		if (sw->tier > TOPO_MAX_TIER)
			return err_set(s->err, s->file,
				       sw->lines[SLURM_KEY_SWITCH_NAME], 0,
				       "switch '%s' is tier %u, expected at most %d",
				       sw->values[SLURM_KEY_SWITCH_NAME], sw->tier,
				       TOPO_MAX_TIER);
	}
	return 0;
}

static uint32_t
slots_of(const struct slurm *s, const char *host)
{
	return s->slots_of ? s->slots_of(s->slots_ctx, host) : s->n_slots;
}

static int
add_nodes(struct slurm *s, struct topo_builder *b)
{
	uint32_t node;

	if (strtab_n(s->host_names) + s->switches.n > TOPO_MAX_NODES)
		return err_set(s->err, s->file, 0, 0, "more than %d nodes",
			       TOPO_MAX_NODES);
	for (uint32_t i = 0; i < strtab_n(s->host_names); i++)
		BUG_ON(topo_builder_host(b, strtab_name(s->host_names, i),
					 slots_of(s, strtab_name(s->host_names, i)),
					 &node) < 0);
	for (size_t i = 0; i < s->switches.n; i++) {
		struct slurm_switch *sw = &s->switches.items[i];

		if (topo_builder_switch(b, sw->values[SLURM_KEY_SWITCH_NAME], sw->tier,
					&sw->node) < 0)
			return err_set(s->err, s->file,
				       sw->lines[SLURM_KEY_SWITCH_NAME], 0,
				       "switch '%s' has the name of a node",
				       sw->values[SLURM_KEY_SWITCH_NAME]);
	}
	return 0;
}

static void
add_cable(struct slurm *s, struct topo_builder *b, uint32_t child, uint32_t parent,
	  double bps)
{
	char ports[2][16];

	snprintf(ports[0], sizeof ports[0], "p%u", s->n_ports[child]++);
	snprintf(ports[1], sizeof ports[1], "p%u", s->n_ports[parent]++);
	BUG_ON(topo_builder_cable(b, child, ports[0], parent, ports[1], bps, bps) < 0);
}

/* The capacity of a cable up from a switch with known cables down. */
static double
uplink_bps(const struct slurm *s, const struct slurm_switch *child,
	   const struct slurm_switch *parent)
{
	double bps = parent->bps;

	if (parent->values[SLURM_KEY_LINK_SPEED])
		return bps;
	if (s->uplink_bps > 0)
		bps = s->uplink_bps;
	else if (s->oversubscription > 0)
		bps = child->down_bps / s->oversubscription / child->n_parents;
	return fmin(fmax(round(bps), 1), TOPO_MAX_BPS);
}

/* Edges are sorted by parent; 'order' has the leaves first. */
static void
add_cables(struct slurm *s, struct topo_builder *b, const uint32_t *order)
{
	size_t n = s->switches.n;
	uint32_t *first = xcalloc(n + 1, sizeof *first);

	for (size_t i = 0; i < s->to_hosts.n; i++) {
		const struct slurm_edge *e = &s->to_hosts.items[i];
		struct slurm_switch *sw = &s->switches.items[e->parent];

		sw->down_bps += sw->bps;
		add_cable(s, b, e->child, sw->node, sw->bps);
	}
	for (size_t i = 0; i < s->to_switches.n; i++)
		first[s->to_switches.items[i].parent + 1]++;
	for (size_t i = 0; i < n; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i < n; i++) {
		struct slurm_switch *sw = &s->switches.items[order[i]];

		for (uint32_t j = first[order[i]]; j < first[order[i] + 1]; j++) {
			const struct slurm_switch *child =
				&s->switches.items[s->to_switches.items[j].child];
			double bps = uplink_bps(s, child, sw);

			sw->down_bps += bps;
			add_cable(s, b, child->node, sw->node, bps);
		}
	}
	free(first);
}

int
slurm_build(struct slurm *s, const char *name, struct topo **ret_topo)
{
	struct topo_builder *b;
	uint32_t *order;
	int r = expand_names(s);

	if (r < 0)
		return r;
	order = xcalloc(s->switches.n + 1, sizeof *order);
	b = topo_builder_new(name);
	r = find_tiers(s, order);
	if (r == 0)
		r = add_nodes(s, b);
	if (r == 0) {
		s->n_ports = xcalloc(strtab_n(s->host_names) + s->switches.n,
				     sizeof *s->n_ports);
		add_cables(s, b, order);
		*ret_topo = topo_builder_finish(b);
	} else {
		topo_builder_free(b);
	}
	free(order);
	return r;
}
