/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_dot.c - Graphviz: "dot -Tsvg" draws the tiers as rows.
 */
#include <stdbool.h>

#include "topology/topo.h"
#include "topology/write.h"

/* Names and ports need no escapes inside of quotes: see topo_name_is_valid(). */
static void
write_tier(const struct topo *topo, uint32_t tier, FILE *out)
{
	bool is_first = true;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);

		if (node->tier != tier)
			continue;
		if (is_first)
			fputs("\t{ rank=same;\n", out);
		is_first = false;
		if (node->kind == TOPO_HOST)
			fprintf(out, "\t\t\"%s\" [shape=ellipse];\n", node->name);
		else
			fprintf(out, "\t\t\"%s\";\n", node->name);
	}
	if (!is_first)
		fputs("\t}\n", out);
}

/* A cable is drawn from its upper end, so that dot puts that one on top. */
static void
write_cable(const struct topo *topo, uint32_t id, FILE *out)
{
	const struct topo_link *link = topo_link(topo, id);
	const struct topo_link *back = NULL;
	const struct topo_node *from = topo_node(topo, link->from);
	const struct topo_node *to = topo_node(topo, link->to);
	bool is_upward = to->tier > from->tier;

	if (link->reverse != TOPO_NONE)
		back = topo_link(topo, link->reverse);
	fprintf(out,
		"\t\"%s\" -> \"%s\" [taillabel=\"%s\", headlabel=\"%s\", label=\"%.6g",
		is_upward ? to->name : from->name, is_upward ? from->name : to->name,
		is_upward ? link->to_port : link->from_port,
		is_upward ? link->from_port : link->to_port, link->capacity_bps / 1e9);
	if (!back)
		fprintf(out, "\", dir=%s];\n", is_upward ? "back" : "forward");
	else if (back->capacity_bps < link->capacity_bps ||
		 back->capacity_bps > link->capacity_bps)
		fprintf(out, " / %.6g\", dir=none];\n", back->capacity_bps / 1e9);
	else
		fputs("\", dir=none];\n", out);
}

void
topo_dot_write(const struct topo *topo, FILE *out)
{
	fputs("digraph \"", out);
	for (const char *c = topo_name(topo); *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputs("\" {\n\tnode [shape=box];\n", out);
	for (uint32_t tier = TOPO_MAX_TIER + 1; tier-- > 0;)
		write_tier(topo, tier, out);
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		uint32_t reverse = topo_link(topo, i)->reverse;

		if (reverse == TOPO_NONE || reverse > i)
			write_cable(topo, i, out);
	}
	fputs("}\n", out);
}
