/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_text_nodes.c - readers of sinfo's nodes and scontrol's switches; features. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/slurm/slurm_fields.h"
#include "scheduler/slurm/slurm_text.h"

/* ---- Features -------------------------------------------------------------------- */

const char *
slurm_feature_job(const char *feature)
{
	size_t n = strlen(SLURM_FEATURE);

	if (strncmp(feature, SLURM_FEATURE, n) != 0 || !slurm_is_job_id(feature + n))
		return NULL;
	return feature + n;
}

/* Whether 'out' has that word, from 'start' on. */
static bool
has_word(const struct strbuf *out, size_t start, struct slurm_piece word)
{
	const char *at = out->text + start;

	while (*at) {
		struct slurm_piece other = { at, strcspn(at, ",") };

		if (other.n == word.n && memcmp(other.text, word.text, word.n) == 0)
			return true;
		at += other.n + (at[other.n] == ',');
	}
	return false;
}

static void
add_word(struct strbuf *out, size_t start, struct slurm_piece word)
{
	if (word.n == 0 || has_word(out, start, word))
		return;
	if (out->length > start)
		strbuf_putc(out, ',');
	strbuf_add(out, word.text, word.n);
}

/* Appends the words that 'is_out' does not match. */
static void
copy_words(const char *list, bool (*is_out)(void *ctx, struct slurm_piece word),
	   void *ctx, struct strbuf *out)
{
	size_t start = out->length;

	while (*list) {
		struct slurm_piece word = { list, strcspn(list, ",") };

		if (!is_out(ctx, word))
			add_word(out, start, word);
		list += word.n + (list[word.n] == ',');
	}
}

static bool
is_never(void *ctx, struct slurm_piece word)
{
	(void)ctx;
	(void)word;
	return false;
}

static bool
is_that(void *ctx, struct slurm_piece word)
{
	return slurm_piece_is(word, ctx);
}

/* Matches our features, of any job. */
static bool
is_ours(void *ctx, struct slurm_piece word)
{
	char *feature = xstrndup(word.text, word.n);
	bool is = slurm_feature_job(feature) != NULL;

	(void)ctx;
	free(feature);
	return is;
}

void
slurm_features_with(const char *list, const char *feature, struct strbuf *out)
{
	size_t start = out->length;

	copy_words(list, is_never, NULL, out);
	if (feature)
		add_word(out, start, (struct slurm_piece){ feature, strlen(feature) });
}

void
slurm_features_without(const char *list, const char *feature, struct strbuf *out)
{
	copy_words(list, feature ? is_that : is_never, (void *)feature, out);
}

/* ---- Nodes ----------------------------------------------------------------------- */

/* sinfo's words, without the mark after them. */
struct node_state_name {
	const char *name;
	enum sched_node_state state;
};

static const struct node_state_name node_state_names[] = {
	{ "idle", SCHED_NODE_FREE },
	{ "planned", SCHED_NODE_FREE },      /* Reserved for a job that starts later. */
	{ "powered_down", SCHED_NODE_FREE }, /* Slurm wakes it for a job. */
	{ "powering_up", SCHED_NODE_FREE },
	{ "mixed", SCHED_NODE_MIXED },
	{ "allocated", SCHED_NODE_TAKEN },
	{ "allocated+", SCHED_NODE_TAKEN },
	{ "completing", SCHED_NODE_TAKEN },
};

/*
 * The state of "idle", "mixed", "down*", "idle~": a word and marks. With the marks '~'
 * (asleep), '#' (waking up), '+' (some of its jobs end) and '-' (planned for) jobs can
 * start there; with '*' (does not answer), '$' (maintenance), '@' and '^' (reboots),
 * '%' and '!' (falls asleep) they cannot. No job is placed on a node in an unknown
 * state.
 */
static enum sched_node_state
read_node_state(struct slurm_piece piece)
{
	bool is_barred = false;

	while (piece.n > 0 && strchr("*~#!%$@^-+", piece.text[piece.n - 1])) {
		is_barred |= strchr("*!%$@^", piece.text[piece.n - 1]) != NULL;
		piece.n--;
	}
	for (size_t i = 0; i < sizeof node_state_names / sizeof *node_state_names;
	     i++) {
		if (slurm_piece_is(piece, node_state_names[i].name))
			return is_barred ? SCHED_NODE_DOWN : node_state_names[i].state;
	}
	return SCHED_NODE_DOWN;
}

/* A row: a node in one of its partitions. */
struct node_row {
	struct sched_node node;
	struct slurm_features features;
	size_t order; /* In the text. */
};

static void
free_row(struct node_row *row)
{
	free(row->node.name);
	free(row->node.partitions);
	free(row->node.features);
	free(row->features.node);
	free(row->features.available);
	free(row->features.active);
}

enum node_field {
	NODE_NAME,
	NODE_STATE,
	NODE_PARTITION,
	NODE_CPUS,
	NODE_AVAILABLE,
	NODE_ACTIVE,
	N_NODE_FIELDS,
};

/* Returns false for an invalid line. */
static bool
read_row(struct slurm_piece line, struct node_row *ret_row)
{
	struct slurm_piece fields[N_NODE_FIELDS];
	struct strbuf features = STRBUF_EMPTY;
	uint64_t n_cpus = 0;
	size_t n;

	for (int i = 0; i < N_NODE_FIELDS; i++) {
		if (!slurm_next_column(&line, &fields[i]))
			return false;
	}
	if (line.n > 0 || fields[NODE_NAME].n == 0)
		return false;
	slurm_piece_number(fields[NODE_CPUS], UINT32_MAX, &n_cpus, &n);
	*ret_row = (struct node_row){
		.node = { .name = slurm_piece_clean(fields[NODE_NAME]),
			  .state = read_node_state(fields[NODE_STATE]),
			  .partitions = slurm_piece_value(fields[NODE_PARTITION]),
			  .n_slots = (uint32_t)n_cpus },
		.features = { .node = slurm_piece_clean(fields[NODE_NAME]),
			      .available = slurm_piece_value(fields[NODE_AVAILABLE]),
			      .active = slurm_piece_value(fields[NODE_ACTIVE]) },
	};
	copy_words(ret_row->features.active, is_ours, NULL, &features);
	ret_row->node.features = strbuf_steal(&features);
	if (!ret_row->node.features)
		ret_row->node.features = xstrdup("");
	return true;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct node_row *x = a, *y = b;
	int by_name = strcmp(x->node.name, y->node.name);

	if (by_name)
		return by_name;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Merges the rows of a node, which are adjacent; takes ownership of them. */
static void
merge_rows(struct node_row *rows, size_t n, struct slurm_nodes *nodes)
{
	nodes->nodes = xcalloc(n, sizeof *nodes->nodes);
	nodes->features = xcalloc(n, sizeof *nodes->features);
	for (size_t i = 0; i < n; i++) {
		struct sched_node *last = nodes->n ? &nodes->nodes[nodes->n - 1] : NULL;

		if (last && strcmp(last->name, rows[i].node.name) == 0) {
			struct strbuf both = STRBUF_EMPTY;

			strbuf_printf(&both, "%s,%s", last->partitions,
				      rows[i].node.partitions);
			free(last->partitions);
			last->partitions = strbuf_steal(&both);
			free_row(&rows[i]);
			continue;
		}
		nodes->nodes[nodes->n] = rows[i].node;
		nodes->features[nodes->n++] = rows[i].features;
	}
}

int
slurm_read_nodes(const char *text, size_t n, struct slurm_nodes *ret_nodes,
		 struct err *err)
{
	struct slurm_piece rest = { text, n }, line;
	VEC(struct node_row) rows = VEC_EMPTY;
	int r = 0;

	*ret_nodes = (struct slurm_nodes){ .n = 0 };
	for (unsigned row = 1; r == 0 && slurm_next_line(&rest, &line); row++) {
		struct node_row found;

		if (rows.n == 4 * (size_t)SCHED_MAX_NODES) {
			err_set(err, NULL, 0, 0, "sinfo printed too many nodes");
			r = -E2BIG;
		} else if (!read_row(line, &found)) {
			r = err_set(err, NULL, 0, 0,
				    "sinfo printed something else than was asked for, "
				    "in line %u",
				    row);
		} else {
			found.order = row;
			vec_push(&rows, found);
		}
	}
	if (r == 0 && rows.n) {
		qsort(rows.items, rows.n, sizeof *rows.items, compare_rows);
		merge_rows(rows.items, rows.n, ret_nodes);
	} else {
		for (size_t i = 0; i < rows.n; i++)
			free_row(&rows.items[i]);
	}
	vec_free(&rows);
	return r;
}

void
slurm_nodes_fini(struct slurm_nodes *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		struct node_row row = { .features = nodes->features[i] };

		if (nodes->nodes)
			row.node = nodes->nodes[i];
		free_row(&row);
	}
	free(nodes->nodes);
	free(nodes->features);
	*nodes = (struct slurm_nodes){ .n = 0 };
}

void
slurm_nodes_take(struct slurm_nodes *nodes, struct sched_snapshot *snapshot)
{
	snapshot->nodes = nodes->nodes;
	snapshot->n_nodes = nodes->n;
	nodes->nodes = NULL;
}

/* ---- Switches -------------------------------------------------------------------- */

/* Finds "Key=value" in a line of words divided by blanks; false without that key. */
static bool
find_key(struct slurm_piece line, const char *key, struct slurm_piece *ret_value)
{
	size_t n_key = strlen(key);

	while (line.n > 0) {
		size_t n = 0;

		while (n < line.n && line.text[n] != ' ')
			n++;
		if (n > n_key && line.text[n_key] == '=' &&
		    strncasecmp(line.text, key, n_key) == 0) {
			ret_value->text = line.text + n_key + 1;
			ret_value->n = n - n_key - 1;
			return true;
		}
		n += n < line.n;
		line.text += n;
		line.n -= n;
	}
	return false;
}

int
slurm_topology_conf(const char *text, size_t n, struct strbuf *out, struct err *err)
{
	struct slurm_piece rest = { text, n }, line, name, below, speed;
	size_t n_switches = 0;

	while (slurm_next_line(&rest, &line)) {
		bool has_switches;

		if (!find_key(line, "SwitchName", &name))
			continue;
		/* Switches above the lowest also list all the nodes below them. */
		has_switches = find_key(line, "Switches", &below) && below.n > 0;
		if (!has_switches && (!find_key(line, "Nodes", &below) || below.n == 0))
			continue; /* A switch without nodes or switches below. */
		strbuf_printf(out, "SwitchName=%.*s %s=%.*s", (int)name.n, name.text,
			      has_switches ? "Switches" : "Nodes", (int)below.n,
			      below.text);
		/* 1 is Slurm's default. */
		if (find_key(line, "LinkSpeed", &speed) && !slurm_piece_is(speed, "1"))
			strbuf_printf(out, " LinkSpeed=%.*s", (int)speed.n, speed.text);
		strbuf_putc(out, '\n');
		n_switches++;
	}
	if (n_switches > 0)
		return 0;
	err_set(err, NULL, 0, 0,
		"Slurm knows no switches: give it a topology.conf (topology/tree), or give "
		"antiphase the fabric as a file");
	return -ENODATA;
}
