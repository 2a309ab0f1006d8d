/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_slurm.c - the reader of Slurm's topology.conf (topology.conf(5), plug-in
 * topology/tree): the text becomes a list of switches as they are written.  Keys are
 * case-insensitive, '#' starts a comment, and a backslash at the end of a line
 * continues it.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "topology/in_slurm_priv.h"
#include "topology/topo.h"

/* ---- Lines to switches ----------------------------------------------------------- */

/* Skips a backslash and the end of line that follows it, if they are next. */
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

/* Other keys of Slurm's configuration, and why they are errors. */
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
		err_suggest(s->err, word, slurm_key_names);
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
	while (key < N_SLURM_KEYS && strcasecmp(word, slurm_key_names[key]) != 0)
		key++;
	if (key == N_SLURM_KEYS)
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
			       key == SLURM_KEY_LINK_SPEED ? "a speed"
							   : "a name or names");
	return 0;
}

/*
 * Reduces the output of 'scontrol show topology' to that of topology.conf: it also
 * prints a level, all nodes below a switch, and the speed 1 where none was given, or 0
 * where it read topology.yaml.
 */
static void
take_printed(struct slurm_switch *sw)
{
	if (!sw->values[SLURM_KEY_LEVEL])
		return;
	if (sw->values[SLURM_KEY_SWITCHES]) {
		free(sw->values[SLURM_KEY_NODES]);
		sw->values[SLURM_KEY_NODES] = NULL;
	}
	if (sw->values[SLURM_KEY_LINK_SPEED] &&
	    (strcmp(sw->values[SLURM_KEY_LINK_SPEED], "1") == 0 ||
	     strcmp(sw->values[SLURM_KEY_LINK_SPEED], "0") == 0)) {
		free(sw->values[SLURM_KEY_LINK_SPEED]);
		sw->values[SLURM_KEY_LINK_SPEED] = NULL;
	}
}

static int
check_switch(struct slurm *s, struct slurm_switch *sw, unsigned line)
{
	const char *name = sw->values[SLURM_KEY_SWITCH_NAME], *speed;
	uint32_t first;
	char *end;

	take_printed(sw);
	speed = sw->values[SLURM_KEY_LINK_SPEED];

	if (!name)
		return err_set(s->err, s->file, line, 0, "SwitchName is missing");
	line = sw->lines[SLURM_KEY_SWITCH_NAME];
	if (!sw->values[SLURM_KEY_SWITCHES] == !sw->values[SLURM_KEY_NODES])
		return err_set(s->err, s->file, line, 0,
			       "switch '%s' has %s Nodes, expected one of them", name,
			       sw->values[SLURM_KEY_NODES] ? "both Switches and"
							   : "neither Switches nor");
	first = strtab_find(s->switch_names, name);
	if (first != STRTAB_NONE)
		return err_set(s->err, s->file, line, 0,
			       "switch '%s' is defined twice, first in line %u", name,
			       s->switches.items[first].lines[SLURM_KEY_SWITCH_NAME]);
	if (!topo_name_is_valid(name))
		return err_set(
			s->err, s->file, line, 0,
			"'%s' is not the name of one switch, expected 1 to %d letters, "
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
		return err_set(s->err, s->file, sw->lines[SLURM_KEY_LINK_SPEED], 0,
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
			for (int i = 0; i < N_SLURM_KEYS; i++)
				free(sw.values[i]);
			if (r < 0)
				return r;
			continue;
		}
		strtab_intern(s->switch_names, sw.values[SLURM_KEY_SWITCH_NAME]);
		vec_push(&s->switches, sw);
	}
	if (!s->switches.n)
		return err_set(
			s->err, s->file, 0, 0,
			"has no switch, expected lines 'SwitchName=... Nodes=...'");
	return 0;
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
		r = err_set(err, file, 0, 0, "is not text: it has a zero byte");
	else
		r = read_switches(&s);
	if (r == 0)
		r = slurm_build(&s, tree->name, ret_topo);
	for (size_t i = 0; i < s.switches.n; i++) {
		for (int k = 0; k < N_SLURM_KEYS; k++)
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
