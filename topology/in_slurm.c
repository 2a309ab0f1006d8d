/*
 * in_slurm.c - the reader of Slurm's topology.conf (topology.conf(5), plug-in
 * topology/tree).
 *
 * First the text becomes a list of switches as they are written; then names are
 * expanded, tiers follow from who is whose child, and cables are laid from
 * the leaves up.  Keys are case-insensitive, '#' starts a comment, and a
 * backslash at the end of a line continues it.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

enum key {
	KEY_SWITCH_NAME,
	KEY_SWITCHES,
	KEY_NODES,
	KEY_LINK_SPEED,
	KEY_LEVEL, /* Of 'scontrol show topology' alone. */
	N_KEYS,
};

static const char *const key_names[] = { "SwitchName", "Switches", "Nodes",
					 "LinkSpeed",  "Level",    NULL };

/* One line about a switch. */
struct slurm_switch {
	char *values[N_KEYS];   /* Owned; NULL: not given. */
	unsigned lines[N_KEYS]; /* Of each value. */
	uint32_t tier;          /* 0: not known yet. */
	uint32_t n_open;        /* Children whose tier is not known yet. */
	uint32_t last_parent;   /* Whose line named it last, plus one. */
	uint32_t n_parents;
	double down_bps; /* Of the cables to what hangs on it. */
	uint32_t node;   /* In the builder. */
	double bps;
};

/* A switch, and what hangs on it: a host's number or a switch's. */
struct slurm_edge {
	uint32_t parent, child;
};

struct slurm {
	const char *file;
	const char *at, *end; /* What is left of the text. */
	unsigned line;
	double default_bps, uplink_bps, oversubscription;
	uint32_t n_slots, max_names;
	topo_slots_fn *slots_of; /* NULL: n_slots. */
	void *slots_ctx;
	VEC(struct slurm_switch) switches;
	struct strtab *switch_names;     /* Number: index of 'switches'. */
	struct strtab *host_names;       /* Number: the host's node id. */
	VEC(uint32_t) host_lines;        /* By host: the last parent, plus one. */
	VEC(struct slurm_edge) to_hosts; /* By parent. */
	VEC(struct slurm_edge) to_switches;
	uint32_t *n_ports; /* Owned.  Used so far, by node id. */
	struct err *err;
};

/* ---- Lines to switches ----------------------------------------------------------- */

/* Skips a backslash and the end of line behind it, if that is what comes next. */
static bool
skip_continuation(struct slurm *s)
{
	size_t n = 1;

	if (s->at == s->end || *s->at != '\\')
		return false;
	if (s->at + n < s->end && s->at[n] == '\r')
		n++;
	if (s->at + n == s->end || s->at[n] != '\n')
		return false;
	s->at += n + 1;
	s->line++;
	return true;
}

/*
 * Goes to the next word.  Returns false at the end of the logical line, which is
 * consumed, or of the text.
 */
static bool
next_word(struct slurm *s)
{
	while (s->at < s->end) {
		char c = *s->at;

		if (skip_continuation(s))
			continue;
		if (c == '\n') {
			s->at++;
			s->line++;
			return false;
		}
		if (c == '#') {
			while (s->at < s->end && *s->at != '\n')
				s->at++;
		} else if (c == ' ' || c == '\t' || c == '\r') {
			s->at++;
		} else {
			return true;
		}
	}
	return false;
}

/* A value up to the next blank or the closing quote; a new string, or NULL. */
static char *
read_value(struct slurm *s)
{
	struct strbuf value = STRBUF_EMPTY;
	bool is_quoted = s->at < s->end && *s->at == '"';
	bool is_closed = !is_quoted;

	s->at += is_quoted;
	while (s->at < s->end) {
		char c = *s->at;

		if (skip_continuation(s))
			continue;
		if (c == '\n' || (!is_quoted && strchr(" \t\r#\\", c)))
			break;
		s->at++;
		if (is_quoted && c == '"') {
			is_closed = true;
			break;
		}
		strbuf_putc(&value, c);
	}
	if (is_closed && value.length)
		return strbuf_steal(&value);
	strbuf_free(&value);
	return NULL;
}

/* What else may stand in a configuration of Slurm, and why we stop there. */
static int
unknown_key(struct slurm *s, const char *word)
{
	if (strncasecmp(word, "Block", 5) == 0)
		return err_set(s->err, s->file, s->line, 0,
			       "'%s' is of the plug-in topology/block; expected lines "
			       "of topology/tree",
			       word);
	if (strcasecmp(word, "Include") == 0)
		return err_set(s->err, s->file, s->line, 0,
			       "'%s' is not followed; put the lines of that file here",
			       word);
	err_set(s->err, s->file, s->line, 0,
		"unknown key '%s', expected SwitchName, Switches, Nodes or LinkSpeed",
		word);
	if (s->err)
		err_suggest(s->err, word, key_names);
	return -EINVAL;
}

/* Reads one KEY=VALUE into 'sw'. */
static int
read_pair(struct slurm *s, struct slurm_switch *sw)
{
	char word[32];
	size_t n = strcspn(s->at, "= \t\r\n#\\");
	int key = 0;

	snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), s->at);
	if (!n)
		return err_set(s->err, s->file, s->line, 0,
			       "expected KEY=VALUE, such as Nodes=n[0-3]");
	while (key < N_KEYS && strcasecmp(word, key_names[key]) != 0)
		key++;
	if (key == N_KEYS)
		return unknown_key(s, word);
	if (s->at[n] != '=')
		return err_set(s->err, s->file, s->line, 0, "expected '=' after '%s'",
			       word);
	if (sw->values[key])
		return err_set(s->err, s->file, s->line, 0, "'%s' is given twice",
			       word);
	s->at += n + 1;
	sw->values[key] = read_value(s);
	sw->lines[key] = s->line;
	if (!sw->values[key])
		return err_set(s->err, s->file, s->line, 0,
			       "'%s' has no value, expected %s", word,
			       key == KEY_LINK_SPEED ? "a speed" : "a name or names");
	return 0;
}

/*
 * 'scontrol show topology' prints a level, all nodes below a switch beside the switches
 * below it, and the speed 1 where none was given: what topology.conf says is left.
 */
static void
take_printed(struct slurm_switch *sw)
{
	if (!sw->values[KEY_LEVEL])
		return;
	if (sw->values[KEY_SWITCHES]) {
		free(sw->values[KEY_NODES]);
		sw->values[KEY_NODES] = NULL;
	}
	if (sw->values[KEY_LINK_SPEED] &&
	    strcmp(sw->values[KEY_LINK_SPEED], "1") == 0) {
		free(sw->values[KEY_LINK_SPEED]);
		sw->values[KEY_LINK_SPEED] = NULL;
	}
}

static int
check_switch(struct slurm *s, struct slurm_switch *sw, unsigned line)
{
	const char *name = sw->values[KEY_SWITCH_NAME], *speed;
	uint32_t first;
	char *end;

	take_printed(sw);
	speed = sw->values[KEY_LINK_SPEED];

	if (!name)
		return err_set(s->err, s->file, line, 0, "SwitchName is missing");
	line = sw->lines[KEY_SWITCH_NAME];
	if (!sw->values[KEY_SWITCHES] == !sw->values[KEY_NODES])
		return err_set(s->err, s->file, line, 0,
			       "switch '%s' has %s Nodes, expected one of them", name,
			       sw->values[KEY_NODES] ? "both Switches and"
						     : "neither Switches nor");
	first = strtab_find(s->switch_names, name);
	if (first != STRTAB_NONE)
		return err_set(s->err, s->file, line, 0,
			       "switch '%s' is defined twice, first in line %u", name,
			       s->switches.items[first].lines[KEY_SWITCH_NAME]);
	if (!topo_name_is_valid(name))
		return err_set(
			s->err, s->file, line, 0,
			"'%s' is no name of one switch, expected 1 to %d letters, "
			"digits and \"._-/+@\"",
			name, TOPO_MAX_NAME);
	sw->bps = s->default_bps;
	if (speed && units_parse_bps(speed, &sw->bps) < 0) {
		sw->bps = 1e9 * strtod(speed, &end);
		if (end == speed || *end)
			sw->bps = NAN;
	}
	sw->bps = round(sw->bps);
	if (!(sw->bps >= 1 && sw->bps <= TOPO_MAX_BPS))
		return err_set(s->err, s->file, sw->lines[KEY_LINK_SPEED], 0,
			       "LinkSpeed is '%s', expected %s or a number of Gb/s",
			       speed ? speed : "", UNITS_WANT_RATE);
	return 0;
}

static int
read_switches(struct slurm *s)
{
	while (s->at < s->end) {
		struct slurm_switch sw = { .tier = 0 };
		bool has_words = false;
		unsigned line = s->line;
		int r = 0;

		while (r == 0 && next_word(s)) {
			if (!has_words)
				line = s->line;
			has_words = true;
			r = read_pair(s, &sw);
		}
		if (r == 0 && has_words)
			r = check_switch(s, &sw, line);
		if (r == 0 && has_words && s->switches.n == TOPO_MAX_NODES)
			r = err_set(s->err, s->file, line, 0, "more than %d switches",
				    TOPO_MAX_NODES);
		if (r < 0 || !has_words) {
			for (int i = 0; i < N_KEYS; i++)
				free(sw.values[i]);
			if (r < 0)
				return r;
			continue;
		}
		strtab_intern(s->switch_names, sw.values[KEY_SWITCH_NAME]);
		vec_push(&s->switches, sw);
	}
	if (!s->switches.n)
		return err_set(
			s->err, s->file, 0, 0,
			"has no switch, expected lines 'SwitchName=... Nodes=...'");
	return 0;
}

/* ---- Names to edges ---------------------------------------------------------------- */

/* Where the names of one line go. */
struct expansion {
	struct slurm *slurm;
	uint32_t parent;
	unsigned line;
};

/* Notes that the name is on the line of 'parent', in its 'last'. */
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
		return err_set(s->err, s->file, x->line, 0,
			       "'%s' is no name, expected 1 to %d letters, digits and "
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
		vec_push(&names, s->switches.items[i].values[KEY_SWITCH_NAME]);
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
		bool is_leaf = sw->values[KEY_NODES];
		enum key key = is_leaf ? KEY_NODES : KEY_SWITCHES;
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
				key_names[key], sw->values[key], why);
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
		if (switches[i].values[KEY_NODES]) {
			switches[i].tier = 1;
			order[n_ordered++] = i;
		}
	}
	for (size_t i = 0; i < n_ordered; i++) {
		uint32_t child = order[i];

		for (uint32_t j = first[child]; j < first[child + 1]; j++) {
			struct slurm_switch *parent = &switches[parents[j]];

			/* The last child to get its tier has the highest. */
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
				s->err, s->file, sw->lines[KEY_SWITCH_NAME], 0,
				"switch '%s' is in, or above, a loop of switches",
				sw->values[KEY_SWITCH_NAME]);
		if (sw->tier > TOPO_MAX_TIER)
			return err_set(s->err, s->file, sw->lines[KEY_SWITCH_NAME], 0,
				       "switch '%s' is tier %u, expected at most %d",
				       sw->values[KEY_SWITCH_NAME], sw->tier,
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

		if (topo_builder_switch(b, sw->values[KEY_SWITCH_NAME], sw->tier,
					&sw->node) < 0)
			return err_set(s->err, s->file, sw->lines[KEY_SWITCH_NAME], 0,
				       "switch '%s' has the name of a node",
				       sw->values[KEY_SWITCH_NAME]);
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

/* The capacity of a cable up from a switch, whose cables down are known. */
static double
uplink_bps(const struct slurm *s, const struct slurm_switch *child,
	   const struct slurm_switch *parent)
{
	double bps = parent->bps;

	if (parent->values[KEY_LINK_SPEED])
		return bps;
	if (s->uplink_bps > 0)
		bps = s->uplink_bps;
	else if (s->oversubscription > 0)
		bps = child->down_bps / s->oversubscription / child->n_parents;
	return fmin(fmax(round(bps), 1), TOPO_MAX_BPS);
}

/* Edges are sorted by parent as they are; 'order' has the leaves first. */
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

static int
build(struct slurm *s, const char *name, struct topo **ret_topo)
{
	uint32_t *order = xcalloc(s->switches.n + 1, sizeof *order);
	struct topo_builder *b = topo_builder_new(name);
	int r = find_tiers(s, order);

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

int
topo_tree_read(const char *file, const char *text, size_t length,
	       const struct topo_read_opts *opts, const struct topo_tree_opts *tree,
	       struct topo **ret_topo, struct err *err)
{
	struct slurm s = {
		.file = file,
		.at = text,
		.end = text + length,
		.line = 1,
		.default_bps =
			opts && opts->default_bps > 0 ? opts->default_bps : 100e9,
		.uplink_bps = opts ? opts->uplink_bps : 0,
		.oversubscription = opts ? opts->oversubscription : 0,
		.n_slots = opts && opts->n_slots ? opts->n_slots : 1,
		.max_names = opts && opts->max_names ? opts->max_names : TOPO_MAX_NODES,
		.slots_of = tree->slots_of,
		.slots_ctx = tree->ctx,
		.switch_names = strtab_new(),
		.host_names = strtab_new(),
		.err = err,
	};
	int r;

	if (memchr(text, '\0', length))
		r = err_set(err, file, 0, 0, "is no text: it has a zero byte");
	else
		r = read_switches(&s);
	if (r == 0)
		r = expand_names(&s);
	if (r == 0)
		r = build(&s, tree->name, ret_topo);
	for (size_t i = 0; i < s.switches.n; i++) {
		for (int k = 0; k < N_KEYS; k++)
			free(s.switches.items[i].values[k]);
	}
	vec_free(&s.switches);
	vec_free(&s.host_lines);
	vec_free(&s.to_hosts);
	vec_free(&s.to_switches);
	strtab_free(s.switch_names);
	strtab_free(s.host_names);
	free(s.n_ports);
	return r;
}

int
topo_slurm_read(const char *file, const char *text, size_t length,
		const struct topo_read_opts *opts, struct topo **ret_topo,
		struct err *err)
{
	return topo_tree_read(file, text, length, opts,
			      &(const struct topo_tree_opts){ .name = "slurm" },
			      ret_topo, err);
}
