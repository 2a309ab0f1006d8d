/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_json.c - the reader of the native JSON (docs/json.md).
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "topology/json_routing.h"
#include "topology/read.h"
#include "topology/routing.h"
#include "topology/topo.h"

/* With more faults than this, the file is rejected. */
#define MAX_DUPLICATES 100

#define MAX_GBPS (TOPO_MAX_BPS / 1e9)

struct reader {
	const struct json_doc *doc;
	const struct topo_read_opts *opts;
	struct topo_builder *builder;
	const struct json *switches, *hosts, *cables; /* Arrays. */
	const struct json *tiers[TOPO_MAX_TIER + 1]; /* By tier: its object, or NULL. */
	bool has_switch[TOPO_MAX_TIER + 1];          /* By tier. */
	uint32_t n_hosts, n_switches, n_upper;       /* Upper: above tier 1. */
	bool has_scale_up; /* A switch is one of a scale-up domain. */
	struct topo_routing routing;
	size_t n_duplicates;
	struct err *err;
};

/* One end of a cable, "leaf0:p3", parsed. */
struct cable_end {
	uint32_t node;
	char port[TOPO_MAX_NAME + 1];
};

/*
 * Reports something defined twice: 'value' is the second.  Returns 0 to go on
 * without it, or -EINVAL.
 */
static int
report_duplicate(struct reader *rd, const struct json *value, const char *what,
		 const char *name, const struct json *first)
{
	struct err at = { .line = 0 }, err;

	json_fail(rd->doc, first, &at, "first");
	json_fail(rd->doc, value, &err, "%s '%s' %s, first in line %u", what, name,
		  strcmp(what, "port") == 0 ? "has two cables" : "is defined twice",
		  at.line);
	if (!rd->opts || !rd->opts->on_duplicate) {
		if (rd->err)
			*rd->err = err;
		return -EINVAL;
	}
	rd->opts->on_duplicate(rd->opts->ctx, &err);
	if (++rd->n_duplicates == MAX_DUPLICATES) {
		json_fail(rd->doc, value, rd->err,
			  "this is duplicate number %d; mend these first",
			  MAX_DUPLICATES);
		return -EINVAL;
	}
	return 0;
}

/* The first object of 'array' whose "name" is 'name', or NULL. */
static const struct json *
find_named(const struct json_doc *doc, const struct json *array, const char *name)
{
	const char *have;

	for (const struct json *item = json_first(array); item;
	     item = json_next(item)) {
		if (json_get_str(doc, item, "name", &have, NULL) == 0 &&
		    strcmp(have, name) == 0)
			return item;
	}
	return NULL;
}

/* The first address of a switch that is 'text', or NULL. */
static const struct json *
find_address(const struct reader *rd, const char *text)
{
	for (const struct json *item = json_first(rd->switches); item;
	     item = json_next(item)) {
		const struct json *array = json_find(item, "addresses");

		for (const struct json *one = array ? json_first(array) : NULL; one;
		     one = json_next(one)) {
			const char *have = json_string(one);
			uint8_t a[16], b[16];

			if (have && address_parse(have, a) == 0 &&
			    address_parse(text, b) == 0 && !memcmp(a, b, sizeof a))
				return one;
		}
	}
	return NULL;
}

static int
read_address(struct reader *rd, const struct json *value, uint32_t node)
{
	const char *text;
	uint8_t address[16];
	int r;

	if (json_as_str(rd->doc, value, &text, rd->err) < 0)
		return -EINVAL;
	if (address_parse(text, address) < 0)
		return json_fail(rd->doc, value, rd->err,
				 "'%s' is not an IP address, expected one such as "
				 "10.0.0.1 or fd00::1",
				 text);
	r = topo_builder_address(rd->builder, node, address);
	if (r == -EEXIST)
		return report_duplicate(rd, value, "address", text,
					find_address(rd, text));
	return r < 0 ? json_fail(rd->doc, value, rd->err, "too many addresses") : 0;
}

/* The addresses of a switch, which are optional. */
static int
read_addresses(struct reader *rd, const struct json *item, uint32_t node)
{
	const struct json *array = NULL;
	size_t n;

	if (json_opt_array(rd->doc, item, "addresses", &array, &n, rd->err) < 0)
		return -EINVAL;
	for (const struct json *one = array ? json_first(array) : NULL; one;
	     one = json_next(one))
		if (read_address(rd, one, node) < 0)
			return -EINVAL;
	return 0;
}

/* Adds one host or switch from its object. */
static int
read_node(struct reader *rd, const struct json *item, bool is_host)
{
	static const char *const host_keys[] = { "name", "slots", NULL };
	static const char *const switch_keys[] = { "name", "tier", "scale_up",
						   "addresses", NULL };
	bool is_scale_up = false;
	int64_t n_slots = rd->opts && rd->opts->n_slots ? rd->opts->n_slots : 1;
	int64_t tier = 1;
	const char *name;
	const struct json *first;
	uint32_t node;
	int r;

	if (json_as_object(rd->doc, item, rd->err) < 0 ||
	    json_check_keys(rd->doc, item, is_host ? host_keys : switch_keys, rd->err) <
		    0 ||
	    json_get_str(rd->doc, item, "name", &name, rd->err) < 0 ||
	    (is_host && json_opt_int(rd->doc, item, "slots", 0, TOPO_MAX_SLOTS,
				     &n_slots, rd->err) < 0) ||
	    (!is_host &&
	     (json_get_int(rd->doc, item, "tier", 1, TOPO_MAX_TIER, &tier, rd->err) <
		      0 ||
	      json_opt_bool(rd->doc, item, "scale_up", &is_scale_up, rd->err) < 0)))
		return -EINVAL;
	if (is_scale_up && tier != 1)
		return json_fail(rd->doc, item, rd->err,
				 "a switch with 'scale_up' is of tier 1");
	if (is_host)
		r = topo_builder_host(rd->builder, name, (uint32_t)n_slots, &node);
	else
		r = topo_builder_switch(rd->builder, name, (uint32_t)tier, &node);
	rd->has_switch[tier] |= !is_host;
	if (r == -EEXIST) {
		first = find_named(rd->doc, rd->hosts, name);
		if (!first)
			first = find_named(rd->doc, rd->switches, name);
		return report_duplicate(rd, item, is_host ? "host" : "switch", name,
					first);
	}
	if (r == -E2BIG)
		json_fail(rd->doc, item, rd->err, "more than %d nodes", TOPO_MAX_NODES);
	else if (r < 0)
		json_fail(
			rd->doc, json_find(item, "name"), rd->err,
			"'%s' is not a valid name, expected 1 to %d letters, digits and "
			"\"._-/+@\"",
			name, TOPO_MAX_NAME);
	if (r < 0)
		return r;
	if (is_scale_up)
		topo_builder_scale_up(rd->builder, node);
	rd->has_scale_up |= is_scale_up;
	rd->n_hosts += is_host;
	rd->n_switches += !is_host;
	rd->n_upper += !is_host && tier > 1;
	return is_host ? 0 : read_addresses(rd, item, node);
}

static int
read_nodes(struct reader *rd, const struct json *array, bool is_host)
{
	for (const struct json *item = json_first(array); item;
	     item = json_next(item)) {
		int r = read_node(rd, item, is_host);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads how the switches of a tier balance; the switches are known. */
static int
read_tier(struct reader *rd, const struct json *item)
{
	static const char *const keys[] = { "tier", "balance", NULL };
	const char *word = topo_balance_names[TOPO_BALANCE_HASH];
	struct err first = { .line = 0 };
	int64_t tier;
	int balance;

	if (json_as_object(rd->doc, item, rd->err) < 0 ||
	    json_check_keys(rd->doc, item, keys, rd->err) < 0 ||
	    json_get_int(rd->doc, item, "tier", 1, TOPO_MAX_TIER, &tier, rd->err) < 0 ||
	    json_opt_str(rd->doc, item, "balance", &word, rd->err) < 0)
		return -EINVAL;
	if (rd->tiers[tier]) {
		json_fail(rd->doc, rd->tiers[tier], &first, "first");
		return json_fail(rd->doc, item, rd->err,
				 "tier %d is described twice, first in line %u",
				 (int)tier, first.line);
	}
	if (!rd->has_switch[tier])
		return json_fail(rd->doc, json_find(item, "tier"), rd->err,
				 "no switch is in tier %d", (int)tier);
	balance = words_index(word, topo_balance_names);
	if (balance < 0) {
		json_fail(rd->doc, json_find(item, "balance"), rd->err,
			  "'balance' is '%s', expected hash, spray or adaptive", word);
		if (rd->err)
			err_suggest(rd->err, word, topo_balance_names);
		return -EINVAL;
	}
	rd->tiers[tier] = item;
	return topo_builder_balance(rd->builder, (uint32_t)tier,
				    (enum topo_balance)balance);
}

/* Reads how paths are found; the switches are known. */
static int
read_routing(struct reader *rd, const struct json *value)
{
	if (topo_json_routing_read(rd->doc, value, rd->n_switches, rd->n_upper,
				   &rd->routing, rd->err) < 0)
		return -EINVAL;
	if (rd->has_scale_up && rd->routing.method != TOPO_UP_DOWN)
		return json_fail(rd->doc, value, rd->err,
				 "a %s has no switches with 'scale_up'",
				 topo_method_names[rd->routing.method]);
	for (uint32_t t = 1; rd->routing.is_valiant && t <= TOPO_MAX_TIER; t++) {
		if (topo_builder_tier_balance(rd->builder, t) != TOPO_BALANCE_HASH)
			return json_fail(rd->doc, value, rd->err,
					 "with 'valiant' switches must hash");
	}
	return topo_builder_routing(rd->builder, &rd->routing);
}

/* Reports an unknown node, with a suggestion. */
static int
unknown_node(struct reader *rd, const struct json *value, const char *name)
{
	VEC(const char *) names = VEC_EMPTY;
	const struct json *arrays[] = { rd->hosts, rd->switches };

	json_fail(rd->doc, value, rd->err, "there is no host or switch '%s'", name);
	for (size_t i = 0; rd->err && i < 2; i++) {
		for (const struct json *item = json_first(arrays[i]); item;
		     item = json_next(item)) {
			const char *have;

			if (json_get_str(rd->doc, item, "name", &have, NULL) == 0)
				vec_push(&names, have);
		}
	}
	vec_push(&names, NULL);
	if (rd->err)
		err_suggest(rd->err, name, names.items);
	vec_free(&names);
	return -EINVAL;
}

static int
read_end(struct reader *rd, const struct json *cable, const char *key,
	 struct cable_end *ret_end)
{
	const struct json *value = json_find(cable, key);
	char name[TOPO_MAX_NAME + 1];
	const char *text, *colon;

	if (json_get_str(rd->doc, cable, key, &text, rd->err) < 0)
		return -EINVAL;
	colon = strchr(text, ':');
	if (!colon || colon - text > TOPO_MAX_NAME || strlen(colon + 1) > TOPO_MAX_NAME)
		return json_fail(rd->doc, value, rd->err,
				 "'%s' is '%s', expected a node and its port, such as "
				 "'leaf0:p3'",
				 key, text);
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	ret_end->node = topo_builder_find(rd->builder, name);
	if (ret_end->node == TOPO_NONE)
		return unknown_node(rd, value, name);
	strcpy(ret_end->port, colon + 1);
	if (!topo_name_is_valid(ret_end->port))
		return json_fail(
			rd->doc, value, rd->err,
			"'%s' is not a port, expected 1 to %d letters, digits and "
			"\"._-/+@\"",
			ret_end->port, TOPO_MAX_NAME);
	return 0;
}

/*
 * Reports that a port of 'cable' is cabled already: which port, and by which earlier
 * cable.
 */
static int
port_is_taken(struct reader *rd, const struct json *cable)
{
	static const char *const keys[] = { "a", "b" };

	for (const struct json *item = json_first(rd->cables); item != cable;
	     item = json_next(item)) {
		for (int i = 0; i < 4; i++) {
			const char *mine, *other;

			if (json_get_str(rd->doc, cable, keys[i / 2], &mine, NULL) ==
				    0 &&
			    json_get_str(rd->doc, item, keys[i % 2], &other, NULL) ==
				    0 &&
			    strcmp(mine, other) == 0)
				return report_duplicate(rd,
							json_find(cable, keys[i / 2]),
							"port", mine, item);
		}
	}
	return json_fail(rd->doc, cable, rd->err,
			 "a port of this cable has one already");
}

static int
read_cable(struct reader *rd, const struct json *item)
{
	static const char *const keys[] = { "a",         "b",       "gbps",
					    "back_gbps", "one_way", NULL };
	struct cable_end a, b;
	double forth_bps, back_bps, gbps, back_gbps;
	bool is_one_way = false;
	int r;

	if (json_as_object(rd->doc, item, rd->err) < 0 ||
	    json_check_keys(rd->doc, item, keys, rd->err) < 0 ||
	    read_end(rd, item, "a", &a) < 0 || read_end(rd, item, "b", &b) < 0 ||
	    json_get_num(rd->doc, item, "gbps", 1e-9, MAX_GBPS, &gbps, rd->err) < 0 ||
	    json_opt_bool(rd->doc, item, "one_way", &is_one_way, rd->err) < 0)
		return -EINVAL;
	back_gbps = gbps;
	if (json_opt_num(rd->doc, item, "back_gbps", 1e-9, MAX_GBPS, &back_gbps,
			 rd->err) < 0)
		return -EINVAL;
	if (is_one_way && json_find(item, "back_gbps"))
		return json_fail(rd->doc, json_find(item, "back_gbps"), rd->err,
				 "'back_gbps' of a cable that is one_way");
	if (a.node == b.node)
		return json_fail(rd->doc, item, rd->err,
				 "both ends are at the same node");
	/* Hosts come first: switch number i is node n_hosts + i. */
	if (a.node >= rd->n_hosts && b.node >= rd->n_hosts &&
	    !topo_routing_allows(&rd->routing, a.node - rd->n_hosts,
				 b.node - rd->n_hosts))
		return json_fail(
			rd->doc, item, rd->err,
			"these switches are no neighbors in the torus, whose "
			"switches are in the order of 'switches', the first of "
			"'dims' counting fastest");
	forth_bps = round(gbps * 1e9);
	back_bps = is_one_way ? 0 : round(back_gbps * 1e9);
	r = topo_builder_cable(rd->builder, a.node, a.port, b.node, b.port, forth_bps,
			       back_bps);
	if (r == -EEXIST)
		return port_is_taken(rd, item);
	if (r == -E2BIG)
		json_fail(rd->doc, item, rd->err, "more than %d cables",
			  TOPO_MAX_LINKS / 2);
	else if (r < 0)
		json_fail(rd->doc, item, rd->err, "this cable cannot be%s",
			  rd->has_scale_up ? "; a switch with 'scale_up' has cables to "
					     "hosts only"
					   : "");
	return r;
}

static int
read_document(struct reader *rd)
{
	static const char *const keys[] = { "schema",  "name",  "switches", "tiers",
					    "routing", "hosts", "cables",   NULL };
	const struct json *root = json_root(rd->doc), *tiers = NULL;
	const char *name = "";
	size_t n;
	int r;

	if (json_check_schema(rd->doc, "antiphase.topology", 1, rd->err) < 0 ||
	    json_check_keys(rd->doc, root, keys, rd->err) < 0 ||
	    json_opt_str(rd->doc, root, "name", &name, rd->err) < 0 ||
	    json_get_array(rd->doc, root, "switches", &rd->switches, &n, rd->err) < 0 ||
	    json_opt_array(rd->doc, root, "tiers", &tiers, &n, rd->err) < 0 ||
	    json_get_array(rd->doc, root, "hosts", &rd->hosts, &n, rd->err) < 0 ||
	    json_get_array(rd->doc, root, "cables", &rd->cables, &n, rd->err) < 0)
		return -EINVAL;
	for (const char *c = name; *c; c++) {
		if (iscntrl((unsigned char)*c))
			return json_fail(rd->doc, json_find(root, "name"), rd->err,
					 "'name' has a control character");
	}
	rd->builder = topo_builder_new(name);
	r = read_nodes(rd, rd->hosts, true);
	if (r == 0)
		r = read_nodes(rd, rd->switches, false);
	for (const struct json *item = tiers ? json_first(tiers) : NULL; r == 0 && item;
	     item = json_next(item))
		r = read_tier(rd, item);
	if (r == 0 && json_find(root, "routing"))
		r = read_routing(rd, json_find(root, "routing"));
	for (const struct json *item = json_first(rd->cables); r == 0 && item;
	     item = json_next(item))
		r = read_cable(rd, item);
	return r;
}

int
topo_json_read(const char *file, const char *text, size_t length,
	       const struct topo_read_opts *opts, struct topo **ret_topo,
	       struct err *err)
{
	struct reader rd = { .opts = opts, .err = err };
	struct json_doc *doc;
	int r;

	r = json_parse(file, text, length, &doc, err);
	if (r < 0)
		return r;
	rd.doc = doc;
	r = read_document(&rd);
	if (r == 0)
		*ret_topo = topo_builder_finish(rd.builder);
	else
		topo_builder_free(rd.builder);
	json_doc_free(doc);
	return r;
}
