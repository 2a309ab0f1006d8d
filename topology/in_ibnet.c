/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_ibnet.c - the reader of ibnetdiscover's text (ibnetdiscover(8), "Topology
 * file format").
 *
 *	Switch  36 "S-0002c90200000001"   # "MF0;leaf1:MSB7800/U1" enhanced port 0 lid 1 lmc 0
 *	[1]     "H-0002c90300000011"[1](2c90300000011)  # "node1 mlx5_0" lid 7 4xHDR
 *
 *	Ca      1 "H-0002c90300000011"    # "node1 mlx5_0"
 *	[1](2c90300000011)  "S-0002c90200000001"[1]  # lid 7 lmc 0 "leaf1" lid 1 4xHDR
 *
 * Every cable stands in the blocks of both its ends; what only one end knows of
 * becomes a one-way link.  Width and speed at the end of a line are the capacity of
 * the link that leaves there, as data rate after line coding.
 *
 * Routers, and the aggregation nodes inside of switches (SHARP), are left out.
 * How nodes are named is in in_ibnet_names.c, and how tiers are found in
 * in_ibnet_tiers.c.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/in_ibnet_priv.h"
#include "topology/read.h"
#include "topology/topo.h"

struct reader {
	const char *file;
	unsigned line;
	struct strtab *tokens; /* "S-0002c90200000001": number of the node. */
	VEC(struct ibnet_node) nodes;
	VEC(struct ibnet_cable) ends;
	uint32_t current; /* Node of this block, or TOPO_NONE. */
	double default_bps;
	uint32_t n_slots;
	struct err *err;
};

/* ---- Lines ----------------------------------------------------------------------- */

/*
 * Data rate of one lane in Gb/s: signaling rate times 8/10 for SDR to QDR, 64/66
 * for FDR10 to EDR; from HDR on the names are the data rate (InfiniBand roadmap).
 */
static double
lane_gbps(const char *speed)
{
	static const struct {
		const char *name;
		double gbps;
	} speeds[] = {
		{ "SDR", 2 },
		{ "DDR", 4 },
		{ "QDR", 8 },
		{ "FDR10", 10 },
		{ "FDR", 14.0625 * 64 / 66 },
		{ "EDR", 25 },
		{ "HDR", 50 },
		{ "NDR", 100 },
		{ "XDR", 200 },
	};

	for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
		if (strcmp(speed, speeds[i].name) == 0)
			return speeds[i].gbps;
	}
	return 0;
}

/*
 * The last word such as "4xHDR" of a comment, in bits per second; 0 if there is
 * none, negative if the comment ends with a speed that is not known.
 */
static double
find_bps(const char *comment)
{
	double bps = 0;
	bool is_unknown = false;

	while (*comment) {
		size_t n = strcspn(comment, " \t\r");
		unsigned width;
		char speed[8];
		int end = 0;

		if (n && n < 12 &&
		    sscanf(comment, "%2ux%5[A-Z0-9]%n", &width, speed, &end) == 2 &&
		    (size_t)end == n) {
			is_unknown = width < 1 || width > 12 || lane_gbps(speed) == 0;
			if (!is_unknown)
				bps = round(width * lane_gbps(speed) * 1e9);
		} else if (n) {
			is_unknown = false;
		}
		comment += n;
		comment += strspn(comment, " \t\r");
	}
	return is_unknown ? -1 : bps;
}

/*
 * Takes the quoted text at '*at' and moves behind it.  Returns a new string of at
 * most 'max' characters, or NULL.
 */
static char *
take_quoted(const char **at, const char *close, size_t max)
{
	const char *start = *at;

	if (*start != '"' || !close || close == start ||
	    (size_t)(close - start - 1) > max)
		return NULL;
	*at = close + 1;
	return xstrndup(start + 1, (size_t)(close - start - 1));
}

/* Takes "[12]" and moves behind it. */
static bool
take_port(const char **at, unsigned *ret_port)
{
	int end = 0;

	if (**at != '[' || !isdigit((unsigned char)(*at)[1]) ||
	    sscanf(*at, "[%5u]%n", ret_port, &end) != 1 || !end)
		return false;
	*at += end;
	return true;
}

static void
skip_blanks(const char **at)
{
	*at += strspn(*at, " \t\r");
}

/* Skips "[ext 7]" and "(2c90300000011)", in any order. */
static void
skip_remarks(const char **at)
{
	for (;;) {
		char close = **at == '(' ? ')' : ']';
		const char *end;

		if (**at != '(' && strncmp(*at, "[ext", 4) != 0)
			return;
		end = strchr(*at, close);
		if (!end)
			return;
		*at = end + 1;
	}
}

/* Number of the node with that token, whose block may come later in the file. */
static uint32_t
intern_node(struct reader *rd, const char *token)
{
	uint32_t id = strtab_intern(rd->tokens, token);

	if (id == rd->nodes.n)
		vec_push(&rd->nodes,
			 ((struct ibnet_node){ .token = strtab_name(rd->tokens, id) }));
	return id;
}

static int
bad_line(struct reader *rd, const char *expected)
{
	return err_set(rd->err, rd->file, rd->line, 0,
		       "cannot read this line, expected %s", expected);
}

/* "Switch 36 "S-..." # "description" ...": a block begins. */
static int
read_header(struct reader *rd, const char *line, enum ibnet_kind kind)
{
	const char *at = line + strcspn(line, "\""), *comment;
	char *token = take_quoted(&at, strchr(at + (*at == '"'), '"'), TOPO_MAX_NAME);
	struct ibnet_node *node;

	if (!token || !topo_name_is_valid(token)) {
		free(token);
		return bad_line(rd, "'Switch', 'Ca' or 'Rt', a number of ports and a "
				    "node such as \"S-0002c90200000001\"");
	}
	rd->current = intern_node(rd, token);
	free(token);
	if (rd->nodes.n > TOPO_MAX_NODES)
		return err_set(rd->err, rd->file, rd->line, 0, "more than %d nodes",
			       TOPO_MAX_NODES);
	node = &rd->nodes.items[rd->current];
	if (node->line)
		return err_set(rd->err, rd->file, rd->line, 0,
			       "node '%s' has two blocks, the first in line %u",
			       node->token, node->line);
	node->kind = kind;
	node->line = rd->line;
	comment = strchr(at, '#');
	if (comment) {
		comment += 1 + strspn(comment + 1, " \t");
		/* A description may itself have quotes. */
		node->description = take_quoted(&comment, strrchr(comment, '"'), 255);
	}
	return 0;
}

/* "[1](guid) "S-..."[7][ext 3] # ... 4xHDR": one end of a cable. */
static int
read_end(struct reader *rd, const char *line)
{
	static const char expected[] =
		"a cable such as '[1] \"H-0002c90300000011\"[1] # ... 4xHDR'";
	struct ibnet_cable end = { .from = rd->current, .line = rd->line };
	const char *at = line, *comment;
	char *token;

	if (rd->current == TOPO_NONE)
		return bad_line(rd, "a line 'Switch', 'Ca' or 'Rt' before any cable");
	if (!take_port(&at, &end.from_port))
		return bad_line(rd, expected);
	skip_remarks(&at);
	skip_blanks(&at);
	token = take_quoted(&at, *at ? strchr(at + 1, '"') : NULL, TOPO_MAX_NAME);
	if (!token || !topo_name_is_valid(token) || !take_port(&at, &end.to_port)) {
		free(token);
		return bad_line(rd, expected);
	}
	end.to = intern_node(rd, token);
	free(token);
	comment = strchr(at, '#');
	end.bps = comment ? find_bps(comment + 1) : 0;
	if (end.bps < 0)
		return bad_line(rd, "a speed of 1x to 12x SDR, DDR, QDR, FDR10, FDR, "
				    "EDR, HDR, NDR or XDR at its end");
	if (end.bps == 0)
		end.bps = rd->default_bps;
	if (rd->ends.n == TOPO_MAX_LINKS)
		return err_set(rd->err, rd->file, rd->line, 0, "more than %d links",
			       TOPO_MAX_LINKS);
	vec_push(&rd->ends, end);
	return 0;
}

static bool
starts_with(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static int
read_line(struct reader *rd, const char *line)
{
	static const char *const ignored[] = {
		"#",       "vendid=", "devid=",  "sysimg",      "switchguid=",
		"caguid=", "rtguid=", "Chassis", "Non-Chassis", "routerguid="
	};

	skip_blanks(&line);
	if (!*line)
		return 0;
	if (*line == '[')
		return read_end(rd, line);
	if (starts_with(line, "Switch"))
		return read_header(rd, line, IBNET_SWITCH);
	if (starts_with(line, "Ca"))
		return read_header(rd, line, IBNET_CA);
	if (starts_with(line, "Rt"))
		return read_header(rd, line, IBNET_ROUTER);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
		if (starts_with(line, ignored[i]))
			return 0;
	}
	return bad_line(rd,
			"a block of ibnetdiscover: 'Switch', 'Ca', 'Rt' or a cable");
}

static int
read_lines(struct reader *rd, const char *text, size_t length)
{
	VEC(char) line = VEC_EMPTY;
	int r = 0;

	while (length && r == 0) {
		const char *newline = memchr(text, '\n', length);
		size_t n = newline ? (size_t)(newline - text) : length;

		rd->line++;
		line.n = 0;
		vec_reserve(&line, n + 1);
		memcpy(line.items, text, n);
		line.items[n] = '\0';
		r = read_line(rd, line.items);
		text += newline ? n + 1 : n;
		length -= newline ? n + 1 : n;
	}
	vec_free(&line);
	return r;
}

/* ---- Cables --------------------------------------------------------------------- */

static int
compare_ends(const void *a, const void *b)
{
	const struct ibnet_cable *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->from_port != y->from_port)
		return x->from_port < y->from_port ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The end at the other side of 'end', or NULL; 'sorted' by compare_ends(). */
static const struct ibnet_cable *
find_other(const struct ibnet_cable *sorted, size_t n, const struct ibnet_cable *end)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ibnet_cable *x = &sorted[middle];

		if (x->from < end->to ||
		    (x->from == end->to && x->from_port < end->to_port))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || sorted[low].from != end->to ||
	    sorted[low].from_port != end->to_port || sorted[low].to != end->from ||
	    sorted[low].to_port != end->from_port)
		return NULL;
	return &sorted[low];
}

static int
check_ends(struct reader *rd, const struct ibnet_cable *sorted)
{
	for (size_t i = 0; i < rd->ends.n; i++) {
		const struct ibnet_cable *end = &rd->ends.items[i];

		if (!rd->nodes.items[end->to].line)
			return err_set(rd->err, rd->file, end->line, 0,
				       "node '%s' has no block of its own in this file",
				       rd->nodes.items[end->to].token);
	}
	for (size_t i = 1; i < rd->ends.n; i++) {
		if (sorted[i].from == sorted[i - 1].from &&
		    sorted[i].from_port == sorted[i - 1].from_port)
			return err_set(rd->err, rd->file, sorted[i].line, 0,
				       "port %u is listed twice, first in line %u",
				       sorted[i].from_port, sorted[i - 1].line);
	}
	return 0;
}

static void
port_name(const struct ibnet_node *node, unsigned port,
	  char ret_name[TOPO_MAX_NAME + 1])
{
	if (node->device)
		snprintf(ret_name, TOPO_MAX_NAME + 1, "%.50s/%u", node->device, port);
	else
		snprintf(ret_name, TOPO_MAX_NAME + 1, "p%u", port);
}

/* Adds the cables, each at the first of its ends. */
static int
add_cables(struct reader *rd, struct topo_builder *b, const struct ibnet_cable *sorted)
{
	for (size_t i = 0; i < rd->ends.n; i++) {
		const struct ibnet_cable *end = &rd->ends.items[i];
		const struct ibnet_cable *other = find_other(sorted, rd->ends.n, end);
		const struct ibnet_node *from = &rd->nodes.items[end->from];
		const struct ibnet_node *to = &rd->nodes.items[end->to];
		char from_port[TOPO_MAX_NAME + 1], to_port[TOPO_MAX_NAME + 1];
		int r;

		if (from->id == TOPO_NONE || to->id == TOPO_NONE ||
		    (other && other->line < end->line))
			continue;
		port_name(from, end->from_port, from_port);
		port_name(to, end->to_port, to_port);
		r = topo_builder_cable(b, from->id, from_port, to->id, to_port,
				       end->bps, other ? other->bps : 0);
		if (r == -EEXIST)
			return err_set(rd->err, rd->file, end->line, 0,
				       "port %u of node '%s' has two cables",
				       end->to_port, to->token);
		if (r < 0)
			return err_set(
				rd->err, rd->file, end->line, 0,
				"node '%s' is cabled to itself, or there are more "
				"than %d links",
				from->token, TOPO_MAX_LINKS);
	}
	return 0;
}

static int
add_nodes(struct reader *rd, struct topo_builder *b)
{
	int r = 0;

	ibnet_add_hosts(rd->nodes.items, rd->nodes.n, rd->n_slots, b);
	for (size_t i = 0; i < rd->nodes.n && r == 0; i++) {
		struct ibnet_node *node = &rd->nodes.items[i];

		if (node->kind != IBNET_SWITCH)
			continue;
		if (node->tier > TOPO_MAX_TIER)
			return err_set(rd->err, rd->file, node->line, 0,
				       "switch '%s' is tier %u, expected at most %d",
				       node->token, node->tier, TOPO_MAX_TIER);
		r = topo_builder_switch(b, node->name, node->tier, &node->id);
		/* A switch with the name of a host keeps its token. */
		if (r == -EEXIST)
			r = topo_builder_switch(b, node->token, node->tier, &node->id);
		if (r < 0)
			err_set(rd->err, rd->file, node->line, 0,
				"the name '%s' is taken", node->token);
	}
	return r;
}

static int
build(struct reader *rd, struct topo **ret_topo)
{
	struct ibnet_cable *sorted =
		xmemdup(rd->ends.items, rd->ends.n, sizeof *sorted);
	struct topo_builder *b = topo_builder_new("ibnetdiscover");
	int r;

	sort_items(sorted, rd->ends.n, compare_ends);
	r = check_ends(rd, sorted);
	if (r == 0) {
		ibnet_find_tiers(rd->nodes.items, rd->nodes.n, rd->ends.items,
				 rd->ends.n);
		ibnet_name_nodes(rd->nodes.items, rd->nodes.n);
		r = add_nodes(rd, b);
	}
	if (r == 0)
		r = add_cables(rd, b, sorted);
	if (r == 0)
		*ret_topo = topo_builder_finish(b);
	else
		topo_builder_free(b);
	free(sorted);
	return r;
}

int
topo_ibnet_read(const char *file, const char *text, size_t length,
		const struct topo_read_opts *opts, struct topo **ret_topo,
		struct err *err)
{
	struct reader rd = {
		.file = file,
		.tokens = strtab_new(),
		.current = TOPO_NONE,
		.default_bps =
			opts && opts->default_bps > 0 ? opts->default_bps : 100e9,
		.n_slots = opts && opts->n_slots ? opts->n_slots : 1,
		.err = err,
	};
	int r;

	if (memchr(text, '\0', length))
		r = err_set(err, file, 0, 0, "is not text: it has a zero byte");
	else
		r = read_lines(&rd, text, length);
	if (r == 0 && !rd.nodes.n)
		r = err_set(err, file, 0, 0,
			    "has no node, expected blocks of ibnetdiscover");
	if (r == 0)
		r = build(&rd, ret_topo);
	for (size_t i = 0; i < rd.nodes.n; i++)
		ibnet_node_fini(&rd.nodes.items[i]);
	vec_free(&rd.nodes);
	vec_free(&rd.ends);
	strtab_free(rd.tokens);
	return r;
}
