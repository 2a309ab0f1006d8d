/* SPDX-License-Identifier: Apache-2.0 */
/* test_topo_k8s.c - fabrics from node labels and HyperNodes, and back */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"
#include "topology/domains.h"
#include "topology/gen.h"
#include "topology/k8s.h"
#include "topology/read.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

static char notes[1024];

static void
keep_note(void *ctx, const char *note)
{
	(void)ctx;
	snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", note);
}

static struct topo *
read_with(const char *text, const struct topo_k8s_opts *k8s)
{
	const struct topo_read_opts opts = { .on_note = keep_note,
					     .default_bps = 100e9,
					     .oversubscription = 2,
					     .k8s = k8s };
	struct topo *topo = NULL;
	struct err err = { .text = "" };

	notes[0] = '\0';
	if (topo_read("t", text, strlen(text), &opts, &topo, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.column, err.text);
	return topo;
}

static void
refused_with(const char *text, const struct topo_k8s_opts *k8s, unsigned line,
	     const char *part)
{
	const struct topo_read_opts opts = { .k8s = k8s, .max_names = 100 };
	struct topo *topo;
	struct err err = { .text = "" };

	assert_true(topo_read("t", text, strlen(text), &opts, &topo, &err) < 0);
	if (!strstr(err.text, part) || err.line != line)
		fail_msg("line %u: '%s' instead of line %u: '%s'", err.line, err.text,
			 line, part);
}

static void
assert_leaf(const struct topo *topo, const char *host, const char *leaf)
{
	uint32_t node = topo_find_node(topo, host);

	assert_int_not_equal(node, TOPO_NONE);
	assert_string_equal(topo_node(topo, topo_leaf_of(topo, node))->name, leaf);
}

static double
uplink_gbps(const struct topo *topo, const char *from, const char *to)
{
	uint32_t node = topo_find_node(topo, from);
	size_t n;
	const uint32_t *links = topo_links_out(topo, node, &n);

	for (size_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, links[i]);

		if (strcmp(topo_node(topo, link->to)->name, to) == 0)
			return link->capacity_bps / 1e9;
	}
	return 0;
}

#define T "fabric.topograph.run/tier-"

/* A Node with 'gpus' GPUs and these labels. */
#define NODE(name, gpus, labels)                                        \
	"{\"kind\":\"Node\",\"metadata\":{\"name\":\"" name             \
	"\",\"labels\":{\"kubernetes.io/hostname\":\"" name "\"" labels \
	"}},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"" gpus    \
	"\",\"cpu\":\"4\"}}}"
#define LABEL(key, value) ",\"" key "\":\"" value "\""
#define LIST(items)       "{\"apiVersion\":\"v1\",\"items\":[" items "],\"kind\":\"List\"}"
/* AND() joins two texts with a comma; nest it for more. */
#define AND(a, b) a "," b

static void
nodes_hang_on_the_switches_of_their_labels(void **state)
{
	static const char text[] =
		LIST(AND(AND(NODE("n1", "8", LABEL(T "0", "leaf1") LABEL(T "1", "sp")),
			     NODE("n2", "8", LABEL(T "0", "leaf1") LABEL(T "1", "sp"))),
			 AND(NODE("n3", "4", LABEL(T "0", "leaf2") LABEL(T "1", "sp")),
			     NODE("cp", "0", ""))));
	struct topo *topo = read_with(text, NULL);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 3);
	assert_leaf(topo, "n1", "leaf1");
	assert_leaf(topo, "n2", "leaf1");
	assert_leaf(topo, "n3", "leaf2");
	assert_int_equal(topo_node(topo, topo_find_node(topo, "sp"))->tier, 2);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "n1"))->n_slots, 8);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "n3"))->n_slots, 4);
	assert_null(strstr(notes, "GPUs")); /* No note claims that "cp" is a host. */
	/* 2:1 of two hosts, and of one interface of 100 Gb/s. */
	assert_near(uplink_gbps(topo, "leaf1", "sp"), 100, 1e-9);
	assert_near(uplink_gbps(topo, "leaf2", "sp"), 50, 1e-9);
	assert_non_null(strstr(notes, "1 of 4 Nodes left out, without labels"));
	assert_non_null(strstr(notes, "tier-*: cp"));
	topo_unref(topo);
}

static void
the_keys_that_most_nodes_have_are_taken(void **state)
{
	static const struct {
		const char *leaf, *spine;
	} keys[] = {
		{ "network.topology.nvidia.com/leaf",
		  "network.topology.nvidia.com/spine" },
		{ "network.topology.nvidia.com/block",
		  "network.topology.nvidia.com/spine" },
		{ "topology.k8s.aws/network-node-layer-3",
		  "topology.k8s.aws/network-node-layer-2" },
		{ "cloud.google.com/gce-topology-subblock",
		  "cloud.google.com/gce-topology-block" },
		{ "oci.oraclecloud.com/host.rack_id",
		  "oci.oraclecloud.com/host.network_block_id" },
		{ "backend.coreweave.cloud/leafgroup",
		  "backend.coreweave.cloud/superpod" },
		{ "topology.nebius.com/tier-1", "topology.nebius.com/tier-2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct strbuf text = STRBUF_EMPTY;
		struct topo *topo;

		strbuf_printf(&text,
			      "{\"items\":[{\"metadata\":{\"name\":\"n1\",\"labels\":"
			      "{\"%s\":\"L\",\"%s\":\"S\"}}},{\"metadata\":{\"name\":"
			      "\"n2\",\"labels\":{\"%s\":\"M\",\"%s\":\"S\"}}},"
			      "{\"metadata\":{\"name\":\"n3\",\"labels\":"
			      "{\"fabric.topograph.run/tier-0\":\"x\"}}}]}",
			      keys[i].leaf, keys[i].spine, keys[i].leaf, keys[i].spine);
		topo = read_with(text.text, NULL);
		assert_int_equal(topo_n_hosts(topo), 2);
		assert_leaf(topo, "n1", "L");
		assert_leaf(topo, "n2", "M");
		assert_near(uplink_gbps(topo, "L", "S"), 50, 1e-9);
		/* Without a number of GPUs a host has one slot. */
		assert_int_equal(topo_node(topo, topo_find_node(topo, "n1"))->n_slots,
				 1);
		topo_unref(topo);
		strbuf_free(&text);
	}
}

static void
own_keys_nested_names_and_a_root_are_possible(void **state)
{
	static const char text[] =
		LIST(AND(NODE("n1", "8", LABEL("x/rack", "1") LABEL("x/row", "1")),
			 NODE("n2", "8", LABEL("x/rack", "1") LABEL("x/row", "2"))));
	struct topo_k8s_opts k8s = { .label_keys = "x/rack,x/row", .is_nested = true };
	struct topo *topo = read_with(text, &k8s);

	(void)state;
	assert_leaf(topo, "n1", "1/1");
	assert_leaf(topo, "n2", "2/1");
	assert_int_equal(topo_find_node(topo, "all"), TOPO_NONE);
	assert_non_null(strstr(notes, "2 switches have none above them"));
	topo_unref(topo);
	k8s.root = "all";
	topo = read_with(text, &k8s);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "all"))->tier, 3);
	assert_string_equal(notes, "");
	topo_unref(topo);
	k8s.is_nested = false;
	refused_with(text, &k8s, 1, "and Node 'n1' has it elsewhere");
	k8s.root = "all\nSwitchName=x";
	refused_with(text, &k8s, 0, "is not a switch name");
	k8s.label_keys = "x/rack,,";
	k8s.root = NULL;
	refused_with(text, &k8s, 0, "is not a label key");
}

static void
a_gap_between_labels_leaves_a_node_out(void **state)
{
	static const char text[] =
		LIST(AND(NODE("n1", "1", LABEL(T "0", "a") LABEL(T "2", "c")),
			 NODE("n2", "1", LABEL(T "0", "a"))));
	struct topo *topo = read_with(text, NULL);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 1);
	assert_non_null(strstr(notes, "1 of 2 Nodes left out"));
	topo_unref(topo);
}

static void
hostile_nodes_are_refused_with_what_is_wrong(void **state)
{
	(void)state;
	refused_with("{\"items\":[],\"metadata\":{}}", NULL, 0, "none of 0 Nodes");
	refused_with(LIST(NODE("n1", "1", "")), NULL, 0, "none of 1 Nodes");
	refused_with("{\"items\":[7],\"metadata\":{}}", NULL, 1, "object");
	refused_with(LIST("\n" NODE("n1", "1", "") ",\n" NODE("n1", "1", "")), NULL, 3,
		     "'n1' is there twice");
	refused_with(LIST(NODE("n[1-9]", "1", "")), NULL, 1,
		     "is not a valid name for a host");
	refused_with(LIST(NODE("n1", "1", LABEL(T "0", "a,b"))), NULL, 1,
		     "is not a switch name");
	refused_with(LIST(NODE("n1", "1", LABEL(T "0", "a\\nSwitchName=b"))), NULL, 1,
		     "is not a switch name");
	refused_with(LIST(NODE("n1", "-1", "")), NULL, 1, "expected 0 to 1024");
	refused_with(LIST(NODE("n1", "4000000000", "")), NULL, 1, "expected 0 to 1024");
	refused_with(LIST(NODE("n1", "1", LABEL(T "0", "n1"))), NULL, 0,
		     "has the name of a node");
	refused_with(LIST(NODE("n1", "1", LABEL(T "0", "a") LABEL(T "1", "a"))), NULL,
		     1, "has it elsewhere");
}

/* ---- HyperNodes ------------------------------------------------------------------ */

#define HN(name, tier, members)                                  \
	"{\"kind\":\"HyperNode\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"tier\":" tier ",\"members\":[" members "]}}"
#define EXACT(type, name) \
	"{\"type\":\"" type "\",\"selector\":{\"exactMatch\":{\"name\":\"" name "\"}}}"
#define REGEX(type, pattern)                                                          \
	"{\"type\":\"" type "\",\"selector\":{\"regexMatch\":{\"pattern\":\"" pattern \
	"\"}}}"
#define LABELS(match) "{\"type\":\"Node\",\"selector\":{\"labelMatch\":{" match "}}}"

static const char three_nodes[] = LIST(AND(
	NODE("n1", "8", LABEL("rack", "a")),
	AND(NODE("n2", "8", LABEL("rack", "b")), NODE("m3", "4", LABEL("rack", "b")))));

static struct topo_k8s_opts
with_nodes(void)
{
	return (struct topo_k8s_opts){ .nodes_file = "nodes",
				       .nodes_text = three_nodes,
				       .n_nodes_text = sizeof three_nodes - 1 };
}

static void
members_are_found_by_name_pattern_and_label(void **state)
{
	static const char leaf1[] =
		HN("leaf1", "1", AND(EXACT("Node", "n1"), EXACT("Node", "gone")));
	static const char leaf2[] = HN("leaf2", "1",
				       AND(LABELS("\"matchLabels\":{\"rack\":\"b\"}"),
					   REGEX("Node", "^m[0-9]$")));
	static const char others[] =
		AND(HN("top", "3", REGEX("HyperNode", "^leaf[12]$")),
		    HN("none", "2", REGEX("Node", "^x")));
	const struct topo_k8s_opts k8s = with_nodes();
	char *text = xasprintf("{\"items\":[%s,%s,%s]}", leaf1, leaf2, others);
	struct topo *topo = read_with(text, &k8s);

	free(text);
	(void)state;
	assert_int_equal(topo_n_hosts(topo), 3);
	assert_leaf(topo, "n1", "leaf1");
	assert_leaf(topo, "n2", "leaf2");
	assert_leaf(topo, "m3", "leaf2");
	assert_int_equal(topo_node(topo, topo_find_node(topo, "m3"))->n_slots, 4);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "top"))->tier, 2);
	assert_int_equal(topo_find_node(topo, "none"), TOPO_NONE);
	assert_near(uplink_gbps(topo, "leaf2", "top"), 100, 1e-9);
	assert_non_null(strstr(notes, "1 of 4 HyperNodes left out"));
	assert_non_null(strstr(notes, "1 members left out"));
	topo_unref(topo);
}

/* 'kubectl get hypernodes -o yaml' after 'kubectl apply'. */
static void
hypernodes_are_read_as_kubectl_prints_them(void **state)
{
	/* clang-format off */
	static const char text[] =
		"apiVersion: v1\n"
		"items:\n"
		"- apiVersion: topology.volcano.sh/v1alpha1\n"
		"  kind: HyperNode\n"
		"  metadata:\n"
		"    annotations:\n"
		"      antiphase.io/switch: Leaf_1\n"
		"      kubectl.kubernetes.io/last-applied-configuration: |\n"
		"        {\"apiVersion\":\"topology.volcano.sh/v1alpha1\",\"kind\":\"HyperNode\",\"metadata\":{\"annotations\":{\"antiphase.io/switch\":\"Leaf_1\"},\"name\":\"leaf1\"},\"spec\":{\"members\":[{\"selector\":{\"exactMatch\":{\"name\":\"n1\"}},\"type\":\"Node\"},{\"selector\":{\"exactMatch\":{\"name\":\"n2\"}},\"type\":\"Node\"}],\"tier\":1}}\n"
		"    creationTimestamp: \"2026-03-02T09:14:27Z\"\n"
		"    generation: 1\n"
		"    managedFields:\n"
		"    - apiVersion: topology.volcano.sh/v1alpha1\n"
		"      fieldsType: FieldsV1\n"
		"      fieldsV1:\n"
		"        f:metadata:\n"
		"          f:annotations:\n"
		"            .: {}\n"
		"            f:kubectl.kubernetes.io/last-applied-configuration: {}\n"
		"      manager: kubectl-client-side-apply\n"
		"      operation: Update\n"
		"    name: leaf1\n"
		"    resourceVersion: \"48213\"\n"
		"    uid: 6a4f0c3e-4be8-4d1a-9d5b-2f6f5f0f8a11\n"
		"  spec:\n"
		"    members:\n"
		"    - selector:\n"
		"        exactMatch:\n"
		"          name: n1\n"
		"      type: Node\n"
		"    - selector:\n"
		"        exactMatch:\n"
		"          name: n2\n"
		"      type: Node\n"
		"    tier: 1\n"
		"  status:\n"
		"    conditions:\n"
		"    - lastTransitionTime: \"2026-03-02T09:14:27Z\"\n"
		"      message: 'members resolved: 2'\n"
		"      status: \"True\"\n"
		"      type: Ready\n"
		"    nodeCount: 2\n"
		"kind: List\n"
		"metadata:\n"
		"  resourceVersion: \"\"\n";
	/* clang-format on */
	const char *item = strstr(text, "  kind: HyperNode");
	struct topo *topo = read_with(text, NULL);
	struct strbuf one = STRBUF_EMPTY;

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 2);
	assert_leaf(topo, "n1", "Leaf_1");
	assert_leaf(topo, "n2", "Leaf_1");
	topo_unref(topo);
	/* A single item is a manifest of its own. */
	for (const char *line = item; strncmp(line, "kind: List", 10) != 0;
	     line = strchr(line, '\n') + 1)
		strbuf_add(&one, line + 2, strcspn(line + 2, "\n") + 1);
	topo = read_with(one.text, NULL);
	assert_leaf(topo, "n2", "Leaf_1");
	topo_unref(topo);
	strbuf_free(&one);
}

static void
expressions_of_labels_are_those_of_kubernetes(void **state)
{
	static const struct {
		const char *expression;
		unsigned n_hosts;
	} cases[] = {
		{ "{\"key\":\"rack\",\"operator\":\"In\",\"values\":[\"b\",\"c\"]}",
		  2 },
		{ "{\"key\":\"rack\",\"operator\":\"NotIn\",\"values\":[\"b\"]}", 1 },
		{ "{\"key\":\"rack\",\"operator\":\"Exists\"}", 3 },
		{ "{\"key\":\"row\",\"operator\":\"DoesNotExist\"}", 3 },
	};
	const struct topo_k8s_opts k8s = with_nodes();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct strbuf text = STRBUF_EMPTY;
		struct topo *topo;

		strbuf_printf(&text,
			      "{\"items\":[{\"kind\":\"HyperNode\",\"metadata\":"
			      "{\"name\":\"a\"},\"spec\":{\"tier\":1,\"members\":["
			      "{\"type\":\"Node\",\"selector\":{\"labelMatch\":"
			      "{\"matchExpressions\":[%s]}}}]}}]}",
			      cases[i].expression);
		topo = read_with(text.text, &k8s);
		assert_int_equal(topo_n_hosts(topo), cases[i].n_hosts);
		topo_unref(topo);
		strbuf_free(&text);
	}
}

static void
only_patterns_that_posix_and_go_read_alike_are_taken(void **state)
{
	static const char *const good[] = {
		"n1",    "^node-[0-9]+$", "^(a|b)[0-9]{2,3}$", "gpu\\.rack", ".*",
		"^a|b$", "(ab)+c?",       "[^a-c]x",           "n{1}",       "a.b",
	};
	static const char *const bad[] = {
		"",
		"a|",
		"(|a)",
		"()",
		"a**",
		"a*?",
		"*a",
		"\\d+",
		"\\pL",
		"(?i)a",
		"a{,3}",
		"a{2,1}",
		"a{64}",
		"(a){2}",
		"[[:alpha:]]",
		"[]a]",
		"[a\\d]",
		"(a",
		"a)",
		"a\\",
		"^*",
		"a{9999999999}",
		"a b",
		"\xc3\xa9",
		"a{40}b{40}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (k8s_pattern_why_not(good[i]))
			fail_msg("'%s': %s", good[i], k8s_pattern_why_not(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!k8s_pattern_why_not(bad[i]))
			fail_msg("'%s' was taken", bad[i]);
}

static void
hostile_hypernodes_are_refused_with_what_is_wrong(void **state)
{
	const struct topo_k8s_opts k8s = with_nodes();

	(void)state;
	refused_with(LIST(HN("a", "1", REGEX("Node", "n"))), NULL, 1,
		     "needs the Nodes: --nodes FILE");
	refused_with(LIST(HN("a", "1", LABELS("\"matchLabels\":{\"x\":\"y\"}"))), NULL,
		     1, "needs the Nodes");
	refused_with(LIST(HN("a", "1", LABELS(""))), &k8s, 1, "says nothing");
	refused_with(LIST(HN("a", "1",
			     LABELS("\"matchExpressions\":[{\"key\":\"rack\","
				    "\"operator\":\"NotIn\",\"values\":[]}]"))),
		     &k8s, 1, "operator NotIn without values");
	refused_with(LIST(HN("a", "1", REGEX("Node", "\\\\d"))), &k8s, 1,
		     "exactMatch or labelMatch");
	refused_with(LIST(HN("a", "1", EXACT("HyperNode", "b"))), NULL, 1,
		     "no HyperNode 'b'");
	refused_with(LIST(HN("a", "1", EXACT("HyperNode", "b")) ",\n" HN(
			     "b", "1", EXACT("HyperNode", "a"))),
		     NULL, 1, "of tier 1 has 'b' of tier 1");
	refused_with(
		LIST(HN("a", "1", EXACT("Node", "n1")) ",\n" HN(
			"b", "2", EXACT("HyperNode", "a") "," EXACT("Node", "n2"))),
		NULL, 2, "has Nodes and HyperNodes");
	refused_with(LIST(HN("a", "0", "")), NULL, 1, "");
	refused_with(LIST(HN("a,b", "1", "")), NULL, 1,
		     "is not a valid name for a switch");
	refused_with(LIST(HN("a", "1", EXACT("Node", "n[0-9]"))), NULL, 1,
		     "is not a valid name for a host");
	refused_with(LIST(HN("a", "1", "") ",\n" HN("a", "1", "")), NULL, 2,
		     "is there twice");
	refused_with(LIST(HN("a", "1", "")), NULL, 0, "no HyperNode with a Node");
	refused_with("kind: HyperNode\nmetadata:\n  name: a\n---\nkind: HyperNode\n"
		     "metadata:\n  name: b\nspec:\n  tier: x\n",
		     NULL, 1, "without metadata or spec");
	refused_with("kind: HyperNode\nmetadata:\n  name: a\nspec:\n  tier: 1\n---\n"
		     "kind: HyperNode\nmetadata:\n  name: b\nspec:\n  tier: x\n",
		     NULL, 11, "tier 'x'");
	refused_with("kind: HyperNode\n---\nkind: *x\n", NULL, 3, "");
}

/* ---- Export ---------------------------------------------------------------------- */

typedef int write_fn(const struct topo *topo, FILE *out, struct err *err);

static int
write_nodes(const struct topo *topo, FILE *out, struct err *err)
{
	return topo_k8s_nodes_write(topo, K8S_LABEL_KEYS, out, err);
}

static char *
written(const struct topo *topo, write_fn *write)
{
	struct err err = { .text = "" };
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (write(topo, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

/* Two pods of two leaves of two hosts, as a topology.conf with capacities. */
static struct topo *
tree(void)
{
	return read_with("SwitchName=a0 Nodes=h[0-1]\nSwitchName=a1 Nodes=h[2-3]\n"
			 "SwitchName=b0 Nodes=h[4-5]\nSwitchName=B_1 Nodes=h[6-7]\n"
			 "SwitchName=pod0 Switches=a[0-1]\n"
			 "SwitchName=pod1 Switches=b0,B_1\n"
			 "SwitchName=core Switches=pod[0-1]\n",
			 NULL);
}

static void
assert_same_links(const struct topo *a, const struct topo *b)
{
	assert_int_equal(topo_n_nodes(a), topo_n_nodes(b));
	assert_int_equal(topo_n_links(a), topo_n_links(b));
	for (uint32_t i = 0; i < topo_n_links(a); i++) {
		const struct topo_link *x = topo_link(a, i);
		const char *from = topo_node(a, x->from)->name;
		const char *to = topo_node(a, x->to)->name;

		assert_near(uplink_gbps(b, from, to), x->capacity_bps / 1e9, 1e-9);
	}
}

static void
trees_come_back_from_hypernodes_and_from_labels(void **state)
{
	static write_fn *const writers[] = { topo_hypernodes_write, write_nodes };
	struct topo *before = tree();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *text = written(before, writers[i]);
		struct topo *after = read_with(text, NULL);
		char *again = written(after, writers[i]);

		assert_same_links(before, after);
		assert_string_equal(text, again);
		free(text);
		free(again);
		topo_unref(after);
	}
	topo_unref(before);
}

static void
switches_that_serve_the_same_hosts_are_one_domain(void **state)
{
	const struct gen_leaf_spine opts = {
		.n_leaves = 3, .hosts_per_leaf = 2, .n_spines = 2, .host_bps = 100e9
	};
	struct topo_domains domains;
	struct topo *topo;
	char *text;

	(void)state;
	assert_int_equal(gen_leaf_spine(&opts, &topo, NULL), 0);
	topo_domains_init(&domains, topo);
	assert_int_equal(domains.n, 4);
	assert_int_equal(domains.items[3].tier, 2);
	assert_int_equal(domains.items[3].n_switches, 2);
	assert_int_equal(domains.items[3].parent, TOPO_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(domains.items[i].parent, 3);
		assert_int_equal(domains.of_host[2 * i], i);
		assert_int_equal(domains.of_host[2 * i + 1], i);
	}
	topo_domains_fini(&domains);
	text = written(topo, topo_hypernodes_write);
	assert_non_null(strstr(text, "# 2 switches of this tier\n"));
	free(text);
	topo_unref(topo);
}

static void
labels_are_lines_for_kubectl_and_hostile_names_no_words_of_them(void **state)
{
	struct topo *topo = read_with("SwitchName=Leaf/1 Nodes=h0\n", NULL);
	struct err err;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	assert_int_equal(topo_k8s_labels_write(topo, "x/leaf", out, &err), 0);
	fclose(out);
	/* The FNV-1a hash of "Leaf/1". */
	assert_string_equal(text, "kubectl label --overwrite node h0 "
				  "x/leaf=xe81f70115b9c062d\n");
	free(text);
	topo_unref(topo);
	topo = read_with("SwitchName=a Nodes=--all\n", NULL);
	assert_int_equal(topo_k8s_labels_write(topo, "x/leaf", stderr, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no Node of Kubernetes has"));
	assert_int_equal(topo_hypernodes_write(topo, stderr, &err), -EINVAL);
	topo_unref(topo);
	topo = tree();
	assert_int_equal(topo_k8s_nodes_write(topo, "x/leaf,x/spine", stderr, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "no key for tier 3"));
	assert_int_equal(topo_k8s_nodes_write(topo, "x/$(reboot)", stderr, &err),
			 -EINVAL);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_hang_on_the_switches_of_their_labels),
		cmocka_unit_test(the_keys_that_most_nodes_have_are_taken),
		cmocka_unit_test(own_keys_nested_names_and_a_root_are_possible),
		cmocka_unit_test(a_gap_between_labels_leaves_a_node_out),
		cmocka_unit_test(hostile_nodes_are_refused_with_what_is_wrong),
		cmocka_unit_test(members_are_found_by_name_pattern_and_label),
		cmocka_unit_test(hypernodes_are_read_as_kubectl_prints_them),
		cmocka_unit_test(expressions_of_labels_are_those_of_kubernetes),
		cmocka_unit_test(only_patterns_that_posix_and_go_read_alike_are_taken),
		cmocka_unit_test(hostile_hypernodes_are_refused_with_what_is_wrong),
		cmocka_unit_test(trees_come_back_from_hypernodes_and_from_labels),
		cmocka_unit_test(switches_that_serve_the_same_hosts_are_one_domain),
		cmocka_unit_test(
			labels_are_lines_for_kubectl_and_hostile_names_no_words_of_them),
	};

	return cmocka_run_group_tests_name("topo_k8s", tests, NULL, NULL);
}
