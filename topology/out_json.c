/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_json.c - the native JSON, one node or cable a line.
 *
 * Hosts and switches keep their order, and so do cables, by the first of their
 * links.  Capacities in Gb/s are the bits per second divided by 1e9; the reader
 * rounds to whole bits per second, so those come back the same.
 */
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "topology/address_table.h"
#include "topology/json_routing.h"
#include "topology/topo.h"
#include "topology/write.h"

static void
write_end(struct jsonw *w, struct strbuf *sb, const char *key, const char *node,
	  const char *port)
{
	strbuf_clear(sb);
	strbuf_puts(sb, node);
	strbuf_putc(sb, ':');
	strbuf_puts(sb, port);
	jsonw_str(w, key, sb->text);
}

static void
write_cable(struct jsonw *w, struct strbuf *sb, const struct topo *topo, uint32_t id)
{
	const struct topo_link *forth = topo_link(topo, id);

	jsonw_flat_object(w, NULL);
	write_end(w, sb, "a", topo_node(topo, forth->from)->name, forth->from_port);
	write_end(w, sb, "b", topo_node(topo, forth->to)->name, forth->to_port);
	jsonw_num(w, "gbps", forth->capacity_bps / 1e9);
	if (forth->reverse == TOPO_NONE) {
		jsonw_bool(w, "one_way", true);
	} else {
		double back_bps = topo_link(topo, forth->reverse)->capacity_bps;

		if (back_bps < forth->capacity_bps || back_bps > forth->capacity_bps)
			jsonw_num(w, "back_gbps", back_bps / 1e9);
	}
	jsonw_end(w);
}

/* The tiers that do not hash; nothing if all do, which is the default. */
static void
write_tiers(struct jsonw *w, const struct topo *topo)
{
	bool is_open = false;

	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++) {
		enum topo_balance balance = topo_balance(topo, tier);

		if (balance == TOPO_BALANCE_HASH)
			continue;
		if (!is_open)
			jsonw_array(w, "tiers");
		is_open = true;
		jsonw_flat_object(w, NULL);
		jsonw_int(w, "tier", tier);
		jsonw_str(w, "balance", topo_balance_names[balance]);
		jsonw_end(w);
	}
	if (is_open)
		jsonw_end(w);
}

static void
write_addresses(struct jsonw *w, const struct topo *topo, uint32_t node)
{
	const struct address_table *table = topo_addresses(topo);
	uint32_t id = address_table_first(table, node);

	if (id == ADDRESS_TABLE_NONE)
		return;
	jsonw_array(w, "addresses");
	for (; id != ADDRESS_TABLE_NONE; id = address_table_next(table, id))
		jsonw_str(w, NULL, address_table_text(table, id));
	jsonw_end(w);
}

void
topo_json_write(const struct topo *topo, FILE *out)
{
	struct strbuf sb = STRBUF_EMPTY;
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.topology/1");
	jsonw_str(&w, "name", topo_name(topo));
	for (int is_host = 0; is_host < 2; is_host++) {
		jsonw_array(&w, is_host ? "hosts" : "switches");
		for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
			const struct topo_node *node = topo_node(topo, i);

			if ((node->kind == TOPO_HOST) != is_host)
				continue;
			jsonw_flat_object(&w, NULL);
			jsonw_str(&w, "name", node->name);
			if (is_host)
				jsonw_int(&w, "slots", node->n_slots);
			else
				jsonw_int(&w, "tier", node->tier);
			if (node->is_scale_up)
				jsonw_bool(&w, "scale_up", true);
			write_addresses(&w, topo, i);
			jsonw_end(&w);
		}
		jsonw_end(&w);
		if (!is_host)
			write_tiers(&w, topo);
		if (!is_host)
			topo_json_routing_write(topo_routing(topo), &w);
	}
	jsonw_array(&w, "cables");
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		uint32_t reverse = topo_link(topo, i)->reverse;

		if (reverse == TOPO_NONE || reverse > i)
			write_cable(&w, &sb, topo, i);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	strbuf_free(&sb);
}
