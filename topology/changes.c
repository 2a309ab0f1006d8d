/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.c - the differences between two plans.
 */
#include "topology/changes.h"

#include "lib/base/strbuf.h"
#include "topology/routing.h"
#include "topology/topo.h"

struct finder {
	void (*tell)(void *ctx, const char *text);
	void *ctx;
	struct strbuf text;
};

static void
tell(struct finder *f, const char *what)
{
	strbuf_puts(&f->text, what);
	if (f->tell)
		f->tell(f->ctx, f->text.text);
}

static void
name_node(struct finder *f, const struct topo_node *node)
{
	strbuf_clear(&f->text);
	strbuf_printf(&f->text, "%s %s", node->kind == TOPO_HOST ? "host" : "switch",
		      node->name);
}

static void
name_link(struct finder *f, const struct topo *topo, uint32_t link)
{
	strbuf_clear(&f->text);
	strbuf_puts(&f->text, "link ");
	topo_link_name(topo, link, &f->text);
}

static void
find_nodes(struct finder *f, const struct topo *before, const struct topo *after,
	   struct topo_changes *changes)
{
	for (uint32_t i = 0; i < topo_n_nodes(before); i++) {
		const struct topo_node *was = topo_node(before, i), *is;
		uint32_t id = topo_find_node(after, was->name);

		name_node(f, was);
		if (id == TOPO_NONE) {
			changes->n_nodes_removed++;
			tell(f, " is gone");
			continue;
		}
		is = topo_node(after, id);
		if (is->kind != was->kind || is->tier != was->tier ||
		    is->n_slots != was->n_slots ||
		    is->is_scale_up != was->is_scale_up) {
			changes->n_nodes_changed++;
			tell(f, " has another kind, tier or number of slots");
		}
	}
	for (uint32_t i = 0; i < topo_n_nodes(after); i++) {
		const struct topo_node *is = topo_node(after, i);

		if (topo_find_node(before, is->name) != TOPO_NONE)
			continue;
		changes->n_nodes_added++;
		name_node(f, is);
		tell(f, " is new");
	}
}

static void
find_links(struct finder *f, const struct topo *before, const struct topo *after,
	   struct topo_changes *changes)
{
	for (uint32_t i = 0; i < topo_n_links(before); i++) {
		double was_bps = topo_link(before, i)->capacity_bps, is_bps;
		uint32_t id;

		name_link(f, before, i);
		id = topo_find_link(after, f->text.text + sizeof "link " - 1);
		if (id == TOPO_NONE) {
			changes->n_links_removed++;
			tell(f, " is gone");
			continue;
		}
		is_bps = topo_link(after, id)->capacity_bps;
		if (is_bps < was_bps || is_bps > was_bps) {
			changes->n_links_changed++;
			strbuf_printf(&f->text, " has %.10g Gb/s instead of %.10g",
				      is_bps / 1e9, was_bps / 1e9);
			tell(f, "");
		}
	}
	for (uint32_t i = 0; i < topo_n_links(after); i++) {
		name_link(f, after, i);
		if (topo_find_link(before, f->text.text + sizeof "link " - 1) !=
		    TOPO_NONE)
			continue;
		changes->n_links_added++;
		tell(f, " is new");
	}
}

static void
find_tiers(struct finder *f, const struct topo *before, const struct topo *after,
	   struct topo_changes *changes)
{
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++) {
		enum topo_balance was = topo_balance(before, tier);
		enum topo_balance is = topo_balance(after, tier);

		if (is == was)
			continue;
		changes->n_tiers_changed++;
		strbuf_clear(&f->text);
		strbuf_printf(&f->text, "tier %u has balance %s instead of %s", tier,
			      topo_balance_names[is], topo_balance_names[was]);
		tell(f, "");
	}
}

static void
find_routing(struct finder *f, const struct topo *before, const struct topo *after,
	     struct topo_changes *changes)
{
	if (topo_routing_is_same(topo_routing(before), topo_routing(after)))
		return;
	changes->n_tiers_changed++;
	strbuf_clear(&f->text);
	strbuf_puts(&f->text, "routing is ");
	topo_routing_text(topo_routing(after), &f->text);
	strbuf_puts(&f->text, " instead of ");
	topo_routing_text(topo_routing(before), &f->text);
	tell(f, "");
}

void
topo_changes_find(const struct topo *before, const struct topo *after,
		  void (*tell_it)(void *ctx, const char *text), void *ctx,
		  struct topo_changes *ret_changes)
{
	struct finder f = { .tell = tell_it, .ctx = ctx, .text = STRBUF_EMPTY };

	*ret_changes = (struct topo_changes){ 0 };
	find_nodes(&f, before, after, ret_changes);
	find_tiers(&f, before, after, ret_changes);
	find_routing(&f, before, after, ret_changes);
	find_links(&f, before, after, ret_changes);
	strbuf_free(&f.text);
}
