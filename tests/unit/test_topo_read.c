/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/address.h"
#include "lib/base/err.h"
#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"
#include "topology/write.h"

static void
assert_same(const struct topo *a, const struct topo *b)
{
	assert_string_equal(topo_name(a), topo_name(b));
	assert_int_equal(topo_n_nodes(a), topo_n_nodes(b));
	assert_int_equal(topo_n_links(a), topo_n_links(b));
	for (uint32_t i = 0; i < topo_n_nodes(a); i++) {
		const struct topo_node *x = topo_node(a, i), *y = topo_node(b, i);

		assert_string_equal(x->name, y->name);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->tier, y->tier);
		assert_int_equal(x->n_slots, y->n_slots);
	}
	for (uint32_t tier = 0; tier <= TOPO_MAX_TIER + 1; tier++)
		assert_int_equal(topo_balance(a, tier), topo_balance(b, tier));
	for (uint32_t i = 0; i < topo_n_links(a); i++) {
		const struct topo_link *x = topo_link(a, i), *y = topo_link(b, i);

		assert_int_equal(x->from, y->from);
		assert_int_equal(x->to, y->to);
		assert_int_equal(x->reverse, y->reverse);
		assert_string_equal(x->from_port, y->from_port);
		assert_string_equal(x->to_port, y->to_port);
		assert_near(x->capacity_bps, y->capacity_bps, 0);
	}
}

/* Takes over 'topo'.  Writing and reading it gives identical bytes and values. */
static void
assert_round_trip(struct topo *topo)
{
	char *text = fabric_json(topo), *again;
	struct topo *back = NULL;
	struct err err = { 0 };

	if (topo_read("x.json", text, strlen(text), NULL, &back, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	assert_same(topo, back);
	again = fabric_json(back);
	assert_string_equal(text, again);
	free(text);
	free(again);
	topo_unref(topo);
	topo_unref(back);
}

static void
generated_fabrics_survive_json_unchanged(void **state)
{
	const struct gen_leaf_spine ls = { .n_leaves = 7,
					   .hosts_per_leaf = 5,
					   .n_spines = 3,
					   .n_parallel = 2,
					   .host_bps = 33.3e9,
					   .oversubscription = 1.7 };
	const struct gen_fat_tree ft = { .k = 6, .n_slots = 8 };
	const struct gen_rail rail = { .n_groups = 3,
				       .hosts_per_group = 4,
				       .n_rails = 4 };
	const struct gen_three_tier tt = { .n_pods = 3,
					   .access_per_pod = 3,
					   .hosts_per_access = 7,
					   .access_oversubscription = 3,
					   .agg_oversubscription = 1.1,
					   .balance = { 1,
							{ TOPO_BALANCE_ADAPTIVE } } };
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_leaf_spine(&ls, &topo, NULL), 0);
	assert_round_trip(topo);
	assert_int_equal(gen_fat_tree(&ft, &topo, NULL), 0);
	assert_round_trip(topo);
	assert_int_equal(gen_rail(&rail, &topo, NULL), 0);
	assert_round_trip(topo);
	assert_int_equal(gen_three_tier(&tt, &topo, NULL), 0);
	assert_round_trip(topo);
}

static struct topo *
read_text(const char *text)
{
	struct topo *topo = NULL;
	struct err err = { 0 };

	if (topo_read("f", text, strlen(text), NULL, &topo, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	return topo;
}

static void
one_way_and_uneven_cables_survive_json(void **state)
{
	struct topo *topo = read_text(
		"{\"schema\":\"antiphase.topology/1\",\"name\":\"a \\\"b\\\"\","
		"\"hosts\":[{\"name\":\"h0\",\"slots\":8},{\"name\":\"h1\"}],"
		"\"switches\":[{\"name\":\"s\",\"tier\":1}],"
		"\"cables\":[{\"a\":\"h0:eth0\",\"b\":\"s:1\",\"gbps\":50,"
		"\"back_gbps\":12.5},"
		"{\"a\":\"s:2\",\"b\":\"h1:eth0\",\"gbps\":0.1,\"one_way\":true}]}");

	(void)state;
	assert_int_equal(topo_n_links(topo), 3);
	assert_near(topo_link(topo, 0)->capacity_bps, 50e9, 0);
	assert_near(topo_link(topo, 1)->capacity_bps, 12.5e9, 0);
	assert_near(topo_link(topo, 2)->capacity_bps, 1e8, 0);
	assert_int_equal(topo_link(topo, 2)->reverse, TOPO_NONE);
	assert_int_equal(topo_node(topo, 0)->n_slots, 8);
	assert_int_equal(topo_node(topo, 1)->n_slots, 1);
	assert_round_trip(topo);
}

/* 'text' is refused with this line and message. */
static void
assert_refused(const char *text, unsigned line, const char *message)
{
	struct topo *topo = NULL;
	struct err err = { 0 };

	assert_int_equal(topo_read("f", text, strlen(text), NULL, &topo, &err),
			 -EINVAL);
	assert_string_equal(err.text, message);
	assert_int_equal(err.line, line);
	assert_string_equal(err.file, "f");
	assert_null(topo);
	/* The same without a place for the message. */
	assert_int_equal(topo_read("f", text, strlen(text), NULL, &topo, NULL),
			 -EINVAL);
}

#define JSON_HEAD "{\"schema\":\"antiphase.topology/1\",\n"

static void
bad_json_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused(JSON_HEAD "\"switches\":[{\"name\":\"s\",\"tier\":1}],\n"
				 "\"hosts\":[{\"name\":\"h0\"},\n"
				 "{\"name\":\"h0\"}],\n\"cables\":[]}",
		       4, "host 'h0' is defined twice, first in line 3");
	assert_refused(JSON_HEAD "\"switches\":[{\"name\":\"leaf0\",\"tier\":1}],\n"
				 "\"hosts\":[{\"name\":\"h0\"}],\n\"cables\":[\n"
				 "{\"a\":\"h0:p0\",\"b\":\"laef0:p0\",\"gbps\":1}]}",
		       5, "there is no host or switch 'laef0' (did you mean 'leaf0'?)");
	assert_refused(JSON_HEAD
		       "\"switches\":[{\"name\":\"s\",\"tier\":1}],\n"
		       "\"hosts\":[{\"name\":\"h0\"},{\"name\":\"h1\"}],\n"
		       "\"cables\":[\n{\"a\":\"h0:p0\",\"b\":\"s:p0\",\"gbps\":1},\n"
		       "{\"a\":\"s:p0\",\"b\":\"h1:p0\",\"gbps\":1}]}",
		       6, "port 's:p0' has two cables, first in line 5");
	assert_refused(JSON_HEAD "\"switches\":[{\"name\":\"s\",\"tiers\":1}],\n"
				 "\"hosts\":[],\"cables\":[]}",
		       2, "unknown key 'tiers' (did you mean 'tier'?)");
	assert_refused(JSON_HEAD "\"switches\":[{\"name\":\"s\",\"tier\":17}],\n"
				 "\"hosts\":[],\"cables\":[]}",
		       2, "'tier' is 17, expected 1 to 16");
	assert_refused(
		JSON_HEAD "\"switches\":[],\n"
			  "\"hosts\":[{\"name\":\"h 0\"}],\"cables\":[]}",
		3,
		"'h 0' is not a valid name, expected 1 to 63 letters, digits and "
		"\"._-/+@\"");
	assert_refused(
		JSON_HEAD "\"switches\":[],\n"
			  "\"hosts\":[{\"name\":\"h0\"},{\"name\":\"h1\"}],"
			  "\"cables\":[\n{\"a\":\"h0\",\"b\":\"h1:p\",\"gbps\":1}]}",
		4, "'a' is 'h0', expected a node and its port, such as 'leaf0:p3'");
	assert_refused(JSON_HEAD
		       "\"switches\":[],\n"
		       "\"hosts\":[{\"name\":\"h0\"}],"
		       "\"cables\":[\n{\"a\":\"h0:a\",\"b\":\"h0:p\",\"gbps\":1}]}",
		       4, "both ends are at the same node");
	assert_refused(JSON_HEAD
		       "\"switches\":[],\n"
		       "\"hosts\":[{\"name\":\"h0\"},{\"name\":\"h1\"}],\"cables\":"
		       "[\n{\"a\":\"h0:p\",\"b\":\"h1:p\",\"gbps\":-5}]}",
		       4, "'gbps' is -5, expected 1e-09 to 1e+06");
	assert_refused(JSON_HEAD "\"hosts\":[],\"cables\":[]}", 1,
		       "key 'switches' is missing here");
	assert_refused("{\"schema\":\"antiphase.profiles/1\"}", 1,
		       "schema is 'antiphase.profiles/1', expected "
		       "'antiphase.topology/1'");
	assert_refused(
		"hello", 0,
		"unknown format of a fabric; expected our JSON, Slurm's topology.conf "
		"or topology.yaml, the text of ibnetdiscover, what topograph writes, Nodes or "
		"HyperNodes of Kubernetes, or topo.csv of Lingjun");
	assert_refused(
		" \n", 0,
		"is empty; expected a fabric: our JSON, Slurm's topology.conf "
		"or topology.yaml, the text of ibnetdiscover, what topograph writes, Nodes or "
		"HyperNodes of Kubernetes, or topo.csv of Lingjun");
}

#define JSON_TIERS                                               \
	JSON_HEAD "\"switches\":[{\"name\":\"s\",\"tier\":1},\n" \
		  "{\"name\":\"t\",\"tier\":2}],\n\"hosts\":[],\"cables\":[],"

static void
balance_of_tiers_survives_json(void **state)
{
	struct topo *topo =
		read_text(JSON_TIERS "\"tiers\":[{\"tier\":2,\"balance\":\"hash\"},"
				     "{\"tier\":1,\"balance\":\"adaptive\"}]}");
	char *text = fabric_json(topo);

	(void)state;
	assert_int_equal(topo_balance(topo, 0), TOPO_BALANCE_HASH);
	assert_int_equal(topo_balance(topo, 1), TOPO_BALANCE_ADAPTIVE);
	assert_int_equal(topo_balance(topo, 2), TOPO_BALANCE_HASH);
	assert_int_equal(topo_balance(topo, UINT32_MAX), TOPO_BALANCE_HASH);
	/* Only what is not the default is written. */
	assert_non_null(strstr(text, "{\"tier\": 1, \"balance\": \"adaptive\"}"));
	assert_null(strstr(text, "\"hash\""));
	free(text);
	assert_round_trip(topo);
	topo = read_text(JSON_TIERS "\"tiers\":[{\"tier\":2}]}");
	text = fabric_json(topo);
	assert_int_equal(topo_balance(topo, 2), TOPO_BALANCE_HASH);
	assert_null(strstr(text, "tiers"));
	free(text);
	topo_unref(topo);
}

static void
bad_balance_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused(
		JSON_TIERS "\n\"tiers\":[{\"tier\":1,\"balance\":\"sprya\"}]}", 5,
		"'balance' is 'sprya', expected hash, spray or adaptive (did you "
		"mean 'spray'?)");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"tier\":1,\"balance\":true}]}", 5,
		       "'balance' has to be a string, found true or false");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"tier\":1,\"balanse\":\"hash\"}]}", 5,
		       "unknown key 'balanse' (did you mean 'balance'?)");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"balance\":\"hash\"}]}", 5,
		       "key 'tier' is missing here");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"tier\":0,\"balance\":\"hash\"}]}", 5,
		       "'tier' is 0, expected 1 to 16");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"tier\":3,\"balance\":\"spray\"}]}",
		       5, "no switch is in tier 3");
	assert_refused(JSON_TIERS "\n\"tiers\":[{\"tier\":1,\"balance\":\"spray\"},\n"
				  "{\"tier\":1,\"balance\":\"hash\"}]}",
		       6, "tier 1 is described twice, first in line 5");
	assert_refused(JSON_TIERS "\n\"tiers\":[1]}", 5,
		       "expected an object, found a number");
	assert_refused(JSON_TIERS "\n\"tiers\":{}}", 5,
		       "'tiers' has to be an array, found an object");
}

#define JSON_ADDRESSES(second)                                                  \
	JSON_HEAD                                                               \
	"\"hosts\":[{\"name\":\"h\"}],\"cables\":[],\"switches\":[\n"           \
	"{\"name\":\"s\",\"tier\":1,\"addresses\":[\"10.0.0.1\",\"fd00::1\"]}," \
	"\n{\"name\":\"t\",\"tier\":1,\"addresses\":" second "},\n"             \
	"{\"name\":\"u\",\"tier\":2}]}"

static uint32_t
find_address(const struct topo *topo, const char *text)
{
	uint8_t address[16];

	assert_int_equal(address_parse(text, address), 0);
	return topo_find_address(topo, address);
}

static void
addresses_of_switches_survive_json(void **state)
{
	struct topo *topo = read_text(JSON_ADDRESSES("[\"10.0.0.2\"]"));

	(void)state;
	assert_int_equal(find_address(topo, "10.0.0.1"), topo_find_node(topo, "s"));
	assert_int_equal(find_address(topo, "fd00::1"), topo_find_node(topo, "s"));
	assert_int_equal(find_address(topo, "10.0.0.2"), topo_find_node(topo, "t"));
	assert_int_equal(find_address(topo, "10.0.0.3"), TOPO_NONE);
	assert_round_trip(topo);
	topo = read_text(JSON_ADDRESSES("[]"));
	assert_int_equal(find_address(topo, "10.0.0.2"), TOPO_NONE);
	assert_round_trip(topo);
}

static void
bad_addresses_are_refused_with_their_line(void **state)
{
	(void)state;
	assert_refused(
		JSON_ADDRESSES("[\"10.0.0\"]"), 4,
		"'10.0.0' is not an IP address, expected one such as 10.0.0.1 or "
		"fd00::1");
	assert_refused(JSON_ADDRESSES("[7]"), 4, "expected a string, found a number");
	assert_refused(JSON_ADDRESSES("\"10.0.0.2\""), 4,
		       "'addresses' has to be an array, found a string");
	assert_refused(JSON_ADDRESSES("[\"10.0.0.2\",\"FD00:0::1\"]"), 4,
		       "address 'FD00:0::1' is defined twice, first in line 3");
	assert_refused(JSON_HEAD "\"switches\":[],\"cables\":[],\"hosts\":[\n"
				 "{\"name\":\"h\",\"addresses\":[]}]}",
		       3, "unknown key 'addresses'");
}

static void
fabrics_are_the_same_or_not(void **state)
{
	static const char *const texts[] = {
		JSON_ADDRESSES("[\"10.0.0.2\"]"),
		JSON_ADDRESSES("[\"10.0.0.3\"]"),
		JSON_ADDRESSES("[\"10.0.0.2\",\"10.0.0.3\"]"),
		JSON_HEAD
		"\"switches\":[],\"hosts\":[{\"name\":\"h\"},{\"name\":\"i\"}],"
		"\"cables\":[{\"a\":\"h:p\",\"b\":\"i:p\",\"gbps\":1}]}",
		JSON_HEAD
		"\"switches\":[],\"hosts\":[{\"name\":\"h\"},{\"name\":\"j\"}],"
		"\"cables\":[{\"a\":\"h:p\",\"b\":\"j:p\",\"gbps\":1}]}",
		JSON_HEAD
		"\"switches\":[],\"hosts\":[{\"name\":\"h\"},{\"name\":\"i\"}],"
		"\"cables\":[{\"a\":\"h:p\",\"b\":\"i:p\",\"gbps\":2}]}",
		JSON_HEAD
		"\"switches\":[],\"hosts\":[{\"name\":\"h\"},{\"name\":\"i\"}],"
		"\"cables\":[{\"a\":\"h:q\",\"b\":\"i:p\",\"gbps\":1}]}",
		JSON_TIERS "\"tiers\":[{\"tier\":2,\"balance\":\"spray\"}]}",
		JSON_TIERS "\"tiers\":[]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			struct topo *a = read_text(texts[i]), *b = read_text(texts[k]);

			assert_int_equal(topo_is_same(a, b), i == k);
			assert_int_equal(topo_digest(a) == topo_digest(b), i == k);
			topo_unref(a);
			topo_unref(b);
		}
	}
}

static void
only_switches_have_addresses(void **state)
{
	struct topo_builder *b = topo_builder_new("x");
	uint8_t address[16] = { 1 };
	uint32_t host, leaf;

	(void)state;
	assert_int_equal(topo_builder_host(b, "h", 1, &host), 0);
	assert_int_equal(topo_builder_switch(b, "s", 1, &leaf), 0);
	assert_int_equal(topo_builder_address(b, host, address), -EINVAL);
	assert_int_equal(topo_builder_address(b, 9, address), -EINVAL);
	assert_int_equal(topo_builder_address(b, leaf, address), 0);
	assert_int_equal(topo_builder_address(b, leaf, address), -EEXIST);
	topo_builder_free(b);
}

static void
count_duplicate(void *ctx, const struct err *err)
{
	size_t *n = ctx;

	assert_true(err->line > 0);
	(*n)++;
}

static void
duplicates_are_all_told_to_who_asks(void **state)
{
	const char *text = JSON_HEAD
		"\"switches\":[{\"name\":\"s\",\"tier\":1},{\"name\":\"h\",\"tier\":1}],\n"
		"\"hosts\":[{\"name\":\"h\"},{\"name\":\"h\"},{\"name\":\"i\"}],\n"
		"\"cables\":[{\"a\":\"h:p\",\"b\":\"s:p\",\"gbps\":1},\n"
		"{\"a\":\"i:p\",\"b\":\"s:p\",\"gbps\":1}]}";
	size_t n = 0;
	const struct topo_read_opts opts = { .on_duplicate = count_duplicate,
					     .ctx = &n };
	struct topo *topo = NULL;

	(void)state;
	assert_int_equal(topo_json_read("f", text, strlen(text), &opts, &topo, NULL),
			 0);
	assert_int_equal(n, 3);
	assert_int_equal(topo_n_nodes(topo), 3);
	assert_int_equal(topo_n_links(topo), 2);
	topo_unref(topo);
}

/* The link 'name' has this capacity. */
static void
assert_capacity(const struct topo *topo, const char *name, double gbps)
{
	uint32_t link = topo_find_link(topo, name);

	if (link == TOPO_NONE)
		fail_msg("there is no link %s", name);
	assert_near(topo_link(topo, link)->capacity_bps, gbps * 1e9, 1);
}

static void
slurm_tree_is_read_with_its_speeds_and_tiers(void **state)
{
	struct topo *topo = read_text(
		"# Switch Configuration\n"
		"SwitchName=top Switches=mid[0-1],s9 LinkSpeed=400Gb/s # parents first\n"
		"switchname=mid0 SWITCHES=s[0-1] linkspeed=200\n"
		"SwitchName=mid1 \\\n  Switches=s2 \\\n\tLinkSpeed=\"200 Gb/s\"\n"
		"SwitchName=s0 Nodes=tux[0-1],login\n"
		"SwitchName=s1 Nodes=tux2,\\\ntux3\n\n"
		"SwitchName=s2 Nodes=tux[08-10]\n"
		"SwitchName=s9 Nodes=far LinkSpeed=25Gb/s");
	struct routes *routes = routes_new(topo, 1);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 9);
	assert_int_equal(topo_n_nodes(topo), 9 + 7);
	assert_string_equal(topo_node(topo, 0)->name, "tux0");
	assert_string_equal(topo_node(topo, 8)->name, "far");
	assert_int_equal(topo_node(topo, topo_find_node(topo, "s9"))->tier, 1);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "mid1"))->tier, 2);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "top"))->tier, 3);
	assert_capacity(topo, "tux0:p0>s0:p0", 100);
	assert_capacity(topo, "far:p0>s9:p0", 25);
	assert_capacity(topo, "s0:p3>mid0:p0", 200);
	assert_capacity(topo, "mid1:p1>top:p1", 400);
	assert_capacity(topo, "top:p2>s9:p1", 400);
	assert_int_equal(routes_n_hops(routes, topo_find_node(topo, "tux0"),
				       topo_find_node(topo, "tux09")),
			 6);
	assert_int_equal(routes_n_hops(routes, topo_find_node(topo, "tux0"),
				       topo_find_node(topo, "far")),
			 5);
	routes_free(routes);
	assert_round_trip(topo);
}

static void
slurm_switch_may_have_several_parents(void **state)
{
	struct topo *topo = read_text("SwitchName=s0 Nodes=tux[0-3] LinkSpeed=900\n"
				      "SwitchName=s1 Nodes=tux[4-7] LinkSpeed=900\n"
				      "SwitchName=s4 Switches=s[0-1] LinkSpeed=1800\n"
				      "SwitchName=s5 Switches=s[0-1] LinkSpeed=1800\n");

	(void)state;
	assert_int_equal(topo_n_links(topo), 2 * (8 + 4));
	assert_capacity(topo, "s1:p4>s4:p1", 1800);
	assert_capacity(topo, "s1:p5>s5:p1", 1800);
	topo_unref(topo);
}

static void
what_scontrol_prints_of_its_topology_is_read(void **state)
{
	struct topo *topo = read_text(
		"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\n"
		"SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]\n"
		"SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n");

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 4);
	assert_int_equal(topo_n_links(topo), 2 * (4 + 2));
	assert_capacity(topo, "n0:p0>s0:p0", 100);
	topo_unref(topo);
}

static void
bad_slurm_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused("SwitchName=s0 Nodes=a\n\nSwitchName=s0 Nodes=b\n", 3,
		       "switch 's0' is defined twice, first in line 1");
	assert_refused("SwitchName=leaf0 Nodes=a\n# two\nSwitchName=s1 \\\n"
		       "Switches=laef0\n",
		       4, "there is no switch 'laef0' (did you mean 'leaf0'?)");
	assert_refused("SwitchName=s0 Nods=a\n", 1,
		       "unknown key 'Nods', expected SwitchName, Switches, Nodes or "
		       "LinkSpeed (did you mean 'Nodes'?)");
	assert_refused(
		"SwitchName=s0\n", 1,
		"switch 's0' has neither Switches nor Nodes, expected one of them");
	assert_refused("SwitchName=s0 Nodes=a Switches=b\n", 1,
		       "switch 's0' has both Switches and Nodes, expected one of them");
	assert_refused("SwitchName=a Nodes=x\nSwitchName=b Switches=c\n"
		       "SwitchName=c Switches=b\n",
		       2, "switch 'b' is in, or above, a loop of switches");
	assert_refused("SwitchName=s0 Nodes=a[0-\n", 1,
		       "Nodes is 'a[0-': a '[' is not closed");
	assert_refused("SwitchName=s0 Nodes=a,b,a\n", 1, "'a' is named twice here");
	assert_refused("SwitchName=s0 Nodes=a LinkSpeed=fast\n", 1,
		       "LinkSpeed is 'fast', expected a rate such as '50 Gb/s' (b/s, "
		       "kb/s, Mb/s, Gb/s, Tb/s) or a number of Gb/s");
	assert_refused("SwitchName=s0 Nodes=s0\n", 1,
		       "switch 's0' has the name of a node");
	assert_refused("SwitchName=s0 Nodes=a Nodes=b\n", 1, "'Nodes' is given twice");
	assert_refused("SwitchName=s0 Nodes=\n", 1,
		       "'Nodes' has no value, expected a name or names");
	assert_refused("SwitchName=s0 Nodes\n", 1, "expected '=' after 'Nodes'");
	assert_refused(
		"BlockName=b1 Nodes=a\n", 1,
		"'BlockName' is of the plug-in topology/block; expected lines of "
		"topology/tree");
	assert_refused("SwitchName=s0 Nodes=a\nInclude more.conf\n", 2,
		       "'Include' is not followed; put the lines of that file here");
}

/* Two leaves, two hosts with two adapters each, a spine with a storage host. */
static const char ibnet[] =
	"#\n# Topology file: generated on Fri Nov 20 10:00:00 2026\n#\n"
	"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0xa0\nswitchguid=0xa0(a0)\n"
	"Switch\t40 \"S-00000000000000a0\"\t\t# \"MF0;leaf0:MQM8700/U1\" enhanced port 0 "
	"lid 1 lmc 0\n"
	"[1]\t\"H-0000000000000010\"[1](10) \t\t# \"node0 mlx5_0\" lid 10 4xHDR\n"
	"[2]\t\"H-0000000000000020\"[1](20) \t\t# \"node1 mlx5_0\" lid 12 4xHDR\n"
	"[21]\t\"S-00000000000000b0\"[1]\t\t# \"spine\" lid 3 4xHDR\n"
	"[22]\t\"S-00000000000000b0\"[2]\t\t# \"spine\" lid 3 2xHDR\n"
	"[41]\t\"H-00000000000000a1\"[1](a1) \t\t# \"Mellanox Technologies Aggregation "
	"Node\" lid 99 4xHDR\n"
	"\n"
	"switchguid=0xa8(a8)\n"
	"Switch\t40 \"S-00000000000000a8\"\t\t# \"MF0;leaf1:MQM8700/U1\" enhanced port 0 "
	"lid 2 lmc 0\n"
	"[1]\t\"H-0000000000000011\"[1](11) \t\t# \"node0 mlx5_1\" lid 11 4xHDR\n"
	"[2]\t\"H-0000000000000021\"[1](21) \t\t# \"node1 mlx5_1\" lid 13 4xHDR\n"
	"[21][ext 21]\t\"S-00000000000000b0\"[3][ext 3]\t\t# \"spine\" lid 3 4xHDR\n"
	"\n"
	"Switch\t40 \"S-00000000000000b0\"\t\t# \"Quantum Mellanox Technologies\" base port "
	"0 lid 3 lmc 0\n"
	"[1]\t\"S-00000000000000a0\"[21]\t\t# \"leaf0\" lid 1 4xHDR\n"
	"[2]\t\"S-00000000000000a0\"[22]\t\t# \"leaf0\" lid 1 4xHDR\n"
	"[3]\t\"S-00000000000000a8\"[21]\t\t# \"leaf1\" lid 2 4xHDR\n"
	"[9]\t\"H-0000000000000030\"[1](30)\t\t# \"MT4123 ConnectX6 Mellanox Technologies\" "
	"lid 20 4xEDR\n"
	"\n"
	"caguid=0x10\nCa\t1 \"H-0000000000000010\"\t\t# \"node0 mlx5_0\"\n"
	"[1](10) \t\"S-00000000000000a0\"[1]\t\t# lid 10 lmc 0 \"leaf0\" lid 1 4xHDR\n\n"
	"Ca\t1 \"H-0000000000000011\"\t\t# \"node0 mlx5_1\"\n"
	"[1](11) \t\"S-00000000000000a8\"[1]\t\t# lid 11 lmc 0 \"leaf1\" lid 2 4xHDR\n\n"
	"Ca\t1 \"H-0000000000000020\"\t\t# \"node1 mlx5_0\"\n"
	"[1](20) \t\"S-00000000000000a0\"[2]\t\t# lid 12 lmc 0 \"leaf0\" lid 1 4xHDR\n\n"
	"Ca\t1 \"H-0000000000000021\"\t\t# \"node1 mlx5_1\"\n\n"
	"Ca\t1 \"H-0000000000000030\"\t\t# \"MT4123 ConnectX6 Mellanox Technologies\"\n"
	"[1](30) \t\"S-00000000000000b0\"[9]\t\t# lid 20 lmc 0 \"spine\" lid 3 4xEDR\n\n"
	"Ca\t1 \"H-00000000000000a1\"\t\t# \"Mellanox Technologies Aggregation Node\"\n"
	"[1](a1) \t\"S-00000000000000a0\"[41]\t\t# lid 99 lmc 0 \"leaf0\" lid 1 4xHDR\n";

static void
ibnetdiscover_is_read_with_names_tiers_and_capacities(void **state)
{
	struct topo *topo = read_text(ibnet);
	const char *spine = "S-00000000000000b0";
	struct routes *routes = routes_new(topo, 1);
	uint32_t one_way;

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 3);
	assert_int_equal(topo_n_nodes(topo), 6);
	assert_string_equal(topo_node(topo, 0)->name, "node0");
	assert_string_equal(topo_node(topo, 1)->name, "node1");
	assert_string_equal(topo_node(topo, 2)->name, "H-0000000000000030");
	assert_int_equal(topo_node(topo, topo_find_node(topo, "leaf1"))->tier, 1);
	assert_int_equal(topo_node(topo, topo_find_node(topo, spine))->tier, 2);
	/* Hosts: 2 x 2 adapters, one direction missing; 3 uplinks; 1 storage. */
	assert_int_equal(topo_n_links(topo), 2 * (4 + 3 + 1) - 1);
	assert_capacity(topo, "leaf0:p1>node0:mlx5_0/1", 200);
	assert_capacity(topo, "node0:mlx5_1/1>leaf1:p1", 200);
	assert_capacity(topo, "leaf0:p22>S-00000000000000b0:p2", 100);
	assert_capacity(topo, "S-00000000000000b0:p2>leaf0:p22", 200);
	assert_capacity(topo, "H-0000000000000030:p1>S-00000000000000b0:p9", 100);
	one_way = topo_find_link(topo, "leaf1:p2>node1:mlx5_1/1");
	assert_int_not_equal(one_way, TOPO_NONE);
	assert_int_equal(topo_link(topo, one_way)->reverse, TOPO_NONE);
	assert_int_equal(topo_find_link(topo, "node1:mlx5_1/1>leaf1:p2"), TOPO_NONE);
	assert_int_equal(routes_n_hops(routes, 0, 2), 3);
	assert_int_equal(routes_n_hops(routes, 0, 1), 2);
	routes_free(routes);
	assert_round_trip(topo);
}

static void
bad_ibnetdiscover_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused("Switch 2 \"S-1\" # \"a\"\n[1] \"H-2\"[1] # x 4xHDR\n", 2,
		       "node 'H-2' has no block of its own in this file");
	assert_refused("Switch 2 \"S-1\"\n\nSwitch 2 \"S-1\"\n", 3,
		       "node 'S-1' has two blocks, the first in line 1");
	assert_refused("Switch 2 \"S-1\"\n[1] \"S-2\"[1]\n[1] \"S-2\"[2]\n"
		       "Switch 2 \"S-2\"\n",
		       3, "port 1 is listed twice, first in line 2");
	assert_refused(
		"Switch 2 S-1\n", 1,
		"cannot read this line, expected 'Switch', 'Ca' or 'Rt', a number "
		"of ports and a node such as \"S-0002c90200000001\"");
	assert_refused("vendid=0\n[1] \"S-1\"[1]\n", 2,
		       "cannot read this line, expected a line 'Switch', 'Ca' or 'Rt' "
		       "before any cable");
	assert_refused("Switch 2 \"S-1\"\n[1] S-2[1]\n", 2,
		       "cannot read this line, expected a cable such as '[1] "
		       "\"H-0002c90300000011\"[1] # ... 4xHDR'");
	assert_refused("Switch 2 \"S-1\"\n[1] \"S-2\"[1] # \"b\" lid 3 4xXYZ\n", 2,
		       "cannot read this line, expected a speed of 1x to 12x SDR, DDR, "
		       "QDR, FDR10, FDR, EDR, HDR, NDR or XDR at its end");
	assert_refused("Switch 2 \"S-1\"\nwhat\n", 2,
		       "cannot read this line, expected a block of ibnetdiscover: "
		       "'Switch', 'Ca', 'Rt' or a cable");
	assert_refused("vendid=0x1\n", 0,
		       "has no node, expected blocks of ibnetdiscover");
}

static void
adapters_that_say_nothing_of_their_host_keep_their_guid(void **state)
{
	struct topo *topo = read_text("Ca 1 \"H-1\" # \"localhost mlx5_0\"\n"
				      "Ca 1 \"H-2\" # \"localhost mlx5_0\"\n"
				      "Ca 1 \"H-3\" # \"solo\"\n"
				      "Ca 1 \"H-4\" # \"we?rd HCA-1\"\n"
				      "Ca 1 \"H-5\"\n"
				      "Switch 1 \"S-1\" # \"MF0;big:CS7520/L01/U1\"\n"
				      "Switch 1 \"S-2\" # \"MF0;big:CS7520/S01/U1\"\n"
				      "Switch 1 \"S-3\" # \"MF0;twin:SB7800/U1\"\n"
				      "Switch 1 \"S-4\" # \"MF0;twin:SB7800/U1\"\n");
	static const char *const names[] = { "H-1",        "H-2", "solo",
					     "we_rd",      "H-5", "big/L01/U1",
					     "big/S01/U1", "S-3", "S-4" };

	(void)state;
	assert_int_equal(topo_n_nodes(topo), 9);
	for (uint32_t i = 0; i < 9; i++)
		assert_string_equal(topo_node(topo, i)->name, names[i]);
	topo_unref(topo);
}

static void
options_say_what_the_file_does_not(void **state)
{
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_SLURM,
					     .default_bps = 10e9,
					     .n_slots = 4 };
	const char *text = "SwitchName=s Nodes=a,b\n";
	struct topo *topo;

	(void)state;
	assert_int_equal(topo_read("f", text, strlen(text), &opts, &topo, NULL), 0);
	assert_int_equal(topo_node(topo, 1)->n_slots, 4);
	assert_capacity(topo, "a:p0>s:p0", 10);
	topo_unref(topo);
}

static void
graphviz_has_a_rank_for_each_tier_and_an_edge_for_each_cable(void **state)
{
	struct topo *topo =
		read_text("SwitchName=s0 Nodes=a,b\nSwitchName=t Switches=s0\n");
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	topo_dot_write(topo, out);
	fclose(out);
	assert_string_equal(
		text,
		"digraph \"slurm\" {\n\tnode [shape=box];\n"
		"\t{ rank=same;\n\t\t\"t\";\n\t}\n"
		"\t{ rank=same;\n\t\t\"s0\";\n\t}\n"
		"\t{ rank=same;\n\t\t\"a\" [shape=ellipse];\n\t\t\"b\" "
		"[shape=ellipse];\n\t}\n"
		"\t\"s0\" -> \"a\" [taillabel=\"p0\", headlabel=\"p0\", label=\"100\", "
		"dir=none];\n"
		"\t\"s0\" -> \"b\" [taillabel=\"p1\", headlabel=\"p0\", label=\"100\", "
		"dir=none];\n"
		"\t\"t\" -> \"s0\" [taillabel=\"p0\", headlabel=\"p2\", label=\"100\", "
		"dir=none];\n}\n");
	free(text);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_fabrics_survive_json_unchanged),
		cmocka_unit_test(one_way_and_uneven_cables_survive_json),
		cmocka_unit_test(bad_json_is_refused_with_its_line),
		cmocka_unit_test(balance_of_tiers_survives_json),
		cmocka_unit_test(bad_balance_is_refused_with_its_line),
		cmocka_unit_test(addresses_of_switches_survive_json),
		cmocka_unit_test(bad_addresses_are_refused_with_their_line),
		cmocka_unit_test(fabrics_are_the_same_or_not),
		cmocka_unit_test(only_switches_have_addresses),
		cmocka_unit_test(duplicates_are_all_told_to_who_asks),
		cmocka_unit_test(slurm_tree_is_read_with_its_speeds_and_tiers),
		cmocka_unit_test(slurm_switch_may_have_several_parents),
		cmocka_unit_test(what_scontrol_prints_of_its_topology_is_read),
		cmocka_unit_test(bad_slurm_is_refused_with_its_line),
		cmocka_unit_test(ibnetdiscover_is_read_with_names_tiers_and_capacities),
		cmocka_unit_test(bad_ibnetdiscover_is_refused_with_its_line),
		cmocka_unit_test(
			adapters_that_say_nothing_of_their_host_keep_their_guid),
		cmocka_unit_test(options_say_what_the_file_does_not),
		cmocka_unit_test(
			graphviz_has_a_rank_for_each_tier_and_an_edge_for_each_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
